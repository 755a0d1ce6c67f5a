//! Commands end with the codes of docs/command-line.md: 0 done, 1 failed, 2 wrong usage, 130 interrupted. That a
//! command that answers ends with 0, also without a reader, and one that fails with 1, is tested for each command with
//! odd input (`every_command_bears_odd_input`).

use super::*;
use crate::interrupts_leave_nothing_behind::{check_end, interruptible, start};
use rustix::process::Signal;
use tegula_cli::parts::commands;

/// Returns the words of every command that is carried out, such as `state ls`.
fn all(command: &clap::Command, before: &[String]) -> Vec<Vec<String>> {
    let below = command.get_subcommands().filter(|below| below.get_name() != "help");
    let words = |below: &clap::Command| [before, &[below.get_name().to_owned()]].concat();
    below
        .flat_map(|below| match below.has_subcommands() {
            true => all(below, &words(below)),
            false => vec![words(below)],
        })
        .collect()
}

#[test]
fn two_for_a_flag_that_a_command_does_not_have() {
    for command in all(&commands(), &[]) {
        let output = tegula().args(&command).arg("--no-such-flag").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
        // What follows `hadoop` is of Hadoop's own forms, which it then lists.
        let is_named = said.contains("no-such-flag") || command == ["hadoop"];
        assert!(output.stdout.is_empty() && is_named, "{command:?}: {said}");
    }
}

/// For commands that cannot do what is asked, whatever the input.
#[test]
fn two_for_what_could_never_work() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], parts: &[&str]| {
        let output = tegula().args(arguments).current_dir(folder.path()).output().unwrap();
        check_fault(&output, 2, parts);
        assert_eq!(names(folder.path()), ["input"], "{arguments:?}");
    };
    write(folder.path(), "input", "1 2\n3 5\n");
    let state = ["--state=state", "--job=a"];
    for command in &[
        #[cfg(feature = "linalg")]
        &["pca", "input"][..],
        #[cfg(feature = "linalg")]
        &["matmul", "input", "input"],
    ] as &[&[&str]]
    {
        run(&[command, &state[..]].concat(), &["--state"]);
    }
    run(&[&["sort", "input", "--incremental"], &state[..]].concat(), &["--incremental"]);
    run(&["wordcount", "input", "--state=state", "--job=a/b"], &["a/b", "--job"]);
    run(&["linreg", "input", "--device=none"], &["--device", "none"]);
    run(&["kmeans", "input", "-k3"], &["3 of 2 points"]);
    run(&["wordcount", "input", "--groups=none"], &["groups", "none"]);
}

/// As docs/state.md says of refused runs: nothing is changed.
#[test]
fn one_for_a_state_that_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "text", "to be\n");
    write(folder.path(), "more", "or not\n");
    let packed = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"to be\n").unwrap();
        encoder.finish().unwrap()
    };
    write(folder.path(), "text.gz", packed);
    let run =
        |arguments: &[&str]| tegula().args(arguments).current_dir(folder.path()).output().unwrap();
    let on = |job: &'static str, arguments: &[&'static str]| {
        run(&[arguments, &["--state=state", "--job", job]].concat())
    };
    assert!(on("plain", &["wordcount", "text"]).status.success());
    assert!(on("tiles", &["wordcount", "text", "--incremental"]).status.success());
    assert!(on("kept", &["wordcount", "text", "--keep=partials"]).status.success());
    let before = fs::read(folder.path().join("state/plain/manifest")).unwrap();
    for (job, arguments, parts) in [
        ("plain", &["grep", "be", "text"][..], &["another job"][..]),
        ("plain", &["wordcount", "text", "--words=alpha"], &["another job", "words"]),
        ("plain", &["wordcount", "text", "--tile=1M"], &["another job", "tile"]),
        ("plain", &["wordcount", "text", "--split=1M"], &["another job", "split"]),
        ("plain", &["wordcount", "more"], &["the input has changed"]),
        ("plain", &["wordcount", "text", "more"], &["the input has changed"]),
        ("tiles", &["wordcount", "text"], &["incremental"]),
        ("packed", &["wordcount", "text.gz", "--incremental"], &["compressed files"]),
        ("packed", &["index", "text.gz"], &["compressed files"]),
        ("stream", &["wordcount", "-"], &["standard input", "second time"]),
    ] {
        let output = on(job, arguments);
        check_fault(&output, 1, parts);
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert!(fs::read(folder.path().join("state/plain/manifest")).unwrap() == before);
    for arguments in [
        &["state", "ls", "none"][..],
        &["state", "show", "none"],
        &["state", "verify", "none"],
        &["state", "rm", "none"],
        &["state", "show", "state", "--job=none"],
        &["state", "verify", "state", "--job=none"],
        &["state", "rm", "state", "--job=none"],
        &["show", "--state=none"],
        &["show", "--state=state", "--job=none"],
    ] {
        check_fault(&run(arguments), 1, &["none: no state is there", "`tegula state ls`"]);
    }
    let file = run(&["wordcount", "text", "--state=text", "--job=a"]);
    check_fault(&file, 1, &["text/a: cannot be used as a state's folder", "--state"]);
}

/// Every command that reads a stream, while it waits for more of it.
#[test]
fn one_hundred_and_thirty_for_an_interrupt() {
    let waiting: Vec<_> = [
        &["wordcount"][..],
        &["index"],
        &["grep", "a"],
        &["top", "3"],
        &["stations"],
        &["logstats"],
        &["linreg"],
        &["kmeans", "-k1"],
        &["stringmatch", "-ka"],
        &["sort"],
        &["teravalidate"],
        #[cfg(feature = "linalg")]
        &["pca"],
        #[cfg(feature = "linalg")]
        &["matmul", "-"],
    ]
    .into_iter()
    .map(|command| {
        let mut child = start(interruptible().args(command).arg("-").stdin(Stdio::piped()));
        let writer = child.stdin.take();
        (child, writer)
    })
    .collect();
    for (child, writer) in waiting {
        check_end(child, Signal::INT);
        drop(writer);
    }
}
