//! What is wrong with a job is told in one line that says what to do, after the last words of a command that failed; and
//! nothing of an answer is left.

use super::{Place, said};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Options, the exit code, and what the line has.
type Case<'c> = (&'c [&'c str], i32, &'c str);

const CASES: &[Case<'_>] = &[
    (
        &["-mapper", "no-such-program"],
        1,
        "in, byte 0: the mapper `no-such-program` cannot be run: there is no program",
    ),
    (&["-mapper", "./plain"], 1, "there is no program ./plain"),
    (
        &["-mapper", "./plain", "-files", "plain#other"],
        1,
        "`other` cannot be run: other is no program; begin",
    ),
    (
        &["-mapper", "sh -c 'exit 3'"],
        1,
        "in, byte 0: the mapper `sh -c exit 3` ended with exit code 3",
    ),
    (&["-mapper", "sh -c 'read a; kill -9 $$'"], 1, "was killed by signal 9"),
    (&["-mapper", "sh -c 'echo my words >&2; exit 1'"], 1, "my words\ntegula: in, byte 0"),
    (
        &["-mapper", "cat", "-reducer", "false"],
        1,
        "part-00000: the reducer `false` ended with exit code 1",
    ),
    (
        &["-mapper", "cat", "-combiner", "false", "-reducer", "cat"],
        1,
        "in, byte 0: the combiner `false` ended",
    ),
    (&["-mapper", "cat", "-files", "missing.py"], 1, "missing.py: no such file or folder"),
    (
        &["-mapper", "cat", "-files", "hdfs://host/x"],
        2,
        "-files: hdfs://host/x: copy it to this machine",
    ),
    (&["-mapper", "cat", "-archives", "plain"], 1, "plain: it cannot be unpacked: tar:"),
    (
        &["-mapper", "cat", "-files", "plain#a/b"],
        2,
        "-files: plain#a/b: a link is a plain name, without /",
    ),
    (
        &["-mapper", "cat", "-output", "s3://bucket/out"],
        2,
        "-output: s3://bucket/out: the answer is a folder of this machine",
    ),
    (
        &["-mapper", "cat", "-output", "hdfs://host:8020/out"],
        2,
        "knows hdfs:///path, without a host",
    ),
    (&["-mapper", "cat", "-output", "hdfs:/out"], 2, "-output: hdfs:/out: the answer is a folder"),
    (&["-mapper", "cat", "-output", "none/.."], 1, "none/..: this is no name for a folder"),
    (&["-mapper", "cat", "-output", "plain/out"], 1, "plain: cannot be created: File exists"),
    (
        &["-mapper", "cat", "-D", "stream.map.output.field.separator="],
        2,
        "stream.map.output.field.separator: it is empty",
    ),
    (
        &["-mapper", "cat /proc/self/mem", "--state", "s", "--job", "j"],
        1,
        "/proc/self/mem: cannot be read",
    ),
    (&["-mapper", "cat", "-input", "no-such-input"], 1, "no-such-input: no such file or folder"),
    (&["-mapper", "cat", "-output", "plain"], 1, "plain: the output exists"),
    (&["-mapper", "cat", "-numReduceTasks", "many"], 2, "mapreduce.job.reduces: many is no number"),
    (
        &["-mapper", "cat", "-numReduceTasks", "70000"],
        2,
        "-numReduceTasks: 70000; give 65535 at most",
    ),
    (&["-mapper", "", "-reducer", "cat"], 2, "-mapper: the command is empty"),
    (&[], 2, "-mapper <command> (-mapper cat passes lines on) is missing"),
    (&["-mapper", "cat", "-conf", "plain"], 1, "plain: it is no XML of properties: "),
    (&["-maper", "cat"], 2, "did you mean -mapper?"),
    (&["-mapper", "cat", "--frob"], 2, "--frob: there is no such option"),
    (&["-mapper", "cat", "--output", "x"], 2, "--output: -output names the folder of the answer"),
    (
        &["-mapper", "cat", "-reducer", "NONE", "--state", "s", "--job", "j"],
        2,
        "--state: a job without reducers",
    ),
    (
        &["-mapper", "sh -c 'sleep 60'", "-D", "mapreduce.task.timeout=200"],
        1,
        "it has read, written and said nothing for 0.2 s",
    ),
];

const CODEC: &str =
    "mapreduce.output.fileoutputformat.compress.codec=org.apache.hadoop.io.compress.BZip2Codec";

