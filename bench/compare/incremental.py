#!/usr/bin/env python3
"""What `--incremental` costs: a first run beside a plain one, and runs over an input that has changed a
little beside a plain one over all of it. F is what it takes to read and hash a run's input once.

Takes a folder of inputs, tegula's binary and that of `hash`, which does just that; prints a Markdown table
and writes the raw results. Each run begins with a state as the first run left it, in links to its files,
which are made before it; it goes back to the same path, with the times of the change. An answer that stands was
written by the same command just before.
Each answer is compared with that of a plain run, else this ends with exit code 1.

    python3 bench/compare/incremental.py --corpus bench/corpus --tegula target/release/tegula --hash target/release/hash
"""

import argparse
import filecmp
import os
import random
import shlex
import shutil
import subprocess
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
INPUT_BYTES = 1_000_000_000
PLACES = 20
COPIED_BYTES = 4 << 20
REVERSED_BYTES = 8 << 20


@dataclass(frozen=True)
class Job:
    name: str
    input: str
    arguments: tuple[str, ...]
    # Beyond reading and hashing, of a plain run's time; and of a plain run's time in all.
    most_more: float | None
    most: float | None
    # Of a plain run's time, for the first run: less is asked of jobs with few keys.
    most_first: float = 1.12


JOBS = (
    Job(
        "word count",
        "source.txt",
        ("wordcount", "--words", "alpha"),
        0.15,
        None,
    ),
    # Edits make lines that are none.
    Job("stations", "stations.txt", ("stations", "--skip-bad"), 0.15, None, 1.03),
    Job("unicode words", "letters.txt", ("wordcount", "--words", "unicode"), None, 0.2),
    Job(
        "grep",
        "source.txt",
        ("grep", r"\b[a-z]+_init(_[a-z]+)?\("),
        None,
        0.2,
        1.03,
    ),
    Job("index", "source.txt", ("index", "--words", "alpha"), None, 0.2),
)
TENFOLD = (
    Job(
        "word count, tenfold",
        "source.txt",
        ("wordcount", "--words", "alpha"),
        0.03,
        None,
    ),
    Job(
        "stations, tenfold",
        "stations.txt",
        ("stations", "--skip-bad"),
        0.03,
        None,
        1.03,
    ),
)
CHANGES = ("--incremental",)
TRUSTED = ("--incremental", "--trust-mtime")
APPENDED = ("--incremental", "--append-only")


@dataclass(frozen=True)
class Way:
    name: str
    # Of the input.
    form: str
    flags: tuple[str, ...]
    # Whether the first run's state is there, and the answer.
    with_state: bool = True
    with_answer: bool = False


PLAIN = Way("plain", "old", (), with_state=False)
FIRST = Way("first", "old", CHANGES, with_state=False)
WAYS = (
    PLAIN,
    FIRST,
    Way("unchanged", "old", CHANGES, with_answer=True),
    Way("unchanged, trusted", "old", TRUSTED, with_answer=True),
    Way("unchanged, answer gone", "old", CHANGES),
    Way("unchanged, trusted, answer gone", "old", TRUSTED),
    Way("20 places", "edited", CHANGES),
    Way("a tenth appended", "grown", CHANGES),
    Way("a tenth appended, append-only", "grown", APPENDED),
)


def copy_range(source: Path, target: Path, mode: str, start: int, end: int) -> None:
    with source.open("rb") as reading, target.open(mode) as writing:
        reading.seek(start)
        left = end - start
        while left > 0 and (piece := reading.read(min(left, COPIED_BYTES))):
            writing.write(piece)
            left -= len(piece)


