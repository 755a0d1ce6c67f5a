//! A streaming job is a map, a sort and a loop. What the program makes of many workers, small splits, little memory and
//! several parts must be what one loop makes.

use super::Place;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

/// Lines of `word number`, drawn by a linear congruence.
fn lines(count: u32) -> String {
    let (mut text, mut state) = (String::new(), 1_u32);
    for _ in 0..count {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let _ = writeln!(text, "w{} {}", (state >> 16) % 500, state >> 24);
    }
    text
}

const MAPPER: &str = "tr ' ' '\\t'";

/// The part of a key as `Text.hashCode` gives it.
fn part(key: &str, parts: usize) -> usize {
    let hash = key.bytes().fold(1_i32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed()))
    });
    (hash & i32::MAX) as usize % parts
}

/// The sorted lines of each part: keys by bytes, the values of a key in the order of the input.
fn reference(text: &str, parts: usize) -> BTreeMap<String, String> {
    let mut pairs: Vec<(&str, &str)> =
        text.lines().map(|line| line.split_once(' ').unwrap()).collect();
    pairs.sort_by_key(|(key, _)| *key);
    let mut files: BTreeMap<String, String> =
        (0..parts).map(|part| (format!("part-{part:05}"), String::new())).collect();
    for (key, value) in pairs {
        let file = files.get_mut(&format!("part-{:05}", part(key, parts))).unwrap();
        let _ = writeln!(file, "{key}\t{value}");
    }
    files
}

#[test]
fn lines_are_sorted_and_divided() {
    let text = lines(40_000);
    let place = Place::with(&[("in", text.as_bytes())]);
    let runs: &[&[&str]] = &[
        &["--workers", "1"],
        &["--workers", "3", "--split", "50k"],
        &["-D", "mapred.max.split.size=100000", "--workers", "2"],
        &["--memory", "64M", "--workers", "2"],
    ];
    for parts in [1, 7] {
        let expected = reference(&text, parts);
        let number = parts.to_string();
        for run in runs {
            let job = ["-mapper", MAPPER, "-reducer", "cat", "-numReduceTasks", &number];
            assert!(place.answer(&[&job, *run].concat()) == expected, "{parts} parts, {run:?}");
        }
        let identity = place.answer(&["-mapper", MAPPER, "-numReduceTasks", &number]);
        assert!(identity == expected, "{parts} parts without a reducer");
    }
    assert!(place.is_clean());
}

/// Keys that are mostly distinct are sorted, within a limit on memory, too; those of a job with a state are listed.
#[test]
fn distinct_keys_are_sorted_and_divided() {
    let number = |at: u32| at.wrapping_mul(0x9e37_79b1) % 70_000;
    let text: String = (0..60_000).map(|at| format!("k{} {at}\n", number(at))).collect();
    let place = Place::with(&[("in", text.as_bytes())]);
    for parts in [1, 200] {
        let (expected, number) = (reference(&text, parts), parts.to_string());
        // A state belongs to a number of parts.
        let runs: &[&[&str]] = &[
            &["--workers", "1"],
            &["--workers", "3", "--split", "50k"],
            &["--memory", "64M", "--workers", "2"],
            &["--memory", "128M", "--workers", "2"],
            &["--state", "state", "--job", &number],
        ];
        for run in runs {
            let job = ["-mapper", MAPPER, "-numReduceTasks", &number];
            assert!(place.answer(&[&job, *run].concat()) == expected, "{parts} parts, {run:?}");
        }
    }
    let job = ["-mapper", MAPPER, "-reducer", "cat", "-numReduceTasks", "3", "--split", "100k"];
    assert!(place.answer(&job) == reference(&text, 3));
    assert!(place.is_clean());
}

#[test]
fn a_combiner_changes_no_sum() {
    let text = lines(20_000);
    let place = Place::with(&[("in", text.as_bytes())]);
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let (key, value) = line.split_once(' ').unwrap();
        *sums.entry(key).or_insert(0) += value.parse::<u64>().unwrap();
    }
    let expected: String = sums.iter().map(|(key, sum)| format!("{key}\t{sum}\n")).collect();
    // It relies on equal keys being neighbours.
    let sum = "awk -F\\t '$1 != key {if (NR > 1) print key \"\\t\" sum; key = $1; sum = 0} {sum += $2} \
               END {if (NR) print key \"\\t\" sum}'";
    let sum = sum.replace("\\t", "\t");
    let job = ["-mapper", MAPPER, "-reducer", &sum, "--split", "60k"];
    assert_eq!(place.single(&job), expected);
    let combined = [&job[..], &["-combiner", &sum]].concat();
    assert_eq!(place.single(&combined), expected);
    let said = super::said(&place.run(&[&combined[..], &["-verbose"]].concat()));
    assert!(said.contains("\t\tCombine input records=20000\n"), "{said}");
    assert!(said.contains("\t\tReduce input groups=500\n"), "{said}");
}

