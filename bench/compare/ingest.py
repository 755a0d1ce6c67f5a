#!/usr/bin/env python3
"""Measures reading that overlaps mapping, from a source of a given rate and from a cold file.

Takes a folder with a text and a longer one that is read cold, and the program `ingest` of the bench crate; prints
its tables, and whether both together took at most 1.05 of the longer of reading and computing, and of the least that is
possible: where the map does not cost the same all along, or processors are busy with both. The engine's own choice of a
split's size is held to the same beside the best fixed one. Of a cold file the better of both ways to read it counts.
Writes all that was printed.

    python3 bench/compare/ingest.py --corpus bench/corpus --binary target/release/ingest
"""

import argparse
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from measure import COMMIT_BEFORE, Failed, machine, run_script, table

LATENCY_MS = 5
MOST = 1.05


def printed_by(*argv: object) -> str:
    run = subprocess.run(
        list(map(str, argv)), capture_output=True, text=True, check=True
    )
    return run.stdout


def rows_of(printed: str) -> list[list[str]]:
    return [line.split("\t") for line in printed.splitlines()]


def verdict(holds: bool, said: str) -> str:
    return f"- {'yes' if holds else 'NO'}: {said}, at most {MOST}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what reading hides.")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--text", default="source256.txt")
    parser.add_argument("--cold-text", default="letters.txt")
    default = Path(__file__).parent.parent / "results" / "ingest.json"
    parser.add_argument("--out", type=Path, default=default)
    options = parser.parse_args()
    if not options.binary.is_file():
        raise Failed(f"no program at {options.binary}: run `make bench-ingest`")
    raw = {}
    for workers in (1, 2):
        text = options.corpus / options.text
        rows = rows_of(
            printed_by(options.binary, text, workers, options.runs, LATENCY_MS)
        )
        cut = next(place for place, row in enumerate(rows) if row[0] == "split")
        rates, sizes = rows[:cut], rows[cut:]
        print(f"### {workers} workers\n\n{table(rates[0], rates[1:])}\n")
        for job, of, column in (
            ("beginnings", "the longer one", -2),
            ("beginnings", "the least possible", -1),
            ("words", "the longer one", -2),
            ("words", "the least possible", -1),
        ):
            worst = max(float(row[column]) for row in rates[1:] if row[0] == job)
            print(verdict(worst <= MOST, f"{job}: both took {worst:.3f} of {of}"))
        print(f"\n{table(sizes[0], sizes[1:])}\n")
        times = {row[0]: float(row[1]) for row in sizes[1:]}
        auto = times.pop("auto")
        ratio = auto / min(times.values())
        print(verdict(ratio <= MOST, f"auto took {ratio:.3f} of the best size") + "\n")
        text = options.corpus / options.cold_text
        cold = rows_of(printed_by(options.binary, "cold", text, workers, options.runs))
        print(table(cold[0], cold[1:]) + "\n")
        for of, column in (("the longer one", 5), ("the least possible", 6)):
            ratio = min(float(row[column]) for row in cold[1:])
            print(verdict(ratio <= MOST, f"a cold file took {ratio:.3f} of {of}"))
        print()
        raw[f"workers {workers}"] = {"rates": rates, "sizes": sizes, "cold": cold}
    results = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": COMMIT_BEFORE,
        "machine": machine(),
        "runs": options.runs,
        "latency_ms": LATENCY_MS,
        "measured": raw,
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    run_script(main)
