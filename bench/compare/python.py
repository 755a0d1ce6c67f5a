#!/usr/bin/env python3
"""Tegula's Python package beside the other libraries that a person would take: Polars, DuckDB, Dask, Ray, Spark, mrjob.

Takes two texts, and a number of runs; prints Markdown tables and writes the raw results. It must never report a time
of a program whose answer differs from the others': the top ten words and the sum of all means are compared. CPU seconds
and memory are of all processes, daemons that a library leaves behind among them.

    bench/.venv-python/bin/python bench/compare/python.py --corpus bench/corpus --runs 3
"""

import argparse
import ast
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from measure import (
    Answer,
    Failed,
    Measured,
    Program,
    interleaved,
    machine,
    run_script,
    table,
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
        }
        workers = len(os.sched_getaffinity(0))
        programs.append(
            Program(name, workers, path, argv, environment, read_answer, None, True)
        )
    return programs


def check_same(measured: list[Measured]) -> None:
    """Raises `Failed` where two libraries differ."""
    first = measured[0]
    for one in measured[1:]:
        if one.answer != first.answer:
            raise Failed(
                f"{one.program.name} and {first.program.name} differ:\n{one.answer}\n{first.answer}"
            )


def tiny_of(path: Path, out: Path) -> Path:
    """The first lines of a text: what a run of them takes is the start of a program."""
    with path.open("rb") as lines, out.open("wb") as tiny:
        tiny.writelines(next(lines) for _ in range(TINY_LINES))
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
            reason = str(failure).splitlines()[-1]
            print(f"left out: {program.name}: {reason}", file=sys.stderr)
            left_out[f"{program.name}, {program.input.name}"] = reason
    check_same(able)
    return able


def report(job: str, measured: list[Measured], tiny: list[Measured]) -> str:
    starts = {one.program.name: one for one in tiny}
    rows = []
    for one in measured:
        module, suffix = LIBRARIES[one.program.name]
        rows.append(
            [
                one.program.name,
                str(lines_of_code(module, job + suffix)),
                one.spread(lambda sample: sample.cpu_s, 1),
                one.spread(lambda sample: sample.wall_s, 1),
                f"{one.resident_peak_bytes / 1e6:.0f}",
                f"{starts[one.program.name].wall_s:.2f}",
            ]
        )
    heads = ["library", "lines", "CPU s", "wall s", "peak MB", "start-up s"]
    size = measured[0].input_bytes
    return f"### {TITLES[job]}, {size / 1e6:,.0f} MB\n\n{table(heads, rows)}\n"


def reach(options: argparse.Namespace, zipf: Path, tiny: Path) -> list[object]:
    """Runs `python/reach.py`, and returns its rows."""
    distinct = options.corpus / "distinct.txt"
    argv = [sys.executable, HERE / "reach.py", zipf, distinct, tiny, str(options.runs)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
        rows = []
        for line in program.stdout:
            rows.append(json.loads(line))
            print(line, end="", flush=True)
    if program.returncode != 0:
        raise Failed(f"reach.py: exit code {program.returncode}")
    return rows


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare Python libraries.")
    parser.add_argument("--corpus", type=Path, required=True, help="folder of texts")
    parser.add_argument("--runs", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--no-reach", action="store_true", help="leave out reach.py")
    parser.add_argument(
        "--out", type=Path, default=HERE.parents[1] / "results/python_compare.json"
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    versions = {name: version(name) for name in PACKAGES}
    everything, left_out, before = [], {}, machine()
    for job, text in TEXTS.items():
        path = options.corpus / text
        tiny = tiny_of(path, options.corpus / f"tiny_{text}")
        programs = programs_of(job, tiny, options.only)
        small = that_run(programs, options.runs, left_out)
        names = {one.program.name for one in small}
        programs = programs_of(job, path, options.only)
        programs = [program for program in programs if program.name in names]
        full = interleaved(programs, options.runs, check_same)
        print(report(job, full, small), flush=True)
        everything += small + full
    zipf, tiny = (options.corpus / name for name in ("zipf100.txt", "tiny_zipf100.txt"))
    rows = [] if options.no_reach else reach(options, zipf, tiny)
    also = {
        "load_before": before["load_average"],
        "left_out": left_out,
        "reach": rows,
    }
    write_results(options.out, everything, versions, also)
    return 0


if __name__ == "__main__":
    run_script(main)
