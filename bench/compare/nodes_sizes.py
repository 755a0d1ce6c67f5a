#!/usr/bin/env python3
"""Four jobs over four small nodes, by the size of the input: figures 4 to 7 of the paper on asymmetric clusters.

Each node may hold 64 MiB, and has a quota of a core: 0.8, 0.4, 0.2 and 0.1. `basic` gives each an equal part of the input
at once, as the paper's Basic does, here separate processes under the same quotas and limits, of which the slowest decides.
`leases` is one job over nodes, of which the first reads the input and the others are sent it in units whose size they find;
k-means, which is a job a round, reads it on each node. The inputs are drawn by a seed, in as many files as there are parts. As root.

    python3 bench/compare/nodes_sizes.py --tegula target/release/tegula --corpus bench/corpus
"""

import argparse
import contextlib
import random
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import ours
from measure import (
    Failed,
    arguments,
    run_script,
    table,
    version_of,
    write_rows,
)

from nodes import Group, begun, groups_of, side_by_side

QUOTAS = (0.8, 0.4, 0.2, 0.1)
MEMORY = "64M"
MEGABYTES = (16, 64, 256, 512)
WORDS = 50_000
WIDTH = 1024
COLUMNS = 8
ROUNDS = 3


def points(size: int, draw: random.Random) -> bytes:
    return draw.randbytes(size // 2 * 2)


def words(size: int, draw: random.Random) -> bytes:
    known = [f"{draw.getrandbits(32):x}" for _ in range(WORDS)]
    weights = [1 / (rank + 1) for rank in range(WORDS)]
    # Drawn words for a megabyte are repeated, from a place of their own each time.
    some = draw.choices(known, weights, k=125_000)
    text = bytearray()
    while len(text) < size:
        at = draw.randrange(len(some))
        text += " ".join(some[at:] + some[:at]).encode() + b"\n"
    return bytes(text[: size - 1]) + b"\n"


def picture(size: int, draw: random.Random) -> bytes:
    rows = size // (3 * WIDTH)
    header = f"P6\n{WIDTH} {rows}\n255\n".encode()
    return header + draw.randbytes(3 * WIDTH * rows)


def matrix(size: int, draw: random.Random) -> bytes:
    """Numbers of one byte's values, as doubles in NumPy's form."""
    rows = size // (8 * COLUMNS)
    header = (
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {COLUMNS}), }}"
    )
    header = header.ljust(-(-(11 + len(header)) // 64) * 64 - 11) + "\n"
    some = b"".join(struct.pack("<d", draw.randrange(256)) for _ in range(1 << 17))
    body = bytearray()
    while len(body) < 8 * COLUMNS * rows:
        at = 8 * draw.randrange(1 << 17)
        body += some[at:] + some[:at]
    body = body[: 8 * COLUMNS * rows]
    return (
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body
    )


JOBS: dict[str, tuple[tuple[str, ...], str, Callable[[int, random.Random], bytes]]] = {
    "linear regression": (("linreg", "--points", "bytes"), "bin", points),
    "word count": (("wordcount",), "txt", words),
    "histogram": (("histogram",), "ppm", picture),
    "k-means": (
        ("kmeans", "-k", "8", "--rounds", str(ROUNDS)),
        "npy",
        matrix,
    ),
}


def basic(command: list[str], parts: list[Path]) -> float:
    """Return how long separate processes need for equal parts."""
    rest = ["--memory", MEMORY, "-o", "/dev/null", "--progress", "off", "-j", "1"]
    return side_by_side([[*command, str(part), *rest] for part in parts], QUOTAS)


def leases(command: list[str], parts: list[Path], streamed: bool) -> float:
    """Return how long nodes under the same quotas need for all of it."""
    # The first one sends it to the others.
    first = f"1x1:{MEMORY}"
    rest = f"{first}:streamed" if streamed else first
    nodes = ",".join([first, *[rest] * (len(QUOTAS) - 1)])
    argv = [*command, *map(str, parts), "--nodes", f"local:{nodes}", "-j", "1"]
    argv += ["-o", "/dev/null", "--progress", "off"]
    with groups_of(groups := [Group(f"n{at}", q) for at, q in enumerate(QUOTAS)]):
        began = time.monotonic()
        driver = subprocess.Popen(argv)
        for group, node in zip(groups, begun(driver, len(QUOTAS)), strict=False):
            # With the smallest inputs one may have ended.
            with contextlib.suppress(ProcessLookupError):
                group.add(node)
        if driver.wait() != 0:
            raise Failed(f"{' '.join(command)} failed over nodes")
        return time.monotonic() - began


def main() -> int:
    parser = arguments("Measure nodes by the size of the input.", "nodes_sizes.json")
    options: argparse.Namespace = parser.parse_args()
    ours.existing(options.tegula)
    rows, raw = [], []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        for job, ((*command,), ending, make) in JOBS.items():
            command = [str(options.tegula), *command]
            for megabytes in MEGABYTES:
                parts = []
                for at in range(len(QUOTAS)):
                    part = Path(name) / f"part-{at}.{ending}"
                    size = megabytes * 1_000_000 // len(QUOTAS)
                    part.write_bytes(make(size, random.Random(at)))
                    parts.append(part)
                equal, leased = [], []
                for _ in range(options.runs):
                    equal.append(basic(command, parts))
                    leased.append(leases(command, parts, streamed=job != "k-means"))
                raw.append(
                    {
                        "job": job,
                        "megabytes": megabytes,
                        "quotas": QUOTAS,
                        "rounds": ROUNDS if job == "k-means" else 1,
                        "basic_wall_s": equal,
                        "leases_wall_s": leased,
                    }
                )
                rows.append(
                    [
                        job,
                        f"{megabytes} MB",
                        f"{median(equal):.2f}",
                        f"{median(leased):.2f}",
                        f"{median(equal) / median(leased):.2f}",
                    ]
                )
                for part in parts:
                    part.unlink()
    print(table(["job", "input", "equal parts, s", "leases, s", "times as fast"], rows))
    version = version_of(options.tegula)
    write_rows(options.out, raw, {"tegula": version})
    return 0


if __name__ == "__main__":
    run_script(main)
