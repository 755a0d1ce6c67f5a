#!/usr/bin/env python3
"""Hadoop's own word count under its local runner and under Tegula's engine: whole processes, in turns.

Prints a Markdown table of the median wall and processor time, and fails if the outputs differ. Where others use the
machine, too, processor time alone means something; the raw results have the load that each run began under.

    python3 hadoop/bench/word_count.py --text bench/corpus/zipf.txt --runs 5
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from jvm import FRAMEWORKS, Run, as_raw, run, write_results

PROGRAM = "org.apache.hadoop.examples.ExampleDriver"


def count(framework: str, text: Path, folder: Path) -> Run:
    """One run; its output stays in a folder of the framework's name."""
    out = folder / framework
    shutil.rmtree(out, ignore_errors=True)
    arguments = ("wordcount", str(text), str(out))
    return run(framework, PROGRAM, folder, (), arguments)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    runs: dict[str, list[Run]] = {framework: [] for framework in FRAMEWORKS}
    size = options.text.stat().st_size
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(options.runs):
            for framework in FRAMEWORKS:
                runs[framework].append(count(framework, options.text, folder))
            # After each turn, for a benchmark that may be cut off.
            raw = [
                as_raw(
                    each, what=options.text.name, text_bytes=size, framework=framework
                )
                for framework, measured in runs.items()
                for each in measured
            ]
            write_results("word_count", raw)
        outputs = {
            (folder / framework / "part-r-00000").read_bytes()
            for framework in FRAMEWORKS
        }
        if len(outputs) != 1:
            sys.exit("the outputs differ")
    print(
        f"{options.text.name}, {size} bytes, {os.cpu_count()} processors, {options.runs} runs\n"
    )
    print("| framework | wall, s | processor, s |\n|---|---|---|")
    medians = {}
    for framework, measured in runs.items():
        medians[framework] = [
            statistics.median(getattr(each, key) for each in measured)
            for key in ("wall_s", "cpu_s")
        ]
        print(
            f"| {framework} | {medians[framework][0]:.2f} | {medians[framework][1]:.2f} |"
        )
    ratios = [
        local / ours
        for local, ours in zip(medians["local"], medians["tegula"], strict=True)
    ]
    print(
        f"\nThe local runner takes {ratios[0]:.1f} times the wall, {ratios[1]:.1f} the processor."
    )


if __name__ == "__main__":
    main()
