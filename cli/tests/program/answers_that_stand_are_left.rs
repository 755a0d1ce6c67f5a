//! A command whose state, input and answer are as its last run left them leaves the file as it is; anything else, and the
//! file is written anew.

use super::native_maps_that_break_their_word_are_named::compile;
use super::*;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

struct Bench(tempfile::TempDir);

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command with a state; returns whether its answer is another file than before.
    fn writes(&self, command: &[&str], flags: &[&str]) -> bool {
        let mark = || {
            let found = fs::metadata(self.path("answer")).ok()?;
            Some((found.ino(), found.mtime(), found.mtime_nsec(), found.ctime_nsec()))
        };
        let before = mark();
        let mut run = tegula();
        run.args(command).args(flags).arg(self.path("texts")).arg("-o").arg(self.path("answer"));
        run.arg("--state").arg(self.path("state")).args(["--job", command[0], "--tile", "64k"]);
        run.arg("--stats-json").arg(self.path("stats"));
        let output = run.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        before != mark()
    }

    fn is_right(&self, command: &[&str], flags: &[&str]) -> bool {
        let run = tegula().args(command).args(flags).arg(self.path("texts")).output().unwrap();
        run.stdout == fs::read(self.path("answer")).unwrap()
    }

    fn stats(&self) -> serde_json::Value {
        serde_json::from_slice(&fs::read(self.path("stats")).unwrap()).unwrap()
    }
}

#[test]
fn of_each_command_that_writes_pairs() {
    let bench = Bench(tempfile::tempdir().unwrap());
    fs::create_dir(bench.path("texts")).unwrap();
    let text = |from: u32| -> String {
        (from..from + 20_000).map(|i| format!("Word{};{}.5\n", i % 700, i % 90)).collect()
    };
    fs::write(bench.path("texts/a"), text(0)).unwrap();
    fs::write(bench.path("texts/b"), text(9)).unwrap();
    let mut turn = 10;
    let forms: &[&[&str]] = &[&["--format", "jsonl"], &["--top", "3"], &[]];
    let commands: [(&[&str], _); 4] = [
        (&["wordcount"], forms),
        (&["index"], forms),
        (&["grep", "Word1[0-9];"], forms),
        (&["stations"], &[]),
    ];
    for (command, forms) in commands {
        for more in [&["--incremental"][..], &["--incremental", "--trust-mtime"]] {
            let writes = |flags: &[&str]| bench.writes(command, &[more, flags].concat());
            let _ = fs::remove_file(bench.path("answer"));
            assert!(writes(&[]), "{command:?}");
            let keys = bench.stats()["keys"].clone();
            assert!(!writes(&[]) && bench.stats()["keys"] == keys, "{command:?}");
            for flags in forms {
                assert!(writes(flags) && !writes(flags), "{command:?} {flags:?}");
                assert!(bench.is_right(command, flags), "{command:?} {flags:?}");
            }
            let answer = fs::read(bench.path("answer")).unwrap();
            fs::write(bench.path("answer"), vec![b'x'; answer.len()]).unwrap();
            assert!(writes(&[]) && bench.is_right(command, &[]), "{command:?}");
            turn += 1;
            fs::write(bench.path("texts/b"), text(turn)).unwrap();
            assert!(writes(&[]) && bench.is_right(command, &[]) && !writes(&[]), "{command:?}");
        }
        fs::remove_dir_all(bench.path("state")).unwrap();
        assert!(bench.writes(command, &[]) && !bench.writes(command, &[]), "{command:?}");
    }
}

/// A map of the user's own has forms, too.
#[test]
fn of_maps_in_c() {
    let bench = Bench(tempfile::tempdir().unwrap());
    fs::create_dir(bench.path("texts")).unwrap();
    fs::write(bench.path("texts/a"), "to be\nor not\n").unwrap();
    let source = r#"
#include "tegula.h"
int32_t map(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)state;
    split->done = split->len;
    return !tegula_emit_i64(pairs, "key", 3, 1);
}
TEGULA_LIBRARY
"#;
    let library = bench.path(&compile(bench.0.path(), "map", source));
    let command = ["run", library.to_str().unwrap(), "--map=map", "--combine=count"];
    assert!(bench.writes(&command, &[]) && !bench.writes(&command, &[]));
    for flags in [&["--format", "jsonl"][..], &[]] {
        assert!(bench.writes(&command, flags) && !bench.writes(&command, flags), "{flags:?}");
        assert!(bench.is_right(&command, flags), "{flags:?}");
    }
}

/// Whoever reads events has not asked for shows, and gets them only of a run that makes the answer.
#[test]
fn also_where_events_are_told() {
    let bench = Bench(tempfile::tempdir().unwrap());
    fs::create_dir(bench.path("texts")).unwrap();
    fs::write(bench.path("texts/a"), "to be or not to be\n".repeat(9000)).unwrap();
    let events = bench.path("events");
    let flags = ["--events", events.to_str().unwrap()];
    let has_shows = || fs::read_to_string(&events).unwrap().contains("\"event\":\"show\"");
    assert!(bench.writes(&["wordcount"], &flags) && has_shows());
    assert!(!bench.writes(&["wordcount"], &flags) && !has_shows());
    assert!(!bench.writes(&["wordcount"], &[]));
    fs::write(bench.path("answer"), "other").unwrap();
    assert!(bench.writes(&["wordcount"], &flags) && has_shows());
    assert!(bench.is_right(&["wordcount"], &[]));
}

/// Those who watch see the answer of each run.
#[test]
fn not_where_answers_are_shown() {
    let bench = Bench(tempfile::tempdir().unwrap());
    fs::create_dir(bench.path("texts")).unwrap();
    fs::write(bench.path("texts/a"), "to be or not to be\n".repeat(9000)).unwrap();
    let shows = bench.path("shows");
    let flags = ["--show", "every=50%", "--show-to", shows.to_str().unwrap()];
    assert!(bench.writes(&["wordcount"], &flags) && bench.writes(&["wordcount"], &flags));
    assert!(!fs::read(&shows).unwrap().is_empty());
}
