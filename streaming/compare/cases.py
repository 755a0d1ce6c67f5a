"""Streaming jobs that Hadoop's local runner and Tegula must do alike: command lines of Hadoop's own tests
(TestStreaming*.java of hadoop-streaming) and documentation, and jobs in several languages.

Of Hadoop's tests, these have no command line here, because they are of Java: TestAutoInputFormat, TestClassWithNoPackage,
TestDumpTypedBytes, TestKeyOnlyTextOutputReader, TestLoadTypedBytes, TestMRFramework, TestStreamAggregate,
TestStreamXmlMultipleRecords, TestStreamXmlRecordReader (two), TestStreamingOutputKeyValueTypes, TestTypedBytesStreaming,
TestTypedBytesWritable name classes or data of Java's, TestRawBytesStreaming and TestStreamJob interfaces of the jar's, and
TestStreamingBadRecords is empty since Hadoop 0.23. TestStreamingBackground returns before its job is done.
`hadoop_classes.py` runs them all on the Hadoop engine."""

from dataclasses import dataclass, field
from io import BytesIO
from zipfile import ZipFile

COMPARATOR = "mapreduce.job.output.key.comparator.class=org.apache.hadoop.mapreduce.lib.partition.KeyFieldBasedComparator"
PARTITIONER = "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner"

ROSES = b"roses.are.red\nviolets.are.blue\nbunnies.are.pink\n"
IPS = b"11.12.1.2\n11.14.2.3\n11.11.4.1\n11.12.1.1\n11.14.2.2\n"
TEXT = b"the quick brown fox\njumps over the lazy dog\nthe end\n" * 50
NUMBERS = b"".join(
    b"%d\t%d\n" % (number * 7919 % 1009 - 500, number) for number in range(800)
)

WORDS_PY = b"""import sys
for line in sys.stdin:
    for word in line.split():
        print(word + "\\t1")
"""
SUM_PY = b"""import sys
from itertools import groupby
pairs = (line.rstrip("\\n").split("\\t") for line in sys.stdin)
for word, group in groupby(pairs, key=lambda pair: pair[0]):
    print(f"{word}\\t{sum(int(count) for _, count in group)}")
"""
COUNTING_PY = b"""import sys
for line in sys.stdin:
    sys.stderr.write("reporter:counter:UserCounters,InputLines,1\\nreporter:status:reading\\nplain words\\n")
    sys.stdout.write(line)
"""

# That of TestStreamingStatus: it prints before it reads, and tells of itself before and after.
STATUS_PL = b"""#!/usr/bin/perl
print STDERR "reporter:status:before consuming input\\n";
print STDERR "reporter:counter:myOwnCounterGroup,myOwnCounter,1\\n";
print STDERR "my error msg before consuming input\\n";
for($count = 1500; $count >= 1; $count--) {print STDOUT "$count ";}
while(<STDIN>) {chomp;}
print STDERR "my error msg after consuming input\\n";
print STDERR "reporter:counter:myOwnCounterGroup,myOwnCounter,1\\n";
"""


def zipped(name: str, content: bytes) -> bytes:
    """Returns an archive of one file."""
    archive = BytesIO()
    with ZipFile(archive, "w") as packed:
        packed.writestr(name, content)
    return archive.getvalue()


@dataclass
class Case:
    """A job: its input, the files that it ships, and its options after -input and -output."""

    name: str
    options: list[str]
    input: dict[str, bytes] = field(default_factory=lambda: {"in.txt": TEXT})
    files: dict[str, bytes] = field(default_factory=dict)
    # Keys that the job's comparator holds equal come in any order.
    has_ties: bool = False


def job(mapper: str, reducer: str | None = None, *options: str) -> list[str]:
    """Returns the options of a job; those of -D come first, as Hadoop wants them."""
    reducers = [] if reducer is None else ["-reducer", reducer]
    return [*options, "-mapper", mapper, *reducers]


def conf(*properties: str) -> list[str]:
    return [word for name in properties for word in ("-D", name)]


