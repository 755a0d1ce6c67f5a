#!/usr/bin/env python3
"""Hadoop's jobs over 1, 2 and 4 places, each a JVM, beside the engine in one JVM and Hadoop's local runner.

The micro-benchmark of the paper on M3R (10 kB a pair; 0, 50 and 100 % of the pairs leave their place), a sparse matrix times
a dense vector, and word count. The places share the cores of one machine. Outputs are compared. The processor time of a whole
run contains the places, that of an iteration only the driver.

    python3 hadoop/bench/places.py --text bench/corpus/zipf.txt --runs 5
    python3 hadoop/bench/places.py --show jvm:4
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from jvm import Run, as_raw, run, write_results
from sequences import MATRIX, OPTIONS, PAIRS, contents, times

PAGES = "org.tegula.hadoop.bench.PageRank"
WORDS = "org.apache.hadoop.examples.ExampleDriver"
PARTITIONS = 4
SYSTEMS = {
    "local": ("local", ()),
    "one JVM": ("tegula", ()),
    "1 place": ("tegula", ("tegula.places=jvm:1",)),
    "2 places": ("tegula", ("tegula.places=jvm:2",)),
    "4 places": ("tegula", ("tegula.places=jvm:4",)),
}


def one(
    system: str, program: str, folder: Path, arguments: tuple[str, ...], heap: str
) -> tuple[Run, dict[str, bytes]]:
    """Runs a program in a folder of its own; gives back what its last job has written."""
    framework, places = SYSTEMS[system]
    inside = folder / "run"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    work = inside / "work"
    if program == WORDS:
        first = ("wordcount", f"-Dmapreduce.job.reduces={PARTITIONS}", *arguments)
        given = (*first, str(work / "out"))
    else:
        given = (str(work), *arguments)
    done = run(framework, program, folder, (*OPTIONS, *places), given, (f"-Xmx{heap}",))
    parts = {part.name: part.read_bytes() for part in (work / "out").glob("part-*")}
    return done, parts


def show(setting: str) -> None:
    """A page rank over places: for each job, its time and what its pairs did."""
    SYSTEMS["shown"] = ("tegula", (f"tegula.places={setting}",))
    with tempfile.TemporaryDirectory() as name:
        done, _ = one("shown", PAGES, Path(name), ("100000", "8"), "2g")
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


def main() -> None:
    """Measures in turns and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--heap", default="4g")
    parser.add_argument("--show", metavar="PLACES")
    options = parser.parse_args()
    if options.show:
        show(options.show)
        return
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
    raw: list[dict[str, object]] = []
    print(
        "| case | system | wall of the run, s | processor of the run, s "
        "| wall of an iteration after the first, s | beside one JVM |"
    )
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for case, (program, arguments) in cases.items():
            runs: dict[str, list[Run]] = {each: [] for each in SYSTEMS}
            for _ in range(options.runs):
                outputs = []
                for system in SYSTEMS:
                    done, parts = one(
                        system, program, Path(name), arguments, options.heap
                    )
                    runs[system].append(done)
                    kept = {"what": case, "system": system}
                    raw.append(as_raw(done, **kept))
                    outputs.append(
                        {k: str(v) for k, v in parts.items()}
                        if program == WORDS
                        else contents(parts)
                    )
                if any(each != outputs[0] for each in outputs):
                    sys.exit(f"{case}: the outputs differ")
                write_results("places", raw)
            say(case, runs, 1 if program == WORDS else options.iterations)


def say(case: str, runs: dict[str, list[Run]], iterations: int) -> None:
    """The rows of a case. The last iteration writes to the disk; the median is of those between it and the first."""
    walls = {}
    for system, each in runs.items():
        whole = statistics.median(run.wall_s for run in each)
        walls[system] = (
            statistics.median(
                times(each, iteration, "wall_s")
                for iteration in range(1, max(2, iterations - 1))
            )
            if iterations > 1
            else whole
        )
    for system, each in runs.items():
        whole = statistics.median(run.wall_s for run in each)
        used = statistics.median(run.cpu_s for run in each)
        ratio = walls[system] / walls["one JVM"]
        print(
            f"| {case} | {system} | {whole:.2f} | {used:.2f} | {walls[system]:.3f} | {ratio:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
