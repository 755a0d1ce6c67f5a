#!/usr/bin/env python3
"""Stations: tegula against DuckDB and Polars on the measurements of the One Billion Row Challenge, and against the two
fastest entries of the challenge where their classes and a Java 21 are given.

python3 bench/compare/stations.py --corpus bench/corpus --tegula target/release/tegula \\
    --entries CLASSES --java JAVA
"""

import argparse
import re
from pathlib import Path

from lines import Comparison, answer_file, main, of
from measure import Measured, Program

MEGABYTES_PER_CPU_S = 880
# Means are rounded to tenths by tegula, and not by its peers.
HALF_A_TENTH = 0.0500001

# The flags that their scripts give; without a worker process of their own, whose end they would not wait for.
ENTRIES = {
    "thomaswue": ("--enable-preview",),
    "artsiomkorzun": (
        "--enable-preview",
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-XX:-TieredCompilation",
    ),
}

Figures = dict[str, tuple[float, float, float]]


def figures_of(path: Path) -> Figures:
    """Least, mean and greatest by name, in the challenge's form or as tab-separated lines."""
    text = path.read_text().rstrip("\n")
    if text.startswith("{"):
        # Names may hold a comma and a space.
        rows = re.findall(r"(.+?)=([-\d.]+)/([-\d.]+)/([-\d.]+)(?:, |})", text[1:])
    else:
        rows = [line.split("\t") for line in text.splitlines()]
    return {
        name: (float(least), float(mean), float(greatest))
        for name, least, mean, greatest in rows
    }


def same(expected: Path, other: Path) -> str | None:
    ours, theirs = figures_of(expected), figures_of(other)
    if ours.keys() != theirs.keys():
        return f"{len(ours)} names and {len(theirs)}"
    for name, (least, mean, greatest) in ours.items():
        their_least, their_mean, their_greatest = theirs[name]
        exact = (least, greatest) == (their_least, their_greatest)
        if not exact or abs(mean - their_mean) > HALF_A_TENTH:
            return f"{name}: {ours[name]} and {theirs[name]}"
    return None


def targets(measured: list[Measured]) -> list[tuple[str, bool]]:
    rate = of(measured, "tegula", 1).megabytes_per_cpu_s
    text = f"{MEGABYTES_PER_CPU_S} MB per CPU second with one worker: {rate:.0f}"
    return [(text, rate >= MEGABYTES_PER_CPU_S)]


def entries_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=Path, help="classes of the challenge")
    parser.add_argument("--java", type=Path, help="a Java 21 to run them")


def entries(options: argparse.Namespace, workers: int, folder: Path) -> list[Program]:
    if options.entries is None:
        return []
    text = options.corpus / "stations.txt"
    # They read a file of this name in the current folder.
    measurements = folder / "measurements.txt"
    if not measurements.is_symlink():
        measurements.symlink_to(text.resolve())
    programs = []
    for entry, flags in ENTRIES.items():
        name = f"Java, {entry}"
        java = [str(options.java.absolute()), *flags]
        java += [f"-XX:ActiveProcessorCount={workers}"]
        java += ["-cp", str(options.entries.absolute())]
        java += [f"dev.morling.onebrc.CalculateAverage_{entry}", "--worker"]
        out = answer_file(folder, name, workers)
        shell = f'cd "{folder}" && exec "$0" "$@" > "{out}"'
        programs.append(Program(name, workers, text, ("sh", "-c", shell, *java)))
    return programs


if __name__ == "__main__":
    main(
        Comparison(
            "stations",
            "stations.txt",
            ("stations",),
            "stations",
            same,
            targets,
            entries,
            entries_arguments,
        )
    )
