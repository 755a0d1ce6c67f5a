#!/usr/bin/env python3
"""PageRank and k-means, three iterations of one job each, under Hadoop's local runner and under Tegula's engine.

The outputs are compared. With --cluster, these and the two benchmarks of sequences.py run on Hadoop's own cluster in this
machine, too: YARN with one node, and a process for each task. Its start is not in the times of iterations.

    python3 hadoop/bench/iterative.py --runs 5
    python3 hadoop/bench/iterative.py --runs 1 --cluster
"""

import argparse
import sys
import tempfile
from pathlib import Path

from jvm import CLUSTER, FRAMEWORKS, Run, as_raw, write_results
from sequences import MATRIX, PAIRS, contents, sequence, times

PAGES = "org.tegula.hadoop.bench.PageRank"
POINTS = "org.tegula.hadoop.bench.KMeans"
ITERATIONS = 3


def say(case: str, runs: dict[str, list[Run]]) -> None:
    """The rows of a sequence, an iteration each. Of the cluster, the processor time would be that of one JVM of many."""
    for iteration in range(ITERATIONS):
        wall = {each: times(runs[each], iteration, "wall_s") for each in runs}
        used = {each: times(runs[each], iteration, "cpu_s") for each in FRAMEWORKS}
        cells = []
        for found in (wall, used):
            seconds = ", ".join(f"{each:.2f}" for each in found.values())
            ratios = ", ".join(
                f"{seconds / found['tegula']:.1f}"
                for framework, seconds in found.items()
                if framework != "tegula"
            )
            cells.append(f"{seconds} | {ratios}")
        print(f"| {case} | {iteration + 1} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Measures in turns and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--points", type=int, default=2_000_000)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--cluster", action="store_true")
    options = parser.parse_args()
    frameworks = (*FRAMEWORKS, CLUSTER) if options.cluster else FRAMEWORKS
    partitions = str(options.partitions)
    iterations = str(ITERATIONS)
    cases = {
        "page rank": (PAGES, (str(options.pages), partitions)),
        "k-means": (POINTS, (str(options.points), partitions)),
    }
    if options.cluster:
        pairs = (str(options.pairs), partitions, "50", iterations, "true")
        cases["pairs, 50 % away"] = (PAIRS, pairs)
        blocks = (str(options.blocks), partitions, iterations)
        cases["matrix x vector"] = (MATRIX, blocks)
    raw: list[dict[str, object]] = []
    others = ", ".join(each for each in frameworks if each != "tegula")
    print(
        f"| sequence | iteration | wall, s: {', '.join(frameworks)} | {others} / tegula "
        "| processor, s: local, tegula | ratio |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as name:
        for case, (program, arguments) in cases.items():
            runs: dict[str, list[Run]] = {each: [] for each in frameworks}
            for _ in range(options.runs):
                outputs = []
                for framework in frameworks:
                    done, parts = sequence(framework, program, Path(name), arguments)
                    runs[framework].append(done)
                    kept = {"what": case, "framework": framework}
                    raw.append(as_raw(done, **kept, arguments=arguments))
                    outputs.append(contents(parts))
                if any(each != outputs[0] for each in outputs):
                    sys.exit(f"{case}: the outputs differ")
                # After each turn, for a benchmark of hours that may be cut off.
                write_results("cluster" if options.cluster else "iterative", raw)
            say(case, runs)


if __name__ == "__main__":
    main()
