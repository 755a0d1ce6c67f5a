//! Records are generated, sorted and validated by three commands that agree with each other, and with
//! published results.

use crate::{answer, check_fault, names, tegula, text, write};
use std::fs;
use std::process::{Command, Output, Stdio};

fn run(arguments: &[&str]) -> Output {
    tegula().args(arguments).output().unwrap()
}

/// Runs with `text` on standard input.
fn run_on(text: &[u8], arguments: &[&str]) -> Output {
    let mut command = tegula();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text).unwrap();
    child.wait_with_output().unwrap()
}

/// Each save is a file that stays open. A worker that is faster than the disk saves less often than it is told to, so that
/// a slow disk needs more records.
#[test]
fn a_sort_may_save_more_often_than_the_soft_limit_on_open_files_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let sort = |limit: &str, state: &str| {
        let _ = fs::remove_file(path("out"));
        let saves = "sort -j1 --tile 4k --save-every 1tiles --keep partials --job a";
        let line =
            format!("ulimit {limit} 24 && exec \"$0\" {saves} --state \"$1\" \"$2\" -o \"$3\"");
        let mut command = Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_tegula")]);
        command.args([path(state), path("text"), path("out")]).output().unwrap()
    };
    for rows in [2_000_000_u64, 4_000_000, 8_000_000, 16_000_000] {
        let text: String = (0..rows).map(|i| format!("{:08}\n", i * 7_919 % 20_000_003)).collect();
        fs::write(path("text"), &text).unwrap();
        let state = format!("state-{rows}");
        answer(sort("-Sn", &state));
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert!(fs::read_to_string(path("out")).unwrap().lines().eq(lines));
        let saves = names(&path(&state).join("a"));
        let saves = saves.iter().filter(|name| name.starts_with("snapshot-")).count();
        let short = sort("-n", &format!("short-{rows}"));
        if saves > 24 && !short.status.success() {
            check_fault(&short, 1, &["short", "too many files are open", "ulimit -n"]);
            assert!(!path("out").exists());
            return;
        }
    }
    panic!("no more than 24 saves of 144 MB");
}

#[test]
fn generated_records_are_sorted_and_found_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (rows, sorted) = (path("rows"), path("sorted"));
    answer(run(&["teragen", "100000", "-o", &rows]));
    let unsorted = run(&["teravalidate", &rows]);
    check_fault(&unsorted, 1, &[&rows, "byte 200", "record 2 has a lesser key"]);
    for workers in ["1", "3"] {
        let sort = ["sort", "--records", "terasort", &rows, "-o", &sorted, "-j", workers];
        answer(run(&sort));
        let report = text(run(&["teravalidate", &sorted]));
        assert!(report.starts_with("records     100000\nchecksum    "), "{report}");
        assert!(report.ends_with("duplicates  0\norder       right\n"), "{report}");
    }
    // The figures of many splits may go to disk, and are the same.
    let little = ["teravalidate", &sorted, "--split", "100", "--memory", "33M", "-j", "1"];
    assert_eq!(text(run(&little)), text(run(&["teravalidate", &sorted])));
    check_fault(&run(&["teravalidate", &sorted, &sorted]), 2, &["is named twice"]);
    assert_eq!(names(folder.path()), ["rows", "sorted"]);
    // The same by name, and to standard output.
    let fixed = ["sort", "--records", "fixed:100", "--key", "0..10", "--stable", &rows];
    assert!(answer(run(&fixed)) == fs::read(&sorted).unwrap());
}

#[test]
fn lines_are_sorted_by_all_that_can_be_asked_for() {
    let lines = b"pear 2\nfig 9\napple 1\nfig 3";
    for (arguments, expected) in [
        (&["-"][..], &b"apple 1\nfig 3\nfig 9\npear 2\n"[..]),
        (&["-", "-r"], b"pear 2\nfig 9\nfig 3\napple 1\n"),
        (&["-", "--key", "0..3"], b"apple 1\nfig 9\nfig 3\npear 2\n"),
        (&["-", "--key", "0..3", "-u"], b"apple 1\nfig 9\npear 2\n"),
    ] {
        let sorted = answer(run_on(lines, &[&["sort"], arguments].concat()));
        assert_eq!(String::from_utf8_lossy(&sorted), String::from_utf8_lossy(expected));
    }
}

