#!/usr/bin/env python3
"""Sequences of jobs, each over the output of the one before, under Hadoop's local runner and under Tegula's engine.

Two benchmarks of the paper on M3R: pairs with values of 10 kB of which a part goes to another partition, a job an
iteration, with ImmutableOutput and without; and a sparse matrix times a dense vector, two jobs an iteration. The outputs are
compared. As in the paper, an iteration's data are much larger than what a job costs without any: 1 GB of pairs, 640 MB of
matrix. They fit into the heap, a quarter of which is for what is kept; the last iteration writes to the disk.

    python3 hadoop/bench/sequences.py --runs 3
"""

import argparse
import hashlib
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from jvm import FRAMEWORKS, Run, as_raw, run, write_results

PAIRS = "org.tegula.hadoop.bench.ShuffledPairs"
MATRIX = "org.tegula.hadoop.bench.MatrixVector"
OPTIONS = (
    "mapreduce.client.progressmonitor.pollinterval=10",
    "mapreduce.client.completion.pollinterval=10",
    # A map's output is sorted at once: where the local runner spills decides on the order of equal keys.
    "mapreduce.task.io.sort.mb=400",
)
AWAY_PERCENTS = (0, 50, 100)


def sequence(
    framework: str, program: str, folder: Path, arguments: tuple[str, ...]
) -> tuple[Run, dict[str, bytes]]:
    """Runs a sequence in a folder of its own; gives back what its last job has written."""
    inside = folder / framework
    shutil.rmtree(inside, ignore_errors=True)
    done = run(
        framework,
        program,
        folder,
        OPTIONS,
        (str(inside / "work"), *arguments),
        ("-Xmx6g",),
    )
    parts = {
        part.name: part.read_bytes()
        for part in (inside / "work" / "out").glob("part-*")
    }
    return done, parts


def contents(parts: dict[str, bytes]) -> dict[str, str]:
    """Digests of sequence files without the marks that Hadoop draws for each file and puts between records.

    The first mark is after two flags and a count, which are all zero.
    """
    plain = {}
    for name, data in parts.items():
        at = data.index(bytes(6)) + 6
        unmarked = data.replace(data[at : at + 16], b"")
        plain[name] = hashlib.sha256(unmarked).hexdigest()
    return plain


def times(runs: list[Run], iteration: int, key: str) -> float:
    """The median over runs of the total time of an iteration's jobs."""
    return statistics.median(
        sum(step[key] for step in each.steps() if step["iteration"] == iteration)
        for each in runs
    )


def main() -> None:
    """Measures in turns and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--blocks", type=int, default=200)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=4)
    options = parser.parse_args()
    partitions = str(options.partitions)
    iterations = str(options.iterations)
    cases: dict[str, tuple[str, tuple[str, ...]]] = {}
    for promised in ("true", "false"):
        for away in AWAY_PERCENTS:
            cases[f"pairs, {away} % away{'' if promised == 'true' else ', copied'}"] = (
                PAIRS,
                (str(options.pairs), partitions, str(away), iterations, promised),
            )
        if promised == "true":
            cases["matrix x vector"] = (
                MATRIX,
                (str(options.blocks), partitions, iterations),
            )
    raw: list[dict[str, object]] = []
    print(
        "| sequence | iteration | wall, s: local, tegula | ratio | processor, s: local, tegula | ratio |"
    )
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for case, (program, arguments) in cases.items():
            runs: dict[str, list[Run]] = {each: [] for each in FRAMEWORKS}
            for _ in range(options.runs):
                outputs = []
                for framework in FRAMEWORKS:
                    done, parts = sequence(framework, program, Path(name), arguments)
                    runs[framework].append(done)
                    raw.append(
                        as_raw(
                            done, what=case, framework=framework, arguments=arguments
                        )
                    )
                    outputs.append(contents(parts))
                if outputs[0] != outputs[1]:
                    sys.exit(f"{case}: the outputs differ")
            for iteration in range(options.iterations):
                row = []
                for key in ("wall_s", "cpu_s"):
                    local, ours = (
                        times(runs[each], iteration, key) for each in FRAMEWORKS
                    )
                    row.append(f"{local:.2f}, {ours:.3f} | {local / ours:.1f}")
                print(f"| {case} | {iteration + 1} | {' | '.join(row)} |", flush=True)
            # After each case, for a benchmark that may be cut off.
            write_results("sequences", raw)


if __name__ == "__main__":
    main()
