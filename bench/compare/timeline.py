#!/usr/bin/env python3
"""What recording a timeline costs: the same jobs with `--timeline` and without, turn and turn about.

Takes a folder of inputs and tegula's binary; prints a Markdown table and writes the raw results. What
is compared is the whole process, the writing of the file at its end included. Each job also runs a
second time without a timeline: what those two differ by is noise, and nothing below it says anything.
So instructions are counted too, by Valgrind where there is one, on the first bytes of the same inputs:
they are nearly the same each time, and they decide. What they leave out is the kernel's work. A picture is
drawn once, at the end, whatever the length of the job: so it is said in instructions, and not as a part.

    python3 bench/compare/timeline.py --corpus bench/corpus --tegula target/release/tegula --runs 11
"""

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

import ours
from measure import (
    Failed,
    Measured,
    Program,
    Sample,
    arguments,
    interleaved,
    run_script,
    table,
    version_of,
    write_results,
)

WORKERS = (1, 2)
# Name, input, and the command with its flags.
JOBS = (
    ("wordcount", "source.txt", ("wordcount", "--words", "alpha", "--top", "10")),
    ("stations", "stations.txt", ("stations",)),
)
FORMS = ("off", "off again", "json", "svg")
COST_MOST = 0.01
# Enough for hundreds of splits; under Valgrind a job is fifty times as slow.
COUNTED_BYTES = 64_000_000


@dataclass(frozen=True)
class Counted:
    """Instructions of a job in one form, outside the kernel."""

    program: Program
    instructions: int


Which = TypeVar("Which", Measured, Counted)


def programs_of(
    options: argparse.Namespace, inputs: Path, folder: Path
) -> list[Program]:
    def program(
        job: tuple[str, str, tuple[str, ...]], workers: int, form: str
    ) -> Program:
        name, text, command = job
        path = inputs / text
        if not path.is_file():
            raise Failed(f"{path} is missing; see make corpus")
        file = str(folder / f"timeline.{form}")
        recorded = ("--timeline", file) if form in ("json", "svg") else ()
        argv = (str(options.tegula), *command, str(path), "-j", str(workers), *recorded)
        return Program(f"{name}, {form}", workers, path, argv)

    return [
        program(job, workers, form)
        for job in JOBS
        for workers in WORKERS
        for form in FORMS
    ]


def cost(one: Measured, plain: Measured, figure: Callable[[Sample], float]) -> float:
    """By how much more it takes: the median over rounds of the ratio within each, less one."""
    ratios = [
        figure(ours) / figure(theirs)
        for ours, theirs in zip(one.samples, plain.samples, strict=True)
    ]
    return median(ratios) - 1


def plain_of(one: Which, others: list[Which]) -> Which:
    job = one.program.name.partition(",")[0]
    return next(
        other
        for other in others
        if other.program.name == f"{job}, off"
        and other.program.workers == one.program.workers
    )


def count(programs: list[Program]) -> list[Counted]:
    """One run of each under Valgrind."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    counted = []
    for program in programs:
        run = subprocess.run(
            [*valgrind, *program.argv],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        found = re.search(r"Collected : (\d+)", run.stderr)
        if run.returncode != 0 or found is None:
            raise Failed(f"{' '.join(program.argv)}, under valgrind: {run.stderr}")
        counted.append(Counted(program, int(found[1])))
    return counted


def heads_of(corpus: Path, folder: Path) -> None:
    """The first lines of each input, in a folder."""
    for _, text, _ in JOBS:
        with (corpus / text).open("rb") as whole:
            head = whole.read(COUNTED_BYTES)
        (folder / text).write_bytes(head[: head.rindex(b"\n") + 1])


def report_counted(counted: list[Counted]) -> str:
    rows = [
        [
            one.program.name,
            str(one.program.workers),
            f"{one.instructions / 1e6:.1f}",
            f"{100 * more(one, counted):+.2f} %",
        ]
        for one in counted
    ]
    heads = ["job, timeline", "workers", "million instructions", "more"]
    return table(heads, rows)


def more(one: Counted, counted: list[Counted]) -> float:
    return one.instructions / plain_of(one, counted).instructions - 1


def of_form(counted: list[Counted], form: str) -> list[Counted]:
    return [one for one in counted if one.program.name.endswith(f", {form}")]


def report(measured: list[Measured]) -> str:
    def percent(one: Measured, figure: Callable[[Sample], float]) -> str:
        plain = plain_of(one, measured)
        return "" if one is plain else f"{100 * cost(one, plain, figure):+.2f} %"

    rows = [
        [
            one.program.name,
            str(one.program.workers),
            one.spread(lambda sample: sample.cpu_s, 3),
            percent(one, lambda sample: sample.cpu_s),
            one.spread(lambda sample: sample.wall_s, 3),
            percent(one, lambda sample: sample.wall_s),
        ]
        for one in measured
    ]
    heads = ["job, timeline", "workers", "CPU s", "more CPU", "wall s", "more wall"]
    return table(heads, rows)


def main() -> int:
    parser = arguments("Measure what a timeline costs.", "timeline.json")
    options = parser.parse_args()
    ours.existing(options.tegula)
    counted = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measured = interleaved(
            programs_of(options, options.corpus, folder), options.runs
        )
        if shutil.which("valgrind"):
            heads_of(options.corpus, folder)
            counted = count(programs_of(options, folder, folder))
    print(report(measured))
    version = version_of(options.tegula)
    raw = [
        {
            "program": one.program.name,
            "workers": one.program.workers,
            "instructions": one.instructions,
        }
        for one in counted
    ]
    write_results(options.out, measured, {"tegula": version}, {"counted": raw})
    if not counted:
        print("\ninstructions were not counted, for there is no valgrind")
        return 1
    print(report_counted(counted))
    drawn = max(
        one.instructions - plain_of(one, counted).instructions
        for one in of_form(counted, "svg")
    )
    print(f"\na picture: at most {drawn / 1e6:.0f} million instructions")
    most = max(more(one, counted) for one in of_form(counted, "json"))
    print(f"recording: {100 * most:.2f} % more instructions (at most {COST_MOST:.0%})")
    return 0 if most <= COST_MOST else 1


if __name__ == "__main__":
    run_script(main)
