//! A run with a state that is killed resumes with the same command; `tegula state` shows the saved pairs.

use super::native_maps_that_break_their_word_are_named::compile;
use super::*;
use rustix::process::{Pid, Signal, kill_process};
use tegula::{Disk, Engine, Input, Options, State};

#[test]
fn with_the_same_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text: String = (0..400_000).map(|i| format!("word{} {i}\n", i % 1000)).collect();
    fs::write(path("text"), &text).unwrap();
    let plain = tegula().args(["wordcount", "-o"]).args([path("plain"), path("text")]).status();
    assert!(plain.unwrap().success());
    let command = || {
        let mut command = tegula();
        command.args(["wordcount", "--tile", "64k", "--save-every", "1tiles", "--job", "words"]);
        command.arg("--state").args([path("state"), path("text")]).arg("-o").arg(path("out"));
        command.arg("--stats-json").arg(path("stats"));
        command
    };
    // Killed as soon as something was saved.
    let mut child = command().spawn().unwrap();
    wait_until("something is saved", || snapshots(&path("state").join("words")) > 0);
    let _ = kill_process(Pid::from_child(&child), Signal::KILL);
    child.wait().unwrap();
    // A copy of the state can be shown elsewhere.
    fs::create_dir_all(path("copy").join("words")).unwrap();
    for entry in fs::read_dir(path("state").join("words")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), path("copy").join("words").join(entry.file_name())).unwrap();
    }
    fs::rename(path("text"), path("away")).unwrap();
    let show = |state: &str, more: &[&str]| {
        tegula().args(["show", "--state"]).arg(path(state)).args(more).output().unwrap()
    };
    let shown = show("copy", &["--top", "5"]);
    let said = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(shown.status.success() && said.starts_with("tegula: words: "), "{said}");
    // It may have been killed before a manifest named anything.
    assert!(String::from_utf8_lossy(&shown.stdout).lines().count() <= 5);
    fs::rename(path("away"), path("text")).unwrap();
    for _ in 0..2 {
        assert!(command().status().unwrap().success());
        assert!(fs::read(path("out")).unwrap() == fs::read(path("plain")).unwrap());
    }
    let stats: serde_json::Value =
        serde_json::from_slice(&fs::read(path("stats")).unwrap()).unwrap();
    assert_eq!(stats["restored_bytes"], text.len());
    let all = show("state", &["--job", "words", "--top", "all"]);
    assert!(all.stdout == fs::read(path("plain")).unwrap());
    let top = show("state", &["--top", "2", "--order", "key"]);
    assert_eq!(String::from_utf8_lossy(&top.stdout), "word0\t400\nword1\t400\n");

    let state = |what: &str| {
        let mut state = tegula();
        state.args(["state", what]).arg(path("state")).output().unwrap()
    };
    let said = |what: &str| String::from_utf8(state(what).stdout).unwrap();
    assert!(said("ls").starts_with("words\tdone of "), "{}", said("ls"));
    assert!(said("show").contains("  words: whitespace\n"), "{}", said("show"));
    assert!(said("verify").starts_with("words\twhole, "), "{}", said("verify"));
    let snapshot =
        fs::read_dir(path("state").join("words")).unwrap().map(|entry| entry.unwrap().path());
    let snapshot = snapshot.into_iter().find(|path| path.to_string_lossy().contains("snapshot-"));
    let snapshot = snapshot.unwrap();
    let whole = fs::read(&snapshot).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&snapshot, damaged).unwrap();
    // The answer that stands needs no pairs.
    assert!(command().status().unwrap().success());
    fs::remove_file(path("out")).unwrap();
    for failed in [state("verify"), command().output().unwrap()] {
        let message = String::from_utf8_lossy(&failed.stderr).into_owned();
        assert_eq!(failed.status.code(), Some(1));
        assert!(message.contains("damaged at byte") && message.lines().count() == 1, "{message}");
    }
    assert!(state("rm").status.success());
    assert_eq!((said("ls").as_str(), fs::read_dir(path("state")).unwrap().count()), ("", 0));
    let missing =
        tegula().args(["state", "show", "--job", "words"]).arg(path("state")).output().unwrap();
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no state is there"));
}

fn snapshots(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("snapshot-"))
        .count()
}

