//! The folder in memory of a process is removed when it ends; that of a process that was killed, when the next one begins.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Begins a process that has written a file, and ends when its standard input does.
fn begun() -> (Child, PathBuf) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_process_with_a_file", "--ignored"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let path = Path::new("/dev/shm").join(format!("tegula-fuzz-{}", child.id()));
    while !path.join("answer").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the process has ended");
        thread::sleep(Duration::from_millis(1));
    }
    (child, path)
}

fn ends(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
#[ignore = "the other test runs it"]
fn a_process_with_a_file() {
    tegula_fuzz::target("states").unwrap()(b"12345");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn with_its_process_or_by_the_next_one() {
    let (mut killed, left) = begun();
    let (ended, removed) = begun();
    assert!(left.exists() && removed.exists());
    ends(ended);
    assert!(!removed.exists());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let (next, its) = begun();
    assert!(!left.exists() && its.exists());
    ends(next);
}
