#!/usr/bin/env python3
"""Runs streaming jobs at their extremes, and kills them: lines and words of a gigabyte, ten thousand reducers, and kill
-9 at any moment. Each answer is compared with what it must be, and the peak of resident memory with a limit.

    extremes.py TEGULA [--kills N] [--seed N] [--megabytes N] [words of a case's name]
"""

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MEMORY_MB = 256
LINES = "".join(
    f"{number % 97} {number % 89} {number % 7}\n" for number in range(60_000)
)
WORDS = "tr -s ' ' '\\n'"
COUNTS = "awk -F'\\t' '{n[$1]++} END {for (w in n) print w \"\\t\" n[w]}'"


@dataclass
class Ended:
    """A run that has ended."""

    code: int
    said: str
    peak_mb: float


@dataclass
class Place:
    """A folder with the input and the answer of a job."""

    tegula: str
    folder: Path
    megabytes: int

    def command(self, *options: str) -> list[str]:
        paths = ["-input", str(self.folder / "in"), "-output", str(self.folder / "out")]
        return [self.tegula, "streaming", *paths, "--workers", "2", *options]

    def run(self, *options: str) -> Ended:
        said = self.folder / "said"
        with said.open("wb") as errors:
            started = subprocess.Popen(
                self.command(*options),
                stderr=errors,
                env={**os.environ, "TMPDIR": str(self.folder)},
            )
            _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
        text = said.read_bytes()[-2000:].decode(errors="replace")
        return Ended(started.returncode, text, used.ru_maxrss / 1024)

    def digest(self) -> str:
        """Of the names and bytes of the part files; of one that is whole."""
        out = self.folder / "out"
        assert (out / "_SUCCESS").exists(), "there is no whole answer"
        sum_of_all = hashlib.md5()
        for path in sorted(out.iterdir()):
            sum_of_all.update(path.name.encode())
            with path.open("rb") as part:
                while piece := part.read(1 << 20):
                    sum_of_all.update(piece)
        return sum_of_all.hexdigest()

    def remains(self) -> list[str]:
        """Names of what a run has left beside its input and answer."""
        known = ("in", "out", "said", "state")
        return [path.name for path in self.folder.iterdir() if path.name not in known]


def must(is_so: bool, what: object) -> None:
    if not is_so:
        raise AssertionError(str(what))


def line_of_a_gigabyte(place: Place) -> str:
    """A mapper prints a line that is larger than the memory: the job is refused in a line, within the memory."""
    (place.folder / "in").write_text("one line\n")
    mapper = f"sh -c 'cat >/dev/null; head -c {place.megabytes}000000 /dev/zero | tr \"\\\\0\" x; echo'"
    limited = place.run("-mapper", mapper, "--memory", f"{MEMORY_MB}M")
    must(limited.code == 1 and "--memory" in limited.said, limited)
    must(limited.peak_mb < MEMORY_MB, limited)
    must(not (place.folder / "out").exists() and not place.remains(), place.remains())
    whole = place.run("-mapper", mapper)
    must(whole.code == 0, whole)
    size = (place.folder / "out" / "part-00000").stat().st_size
    must(size == place.megabytes * 1_000_000 + 2, size)
    return (
        f"refused at {limited.peak_mb:.0f} MB; without a limit {whole.peak_mb:.0f} MB"
    )


def input_line_of_a_gigabyte(place: Place) -> str:
    """The input is one line, for which there is no memory."""
    with (place.folder / "in").open("wb") as file:
        for _ in range(place.megabytes):
            file.write(b"x" * 1_000_000)
    limited = place.run("-mapper", "wc -c", "--memory", f"{MEMORY_MB}M")
    must(limited.code == 1 and limited.peak_mb < MEMORY_MB, limited)
    whole = place.run("-mapper", "wc -c", "-reducer", "NONE")
    must(whole.code == 0, whole)
    return (
        f"refused at {limited.peak_mb:.0f} MB; without a limit {whole.peak_mb:.0f} MB"
    )