OF_TESTS = [
    Case("TestStreaming", job("tr . \\n", "uniq -c"), {"in.txt": ROSES}),
    Case(
        "TestStreamingCombiner",
        job("tr . \\n", "cat", "-combiner", "uniq"),
        {"in.txt": ROSES},
    ),
    Case("TestStreamReduceNone", job("tr . \\n", "NONE"), {"in.txt": ROSES}),
    Case(
        "TestStreamReduceNone, by number",
        job("tr . \\n", "cat", "-numReduceTasks", "0"),
        {"in.txt": ROSES},
    ),
    Case("TestStreamingFailure", job("sh -c 'exit 3'", "cat")),
    Case("TestStreamingFailure, reducer", job("cat", "sh -c 'cat >/dev/null; exit 3'")),
    Case(
        "TestStreamingExitStatus",
        job(
            "sh -c 'cat; exit 3'", "cat", *conf("stream.non.zero.exit.is.failure=false")
        ),
    ),
    Case(
        "TestStreamingSeparator",
        job(
            "sed 's/./&/'",
            "cat",
            *conf(
                "stream.map.input.field.separator=i",
                "stream.map.output.field.separator=a",
                "stream.reduce.input.field.separator=1",
                "stream.num.map.output.key.fields=2",
                "stream.reduce.output.field.separator=e",
                "stream.num.reduce.output.key.fields=2",
                "mapreduce.output.textoutputformat.separator=|",
            ),
        ),
        {"in.txt": b"roses1are.red\nviolets1are.blue\nbunnies1are.pink\n"},
    ),
    Case(
        "TestStreamingKeyValue",
        job("cat", None, "-numReduceTasks", "1"),
        {"in.txt": b"roses are \tred\t\n\tviolets are blue\nbunnies are pink\n"},
    ),
    Case(
        "TestStreamingOutputOnlyKeys",
        job("cut -f1", "cut -f1"),
        {"in.txt": b"a\t1\nb\t2\n"},
    ),
    Case(
        "TestStreamingCounters",
        job("python3 m.py", "cat", "-files", "m.py"),
        files={"m.py": COUNTING_PY},
    ),
    Case(
        "TestStreamingEmptyInpNonemptyOut",
        job("sh -c 'cat; echo more'", "cat"),
        {"in.txt": b""},
    ),
    Case("TestUnconsumedInput", job("echo done", "cat"), {"in.txt": b"one line\n"}),
    Case("TestGzipInput", job("cat", "cat"), {"in.txt.gz": TEXT}),
    Case(
        "TestFileArgs",
        job(
            "sh -c 'ls a.txt renamed.txt; cat'",
            "cat",
            "-files",
            "a.txt,b.txt#renamed.txt",
        ),
        files={"a.txt": b"", "b.txt": b""},
    ),
    Case(
        "TestMultipleCachefiles",
        job(
            "sh -c 'cat one two; cat >/dev/null'",
            "cat",
            "-files",
            "a.txt#one,b.txt#two",
        ),
        files={"a.txt": b"x\n", "b.txt": b"y\n"},
    ),
    Case(
        "TestSymLink",
        job("xargs cat", "cat", "-files", "a.txt#testlink"),
        {"in.txt": b"testlink\n"},
        files={"a.txt": b"this is just the cache string\n"},
    ),
    Case(
        "TestStreamDataProtocol",
        job(
            "cat",
            "cat",
            *conf(
                "stream.map.output.field.separator=.",
                "stream.num.map.output.key.fields=2",
                "mapreduce.map.output.key.field.separator=.",
                "num.key.fields.for.partition=1",
                "mapreduce.job.reduces=2",
            ),
            "-partitioner",
            PARTITIONER,
        ),
        {
            "in.txt": b"roses.smell.good\nroses.look.good\nroses.need.care\nroses.attract.bees\nbunnies.are.pink\n"
        },
    ),
    Case(
        "TestStreamingStderr",
        job("sh -c 'cat; for i in 1 2 3; do echo words >&2; done'", "cat"),
    ),
    Case(
        "TestStreamingStderr, no input",
        job("sh -c 'yes words | head -n 10000 >&2; cat'", "NONE"),
        {"in.txt": b""},
    ),
    Case(
        "TestStreamingStderr, after output",
        job("sh -c 'cat; yes words | head -n 10000 >&2'", "NONE"),
        {"in.txt": b""},
    ),
    Case(
        "TestStreamingStderr, as progress",
        job(
            "sh -c 'for i in 1 2 3 4; do echo words >&2; sleep 0.5; done; cat'",
            "NONE",
            *conf("mapreduce.task.timeout=1000"),
        ),
        {"in.txt": b"hello\n"},
    ),
    Case(
        "TestStreamingStatus, mapper",
        job("status.pl", "/bin/cat", "-file", "status.pl"),
        {"in.txt": ROSES},
        files={"status.pl": STATUS_PL},
    ),
    Case(
        "TestStreamingStatus, mapper without input",
        job("status.pl", "/bin/cat", "-file", "status.pl"),
        {"in.txt": b""},
        files={"status.pl": STATUS_PL},
    ),
    Case(
        "TestStreamingStatus, reducer",
        job("/bin/cat", "status.pl", "-file", "status.pl"),
        {"in.txt": ROSES},
        files={"status.pl": STATUS_PL},
    ),
    Case(
        "TestStreamingStatus, reducer without input",
        job("/bin/cat", "status.pl", "-file", "status.pl"),
        {"in.txt": b""},
        files={"status.pl": STATUS_PL},
    ),
    Case(
        "TestMultipleArchiveFiles",
        job(
            "xargs cat",
            "cat",
            "-archives",
            "1.zip#symlink1,2.zip#symlink2",
        ),
        {"in.txt": b"symlink1/cacheArchive1\nsymlink2/cacheArchive2"},
        files={
            "1.zip": zipped("cacheArchive1", b"HADOOP\n"),
            "2.zip": zipped("cacheArchive2", b"HADOOP\n"),
        },
    ),
    Case(
        "TestStreamingExitStatus, reducer",
        job(
            "cat",
            "sh -c 'cat; exit 3'",
            *conf("stream.non.zero.exit.is.failure=false"),
        ),
    ),
    Case(
        "TestStreamingOutputKeyValueTypes, default reducer",
        job("tr . \\n"),
        {"in.txt": ROSES},
    ),
    Case(
        "TestStreamingOutputKeyValueTypes, no reduces",
        job("tr . \\n", "cat", "-numReduceTasks", "0"),
        {"in.txt": ROSES},
    ),
]

