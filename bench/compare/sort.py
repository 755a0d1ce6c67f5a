#!/usr/bin/env python3
"""Sorting: tegula beside GNU sort, whole processes, on the records of the TeraSort benchmark.

Takes a folder for the data and tegula's binary; makes the records if they are not there, prints a
Markdown table with the ratios that are promised, and writes the raw results. GNU sort knows lines
only, so both programs sort the same ASCII records (100 bytes with their line end) as whole lines by
their bytes; tegula also sorts the binary records by their key of 10 bytes, which is the form of the
benchmark. Outputs go to files in the same folder. A copy of the records by dd stands beside them: no
sort can do less than read them and write as much to a new file. After each round the last output of
each program is checked: all lines are the same and those of the input, records are in order, and
their number and checksum are the input's. A wrong answer must never count as fast.

    python3 bench/compare/sort.py --corpus bench/corpus --tegula target/release/tegula
"""

import argparse
import filecmp
import os
import subprocess
import zlib
from functools import cache
from pathlib import Path

from measure import (
    Failed,
    Measured,
    Program,
    arguments,
    first_line,
    interleaved,
    run_script,
    table,
    version_of,
    write_results,
)

ROW_BYTES = 100
MEGABYTES_PER_CPU_S_LEAST = 1000
RATIO_LEAST = 6
LIMIT_BYTES = 200 << 20
# The records in memory once, and once written into the page cache.
FRESH_BYTES = 2_500_000_000
GNU, LINES, RECORDS = "GNU sort", "tegula, lines", "tegula, records"
LIMITED = "tegula, records, 200 MiB"
COPY = "copy by dd"


def generate(options: argparse.Namespace) -> tuple[Path, Path]:
    """The records in both forms, made once."""
    binary, ascii_rows = (options.corpus / name for name in ("tera.bin", "tera.txt"))
    for path, form in ((binary, ()), (ascii_rows, ("--ascii",))):
        if not path.exists() or path.stat().st_size != options.rows * ROW_BYTES:
            argv = [options.tegula, "teragen", str(options.rows), *form, "-o", path]
            subprocess.run(argv, check=True)
    return binary, ascii_rows


def programs_of(
    options: argparse.Namespace, binary: Path, ascii_rows: Path
) -> list[Program]:
    copied = options.corpus / f"{COPY.replace(' ', '-')}.sorted"
    dd = ("dd", "bs=256K", "status=none", f"if={binary}", f"of={copied}")
    tegula, programs = (
        str(options.tegula),
        [Program(COPY, 1, binary, dd, fresh_bytes=FRESH_BYTES)],
    )
    for workers in (1, 2):

        def add(name: str, source: Path, *argv: str, workers: int = workers) -> None:
            # Each to a new file: to replace a file takes time to remove the old one.
            new = f"{name.replace(' ', '-')}-{workers}.sorted"
            out = str(options.corpus / new)
            programs.append(
                Program(
                    name,
                    workers,
                    source,
                    (*argv, str(source), "-o", out),
                    {"LC_ALL": "C"},
                    fresh_bytes=FRESH_BYTES,
                )
            )

        records = (tegula, "sort", "-j", str(workers), "--records", "terasort")
        add(GNU, ascii_rows, "sort", f"--parallel={workers}", "-T", str(options.corpus))
        add(LINES, ascii_rows, tegula, "sort", "-j", str(workers))
        add(RECORDS, binary, *records)
        limits = ("--memory", str(LIMIT_BYTES), "--scratch", str(options.corpus))
        add(LIMITED, binary, *records, *limits)
    return programs


def output_of(one: Measured) -> Path:
    return Path(one.program.argv[-1].removeprefix("of="))


