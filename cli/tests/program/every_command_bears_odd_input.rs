//! For any input and output, a command answers, or ends with one line that gives the reason, without leftover
//! files; it never panics and never hangs.

use super::*;

/// A command, a good input for it, and its result for an empty file: an answer, or part of the line.
type Case = (&'static [&'static str], &'static [u8], Result<&'static str, &'static str>);

const CASES: &[Case] = &[
    (&["wordcount"], b"a b", Ok("")),
    (&["index"], b"a b", Ok("")),
    (&["grep", "a"], b"a b", Ok("")),
    (&["top", "3"], b"a b", Ok("")),
    (&["top", "3", "--json=a"], br#"{"a":"b"}"#, Ok("")),
    (&["wordcount", "--json=a"], br#"{"a":"b c"}"#, Ok("")),
    (&["stations"], b"a;1.0", Ok("{}\n")),
    (&["logstats"], b"ann login 1", Ok("")),
    (
        &["logstats", "--key=host"],
        b"h - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5",
        Ok(""),
    ),
    (&["histogram"], b"P6 1 1 255\nabc", Err("not a BMP or binary PPM")),
    (&["linreg"], b"1 2\n3 4", Err("fewer than two")),
    (&["linreg", "--points=bytes"], b"abcd", Err("fewer than two")),
    (&["kmeans", "-k1"], b"1 2\n3 4", Err("no numbers; give a file")),
    (&["stringmatch", "-ka"], b"a", Ok("")),
    (&["sort"], b"b\na", Ok("")),
    (&["sort", "--records=fixed:2"], b"baab", Ok("")),
    (
        &["teravalidate"],
        &[b'x'; 100],
        Ok("records     0\nchecksum    0\nduplicates  0\norder       right\n"),
    ),
    #[cfg(feature = "linalg")]
    (&["pca"], b"1 2\n3 4", Err("no numbers; give a file")),
];

/// Returns a folder with `input` in it, the command over that, and where it may write.
fn prepared(command: &[&str], input: &[u8]) -> (tempfile::TempDir, Command) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "input", input);
    let mut run = tegula();
    run.args(command).arg("input").current_dir(folder.path());
    (folder, run)
}

#[test]
fn a_file_without_a_byte() {
    for (command, _, expected) in CASES {
        let (folder, mut run) = prepared(command, b"");
        let output = run.args(["-o", "out"]).output().unwrap();
        match expected {
            Ok(expected) => {
                assert_eq!(text(output), "", "{command:?}");
                let out = fs::read_to_string(folder.path().join("out")).unwrap();
                assert_eq!(out, *expected, "{command:?}");
            }
            Err(part) => {
                check_fault(&output, 1, &[part]);
                assert_eq!(names(folder.path()), ["input"], "{command:?}");
            }
        }
    }
}

/// Jobs about numbers fail without numbers; all others answer as for an empty file.
#[test]
fn a_folder_without_a_file() {
    for (command, _, over_empty) in CASES {
        let folder = tempfile::tempdir().unwrap();
        let output = tegula().args(*command).arg(folder.path()).output().unwrap();
        match (over_empty, command[0]) {
            (Ok(expected), _) => assert_eq!(text(output), *expected, "{command:?}"),
            (_, "histogram") => assert_eq!(text(output).lines().count(), 768),
            (Err(_), _) => check_fault(&output, 1, &["; "]),
        }
    }
}

/// A last line without its end is a line, and the answer is the same as with it.
#[test]
fn a_last_line_without_its_end() {
    for (command, input, _) in CASES {
        let (_folder, mut run) = prepared(command, input);
        let without = text(run.output().unwrap());
        assert!(!without.is_empty(), "{command:?}");
        let is_lines = !matches!(
            command,
            ["histogram" | "teravalidate", ..] | [_, "--points=bytes" | "--records=fixed:2"]
        );
        if is_lines {
            let (_folder, mut run) = prepared(command, &[input, &b"\n"[..]].concat());
            assert_eq!(text(run.output().unwrap()), without, "{command:?}");
        }
    }
}

#[test]
fn a_path_that_names_nothing() {
    for (command, ..) in CASES {
        let (folder, mut run) = prepared(command, b"");
        let output = run.args(["missing", "-o", "out"]).output().unwrap();
        check_fault(&output, 1, &["missing: no such file or folder; check the path"]);
        assert_eq!(names(folder.path()), ["input"], "{command:?}");
    }
}

#[test]
fn a_device_that_is_full() {
    for (command, input, _) in CASES {
        let (folder, mut run) = prepared(command, input);
        let output = run.args(["-o", "/dev/full"]).output().unwrap();
        check_fault(&output, 1, &["/dev/full: cannot be written", "No space left"]);
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = prepared(command, input).1.current_dir(folder.path()).stdout(full).output();
        check_fault(&output.unwrap(), 1, &["standard output", "No space left"]);
        assert_eq!(names(folder.path()), ["input"], "{command:?}");
    }
}

#[test]
fn an_answer_where_no_file_can_be() {
    for (command, input, _) in CASES {
        for (path, part) in [(".", "is a folder"), ("none/out", "choose a folder that exists")] {
            let (folder, mut run) = prepared(command, input);
            check_fault(&run.args(["-o", path]).output().unwrap(), 1, &[part]);
            assert_eq!(names(folder.path()), ["input"], "{command:?}");
        }
    }
}

/// Said before the work, though this work would never have needed it.
#[test]
fn a_scratch_folder_that_is_none() {
    for (command, input, _) in CASES {
        for scratch in ["none", "input"] {
            let (folder, mut run) = prepared(command, input);
            let output = run.args(["-o", "out", "--scratch", scratch]).output().unwrap();
            check_fault(&output, 1, &[scratch, "cannot be used as scratch folder", "--scratch"]);
            assert_eq!(names(folder.path()), ["input"], "{command:?}");
        }
    }
}

#[test]
fn a_reader_that_went_away() {
    for (command, input, _) in CASES {
        let (_folder, mut run) = prepared(command, input);
        let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""), "{command:?}");
    }
}

/// Records whose size does not divide the file's are refused before anything is read.
#[test]
fn a_file_cut_inside_a_record() {
    for command in [
        &["sort", "--records=fixed:10", "--key=0..2"][..],
        &["sort", "--records=terasort"],
        &["teravalidate"],
        &["linreg", "--points=bytes"],
    ] {
        let (folder, mut run) = prepared(command, &[b'x'; 101]);
        let output = run.args(["-o", "out"]).output().unwrap();
        check_fault(&output, 1, &["input: 101 bytes", "record size", "cut short"]);
        assert_eq!(names(folder.path()), ["input"], "{command:?}");
    }
}

#[test]
fn a_picture_cut_short() {
    let (folder, mut run) = prepared(&["histogram"], b"P6 2 2 255\nabcabc");
    let output = run.args(["-o", "out", "--svg", "svg"]).output().unwrap();
    check_fault(&output, 1, &["input, byte 0: the picture is cut short"]);
    assert_eq!(names(folder.path()), ["input"]);
}
