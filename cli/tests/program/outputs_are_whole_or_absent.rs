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
fn a_picture_appears_with_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "p.ppm", b"P6\n1 1\n255\nabc");
    let run = |svg: &str, more: &[&str]| {
        let mut run = tegula();
        run.args(["histogram", "p.ppm", "--svg", svg]).args(more).current_dir(folder.path());
        run.output().unwrap()
    };
    write(folder.path(), "old.svg", "old");
    for svg in ["old.svg", "new.svg"] {
        check_fault(&run(svg, &["-o/dev/full"]), 1, &["/dev/full", "No space left"]);
    }
    assert_eq!(names(folder.path()), ["old.svg", "p.ppm"]);
    assert_eq!(fs::read(folder.path().join("old.svg")).unwrap(), b"old");
    assert!(!answer(run("old.svg", &[])).is_empty());
    assert!(fs::read(folder.path().join("old.svg")).unwrap().starts_with(b"<svg"));
}

#[test]
fn a_full_disk_is_said() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = tegula().args(["wordcount", "/proc/self/status"]).stdout(full).output().unwrap();
    check_fault(&output, 1, &["standard output", "No space left"]);
}
