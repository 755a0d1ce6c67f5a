#!/usr/bin/env python3
"""SystemML's programs over 1, 2 and 4 places, beside the engine in one JVM and Hadoop's local runner: whole processes.

Page rank, linear regression and a factorization, as in figures 9 to 11 of the paper on M3R. SystemML is unmodified and compiles
each program to jobs (`-exec hadoop`). Outputs are compared up to the last digits of floating-point numbers.

    python3 hadoop/bench/systemml.py --runs 3
"""

import argparse
import math
import statistics
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from jvm import (
    HADOOP,
    SETTINGS,
    Run,
    as_raw,
    class_path,
    dependencies,
    measure,
    write_results,
)
from places import SYSTEMS, fresh
from sequences import OPTIONS

SCRIPTS = HADOOP / "bench" / "systemml"
MAIN = "org.apache.sysml.api.DMLScript"


def one(
    system: str, script: str, folder: Path, size: int, iterations: int, heap: str
) -> tuple[Run, dict[str, float]]:
    """Runs a script in a folder of its own; gives back the numbers that it has written."""
    work = fresh(folder)
    work.mkdir()
    framework, places = SYSTEMS[system]
    settings = (
        f"mapreduce.framework.name={framework}",
        f"hadoop.tmp.dir={folder / 'tmp'}",
        "mapreduce.job.reduces=4",
        *SETTINGS[framework],
        *OPTIONS,
        *places,
    )
    configure(work / "conf", settings)
    path = (str(work / "conf"), class_path("tegula"), dependencies(SCRIPTS))
    command = ["java", f"-Xmx{heap}", "-cp", ":".join(path), MAIN]
    command += ["-f", str(SCRIPTS / f"{script}.dml"), "-exec", "hadoop", "-nvargs"]
    command += [f"n={size}", f"iterations={iterations}", f"out={work / 'out'}"]
    done = measure(command)
    if ("JobTracker metrics" in done.printed) != (framework == "local"):
        sys.exit(f"{script}: the jobs of {system} ran elsewhere")
    written = work / "out"
    files = sorted(written.glob("[!_.]*")) if written.is_dir() else [written]
    numbers = {}
    for file in files:
        for line in file.read_text().splitlines():
            row, column, number = line.split()
            numbers[f"{row} {column}"] = float(number)
    return done, numbers


def configure(folder: Path, settings: tuple[str, ...]) -> None:
    """Writes Hadoop's file of settings: SystemML's jobs do not see those of the command line."""
    folder.mkdir()
    root = ElementTree.Element("configuration")
    for name, value in (each.split("=", 1) for each in settings):
        each = ElementTree.SubElement(root, "property")
        ElementTree.SubElement(each, "name").text = name
        ElementTree.SubElement(each, "value").text = value
    ElementTree.ElementTree(root).write(folder / "mapred-site.xml")


def is_alike(one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether two matrices differ in the last digits alone."""
    return one.keys() == other.keys() and all(
        math.isclose(each, other[place], rel_tol=1e-6) for place, each in one.items()
    )


def main() -> None:
    """Measures in turns and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--heap", default="4g")
    options = parser.parse_args()
    raw: list[dict[str, object]] = []
    print("| program | system | wall, s | processor, s |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for script in ("pagerank", "regression", "gnmf"):
            runs: dict[str, list[Run]] = {each: [] for each in SYSTEMS}
            for _ in range(options.runs):
                right: dict[str, float] | None = None
                for system in SYSTEMS:
                    done, numbers = one(
                        system,
                        script,
                        Path(name),
                        options.size,
                        options.iterations,
                        options.heap,
                    )
                    runs[system].append(done)
                    raw.append(as_raw(done, what=script, system=system))
                    right = right or numbers
                    if not is_alike(right, numbers):
                        sys.exit(f"{script}: the outputs of {system} differ")
                write_results("systemml", raw)
            for system, each in runs.items():
                wall = statistics.median(run.wall_s for run in each)
                used = statistics.median(run.cpu_s for run in each)
                print(f"| {script} | {system} | {wall:.1f} | {used:.1f} |", flush=True)


if __name__ == "__main__":
    main()
