//! Two flags that name one file, and a flag that would empty or replace a file of the input, are refused before anything is
//! read or written; and so are commands that would come from the pipe of the records.

use super::*;
use std::fs::File;
use std::os::unix::fs::symlink;

/// Runs a command in a folder.
fn run(folder: &Path, arguments: &[&str]) -> Command {
    let mut run = tegula();
    run.args(arguments).current_dir(folder);
    run
}

#[test]
fn two_flags_cannot_name_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("text"), "to be\n").unwrap();
    fs::write(folder.join("old"), "old").unwrap();
    fs::write(folder.join("p.ppm"), b"P6\n1 1\n255\nabc").unwrap();
    symlink("old", folder.join("link")).unwrap();
    symlink("new", folder.join("ahead")).unwrap();
    symlink(".", folder.join("here")).unwrap();
    let before = names(folder);
    for (flag, arguments) in [
        ("--stats-json", &["wordcount", "text", "-o", "new", "--stats-json", "new"][..]),
        ("--stats-json", &["wordcount", "text", "-o", "old", "--stats-json", "link"]),
        ("--stats-json", &["wordcount", "text", "-o", "new", "--stats-json", "here/new"]),
        ("--events", &["wordcount", "text", "-o", "new", "--events", "ahead"]),
        ("--timeline", &["wordcount", "text", "-o", "n.svg", "--timeline", "./n.svg"]),
        ("--svg", &["histogram", "p.ppm", "-o", "n.svg", "--svg", "n.svg"]),
        ("--show-to", &["wordcount", "text", "-o", "old", "--show=every=1%", "--show-to=link"]),
        ("--show-to", &["stations", "text", "--events=old", "--show=every=1%", "--show-to=old"]),
        ("--show-to", &["index", "text", "--events=new", "--show=every=1%", "--show-to=new"]),
        ("--show-to", &["kmeans", "text", "-k1", "-oold", "--show=every=round", "--show-to=old"]),
        ("--show-to", &["linreg", "text", "-o", "old", "--show=every=1%", "--show-to=old"]),
    ] {
        let output = run(folder, arguments).output().unwrap();
        check_fault(&output, 2, &[flag, "is also the file of", "name another"]);
        assert_eq!(fs::read(folder.join("old")).unwrap(), b"old", "{arguments:?}");
        assert_eq!(names(folder), before, "{arguments:?}");
    }
    let mut to_file = run(folder, &["wordcount", "text", "--stats-json", "old"]);
    to_file.stdout(File::options().append(true).open(folder.join("old")).unwrap());
    check_fault(&to_file.output().unwrap(), 2, &["--stats-json", "standard output"]);
    // Devices take what anybody writes.
    let null = ["wordcount", "text", "-o/dev/null", "--stats-json=/dev/null", "--events=/dev/null"];
    answer(run(folder, &null).output().unwrap());
}

/// What a flag reads is no place for what another one writes; except the answer, which comes when it has been read.
#[test]
fn files_that_flags_read_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("text"), "to be\n").unwrap();
    fs::write(folder.join("list.json"), "be\n").unwrap();
    symlink("list.json", folder.join("link")).unwrap();
    let before = names(folder);
    let everywhere = &["--events=list.json", "--stats-json=link", "--timeline=./list.json"][..];
    let shows = &["--show-to=list.json --show=every=1%"][..];
    for (name, command, flags) in [
        ("--keys", "stringmatch text --keys list.json", everywhere),
        ("--keys", "stringmatch text --keys link", shows),
        ("--words-from", "index text --words-from list.json", everywhere),
        ("--words-from", "index text --words-from link", shows),
        ("--groups", "wordcount text --groups list.json", everywhere),
        ("KERNEL", "offload list.json text --spec text", everywhere),
        ("--spec", "offload text text --spec list.json", everywhere),
    ] {
        if command.starts_with("offload") && !cfg!(feature = "offload") {
            continue;
        }
        for flag in flags {
            let words: Vec<&str> = command.split(' ').chain(flag.split(' ')).collect();
            let output = run(folder, &words).output().unwrap();
            let says = format!("is also the file of {name}; name another");
            check_fault(&output, 2, &[flag.split('=').next().unwrap(), &says]);
            assert_eq!(fs::read(folder.join("list.json")).unwrap(), b"be\n", "{words:?}");
            assert_eq!(names(folder), before, "{words:?}");
        }
    }
    answer(
        run(folder, &["stringmatch", "text", "--keys=list.json", "-olist.json"]).output().unwrap(),
    );
    assert_eq!(fs::read(folder.join("list.json")).unwrap(), b"");
}