#[test]
fn a_sort_with_the_same_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let line = |i: u64| format!("{:07} {i}\n", i * 7_919 % 1_000_003);
    let text: String = (0..1_500_000).map(line).collect();
    fs::write(path("text"), &text).unwrap();
    let plain = tegula().args(["sort", "-o"]).args([path("plain"), path("text")]).status();
    assert!(plain.unwrap().success());
    let command = || {
        let mut command = tegula();
        command.args(["sort", "--memory", "40m", "-j", "2", "--job", "lines", "--state"]);
        command.args([path("state"), path("text")]).arg("-o").arg(path("out"));
        command.arg("--stats-json").arg(path("stats"));
        command
    };
    let mut child = command().spawn().unwrap();
    let said = |what: &str| {
        let output = tegula().args(["state", what]).arg(path("state")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    wait_until("something is saved", || {
        snapshots(&path("state").join("lines")) > 0 && !said("ls").contains(", 0 snapshots")
    });
    let _ = kill_process(Pid::from_child(&child), Signal::KILL);
    child.wait().unwrap();
    assert!(!path("out").exists());
    assert!(said("verify").starts_with("lines\twhole, "), "{}", said("verify"));
    assert!(said("show").contains("  records: lines\n"), "{}", said("show"));
    let shown = tegula().args(["show", "--state"]).arg(path("state")).output().unwrap();
    let message = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(message.contains("the answers of sort are not shown from a state"), "{message}");
    assert!(command().status().unwrap().success());
    assert!(fs::read(path("out")).unwrap() == fs::read(path("plain")).unwrap());
    let stats: serde_json::Value =
        serde_json::from_slice(&fs::read(path("stats")).unwrap()).unwrap();
    assert!(stats["restored_bytes"].as_u64().unwrap() > 0);
    // The records are where they were asked for, so the state lets them go.
    assert!(said("ls").contains("done of ") && said("ls").contains(", 0 snapshots"));
    assert!(tegula().args(["state", "rm"]).arg(path("state")).status().unwrap().success());
}

/// Until 23 November 2026, the program kept its arguments as they were given.
#[test]
fn states_of_earlier_versions_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    fs::write(&keys, "to be\n").unwrap();
    let shown = |job: &dyn Fn(Options), arguments: &[&str]| {
        let state = State::new(folder.path().join("state"), "job");
        job(Options { state: Some(state.about(arguments.join("\0"))), ..Options::default() });
        let output = tegula().args(["show", "--state"]).arg(folder.path().join("state")).output();
        tegula::state::remove(&Disk::new(folder.path().join("state")), "job").unwrap();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let engine = Engine::new().unwrap();
    let input = || Input::bytes("To be\nor not\nto be\n");
    let words = |options: Options| {
        let job = tegula_apps::WordCount { words: tegula_apps::Words::Alpha };
        engine.job(&job).options(&options).run(input()).map(drop).unwrap();
    };
    let kept = [
        "wordcount",
        "--words",
        "alpha",
        "--format",
        "jsonl",
        "--state",
        "s",
        "--job",
        "job",
        "text",
    ];
    let first = shown(&words, &kept);
    assert!(first.starts_with("{\"key\":\"be\",\"value\":2}\n"), "{first}");
    let lines = |options: Options| {
        let job = tegula_apps::string_match::StringMatch::new(&[b"to be".to_vec()]);
        engine.job(&job).options(&options).run(input()).map(drop).unwrap();
    };
    let kept =
        ["stringmatch", "--keys", keys.to_str().unwrap(), "text", "--state", "s", "--job", "job"];
    assert_eq!(shown(&lines, &kept), "to be\t1\n");
    assert_eq!(shown(&words, &["no command"]), "");
}

#[test]
fn states_of_which_nothing_can_be_shown_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("text"), "some words\n").unwrap();
    let run = |job: &str, command: &[&str]| {
        let mut run = tegula();
        run.args(command).arg(path("text")).arg("--state").arg(path("state")).args(["--job", job]);
        assert!(run.output().unwrap().status.success());
    };
    let show = |more: &[&str], code: i32, says: &str| {
        let shown = tegula().args(["show", "--state"]).arg(path("state")).args(more).output();
        let shown = shown.unwrap();
        let said = String::from_utf8_lossy(&shown.stderr).into_owned();
        assert_eq!(shown.status.code(), Some(code), "{said}");
        assert!(said.contains(says) && said.lines().count() == 1, "{said}");
    };
    show(&[], 1, "state");
    run("a", &["wordcount"]);
    show(&[], 0, "tegula: a: all of 11 B, 2 keys");
    show(&["--job", "b"], 1, "no state is there");
    run("b", &["grep", "o"]);
    show(&[], 2, "has several: a, b");
    show(&["--job", "b"], 0, "tegula: b: all of 11 B, 1 keys");
}