#[test]
fn rows_in_ascii_are_those_of_gensort() {
    let rows = answer(run(&["teragen", "2", "--ascii"]));
    let first = "AsfAGHM5om  00000000000000000000000000000000  \
                 0000222200002222000022220000222200002222000000001111\r\n";
    assert_eq!(String::from_utf8_lossy(&rows[..100]), first);
    assert_eq!(rows.len(), 200);
}

#[test]
fn what_cannot_be_sorted_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let ragged = write(folder.path(), "ragged", [b'x'; 150]);
    let ragged = ragged.to_str().unwrap();
    let sorted = folder.path().join("sorted");
    let sorted = sorted.to_str().unwrap();
    let failed = run(&["sort", "--records", "terasort", ragged, "-o", sorted]);
    check_fault(&failed, 1, &[ragged, "no multiple of the record size 100"]);
    check_fault(&run(&["teravalidate", ragged]), 1, &["no multiple of the record size 100"]);
    let skipped = run(&["sort", "--records", "terasort", "--skip-bad", ragged]);
    let said = String::from_utf8_lossy(&skipped.stderr).into_owned();
    assert!(said.contains("bad records skipped: 1") && said.contains("byte 100"), "{said}");
    assert!(skipped.status.success() && skipped.stdout == [b'x'; 100]);
    let piped = Command::new("sh")
        .args(["-c", "cat \"$1\" | \"$0\" sort --records fixed:40 --skip-bad -"])
        .args([env!("CARGO_BIN_EXE_tegula"), ragged])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&piped.stderr).contains("30 of its 40 bytes"));
    assert!(piped.status.success() && piped.stdout == [b'x'; 120]);
    let lines = run(&["sort", "--skip-bad", ragged]);
    check_fault(&lines, 2, &["--skip-bad", "no record is bad"]);
    let outside = run(&["sort", "--records", "fixed:5", "--key", "3..9", ragged]);
    check_fault(&outside, 2, &["key: 3..9 is not inside a record of 5 bytes"]);
    assert_eq!(names(folder.path()), ["ragged"]);
    for bad in [&["--key", "5..5"][..], &["--key", "5"], &["--records", "fixed:0"]] {
        let arguments = [&["sort", ragged], bad].concat();
        assert_eq!(run(&arguments).status.code(), Some(2), "{bad:?}");
    }
}

#[test]
fn more_than_memory_holds_goes_over_the_scratch_folder_and_leaves_nothing_there() {
    let folder = tempfile::tempdir().unwrap();
    let (input, scratch) = (folder.path().join("in"), folder.path().join("scratch"));
    fs::create_dir(&scratch).unwrap();
    answer(run(&["teragen", "600000", "-o", input.to_str().unwrap()]));
    let arguments = |extra: &[&'static str]| -> Vec<String> {
        let fixed = ["sort", "--records", "terasort", input.to_str().unwrap()];
        fixed.into_iter().chain(extra.iter().copied()).map(str::to_owned).collect()
    };
    let whole = answer(tegula().args(arguments(&[])).output().unwrap());
    let mut little = tegula();
    little.args(arguments(&["--memory", "32M", "-j", "2", "--scratch"])).arg(&scratch);
    assert!(answer(little.output().unwrap()) == whole);
    assert!(names(&scratch).is_empty());
    let missing = folder.path().join("missing");
    let mut failing = tegula();
    failing.args(arguments(&["--memory", "32M", "-j", "2", "--scratch"])).arg(&missing);
    check_fault(&failing.output().unwrap(), 1, &["missing: cannot be used as scratch folder"]);
}
