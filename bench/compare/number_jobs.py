#!/usr/bin/env python3
"""The jobs about numbers: tegula beside Phoenix++ and Metis, the page cache, and faer used directly.

Takes a folder of the inputs made by `bench/number_inputs.py`, the binaries, and a number of runs;
prints Markdown tables and writes the raw results. Where a job has a limit, a missed one ends the
script with code 1. The answers of one and two workers must have the same bytes. Figures of peers that read the same input
must be those of tegula but for rounding: the first levels of the histogram, the line of the regression, the first numbers
of products, the first variance of components.

    python3 bench/compare/number_jobs.py --corpus bench/corpus --tegula target/release/tegula \\
        --direct target/release/examples/direct
"""

import argparse
import contextlib
import math
import re
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import ours
from measure import (
    Answer,
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
WORKERS = (1, 2)
# Rounds that Phoenix++ takes on its own points until none changes its group.
ROUNDS = 98
KEYS = ("Helloworld", "howareyou", "ferrari", "whotheman")
PAGE_CACHE, DIRECT = "page cache", "faer directly"
# Phoenix++ shows ten levels. Of a product, as many numbers of its first row are compared.
FIGURES = 10
# Peers write six digits after the point.
ROUNDING = 1e-6

Reader = Callable[[str], tuple[float, ...]]


def numbers(pattern: str) -> Reader:
    """Reads the number in the first place of each match."""
    found = re.compile(pattern, re.MULTILINE)
    return lambda printed: tuple(map(float, found.findall(printed)))[:FIGURES]


def after_names(*names: str) -> Reader:
    """Reads the number that follows each name."""
    patterns = [numbers(rf"^\s*{re.escape(name)}\s*=?\s*(\S+)$") for name in names]
    return lambda printed: tuple(one for read in patterns for one in read(printed)[:1])


def first_of_matrix(printed: str) -> tuple[float, ...]:
    """Reads the beginning of a matrix of doubles as NumPy saves it."""
    saved = printed.encode(errors="surrogateescape")
    (header,) = struct.unpack_from("<H", saved, 8)
    return struct.unpack_from(f"<{FIGURES}d", saved, 10 + header)


COMPONENTS = {
    "tegula": numbers(r"^variance\t(\S+)"),
    DIRECT: lambda printed: (float(printed.split(maxsplit=1)[0]),),
}


@dataclass(frozen=True)
class Job:
    """One job: its arguments for tegula, its peers, and its bounds."""

    name: str
    input: str
    arguments: tuple[str, ...]
    """Of tegula; `@` stands for the input's path."""
    phoenix: tuple[str, ...] = ()
    """Program below the folder of Phoenix++'s tests, and its arguments."""
    metis: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    read: dict[str, Reader] = field(default_factory=dict)
    """Reads the figures that tegula and its peers have in common, by program."""
    page_cache_least: float | None = None
    """The least rate, as a part of the page cache's."""
    direct_most: float = 1.3
    """The most CPU time, as a multiple of faer's."""


JOBS = (
    Job(
        "histogram",
        "picture.bmp",
        ("histogram", "@"),
        ("histogram/histogram", "@"),
        ("hist", "@"),
        # Blue comes first; Metis adds 1000 to its levels.
        read={
            "tegula": numbers(r"^blue\t\d+\t(\d+)$"),
            "Phoenix++": numbers(r"^\d+ - (\d+)$"),
            "Metis": numbers(r"^1\d{3} - (\d+)$"),
        },
        page_cache_least=0.4,
    ),
    Job(
        "linreg",
        "points.bin",
        ("linreg", "--points", "bytes", "@"),
        ("linear_regression/linear_regression", "@"),
        ("linear_regression", "@"),
        read={
            "tegula": after_names("slope", "intercept", "mean_x", "mean_y"),
            "Phoenix++": after_names("b", "a", "xbar", "ybar"),
            "Metis": after_names("b", "a", "xbar", "ybar"),
        },
        page_cache_least=0.5,
    ),
    # As shipped, Phoenix++ uses no result of its comparisons, and compilers leave them out; Metis counts the lines that
    # differ from a key, once they are ciphered.
    Job(
        "stringmatch",
        "lines.txt",
        ("stringmatch", "@", *(part for key in KEYS for part in ("-k", key))),
        metis=("string_match", "@"),
        page_cache_least=0.5,
    ),
    # The peers draw points of the same kind themselves.
    Job(
        "kmeans",
        "grid.npy",
        ("kmeans", "@", "-k", "100", "--rounds", str(ROUNDS)),
        ("kmeans/kmeans", "-d", "3", "-c", "100", "-p", "100000", "-s", "1000"),
        ("kmeans", "3", "100", "100000", "1000"),
    ),
    # The peers multiply and average 32-bit integers.
    Job(
        "matmul 1024",
        "square.npy",
        ("matmul", "@", "@", "--format", "npy"),
        ("matrix_multiply/matrix_multiply", "1024", "1", "1"),
        ("matrix_mult", "-l", "1024"),
    ),
    # Large enough that start-up and fresh memory weigh little.
    Job(
        "matmul 2048",
        "large.npy",
        ("matmul", "@", "@", "--format", "npy"),
        direct=("matmul", "@", "@"),
        read={"tegula": first_of_matrix, DIRECT: first_of_matrix},
    ),
    # What the peers call PCA ends with the covariances.
    Job(
        "covariances 1000 x 1000",
        "rows.npy",
        ("pca", "@", "-c", "0"),
        ("pca/pca", "-r", "1000", "-c", "1000"),
        ("pca", "-R", "1000", "-C", "1000"),
    ),
    Job(
        "pca 1000 x 1000",
        "rows.npy",
        ("pca", "@", "-c", "10"),
        direct=("pca", "@", "10"),
        read=COMPONENTS,
    ),
    Job(
        "pca 200,000 x 100",
        "tall.npy",
        ("pca", "@", "-c", "10"),
        direct=("pca", "@", "10"),
        read=COMPONENTS,
    ),
)


def programs_of(options: argparse.Namespace, job: Job) -> list[Program]:
    path = options.corpus / job.input

    def argv(binary: Path | str, arguments: tuple[str, ...]) -> tuple[str, ...]:
        return (
            str(binary),
            *(str(path) if part == "@" else part for part in arguments),
        )

    def of(
        name: str, workers: int, program: tuple[str, ...], **settings: str
    ) -> Program:
        read = job.read.get(name)
        return Program(
            name,
            workers,
            path,
            program,
            settings,
            read and (lambda printed: Answer(figures=read(printed))),
            is_hashed=name == "tegula",
        )

    programs = []
    for workers in WORKERS:
        threads = str(workers)
        arguments = (*job.arguments, "-j", threads, "--progress", "off")
        programs.append(of("tegula", workers, argv(options.tegula, arguments)))
        if options.phoenix and job.phoenix:
            program = argv(options.phoenix / job.phoenix[0], job.phoenix[1:])
            programs.append(of("Phoenix++", workers, program, MR_NUMTHREADS=threads))
        if options.metis and job.metis:
            program = argv(
                options.metis / job.metis[0], (*job.metis[1:], "-p", threads)
            )
            programs.append(of("Metis", workers, program))
    if job.page_cache_least is not None:
        program = argv("dd", (f"if={path}", "of=/dev/null", "bs=256K"))
        programs.append(of(PAGE_CACHE, 1, program))
    if job.direct:
        programs.append(of(DIRECT, 1, argv(options.direct, job.direct)))
    return programs


def check_answers(measured: list[Measured]) -> None:
    """Raises `Failed` where the number of workers changed an answer, or a peer has another one."""
    ours = next(one for one in measured if one.program.name == "tegula")
    text = ours.program.input.name
    for one in measured:
        if one.program.name == "tegula" and one.answer != ours.answer:
            raise Failed(f"{text}: workers change the answer")
        if one.program.read_answer is not None and not is_same(
            one.answer.figures, ours.answer.figures
        ):
            raise Failed(
                f"{text}: {one.program.name} has {one.answer.figures}, tegula {ours.answer.figures}"
            )


def is_same(some: tuple[float, ...], others: tuple[float, ...]) -> bool:
    """Whether there are figures, and they are the same but for rounding."""
    return 0 < len(some) == len(others) and all(
        math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING)
        for one, other in zip(some, others, strict=True)
    )


