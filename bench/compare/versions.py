#!/usr/bin/env python3
"""Two builds of tegula side by side: the jobs of the kept benchmarks, paired, so that a change that costs speed shows.

Takes a folder of inputs, tegula's binary, and with --base that of another version; prints a Markdown table with the
ratio of their CPU seconds, and writes the raw results. Their answers must be equal to the byte. A job that the base
does not know is left out, and the table says so. Ends with exit code 1 where the median of a job's ratios, one of each
round, exceeds the limit.

    python3 bench/compare/versions.py --corpus bench/corpus --tegula target/release/tegula --base older/tegula
"""

import argparse
import filecmp
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import ours
from incremental import make_edited
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
RECORDS = 2_000_000
RECORDS_NAME = "records.bin"


@dataclass(frozen=True)
class Job:
    """A command on one input; the input stands after the first argument."""

    name: str
    input: str
    arguments: tuple[str, ...]
    state: tuple[str, ...] = field(default=())
    """Flags of a state, which each run begins without unless `again`."""
    again: bool = False
    """Whether a run begins with the state of a run over the input before its edits."""


COUNT = ("wordcount", "--words")
INCREMENTAL = ("--job", "bench", "--incremental")
JOBS = (
    # The ladder, and word counts of our own.
    Job("source, alpha, top 10", "source.txt", (*COUNT, "alpha", "--top", "10")),
    Job(
        "letters, whitespace, top 10",
        "letters.txt",
        (*COUNT, "whitespace", "--top", "10"),
    ),
    Job("source, whitespace, sorted", "source256.txt", (*COUNT, "whitespace")),
    Job("zipf, unicode, sorted", "zipf100.txt", (*COUNT, "unicode")),
    Job(
        "zipf, unicode, by value",
        "zipf100.txt",
        (*COUNT, "unicode", "--order", "value"),
    ),
    Job("distinct, top 10", "distinct.txt", (*COUNT, "whitespace", "--top", "10")),
    Job("distinct, sorted", "distinct.txt", (*COUNT, "whitespace")),
    Job(
        "distinct, 60 MB of memory",
        "distinct.txt",
        (*COUNT, "whitespace", "--memory", "60M"),
    ),
    Job("stations", "stations.txt", ("stations",)),
    Job("sort lines", "source100.txt", ("sort",)),
    Job("sort records", RECORDS_NAME, ("sort", "--records", "terasort")),
    Job("index, words", "source100.txt", ("index", "--words", "alpha")),
    Job("histogram", "picture.bmp", ("histogram",)),
    Job("linear regression", "points.bin", ("linreg", "--points", "bytes")),
    Job("k-means", "grid.npy", ("kmeans", "-k", "16", "--seed", "1", "--rounds", "5")),
    Job("grep", "source256.txt", ("grep", r"\b[a-z]+_init(_[a-z]+)?\(")),
    Job("saved word count", "source256.txt", (*COUNT, "alpha"), ("--job", "bench")),
    Job("saved stations", "stations.txt", ("stations",), ("--job", "bench")),
    Job("incremental, first run", "source256.txt", (*COUNT, "alpha"), INCREMENTAL),
    Job(
        "incremental, 20 places", "source256.txt", (*COUNT, "alpha"), INCREMENTAL, True
    ),
    Job(
        "incremental index, 20 places",
        "source100.txt",
        ("index", "--words", "alpha"),
        INCREMENTAL,
        True,
    ),
)


def command(binary: Path, job: Job, folder: Path) -> tuple[str, ...]:
    """Answers may name the input, so its path is the same for both versions."""
    verb, *rest = job.arguments
    argv = (str(binary), verb, *rest, str(folder.parent / "input"), "-j", str(WORKERS))
    argv += ("--progress", "off", "-o", str(folder / "answer"))
    return (*argv, "--state", str(folder / "state"), *job.state) if job.state else argv


def fill(
    job: Job, source: Path, scratch: Path, versions: list[tuple[Path, Path]]
) -> None:
    """Makes what the runs of a job begin with."""
    target = scratch / "input"
    target.unlink(missing_ok=True)
    for folder, _ in versions:
        folder.mkdir()
    if not job.again:
        target.symlink_to(source)
        return
    shutil.copyfile(source, target)
    for folder, binary in versions:
        run(command(binary, job, folder))
        (folder / "state").rename(folder / "kept")
    make_edited(target, scratch / "edited")
    (scratch / "edited").replace(target)