#[test]
fn jobs_of_one_command_are_saved_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let points = (0..4000).map(|i| format!("{} {}\n", i * 37 % 101, i * i % 97));
    fs::write(path("points"), points.collect::<String>()).unwrap();
    let run = |command: &[&str], more: &[&str]| {
        let mut run = tegula();
        run.args(command).arg(path("points")).args(more).arg("--stats-json").arg(path("stats"));
        let output = run.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let stats = fs::read(path("stats")).unwrap();
        let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
        (output.stdout, stats["restored_bytes"].as_u64().unwrap())
    };
    let state = path("state").display().to_string();
    let saved = ["--state", &state, "--job", "points"];
    let kmeans = ["kmeans", "-k", "5"];
    let (plain, _) = run(&kmeans, &[]);
    let (_, restored) = run(&kmeans, &[&saved[..], &["--rounds", "3"]].concat());
    assert_eq!(restored, 0);
    let bytes = 4000 * 2 * 8;
    let (answer, some) = run(&kmeans, &saved);
    assert!(answer == plain && some == 3 * bytes, "{some}");
    let (answer, all) = run(&kmeans, &saved);
    assert!(answer == plain && all > some, "{all}");
    let list = tegula().args(["state", "ls"]).arg(path("state")).output().unwrap().stdout;
    assert!(String::from_utf8_lossy(&list).starts_with("points.1\tdone of "));
    let saved = ["--state", &state, "--job", "line"];
    let (line, _) = run(&["linreg"], &[]);
    for expected in [0, fs::metadata(path("points")).unwrap().len()] {
        assert_eq!(run(&["linreg"], &saved), (line.clone(), expected));
    }
    // A command of one job is found by the name that it was given, and by that of its state.
    for name in ["line", "line.1"] {
        let shown = tegula().args(["show", "--state", &state, "--job", name]).output().unwrap();
        let said = String::from_utf8_lossy(&shown.stderr).into_owned();
        assert!(shown.stdout == line && said.starts_with("tegula: line.1: all of "), "{said}");
    }
    // Of one in rounds, the last round that is done; any other by its own name.
    let shown = |job: &str| {
        let shown = tegula().args(["show", "--state", &state, "--job", job]).output().unwrap();
        (shown.stdout, String::from_utf8_lossy(&shown.stderr).into_owned())
    };
    let (last, said) = shown("points");
    assert!(last == plain && said.contains(": all of "), "{said}");
    let third = run(&[&kmeans[..], &["--rounds", "3"]].concat(), &[]).0;
    let (round, said) = shown("points.3");
    assert!(round == third && round != plain && said.ends_with("tegula: round 3\n"), "{said}");
}

/// A command of several jobs is named as a whole, with gaps, too. Jobs that only have such names are apart.
#[test]
fn jobs_of_one_command_have_one_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("points"), "1 2\n3 5\n9 9\n8 9\n").unwrap();
    let run = |arguments: &[&str]| {
        let output = tegula().args(arguments).current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), output.stderr)
    };
    let saved = ["--state", "s", "--job"];
    let near = [&["kmeans", "-k2", "points", "--start=spread"][..], &saved, &["near"]].concat();
    assert_eq!(run(&near).0, Some(0));
    fs::remove_dir_all(folder.path().join("s/near.1")).unwrap();
    for command in ["show", "verify"] {
        let (code, text, said) = run(&["state", command, "s", "--job", "near"]);
        assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&said));
        assert!(text.contains("near.2"), "{text}");
    }
    for job in ["v.1", "v.2"] {
        assert_eq!(run(&[&["wordcount", "points"][..], &saved, &[job]].concat()).0, Some(0));
    }
    assert_eq!(run(&["state", "rm", "s", "--job", "near"]).0, Some(0));
    let (code, _, said) = run(&["show", "--state", "s"]);
    assert!(code == Some(2) && String::from_utf8_lossy(&said).contains("has several: v.1, v.2"));
    let _ = run(&["state", "rm", "s", "--job", "v"]);
    let (_, list, _) = run(&["state", "ls", "s"]);
    assert_eq!(list.lines().map(|line| &line[..3]).collect::<Vec<_>>(), ["v.1", "v.2"]);
}