def least(measured: list[Measured], name: str) -> Measured | None:
    """The cost of a program with one worker."""
    of_name = (one for one in measured if one.program.name == name)
    return next((one for one in of_name if one.program.workers == 1), None)


def verdicts(job: Job, measured: list[Measured]) -> list[tuple[str, bool]]:
    """What the job is held to, and whether it holds: by CPU time, of one worker."""
    tegula = least(measured, "tegula")
    if tegula is None:
        raise Failed(f"{job.name}: tegula was not measured")
    said = []
    for name in ("Phoenix++", "Metis"):
        if peer := least(measured, name):
            ratio = peer.cpu_s / tegula.cpu_s
            said.append((f"{name}'s CPU time is {ratio:.2f} of tegula's", ratio > 1))
    if (cache := least(measured, PAGE_CACHE)) and job.page_cache_least:
        ratio = cache.cpu_s / tegula.cpu_s
        text = (
            f"rate is {ratio:.2f} of the page cache's, at least {job.page_cache_least}"
        )
        said.append((text, ratio >= job.page_cache_least))
    if direct := least(measured, DIRECT):
        ratio = tegula.cpu_s / direct.cpu_s
        text = f"CPU time is {ratio:.2f} of faer's, at most {job.direct_most}"
        said.append((text, ratio <= job.direct_most))
    return said