def prepared(folder: Path, job: Job) -> str:
    if not job.state:
        return ""
    kept = f'; cp -al "{folder / "kept"}" "{folder / "state"}"' if job.again else ""
    return f'rm -rf "{folder / "state"}"{kept}'


def run(argv: tuple[str, ...]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(
            f"{Path(argv[0]).name} {argv[1]}: exit code {done.returncode}: {done.stderr.strip()}"
        )


def knows(binary: Path, job: Job) -> bool:
    return (
        subprocess.run(
            [binary, job.arguments[0], "--help"], capture_output=True
        ).returncode
        == 0
    )


def same_answers(
    job: Job, folders: tuple[Path, ...]
) -> Callable[[list[Measured]], None]:
    def check(_: list[Measured]) -> None:
        one, other = (folder / "answer" for folder in folders)
        if not filecmp.cmp(one, other, shallow=False):
            raise Failed(f"{job.name}: the two versions give different answers")

    return check


def measure(options: argparse.Namespace, job: Job, scratch: Path) -> list[Measured]:
    """The base first."""
    source = (scratch if job.input == RECORDS_NAME else options.corpus) / job.input
    folders = (scratch / "base", scratch / "this")
    versions = list(zip(folders, (options.base, options.tegula), strict=True))
    fill(job, source.resolve(), scratch, versions)
    programs = [
        Program(
            f"{job.name}, {folder.name}",
            WORKERS,
            scratch / "input",
            command(binary, job, folder),
            before=prepared(folder, job),
        )
        for folder, binary in versions
    ]
    measured = interleaved(programs, options.runs, same_answers(job, folders))
    for folder in folders:
        shutil.rmtree(folder)
    return measured


def ratios(base: Measured, this: Measured) -> tuple[float, float]:
    """The median of the rounds' ratios, and that of the least.

    Some machines change their speed by a third within a minute. A round's two runs follow each other, so its ratio
    changes far less than the runs."""
    of_rounds = [
        mine.cpu_s / other.cpu_s
        for mine, other in zip(this.samples, base.samples, strict=True)
    ]
    least = [min(sample.cpu_s for sample in one.samples) for one in (base, this)]
    return median(of_rounds), least[1] / least[0]


def row(job: Job, base: Measured, this: Measured) -> list[str]:
    cpu = [one.spread(lambda sample: sample.cpu_s, 3) for one in (base, this)]
    wall = this.wall_s / base.wall_s
    of_rounds, of_least = ratios(base, this)
    return [job.name, *cpu, f"{of_rounds:.3f}", f"{of_least:.3f}", f"{wall:.3f}"]


def main() -> int:
    parser = arguments("Measure two versions of tegula side by side.", "versions.json")
    parser.add_argument(
        "--base", type=Path, required=True, help="the other version's binary"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=1.02,
        help="the largest ratio of CPU seconds (1.02)",
    )
    parser.add_argument("--only", default="", help="jobs whose name contains this")
    options = parser.parse_args()
    ours.existing(options.tegula)
    ours.existing(options.base)
    rows, all_measured, above = [], [], []
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        run(
            (
                str(options.tegula),
                "teragen",
                str(RECORDS),
                "-o",
                str(scratch / RECORDS_NAME),
            )
        )
        for job in JOBS:
            if options.only not in job.name:
                continue
            if not knows(options.base, job):
                rows.append([job.name, "unknown to the base", "", "", "", ""])
                continue
            base, this = measure(options, job, scratch)
            all_measured += [base, this]
            rows.append(row(job, base, this))
            if ratios(base, this)[0] > options.limit:
                above.append(job.name)
    heads = [
        "job",
        "base, CPU s",
        "this, CPU s",
        "median of the rounds' ratios",
        "of the least",
        "of wall",
    ]
    print(table(heads, rows))
    if all_measured:
        middle = median(
            ratios(*pair)[0]
            for pair in zip(all_measured[::2], all_measured[1::2], strict=True)
        )
        print(f"\nThe ratio in the middle: {middle:.3f}")
    for job_name in above:
        print(f"above {options.limit}: {job_name}")
    versions = {
        "base": version_of(options.base),
        "tegula": version_of(options.tegula),
    }
    write_results(options.out, all_measured, versions)
    return 1 if above else 0


if __name__ == "__main__":
    run_script(main)
