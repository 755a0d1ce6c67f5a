//! Each example program gives the answer that its first lines promise. The programs are those that `cargo test`
//! builds anyway, so nothing is compiled twice for this.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs an example; returns its standard output and standard error.
fn run(name: &str, arguments: &[&Path]) -> (String, String) {
    let tests = env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(
        program.exists(),
        "{program:?} is missing: cargo build --profile test -p tegula --examples"
    );
    let done = Command::new(&program).args(arguments).output().unwrap();
    let errors = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{name} failed: {errors}");
    (String::from_utf8(done.stdout).unwrap(), errors)
}

/// A folder with one file; files and folders of a test that go with it.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new(text: &str) -> Bench {
        let bench = Bench(tempfile::tempdir().unwrap());
        fs::write(bench.file(), text).unwrap();
        bench
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("input.txt")
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }
}

const TEXT: &str = "to be or not to be\nthat is the question\n";

#[test]
fn each_program_gives_its_answer() {
    let degrees = "Oslo;-2.5\nRome;18.25\nOslo;1.5\n";
    let seconds = "7;30\n9;100\n7;10\n7;50\n";
    let table = [
        ("word_count", TEXT, "be\t2\nis\t1\nnot\t1\nor\t1\nquestion\t1\nthat\t1\nthe\t1\nto\t2\n"),
        ("sum_of_field", "ada;250\nbob;5\nada;1\n", "ada\t251\nbob\t5\n"),
        ("mean_of_field", degrees, "Oslo\t-0.50\nRome\t18.25\n"),
        ("median_of_field", seconds, "7\t30\n9\t100\n"),
        ("word_places", "to be or not to be", "be\t3 16\nnot\t9\nor\t6\nto\t0 13\n"),
        ("own_combine", "to be or table tennis bee\n", "b\t2\t3\no\t2\t2\nt\t2\t6\n"),
        ("sort_lines", "pear\napple\nfig\n", "apple\nfig\npear\n"),
        ("device", "banana\n", "\\n\t1\na\t3\nb\t1\nn\t2\n"),
    ];
    for (name, input, answer) in table {
        let bench = Bench::new(input);
        assert_eq!(run(name, &[&bench.file()]).0, answer, "{name}");
    }
}

#[test]
fn a_top_has_the_most_frequent_words() {
    let bench = Bench::new("To be, or not to be: that is the question. To");
    let (answer, _) = run("top_words", &["2".as_ref(), &bench.file()]);
    assert_eq!(answer, "3\tto\n2\tbe\n");
}

#[test]
fn tiles_of_a_source_are_counted() {
    let (answer, _) = run("own_tiles", &["5".as_ref()]);
    let numbers = 5 << 16;
    let count = |digit| (numbers - digit + 9) / 10;
    let expected: String = (0..10).map(|digit| format!("{digit}\t{}\n", count(digit))).collect();
    assert_eq!(answer, expected);
}

#[test]
fn a_device_does_a_part_of_the_input() {
    let bench = Bench::new(&TEXT.repeat(100_000));
    // On a busy machine the cores may have done all before the device's thread begins.
    let has_done_some = (0..20).any(|_| {
        let (answer, figures) = run("device", &[&bench.file()]);
        assert!(figures.starts_with("emulated: "), "{figures}");
        assert!(answer.contains("b\t200000\n"), "{answer}");
        !figures.starts_with("emulated: 0 bytes")
    });
    assert!(has_done_some);
}

#[test]
fn shows_come_while_the_job_runs() {
    let bench = Bench::new(&TEXT.repeat(100_000));
    let (answer, _) = run("shows", &[&bench.file()]);
    let end = "100 % of the input:\n200000\tbe\n200000\tto\n100000\tis\n8 distinct words\n";
    assert!(answer.ends_with(end), "{answer}");
    assert!(answer.matches("of the input").count() > 1, "{answer}");
}

#[test]
fn a_run_goes_on_from_its_state() {
    let bench = Bench::new(TEXT);
    let (expected, _) = run("word_count", &[&bench.file()]);
    for saved in ["0", "40"] {
        let (answer, figures) = run("resume", &[&bench.state(), &bench.file()]);
        assert_eq!(answer, expected);
        assert_eq!(figures, format!("{saved} of 40 bytes were saved by an earlier run\n"));
    }
}

#[test]
fn only_changed_tiles_are_mapped_again() {
    let mut text: String = (0..600_000).map(|number| format!("word{number} ")).collect();
    let bench = Bench::new(&text);
    let restored = |figures: &str| figures.split(' ').next().unwrap().parse::<usize>().unwrap();
    let (_, figures) = run("incremental", &[&bench.state(), &bench.file()]);
    assert_eq!(restored(&figures), 0);
    text.push_str("and more");
    fs::write(bench.file(), &text).unwrap();
    let (answer, figures) = run("incremental", &[&bench.state(), &bench.file()]);
    assert_eq!(answer, run("word_count", &[&bench.file()]).0);
    assert!((text.len() / 2..text.len()).contains(&restored(&figures)), "{figures}");
}
