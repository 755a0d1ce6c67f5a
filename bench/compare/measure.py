"""The one way in which every comparison here measures: whole processes, interleaved, medians.

Takes programs to run; hands on samples (wall, CPU, peak memory), their medians with least and most,
a Markdown table, and a file of raw results that names the machine and the commit. It must never
read an input whole: a child's peak memory, as Linux reports it, is never less than its parent's.
"""

import argparse
import hashlib
import itertools
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import BinaryIO

import family

WARM_BLOCK_BYTES = 1 << 20
OUTPUT_KEPT_BYTES = 64 << 10
# Before anything is measured.
LOAD_BEFORE = os.getloadavg()
MEASUREMENTS_WRITE = ("bench/results", "hadoop/bench/results", "docs", "README.md")


@dataclass(frozen=True)
class Answer:
    """What a program prints; None where it is not read."""

    words: int | None = None
    keys: int | None = None
    top: tuple[tuple[str, int], ...] | None = None
    figures: tuple[float, ...] | None = None
    """Numbers that another program may round in another way."""
    sha256: str | None = None
    """Of all that it prints."""


@dataclass(frozen=True)
class Program:
    """One program on one input with one number of workers, and how to read what it prints."""

    name: str
    workers: int
    input: Path
    argv: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    read_answer: Callable[[str], Answer] | None = None
    """Reads the first `OUTPUT_KEPT_BYTES` of its standard output."""
    is_hashed: bool = False
    """Whether all of its standard output is hashed. What is neither read nor hashed goes to the null device."""
    stats: Path | None = None
    """The file of figures the program leaves, read after each run and then removed."""
    has_family: bool = False
    """Whether it starts processes that may outlive it: all of them count, and their memory together."""
    before: str = ""
    """Preparation by a shell before each run; not measured."""
    fresh_bytes: int = 0
    """Memory to touch before each run. The host of a virtual machine takes pages back that are free for two seconds, and
    giving them again costs up to 5 s of system time a gigabyte, now and then, whatever the program."""

    @property
    def has_answer(self) -> bool:
        return self.read_answer is not None or self.is_hashed


@dataclass(frozen=True)
class Sample:
    """One run of a process, from its start to its end."""

    wall_s: float
    cpu_user_s: float
    cpu_system_s: float
    resident_peak_bytes: int

    @property
    def cpu_s(self) -> float:
        return self.cpu_user_s + self.cpu_system_s


@dataclass
class Measured:
    """A program, its samples, and what it said in the last of them."""

    program: Program
    samples: list[Sample] = field(default_factory=list)
    answer: Answer = field(default_factory=Answer)
    stats: dict[str, object] = field(default_factory=dict)
    input_bytes: int = 0

    def middle(self, figure: Callable[[Sample], float]) -> float:
        return median(map(figure, self.samples))

    def spread(self, figure: Callable[[Sample], float], digits: int = 2) -> str:
        """`median (least..most)`."""
        figures = [figure(sample) for sample in self.samples]
        least, most = min(figures), max(figures)
        return f"{median(figures):.{digits}f} ({least:.{digits}f}..{most:.{digits}f})"

    @property
    def cpu_s(self) -> float:
        return self.middle(lambda sample: sample.cpu_s)

    @property
    def wall_s(self) -> float:
        return self.middle(lambda sample: sample.wall_s)

    @property
    def megabytes_per_cpu_s(self) -> float:
        return self.input_bytes / 1e6 / self.cpu_s

    @property
    def resident_peak_bytes(self) -> int:
        """The most of all runs, not their median: a limit must hold on each."""
        return max(sample.resident_peak_bytes for sample in self.samples)


class Failed(Exception):
    """A comparison that cannot go on; the message says why."""


def warm(path: Path) -> None:
    """Reads a file into the page cache through one small buffer."""
    buffer = bytearray(WARM_BLOCK_BYTES)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def touch(count: int) -> None:
    """Writes `count` bytes of memory in another process, so that the host has given them."""
    subprocess.run([sys.executable, "-c", f"b'1' * {count}"], check=True)


def sample(argv: tuple[str, ...], environment: dict[str, str], stdout: int) -> Sample:
    """Runs a process to its end and returns its cost; its own children count too."""
    with tempfile.TemporaryFile() as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=os.environ | environment,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            stderr.seek(0)
            said = stderr.read(OUTPUT_KEPT_BYTES).decode(errors="replace").strip()
            raise Failed(f"{' '.join(argv)}: exit code {process.returncode}: {said}")
    return Sample(wall_s, usage.ru_utime, usage.ru_stime, usage.ru_maxrss << 10)


