#!/usr/bin/env python3
"""Measurements that figures of the papers need and no other benchmark makes. Their inputs are drawn by a seed, so
nothing has to be fetched.

Takes a folder with `zipf.txt`, `steep.txt`, `logins.txt` and `tera.bin`, tegula's binary, and names of measurements; leaves a file
of raw results for each, `papers_NAME.json`. Answers that should be the same are compared.

    python3 bench/papers/taken.py --corpus bench/corpus --tegula target/release/tegula jobs tiles
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import ours
import stable
from kept import ROOT
from measure import (
    Failed,
    Measured,
    Program,
    first_lines,
    interleaved,
    run_script,
    sample,
    version_of,
    warm,
    write_results,
    write_rows,
)

WORKERS = 2
# Ostrich's four jobs (section 7.1): name, input, command; `@` stands for a word of the text.
JOBS = {
    "word count": ("zipf.txt", ("wordcount",)),
    "sort": ("tera.bin", ("sort", "--records", "terasort")),
    "log statistics": ("logins.txt", ("logstats",)),
    "inverted index": ("zipf.txt", ("index", "--word", "@")),
}
GIGABYTES = (1, 2, 4)
TILES = ("1M", "2M", "4M", "6M", "8M", "16M", "32M", "64M", "128M")
# A 160th, a 16th and so on of a gigabyte, as in figure 22.
SAVED_TILES = ("1M", "3M", "6M", "12M", "32M", "64M")
EDITED_TILES = (10, 20, 50, 100, 500)
EDITS = 20
CACHED_BYTES = 8_000_000
# The first-level cache of the paper's machine, and a last-level one near to its L3 (a power of two is needed).
CACHES = ("--I1=65536,2,64", "--D1=65536,2,64", "--LL=4194304,16,64")


def path_of(options: argparse.Namespace, name: str) -> Path:
    path = options.corpus / name
    if not path.is_file():
        raise Failed(f"{path} is missing: `make papers` draws it")
    return path


def command_of(
    options: argparse.Namespace, job: str, gigabytes: int
) -> tuple[Path, list[str]]:
    """A file of a job's input, and its command without flags of the run: it is given as often as comes nearest to so
    many gigabytes."""
    name, (command, *flags) = JOBS[job][0], JOBS[job][1]
    path = path_of(options, name)
    times = max(1, round(gigabytes * options.scale * 1e9 / path.stat().st_size))
    flags = [ours.frequent_word(path) if flag == "@" else flag for flag in flags]
    return path, [str(options.tegula), command, *flags, *([str(path)] * times)]


def program(
    name: str,
    path: Path,
    argv: list[str],
    folder: Path,
    workers: int = WORKERS,
    before: str = "",
) -> Program:
    stats = folder / f"{re.sub('[^a-z0-9]+', '-', name.lower())}.json"
    more = [
        "-j",
        str(workers),
        "-o",
        str(folder / "answer"),
        "--stats-json",
        str(stats),
        "--progress",
        "off",
    ]
    return Program(name, workers, path, (*argv, *more), stats=stats, before=before)


def jobs(options: argparse.Namespace, folder: Path) -> list[Measured]:
    """The four jobs: 1 GB with one worker and with two, and 2 and 4 GB."""
    programs = []
    for job in JOBS:
        for gigabytes in GIGABYTES:
            path, argv = command_of(options, job, gigabytes)
            for workers in (1, WORKERS) if gigabytes == 1 else (WORKERS,):
                name = f"{job}, {gigabytes} GB, {workers}"
                programs.append(program(name, path, argv, folder, workers))
    measured = interleaved(programs, options.runs)
    for one in measured:
        job, gigabytes, _ = one.program.name.split(", ")
        one.stats |= {"job": job, "gigabytes": int(gigabytes.split()[0])}
    return measured


def tiles(options: argparse.Namespace, folder: Path) -> list[Measured]:
    """Word count with tiles of fixed sizes, over 1, 2 and 4 GB."""
    programs = []
    for gigabytes in GIGABYTES:
        path, argv = command_of(options, "word count", gigabytes)
        for tile in TILES:
            name = f"{gigabytes} GB, {tile}"
            programs.append(program(name, path, [*argv, "--tile", tile], folder))
    return interleaved(programs, options.runs, same_figures())


def saves(options: argparse.Namespace, folder: Path) -> list[Measured]:
    """Word count of 1 GB of the paper's share of different words, without a state, and saved after every tile, of several
    sizes."""
    path = path_of(options, "steep.txt")
    times = max(1, round(options.scale * 1e9 / path.stat().st_size))
    argv = [str(options.tegula), "wordcount", *([str(path)] * times)]
    state = folder / "state"
    programs = [program("no state", path, argv, folder)]
    for name, tile, every in (
        *((f"every tile of {tile}", tile, "1tiles") for tile in SAVED_TILES),
        ("every 10 tiles of 6M", "6M", "10tiles"),
    ):
        flags = [
            "--state",
            str(state),
            "--job",
            "papers",
            "--tile",
            tile,
            "--save-every",
            every,
        ]
        programs.append(
            program(name, path, [*argv, *flags], folder, before=f'rm -rf "{state}"')
        )
    return interleaved(programs, options.runs, same_figures())


def same_figures() -> Callable[[list[Measured]], None]:
    """A check that runs over the same input count the same pairs and keys."""
    first: dict[int, list[object]] = {}

    def check(measured: list[Measured]) -> None:
        for one in filter(lambda one: one.stats, measured):
            figures = [one.stats[name] for name in ("pairs", "keys", "key_value_bytes")]
            times = one.program.argv.count(str(one.program.input))
            if first.setdefault(times, figures) != figures:
                raise Failed(f"{one.program.name}: {figures}, not {first[times]}")

    return check


def edited(options: argparse.Namespace, folder: Path) -> list[Measured]:
    """Word count of a text of which 20 random places change, by the number of tiles: plain, first, again."""
    old = path_of(options, "zipf.txt")
    text, state, kept = folder / "text", folder / "state", folder / "kept"
    changed = folder / "changed"
    shutil.copyfile(old, changed)
    with changed.open("rb+") as file:
        draw = random.Random(1)
        for _ in range(EDITS):
            file.seek(draw.randrange(changed.stat().st_size - 8))
            file.write(b" edited ")
    argv = [str(options.tegula), "wordcount", str(text)]
    programs = [
        program("plain", old, argv, folder, before=f'ln -f "{changed}" "{text}"')
    ]
    for number in EDITED_TILES:
        tile = str(-(-old.stat().st_size // number))
        flags = [
            "--state",
            str(state),
            "--job",
            "papers",
            "--tile",
            tile,
            "--incremental",
        ]
        clean = f'rm -rf "{state}" && cp --reflink=auto "{old}" "{text}.new" && mv "{text}.new" "{text}"'
        first = program(
            f"first, {number} tiles", old, [*argv, *flags], folder, before=clean
        )
        made = " ".join(f"'{part}'" for part in first.argv)
        # The state as the first run left it is made once, and copied before each run.
        ready = (
            f'test -d "{kept}-{number}" || {{ {clean} && {made} && cp -r "{state}" "{kept}-{number}"; }}; '
            f'rm -rf "{state}" && cp -r "{kept}-{number}" "{state}" && cp "{changed}" "{text}.new" && mv "{text}.new" "{text}"'
        )
        programs += [
            first,
            program(
                f"again, {number} tiles", old, [*argv, *flags], folder, before=ready
            ),
        ]
    return interleaved(programs, options.runs)


def appended(options: argparse.Namespace, folder: Path) -> list[Measured]:
    """Log statistics of a log that grows by tenths from half of its length to all: anew, and with what is kept."""
    whole = path_of(options, "logins.txt")
    lines = sum(block.count(b"\n") for block in blocks_of(whole))
    log, state = folder / "log", folder / "state"
    argv = [str(options.tegula), "logstats", str(log)]
    flags = ["--state", str(state), "--job", "papers", "--incremental", "--append-only"]
    found: dict[str, Measured] = {}
    for _ in range(options.runs):
        shutil.rmtree(state, ignore_errors=True)
        for tenth in range(5, 11):
            first_lines(whole, folder / "log.new", lines * tenth // 10)
            # In place, so that it stays the same file, which has grown.
            with (folder / "log.new").open("rb") as new, log.open("wb") as file:
                shutil.copyfileobj(new, file)
            programs = [program(f"anew, {tenth} tenths", log, argv, folder)]
            programs.append(
                program(f"kept, {tenth} tenths", log, [*argv, *flags], folder)
            )
            for one in interleaved(programs, 1):
                all_runs = found.setdefault(one.program.name, Measured(one.program))
                all_runs.samples += one.samples
                all_runs.stats, all_runs.input_bytes = one.stats, one.input_bytes
    return list(found.values())


def blocks_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            yield block


def timeline(options: argparse.Namespace, argv: list[str], folder: Path) -> dict:
    """Runs a command with a timeline, and returns it without the spans of threads."""
    trace = folder / "timeline.json"
    sample(
        (*argv, "--timeline", str(trace), "--progress", "off"), {}, subprocess.DEVNULL
    )
    whole = json.loads(trace.read_text())
    events = whole["traceEvents"]
    counters = {
        name: [
            [event["ts"] / 1e6, event["args"]]
            for event in events
            if event["ph"] == "C" and event["name"] == name
        ]
        for name in ("processors", "memory_bytes", "bytes_per_second")
    }
    stages = [
        [event["name"], event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6]
        for event in events
        if event.get("cat") == "stage"
    ]
    return {"wall_s": whole["otherData"]["wall_ns"] / 1e9, "stages": stages, **counters}


def footprint(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """The memory of a word count of 4 GB over time."""
    path, argv = command_of(options, "word count", 4)
    warm(path)
    recorded = timeline(
        options, [*argv, "-j", str(WORKERS), "-o", str(folder / "answer")], folder
    )
    return [
        {
            "job": "word count",
            "input_bytes": path.stat().st_size * argv.count(str(path)),
            **recorded,
        }
    ]


def utilisation(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """Processors over time of a sort and a word count, of files that are not in the page cache: with tiles that
    overlap reading and mapping, and after the input was copied from the disk first, as Phoenix++ reads it."""
    rows = []
    for job in ("sort", "word count"):
        path, argv = command_of(options, job, 1)
        run = [*argv, "-j", str(WORKERS), "-o", str(folder / "answer")]
        cold(path)
        start = time.perf_counter()
        warm(path)
        read_s = time.perf_counter() - start
        after = timeline(options, run, folder)
        cold(path)
        overlapped = timeline(options, [*run, "--reads", "cached"], folder)
        rows.append(
            {
                "job": job,
                "input_bytes": path.stat().st_size * argv.count(str(path)),
                "read_first_s": read_s,
                "after": after,
                "overlapped": overlapped,
            }
        )
    return rows


def cold(path: Path) -> None:
    """Puts a file out of the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def caches(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """Misses of described caches, counted by cachegrind over the first bytes of each input."""
    if not shutil.which("valgrind"):
        raise Failed("valgrind is missing: apt-get install valgrind")
    rows = []
    for job, (name, _) in JOBS.items():
        path, argv = command_of(options, job, 1)
        head = folder / name
        with path.open("rb") as file:
            part = file.read(CACHED_BYTES)
        head.write_bytes(part if name == "tera.bin" else part[: part.rindex(b"\n") + 1])
        argv = [str(head) if word == str(path) else word for word in argv]
        argv += ["-j", str(WORKERS), "-o", str(folder / "answer"), "--progress", "off"]
        rows.append(
            {
                "job": job,
                "program": "tegula",
                "input_bytes": head.stat().st_size,
                **counted(argv),
            }
        )
        if options.phoenix and job == "word count":
            try:
                peer = counted([str(options.phoenix), str(head)])
            except Failed as failure:
                # Cachegrind knows no AVX-512, which `-march=native` may use.
                print(f"Phoenix++ is left out: {failure}", file=sys.stderr)
                continue
            rows.append(
                {
                    "job": job,
                    "program": "Phoenix++",
                    "input_bytes": head.stat().st_size,
                    **peer,
                }
            )
    return rows


def counted(argv: list[str]) -> dict[str, int]:
    """References to data and misses of a program in cachegrind's caches."""
    tool = [
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=yes",
        "--cachegrind-out-file=/dev/null",
        *CACHES,
    ]
    run = subprocess.run(
        [*tool, *argv], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    found = {
        name: re.search(rf"{label}:\s+([\d,]+)\s", run.stderr)
        for name, label in (
            ("references", r"D\s+refs"),
            ("d1_misses", r"D1\s+misses"),
            ("ll_misses", r"LLd misses"),
        )
    }
    if run.returncode != 0 or not all(found.values()):
        raise Failed(f"{' '.join(argv)}, under valgrind: {run.stderr[-500:]}")
    return {
        name: int(match[1].replace(",", "")) for name, match in found.items() if match
    }


def finals(options: argparse.Namespace, _: Path) -> list[dict[str, object]]:
    """The part of a text after which its top words are final."""
    path = path_of(options, "zipf.txt")
    rows = []
    for name, form in stable.FORMS:
        wanted = argparse.Namespace(
            tegula=options.tegula, paths=[path], words="whitespace"
        )
        last = stable.last_show(wanted, form)
        rows.append(
            {
                "shows": name,
                "made": last["show"],
                "input_bytes": path.stat().st_size,
                "since": last["top_since"],
            }
        )
    return rows


PROGRAMS = {
    "jobs": jobs,
    "tiles": tiles,
    "saves": saves,
    "edited": edited,
    "appended": appended,
}
ROWS = {
    "footprint": footprint,
    "utilisation": utilisation,
    "caches": caches,
    "stable": finals,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Measure what figures of the papers need."
    )
    parser.add_argument(
        "--corpus", type=Path, required=True, help="folder of the inputs"
    )
    parser.add_argument("--tegula", type=Path, required=True, help="tegula's binary")
    parser.add_argument(
        "--phoenix", type=Path, help="the word count of Phoenix++, if it is built"
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each program (3)")
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help="part of the bytes, to try all of it (1)",
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench/results", help="folder of raw results"
    )
    parser.add_argument(
        "names",
        nargs="+",
        choices=[*PROGRAMS, *ROWS],
        metavar="NAME",
        help="measurements",
    )
    options = parser.parse_args()
    ours.existing(options.tegula)
    for name in ("corpus", "tegula", "phoenix", "out"):
        if path := getattr(options, name):
            setattr(options, name, path.absolute())
    versions = {"tegula": version_of(options.tegula)}
    for name in options.names:
        out = options.out / f"papers_{name}.json"
        with tempfile.TemporaryDirectory(dir=options.corpus) as folder:
            if name in PROGRAMS:
                write_results(out, PROGRAMS[name](options, Path(folder)), versions)
            else:
                write_rows(out, ROWS[name](options, Path(folder)), versions)
    return 0


if __name__ == "__main__":
    run_script(main)