#[test]
fn files_of_the_input_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("texts")).unwrap();
    symlink("texts/a.json", folder.join("link.json")).unwrap();
    for (flag, paths) in [
        ("--events=texts/a.json", &["texts/a.json"][..]),
        ("--events=link.json", &["texts"]),
        ("--stats-json=texts/a.json", &["texts"]),
        ("--timeline=texts/a.json", &["link.json"]),
        // The input is not looked up as a whole.
        ("--events=texts/a.json", &["texts/a.json", "missing"]),
        ("--timeline=texts/a.json", &["texts/a.json", "missing"]),
        ("--events=texts/a.json", &["texts", "missing"]),
        ("--timeline=texts/a.json", &["texts", "missing"]),
        ("--events=texts/a.json", &["missing", "texts/*"]),
        ("--timeline=texts/a.json", &["texts/*", "missing*"]),
        ("--events=texts/a.json", &["-"]),
    ] {
        fs::write(folder.join("texts/a.json"), "to be\n").unwrap();
        let mut command = run(folder, &["wordcount", flag]);
        command.args(paths).stdin(File::open(folder.join("texts/a.json")).unwrap());
        let name = flag.split('=').next().unwrap();
        check_fault(&command.output().unwrap(), 2, &[name, "is a file of the input"]);
        assert_eq!(fs::read(folder.join("texts/a.json")).unwrap(), b"to be\n", "{flag} {paths:?}");
    }
    // A command that fails before it looks may have it as input.
    let refused = ["wordcount", "texts", "--events=texts/a.json", "-o", "no/such/folder"];
    check_fault(&run(folder, &refused).output().unwrap(), 1, &["no/such/folder"]);
    assert_eq!(fs::read(folder.join("texts/a.json")).unwrap(), b"to be\n");
    // The answer replaces a file that has been read.
    answer(run(folder, &["wordcount", "texts", "-o", "texts/a.json"]).output().unwrap());
    assert_eq!(fs::read(folder.join("texts/a.json")).unwrap(), b"be\t1\nto\t1\n");
}

/// Below a loop of links there may be anything.
#[test]
fn files_are_left_where_nobody_can_say_what_the_input_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("texts")).unwrap();
    symlink("loop", folder.join("loop")).unwrap();
    for (flag, file, kept) in [
        ("--events", "texts/a.json", "to be\n"),
        ("--timeline", "texts/a.json", "to be\n"),
        ("--events", "old.json", "or not\n"),
        ("--timeline", "old.json", "or not\n"),
    ] {
        fs::write(folder.join(file), kept).unwrap();
        let mut failing = run(folder, &["wordcount", "loop", flag, file]);
        check_fault(&failing.output().unwrap(), 1, &["loop"]);
        assert_eq!(fs::read_to_string(folder.join(file)).unwrap(), kept, "{flag} {file}");
    }
}

#[test]
fn a_streaming_job_leaves_its_input() {
    if !cfg!(feature = "streaming") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("texts")).unwrap();
    symlink("texts/a.json", folder.join("link.json")).unwrap();
    let commands = ["-mapper", "cat", "-reducer", "cat"];
    for (flag, input) in [
        ("--events=texts/a.json", "texts/a.json"),
        ("--events=link.json", "texts"),
        ("--timeline=texts/a.json", "texts/*"),
        ("--stats-json=texts/a.json", "{texts,texts}"),
        ("--events=texts/empty", "texts"),
        ("--events=texts/a.json", "-"),
        ("--timeline=texts/a.json", "file:-"),
    ] {
        fs::write(folder.join("texts/a.json"), "to be\n").unwrap();
        fs::write(folder.join("texts/empty"), "").unwrap();
        let mut command = run(folder, &["streaming", "-input", input, "-output", "out", flag]);
        command.args(commands).stdin(File::open(folder.join("texts/a.json")).unwrap());
        let name = flag.split('=').next().unwrap();
        check_fault(&command.output().unwrap(), 2, &[name, "is a file of the input"]);
        assert_eq!(fs::read(folder.join("texts/a.json")).unwrap(), b"to be\n", "{flag} {input}");
        assert!(fs::read(folder.join("texts/empty")).unwrap().is_empty(), "{flag} {input}");
        assert!(!folder.join("out").exists(), "{flag} {input}");
    }
    // What Hadoop hides is no part of the input.
    let mut beside = run(folder, &["streaming", "-input", "texts", "-output", "out"]);
    let output = beside.args(commands).arg("--events=texts/_events").output().unwrap();
    check_fault(&output, 0, &["the answer is in"]);
    assert_eq!(fs::read(folder.join("out/part-00000")).unwrap(), b"to be\t\n");
    assert!(fs::read_to_string(folder.join("texts/_events")).unwrap().contains("\"done\""));
}

#[test]
fn pictures_are_not_drawn_over() {
    let folder = tempfile::tempdir().unwrap();
    let picture = b"P6\n1 1\n255\nabc";
    fs::write(folder.path().join("p.ppm"), picture).unwrap();
    let output = run(folder.path(), &["histogram", "p.ppm", "--svg", "p.ppm"]).output().unwrap();
    check_fault(&output, 2, &["--svg", "is a file of the input"]);
    assert_eq!(fs::read(folder.path().join("p.ppm")).unwrap(), picture);
}

#[test]
fn commands_do_not_come_from_the_input() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text"), "to be\n").unwrap();
    for script in [
        "cat text | $0 wordcount - --control 0",
        "cat text | $0 wordcount /dev/stdin --control 0",
        "cat text | $0 wordcount text - --control 3 3<&0",
        "$0 wordcount - --control 0 < text",
        "cat text | $0 matmul text - --control 0",
        "cat text | $0 streaming -input - -output out -mapper cat -reducer cat --control 0",
        "cat text | $0 streaming -input /dev/stdin -output out -mapper cat --control 0",
    ] {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_tegula")]).current_dir(folder.path());
        let is_left_out = script.contains("matmul") && !cfg!(feature = "linalg")
            || script.contains("streaming") && !cfg!(feature = "streaming");
        if is_left_out {
            continue;
        }
        let output = shell.output().unwrap();
        check_fault(&output, 2, &["--control", "the input comes from there"]);
        assert!(output.stdout.is_empty() && !folder.path().join("out").exists(), "{script}");
    }
    let counted =
        answer(run(folder.path(), &["wordcount", "text", "--control=0"]).output().unwrap());
    assert_eq!(counted, b"be\t1\nto\t1\n");
}
