//! `tegula ... | head` is no failure: when the reader goes away the program ends with 0 and says
//! nothing.

use super::*;
use std::io::Read;

#[test]
fn after_some_lines_were_read() {
    let text: String = (0..200_000).map(|number| format!("word-{number} ")).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "words", text);
    let mut command = tegula();
    command.arg("wordcount").arg(file).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut some = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
        (Some(0), "")
    );
    assert_eq!(&some, b"word-0\t1\nw");
}

#[test]
fn before_anything_was_read() {
    for arguments in [&["wordcount", "/proc/self/status"][..], &["topology"]] {
        let mut child =
            tegula().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{arguments:?}");
    }
}

/// Figures and skipped records are reported also if nobody reads the answer.
#[test]
fn with_their_reports() {
    let folder = tempfile::tempdir().unwrap();
    let lines = write(folder.path(), "lines", "a;1.0\nb\nc;2.0\n");
    let mut command = tegula();
    command.arg("stations").arg(lines).current_dir(folder.path());
    command.args(["--skip-bad", "--stats", "--stats-json", "stats", "--events", "events"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("bad records skipped: 1") && said.contains("workers"), "{said}");
    let stats = fs::read(folder.path().join("stats")).unwrap();
    let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
    assert_eq!((&stats["keys"], &stats["bad_records"]), (&2.into(), &1.into()));
    let events = fs::read_to_string(folder.path().join("events")).unwrap();
    for event in ["stats", "bad", "end"] {
        assert!(events.contains(&format!("\"event\":\"{event}\"")), "{event} in {events}");
    }
}
