#!/usr/bin/env python3
"""Streaming jobs beside what runs them otherwise: the shell's own pipeline, the stock jar on Hadoop's local runner, and
mrjob's runners.

Takes tegula's binary, a Python with mrjob and the package, and Hadoop's class path and streaming jar; writes its texts
to a temporary folder, prints a Markdown table with each goal, and writes the raw results. Texts are drawn from a seed.

    python3 bench/compare/streaming.py --tegula target/release/tegula --python venv/bin/python \
        --classpath target/hadoop.classpath --jar target/hadoop-streaming.jar --runs 5

`--only words tiny` measures these inputs alone; then `--out` names another file for the results.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ours
from measure import (
    Failed,
    Measured,
    Program,
    interleaved,
    run_script,
    table,
    write_results,
)

MAPPER = """import sys
for line in sys.stdin:
    for word in line.split():
        print(word + "\\t1")
"""
REDUCER = """import sys
from itertools import groupby
pairs = (line.rstrip("\\n").split("\\t") for line in sys.stdin)
for word, group in groupby(pairs, key=lambda pair: pair[0]):
    print(f"{word}\\t{sum(int(count) for _, count in group)}")
"""
JOB = "import mrjob.examples.mr_word_freq_count as job; print(job.__file__)"
RESULTS = Path(__file__).parent.parent / "results" / "streaming.json"


@dataclass(frozen=True)
class Goal:
    """A figure of one program beside that of another; or, without one, in itself."""

    what: str
    ours: str
    rival: str | None
    figure: Callable[[Measured], float]
    unit: str
    most: float


def cpu(measured: Measured) -> float:
    return measured.cpu_s


def wall(measured: Measured) -> float:
    return measured.wall_s


def megabytes(measured: Measured) -> float:
    return measured.resident_peak_bytes / 1e6


GOALS = (
    Goal("Python word count", "words: tegula", "words: shell", cpu, "x CPU", 0.8),
    Goal("Python word count", "words: tegula", "words: shell", wall, "x wall", 0.6),
    Goal("Python word count", "words: tegula", "words: hadoop", cpu, "x CPU", 0.5),
    Goal("the scripts alone", "words: scripts alone", "words: shell", cpu, "x CPU", 1),
    Goal("cat and cat", "cat: tegula", None, cpu, "CPU s a GB", 5),
    Goal("cat and cat", "cat: tegula", "cat: sort", cpu, "x CPU", 0.63),
    Goal(
        "cat and cat, 256 MB of memory",
        "cat: tegula, 256 MB",
        "cat: sort, 256 MB",
        cpu,
        "x CPU",
        0.63,
    ),
    Goal("mrjob, tegula.mrjob", "mrjob: tegula", None, cpu, "CPU s for 200 MB", 35),
    Goal("mrjob, tegula.mrjob", "mrjob: tegula", "mrjob: inline", cpu, "x CPU", 0.23),
    Goal(
        "mrjob, tegula hadoop",
        "hadoop: tegula",
        "hadoop: local",
        cpu,
        "x CPU",
        0.8,
    ),
    Goal(
        "its scripts alone",
        "hadoop: scripts alone",
        "hadoop: local",
        cpu,
        "x CPU",
        0.8,
    ),
    Goal("a tiny mrjob, tegula hadoop", "tiny: tegula hadoop", None, wall, "s", 1.5),
    Goal(
        "a tiny mrjob, tegula hadoop",
        "tiny: tegula hadoop",
        "tiny: inline",
        wall,
        "x wall",
        1.5,
    ),
    Goal(
        "a tiny mrjob, tegula hadoop, mrjob not sent along",
        "tiny: tegula hadoop, not sent",
        None,
        wall,
        "s",
        1.5,
    ),
)
INPUTS = ("words", "cat", "mrjob", "hadoop", "tiny")
# Runs of a few seconds vary more, so there are three times as many.
SHORT = ("words", "tiny")
# Seconds of these figures are for this many bytes.
SCALED = {"CPU s a GB": 1e9, "CPU s for 200 MB": 2e8}


def write_text(path: Path, size: int) -> None:
    """Write lines of ten words, of which few are frequent."""
    chance = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [
        "".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(50_000)
    ]
    with path.open("w") as file:
        written = 0
        while written < size:
            ranks = (int(chance.paretovariate(0.7)) for _ in range(1000))
            picked = [words[rank % len(words)] for rank in ranks]
            lines = [" ".join(picked[at : at + 10]) for at in range(0, 1000, 10)]
            text = "\n".join(lines) + "\n"
            file.write(text)
            written += len(text)


def programs_of(options: argparse.Namespace, folder: Path) -> list[list[Program]]:
    """The programs that are compared, by input."""
    sizes = {
        "words": options.words_mb,
        "cat": options.cat_mb,
        "mrjob": options.mrjob_mb,
        "hadoop": options.hadoop_mb,
    }
    texts = {name: folder / f"{name}.txt" for name in sizes}
    for name, path in texts.items():
        write_text(path, int(sizes[name] * 1e6) if name in options.only else 0)
    texts["tiny"] = folder / "tiny.txt"
    texts["tiny"].write_text("a few words\n")
    (folder / "m.py").write_text(MAPPER)
    (folder / "r.py").write_text(REDUCER)
    jar = folder / "hadoop-streaming.jar"
    jar.write_bytes(b"")
    out = folder / "out"

    def program(
        name: str, *argv: str, has_family: bool = False, prepare: str = "true"
    ) -> Program:
        text = texts[name.partition(":")[0]]
        environment = {
            "TEGULA_HDFS": f"{folder}/hdfs",
            "MRJOB_CONF": "/dev/null",
            "LC_ALL": "C",
            # As a person has it: a variable that is empty is none to Python.
            "PYTHONUNBUFFERED": "",
            "PYTHONDONTWRITEBYTECODE": "",
            # As an environment that is activated has it: tasks start `python3`.
            "PATH": f"{options.python.parent}{os.pathsep}{os.environ['PATH']}",
        }
        before = f"rm -rf '{out}'; {prepare}"
        return Program(
            name,
            2,
            text,
            argv,
            environment,
            has_family=has_family,
            before=before,
        )

    tegula = str(options.tegula.resolve())
    python = str(options.python)
    files = f"{folder}/m.py,{folder}/r.py"
    words = [
        "-input",
        str(texts["words"]),
        "-output",
        str(out),
        "-mapper",
        f"{sys.executable} m.py",
        "-reducer",
        f"{sys.executable} r.py",
    ]
    local = [
        "-D",
        "mapreduce.framework.name=local",
        "-D",
        "fs.defaultFS=file:///",
        "-D",
        "mapreduce.job.reduces=2",
    ]
    classpath = f"{options.jar}:{options.classpath.read_text().strip()}"
    # The interpreter itself: a wrapper of it would be started for each task.
    script = f"{sys.executable} {folder}"
    shell = f"{script}/m.py <{texts['words']} | sort | {script}/r.py >{out}"
    # What no runner can do without: both scripts, without a sort and without pipes.
    mapped = f"{folder}/mapped"
    alone = f"{script}/m.py <{texts['words']} >{mapped}; {script}/r.py <{mapped}.sorted >{out}"
    sorted_before = f"{script}/m.py <{texts['words']} | sort >{mapped}.sorted"
    cat = [
        "-input",
        str(texts["cat"]),
        "-output",
        str(out),
        "-mapper",
        "cat",
        "-reducer",
        "cat",
        "-numReduceTasks",
        "4",
    ]

    def sort(memory: str) -> list[str]:
        pipeline = f"cat {texts['cat']} | sort {memory} --parallel=2 | cat >{out}"
        return ["sh", "-c", pipeline]

    hadoop = [
        "-r",
        "hadoop",
        "--hadoop-bin",
        f"{tegula} hadoop",
        "--hadoop-streaming-jar",
        str(jar),
    ]
    job = str(options.job)
    text, less = str(texts["mrjob"]), str(texts["hadoop"])

    # What no runner can do without: the job's scripts, each half of the text by a mapper and a combiner.
    def step(part: str, source: str, result: str) -> str:
        return f"{python} {job} --step-num=0 --{part} <{folder}/{source} >{folder}/{result}"

    halves = ("half.00", "half.01")
    mapped = [step("mapper", half, f"{half}.mapped") for half in halves]
    combined = [
        step("combiner", f"{half}.sorted", f"{half}.combined") for half in halves
    ]
    prepared = [
        f"split --number=l/2 --numeric-suffixes {less} {folder}/half.",
        *mapped,
        *(f"sort {folder}/{half}.mapped >{folder}/{half}.sorted" for half in halves),
        *combined,
        f"sort {folder}/half.*.combined >{folder}/combined.sorted",
    ]
    scripts = [*mapped, *combined, step("reducer", "combined.sorted", "reduced")]
    return [
        [
            program(
                "words: tegula",
                tegula,
                "streaming",
                "-files",
                files,
                *words,
                "-numReduceTasks",
                "2",
                "--workers",
                "2",
            ),
            program("words: shell", "sh", "-c", shell),
            program("words: scripts alone", "sh", "-c", alone, prepare=sorted_before),
            program(
                "words: hadoop",
                "java",
                "-cp",
                classpath,
                "org.apache.hadoop.streaming.HadoopStreaming",
                *local,
                "-files",
                files,
                *words,
            ),
        ],
        [
            program("cat: tegula", tegula, "streaming", *cat, "--workers", "2"),
            program("cat: sort", *sort("")),
            program(
                "cat: tegula, 256 MB",
                tegula,
                "streaming",
                *cat,
                "--memory",
                "256M",
                "--workers",
                "2",
            ),
            program("cat: sort, 256 MB", *sort("-S 256M")),
        ],
        [
            program(
                "mrjob: tegula",
                python,
                "-m",
                "tegula.mrjob",
                job,
                text,
                has_family=True,
            ),
            program("mrjob: inline", python, job, text, "-r", "inline"),
        ],
        [
            program("hadoop: tegula", python, job, less, *hadoop, has_family=True),
            program("hadoop: local", python, job, less, "-r", "local", has_family=True),
            program(
                "hadoop: scripts alone",
                "sh",
                "-c",
                "; ".join(scripts),
                has_family=True,
                prepare=f"test -f {folder}/combined.sorted || {{ {'; '.join(prepared)}; }}",
            ),
        ],
        [
            program("tiny: tegula hadoop", python, job, str(texts["tiny"]), *hadoop),
            program(
                "tiny: tegula hadoop, not sent",
                python,
                job,
                str(texts["tiny"]),
                *hadoop,
                "--no-bootstrap-mrjob",
                "--python-bin",
                python,
            ),
            program("tiny: local", python, job, str(texts["tiny"]), "-r", "local"),
            program("tiny: inline", python, job, str(texts["tiny"]), "-r", "inline"),
        ],
    ]


def goals(measured: list[Measured]) -> list[list[str]]:
    """What was reached of each goal."""
    by_name = {one.program.name: one for one in measured}
    rows = []
    for goal in GOALS:
        if goal.ours not in by_name:
            continue
        one = by_name[goal.ours]
        reached = goal.figure(one)
        if goal.rival is not None:
            reached /= goal.figure(by_name[goal.rival])
        elif goal.unit in SCALED:
            reached *= SCALED[goal.unit] / one.input_bytes
        beside = goal.rival or ""
        rows.append([goal.what, beside, f"{reached:.2f} {goal.unit}", f"≤ {goal.most}"])
    if held := by_name.get("cat: tegula, 256 MB"):
        rows.append(["cat and cat, memory", "", f"{megabytes(held):.0f} MB", "≤ 268"])
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare streaming jobs.")
    parser.add_argument("--tegula", type=Path, required=True, help="tegula's binary")
    parser.add_argument("--python", type=Path, required=True, help="with mrjob")
    parser.add_argument("--classpath", type=Path, required=True, help="Hadoop's")
    parser.add_argument(
        "--jar", type=Path, required=True, help="Hadoop's for streaming"
    )
    parser.add_argument("--job", type=Path, help="mrjob's word count")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--words-mb", type=float, default=20)
    parser.add_argument("--cat-mb", type=float, default=1000)
    parser.add_argument("--mrjob-mb", type=float, default=200)
    parser.add_argument("--hadoop-mb", type=float, default=20)
    parser.add_argument("--only", nargs="+", choices=INPUTS, default=INPUTS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    ours.existing(options.tegula)
    if options.job is None:
        options.job = job_of(options.python)
    measured: list[Measured] = []
    with tempfile.TemporaryDirectory() as folder:
        for programs in programs_of(options, Path(folder)):
            name = programs[0].name.partition(":")[0]
            if name not in options.only:
                continue
            runs = options.runs * (3 if name in SHORT else 1)
            measured += interleaved(programs, runs)
    figures = [
        [
            one.program.name,
            f"{one.input_bytes / 1e6:.0f}",
            one.spread(cpu),
            one.spread(wall),
            f"{megabytes(one):.0f}",
        ]
        for one in measured
    ]
    print(table(["program", "MB", "CPU s", "wall s", "peak MB"], figures))
    reached = goals(measured)
    print(table(["figure", "beside", "reached", "goal"], reached))
    write_results(options.out, measured, {}, {"reached": reached})
    return 0


def job_of(python: Path) -> Path:
    """Return the file of mrjob's word count."""
    done = subprocess.run([python, "-c", JOB], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    return Path(done.stdout.strip())


if __name__ == "__main__":
    run_script(main)
