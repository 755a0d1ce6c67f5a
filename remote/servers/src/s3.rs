//! S3: servers of moto, which is written in Python and needs no compiler (`s3.py`). They check
//! signatures, give ETags and ranges, take objects with conditions, and list by pages of 1000. Public ones list no ETags, as some
//! servers do not. All servers of a process come from one Python process, which loads moto once.

use crate::http::{escaped, send};
use crate::requests::{Refusals, Requests};
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex};

/// A server that runs until it is dropped. Clients reach it through a proxy that can refuse requests.
pub struct S3 {
    pid: u32,
    objects: Objects,
    requests: Requests,
}

/// The objects of a server, for a test to change at any time.
#[derive(Clone, Copy, Debug)]
pub struct Objects {
    server: SocketAddr,
}

impl S3 {
    /// The one access key that is let in.
    pub const KEY_ID: &str = "tegula";
    /// Its secret.
    pub const SECRET: &str = "secret of tegula";

    /// Starts a server without buckets, which lets the one key in.
    pub fn start() -> S3 {
        S3::start_with("signed")
    }

    /// Starts a server that lets everybody in who does not sign.
    pub fn start_public() -> S3 {
        S3::start_with("public")
    }

    fn start_with(kind: &str) -> S3 {
        let answer = Moto::tell(&format!("start {kind}"));
        let answer = answer.unwrap_or_else(|cause| panic!("{cause}"));
        let (pid, port) = answer.split_once(' ').unwrap();
        let server = (Ipv4Addr::LOCALHOST, port.parse().unwrap()).into();
        let requests = Requests::start(server);
        S3 { pid: pid.parse().unwrap(), objects: Objects { server }, requests }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.requests.address()
    }

    /// Returns the URL of the server, for `AWS_ENDPOINT_URL`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Returns the URL of the server without the proxy.
    pub fn direct_endpoint(&self) -> String {
        format!("http://{}", self.objects.server)
    }

    /// Answers the next `requests` with `status` alone, and with `Retry-After` if seconds are given.
    pub fn refuse_next(&self, requests: u32, status: u16, retry_after: Option<u32>) {
        self.refusals().refuse_next(requests, status, retry_after);
    }

    /// Returns the number of requests that are still to be refused.
    pub fn left_to_refuse(&self) -> u32 {
        self.refusals().left()
    }

    /// Returns what refuses requests, to be used by [`S3::after`].
    pub fn refusals(&self) -> Refusals {
        self.requests.refusals()
    }

    /// Answers `requests` more, and calls `act` before the next one.
    pub fn after(&self, requests: u32, act: impl FnOnce() + Send + 'static) {
        self.requests.after(requests, act);
    }

    /// Calls `act` before the next request whose first line, such as `PUT /bucket/key HTTP/1.1`, has `text` in it.
    pub fn before(&self, text: &str, act: impl FnOnce() + Send + 'static) {
        self.requests.before(text, act);
    }

    /// Returns the number of requests that were answered since [`S3::after`], or since the start.
    pub fn requests(&self) -> u32 {
        self.requests.passed()
    }

    /// Returns the objects of the server.
    pub fn objects(&self) -> Objects {
        self.objects
    }

    /// As [`Objects::put`].
    pub fn put(&self, bucket: &str, key: &str, bytes: &[u8]) {
        self.objects.put(bucket, key, bytes);
    }
}

impl Objects {
    /// Makes or replaces an object, and its bucket.
    pub fn put(&self, bucket: &str, key: &str, bytes: &[u8]) {
        self.send("PUT", bucket, key, bytes);
    }

    /// Removes an object.
    pub fn delete(&self, bucket: &str, key: &str) {
        self.send("DELETE", bucket, key, &[]);
    }

    fn send(&self, method: &str, bucket: &str, key: &str, bytes: &[u8]) {
        let (status, answer) =
            send(self.server, method, &format!("/{bucket}/{}", escaped(key)), bytes);
        assert_eq!(status, 200, "{method} {bucket}/{key}: {answer}");
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        // Should this fail, the server ends with the process.
        let _ = Moto::tell(&format!("stop {}", self.pid));
    }
}

/// The Python process that servers come from. It ends when this process does, which closes its input.
struct Moto {
    _child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Moto {
    /// Sends a command, and returns the line that answers it; or why there is none.
    fn tell(command: &str) -> Result<String, String> {
        static MOTO: LazyLock<Result<Mutex<Moto>, String>> =
            LazyLock::new(|| Moto::start().map(Mutex::new));
        let moto = MOTO.as_ref().map_err(String::clone)?;
        let mut moto = moto.lock().map_err(|cause| cause.to_string())?;
        let said = writeln!(moto.stdin, "{command}").ok().and_then(|()| moto.lines.next());
        said.and_then(Result::ok)
            .ok_or_else(|| format!("the S3 server does not run, and says why above; {INSTALL}"))
    }

    fn start() -> Result<Moto, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = here.join("../../bench/.venv/bin/python");
        let child = Command::new(&python)
            .arg(here.join("s3.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|cause| {
            format!("{}, which the S3 server needs: {cause}; {INSTALL}", python.display())
        })?;
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Ok(Moto { _child: child, stdin, lines })
    }
}

const INSTALL: &str = "`make s3-server` installs it";
