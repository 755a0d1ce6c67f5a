//! Google Cloud Storage: the emulator fake-gcs-server, a program in Go. Where it is, the variable
//! `FAKE_GCS` says; `make test-emulators` sets it.

use crate::http::send;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

/// An emulator that ends when it is dropped. It keeps all in memory.
pub struct Gcs {
    child: Child,
    address: SocketAddr,
}

impl Gcs {
    /// Starts it without buckets.
    pub fn start() -> Gcs {
        let program =
            std::env::var_os("FAKE_GCS").expect("FAKE_GCS is not set: make test-emulators");
        // A port that was free just now.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new(program)
            .args(["-scheme", "http", "-backend", "memory", "-log-level", "error"])
            .args(["-host", "127.0.0.1", "-public-host", "127.0.0.1"])
            .args(["-port", &address.port().to_string()])
            .spawn()
            .unwrap();
        let gcs = Gcs { child, address };
        let tries = (0..100).take_while(|_| TcpStream::connect(address).is_err());
        tries.for_each(|_| sleep(Duration::from_millis(50)));
        gcs
    }

    /// Returns the URL of the server, for `GOOGLE_BASE_URL`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes or replaces an object, and its bucket. The name is of letters, digits, `/`, `.`, `_` and
    /// `-`.
    pub fn put(&self, bucket: &str, name: &str, bytes: &[u8]) {
        self.post("/storage/v1/b", &[200, 409], format!("{{\"name\":\"{bucket}\"}}").as_bytes());
        let name = name.replace('/', "%2F");
        let path = format!("/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}");
        self.post(&path, &[200], bytes);
    }

    fn post(&self, path: &str, good: &[u16], body: &[u8]) {
        let (status, answer) = send(self.address, "POST", path, body);
        assert!(good.contains(&status), "{path}: {answer}");
    }
}

impl Drop for Gcs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
