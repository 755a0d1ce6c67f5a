//! HDFS: a namenode and a datanode in one Java process, from Hadoop's own libraries for tests. Maven
//! fetches them, 130 MB the first time, and prints their places, which are kept beside the other files that
//! builds leave.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use tempfile::TempDir;

/// A cluster that ends when it is dropped, or with this process.
pub struct Hdfs {
    folder: TempDir,
    child: Child,
    talk: Mutex<(ChildStdin, Lines<BufReader<ChildStdout>>)>,
    namenode_port: u16,
    datanode_port: u16,
}

impl Hdfs {
    /// The name by which the datanode is known to clients that ask for names rather than addresses
    /// (`dfs.client.use.datanode.hostname`): nobody listens there, so that a test can.
    pub const DATANODE_HOST: &str = "127.0.0.2";

    /// Starts an empty file system, of blocks of 1 MiB.
    pub fn start() -> Hdfs {
        Hdfs::start_with(1 << 20)
    }

    /// Starts an empty file system, of blocks of `block_bytes`.
    pub fn start_with(block_bytes: u64) -> Hdfs {
        let here = program_folder();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let java = Command::new("java")
            .arg("-Xmx512m")
            .arg(format!("-Dlog4j.configuration=file:{}", here.join("log4j.properties").display()))
            .args(["-cp", class_path()])
            .arg(here.join("Cluster.java"))
            .arg(folder.path().join("dfs"))
            .args([Hdfs::DATANODE_HOST, &block_bytes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn();
        let mut child = java.unwrap_or_else(|cause| {
            panic!("java, which HDFS runs on, cannot be run: {cause}; apt-get install default-jdk-headless")
        });
        let stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| line.ok()?.strip_prefix("ready ").map(str::to_owned));
        let ready = ready.unwrap_or_else(|| {
            panic!("HDFS does not start:\n{}", fs::read_to_string(&log).unwrap_or_default())
        });
        let ports: Vec<u16> = ready.split(' ').map(|port| port.parse().unwrap()).collect();
        Hdfs {
            folder,
            child,
            talk: Mutex::new((stdin, lines)),
            namenode_port: ports[0],
            datanode_port: ports[1],
        }
    }

    /// Where its files begin: `hdfs://host:port`.
    pub fn root(&self) -> String {
        format!("hdfs://127.0.0.1:{}", self.namenode_port)
    }

    /// Returns the port of the namenode.
    pub fn namenode_port(&self) -> u16 {
        self.namenode_port
    }

    /// Returns the port that the datanode sends blocks from.
    pub fn datanode_port(&self) -> u16 {
        self.datanode_port
    }

    /// Makes or replaces a file, and the folders above it.
    pub fn put(&self, path: &str, bytes: &[u8]) {
        let local = self.folder.path().join("put");
        fs::write(&local, bytes).unwrap();
        self.tell(&format!("put {} {path}", local.display()));
    }

    /// Copies a local file or folder.
    pub fn put_local(&self, local: &Path, path: &str) {
        self.tell(&format!("put {} {path}", local.display()));
    }

    /// Removes a file or folder.
    pub fn delete(&self, path: &str) {
        self.tell(&format!("delete {path}"));
    }

    /// Lets only the owner read it.
    pub fn deny(&self, path: &str) {
        self.tell(&format!("deny {path}"));
    }

    /// Returns the Java class path of Hadoop's own programs.
    pub fn class_path() -> String {
        class_path().to_owned()
    }

    fn tell(&self, command: &str) {
        let (stdin, lines) = &mut *self.talk.lock().unwrap();
        writeln!(stdin, "{command}").unwrap();
        let answer = lines.next().unwrap().unwrap();
        assert_eq!(answer, "done", "{command}");
    }
}

impl Drop for Hdfs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder of the server's program.
fn program_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hdfs")
}

/// Returns the Java class path. Tests of one process that start at once wait for one answer.
fn class_path() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| find_class_path(&program_folder()))
}

/// Finds the Java class path: asks Maven unless it was asked before and all of it is still there.
fn find_class_path(here: &Path) -> String {
    let pom = here.join("pom.xml");
    let kept = build_folder().join("hdfs-class-path");
    let is_whole = |path: &String| path.split(':').all(|jar| Path::new(jar).exists());
    let is_newer = || {
        let time = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
        time(&kept) > time(&pom)
    };
    if let Some(path) = fs::read_to_string(&kept).ok().filter(is_whole)
        && is_newer()
    {
        return path;
    }
    let fresh = kept.with_extension(std::process::id().to_string());
    let maven = Command::new("mvn")
        .args(["--batch-mode", "--quiet", "dependency:build-classpath"])
        .arg(format!("-Dmdep.outputFile={}", fresh.display()))
        .arg("--file")
        .arg(&pom)
        .output();
    let maven = maven.unwrap_or_else(|cause| {
        panic!("mvn, which fetches Hadoop, cannot be run: {cause}; apt-get install maven")
    });
    assert!(
        maven.status.success(),
        "mvn cannot fetch Hadoop:\n{}{}",
        String::from_utf8_lossy(&maven.stdout),
        String::from_utf8_lossy(&maven.stderr)
    );
    fs::rename(&fresh, &kept).unwrap();
    fs::read_to_string(&kept).unwrap()
}

/// Where this test was built.
fn build_folder() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}
