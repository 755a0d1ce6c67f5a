//! What is wrong with a job is told in one line that says what to do, after the last words of a command that failed; and
//! nothing of an answer is left.

use super::{Place, said};

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
