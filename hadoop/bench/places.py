#!/usr/bin/env python3
"""Hadoop's jobs over 1, 2 and 4 places, each a JVM, beside the engine in one JVM, Hadoop's local runner and Spark's own programs.

The micro-benchmark of the paper on M3R (10 kB a pair; 0, 50 and 100 % of the pairs leave their place), a sparse matrix times
a dense vector, and word count. Places and Spark's executors share the cores of one machine, and together have the heap of the
one JVM. Spark's program of a job keeps its data in memory between iterations, or writes them and reads them again. Outputs are
compared. The processor time of a whole run contains all processes, that of an iteration only the driver.

    python3 hadoop/bench/places.py --text bench/corpus/zipf.txt --runs 5
    python3 hadoop/bench/places.py --limited --cases pairs matrix
    python3 hadoop/bench/places.py --tiny 40
    python3 hadoop/bench/places.py --show jvm:4
"""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from control_groups import limited
from jvm import HADOOP, Run, as_raw, class_path, measure, run, write_results
from sequences import MATRIX, OPTIONS, PAIRS, contents, times

PAGES = "org.tegula.hadoop.bench.PageRank"
WORDS = "org.apache.hadoop.examples.ExampleDriver"
TINY = "org.tegula.hadoop.bench.TinyJobs"
DIGEST = "org.tegula.hadoop.bench.OutputDigest"
RDD_JOBS = "org.tegula.hadoop.bench.RddJobs"
PARTITIONS = 4
KEY_AND_VALUE_BYTES = 4 + 4 + 10_000
SYSTEMS = {
    "local": ("local", ()),
    "one JVM": ("tegula", ()),
    "1 place": ("tegula", ("tegula.places=jvm:1",)),
    "2 places": ("tegula", ("tegula.places=jvm:2",)),
    "4 places": ("tegula", ("tegula.places=jvm:4",)),
}
# After the name of a system with places: a control group gives each place its share of the processors.
LIMITED = ", limited"
PLACES = ("place", "places")
SPARK = {"Spark, cached": "cached", "Spark, from disk": "disk"}
EXECUTORS = 4
# What Spark itself gives its JVMs.
OPENED = [
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
]


def spark_home() -> Path:
    """The folder with Spark's jars, which the build of hadoop/spark makes."""
    return HADOOP / "spark" / "target" / "spark"


def heap_mb(heap: str) -> int:
    """The mebibytes of an option such as 4g."""
    return int(heap[:-1]) * (1024 if heap.endswith("g") else 1)


def on_spark(
    kind: str, folder: Path, job: str, arguments: tuple[str, ...], heap: str
) -> Run:
    """Runs Spark's own program of a job over executors that have the heap together."""
    each_mb = heap_mb(heap) // EXECUTORS
    master = f"local-cluster[{EXECUTORS},1,{each_mb}]"
    target = HADOOP / "spark" / "target"
    engine = HADOOP / "target"
    path = [target / "test-classes", engine / "test-classes", engine / "classes"]
    command = [
        "java",
        "-Xmx1g",
        *(f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in OPENED),
        f"-Dspark.master={master}",
        f"-Dspark.executor.memory={each_mb}m",
        f"-Dspark.local.dir={folder / 'tmp'}",
        "-cp",
        ":".join([*map(str, path), f"{spark_home()}/jars/*"]),
        RDD_JOBS,
        kind,
        str(folder / "run" / "work"),
        job,
        *arguments,
    ]
    os.environ["SPARK_HOME"] = str(spark_home())
    os.environ["SPARK_SCALA_VERSION"] = "2.13"
    return measure(command)


def fresh(folder: Path) -> Path:
    """An empty folder for a run's files; returns where its program works."""
    inside = folder / "run"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    return inside / "work"


def one(
    system: str, program: str, folder: Path, arguments: tuple[str, ...], heap: str
) -> tuple[Run, dict[str, bytes], dict[str, list[float]]]:
    """Runs a program in a folder of its own; gives back what its last job has written, and how its limits were felt."""
    with shares(system) as felt:
        done, parts = one_unlimited(
            system.removesuffix(LIMITED), program, folder, arguments, heap
        )
    return done, parts, felt