OF_DOCUMENTATION = [
    Case("cat and wc", job("/bin/cat", "/usr/bin/wc")),
    Case("cat and wc, 7 parts", job("/bin/cat", "/usr/bin/wc", "-numReduceTasks", "7")),
    Case(
        "a prefix of four fields",
        job(
            "cat",
            "cat",
            *conf(
                "stream.map.output.field.separator=.",
                "stream.num.map.output.key.fields=4",
                "mapreduce.map.output.key.field.separator=.",
                "mapreduce.partition.keypartitioner.options=-k1,2",
                "mapreduce.job.reduces=12",
            ),
            "-partitioner",
            PARTITIONER,
        ),
        {"in.txt": IPS},
    ),
    Case(
        "fields in numeric order and in reverse",
        job(
            "cat",
            "cat",
            *conf(
                COMPARATOR,
                "stream.map.output.field.separator=.",
                "stream.num.map.output.key.fields=4",
                "mapreduce.map.output.key.field.separator=.",
                "mapreduce.partition.keycomparator.options=-k2,2nr",
                "mapreduce.job.reduces=1",
            ),
        ),
        {"in.txt": IPS},
        has_ties=True,
    ),
    Case("field selection", job("awk -F' ' '{print $1\"\t\"$2}'", "cat")),
]

