#!/usr/bin/env python3
"""Tegula's own word counts: throughput, what the second worker brings, and the memory bound.

Takes a folder of the texts made by `bench/corpus.py` and tegula's binary; prints Markdown tables
and writes the raw results. It must never stand in for a comparison: no other program runs here.

    python3 bench/compare/own.py --corpus bench/corpus --tegula target/release/tegula
"""

import argparse

import ours
from limits import limits_table, within
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

WORKERS = (1, 2)
# Name, text, rule of words, and how many of the most frequent (None: all, sorted by word).
JOBS = (
    ("source, top 10", "source.txt", "alpha", 10),
    ("source256, sorted", "source256.txt", "whitespace", None),
    ("zipf, sorted", "zipf.txt", "whitespace", None),
    ("distinct, top 10", "distinct.txt", "whitespace", 10),
    ("distinct, sorted", "distinct.txt", "whitespace", None),
)


def programs_of(options: argparse.Namespace) -> list[Program]:
    return [
        ours.word_count(options.tegula, options.corpus / text, rule, workers, top, name)
        for name, text, rule, top in JOBS
        for workers in WORKERS
    ]


def check_workers_agree(measured: list[Measured]) -> None:
    """Raises `Failed` where the number of workers changed an answer."""
    first: dict[str, Measured] = {}
    for one in measured:
        other = first.setdefault(one.program.name, one)
        same_totals = all(
            one.stats.get(f) == other.stats.get(f) for f in ("pairs", "keys")
        )
        if one.answer != other.answer or not same_totals:
            raise Failed(
                f"{one.program.name}: {one.program.workers} and {other.program.workers} workers "
                f"give different answers:\n{one.answer}\n{other.answer}"
            )


def wall_ratio(one: Measured, all_measured: list[Measured]) -> str:
    """Wall time with one worker over wall time with these: 2.00 is perfect for two."""
    for other in all_measured:
        if other.program.name == one.program.name and other.program.workers == 1:
            return f"{other.wall_s / one.wall_s:.2f}"
    return ""


def report(measured: list[Measured]) -> str:
    rows = [
        [
            f"{one.program.name}",
            str(one.program.workers),
            one.spread(lambda sample: sample.cpu_s),
            one.spread(lambda sample: sample.wall_s),
            f"{one.megabytes_per_cpu_s:.0f}",
            wall_ratio(one, measured),
        ]
        for one in measured
    ]
    heads = [
        "job",
        "workers",
        "CPU s",
        "wall s",
        "MB per CPU s",
        "1 worker's wall / this",
    ]
    return table(heads, rows)


def main() -> int:
    parser = arguments("Measure tegula's own word counts.", "word_count_own.json")
    options = parser.parse_args()
    ours.existing(options.tegula)
    measured = interleaved(programs_of(options), options.runs, check_workers_agree)
    print(f"{report(measured)}\n\n{limits_table(measured)}")
    version = version_of(options.tegula)
    write_results(options.out, measured, {"tegula": version})
    return 0 if all(map(within, measured)) else 1


if __name__ == "__main__":
    run_script(main)
