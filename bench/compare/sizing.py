#!/usr/bin/env python3
"""What workers take at a time: the engine's own choice beside fixed sizes.

Takes a folder with `source.txt`, `stations.txt` and `tera.bin` made by `bench/corpus.py` and tegula,
and tegula's binary; prints a Markdown table for each job and writes the raw results. All sizes must
write the same bytes, else it ends with exit code 1.

    python3 bench/compare/sizing.py --corpus bench/corpus --tegula target/release/tegula
"""

import argparse
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

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

SIZES = ("64k", "128k", "256k", "512k", "1M", "2M", "4M", "auto")
AUTO = "auto"
WORKERS = 2
MOST = 1.05


@dataclass(frozen=True)
class Job:
    name: str
    input: str
    arguments: tuple[str, ...]
    fresh_bytes: int = 0


JOBS = (
    Job("word count", "source.txt", ("wordcount", "--words", "whitespace")),
    Job("stations", "stations.txt", ("stations",)),
    Job("sort", "tera.bin", ("sort", "--records", "terasort"), 2_500_000_000),
)


def programs_of(options: argparse.Namespace, job: Job, folder: Path) -> list[Program]:
    path = options.corpus / job.input
    programs = []
    for size in SIZES:
        stats = folder / f"{size}.json"
        argv = [str(options.tegula), *job.arguments, str(path), "-j", str(WORKERS)]
        argv += ["--split", size, "-o", str(folder / f"{size}.out")]
        argv += ["--stats-json", str(stats), "--progress", "off"]
        program = Program(
            name=f"{job.name}, {size}",
            workers=WORKERS,
            input=path,
            argv=tuple(argv),
            stats=stats,
            fresh_bytes=job.fresh_bytes,
        )
        programs.append(program)
    return programs


def check_answers(measured: list[Measured]) -> None:
    """Raises `Failed` where a size changed the answer; removes the answers."""
    digests = set()
    for one in measured:
        path = Path(one.program.argv[one.program.argv.index("-o") + 1])
        with open(path, "rb") as file:
            digests.add(hashlib.file_digest(file, "sha256").hexdigest())
        os.truncate(path, 0)
    if len(digests) != 1:
        raise Failed(f"{measured[0].program.name}: a size changed the answer")


def beside_best(auto: Measured, fixed: list[Measured]) -> float:
    """The median, over rounds, of auto's CPU time by that of the fixed size that is best in all other rounds.

    The least of seven medians is less than what any size takes, because it is chosen by its noise.
    """
    rounds = range(len(auto.samples))

    def in_others(one: Measured, left_out: int) -> float:
        others = [one.samples[at].cpu_s for at in rounds if at != left_out]
        return median(others or [one.samples[left_out].cpu_s])

    ratios = []
    for at in rounds:
        best = min(fixed, key=lambda one, at=at: in_others(one, at))
        ratios.append(auto.samples[at].cpu_s / best.samples[at].cpu_s)
    return median(ratios)


def report(job: Job, measured: list[Measured]) -> str:
    fixed = [one for one in measured if not one.program.name.endswith(AUTO)]
    best = min(fixed, key=lambda one: one.cpu_s)
    rows = [
        [
            one.program.name,
            one.spread(lambda sample: sample.cpu_s),
            one.spread(lambda sample: sample.wall_s),
            f"{one.cpu_s / best.cpu_s:.3f}",
            f"{one.stats['unit_bytes'] >> 10}",
        ]
        for one in measured
    ]
    heads = ["job, size", "CPU s", "wall s", "CPU / best fixed", "KiB in the end"]
    auto = next(one for one in measured if one.program.name.endswith(AUTO))
    ratio = beside_best(auto, fixed)
    verdict = "yes" if ratio <= MOST else "NO"
    said = f"- {verdict}: auto's CPU time is {ratio:.3f} of that of the fixed size that is best in the other rounds, at most {MOST}"
    return f"### {job.name}\n\n{table(heads, rows)}\n\n{said}\n"


def main() -> int:
    parser = arguments("Measure what workers take at a time.", "sizing.json")
    parser.add_argument("--scratch", type=Path, help="folder for answers")
    options = parser.parse_args()
    ours.existing(options.tegula)
    everything = []
    for job in JOBS:
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            programs = programs_of(options, job, Path(folder))
            measured = interleaved(programs, options.runs, check_answers)
        print(report(job, measured))
        everything += measured
    version = version_of(options.tegula)
    write_results(options.out, everything, {"tegula": version})
    return 0


if __name__ == "__main__":
    run_script(main)