def make_old(source: Path, old: Path, total: int) -> None:
    """The input, again and again up to so many bytes; each copy begins at another line, so that no two
    have tiles in common."""
    size = source.stat().st_size
    old.write_bytes(b"")
    copy = 0
    while (left := total - old.stat().st_size) > 0:
        start = copy * (COPIED_BYTES // 10) + copy * 7919
        if copy:
            with source.open("rb") as reading:
                reading.seek(start)
                start += len(reading.readline())
        copy_range(source, old, "ab", start, min(size, start + left))
        copy_range(source, old, "ab", 0, min(start, left - (size - start)))
        copy += 1
    # A last line that is cut short would be none.
    with old.open("rb+") as file:
        file.seek(-COPIED_BYTES // 64, os.SEEK_END)
        tail = file.read()
        file.truncate(old.stat().st_size - (len(tail) - tail.rindex(b"\n") - 1))


def make_edited(old: Path, edited: Path) -> None:
    """Changes at random places: bytes replaced, inserted or deleted."""
    chance = random.Random(1)
    places = sorted(chance.sample(range(old.stat().st_size - 200), PLACES))
    edited.write_bytes(b"")
    start = 0
    for number, place in enumerate(places):
        copy_range(old, edited, "ab", start, place)
        count = chance.randrange(1, 100)
        with edited.open("ab") as writing:
            if number % 3 != 2:
                writing.write(bytes(chance.choices(b"abcdefgh ijkl\n", k=count)))
        start = place + (0 if number % 3 == 1 else count)
    copy_range(old, edited, "ab", start, old.stat().st_size)


def make_grown(old: Path, grown: Path) -> None:
    """Appends lines of which none stands where another run saw it: those of a third of the way on, in pieces
    whose lines come last to first."""
    size = old.stat().st_size
    copy_range(old, grown, "wb", 0, size)
    with old.open("rb") as reading, grown.open("ab") as writing:
        reading.seek(size // 3)
        reading.readline()
        left = size // 10
        while left > 0 and (lines := reading.readlines(min(left, REVERSED_BYTES))):
            left -= sum(map(len, lines))
            writing.writelines(reversed(lines))


def command(
    options: argparse.Namespace, job: Job, folder: Path, flags: tuple[str, ...]
) -> tuple[str, ...]:
    argv = (str(options.tegula), *job.arguments, str(folder / "input"))
    argv += ("-j", str(WORKERS), "--progress", "off", "-o", str(folder / "answer"))
    if flags:
        argv += ("--state", str(folder / "state"), "--job", "bench", *flags)
    return argv


def prepared(options: argparse.Namespace, job: Job, folder: Path, way: Way) -> str:
    """The shell's part before a run: the input in its form, the state, and the answer."""
    state, input_path = folder / "state", folder / "input"
    steps = [
        f'ln -f "{folder / way.form}" "{input_path}"',
        f'rm -rf "{state}" "{folder / "answer"}"',
    ]
    if way.with_state:
        steps.append(f'cp -al "{folder / "kept"}" "{state}"')
    if way.with_answer:
        steps.append(shlex.join(command(options, job, folder, way.flags)))
    return "; ".join(steps)


def run_and_keep(options: argparse.Namespace, job: Job, folder: Path) -> None:
    """Makes the state that runs begin with, and checks all answers once."""
    for way in (FIRST, *ways(options)):
        plain = command(options, job, folder, ())
        before = prepared(options, job, folder, Way("plain", way.form, (), False))
        subprocess.run(["sh", "-c", before], check=True)
        subprocess.run(plain, check=True)
        (folder / "answer").rename(folder / "expected")
        before = prepared(options, job, folder, way)
        subprocess.run(["sh", "-c", before], check=True)
        subprocess.run(command(options, job, folder, way.flags), check=True)
        if not filecmp.cmp(folder / "answer", folder / "expected", shallow=False):
            raise Failed(f"{job.name}, {way.name}: the answer is another")
        if not way.with_state and way.flags:
            shutil.rmtree(folder / "kept", ignore_errors=True)
            (folder / "state").rename(folder / "kept")


def ways(options: argparse.Namespace) -> tuple[Way, ...]:
    """Ten times the input is too long for a third copy of it."""
    return WAYS[:-2] if options.tenfold else WAYS


def forms(options: argparse.Namespace) -> list[str]:
    """The input's forms, as they are first needed."""
    return list(dict.fromkeys(way.form for way in ways(options)))


def programs_of(options: argparse.Namespace, job: Job, folder: Path) -> list[Program]:
    programs = []
    for way in ways(options):
        stats = folder / f"{way.name}.json"
        argv = command(options, job, folder, way.flags)
        programs.append(
            Program(
                f"{job.name}, {way.name}",
                WORKERS,
                folder / way.form,
                (*argv, "--stats-json", str(stats)),
                stats=stats,
                before=prepared(options, job, folder, way),
            )
        )
    hashed = [
        Program(
            f"{job.name}, {form} input read and hashed",
            WORKERS,
            folder / form,
            (str(options.hash), str(folder / form), str(WORKERS)),
        )
        for form in forms(options)
    ]
    return [*programs, *hashed]


def report(job: Job, measured: list[Measured]) -> tuple[list[list[str]], list[str]]:
    runs = [one for one in measured if one.stats]
    plain, first, _, trusted, _, _, places, *appended = runs
    _, edited_hashed, *grown_hashed = measured[len(runs) :]
    full = plain.cpu_s
    rows = []
    for one in measured:
        stats = one.stats
        mapped = stats["bytes"] - stats["restored_bytes"] if stats else None
        rows.append(
            [
                one.program.name,
                one.spread(lambda sample: sample.cpu_s, 3),
                one.spread(lambda sample: sample.wall_s, 3),
                f"{one.cpu_s / full:.3f}",
                "" if mapped is None else f"{mapped / 1e6:.1f}",
                "" if not stats else f"{stats['saved_bytes'] / 1e6:.1f}",
            ]
        )
    said = []

    def say(one: Measured, figure: float, most: float, what: str) -> None:
        kept = "yes" if figure <= most else "NO"
        said.append(
            f"- {kept}: {one.program.name}: {figure:.3f} {what}, at most {most}"
        )

    if job.most_more is not None:
        more = (places.cpu_s - edited_hashed.cpu_s) / full
        say(places, more, job.most_more, "of a plain run's CPU time beyond F")
    if job.most_more is not None and appended:
        grown, append_only = appended
        more = (grown.cpu_s - grown_hashed[0].cpu_s) / full
        say(grown, more, 0.13, "of a plain run's CPU time beyond F")
        say(append_only, append_only.cpu_s / full, 0.13, "of a plain run's CPU time")
    if job.most is not None:
        say(places, places.cpu_s / full, job.most, "of a plain run's CPU time")
    say(trusted, trusted.cpu_s / full, 0.01, "of a plain run's CPU time")
    say(first, first.cpu_s / full, job.most_first, "of a plain run's CPU time")
    saved = first.stats["saved_bytes"] / first.stats["bytes"]
    say(first, saved, 0.35, "of the input's bytes kept")
    reused = places.stats["restored_bytes"] / places.stats["bytes"]
    said.append(f"- {places.program.name}: {100 * reused:.1f} % of the bytes reused")
    return rows, said


def main() -> int:
    parser = arguments("Measure what changes cost.", "incremental.json")
    parser.add_argument("--hash", type=Path, required=True, help="the binary of hash")
    parser.add_argument("--tenfold", action="store_true", help="ten times the input")
    options = parser.parse_args()
    ours.existing(options.tegula)
    rows, said, all_measured = [], [], []
    for job in TENFOLD if options.tenfold else JOBS:
        with tempfile.TemporaryDirectory(dir=options.corpus) as name:
            folder = Path(name)
            total = INPUT_BYTES * (10 if options.tenfold else 1)
            make_old(options.corpus / job.input, folder / "old", total)
            make_edited(folder / "old", folder / "edited")
            if not options.tenfold:
                make_grown(folder / "old", folder / "grown")
            # Times of change that may be trusted lie some seconds back.
            for form in forms(options):
                before = (folder / form).stat().st_mtime - 100
                os.utime(folder / form, (before, before))
            run_and_keep(options, job, folder)
            measured = interleaved(programs_of(options, job, folder), options.runs)
            more, verdicts = report(job, measured)
            rows, said = rows + more, said + verdicts
            all_measured += measured
            heads = ["run", "CPU s", "wall s", "CPU, of plain", "MB mapped", "MB saved"]
            print(f"{table(heads, more)}\n\n" + "\n".join(verdicts), flush=True)
    if options.tenfold and options.out.name == "incremental.json":
        options.out = options.out.with_name("incremental_tenfold.json")
    write_results(
        options.out,
        all_measured,
        {"tegula": version_of(options.tegula)},
    )
    return 1 if any(line.startswith("- NO") for line in said) else 0


if __name__ == "__main__":
    run_script(main)
