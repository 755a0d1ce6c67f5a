//! The command lines of Hadoop's own tests of Streaming (`TestStreaming*.java`) and of its documentation, with the
//! answers that these expect. `make test-streaming` compares more of them with the stock jar.

use super::Place;

/// A name, the input, the options, and the lines of `part-00000`.
type Case<'c> = (&'c str, &'c str, &'c [&'c str], &'c str);

const ROSES: &str = "roses.are.red\nviolets.are.blue\nbunnies.are.pink\n";
const IPS: &str = "11.12.1.2\n11.14.2.3\n11.11.4.1\n11.12.1.1\n11.14.2.2\n";
const COMPARATOR: &str = "mapreduce.job.output.key.comparator.class=\
    org.apache.hadoop.mapreduce.lib.partition.KeyFieldBasedComparator";

const CASES: &[Case<'_>] = &[
    (
        "TestStreaming",
        ROSES,
        &["-mapper", "tr . \\n", "-reducer", "uniq -c"],
        "      3 are\t\n      1 blue\t\n      1 bunnies\t\n      1 pink\t\n      1 red\t\n      1 roses\t\n      1 violets\t\n",
    ),
    (
        "TestStreamReduceNone",
        ROSES,
        &["-mapper", "tr . \\n", "-reducer", "NONE"],
        "roses\t\nare\t\nred\t\nviolets\t\nare\t\nblue\t\nbunnies\t\nare\t\npink\t\n",
    ),
    (
        "TestStreamingSeparator",
        "roses.smell.good\nroses.look.good\nroses.need.care\nroses.attract.bees\nbunnies.are.pink\n",
        &[
            "-D",
            "stream.map.output.field.separator=.",
            "-D",
            "stream.num.map.output.key.fields=2",
            "-jobconf",
            "stream.reduce.input.field.separator=|",
            "-mapper",
            "cat",
            "-reducer",
            "cat",
        ],
        "bunnies.are|pink\t\nroses.attract|bees\t\nroses.look|good\t\nroses.need|care\t\nroses.smell|good\t\n",
    ),
    (
        "TestStreamingOutputKeyValueTypes",
        "one line dummy input\n",
        &["-mapper", "cat", "-reducer", "wc"],
        "      1       4      22\t\n",
    ),
    (
        "TestStreamingEmptyInpNonemptyOut",
        "",
        &["-mapper", "sh -c 'cat; echo more'", "-reducer", "cat"],
        "more\t\n",
    ),
    (
        "TestStreamingExitStatus",
        "a\n",
        &["-D", "stream.non.zero.exit.is.failure=false", "-mapper", "sh -c 'cat; exit 3'"],
        "a\t\n",
    ),
    ("TestUnconsumedInput", "a\nb\n", &["-mapper", "echo done", "-reducer", "NONE"], "done\t\n"),
    (
        "the documentation's comparator",
        IPS,
        &[
            "-D",
            COMPARATOR,
            "-D",
            "stream.map.output.field.separator=.",
            "-D",
            "stream.num.map.output.key.fields=4",
            "-D",
            "mapreduce.map.output.key.field.separator=.",
            "-D",
            "mapreduce.partition.keycomparator.options=-k2,2nr",
            "-mapper",
            "cat",
        ],
        "11.14.2.2\t\n11.14.2.3\t\n11.12.1.1\t\n11.12.1.2\t\n11.11.4.1\t\n",
    ),
];

#[test]
fn each_has_its_answer() {
    for (name, input, options, expected) in CASES {
        let place = Place::with(&[("in", input.as_bytes())]);
        assert_eq!(place.single(options), *expected, "{name}");
    }
}

#[test]
fn the_documentations_partitioner_keeps_prefixes_together() {
    let place = Place::with(&[("in", IPS.as_bytes())]);
    let parts = place.answer(&[
        "-D",
        "stream.map.output.field.separator=.",
        "-D",
        "stream.num.map.output.key.fields=4",
        "-D",
        "map.output.key.field.separator=.",
        "-D",
        "mapred.text.key.partitioner.options=-k1,2",
        "-D",
        "mapred.reduce.tasks=12",
        "-partitioner",
        "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner",
        "-mapper",
        "cat",
        "-reducer",
        "cat",
    ]);
    assert_eq!(parts.len(), 12);
    let mut filled: Vec<&str> =
        parts.values().map(String::as_str).filter(|it| !it.is_empty()).collect();
    filled.sort_unstable();
    let expected = ["11.11.4.1\t\n", "11.12.1.1\t\n11.12.1.2\t\n", "11.14.2.2\t\n11.14.2.3\t\n"];
    assert_eq!(filled, expected);
}

#[test]
fn counters_are_added_up_and_shown() {
    let place = Place::with(&[("in", b"a\nb\nc\n")]);
    let mapper =
        "awk '{print \"reporter:counter:UserCounters,InputLines,1\" > \"/dev/stderr\"; print}'";
    let said = super::said(&place.run(&["-mapper", mapper, "-reducer", "cat", "--split", "2"]));
    assert!(said.contains("Counters: 1\n\tUserCounters\n\t\tInputLines=3\n"), "{said}");
}

#[test]
fn parts_without_reducers_are_numbered_by_size() {
    let place = Place::with(&[
        ("in/a", b"1\n"),
        ("in/b", b"22222\n"),
        ("in/c", b"333\n"),
        ("in/_x", b"4\n"),
    ]);
    let parts = place.answer(&["-mapper", "cat", "-reducer", "NONE"]);
    assert_eq!(parts.values().collect::<Vec<_>>(), ["22222\t\n", "333\t\n", "1\t\n"]);
}
