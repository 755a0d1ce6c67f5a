#!/usr/bin/env python3
"""Word count: tegula against GNU wc, DuckDB, Polars and, where built, Phoenix 2.0, Phoenix++ and Metis.

Takes a folder with `letters.txt` and `source256.txt`, the binaries, and a number of runs; prints
Markdown tables and writes the raw results. It must never report a time of a program whose answer
differs from the others': every run's words, distinct words and top ten are compared.

    python3 bench/compare/word_count.py --corpus bench/corpus --tegula target/release/tegula
"""

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path

import ours
from limits import limits_table, within
from measure import (
    Answer,
    Failed,
    Measured,
    Program,
    first_line,
    interleaved,
    program_hash,
    run_script,
    table,
    version_of,
    write_results,
)

HERE = Path(__file__).parent
VENV_PYTHON = HERE.parent / ".venv/bin/python"
WORKERS = (1, 2)
# GNU wc, in the C locale, takes a word of bytes that do not print for no word.
WC_TOTAL_TOLERANCE = 0.002
# The rule of words that a peer's own code comes nearest to; Phoenix and Metis fold case.
TWIN = {
    "Phoenix 2.0": "tegula (alpha)",
    "Phoenix++": "tegula (alpha)",
    "Metis": "tegula (alpha)",
}


def read_wc(printed: str) -> Answer:
    return Answer(words=int(printed.split()[0]))


def read_script(printed: str) -> Answer:
    head, *lines = printed.splitlines()
    _, words, _, keys = head.split()
    return replace(ours.read_top("\n".join(lines)), words=int(words), keys=int(keys))


def top_of(printed: str) -> tuple[tuple[str, int], ...]:
    """Lines of `WORD - times`, as Phoenix and Metis print them."""
    pairs = re.findall(r"^ *(\S+) - (\d+)$", printed, re.MULTILINE)
    return tuple((word.lower(), int(times)) for word, times in pairs)


def read_phoenix(printed: str) -> Answer:
    keys = re.search(r"TOP \d+ of (\d+)", printed)
    words = re.search(r"^Total: (\d+)", printed, re.MULTILINE)
    if keys is None or words is None:
        raise Failed(f"Phoenix++ printed no totals: {printed[:200]}")
    return Answer(words=int(words[1]), keys=int(keys[1]), top=top_of(printed))


def read_phoenix_2(printed: str) -> Answer:
    """The most frequent words: it prints no totals."""
    top = top_of(printed)
    if not top:
        raise Failed(f"Phoenix 2.0 printed no words: {printed[:200]}")
    return Answer(top=top)


def read_metis(printed: str) -> Answer:
    said = re.search(r"TOP \d+ from (\d+) keys, (\d+) words", printed)
    if said is None:
        raise Failed(f"Metis printed no totals: {printed[:200]}")
    return Answer(words=int(said[2]), keys=int(said[1]), top=top_of(printed))


def programs_of(
    options: argparse.Namespace, path: Path, like_for_like: bool
) -> list[Program]:
    """All that can count this file. The peers but wc need lower-case words and valid UTF-8."""
    counts, peers = [], []
    for workers in WORKERS:
        text, threads = str(path), str(workers)
        if options.tegula is not None:
            rules = ("alpha", "whitespace") if like_for_like else ("whitespace",)
            counts += [
                ours.word_count(options.tegula, path, rule, workers) for rule in rules
            ]
        if not like_for_like:
            continue
        for name in ("DuckDB", "Polars"):
            script = str(HERE / f"{name.lower()}_words.py")
            argv = (str(options.python), script, text, threads)
            peers.append(Program(name, workers, path, argv, {}, read_script))
        if options.phoenix is not None:
            argv = (str(options.phoenix), text, "10")
            settings = {"MR_NUMTHREADS": threads}
            peers.append(
                Program("Phoenix++", workers, path, argv, settings, read_phoenix)
            )
        if options.phoenix_2 is not None:
            argv, settings = (
                (str(options.phoenix_2), text, "10"),
                {"MR_NUMTHREADS": threads},
            )
            peers.append(
                Program("Phoenix 2.0", workers, path, argv, settings, read_phoenix_2)
            )
        if options.metis is not None:
            argv = (str(options.metis), text, "-p", threads, "-l", "10")
            peers.append(Program("Metis", workers, path, argv, {}, read_metis))
    wc = Program(
        "GNU wc -w", 1, path, ("wc", "-w", str(path)), {"LC_ALL": "C"}, read_wc
    )
    return [*counts, wc, *peers]


