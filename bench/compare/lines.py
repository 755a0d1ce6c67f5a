"""What the comparisons over files of lines share: tegula beside DuckDB and Polars.

Takes a job's name, tegula's arguments for it, and how to tell that two answers are the same; hands
on programs that write their answer to a file each, a report with ratios, and the raw results. It
must never report a time of a program whose answer differs from tegula's.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ours
from measure import (
    Failed,
    Measured,
    Program,
    first_line,
    interleaved,
    run_script,
    table,
    version_of,
    write_results,
)

HERE = Path(__file__).parent
VENV_PYTHON = HERE.parent / ".venv/bin/python"
WORKERS = (1, 2)
PEERS = ("DuckDB", "Polars")


def no_more(options: argparse.Namespace, workers: int, folder: Path) -> list[Program]:
    return []


@dataclass(frozen=True)
class Comparison:
    """One job of tegula's and the scripts that do the same with the peers."""

    name: str
    input: str
    """The file in the corpus."""
    arguments: tuple[str, ...]
    """Tegula's command, without the input."""
    scripts: str
    """What the peers' scripts are called: `duckdb_<scripts>.py`."""
    same: Callable[[Path, Path], str | None]
    """Takes tegula's answer and a peer's; says where they differ, if they do."""
    targets: Callable[[list[Measured]], list[tuple[str, bool]]]
    """The target, and whether it was reached."""
    more: Callable[[argparse.Namespace, int, Path], list[Program]] = no_more
    """Other peers with a number of workers, whose answers go into the folder."""
    more_arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None


def answer_file(folder: Path, program: str, workers: int) -> Path:
    return folder / f"{program}-{workers}"


def programs_of(
    comparison: Comparison, options: argparse.Namespace, folder: Path
) -> list[Program]:
    path = options.corpus / comparison.input
    programs = []
    for workers in WORKERS:
        out, threads = str(answer_file(folder, "tegula", workers)), str(workers)
        argv = (str(options.tegula), *comparison.arguments, str(path), "-j", threads)
        argv = (*argv, "--progress", "off", "-o", out)
        programs.append(Program("tegula", workers, path, argv))
        for peer in PEERS:
            script = HERE / f"{peer.lower()}_{comparison.scripts}.py"
            out = str(answer_file(folder, peer, workers))
            argv = (str(options.python), str(script), str(path), threads, out)
            programs.append(Program(peer, workers, path, argv))
        programs += comparison.more(options, workers, folder)
    return programs


def check(comparison: Comparison, folder: Path, measured: list[Measured]) -> None:
    """Raises `Failed` where an answer differs from that of tegula with one worker."""
    expected = answer_file(folder, "tegula", 1)
    for one in measured:
        name, workers = one.program.name, one.program.workers
        differs = comparison.same(expected, answer_file(folder, name, workers))
        if differs is not None:
            raise Failed(f"{name} -j {workers} and tegula -j 1 differ: {differs}")


def of(measured: list[Measured], name: str, workers: int) -> Measured:
    found = [
        one
        for one in measured
        if (one.program.name, one.program.workers) == (name, workers)
    ]
    return found[0]


def times_cpu(measured: list[Measured], peer: str, workers: int) -> float:
    """CPU time of a peer over tegula's."""
    tegula = of(measured, "tegula", workers)
    return of(measured, peer, workers).cpu_s / tegula.cpu_s


def report(measured: list[Measured]) -> str:
    rows = []
    for one in measured:
        name, workers = one.program.name, one.program.workers
        wall_s = of(measured, "tegula", workers).wall_s
        rows.append(
            [
                name,
                str(workers),
                one.spread(lambda sample: sample.cpu_s),
                one.spread(lambda sample: sample.wall_s),
                f"{one.megabytes_per_cpu_s:.0f}",
                f"{one.resident_peak_bytes / 1e6:.0f}",
                f"{times_cpu(measured, name, workers):.2f}",
                f"{one.wall_s / wall_s:.2f}",
            ]
        )
    heads = ["program", "workers", "CPU s", "wall s", "MB per CPU s", "peak MB"]
    heads += ["CPU / tegula's", "wall / tegula's"]
    path = measured[0].program.input
    return f"### {path.name}, {path.stat().st_size:,} bytes\n\n{table(heads, rows)}\n"


def versions_of(options: argparse.Namespace) -> dict[str, str]:
    versions = {"tegula": version_of(options.tegula)}
    for peer in PEERS:
        code = f"import {peer.lower()} as peer; print(peer.__version__)"
        versions[peer] = first_line([str(options.python), "-c", code])
        if versions[peer].startswith("unknown"):
            raise Failed(f"{options.python} has no {peer.lower()}")
    return versions


def arguments(comparison: Comparison) -> argparse.Namespace:
    name = comparison.name
    python = VENV_PYTHON if VENV_PYTHON.is_file() else Path(sys.executable)
    parser = argparse.ArgumentParser(description=f"Compare {name} with other programs.")
    parser.add_argument(
        "--corpus", type=Path, required=True, help="folder of the input"
    )
    parser.add_argument("--tegula", type=Path, required=True, help="tegula's binary")
    parser.add_argument(
        "--python", type=Path, default=python, help="one with duckdb and polars"
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (5)")
    parser.add_argument(
        "--out", type=Path, default=HERE.parent / f"results/{name}_compare.json"
    )
    comparison.more_arguments(parser)
    return parser.parse_args()


def compare(comparison: Comparison) -> int:
    """The whole comparison; 1 where a target is missed."""
    options = arguments(comparison)
    ours.existing(options.tegula)
    versions = versions_of(options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = programs_of(comparison, options, folder)
        measured = interleaved(
            programs, options.runs, lambda round: check(comparison, folder, round)
        )
    print(report(measured))
    write_results(options.out, measured, versions)
    targets = comparison.targets(measured)
    for target, reached in targets:
        print(f"{'reached' if reached else 'MISSED'}: {target}")
    return 0 if all(reached for _, reached in targets) else 1


def main(comparison: Comparison) -> None:
    run_script(lambda: compare(comparison))
