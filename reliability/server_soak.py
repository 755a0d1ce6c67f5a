#!/usr/bin/env python3
"""One server runs mixed jobs for a long time. Its memory, open files, threads and files on disk must not grow once it is
warm: jobs that are over are removed when they have more than `--keep-bytes`.

    python3 reliability/server_soak.py --tegula target/release/tegula --seconds 3600 --samples samples.csv

Ends with exit code 1 where something grows or an answer differs.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from serve import OVER, Server, run_plain
from server_kills import write_text

AT_WORK = 4
KEEP_BYTES = 4 << 20
SAMPLE_S = 2.0
# From the second quarter of the time to the last.
GROWTH_BYTES = 16 << 20
GROWTH_FILES = 8
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Sample:
    """What the server holds."""

    seconds: float
    resident_bytes: int
    files: int
    threads: int
    on_disk: int


def take(server: Server, began: float) -> Sample:
    process = Path(f"/proc/{server.process.pid}")
    return Sample(
        time.monotonic() - began,
        int((process / "statm").read_text().split()[1]) * PAGE_BYTES,
        len(list((process / "fd").iterdir())),
        len(list((process / "task").iterdir())),
        sum(len(files) for _, _, files in os.walk(server.home)),
    )


def most(samples: list[Sample], part: tuple[float, float]) -> Sample:
    """The most of each figure in a part of the time."""
    length = samples[-1].seconds
    chosen = [
        sample for sample in samples if part[0] <= sample.seconds / length <= part[1]
    ]
    return Sample(
        chosen[-1].seconds,
        max(sample.resident_bytes for sample in chosen),
        max(sample.files for sample in chosen),
        max(sample.threads for sample in chosen),
        max(sample.on_disk for sample in chosen),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs a server for a long time.")
    parser.add_argument("--tegula", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=Path)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "input"
        root.mkdir()
        text = root / "text"
        write_text(text, chance)
        commands = [
            ["wordcount", "--words", "alpha", "--top", "50", str(text)],
            ["wordcount", "--words", "unicode", str(text)],
            ["grep", "[a-d]+h[a-d]+", "--by", "match", str(text)],
            ["top", "20", "--separator", " ", "--by", "2", str(text)],
        ]
        expected = [run_plain(options.tegula, command)[2] for command in commands]
        flags = ["-j", "2", "--jobs-at-once", str(AT_WORK)]
        flags += ["--keep-bytes", str(KEEP_BYTES)]
        server = Server(options.tegula.resolve(), Path(folder) / "home", root, *flags)
        try:
            works: dict[int, int] = {}
            done, began = 0, time.monotonic()
            while time.monotonic() - began < options.seconds:
                while len(works) < AT_WORK:
                    which = chance.randrange(len(commands))
                    works[server.submit(commands[which])] = which
                time.sleep(SAMPLE_S)
                samples.append(take(server, began))
                for number, which in list(works.items()):
                    job = server.ask("GET", f"/api/jobs/{number}")
                    if job["state"] not in OVER:
                        continue
                    if server.answer(number) != expected[which]:
                        print(f"server_soak: another answer: {commands[which]}")
                        return 1
                    del works[number]
                    done += 1
        finally:
            server.kill()
    if options.samples:
        rows = [
            f"{one.seconds:.1f},{one.resident_bytes},{one.files},{one.threads},{one.on_disk}"
            for one in samples
        ]
        options.samples.write_text(
            "\n".join(["seconds,resident_bytes,files,threads,on_disk", *rows]) + "\n"
        )
    second, last = most(samples, (0.25, 0.5)), most(samples, (0.75, 1))
    said = (
        f"{second.resident_bytes / 1e6:.0f} and {last.resident_bytes / 1e6:.0f} MB, {second.files} and {last.files} open files, "
        f"{second.threads} and {last.threads} threads, {second.on_disk} and {last.on_disk} files on disk in the second and the "
        "last quarter"
    )
    is_flat = (
        last.resident_bytes <= second.resident_bytes + GROWTH_BYTES
        and last.files <= second.files + GROWTH_FILES
        and last.threads <= second.threads + GROWTH_FILES
        and last.on_disk <= second.on_disk * 1.5
    )
    print(
        f"{samples[-1].seconds:.0f} s, {done} jobs by one server: {said}"
        + ("" if is_flat else "; it grows")
    )
    return 0 if is_flat else 1


if __name__ == "__main__":
    sys.exit(main())
