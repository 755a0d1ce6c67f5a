#!/usr/bin/env python3
"""Inverted index of 100 MB: tegula against, where built, Metis (its `wr`).

Takes the folder of the texts, the binaries and a number of runs; prints a Markdown table, writes the
raw results, and ends with exit code 1 where tegula is less than 8 times as fast as Metis on source
text in CPU time. Metis shows five words and how many places each has; tegula is measured both with
all places of five words written, and with all places of all words.

    python3 bench/compare/index.py --corpus bench/corpus --tegula target/release/tegula
"""

import argparse
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import ours
from measure import (
    Answer,
    Failed,
    Measured,
    Program,
    arguments,
    interleaved,
    run_script,
    table,
    version_of,
    write_results,
)

WORKERS = (1, 2)
FIVE, ALL = "tegula, places of 5 words", "tegula, all places"
# Metis folds case, and cuts at fewer kinds of white space: on letters alone both see the same words.
TEXTS = ("source100", "letters100")
TIMES_METIS_LEAST = 8.0
# Form feeds and NULs that one takes for white space and the other does not.
WORDS_TOLERANCE = 0.001


def index(binary: Path, path: Path, workers: int, top: int | None) -> Program:
    name = ALL if top is None else FIVE
    stats = (
        Path(tempfile.gettempdir())
        / f"tegula-index-{os.getpid()}-{path.stem}-{top}-{workers}.json"
    )
    argv = [str(binary), "index", str(path), "-j", str(workers), "--progress", "off"]
    argv += ["--stats-json", str(stats)]
    if top is not None:
        argv += ["--top", str(top)]
    return Program(name, workers, path, tuple(argv), stats=stats)


def read_metis(printed: str) -> Answer:
    totals = re.search(r"from (\d+) keys, (\d+) words", printed)
    if totals is None:
        raise Failed(f"Metis printed no totals: {printed[:200]}")
    return Answer(words=int(totals[2]), keys=int(totals[1]))


def programs_of(options: argparse.Namespace) -> list[Program]:
    programs = []
    for text in TEXTS:
        path = options.corpus / f"{text}.txt"
        if not path.is_file():
            raise Failed(f"no text at {path}: make it with bench/corpus.py {text}")
        for workers in WORKERS:
            programs += [index(options.tegula, path, workers, top) for top in (5, None)]
            if options.metis is not None:
                argv = (str(options.metis), str(path), "-p", str(workers))
                programs.append(
                    Program("Metis", workers, path, argv, read_answer=read_metis)
                )
    return programs


def answer_of(one: Measured) -> Answer:
    if one.program.name == "Metis":
        return one.answer
    return replace(one.answer, words=one.stats["pairs"], keys=one.stats["keys"])


def check(measured: list[Measured]) -> None:
    """All found as many words, and on letters as many different ones."""
    first: dict[Path, Answer] = {}
    for one in measured:
        answer = answer_of(one)
        other = first.setdefault(one.program.input, answer)
        same_words = abs(answer.words - other.words) <= WORDS_TOLERANCE * other.words
        exact = one.program.input.stem == "letters100" or one.program.name != "Metis"
        if not same_words or (exact and answer.keys != other.keys):
            raise Failed(
                f"{one.program.name}: {answer} of {one.program.input.name}, not {other}"
            )


def twin(one: Measured, measured: list[Measured]) -> Measured | None:
    """Metis on the same text with as many workers."""
    wanted = ("Metis", one.program.workers, one.program.input)
    for other in measured:
        program = other.program
        if (program.name, program.workers, program.input) == wanted:
            return other
    return None


def report(measured: list[Measured]) -> tuple[str, bool]:
    rows, fast = [], True
    for one in measured:
        metis = twin(one, measured)
        times = metis.cpu_s / one.cpu_s if metis is not None else None
        if times is not None and one.program.name == FIVE and is_limited(one):
            fast = fast and times >= TIMES_METIS_LEAST
        answer = answer_of(one)
        rows.append(
            [
                f"{one.program.input.stem}, {one.program.name}",
                str(one.program.workers),
                f"{answer.words:,}",
                f"{answer.keys:,}",
                one.spread(lambda sample: sample.cpu_s),
                one.spread(lambda sample: sample.wall_s),
                f"{one.resident_peak_bytes / 1e6:.0f}",
                f"{times:.1f}" if times is not None else "",
            ]
        )
    heads = ["text, program", "workers", "words", "distinct", "CPU s", "wall s"]
    return table([*heads, "peak MB", "times Metis, CPU"], rows), fast


def is_limited(one: Measured) -> bool:
    return one.program.input.stem == "source100"


def main() -> int:
    parser = arguments("Compare inverted indexes.", "index_compare.json")
    parser.add_argument("--metis", type=Path, help="Metis's wr, if it is built")
    options = parser.parse_args()
    ours.existing(options.tegula)
    measured = interleaved(programs_of(options), options.runs, check)
    printed, fast = report(measured)
    print(printed)
    versions = {"tegula": version_of(options.tegula)}
    write_results(options.out, measured, versions)
    return 0 if fast else 1


if __name__ == "__main__":
    run_script(main)