/// The engine cuts tiles, and packs of small files, into splits; part files are numbered by those of each file.
#[test]
fn part_files_of_mappers_are_in_the_order_of_the_input() {
    type Case<'c> = (&'c [(&'c str, String)], &'c [&'c str]);
    let lines = |letter: char, count: u32| -> String {
        (0..count).map(|number| format!("{letter}{number:06}\n")).collect()
    };
    let small = [("in/a", lines('a', 4000)), ("in/b", lines('b', 51_000))];
    let large = [("in/a", lines('a', 380_000)), ("in/b", lines('b', 640_000))];
    let cases: [Case<'_>; 4] = [
        (&small, &["--tile", "100k", "--split", "30k"]),
        (&small, &["--tile", "50k", "--split", "90k"]),
        (&small, &["--split", "45k"]),
        (&large, &["--memory", "64M"]),
    ];
    for (files, options) in cases {
        let listed: Vec<(&str, &[u8])> =
            files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        let place = Place::with(&listed);
        for workers in ["1", "2", "3"] {
            let job = ["-mapper", "cat", "-reducer", "NONE", "--workers", workers];
            let answer: String = place.answer(&[&job, options].concat()).into_values().collect();
            for (name, text) in files {
                let of_file = answer.split_inclusive('\n').filter(|line| line[..1] == name[3..]);
                let of_file = of_file.map(|line| line.replace('\t', ""));
                let expected = text.split_inclusive('\n').map(str::to_owned);
                assert!(of_file.eq(expected), "{name}: {options:?}, {workers} workers");
            }
        }
    }
}

/// Of a compressed file, nobody knows how many pieces there are before they come.
#[test]
fn so_are_those_of_compressed_files() {
    let text = |letter: char| -> String {
        (0..120_000).map(|number| format!("{letter}{number:06}\n")).collect()
    };
    let (a, b) = (text('a'), text('b'));
    let place = Place::with(&[("in/a", a.as_bytes()), ("in/b", b.as_bytes())]);
    let mut gzip = Command::new("gzip");
    assert!(gzip.args(["in/a", "in/b"]).current_dir(place.path("")).status().unwrap().success());
    for workers in ["1", "2", "4"] {
        let job = ["-mapper", "cat", "-reducer", "NONE", "--workers", workers];
        let parts = place.answer(&[&job[..], &["--split", "40k", "--tile", "120k"]].concat());
        assert!(parts.len() > 20, "{}", parts.len());
        let answer: String = parts.into_values().collect();
        for text in [&a, &b] {
            let of_file = answer.split_inclusive('\n').filter(|line| line[..1] == text[..1]);
            let of_file: String = of_file.map(|line| line.replace('\t', "")).collect();
            assert!(of_file == *text, "{workers} workers");
        }
    }
}

/// Plain files among compressed ones are read as these are, and the last pieces of two files may come in any order.
#[test]
fn part_files_have_the_same_names_in_each_run() {
    let text = |letter: char, count: u32| -> String {
        (0..count).map(|number| format!("{letter}{number:06}\n")).collect()
    };
    let (a, b) = (text('a', 120_000), text('b', 100_000));
    let files: [(&str, &[u8]); 4] =
        [("in/a", a.as_bytes()), ("in/b", b.as_bytes()), ("in/c", b""), ("in/d", b"")];
    let place = Place::with(&files);
    let mut gzip = Command::new("gzip");
    assert!(gzip.args(["in/a", "in/d"]).current_dir(place.path("")).status().unwrap().success());
    // Tasks take their time, so that workers take turns.
    let mapper = "sh -c 'cat; sleep 0.0$(($$ % 10))'";
    let size = "mapreduce.input.fileinputformat.split.maxsize=50000";
    let job = ["-mapper", mapper, "-reducer", "NONE", "-D", size];
    let expected = place.answer(&[&job[..], &["--workers", "1"]].concat());
    assert!(expected.len() > 20, "{}", expected.len());
    for workers in ["2", "3", "4", "3"] {
        let answer = place.answer(&[&job[..], &["--workers", workers]].concat());
        assert!(answer.keys().eq(expected.keys()), "{workers} workers");
        let moved: Vec<&String> =
            answer.keys().filter(|name| answer[*name] != expected[*name]).collect();
        assert!(moved.is_empty(), "{workers} workers: {moved:?}");
    }
}

#[test]
fn a_line_of_many_megabytes_is_one_record() {
    let text = format!("{}\tvalue\nshort\tline\n", "k".repeat(40 << 20));
    let place = Place::with(&[("in", text.as_bytes())]);
    assert!(place.single(&["-mapper", "cat", "-reducer", "cat"]) == text);
}

#[test]
fn a_job_over_nothing_has_empty_parts() {
    let place = Place::with(&[("in/_SUCCESS", b"")]);
    let parts = place.answer(&["-mapper", "cat", "-reducer", "wc", "-numReduceTasks", "2"]);
    assert_eq!(parts.values().collect::<Vec<_>>(), ["", ""]);
}
