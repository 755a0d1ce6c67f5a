#!/usr/bin/env python3
"""The comparison of Python libraries as tables, made from the raw results.

Reads `bench/results/python_compare.json` and `python_reach.json` as `make bench-python` left them, and replaces the
tables in the README between their marks. It measures nothing and computes only medians. With --check it only compares.

    python3 bench/compare/python_tables.py
"""

import argparse
import json
import sys
from statistics import median

from chart import ROOT, with_part
from measure import run_script, short, table, write_pages

from python import LIBRARIES, TEXTS, TITLES, lines_of_code

MARKS = {
    "compare": ("<!-- python libraries -->\n", "<!-- end of python libraries -->"),
    "reach": ("<!-- python figures -->\n", "<!-- end of python figures -->"),
}


def middle(samples: list[dict[str, float]], *names: str) -> float:
    return median(sum(sample[name] for name in names) for sample in samples)


def compared(results: dict[str, object]) -> str:
    """A table of each job, and what was left out."""
    parts = []
    for job, text in TEXTS.items():
        runs = [run for run in results["runs"] if run["input"].endswith(text)]
        starts = {
            run["program"]: middle(run["samples"], "wall_s")
            for run in runs
            if run["input"].startswith("tiny_")
        }
        rows = []
        for run in runs:
            name, samples = run["program"], run["samples"]
            if run["input"].startswith("tiny_"):
                continue
            module, suffix = LIBRARIES[name]
            rows.append(
                [
                    name,
                    str(lines_of_code(module, job + suffix)),
                    f"{run['input_bytes'] / 1e6:.0f}",
                    str(len(samples)),
                    f"{middle(samples, 'cpu_user_s', 'cpu_system_s'):.1f}",
                    f"{middle(samples, 'wall_s'):.1f}",
                    f"{max(one['resident_peak_bytes'] for one in samples) / 1e6:.0f}",
                    f"{starts[name]:.1f}",
                ]
            )
        heads = ["library", "lines", "MB", "runs", "CPU s", "wall s", "peak MB"]
        parts.append(
            f"{TITLES[job].capitalize()}:\n\n{table([*heads, 'start-up s'], rows)}\n"
        )
    left_out = [f"{name} ({why})" for name, why in results["left_out"].items()]
    if left_out:
        parts.append(f"Left out: {'; '.join(left_out)}.\n")
    return "\n".join([about(results), *parts])


def about(results: dict[str, object]) -> str:
    machine, load = results["machine"], results["load_before"][0]
    return (
        f"{machine['cores']} cores of an {machine['cpu']}, load average {load:.1f} before, "
        f"commit {short(results['commit'])}.\n"
    )


def reached(results: dict[str, object]) -> str:
    rows = []
    for row in results["runs"]:
        measured = row["why_not"] or f"{row['figure']:.3g} {row['unit']}"
        sign = "≥" if row["is_least"] else "≤"
        rows.append([row["name"], measured, f"{sign} {row['goal']:g}"])
    return f"{about(results)}\n{table(['figure', 'measured', 'goal'], rows)}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the tables of libraries.")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    readme = ROOT / "README.md"
    text = readme.read_text()
    for name, made in (("compare", compared), ("reach", reached)):
        path = ROOT / f"bench/results/python_{name}.json"
        if path.exists():
            text = with_part(text, made(json.loads(path.read_text())), MARKS[name])
        else:
            print(
                f"{path.name} is not there: `make bench-python` makes it",
                file=sys.stderr,
            )
    return write_pages({readme: text}, options.check)


if __name__ == "__main__":
    run_script(main)