def shares(
    system: str,
) -> contextlib.AbstractContextManager[dict[str, list[float]]]:
    """The processors of a system: all, or for each place its share."""
    if not system.endswith(LIMITED):
        return contextlib.nullcontext({})
    return limited(int(system.split()[0]))


def one_unlimited(
    system: str, program: str, folder: Path, arguments: tuple[str, ...], heap: str
) -> tuple[Run, dict[str, bytes]]:
    """The same, for a system that has all processors."""
    work = fresh(folder)
    if system in SPARK:
        job = {PAIRS: "pairs", MATRIX: "matrix", WORDS: "words"}[program]
        given = (*arguments, str(PARTITIONS)) if program == WORDS else arguments
        return on_spark(SPARK[system], folder, job, given, heap), {}
    framework, places = SYSTEMS[system]
    if program == WORDS:
        first = ("wordcount", f"-Dmapreduce.job.reduces={PARTITIONS}", *arguments)
        given = (*first, str(work / "out"))
    else:
        given = (str(work), *arguments)
    done = run(framework, program, folder, (*OPTIONS, *places), given, (f"-Xmx{heap}",))
    parts = {part.name: part.read_bytes() for part in (work / "out").glob("part-*")}
    return done, parts


def digest(program: str, folder: Path) -> str:
    """What the last output has in common with that of another engine: its lines in any order, or see OutputDigest."""
    out = folder / "run" / "work" / "out"
    if program == WORDS:
        # Spark writes tuples.
        lines = [
            line.strip("()").replace(",", "\t")
            for part in sorted(out.glob("part-*"))
            for line in part.read_text().splitlines()
        ]
        return str(hash(tuple(sorted(lines))))
    command = ["java", "-cp", class_path("tegula"), DIGEST, str(out)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return found.stdout.splitlines()[-1]


def show(setting: str) -> None:
    """A page rank over places: for each job, its time and what its pairs did."""
    SYSTEMS["shown"] = ("tegula", (f"tegula.places={setting}",))
    with tempfile.TemporaryDirectory() as name:
        done, _, _ = one("shown", PAGES, Path(name), ("100000", "8"), "2g")
    print(f"Page rank of 100,000 pages over {setting}")
    print(
        "| iteration | seconds | pairs stayed | pairs moved | bytes moved |\n|---|---|---|---|---|"
    )
    for step in done.steps():
        pairs = [
            step.get(f"{each}", 0)
            for each in ("pairs_stayed", "pairs_moved", "bytes_moved")
        ]
        counts = " | ".join(f"{each:,}" for each in pairs)
        print(f"| {int(str(step['iteration'])) + 1} | {step['wall_s']} | {counts} |")


def tiny(jobs: int) -> None:
    """Tiny jobs, one after the other: the median of the last half."""
    print("| system | a tiny job, ms |\n|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for system in SYSTEMS:
            if system == "local":
                continue
            done, _, _ = one(system, TINY, Path(name), (str(jobs),), "2g")
            late = [float(str(step["wall_s"])) for step in done.steps()][jobs // 2 :]
            print(f"| {system} | {1000 * statistics.median(late):.0f} |", flush=True)


def cases_of(options: argparse.Namespace) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Programs and their arguments, by their names."""
    partitions, iterations = str(PARTITIONS), str(options.iterations)
    cases: dict[str, tuple[str, tuple[str, ...]]] = {
        f"pairs, {away} % leave": (
            PAIRS,
            (str(options.pairs), partitions, str(away), iterations, "true"),
        )
        for away in (0, 50, 100)
    }
    cases["matrix x vector"] = (MATRIX, (str(options.blocks), partitions, iterations))
    if options.text:
        cases["word count"] = (WORDS, (str(options.text.resolve()),))
    return {
        name: case
        for name, case in cases.items()
        if not options.cases or any(each in name for each in options.cases)
    }


def main() -> None:
    """Measures in turns and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--iterations", type=int, default=16)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--heap", default="4g")
    parser.add_argument(
        "--limited", action="store_true", help="each place has a control group"
    )
    parser.add_argument("--keep-as", default="places", help="the name of the results")
    parser.add_argument("--cases", nargs="*", help="words of the cases' names")
    parser.add_argument("--systems", nargs="*", help="names of systems; all without")
    parser.add_argument("--show", metavar="PLACES")
    parser.add_argument("--tiny", metavar="JOBS", type=int)
    options = parser.parse_args()
    if options.show:
        show(options.show)
        return
    if options.tiny:
        tiny(options.tiny)
        return
    if options.limited:
        places = [f"{each}{LIMITED}" for each in SYSTEMS if each.endswith(PLACES)]
        systems = options.systems or ["one JVM", *places]
    else:
        spark = SPARK if (spark_home() / "jars").is_dir() else ()
        systems = options.systems or [*SYSTEMS, *spark]
    raw: list[dict[str, object]] = []
    print(
        "| case | system | wall of the run, s | processor of the run, s "
        "| wall of an iteration after the first, s | of the late ones, s | beside one JVM | late | bytes moved / distinct |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for case, (program, arguments) in cases_of(options).items():
            runs: dict[str, list[Run]] = {each: [] for each in systems}
            for _ in range(options.runs):
                exact, common = [], []
                for system in systems:
                    done, parts, felt = one(
                        system, program, Path(name), arguments, options.heap
                    )
                    runs[system].append(done)
                    raw.append(as_raw(done, what=case, system=system, **felt))
                    common.append(digest(program, Path(name)))
                    if system not in SPARK:
                        exact.append(
                            {k: str(v) for k, v in parts.items()}
                            if program == WORDS
                            else contents(parts)
                        )
                if any(each != exact[0] for each in exact):
                    sys.exit(f"{case}: the outputs differ")
                if len(set(common)) > 1:
                    sys.exit(f"{case}: the outputs differ: {common}")
                write_results(options.keep_as, raw)
            say(case, runs, 1 if program == WORDS else options.iterations)


def moved(runs: list[Run]) -> str:
    """The bytes that crossed, beside those of the values that crossed, in the micro-benchmark."""
    steps: list[Mapping[str, object]] = [
        step for each in runs for step in each.steps() if "pairs_moved" in step
    ]
    distinct = KEY_AND_VALUE_BYTES * sum(
        int(str(step["pairs_moved"])) - int(str(step.get("pairs_shared", 0)))
        for step in steps
    )
    crossed = sum(int(str(step.get("bytes_moved", 0))) for step in steps)
    return f"{crossed / distinct:.3f}" if distinct else ""


def per_iteration(runs: list[Run], first: int, last: int) -> float:
    """The median over iterations of the median over runs."""
    return statistics.median(
        times(runs, iteration, "wall_s") for iteration in range(first, last)
    )


def say(case: str, runs: dict[str, list[Run]], iterations: int) -> None:
    """The rows of a case. The last iteration writes to the disk; medians are of those between it and the first.

    The late ones are the second half of these, when compilers have become quiet.
    """
    all_of, late = {}, {}
    for system, each in runs.items():
        if iterations > 2:
            all_of[system] = per_iteration(each, 1, iterations - 1)
            late[system] = per_iteration(each, iterations // 2, iterations - 1)
        else:
            all_of[system] = late[system] = statistics.median(
                run.wall_s for run in each
            )
    for system, each in runs.items():
        whole = statistics.median(run.wall_s for run in each)
        used = statistics.median(run.cpu_s for run in each)
        ratios = [
            f"{of[system] / of.get('one JVM', of[system]):.2f}" for of in (all_of, late)
        ]
        crossed = moved(each) if case.startswith("pairs") else ""
        print(
            f"| {case} | {system} | {whole:.2f} | {used:.2f} | {all_of[system]:.3f} | {late[system]:.3f} "
            f"| {' | '.join(ratios)} | {crossed} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