/// Answers are shown as the command gave them, with every option that changes them.
#[test]
fn what_is_shown_has_the_form_of_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("text"), b"to be\nor not\nto be\n\xff\n").unwrap();
    fs::write(path("keys"), b"to be\n\xff\n").unwrap();
    fs::write(path("log"), "ann login 5\nann logout 9\n").unwrap();
    fs::write(path("heat"), "Hot;9.9\nCold;-9.9\n").unwrap();
    fs::write(path("picture"), b"P6\n2 1\n255\nabcdea").unwrap();
    fs::write(path("points"), "1 2\n3 5\n").unwrap();
    let json = r#"{"user":{"id":"ann"},"bytes":5,"message":"To be"}"#;
    fs::write(path("json"), json).unwrap();
    let keys = path("keys").display().to_string();
    for (number, (command, file)) in [
        (&["wordcount", "--words=alpha", "--format=jsonl"][..], "text"),
        (&["index", "--words=unicode", "--word=BE", "--word=not"], "text"),
        (&["grep", "T.", "--ignore-case", "--by=match"], "text"),
        (&["grep", "be", "--fixed", "--lines"], "text"),
        (&["top", "9", "--by=1", "--separator= "], "text"),
        (&["top", "9", "--sum=2", "--separator=;"], "heat"),
        (&["top", "9", "--json=user.id"], "json"),
        (&["top", "9", "--json=user.id", "--sum=bytes"], "json"),
        (&["wordcount", "--json=message", "--words=alpha"], "json"),
        (&["stringmatch", "--keys", &keys, "--key=or not"], "text"),
        (&["stringmatch", "--key=to be", "--places", "--format=jsonl"], "text"),
        (&["logstats"], "log"),
        (&["stations"], "heat"),
        (&["histogram", "--format=jsonl"], "picture"),
        (&["linreg"], "points"),
    ]
    .into_iter()
    .enumerate()
    {
        let job = format!("job{number}");
        let mut run = tegula();
        run.args(command).arg(path(file)).arg("--state").arg(path("state")).args(["--job", &job]);
        let plain = answer(run.output().unwrap());
        let mut show = tegula();
        show.args(["show", "--job", &job, "--top=all"]).arg("--state").arg(path("state"));
        // The list of keys is in the state.
        fs::rename(path("keys"), path("away")).unwrap();
        show.args(if command[0] == "top" { &["--order=value"][..] } else { &[] });
        let shown = show.output().unwrap();
        fs::rename(path("away"), path("keys")).unwrap();
        let said = String::from_utf8_lossy(&shown.stderr);
        assert!(shown.stdout == plain && !plain.is_empty(), "{command:?}: {said}");
    }
}

#[test]
fn what_cannot_be_saved_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let points = folder.path().join("points");
    fs::write(&points, [0; 64]).unwrap();
    let refused = |arguments: &[&str], code: i32, says: &str| {
        let mut command = tegula();
        command.args(arguments).arg("--state").arg(&state).args(["--job", "j"]).arg(&points);
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{message}");
        assert!(message.contains(says), "{message}");
    };
    #[cfg(feature = "linalg")]
    refused(&["pca"], 2, "has no partials to save");
    refused(&["sort", "--incremental"], 2, "--incremental: records are moved");
    refused(&["wordcount", "--save-every", "often"], 2, "8tiles");
    refused(&["wordcount", "--job", "a/b"], 2, "job");
    let alone = tegula().args(["wordcount", "--job", "j"]).arg(&points).output().unwrap();
    assert_eq!(alone.status.code(), Some(2));
}

/// A map in C that counts its records by their size would give another answer over others.
#[test]
fn but_not_over_records_of_another_size() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let source = r#"
#include "tegula.h"
int32_t map(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)state;
    split->done = split->len;
    return !tegula_emit_i64(pairs, "k", 1, 1);
}
TEGULA_LIBRARY
"#;
    let library = compile(folder, "map", source);
    write(folder, "in", "0123456\n".repeat(6));
    let run = |records: &str| {
        let mut run = tegula();
        run.args(["run", &library, "in", "--map=map", "--combine=count", "--records", records]);
        run.args(["--state=state", "--job=j"]).current_dir(folder).output().unwrap()
    };
    let lines = answer(run("lines"));
    check_fault(&run("fixed:16"), 1, &["j"]);
    assert_eq!(answer(run("lines")), lines);
}
