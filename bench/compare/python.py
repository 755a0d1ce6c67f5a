#!/usr/bin/env python3
"""Tegula's Python package beside the other libraries that a person would take: Polars, DuckDB, Dask, Ray, Spark, mrjob.

Takes two texts, and a number of runs; prints Markdown tables and writes the raw results. It must never report a time
of a program whose answer differs from the others': the top ten words and the sum of all means are compared. CPU seconds
and memory are of all processes, daemons that a library leaves behind among them. The libraries that take minutes read
a tenth of each text, in fewer runs; each row of the table says so.

    bench/.venv-python/bin/python bench/compare/python.py --corpus bench/corpus --runs 3
"""

import argparse
import ast
import json
import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from measure import (
    Answer,
    Failed,
    Measured,
    Program,
    first_lines,
    interleaved,
    run_script,
    table,
    versions_of,
    without_folders,
    write_results,
)

HERE = Path(__file__).parent / "python"
TEXTS = {"word_count": "zipf100.txt", "mean_by_host": "requests.txt"}
TITLES = {
    "word_count": "the ten most frequent words",
    "mean_by_host": "mean of a field by host",
}
# Each with its module, and how its jobs are called beyond the job's name.
LIBRARIES = {
    "Tegula: its own map": ("jobs_tegula", ""),
    "Tegula: `map_native`, Numba": ("jobs_tegula", "_native"),
    "Tegula: `map_arrow`": ("jobs_tegula", "_arrow"),
    "Tegula: `map_split`": ("jobs_tegula", "_split"),
    "Tegula: `map`, a line at a time": ("jobs_tegula", "_map"),
    "Polars": ("jobs_polars", ""),
    "DuckDB": ("jobs_duckdb", ""),
    "PySpark": ("jobs_spark", ""),
    "Ray Data": ("jobs_ray", ""),
    "Dask bag": ("jobs_dask", ""),
    "mrjob, inline": ("jobs_mrjob", ""),
    "plain Python": ("jobs_plain", ""),
}
PACKAGES = [
    "tegula",
    "polars",
    "duckdb",
    "pyspark",
    "ray",
    "dask",
    "mrjob",
    "numba",
    "numpy",
    "pyarrow",
]
TINY_LINES = 50
SMALL_LINES = 20_000
# They read a tenth, and run so often at most.
SLOW = ("PySpark", "Ray Data", "Dask bag", "mrjob, inline")
SLOW_RUNS_MOST = 3
# A loaded machine takes longer to start Ray's processes than it waits by default; and no other machine is to log in.
RAY = {"RAY_raylet_start_wait_time_s": "300", "RAY_AUTH_MODE": "disabled"}


def lines_of_code(module: str, job: str) -> int:
    """Lines of a job's body, and of a class of the same name, that are not blank."""
    path = HERE / f"{module}.py"
    text = path.read_text()
    lines = text.splitlines()
    named = {job, job.title().replace("_", "")}
    count = 0
    for node in ast.parse(text).body:
        if getattr(node, "name", None) in named:
            body = lines[node.body[0].lineno - 1 : node.end_lineno]
            count += sum(1 for line in body if line.strip())
    return count


def functions_of(module: str) -> set[str]:
    nodes = ast.parse((HERE / f"{module}.py").read_text()).body
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def read_answer(printed: str) -> Answer:
    """What `run_job.py` prints last."""
    answer = json.loads(printed.splitlines()[-1])
    if isinstance(answer[0], list):
        return Answer(top=tuple((word, count) for word, count in answer))
    hosts, total = answer
    return Answer(keys=hosts, top=(("sum of means", round(total)),))


def programs_of(job: str, path: Path, only: list[str]) -> list[Program]:
    programs = []
    for name, (module, suffix) in LIBRARIES.items():
        wanted = not only or any(one.lower() in name.lower() for one in only)
        if not wanted or job + suffix not in functions_of(module):
            continue
        argv = (
            sys.executable,
            str(HERE / "run_job.py"),
            module,
            job + suffix,
            str(path),
        )
        environment = {
            "PYTHONPATH": str(HERE),
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
            **RAY,
        }
        workers = len(os.sched_getaffinity(0))
        programs.append(
            Program(name, workers, path, argv, environment, read_answer, None, True)
        )
    return programs


