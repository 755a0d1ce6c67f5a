#!/usr/bin/env python3
"""What shows cost: a word count that shows its top 100 at every 1 % and 10 % of its input, beside one that
shows nothing, turn and turn about (Ostrich, figure 25).

With one tier a show is a selection; with two it is a job of its own over all counts so far, or over those
of the ten times as many most frequent words, which this second job can do with; or no job, but the function
that gets the show goes over all counts. The input is a
text of the corpus, named as often as makes so many bytes. All runs must give the same answer. Prints a
Markdown table and writes the raw results; ends with exit code 1 where a target is missed.

    python3 bench/compare/show.py --corpus bench/corpus --binary target/release/show --text letters.txt
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median

from measure import (
    Answer,
    Failed,
    Measured,
    Program,
    Sample,
    interleaved,
    run_script,
    table,
    write_results,
)

WORKERS = 2
TOP = 100
ONE, TWO, TWO_OF_MOST, TWO_BY_FUNCTION = "one", "two", "two-of-most", "two-by-function"
TIERS = {
    ONE: "one tier",
    TWO: "two tiers",
    TWO_OF_MOST: "two tiers, of the most",
    TWO_BY_FUNCTION: "two tiers, by a function",
}
# Per cent of the input, tiers, and by how much more CPU time it may take.
SHOWN = (
    (10, ONE, 0.005),
    (1, ONE, 0.04),
    (10, TWO, 0.02),
    (1, TWO, 0.10),
    (10, TWO_OF_MOST, 0.02),
    (1, TWO_OF_MOST, 0.10),
    (10, TWO_BY_FUNCTION, 0.02),
    (1, TWO_BY_FUNCTION, 0.04),
)
PLAIN = "no shows"


def name_of(every: int, tiers: str) -> str:
    return f"every {every} %, {TIERS[tiers]}"


def read_answer(printed: str) -> Answer:
    """The number of shows, a tab, and a sum over the answer."""
    shows, answer = printed.split()
    return Answer(words=int(shows), keys=int(answer))


def programs_of(options: argparse.Namespace) -> list[Program]:
    path = options.corpus / options.text
    if not path.is_file():
        raise Failed(f"{path} is missing; see make corpus")
    if not options.binary.is_file():
        raise Failed(
            f"no {options.binary}: build it with `cargo build --release -p tegula-bench`"
        )
    times = max(1, round(options.bytes / path.stat().st_size))

    def program(name: str, every: int, tiers: str) -> Program:
        figures = (str(every), tiers, str(TOP), str(WORKERS))
        argv = (str(options.binary), *figures, *([str(path)] * times))
        return Program(name, WORKERS, path, argv, read_answer=read_answer)

    shown = [program(name_of(every, tiers), every, tiers) for every, tiers, _ in SHOWN]
    return [program(PLAIN, 0, ONE), *shown]


def check(measured: list[Measured]) -> None:
    answers = {one.answer.keys for one in measured}
    if len(answers) > 1:
        raise Failed(f"answers differ: {answers}")


def cost(one: Measured, plain: Measured, figure: Callable[[Sample], float]) -> float:
    """By how much more it takes: the median over rounds of the ratio within each, less one."""
    pairs = zip(one.samples, plain.samples, strict=True)
    return median(figure(ours) / figure(theirs) for ours, theirs in pairs) - 1


def report(measured: list[Measured]) -> tuple[str, bool]:
    plain, *shown = measured
    limits = [limit for _, _, limit in SHOWN]
    rows = [[PLAIN, "0", *spreads(plain), "", "", ""]]
    met = True
    for one, limit in zip(shown, limits, strict=True):
        more = cost(one, plain, lambda sample: sample.cpu_s)
        met = met and more < limit
        wall = cost(one, plain, lambda sample: sample.wall_s)
        rows.append(
            [
                one.program.name,
                str(one.answer.words),
                *spreads(one),
                f"{100 * more:+.2f} %",
                f"{100 * wall:+.2f} %",
                f"{100 * limit:.1f} %",
            ]
        )
    heads = ["shows", "made", "CPU s", "wall s", "more CPU", "more wall", "CPU target"]
    return table(heads, rows), met


def spreads(one: Measured) -> list[str]:
    return [
        one.spread(lambda sample: sample.cpu_s, 2),
        one.spread(lambda sample: sample.wall_s, 2),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what shows cost.")
    parser.add_argument("--corpus", type=Path, required=True, help="folder of texts")
    parser.add_argument("--binary", type=Path, required=True, help="bench's program")
    parser.add_argument("--text", default="letters.txt", help="a text of the corpus")
    parser.add_argument("--bytes", type=float, default=8e9, help="bytes counted (8e9)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each (5)")
    out = Path(__file__).parent.parent / "results" / "show.json"
    parser.add_argument("--out", type=Path, default=out, help="file of raw results")
    options = parser.parse_args()
    measured = interleaved(programs_of(options), options.runs, check)
    text, met = report(measured)
    print(text)
    write_results(options.out, measured, {})
    return 0 if met else 1


if __name__ == "__main__":
    run_script(main)