def answer_of(measured: Measured) -> Answer:
    """What the program printed, with the totals that tegula leaves in its figures."""
    words, keys = measured.stats.get("pairs"), measured.stats.get("keys")
    if isinstance(words, int) and isinstance(keys, int):
        return replace(measured.answer, words=words, keys=keys)
    return measured.answer


def check_same(round_measured: list[Measured]) -> None:
    """Raises `Failed` where any two programs differ in a figure that both give."""
    for figure in ("words", "keys", "top"):
        said = [
            (one.program, getattr(answer_of(one), figure)) for one in round_measured
        ]
        said = [(program, value) for program, value in said if value is not None]
        exact = [pair for pair in said if pair[0].name != "GNU wc -w"]
        first, expected = (exact or said)[0] if said else (None, None)
        for program, value in said:
            near = (
                program.name == "GNU wc -w"
                and program.input.name != "letters.txt"
                and abs(value - expected) <= WC_TOTAL_TOLERANCE * expected
            )
            if value != expected and not near:
                raise Failed(
                    f"{program.input.name}: {program.name} -j {program.workers} and {first.name} "
                    f"-j {first.workers} differ in {figure}:\n{value}\n{expected}"
                )


def ratio(one: Measured, all_measured: list[Measured]) -> str:
    """CPU time of a peer over that of tegula counting words by the nearest rule."""
    twin = TWIN.get(one.program.name, "tegula (whitespace)")
    for other in all_measured:
        same = other.program.workers == one.program.workers
        if same and other.program.name == twin and other is not one:
            return f"{one.cpu_s / other.cpu_s:.2f}"
    return ""


def report(measured: list[Measured]) -> str:
    rows = [
        [
            one.program.name,
            str(one.program.workers),
            one.spread(lambda sample: sample.cpu_s),
            one.spread(lambda sample: sample.wall_s),
            f"{one.megabytes_per_cpu_s:.0f}",
            f"{one.resident_peak_bytes / 1e6:.0f}",
            "" if one.program.name.startswith("tegula") else ratio(one, measured),
        ]
        for one in measured
    ]
    heads = [
        "program",
        "workers",
        "CPU s",
        "wall s",
        "MB per CPU s",
        "peak MB",
        "CPU / tegula's",
    ]
    path = measured[0].program.input
    return f"### {path.name}, {path.stat().st_size:,} bytes\n\n{table(heads, rows)}\n"


def versions_of(options: argparse.Namespace) -> dict[str, str]:
    versions = {"GNU wc": first_line(["wc", "--version"])}
    for module in ("duckdb", "polars"):
        code = f"import {module}; print({module}.__version__)"
        versions[module] = first_line([str(options.python), "-c", code])
        if versions[module].startswith("unknown"):
            raise Failed(f"{options.python} has no {module}: run `make bench-compare`")
    if options.tegula is not None:
        versions["tegula"] = version_of(options.tegula)
    for name in ("phoenix", "phoenix_2", "metis"):
        binary = getattr(options, name)
        if binary is not None:
            versions[name] = program_hash(binary)
    return versions


def arguments() -> argparse.Namespace:
    python = VENV_PYTHON if VENV_PYTHON.is_file() else Path(sys.executable)
    parser = argparse.ArgumentParser(
        description="Compare word count with other programs."
    )
    parser.add_argument(
        "--corpus", type=Path, required=True, help="folder of the texts"
    )
    parser.add_argument(
        "--tegula", type=Path, help="tegula's binary; without it, peers alone"
    )
    parser.add_argument("--phoenix", type=Path, help="Phoenix++'s word_count, if built")
    parser.add_argument(
        "--phoenix-2", type=Path, help="Phoenix 2.0's word_count, if built"
    )
    parser.add_argument("--metis", type=Path, help="Metis' wc, if built")
    parser.add_argument(
        "--python", type=Path, default=python, help="one with duckdb and polars"
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (5)")
    parser.add_argument(
        "--out", type=Path, default=HERE.parent / "results/word_count_compare.json"
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.tegula is None:
        print(
            "no --tegula given: measuring the peers alone, without ratios",
            file=sys.stderr,
        )
    else:
        ours.existing(options.tegula)
    versions = versions_of(options)
    everything = []
    for name, like_for_like in (("letters.txt", True), ("source256.txt", False)):
        programs = programs_of(options, options.corpus / name, like_for_like)
        measured = interleaved(programs, options.runs, check_same)
        print(report(measured), flush=True)
        everything += measured
    write_results(options.out, everything, versions)
    limited = [one for one in everything if one.program.name.startswith("tegula")]
    if limited:
        print(limits_table(limited))
    return 0 if all(map(within, limited)) else 1


if __name__ == "__main__":
    run_script(main)
