//! A task has a folder with the job's files and archives under their links, and an environment with the job's properties.

use super::Place;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn files_are_there_by_their_links() {
    let place = Place::with(&[
        ("in", b"\n"),
        ("a.txt", b"of a\n"),
        ("folder/b.txt", b"of b\n"),
        ("m.sh", b"#!/bin/sh\ncat a.txt b folder/b.txt\n"),
    ]);
    let job = [
        "-mapper",
        "m.sh",
        "-files",
        "a.txt,folder/b.txt#b,folder",
        "-file",
        "m.sh",
        "-reducer",
        "NONE",
    ];
    assert_eq!(place.single(&job), "of a\t\nof b\t\nof b\t\n");
    let mode = fs::metadata(place.path("m.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0, "the user's own file is as it was");
    assert!(place.is_clean());
}

/// What is in them, a state alone has to know, and for that they need not be in memory.
#[test]
fn files_may_be_larger_than_memory_and_secret() {
    const MEMORY: u64 = 64 << 20;
    let place = Place::with(&[("in", b"line\n")]);
    File::create(place.path("large")).unwrap().set_len(300 << 20).unwrap();
    let job = ["-mapper", "cat", "-files", "large", "--memory", "64M", "--stats-json", "stats"];
    for state in [&[][..], &["--state", "state", "--job", "large"]] {
        assert_eq!(place.single(&[&job[..], state].concat()), "line\t\n");
        let stats = fs::read(place.path("stats")).unwrap();
        let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
        assert!(stats["memory_resident_peak"].as_u64().unwrap() <= MEMORY, "{state:?}: {stats:#}");
    }
    // A word that names a file which nobody can read from its begin, and `cat` does not.
    assert_eq!(place.single(&["-mapper", "sh -c cat /proc/self/mem"]), "line\t\n");
}

/// A pair that has few bytes, or none, has places in memory while it waits for the combiner.
#[test]
fn pairs_that_wait_for_a_combiner_are_within_memory() {
    const MEMORY: u64 = 64 << 20;
    let place = Place::with(&[("in", b"line\n")]);
    for (line, count) in [("", 5_000_000), ("a", 4_000_000)] {
        let mapper = format!("sh -c 'yes \"{line}\" | head -n {count}'");
        let job = ["-mapper", &mapper, "-combiner", "uniq -c", "-reducer", "cat"];
        let limited = ["--memory", "64M", "--workers", "1", "--stats-json", "stats"];
        let answer = place.single(&[&job[..], &limited].concat());
        let counts = answer.lines().map(|line| line.split_whitespace().next().unwrap());
        assert_eq!(counts.map(|count| count.parse::<u64>().unwrap()).sum::<u64>(), count);
        let stats: serde_json::Value =
            serde_json::from_slice(&fs::read(place.path("stats")).unwrap()).unwrap();
        assert!(stats["memory_resident_peak"].as_u64().unwrap() <= MEMORY, "{line:?}: {stats:#}");
    }
}

#[test]
fn archives_are_there_unpacked() {
    let place = Place::with(&[("in", b"\n"), ("pack/one.txt", b"1\n")]);
    let mut tar = Command::new("tar");
    tar.args(["-czf", "pack.tgz", "-C", "pack", "one.txt"]).current_dir(place.path(""));
    assert!(tar.status().unwrap().success());
    let job =
        ["-mapper", "cat pack.tgz/one.txt named/one.txt", "-archives", "pack.tgz,pack.tgz#named"];
    assert_eq!(place.single(&[&job[..], &["-reducer", "NONE"]].concat()), "1\t\n1\t\n");
}

#[test]
fn properties_are_variables() {
    let place = Place::with(&[("in", b"line\n")]);
    let mapper = "sh -c 'echo $mapreduce_job_reduces $mapred_reduce_tasks $my_own_property $EXTRA \
        $mapreduce_task_partition $mapreduce_task_ismap $map_input_start $mapreduce_map_input_length \
        $mapred_task_is_map; echo ${mapreduce_map_input_file##*/} ${mapreduce_job_id%%_*} \
        ${mapreduce_task_attempt_id##*_m}'";
    let options = [
        "-D",
        "my.own-property=x y",
        "-cmdenv",
        "EXTRA=z=1",
        "-reducer",
        "NONE",
        "-mapper",
        mapper,
    ];
    let answer = place.single(&options);
    assert_eq!(answer, "0 0 x y z=1 0 true 0 5 true\t\nin job _000000_0\t\n");
}

#[test]
fn settings_come_from_files_too() {
    let settings =
        b"<configuration><property><name>a.b</name><value>c</value></property></configuration>";
    let place = Place::with(&[("in", b"line\n"), ("conf.xml", settings)]);
    let job = ["-mapper", "sh -c 'echo $a_b'", "-reducer", "NONE", "-conf", "conf.xml"];
    assert_eq!(place.single(&job), "c\t\n");
    // The command line's own properties go before those of files.
    assert_eq!(place.single(&[&["-D", "a.b=d"], &job[..]].concat()), "d\t\n");
}

/// The engine cuts a file at splits, and groups of lines are counted from its begin; an empty file has none.
#[test]
fn groups_of_lines_are_those_of_a_file() {
    let lines: String = (1..=100).map(|number| format!("{number:03}\r\n")).collect();
    let place = Place::with(&[("in/a", lines.as_bytes()), ("in/b", b"")]);
    let job = [
        "-inputformat",
        "NLineInputFormat",
        "-D",
        "mapreduce.input.lineinputformat.linespermap=30",
        "-mapper",
        "awk '{line = $0} END {print NR \" to \" line}'",
        "-reducer",
        "NONE",
    ];
    let expected = ["30 to 145\t030\n", "30 to 295\t060\n", "30 to 445\t090\n", "10 to 495\t100\n"];
    for run in [&[][..], &["--split", "40", "--workers", "3"]] {
        let parts = place.answer(&[&job, run].concat());
        assert_eq!(parts.into_values().collect::<Vec<_>>(), expected, "{run:?}");
    }
}

#[test]
fn lines_may_be_after_their_offsets() {
    const IGNORE: &str = "stream.map.input.ignoreKey";
    const LINES: &str = "mapreduce.input.lineinputformat.linespermap=9";
    let (kept, left) = (&format!("{IGNORE}=false"), &format!("{IGNORE}=true"));
    let cases: &[(&[&str], &str)] = &[
        (&["-D", kept], "0\ta\n3\tb;c\n7\td\n"),
        (&["-D", kept, "-D", "stream.map.input.field.separator=::"], "0::a\t\n3::b;c\t\n7::d\t\n"),
        (&["-D", kept, "-D", "textinputformat.record.delimiter=;c\n"], "0\ta\nb\t\n7\td\n\t\n"),
        (&["-D", left, "-inputformat", "NLineInputFormat", "-D", LINES], "a\t\nb;c\t\nd\t\n"),
    ];
    let place = Place::with(&[("in", b"a\r\nb;c\nd\n")]);
    for (options, expected) in cases {
        let job = [&["-mapper", "cat", "-reducer", "NONE"], *options].concat();
        assert_eq!(place.single(&job), *expected, "{options:?}");
    }
}

#[test]
fn files_of_tasks_go_into_the_answer() {
    let place = Place::with(&[("in", b"line\n")]);
    let mapper =
        "sh -c 'cat; echo side > $mapreduce_task_output_dir/side-$mapreduce_task_partition'";
    let parts = place.answer(&["-mapper", mapper, "-reducer", "cat"]);
    assert_eq!(parts["side-0"], "side\n");
    // Tasks may work on another file system than the answer is on.
    let scratch = tempfile::tempdir_in("/dev/shm").unwrap();
    let _ = fs::remove_dir_all(place.path("out"));
    let job = ["-mapper", mapper, "-reducer", "cat"];
    let output = place.command(&job).env("TMPDIR", scratch.path()).output().unwrap();
    assert!(output.status.success(), "{}", super::said(&output));
    assert_eq!(place.parts(), parts);
}

#[test]
fn an_answer_may_be_named_by_a_url_of_a_file() {
    let place = Place::with(&[("in", b"line\n")]);
    for scheme in ["file:", "file://"] {
        let output = format!("{scheme}{}", place.path("out").display());
        assert_eq!(place.single(&["-mapper", "cat", "-output", &output]), "line\t\n", "{scheme}");
    }
}

/// Hadoop merges them, too.
#[test]
fn folders_of_one_name_that_tasks_leave_are_one() {
    const LEAVE: &str = "sh -c 'to=$mapreduce_task_output_dir/sub/below; mkdir -p $to $to-$mapreduce_task_partition; \
        for i in 1 2 3 4; do echo x > $to/$mapreduce_task_partition-$i; done; cat'";
    let lines: String = (0..16).map(|number| format!("{number:03}\n")).collect();
    let place = Place::with(&[("in", lines.as_bytes())]);
    let of_mappers = ["-mapper", LEAVE, "--workers", "2", "--split", "4", "--tile", "4"];
    let of_reducers =
        ["-mapper", "cat", "-reducer", LEAVE, "-numReduceTasks", "16", "--workers", "2"];
    let map_only = [&of_mappers[..], &["-reducer", "NONE"]].concat();
    for job in [&of_mappers[..], &map_only[..], &of_reducers[..]] {
        let output = place.run(job);
        assert!(output.status.success(), "{job:?}: {}", super::said(&output));
        let count = |folder: &str| fs::read_dir(place.path(folder)).unwrap().count();
        assert_eq!((count("out/sub"), count("out/sub/below")), (17, 64), "{job:?}");
    }
}

#[test]
fn gzip_is_read_and_written() {
    let place = Place::with(&[("in", b"b\na\n")]);
    let job = [
        "-D",
        "mapred.output.compress=true",
        "-D",
        "mapred.output.compression.codec=org.apache.hadoop.io.compress.GzipCodec",
        "-mapper",
        "cat",
    ];
    place.answer(&job);
    fs::rename(place.path("out/part-00000.gz"), place.path("in")).unwrap();
    assert_eq!(place.single(&["-mapper", "cat", "-reducer", "NONE"]), "a\t\nb\t\n");
}

/// As it is for Hadoop, and as an empty plain file is.
#[test]
fn a_compressed_file_without_content_is_a_task() {
    let place = Place::with(&[("in/a", b""), ("in/b", b""), ("in/c", b"line\n")]);
    let mut gzip = Command::new("gzip");
    assert!(gzip.args(["in/b", "in/c"]).current_dir(place.path("")).status().unwrap().success());
    let mapper = "sh -c 'cat; echo ${mapreduce_map_input_file##*/}'";
    assert_eq!(place.single(&["-mapper", mapper]), "a\t\nb.gz\t\nc.gz\t\nline\t\n");
    // As it is, it has content.
    let bytes = fs::metadata(place.path("in/b.gz")).unwrap().len();
    fs::remove_file(place.path("in/c.gz")).unwrap();
    let counts = place.answer(&["-mapper", "sh -c 'cat | wc -c'", "-reducer", "NONE", "--plain"]);
    let counts: Vec<u64> = counts.values().filter_map(|count| count.trim().parse().ok()).collect();
    assert!(counts.contains(&0) && counts.iter().any(|count| *count >= bytes), "{counts:?}");
}

#[test]
fn a_mapper_may_wait_for_its_combiner() {
    const MAPPER: &[u8] = b"yes line | head -n 280000; sleep 0.4; echo end\n";
    const COMBINER: &[u8] =
        b"IFS= read -r line; test -e ran || for i in 1 2 3 4 5 6; do sleep 0.4; echo on >&2; done
        touch ran; printf '%s\\n' \"$line\"; cat\n";
    let place = Place::with(&[("in", b"\n"), ("m.sh", MAPPER), ("c.sh", COMBINER)]);
    let job = ["-mapper", "sh m.sh", "-combiner", "sh c.sh", "-reducer", "wc -l"];
    let limits = ["mapreduce.task.timeout=1500", "mapreduce.task.io.sort.mb=1"];
    let job = [&job[..], &["-files", "m.sh,c.sh", "-D", limits[0], "-D", limits[1]]].concat();
    assert_eq!(place.single(&job), "280001\t\n");
}

/// An interpreter may take longer to start than a short job to map, so both start at once.
#[test]
fn reducers_of_a_short_job_start_while_it_maps() {
    let place = Place::with(&[("in", b"a\n")]);
    let note = format!("note={}", place.path("note").display());
    let mapper =
        "sh -c 'for i in $(seq 200); do test -e $note && break; sleep 0.05; done; cat; ls $note'";
    let reducer = "sh -c 'echo here > $note; cat'";
    let answer = place.single(&["-mapper", mapper, "-reducer", reducer, "-cmdenv", &note]);
    assert_eq!(answer, format!("{}\t\na\t\n", place.path("note").display()));
    // One that gets nothing to reduce has no part in the answer, whatever it printed when it started.
    let parts = place.answer(&[
        "-mapper",
        "cat",
        "-reducer",
        "sh -c 'echo a; cat'",
        "-numReduceTasks",
        "2",
    ]);
    assert_eq!(parts.values().filter(|part| part.is_empty()).count(), 1, "{parts:?}");
}
