#!/usr/bin/env python3
"""Log statistics: tegula against DuckDB and Polars on a log of a million users who come and go.

python3 bench/compare/logstats.py --corpus bench/corpus --tegula target/release/tegula
"""

from hashlib import blake2b
from pathlib import Path

from lines import PEERS, WORKERS, Comparison, main, times_cpu
from measure import Measured

TIMES_PEERS = 3


def digest(path: Path) -> tuple[int, int]:
    """The lines' number, and a sum of their hashes that any order gives."""
    count = total = 0
    with open(path, "rb") as lines:
        for line in lines:
            count += 1
            hashed = blake2b(line.rstrip(b"\r\n"), digest_size=8).digest()
            total += int.from_bytes(hashed)
    return count, total


def same(expected: Path, other: Path) -> str | None:
    ours, theirs = digest(expected), digest(other)
    return None if ours == theirs else f"{ours} and {theirs} (lines, sum of hashes)"


def targets(measured: list[Measured]) -> list[tuple[str, bool]]:
    ratios = [
        (peer, workers, times_cpu(measured, peer, workers))
        for peer in PEERS
        for workers in WORKERS
    ]
    return [
        (
            f"{TIMES_PEERS} times the CPU time for {peer}, workers: {workers}: {ratio:.2f}",
            ratio >= TIMES_PEERS,
        )
        for peer, workers, ratio in ratios
    ]


if __name__ == "__main__":
    main(Comparison("logstats", "logins.txt", ("logstats",), "logins", same, targets))