def words_of_a_gigabyte(place: Place) -> str:
    """A mapper says much on standard error, with and without ends of lines."""
    (place.folder / "in").write_text("one line\n")
    peaks = []
    for said in ("head -c {}000000 /dev/zero", "yes | head -c {}000000"):
        mapper = f"sh -c '{{ {said.format(place.megabytes)}; }} >&2; cat'"
        ended = place.run("-mapper", mapper, "--memory", f"{MEMORY_MB}M")
        must(ended.code == 0 and ended.peak_mb < MEMORY_MB, ended)
        must(
            (place.folder / "out" / "part-00000").read_text() == "one line\t\n",
            "the answer",
        )
        subprocess.run(["rm", "-rf", str(place.folder / "out")], check=True)
        peaks.append(ended.peak_mb)
    return f"peak {max(peaks):.0f} MB"


def ten_thousand_reducers(place: Place) -> str:
    """Each part has its file; with and without commands."""
    (place.folder / "in").write_text(LINES)
    peaks, took = [], []
    for reducer in ([], ["-reducer", "cat"]):
        begun = time.monotonic()
        options = ("-mapper", WORDS, "-numReduceTasks", "10000", *reducer)
        ended = place.run(*options, "--memory", f"{MEMORY_MB}M")
        must(ended.code == 0 and ended.peak_mb < MEMORY_MB, ended)
        parts = list((place.folder / "out").glob("part-*"))
        must(len(parts) == 10_000, len(parts))
        lines = sum(len(part.read_text().splitlines()) for part in parts)
        must(lines == 180_000, lines)
        subprocess.run(["rm", "-rf", str(place.folder / "out")], check=True)
        peaks.append(ended.peak_mb)
        took.append(f"{time.monotonic() - begun:.1f}")
    return f"peak {max(peaks):.0f} MB, {' and '.join(took)} s"


def kills(place: Place, count: int, seed: int) -> str:
    """Whenever a run is killed, nothing is left of it, and the same command gives the whole answer."""
    (place.folder / "in").write_text(LINES * 4)
    job = ["-mapper", WORDS, "-reducer", COUNTS, "-numReduceTasks", "3"]
    job += ["-D", "mapreduce.input.fileinputformat.split.maxsize=400000"]
    saved = ["--state", str(place.folder / "state"), "--job", "words"]
    begun = time.monotonic()
    ended = place.run(*job)
    lasts = time.monotonic() - begun
    must(ended.code == 0, ended)
    expected = place.digest()
    chance, killed = random.Random(seed), 0
    for number in range(count):
        for name in ("out", "state") if number % 2 else ("out",):
            subprocess.run(["rm", "-rf", str(place.folder / name)], check=True)
        options = [*job, *saved] if number % 4 > 1 else job
        run = subprocess.Popen(
            place.command(*options),
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(place.folder)},
        )
        time.sleep(chance.uniform(0, 1.2 * lasts))
        run.send_signal(signal.SIGKILL)
        if run.wait() == -signal.SIGKILL:
            killed += 1
            waits = time.monotonic() + 120
            while place.remains() and time.monotonic() < waits:
                time.sleep(0.01)
            must(not place.remains(), place.remains())
        if not (place.folder / "out").exists():
            ended = place.run(*options)
            must(ended.code == 0, ended)
        must(place.digest() == expected, f"kill {number}: another answer")
    return f"{killed} of {count} runs were killed"


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Run streaming jobs at their extremes."
    )
    parser.add_argument("tegula", type=Path)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("words", nargs="*")
    options = parser.parse_intermixed_args()
    cases: dict[str, Callable[[Place], str]] = {
        "a line of a mapper": line_of_a_gigabyte,
        "a line of the input": input_line_of_a_gigabyte,
        "words on standard error": words_of_a_gigabyte,
        "10,000 reducers": ten_thousand_reducers,
        "kills": lambda place: kills(place, options.kills, options.seed),
    }
    failed = 0
    for name, case in cases.items():
        if not all(word in name for word in options.words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = Place(
                str(options.tegula.resolve()), Path(folder), options.megabytes
            )
            try:
                print(f"holds   {name}: {case(place)}", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"FAILS   {name}: {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
