#!/usr/bin/env python3
"""Measures every container on the four workloads of Metis (section 5.4), by counting their words and by an inverted
index, which is what the paper measures; and their map alone.

Takes the folder of the texts and the binary of `bench/containers`; prints the tables of CPU times,
container by workload, writes the raw results, and ends with exit code 1 where the adaptive container
takes more than 10 % longer than the best of the others, one worker or two. Containers whose answers
differ stop it.

    python3 bench/compare/containers.py --corpus bench/corpus --binary target/release/containers
"""

import argparse
import tempfile
from pathlib import Path

from measure import (
    Answer,
    Failed,
    Measured,
    Program,
    first_line,
    interleaved,
    run_script,
    table,
    write_results,
)

HERE = Path(__file__).parent
WORKLOADS = {
    "few": "few keys, many repeats",
    "many": "many keys, few repeats",
    "both": "many keys, many repeats",
    "misled": "unpredictable",
}
ADAPTIVE = "adaptive"
FIXED = ("hash", "append", "tree", "hash-tree-256", "hash-tree")
# The container of Metis, whose size is predicted.
PREDICTED = "hash-tree"
# The index is measured with all workers alone: its trees take minutes. `map` emits nothing: it is the application's part
# of the other jobs, of which the adaptive container is measured beside it.
WORKERS = {"count": (1, 2), "index": (2,), "map": (2,)}
MOST_OVER_BEST = 1.10


def read_sum(printed: str) -> Answer:
    """Words, distinct words, and the sum over the answer."""
    words, keys, total = printed.split()
    return Answer(words=int(words), keys=int(keys), top=(("sum", int(total)),))


def containers_of(options: argparse.Namespace, job: str) -> tuple[str, ...]:
    if job != "map" and job in options.jobs:
        return (ADAPTIVE, *FIXED)
    return (ADAPTIVE,) if "map" in options.jobs else ()


def programs_of(
    options: argparse.Namespace, job: str, prediction: Path
) -> list[Program]:
    programs = []
    for workload in options.workloads:
        path = options.corpus / f"{workload}.txt"
        if not path.is_file():
            raise Failed(f"no text at {path}: make it with bench/corpus.py {workload}")
        for workers in WORKERS[job] if job in options.jobs else WORKERS["map"]:
            for container in containers_of(options, job):
                argv = (str(options.binary), container, job, str(workers), str(path))
                is_predicted = container == PREDICTED
                program = Program(
                    container,
                    workers,
                    path,
                    (*argv, str(prediction)) if is_predicted else argv,
                    read_answer=read_sum,
                    stats=prediction if is_predicted else None,
                )
                programs.append(program)
    return programs


def check_same(measured: list[Measured]) -> None:
    """All containers give the same answer on the same text."""
    first: dict[Path, Measured] = {}
    for one in measured:
        other = first.setdefault(one.program.input, one)
        if one.answer != other.answer:
            raise Failed(
                f"{one.program.name} says {one.answer} of {one.program.input.name}, "
                f"{other.program.name} {other.answer}"
            )


def cell(one: Measured, best: float) -> str:
    mark = "**" if one.cpu_s == best else ""
    return f"{mark}{one.spread(lambda sample: sample.cpu_s)}{mark}"


def report(
    measured: list[Measured], job: str, workloads: list[str]
) -> tuple[str, bool]:
    """The table, and whether the adaptive container is close enough to the best everywhere."""
    rows, close = [], True
    for workload in workloads:
        for workers in WORKERS[job]:
            row = {
                one.program.name: one
                for one in measured
                if one.program.input.stem == workload and one.program.workers == workers
            }
            best = min(row[container].cpu_s for container in FIXED)
            over = row[ADAPTIVE].cpu_s / best
            close = close and over <= MOST_OVER_BEST
            answer = row[ADAPTIVE].answer
            rows.append(
                [
                    WORKLOADS[workload],
                    f"{answer.words or 0:,}",
                    f"{answer.keys or 0:,}",
                    str(workers),
                    *(cell(row[container], best) for container in FIXED),
                    cell(row[ADAPTIVE], -1),
                    f"{over:.2f}",
                ]
            )
    heads = [f"{job}, CPU s", "pairs", "keys", "workers"]
    return table([*heads, *FIXED, ADAPTIVE, "over best"], rows), close


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the containers.")
    parser.add_argument("--corpus", type=Path, required=True, help="folder of texts")
    parser.add_argument(
        "--binary", type=Path, required=True, help="bench/containers, built"
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each (5)")
    parser.add_argument(
        "--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS)
    )
    parser.add_argument("--jobs", nargs="+", choices=WORKERS, default=list(WORKERS))
    parser.add_argument(
        "--out", type=Path, default=HERE.parent / "results/containers.json"
    )
    options = parser.parse_args()
    if not options.binary.is_file():
        raise Failed(
            f"no program at {options.binary}: build it with "
            "`cargo build --release -p tegula-bench`"
        )
    everything, all_close = [], True
    with tempfile.TemporaryDirectory() as folder:
        for job in WORKERS:
            programs = programs_of(options, job, Path(folder) / "prediction.json")
            measured = interleaved(programs, options.runs, check_same)
            everything += measured
            if job != "map" and job in options.jobs:
                printed, close = report(measured, job, options.workloads)
                print(f"{printed}\n", flush=True)
                all_close &= close
    write_results(
        options.out, everything, {"rustc": first_line(["rustc", "--version"])}
    )
    return 0 if all_close else 1


if __name__ == "__main__":
    run_script(main)
