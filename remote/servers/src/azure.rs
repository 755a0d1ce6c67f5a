//! Azure: Microsoft's own emulator, Azurite, which runs on Node. Where it is, the variable `AZURITE`
//! says; `make test-emulators` sets it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// An emulator that ends when it is dropped. It keeps all in memory.
pub struct Azure {
    child: Child,
    endpoint: String,
}

impl Azure {
    /// The one account that it knows.
    pub const ACCOUNT: &str = "devstoreaccount1";
    /// The key of it, which is the same for everybody.
    pub const KEY: &str =
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

    /// Starts it without containers.
    pub fn start() -> Azure {
        let azurite = std::env::var_os("AZURITE").expect("AZURITE is not set: make test-emulators");
        let mut child = Command::new("node")
            .arg(azurite)
            .args(["--blobPort", "0", "--inMemoryPersistence", "--disableTelemetry"])
            .arg("--skipApiVersionCheck")
            .stdout(Stdio::piped())
            .spawn()
            .expect("node, which Azurite runs on");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let listens = lines.find_map(|line| Some(line.split_once("listens on ")?.1.to_owned()));
        let endpoint = format!("{}/{}", listens.expect("Azurite does not start"), Azure::ACCOUNT);
        // It logs each request, and would wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Azure { child, endpoint }
    }

    /// Returns the URL of the account, for `AZURE_STORAGE_ENDPOINT`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Makes or replaces a blob, and its container.
    pub fn put(&self, container: &str, name: &str, bytes: &[u8]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("azure/put.mjs");
        let mut put = Command::new("node")
            .arg(script)
            .args([&self.endpoint, container, name])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        put.stdin.take().unwrap().write_all(bytes).unwrap();
        assert!(put.wait().unwrap().success(), "{container}/{name} cannot be put");
    }
}

impl Drop for Azure {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