OF_LANGUAGES = [
    Case(
        "Python",
        job("python3 m.py", "python3 r.py", "-files", "m.py,r.py"),
        files={"m.py": WORDS_PY, "r.py": SUM_PY},
    ),
    Case(
        "Python, 7 parts",
        job(
            "python3 m.py",
            "python3 r.py",
            "-files",
            "m.py,r.py",
            "-numReduceTasks",
            "7",
        ),
        files={"m.py": WORDS_PY, "r.py": SUM_PY},
    ),
    Case(
        "Python with a combiner",
        job(
            "python3 m.py",
            "python3 r.py",
            "-files",
            "m.py,r.py",
            "-combiner",
            "python3 r.py",
            "-numReduceTasks",
            "3",
        ),
        files={"m.py": WORDS_PY, "r.py": SUM_PY},
    ),
    Case(
        "a program that is shipped",
        job("m.sh", "cat", "-file", "m.sh"),
        files={"m.sh": b"#!/bin/sh\ntr a-z A-Z\n"},
    ),
    Case(
        "awk",
        job(
            "awk '{for (i = 1; i <= NF; i++) print $i \"\t\" 1}'",
            "awk -F\t '{n[$1] += $2} END {for (w in n) print w \"\t\" n[w]}'",
        ),
    ),
    Case("perl", job("perl -ne 'print lc'", "perl -ne 'print scalar reverse'")),
    Case(
        "shell",
        job(
            "sh -c 'tr -s [:blank:] [\\n*]'",
            "sh -c 'sort | uniq -c'",
            "-numReduceTasks",
            "7",
        ),
    ),
    Case(
        "numbers in order",
        job(
            "cat",
            "cat",
            *conf(COMPARATOR, "mapreduce.partition.keycomparator.options=-n"),
        ),
        {"in.txt": NUMBERS},
    ),
    Case(
        "numbers in reverse, 3 parts",
        job(
            "cat",
            None,
            *conf(
                COMPARATOR,
                "mapreduce.partition.keycomparator.options=-nr",
                "mapreduce.job.reduces=3",
            ),
        ),
        {"in.txt": NUMBERS},
    ),
    Case(
        "by the second field, then the first in reverse",
        job(
            "cat",
            None,
            *conf(
                COMPARATOR,
                "stream.num.map.output.key.fields=2",
                "mapreduce.partition.keycomparator.options=-k2.1,2.1 -k1,1nr",
                "mapreduce.job.reduces=2",
            ),
        ),
        {"in.txt": NUMBERS},
        has_ties=True,
    ),
    Case(
        "parts by a field's characters",
        job(
            "cat",
            "cat",
            *conf(
                "mapreduce.partition.keypartitioner.options=-k1.2,1.3",
                "mapreduce.job.reduces=5",
            ),
            "-partitioner",
            PARTITIONER,
        ),
        {"in.txt": NUMBERS},
    ),
    Case(
        "parts by whole keys as text",
        job("cat", "cat", "-partitioner", PARTITIONER, "-numReduceTasks", "5"),
        {"in.txt": "ä\nö\nü\nabc\n漢字\n".encode()},
    ),
]