def sample_family(
    argv: tuple[str, ...], environment: dict[str, str], stdout: int
) -> Sample:
    """As `sample`, with all processes below this one."""
    with tempfile.TemporaryFile() as stderr:
        code, *took = family.run(argv, environment, stdout, stderr.fileno())
        if code != 0:
            stderr.seek(0)
            said = stderr.read(OUTPUT_KEPT_BYTES).decode(errors="replace").strip()
            raise Failed(f"{' '.join(argv)}: exit code {code}: {said}")
    return Sample(*took)


def run_once(measured: Measured) -> None:
    """Warms the input, runs the program once, and adds what was seen to `measured`."""
    program = measured.program
    measured.input_bytes = program.input.stat().st_size
    if program.before:
        subprocess.run(["sh", "-c", program.before], check=True)
    warm(program.input)
    if program.fresh_bytes:
        touch(program.fresh_bytes)
    take = sample_family if program.has_family else sample
    if not program.has_answer:
        measured.samples.append(
            take(program.argv, program.environment, subprocess.DEVNULL)
        )
    else:
        with tempfile.TemporaryFile() as stdout:
            measured.samples.append(
                take(program.argv, program.environment, stdout.fileno())
            )
            measured.answer = answer_of(program, stdout)
    if program.stats is not None:
        measured.stats = json.loads(program.stats.read_text())
        # Paths of this machine.
        measured.stats.pop("bad_first", None)
        program.stats.unlink()


def answer_of(program: Program, stdout: BinaryIO) -> Answer:
    """What a program has printed into a file."""
    answer = Answer()
    if program.read_answer is not None:
        stdout.seek(0)
        # Words need not be UTF-8.
        printed = stdout.read(OUTPUT_KEPT_BYTES).decode(errors="surrogateescape")
        answer = program.read_answer(printed)
    if program.is_hashed:
        stdout.seek(0)
        digest = hashlib.file_digest(stdout, "sha256").hexdigest()
        answer = replace(answer, sha256=digest)
    return answer


def interleaved(
    programs: list[Program],
    runs: int,
    check: Callable[[list[Measured]], None] | None = None,
) -> list[Measured]:
    """Runs A B C, B C A, ..., so that a slow minute of the machine falls on all alike.

    Each round has an order of its own, the same ones whenever this is run: a program pays for what
    the one before it left behind, such as memory that the host has to give again.

    `check` sees all that was measured after each round, and raises `Failed` to stop.
    """
    measured = [Measured(program) for program in programs]
    for round_number in range(1, runs + 1):
        order = random.Random(round_number).sample(measured, len(measured))
        for one in order:
            run_once(one)
            last = one.samples[-1]
            print(
                f"run {round_number}/{runs}: {one.program.name} -j {one.program.workers} "
                f"{one.program.input.name}: {last.cpu_s:.2f} CPU s, {last.wall_s:.2f} s",
                file=sys.stderr,
            )
        if check is not None:
            check(measured)
    return measured


def first_line(argv: list[str]) -> str:
    """The first line a command prints, or what stopped it: for versions, which may be unknown."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"unknown ({type(error).__name__})"
    return (done.stdout.splitlines() or ["unknown"])[0]


def program_hash(binary: Path) -> str:
    """Names a program by what it is."""
    with binary.open("rb") as file:
        return "sha256 " + hashlib.file_digest(file, "sha256").hexdigest()


def version_of(binary: Path) -> str:
    """The version that a program of ours says, and its hash: many builds have one version."""
    return f"{first_line([str(binary), '--version'])}, {program_hash(binary)}"


def versions_of(packages: list[str]) -> dict[str, str]:
    """The versions of packages in this environment; of one that is not there, that it is not installed."""
    versions = dict.fromkeys(packages, "not installed")
    for name in packages:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def commit() -> str:
    """The commit of the working tree, with `-dirty` where its programs and scripts differ from it."""
    root = str(Path(__file__).parents[2])
    name = first_line(["git", "-C", root, "rev-parse", "HEAD"])
    if name.startswith("unknown"):
        return name
    # Each measurement writes some of these.
    made = [f":(exclude){path}" for path in MEASUREMENTS_WRITE]
    argv = ["git", "-C", root, "status", "--porcelain", "--", ".", *made]
    changed = subprocess.run(argv, capture_output=True, text=True)
    return f"{name}-dirty" if changed.returncode != 0 or changed.stdout else name


# Before anything is measured: a commit may be made meanwhile, which is not that of the program.
COMMIT_BEFORE = commit()


def machine() -> dict[str, object]:
    """The processor, cores, memory and kernel that the figures hold for."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    with tempfile.TemporaryFile() as stdout:
        floor = sample(("true",), {}, stdout.fileno())
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "load_average": os.getloadavg(),
        # What an empty process is said to take: the least that any peak below can be.
        "resident_floor_bytes": floor.resident_peak_bytes,
    }


