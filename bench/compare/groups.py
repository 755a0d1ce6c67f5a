#!/usr/bin/env python3
"""What groups cost on a machine that has one: whole runs in one group and in two, and the hand-out alone.

Takes a folder of texts, tegula's binary, the benchmark `schedule` and, if there is one, a binary of
before there were groups; prints Markdown tables and writes the raw results. Medians of CPU time are
compared with those of the first way in the same run.

    python3 bench/compare/groups.py --corpus bench/corpus --tegula target/release/tegula \\
        --schedule target/release/schedule
"""

import argparse
import subprocess
from pathlib import Path
from statistics import median

import ours
from measure import (
    Measured,
    Program,
    arguments,
    interleaved,
    run_script,
    table,
    version_of,
    write_results,
)

WORKERS = 2
JOBS = (
    ("word count", "letters.txt", ("wordcount", "--words", "alpha", "--top", "10")),
    ("stations", "stations.txt", ("stations",)),
)


def programs_of(options: argparse.Namespace) -> list[Program]:
    before = [("before", options.before, ())] if options.before else []
    ways = [
        *before,
        ("one group", options.tegula, ("--groups", "1")),
        ("two groups", options.tegula, ("--groups", "2")),
    ]
    return [
        Program(
            name=f"{job}: {way}",
            workers=WORKERS,
            input=options.corpus / text,
            argv=(
                str(binary),
                command[0],
                str(options.corpus / text),
                *command[1:],
                *("-j", str(WORKERS), "--progress", "off"),
                *flags,
            ),
        )
        for job, text, command in JOBS
        for way, binary, flags in ways
    ]


def report(measured: list[Measured]) -> str:
    rows = []
    for one in measured:
        job = one.program.name.split(":")[0]
        first = next(m for m in measured if m.program.name.startswith(job))
        rows.append(
            [
                one.program.name,
                one.spread(lambda sample: sample.cpu_s, 3),
                one.spread(lambda sample: sample.wall_s, 3),
                f"{min(s.cpu_s for s in one.samples):.3f}",
                f"{one.cpu_s / first.cpu_s:.3f}",
            ]
        )
    heads = ["job", "CPU s", "wall s", "least CPU s", "CPU, of the first way"]
    return table(heads, rows)


def takes(schedule: Path) -> tuple[str, str]:
    """Nanoseconds that handing out a split takes, as a table and as it was printed."""
    said = subprocess.run(
        [str(schedule), "takes"], check=True, capture_output=True, text=True
    )
    rows = []
    for line in said.stdout.splitlines():
        name, threads, *figures = line.split()
        nanoseconds = [float(figure) for figure in figures]
        rows.append(
            [name, threads, f"{median(nanoseconds):.1f}", f"{min(nanoseconds):.1f}"]
        )
    heads = ["hand-out", "threads", "ns per split (median)", "least"]
    return table(heads, rows), said.stdout


def main() -> int:
    parser = arguments("Measure what groups cost.", "groups.json")
    parser.add_argument("--schedule", type=Path, required=True)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    ours.existing(options.tegula)
    alone, said = takes(options.schedule)
    measured = interleaved(programs_of(options), options.runs)
    print(f"{report(measured)}\n\n{alone}")
    version = version_of(options.tegula)
    write_results(
        options.out, measured, {"tegula": version, "ns per split": said.strip()}
    )
    return 0


if __name__ == "__main__":
    run_script(main)