OF_BYTES = [
    Case("no tab", job("cat", "cat"), {"in.txt": b"a\nb\n"}),
    Case("only tabs", job("cat", "cat"), {"in.txt": b"\t\n\t\t\n\t\t\t\n"}),
    Case("empty lines", job("cat", "cat"), {"in.txt": b"\n\n\n"}),
    Case(
        "returns and newlines",
        job("cat", "cat"),
        {"in.txt": b"a\tb\r\nc\rd\n\re\r\r\nf"},
    ),
    Case("returns of a mapper", job("printf 'a\\tb\\r\\nc\\rd'", "cat")),
    Case("NUL", job("cat", "cat"), {"in.txt": b"a\0b\tc\0\n\0\n"}),
    Case(
        "bytes that are no text",
        job("cat", "cat", "-numReduceTasks", "3"),
        {"in.txt": bytes(range(11, 256)) + b"\n\xff\xfe\t\x80\n"},
    ),
    Case("no last newline", job("cat", "NONE"), {"in.txt": b"a\nb"}),
    Case(
        "fewer fields than the key has",
        job("cat", "cat", *conf("stream.num.map.output.key.fields=3")),
        {"in.txt": b"a\tb\na\tb\tc\td\n"},
    ),
    Case(
        "a separator of two bytes",
        job("cat", None, *conf("stream.map.output.field.separator=::")),
        {"in.txt": b"a::b\nc:d\n"},
    ),
    Case("a reducer that prints nothing", job("cat", "true")),
    Case(
        "reducers without input that print",
        job("cat", "sh -c 'cat; echo more'", "-numReduceTasks", "5"),
        {"in.txt": b"a\n"},
    ),
    Case(
        "several files, without reducers",
        job("cat", "NONE"),
        {
            "a": b"1\n",
            "b": b"22222\n",
            "c": b"333\n",
            "_hidden": b"x\n",
            ".hidden": b"y\n",
        },
    ),
    Case(
        "parts by fields of keys that are no UTF-8",
        job(
            "cat",
            "cat",
            *conf(
                "mapreduce.partition.keypartitioner.options=-k1,1",
                "mapreduce.map.output.key.field.separator=.",
            ),
            "-numReduceTasks",
            "7",
            "-partitioner",
            PARTITIONER,
        ),
        {
            "in.txt": b"".join(
                bytes([byte, 0xE4, 0xB8, byte]) + b".x\n" for byte in range(0x80, 0x100)
            )
        },
    ),
    Case(
        "records that end otherwise",
        job("cat", "cat", *conf("textinputformat.record.delimiter=;")),
        {"in.txt": b"a;b;c\nd;"},
    ),
    Case(
        "tasks of two lines",
        job(
            "cat",
            "NONE",
            *conf("mapreduce.input.lineinputformat.linespermap=2"),
            "-inputformat",
            "org.apache.hadoop.mapred.lib.NLineInputFormat",
        ),
        {"in.txt": b"a\nbb\nccc\n"},
    ),
    Case(
        "tasks of lines that end otherwise, and an empty file",
        job(
            "cat",
            "NONE",
            *conf(
                "mapreduce.input.lineinputformat.linespermap=2",
                "textinputformat.record.delimiter=;",
            ),
            "-inputformat",
            "org.apache.hadoop.mapred.lib.NLineInputFormat",
        ),
        {"a": b"aa\r\nbb\r\n\r\nc", "b": b""},
    ),
    Case(
        "lines of tasks of two without their offsets",
        job(
            "cat",
            "NONE",
            *conf(
                "mapreduce.input.lineinputformat.linespermap=2",
                "stream.map.input.ignoreKey=True",
            ),
            "-inputformat",
            "org.apache.hadoop.mapred.lib.NLineInputFormat",
        ),
        {"in.txt": b"a\nbb\nccc\n"},
    ),
    Case(
        "lines after their offsets",
        job(
            "cat",
            "cat",
            *conf(
                "stream.map.input.ignoreKey=FALSE",
                "stream.map.input.field.separator=::",
            ),
        ),
        {"in.txt": b"a\r\n\nbb\nccc"},
    ),
    Case(
        "records after their offsets",
        job(
            "cat",
            "NONE",
            *conf(
                "stream.map.input.ignoreKey=false",
                "textinputformat.record.delimiter=;;",
            ),
        ),
        {"in.txt": b"a;;b;;c\nd;;"},
    ),
    Case(
        "lazy output",
        job("cat", "cat", "-lazyOutput", "-numReduceTasks", "5"),
        {"in.txt": b"a\n"},
    ),
    Case(
        "gzip output",
        job(
            "cat",
            "cat",
            *conf(
                "mapreduce.output.fileoutputformat.compress=true",
                "mapreduce.output.fileoutputformat.compress.codec=org.apache.hadoop.io.compress.GzipCodec",
            ),
        ),
    ),
    Case("no such program", job("no-such-program", "cat")),
    Case("no such shipped file", job("cat", "cat", "-files", "missing.py")),
]

ALL = OF_TESTS + OF_DOCUMENTATION + OF_LANGUAGES + OF_BYTES