def check_same(measured: list[Measured]) -> None:
    """Raises `Failed` where two libraries differ."""
    for first, one in pairwise(measured):
        if one.answer != first.answer:
            raise Failed(
                f"{one.program.name} and {first.program.name} differ:\n{one.answer}\n{first.answer}"
            )


def tenth_of(path: Path, out: Path) -> Path:
    """The first tenth of a text, to the end of a line."""
    left = path.stat().st_size // 10
    with path.open("rb") as lines, out.open("wb") as tenth:
        while left > 0:
            line = lines.readline()
            tenth.write(line)
            left -= len(line)
    return out


def that_run(
    programs: list[Program], runs: int, left_out: dict[str, str]
) -> list[Measured]:
    """Runs programs one after another; those that fail are said, and left out of the comparison."""
    able = []
    for program in programs:
        try:
            able += interleaved([program], runs)
        except Failed as failure:
            reason = without_folders(str(failure).splitlines()[-1])
            print(f"left out: {program.name}: {reason}", file=sys.stderr)
            left_out[f"{program.name}, {program.input.name}"] = reason
    check_same(able)
    return able


def compared(
    job: str,
    text: Path,
    folder: Path,
    options: argparse.Namespace,
    left_out: dict[str, str],
) -> tuple[list[Measured], list[Measured]]:
    """What each library takes for a job, and for its first lines, which is mostly its start."""
    tiny = first_lines(text, folder / f"tiny_{text.name}", TINY_LINES)
    tenth = tenth_of(text, folder / f"tenth_{text.name}")
    slow_runs = min(options.runs, SLOW_RUNS_MOST)

    def of(path: Path, slow: bool, names: set[str] | None = None) -> list[Program]:
        programs = programs_of(job, path, options.only)
        return [
            program
            for program in programs
            if (program.name in SLOW) == slow
            and (names is None or program.name in names)
        ]

    started = that_run(of(tiny, False), options.runs, left_out)
    started += that_run(of(tiny, True), 1, left_out)
    check_same(started)
    names = {one.program.name for one in started}
    full = interleaved(of(text, False, names), options.runs, check_same)
    slow = of(tenth, True, names)
    if slow:
        # Beside one run of what the answer is.
        known = interleaved(programs_of(job, tenth, ["plain Python"]), 1)
        slowly = that_run(slow, slow_runs, left_out)
        check_same(known + slowly)
        full += slowly
    return started, full


def report(job: str, measured: list[Measured], tiny: list[Measured]) -> str:
    starts = {one.program.name: one for one in tiny}
    rows = []
    for one in measured:
        module, suffix = LIBRARIES[one.program.name]
        rows.append(
            [
                one.program.name,
                str(lines_of_code(module, job + suffix)),
                f"{one.input_bytes / 1e6:.0f}",
                str(len(one.samples)),
                one.spread(lambda sample: sample.cpu_s, 1),
                one.spread(lambda sample: sample.wall_s, 1),
                f"{one.resident_peak_bytes / 1e6:.0f}",
                f"{starts[one.program.name].wall_s:.2f}",
            ]
        )
    heads = [
        "library",
        "lines",
        "MB",
        "runs",
        "CPU s",
        "wall s",
        "peak MB",
        "start-up s",
    ]
    return f"### {TITLES[job]}\n\n{table(heads, rows)}\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare Python libraries.")
    parser.add_argument("--corpus", type=Path, required=True, help="folder of texts")
    parser.add_argument("--runs", type=int, default=5, help="runs of each (5)")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument(
        "--small", action="store_true", help="few lines; keeps no results"
    )
    parser.add_argument(
        "--out", type=Path, default=HERE.parents[1] / "results/python_compare.json"
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    versions = versions_of(PACKAGES)
    everything, left_out = [], {}
    with tempfile.TemporaryDirectory(dir=options.corpus) as scratch:
        for job, name in TEXTS.items():
            text, folder = options.corpus / name, Path(scratch)
            if options.small:
                text = first_lines(text, folder / name, SMALL_LINES)
            started, full = compared(job, text, folder, options, left_out)
            print(report(job, full, started), flush=True)
            everything += started + full
    for name, reason in left_out.items():
        print(f"Left out: {name}: {reason}")
    if not options.small:
        also = {"left_out": left_out}
        write_results(options.out, everything, versions, also)
    return 0


if __name__ == "__main__":
    run_script(main)