/// What only Java can do, and the option that says so.
const OF_JAVA: &[&[&str]] = &[
    &["-mapper", "org.apache.hadoop.mapred.lib.IdentityMapper"],
    &["-mapper", "cat", "-reducer", "aggregate"],
    &["-mapper", "cat", "-inputformat", "SequenceFileAsTextInputFormat"],
    &["-mapper", "cat", "-outputformat", "org.example.Format"],
    &["-mapper", "cat", "-partitioner", "org.example.Partitioner"],
    &["-mapper", "cat", "-inputreader", "StreamXmlRecordReader,begin=<a>,end=</a>"],
    &["-mapper", "cat", "-libjars", "my.jar"],
    &["-mapper", "cat", "-io", "typedbytes"],
    &["-mapper", "cat", "-D", "mapreduce.output.fileoutputformat.compress=true", "-D", CODEC],
    &["-mapper", "cat", "-D", "stream.map.output=rawbytes"],
    &["-mapper", "cat", "-D", "mapreduce.job.output.key.comparator.class=org.example.Comparator"],
];

#[test]
fn each_is_told() {
    for (options, code, expected) in CASES {
        let place = Place::with(&[("in", b"a line\n"), ("plain", b"text")]);
        let output = place.run(options);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(*code), "{options:?}: {text}");
        assert!(text.contains(expected), "{options:?}: {text}");
        assert!(!place.path("out").exists() && place.is_clean(), "{options:?}");
    }
}

#[test]
fn a_job_whose_input_is_refused_makes_no_folders() {
    let cases: &[(&[&str], &str)] = &[
        (&["-input", "no-such-input"], "no-such-input: no such file or folder"),
        (&["-input", "no*such"], "no*such: "),
    ];
    for (options, expected) in cases {
        let place = Place::with(&[("in", b"a line\n")]);
        let job = ["-mapper", "cat", "-output", "new/deep/out"];
        let output = place.run(&[&job, *options].concat());
        let text = said(&output);
        assert!(!output.status.success() && text.contains(expected), "{options:?}: {text}");
        assert!(!place.path("new").exists() && place.is_clean(), "{options:?}");
    }
    let place = Place::with(&[("in", b"a line\n")]);
    let output = place.run(&["-mapper", "cat", "-output", "new/deep/out"]);
    assert!(output.status.success() && place.path("new/deep/out/_SUCCESS").exists());
}

#[test]
fn variables_that_are_too_long_are_named() {
    let place = Place::with(&[("in", b"a line\n")]);
    for (file, bytes) in [("short", 100), ("long", 200_000)] {
        let value = "x".repeat(bytes);
        let property = format!("<property><name>my.{file}</name><value>{value}</value></property>");
        let conf = format!("<configuration>{property}</configuration>");
        fs::write(place.path(file), conf).unwrap();
    }
    let job = ["-mapper", "cat", "-reducer", "NONE", "-conf", "short", "-conf", "long"];
    let output = place.run(&job);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("the longest is my_long, of 200000 bytes"), "{text}");
    assert!(text.contains("-D stream.jobconf.truncate.limit=N"), "{text}");
    let shorter = ["-D", "stream.jobconf.truncate.limit=1000"];
    assert_eq!(place.single(&[&job[..], &shorter].concat()), "a line\t\n");
}

/// The one that waits is the first or the second of the input, and it is the other's error that is told.
#[test]
fn tasks_at_work_end_when_one_has_failed() {
    const COMMAND: &str =
        "sh -c 'read -r line; case $line in bad*) sleep 0.3; exit 3;; esac; cat; exec sleep 60'";
    for text in ["bad\nfine\n", "fine1\nbad1\n"] {
        let tile = text.find('\n').unwrap() + 1;
        let tile = tile.to_string();
        let mappers = ["-mapper", COMMAND, "-reducer", "NONE", "--tile", &tile, "--split", &tile];
        let reducers = ["-mapper", "cat", "-reducer", COMMAND, "-numReduceTasks", "2"];
        for job in [&mappers[..], &reducers] {
            let place = Place::with(&[("in", text.as_bytes())]);
            let began = Instant::now();
            let output = place.run(&[job, &["--workers", "2"]].concat());
            let said = said(&output);
            assert_eq!(output.status.code(), Some(1), "{job:?}: {said}");
            assert!(said.contains("ended with exit code 3"), "{job:?}: {said}");
            assert!(began.elapsed() < Duration::from_secs(20), "{job:?}: {:?}", began.elapsed());
            assert!(!place.path("out").exists() && place.is_clean(), "{job:?}");
        }
    }
}

/// A mapper that works on at a line that begins with `a`.
const WORKS_ON: &str =
    "sh -c 'read -r line; case $line in a*) exec sleep 60;; esac; exec cat >/dev/null'";

