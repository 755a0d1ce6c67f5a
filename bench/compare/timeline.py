#!/usr/bin/env python3
"""What recording a timeline costs: the same jobs with `--timeline` and without, turn and turn about.

Takes a folder of inputs and tegula's binary; prints a Markdown table and writes the raw results. What
is compared is the whole process, the writing of the file at its end included. Each job also runs a
second time without a timeline: what those two differ by is noise, and nothing below it says anything.

    python3 bench/compare/timeline.py --corpus bench/corpus --tegula target/release/tegula --runs 11
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import ours
from measure import (
    Failed,
    Measured,
    Program,
    Sample,
    arguments,
    first_line,
    interleaved,
    run_script,
    table,
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


def programs_of(options: argparse.Namespace, folder: Path) -> list[Program]:
    def program(
        job: tuple[str, str, tuple[str, ...]], workers: int, form: str
    ) -> Program:
        name, text, command = job
        path = options.corpus / text
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


def plain_of(one: Measured, measured: list[Measured]) -> Measured:
    job = one.program.name.partition(",")[0]
    return next(
        other
        for other in measured
        if other.program.name == f"{job}, off"
        and other.program.workers == one.program.workers
    )


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
    with tempfile.TemporaryDirectory() as folder:
        measured = interleaved(programs_of(options, Path(folder)), options.runs)
    print(report(measured))
    version = first_line([str(options.tegula), "--version"])
    write_results(options.out, measured, {"tegula": version})
    recorded = [one for one in measured if one.program.name.endswith((" json", " svg"))]
    costs = [
        cost(one, plain_of(one, measured), lambda sample: sample.cpu_s)
        for one in recorded
    ]
    print(
        f"\nmost: {100 * max(costs):.2f} % more CPU (at most {100 * COST_MOST:.0f} %)"
    )
    return 0 if max(costs) <= COST_MOST else 1


if __name__ == "__main__":
    run_script(main)