def as_raw(measured: Measured) -> dict[str, object]:
    """One program's samples for the file of results; folders are this machine's own affair."""
    program = measured.program
    return {
        "program": program.name,
        "workers": program.workers,
        "input": program.input.name,
        "input_bytes": measured.input_bytes,
        "argv": [Path(part).name if "/" in part else part for part in program.argv],
        "environment": {
            name: without_folders(value) for name, value in program.environment.items()
        },
        "samples": [asdict(one) for one in measured.samples],
        "answer": asdict(measured.answer),
        "stats": measured.stats,
    }


def as_measured(run: dict) -> Measured:
    """What `as_raw` has kept of a program, without its answer."""
    name, workers, path = run["program"], run["workers"], Path(run["input"])
    return Measured(
        Program(name, workers, path, tuple(run["argv"])),
        [Sample(**one) for one in run["samples"]],
        input_bytes=run["input_bytes"],
    )


def write_results(
    out: Path,
    measured: list[Measured],
    versions: dict[str, str],
    also: dict[str, object] | None = None,
) -> None:
    """Writes the raw results, with all that is needed to place them, and what else was found."""
    write_rows(out, [as_raw(one) for one in measured], versions, also)


def write_rows(
    out: Path,
    rows: list[dict[str, object]],
    versions: dict[str, str],
    also: dict[str, object] | None = None,
) -> None:
    """Writes raw results of any form. It refuses those that name a folder of this machine."""
    raw = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": COMMIT_BEFORE,
        "machine": machine(),
        "load_before": LOAD_BEFORE,
        "versions": versions,
        "runs": rows,
        **(also or {}),
    }
    text = json.dumps(raw, indent=1) + "\n"
    for folder in (Path(__file__).parents[2], Path.home(), Path(tempfile.gettempdir())):
        if f"{folder}/" in text:
            raise Failed(f"{out.name}: results name the folder {folder}")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text)


def without_folders(text: str) -> str:
    """A text in which paths are names of files: folders are this machine's own affair."""
    return re.sub(r"(?<![\w./])/(?:[^\s/:;,'\"]+/)+", "", text)


def first_lines(path: Path, out: Path, lines: int) -> Path:
    """Writes the first lines of a text to another."""
    with path.open("rb") as text, out.open("wb") as beginning:
        beginning.writelines(itertools.islice(text, lines))
    return out


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, its first column to the left and the others to the right."""
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def short(commit: str) -> str:
    """A commit in ten digits; `-dirty` stays, because the program may be of no commit then."""
    name, dirty, _ = commit.partition("-dirty")
    return name[:10] + dirty


def write_pages(pages: dict[Path, str], is_check: bool) -> int:
    """Writes what is made of results; or says, with exit code 1, which file has another text."""
    other = [
        path
        for path, text in pages.items()
        if not path.exists() or path.read_text() != text
    ]
    for path in other:
        if is_check:
            print(f"{path.name}: not of the results; run {Path(sys.argv[0]).name}")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages[path])
    return 1 if is_check and other else 0


def arguments(description: str, results: str) -> argparse.ArgumentParser:
    """The options that every comparison of tegula takes; `results` names its raw results."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--corpus", type=Path, required=True, help="folder of the inputs"
    )
    parser.add_argument("--tegula", type=Path, required=True, help="tegula's binary")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (5)")
    out = Path(__file__).parent.parent / "results" / results
    parser.add_argument("--out", type=Path, default=out, help="file of raw results")
    return parser


def run_script(main: Callable[[], int]) -> None:
    """Runs a comparison to the end of its process; what stops it is one line."""
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(f"{Path(sys.argv[0]).name}: {failure}")
