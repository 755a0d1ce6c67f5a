//! An output file appears only when it is complete, and the file that it replaces stays until then.

use super::*;

#[test]
fn a_failed_run_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = write(folder.path(), "out", "old");
    let output = wordcount(&["missing", "-o", out.to_str().unwrap()]);
    check_fault(&output, 1, &["missing"]);
    assert_eq!(
        (fs::read_to_string(&out).unwrap().as_str(), names(folder.path()).len()),
        ("old", 1)
    );
}

#[test]
fn a_good_run_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = write(folder.path(), "out", "old and longer than the new one");
    answer(count_text(b"a", &["-o", out.to_str().unwrap()]));
    assert_eq!(
        (fs::read_to_string(&out).unwrap().as_str(), names(folder.path()).len()),
        ("a\t1\n", 1)
    );
}

#[test]
fn what_cannot_be_made_is_said_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("none/out");
    for flag in ["-o", "--stats-json"] {
        // A pipe that never ends: only a check before the work comes back from this.
        for (path, part) in [(folder.path(), "folder"), (&inside, "cannot be created")] {
            let mut command = tegula();
            command.args(["wordcount", "-", flag]).arg(path).stdin(Stdio::piped());
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let _open = child.stdin.take();
            check_fault(&child.wait_with_output().unwrap(), 1, &[path.to_str().unwrap(), part]);
        }
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_full_disk_is_said() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = tegula().args(["wordcount", "/proc/self/status"]).stdout(full).output().unwrap();
    check_fault(&output, 1, &["standard output", "No space left"]);
}
