#!/usr/bin/env python3
"""Units of a device by their size, beside the size that is found: table 1 and figure 8 of the paper on asymmetric clusters.

Takes the program `gpu` of the bench crate and names of devices: PoCL, which is the processor itself, a GPU, or `emulated`,
nodes like those of the paper that page above a size of unit. Each fixed size is one that a person could have set; the found
one begins without knowledge. Prints a table and writes the raw results.

    python3 bench/compare/device_units.py --binary target/release/gpu --devices emulated cpu
"""

import argparse
import json
import subprocess
from pathlib import Path
from statistics import median

from measure import Failed, run_script, table, write_rows

HERE = Path(__file__).parent


def rows_of(runs: list[dict]) -> list[list[str]]:
    rows = []
    for device, job in dict.fromkeys((run["device"], run["job"]) for run in runs):
        of = [run for run in runs if (run["device"], run["job"]) == (device, job)]
        fixed: dict[int, list[float]] = {}
        for run in of:
            if run["fixed_bytes"] is not None:
                # What memory had room for, of the size that was set.
                fixed.setdefault(run["unit_bytes"], []).append(run["span_s"])
        best = min(fixed, key=lambda size: median(fixed[size]))
        found = [run for run in of if run["fixed_bytes"] is None]
        span = median(run["span_s"] for run in found)
        rows.append(
            [
                device,
                job,
                f"{best >> 10} KiB",
                f"{median(run['unit_bytes'] for run in found) / 1024:.0f} KiB",
                f"{median(run['sizing_units'] for run in found):.0f}",
                f"{median(run['sizing_s'] for run in found):.4f}",
                f"{span:.3f}",
                f"{span / median(fixed[best]):.3f}",
            ]
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure units of devices.")
    parser.add_argument("--binary", type=Path, required=True, help="bench/gpu, built")
    parser.add_argument("--devices", nargs="+", default=["emulated"])
    parser.add_argument("--runs", type=int, default=5, help="runs of each (5)")
    default = HERE.parent / "results/device_units.json"
    parser.add_argument("--out", type=Path, default=default)
    options = parser.parse_args()
    if not options.binary.is_file():
        raise Failed(f"no program at {options.binary}: run `make bench-units`")
    argv = [str(options.binary), "units", str(options.runs), *options.devices]
    run = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        raise Failed(f"{' '.join(argv)} ended with {run.returncode}")
    runs = [json.loads(line) for line in run.stdout.splitlines()]
    heads = ["device", "job", "best fixed", "found", "units tried", "in, s"]
    print(table([*heads, "run, s", "of the best"], rows_of(runs)))
    write_rows(options.out, runs, {})
    return 0


if __name__ == "__main__":
    run_script(main)
