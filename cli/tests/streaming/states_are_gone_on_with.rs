//! `--state` and `--incremental` hold for streaming jobs: a run that was killed maps the rest, a run over changed input
//! maps what is new, and counters are those of the whole input.

use super::Place;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

/// A quote would end a word of the command, so the program is in a file.
const MAPPER: &str = "sh m.sh";

/// Notes each of its runs, counts its lines, and passes them on.
const PROGRAM: &[u8] = b"echo run >> $NOTES\nawk '{print} END {print \"reporter:counter:mine,lines,\" NR > \"/dev/stderr\"}'\n";

fn runs(place: &Place) -> usize {
    fs::read_to_string(place.path("notes")).unwrap_or_default().lines().count()
}

fn job<'o>(notes: &'o str, more: &[&'o str]) -> Vec<&'o str> {
    let job = [
        "-mapper", MAPPER, "-reducer", "cat", "-files", "m.sh", "-cmdenv", notes, "--state",
        "state",
    ];
    [&job[..], &["--job", "lines"], more].concat()
}

#[test]
fn only_new_files_are_mapped() {
    // Files that are smaller than a tile share one, which is mapped again when one of them has changed.
    let lines = |letter: &str| format!("{letter}\n").repeat(4000);
    let (a, b, c) = (lines("a"), lines("b"), lines("c"));
    let place = Place::with(&[("in/a", a.as_bytes()), ("in/b", b.as_bytes()), ("m.sh", PROGRAM)]);
    let notes = format!("NOTES={}", place.path("notes").display());
    let job = job(&notes, &["--incremental", "--tile", "8k"]);
    let answer = |texts: &[&str]| texts.concat().replace('\n', "\t\n");
    assert!(place.single(&job) == answer(&[&a, &b]));
    let first = runs(&place);
    fs::write(place.path("in/c"), &c).unwrap();
    let output = place.run(&job);
    assert!(place.parts()["part-00000"] == answer(&[&a, &b, &c]));
    assert!(super::said(&output).contains("\t\tlines=12000\n"), "{}", super::said(&output));
    assert!(runs(&place) - first <= first / 2 + 1, "{} runs after {first}", runs(&place));
    let before = runs(&place);
    assert!(place.single(&job) == answer(&[&a, &b, &c]));
    assert_eq!(runs(&place), before, "nothing is new");
}

#[test]
fn a_changed_mapper_is_another_job() {
    let place = Place::with(&[("in", b"a\n"), ("m.sh", PROGRAM)]);
    let notes = format!("NOTES={}", place.path("notes").display());
    let job = job(&notes, &[]);
    place.single(&job);
    fs::write(place.path("m.sh"), "cat\n").unwrap();
    let output = place.run(&job);
    assert_eq!(output.status.code(), Some(1));
    assert!(super::said(&output).contains("file m.sh"), "{}", super::said(&output));
}

/// What divides the pairs among reducers, and what decides the lines of a task, belong to the state, too.
#[test]
fn another_partitioner_or_input_format_is_another_job() {
    let place = Place::with(&[("in", b"a\nb\n"), ("m.sh", PROGRAM)]);
    let notes = format!("NOTES={}", place.path("notes").display());
    let job = job(&notes, &["-numReduceTasks", "2", "--incremental"]);
    place.answer(&job);
    for option in
        [["-partitioner", "KeyFieldBasedPartitioner"], ["-inputformat", "NLineInputFormat"]]
    {
        let output = place.run(&[&job, &option[..]].concat());
        assert_eq!(output.status.code(), Some(1), "{option:?}");
        assert!(super::said(&output).contains(option[0]), "{}", super::said(&output));
    }
    place.answer(&[&job[..], &["-partitioner", "HashPartitioner"]].concat());
}

/// What the order of options does not decide is no other job.
#[test]
fn options_in_another_order_go_on() {
    let place =
        Place::with(&[("in", b"a\n"), ("m.sh", PROGRAM), ("other", b"text"), ("more", b"text")]);
    let notes = format!("NOTES={}", place.path("notes").display());
    for (name, incremental) in [("by-place", &[][..]), ("by-content", &["--incremental"])] {
        let job = ["-mapper", MAPPER, "-reducer", "cat", "--state", "state", "--job", name];
        let job = [&job[..], &["-cmdenv", &notes], incremental].concat();
        let on = |options: &[&'static str]| [&job, options].concat();
        let all = "m.sh,other,more";
        let first = on(&["-cmdenv", "A=1", "-cmdenv", "B=2", "-files", all]);
        let answer = place.single(&first);
        let before = runs(&place);
        for options in [
            &["-cmdenv", "B=2", "-cmdenv", "A=1", "-files", "more,m.sh,other"][..],
            &["-files", all, "-cmdenv", "A=3", "-cmdenv", "B=2", "-cmdenv", "A=1"],
        ] {
            assert!(place.single(&on(options)) == answer, "{options:?}");
        }
        assert_eq!(runs(&place), before);
        let output = place.run(&[&first[..], &["-cmdenv", "A=3"]].concat());
        assert_eq!(output.status.code(), Some(1));
        let said = super::said(&output);
        assert!(said.contains("-cmdenv A was \"1\" and is \"3\""), "{said}");
    }
}

/// Offsets before lines are others when the lines before are.
#[test]
fn lines_after_their_offsets_are_mapped_where_they_are() {
    let lines = |letter: &str| format!("{letter}\n").repeat(4000);
    let (a, b) = (lines("a"), lines("b"));
    let place = Place::with(&[("in", [&*a, &b].concat().as_bytes()), ("m.sh", PROGRAM)]);
    let notes = format!("NOTES={}", place.path("notes").display());
    let options = ["--incremental", "--tile", "8000", "-D", "stream.map.input.ignoreKey=false"];
    let job = job(&notes, &options);
    for text in [[&*a, &b].concat(), [&*b, &a, &b].concat()] {
        fs::write(place.path("in"), &text).unwrap();
        let answer = place.single(&job);
        let mut expected: Vec<String> = (0..)
            .step_by(2)
            .zip(text.lines())
            .map(|(offset, line)| format!("{offset}\t{line}"))
            .collect();
        expected.sort();
        assert!(answer.lines().eq(expected), "of {} bytes", text.len());
    }
}

/// A state has pairs alone, so files of map tasks that are found again would be missing. Reducers run each time.
#[test]
fn files_for_the_answer_are_left_by_reducers_alone() {
    const SIDE: &str = "echo x > $mapreduce_task_output_dir/side-$mapreduce_task_partition; cat";
    let place = Place::with(&[("in", b"a\n"), ("m.sh", SIDE.as_bytes())]);
    let output = place.run(&job("NOTES=", &["--incremental"]));
    let text = super::said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("in, byte 0: the mapper left side-0 for the answer"), "{text}");
    assert!(!place.path("out").exists() && place.is_clean());
    let _ = fs::remove_dir_all(place.path("state"));
    fs::write(place.path("m.sh"), "cat\n").unwrap();
    let reducer = format!("sh -c '{SIDE}'");
    for run in ["first", "second"] {
        let answer = place.answer(&job("NOTES=", &["--incremental", "-reducer", &reducer]));
        let files: Vec<&str> = answer.keys().map(String::as_str).collect();
        assert_eq!(files, ["part-00000", "side-0"], "{run}");
    }
}

#[test]
fn a_killed_run_is_gone_on_with() {
    let text: String = (0..40_000).map(|number| format!("{number:05}\n")).collect();
    let slow = [b"sleep 0.15\n", PROGRAM].concat();
    let place = Place::with(&[("in", text.as_bytes()), ("m.sh", &slow)]);
    let notes = format!("NOTES={}", place.path("notes").display());
    let options =
        ["--tile", "10k", "--save-every", "1tiles", "--workers", "2", "--keep", "partials"];
    let job = job(&notes, &options);
    let mut run = place.command(&job).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while runs(&place) < 10 && began.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(5));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let before = runs(&place);
    let answer = place.single(&job);
    assert_eq!(answer, text.replace('\n', "\t\n"));
    let tasks = text.len().div_ceil(10 << 10);
    assert!(runs(&place) - before < tasks, "{} of {tasks} tasks ran again", runs(&place) - before);
}
