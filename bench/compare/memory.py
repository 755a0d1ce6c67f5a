#!/usr/bin/env python3
"""Word count within less memory than its words take: what the limit costs, and that it holds.

Takes a folder with `distinct400.txt` made by `bench/corpus.py` and tegula's binary; prints a
Markdown table and writes the raw results. All runs must write the same bytes, and none may hold more
than it was given; else it ends with exit code 1.

    python3 bench/compare/memory.py --corpus bench/corpus --tegula target/release/tegula
"""

import argparse
import hashlib
import tempfile
from dataclasses import replace
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
MIB = 1 << 20
# No limit; a tenth of the words' and counts' bytes; a tenth of the words' bytes alone; little.
LIMITS_MIB = (None, 64, 34, 28)


def programs_of(options: argparse.Namespace, folder: Path) -> list[Program]:
    text = options.corpus / "distinct400.txt"
    programs = []
    for limit in LIMITS_MIB:
        name = "no limit" if limit is None else f"{limit} MiB"
        program = ours.word_count(
            options.tegula, text, "whitespace", WORKERS, None, name
        )
        argv = (*program.argv, "-o", str(folder / f"{limit}.tsv"))
        if limit is not None:
            argv += ("--memory", f"{limit}M", "--scratch", str(folder))
        stats = Path(f"{program.stats}.{limit}")
        argv = tuple(
            str(stats) if part == str(program.stats) else part for part in argv
        )
        programs.append(replace(program, argv=argv, stats=stats))
    return programs


def digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def answer_of(one: Measured) -> Path:
    return Path(one.program.argv[one.program.argv.index("-o") + 1])


def check_answers(measured: list[Measured]) -> None:
    """Raises `Failed` where a limit changed the answer or was not kept to."""
    first = digest(answer_of(measured[0]))
    for one, limit in zip(measured, LIMITS_MIB, strict=True):
        if digest(answer_of(one)) != first:
            raise Failed(f"{one.program.name}: another answer than without a limit")
        peak = one.stats["memory_resident_peak"]
        if limit is not None and peak > limit * MIB:
            raise Failed(f"{one.program.name}: {peak} bytes were held")


def report(measured: list[Measured]) -> str:
    free = measured[0]
    rows = [
        [
            one.program.name,
            one.spread(lambda sample: sample.cpu_s),
            one.spread(lambda sample: sample.wall_s),
            f"{one.cpu_s / free.cpu_s:.2f}",
            f"{one.wall_s / free.wall_s:.2f}",
            f"{one.stats['memory_resident_peak'] / 1e6:.1f}",
            f"{one.stats['key_value_bytes'] / 1e6:.0f}",
            f"{one.stats['spilled_bytes'] / 1e6:.0f}",
        ]
        for one in measured
    ]
    heads = [
        "memory",
        "CPU s",
        "wall s",
        "CPU / no limit",
        "wall / no limit",
        "peak MB",
        "keys and values MB",
        "scratch MB",
    ]
    return table(heads, rows)


def main() -> int:
    parser = arguments("Measure word count in little memory.", "memory.json")
    parser.add_argument("--scratch", type=Path, help="folder for answers and scratch")
    options = parser.parse_args()
    ours.existing(options.tegula)
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        programs = programs_of(options, Path(folder))
        measured = interleaved(programs, options.runs, check_answers)
    print(report(measured))
    version = version_of(options.tegula)
    write_results(options.out, measured, {"tegula": version})
    return 0


if __name__ == "__main__":
    run_script(main)