/// Compresses 400,000 lines and these before them, and cuts the end off.
fn cut_short(place: &Place, name: &str, begin: &str) {
    let lines: String = (0..400_000).map(|number| format!("b{number}\n")).collect();
    fs::write(place.path(name), format!("{begin}{lines}")).unwrap();
    let mut gzip = Command::new("gzip");
    assert!(gzip.arg(name).current_dir(place.path("")).status().unwrap().success());
    let packed = place.path(&format!("{name}.gz"));
    let bytes = fs::read(&packed).unwrap();
    fs::write(&packed, &bytes[..bytes.len() - 50_000]).unwrap();
}

/// Commands that have not ended must not keep the fault of the input back.
#[test]
fn tasks_at_work_end_when_a_file_is_damaged() {
    for (beside, reducer) in [("in", "cat"), ("in", "NONE"), ("beside", "cat")] {
        let place = Place::with(&[("in/a", b"a line\n"), ("beside/c", b"c line\n")]);
        cut_short(&place, &format!("{beside}/b"), "");
        let began = Instant::now();
        let job = ["-input", "beside", "-mapper", WORKS_ON, "-reducer", reducer, "--workers", "2"];
        let output = place.run(&job);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("/b.gz: the gzip data is cut short"), "{said}");
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert!(!place.path("out").exists() && place.is_clean());
    }
}

#[test]
fn tasks_at_work_end_when_standard_input_is_damaged() {
    let place = Place::with(&[("in", b"b line\n")]);
    cut_short(&place, "stream", "a line\n");
    let job = ["-input", "-", "-mapper", WORKS_ON, "-reducer", "cat", "--workers", "2"];
    let stream = fs::File::open(place.path("stream.gz")).unwrap();
    let began = Instant::now();
    let output = place.command(&job).stdin(stream).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("standard input: the gzip data is cut short"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(!place.path("out").exists() && place.is_clean());
}

#[test]
fn what_names_java_classes_is_sent_to_the_hadoop_engine() {
    for options in OF_JAVA {
        let place = Place::with(&[("in", b"a line\n")]);
        let output = place.run(options);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let command =
            "hadoop/bin/tegula-hadoop jar hadoop-streaming.jar -input in -output out -mapper";
        assert!(text.contains(command), "{options:?}: {text}");
    }
}

#[test]
fn a_job_without_input_and_help_without_room_are_told() {
    let place = Place::with(&[("in", b"a line\n")]);
    let tegula = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tegula"));
        command.arg("streaming").args(words).current_dir(place.path("")).stdin(Stdio::null());
        command
    };
    let output = tegula(&["-output", "out", "-mapper", "cat"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("-input <path> is missing"), "{}", said(&output));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = tegula(&["-help"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("standard output: cannot be written"), "{}", said(&output));
}

/// A limit of the system on the length of files, in place of a disk that is full.
#[test]
fn an_answer_that_cannot_be_written_is_told_and_removed() {
    let place = Place::with(&[("in", "a line\n".repeat(200_000).as_bytes())]);
    let command = place.command(&["-mapper", "cat", "-reducer", "NONE"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"]);
    limited.arg(command.get_program()).args(command.get_args()).current_dir(place.path(""));
    let output = limited.env("TMPDIR", place.path("scratch")).output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("part-00000: cannot be written: File too large"), "{text}");
    assert!(!place.path("out").exists() && place.is_clean());
}

#[test]
fn odd_commands_do_no_harm() {
    // Ends without reading; closes its output and goes on; says much; leaves a process behind that holds no pipe.
    let cases: &[(&str, &str)] = &[
        ("true", ""),
        ("sh -c 'exec >&-; cat >/dev/null; sleep 0.1'", ""),
        ("sh -c 'head -c 20000000 /dev/zero >&2; cat'", "a line\t\n"),
        ("sh -c 'sleep 60 <&- >&- 2>&- & cat'", "a line\t\n"),
        ("head -n 1", "a line\t\n"),
    ];
    for (mapper, expected) in cases {
        let place = Place::with(&[("in", &b"a line\n"[..])]);
        assert_eq!(place.single(&["-mapper", mapper, "-reducer", "NONE"]), *expected, "{mapper}");
        assert!(place.is_clean());
    }
    let many = "a line\n".repeat(200_000);
    let place = Place::with(&[("in", many.as_bytes())]);
    assert_eq!(place.single(&["-mapper", "head -n 1", "-reducer", "head -n 1"]), "a line\t\n");
}
