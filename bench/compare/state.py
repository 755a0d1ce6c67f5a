#!/usr/bin/env python3
"""What saving costs: the same jobs without a state, with one that is saved as often as costs next to nothing,
and with one that is saved after every tile of 32 MiB.

Takes a folder of inputs and tegula's binary; prints a Markdown table and writes the raw results. Every way
must write the same bytes, else it ends with exit code 1. Each run begins with an empty state.

    python3 bench/compare/state.py --corpus bench/corpus --tegula target/release/tegula
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import ours
from measure import (
    Failed,
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


@dataclass(frozen=True)
class Job:
    name: str
    input: str
    arguments: tuple[str, ...]
    # Of the time without a state, with every tile saved.
    most: float
    # How often the input is given.
    times: int = 1


JOBS = (
    Job("stations", "stations.txt", ("stations",), 1.03),
    Job("stations, 30 times", "stations.txt", ("stations",), 1.03, 30),
    Job("histogram, 40 times", "picture.bmp", ("histogram",), 1.03, 40),
    Job("word count", "source.txt", ("wordcount", "--words", "alpha"), 1.25),
    Job(
        "word count, 20 times",
        "source.txt",
        ("wordcount", "--words", "alpha"),
        1.25,
        20,
    ),
)
WAYS = {
    "no state": (),
    "auto": ("--save-every", "auto"),
    "every tile": ("--save-every", "1tiles"),
}
# Of jobs that take so long without a state.
AUTO_MOST, AUTO_LEAST_S = 1.01, 10


def programs_of(options: argparse.Namespace, job: Job, folder: Path) -> list[Program]:
    path = options.corpus / job.input
    programs = []
    for way, flags in WAYS.items():
        state, stats = folder / "state", folder / f"{job.name}, {way}.json"
        argv = [str(options.tegula), *job.arguments, *([str(path)] * job.times)]
        argv += ["-j", str(WORKERS), "--progress", "off"]
        argv += ["-o", str(folder / f"{way}.out"), "--stats-json", str(stats)]
        if flags:
            argv += ["--state", str(state), "--job", "bench", *flags]
        programs.append(
            Program(
                f"{job.name}, {way}",
                WORKERS,
                path,
                tuple(argv),
                stats=stats,
                before=f'rm -rf "{state}"',
            )
        )
    return programs


def check_answers(folder: Path, job: Job) -> None:
    answers = [(folder / f"{way}.out").read_bytes() for way in WAYS]
    if any(answer != answers[0] for answer in answers):
        raise Failed(f"{job.name}: a state changed the answer")


def report(job: Job, measured: list[Measured]) -> tuple[list[list[str]], list[str]]:
    rows, said = [], []
    for one, way in zip(measured, WAYS, strict=True):
        figures = one.stats
        cpu, wall = one.cpu_s / measured[0].cpu_s, one.wall_s / measured[0].wall_s
        rows.append(
            [
                one.program.name,
                one.spread(lambda sample: sample.cpu_s, 3),
                one.spread(lambda sample: sample.wall_s, 3),
                f"{cpu:.3f}",
                f"{wall:.3f}",
                str(figures["saved_bytes"]),
            ]
        )
        is_long = measured[0].wall_s >= AUTO_LEAST_S
        most = {"auto": AUTO_MOST if is_long else None, "every tile": job.most}.get(way)
        if most:
            kept = "yes" if cpu <= most else "NO"
            said.append(
                f"- {kept}: {one.program.name}: {cpu:.3f} of the CPU time, at most {most}"
            )
    return rows, said


def main() -> int:
    parser = arguments("Measure what saving costs.", "state.json")
    options = parser.parse_args()
    ours.existing(options.tegula)
    rows, said, all_measured = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for job in JOBS:
            measured = interleaved(programs_of(options, job, folder), options.runs)
            check_answers(folder, job)
            more, verdicts = report(job, measured)
            rows, said = rows + more, said + verdicts
            all_measured += measured
    heads = ["job", "CPU s", "wall s", "CPU, of no state", "wall", "bytes saved"]
    print(f"{table(heads, rows)}\n\n" + "\n".join(said))
    write_results(
        options.out,
        all_measured,
        {"tegula": version_of(options.tegula)},
    )
    return 0


if __name__ == "__main__":
    run_script(main)