def report(job: Job, measured: list[Measured]) -> str:
    rows = [
        [
            one.program.name,
            str(one.program.workers),
            one.spread(lambda sample: sample.cpu_s, 3),
            one.spread(lambda sample: sample.wall_s, 3),
            f"{one.megabytes_per_cpu_s:.0f}",
            f"{one.resident_peak_bytes / 1e6:.0f}",
        ]
        for one in measured
    ]
    heads = ["program", "workers", "CPU s", "wall s", "MB per CPU s", "peak MB"]
    notes = [
        f"- {'yes' if holds else 'NO'}: {text}"
        for text, holds in verdicts(job, measured)
    ]
    return "\n".join([f"### {job.name}", "", table(heads, rows), "", *notes, ""])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the jobs about numbers.")
    parser.add_argument("--corpus", type=Path, required=True, help="folder of inputs")
    parser.add_argument("--tegula", type=Path, required=True, help="tegula's binary")
    parser.add_argument("--direct", type=Path, required=True, help="faer used directly")
    parser.add_argument(
        "--phoenix", type=Path, help="folder of Phoenix++'s tests, built"
    )
    parser.add_argument("--metis", type=Path, help="folder of Metis' programs, built")
    parser.add_argument("--jobs", nargs="*", default=[], help="only jobs that begin so")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (5)")
    parser.add_argument(
        "--out", type=Path, default=HERE.parent / "results/number_jobs.json"
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    ours.existing(options.tegula)
    for name in ("corpus", "tegula", "direct", "phoenix", "metis", "out"):
        if path := getattr(options, name):
            setattr(options, name, path.absolute())
    # Some peers leave files where they are started.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return measure(options)


def measure(options: argparse.Namespace) -> int:
    everything, held = [], True
    for job in JOBS:
        if options.jobs and not job.name.startswith(tuple(options.jobs)):
            continue
        programs = programs_of(options, job)
        measured = interleaved(programs, options.runs, check_answers)
        print(report(job, measured), flush=True)
        everything += measured
        held &= all(holds for _, holds in verdicts(job, measured))
    versions = {
        "tegula": version_of(options.tegula),
        "dd": first_line(["dd", "--version"]),
    }
    write_results(options.out, everything, versions)
    return 0 if held else 1


if __name__ == "__main__":
    run_script(main)