def check_and_remove(measured: list[Measured]) -> None:
    """Raises `Failed` where an output is not the right one; then makes room for the next round."""
    lines: Path | None = None
    for one in measured:
        name, source, out = one.program.name, one.program.input, output_of(one)
        if name == COPY:
            if not filecmp.cmp(source, out, shallow=False):
                raise Failed(f"{name}: not the bytes of {source.name}")
        elif name in (RECORDS, LIMITED):
            found = validated(one.program.argv[0], out)
            if found != contents(source):
                raise Failed(f"{name}: {found} and not {contents(source)}")
        elif lines is None:
            lines = out
            if rows_of(lines) != contents(source):
                raise Failed(f"{name}: not the lines of {source.name}")
        elif not filecmp.cmp(lines, out, shallow=False):
            raise Failed("GNU sort and tegula give different lines")
    for one in measured:
        os.remove(output_of(one))


def validated(tegula: str, path: Path) -> tuple[int, int]:
    """The number and the checksum of records, of which tegula says that they are in order."""
    argv = [tegula, "teravalidate", str(path)]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{path.name}: {done.stderr.strip()}")
    said = dict(line.split() for line in done.stdout.splitlines())
    return int(said["records"]), int(said["checksum"], 16)


def rows_of(path: Path) -> tuple[int, int]:
    """The number of rows in a file, and the sum of their CRC-32s: the same in any order."""
    count = total = 0
    with path.open("rb") as file:
        while row := file.read(ROW_BYTES):
            count += 1
            total += zlib.crc32(row)
    return count, total


@cache
def contents(source: Path) -> tuple[int, int]:
    """As `rows_of`, once for each input."""
    return rows_of(source)


def report(measured: list[Measured]) -> str:
    rows = []
    for one in measured:
        gnu = next(
            other
            for other in measured
            if other.program.name == GNU
            and other.program.workers == one.program.workers
        )
        rows.append(
            [
                one.program.name,
                str(one.program.workers),
                one.spread(lambda sample: sample.cpu_s),
                one.spread(lambda sample: sample.cpu_user_s),
                one.spread(lambda sample: sample.wall_s),
                f"{one.megabytes_per_cpu_s:.0f}",
                f"{gnu.cpu_s / one.cpu_s:.1f} / {gnu.wall_s / one.wall_s:.1f}",
                f"{one.resident_peak_bytes / 1e6:.0f}",
            ]
        )
    heads = [
        "program",
        "workers",
        "CPU s",
        "of which user",
        "wall s",
        "MB per CPU s",
        "times GNU sort, CPU / wall",
        "peak MB",
    ]
    return table(heads, rows)


def promises(measured: list[Measured]) -> list[tuple[str, bool]]:
    """What is promised, and whether it held."""
    of = {(one.program.name, one.program.workers): one for one in measured}
    rate = of[RECORDS, 1].megabytes_per_cpu_s
    ratio = of[GNU, 2].wall_s / of[LINES, 2].wall_s
    peak = max(of[LIMITED, workers].resident_peak_bytes for workers in (1, 2))
    return [
        (
            f"{rate:.0f} MB per CPU s, at least {MEGABYTES_PER_CPU_S_LEAST}",
            rate >= MEGABYTES_PER_CPU_S_LEAST,
        ),
        (
            f"{ratio:.1f} times GNU sort --parallel=2, at least {RATIO_LEAST}",
            ratio >= RATIO_LEAST,
        ),
        (f"peak {peak} bytes, at most {LIMIT_BYTES}", peak <= LIMIT_BYTES),
    ]


def main() -> int:
    parser = arguments("Measure tegula's sort beside GNU sort.", "sort.json")
    parser.add_argument(
        "--rows", type=int, default=10_000_000, help="records (10,000,000)"
    )
    options = parser.parse_args()
    options.tegula = options.tegula.resolve()
    options.corpus.mkdir(parents=True, exist_ok=True)
    programs = programs_of(options, *generate(options))
    measured = interleaved(programs, options.runs, check_and_remove)
    print(report(measured))
    held = promises(measured)
    for text, holds in held:
        print(f"{'held' if holds else 'NOT HELD'}: {text}")
    versions = {
        "tegula": version_of(options.tegula),
        "sort": first_line(["sort", "--version"]),
    }
    write_results(options.out, measured, versions)
    return 0 if all(holds for _, holds in held) else 1


if __name__ == "__main__":
    run_script(main)
