#!/usr/bin/env python3
"""The five papers, figure by figure: `docs/papers.md` and its plots, made from raw results.

Results that are missing or were measured more than a hundred commits ago are measured again first, where their inputs
and programs are here; the page says when and at which commit each was measured. `--only` names some figures (`ostrich-15`), whose results
alone are measured, however old they are; `--only all` measures all of them. The page always has all of them. `--kept`
measures nothing, and `--check` only compares the page and its plots with the results.

    python3 bench/papers/papers.py --corpus bench/corpus --tegula target/release/tegula
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from asymmetric import ASYMMETRIC
from figure import Figure, Paper
from kept import COMMITS_MOST, RESULTS, ROOT, Kept, is_old, told
from m3r import M3R
from measure import Failed, run_script, table, write_pages
from metis import METIS
from ostrich import OSTRICH
from plot import drawn
from supmr import SUPMR

PAPERS = (OSTRICH, METIS, SUPMR, M3R, ASYMMETRIC)
PLOTS = "papers"
# Fewer runs of what takes minutes, three of the rest: the whole takes less than two hours on two cores.
RUNS = {"bench-nodes": 1, "bench-containers": 2}
RUNS_ELSE = 3
ALL = "all"


def wanted(only: list[str]) -> list[tuple[Paper, Figure]]:
    """The figures whose results are measured."""
    figures = {
        paper.id_of(figure): (paper, figure)
        for paper in PAPERS
        for figure in paper.figures
    }
    if only == [ALL]:
        return list(figures.values())
    unknown = [name for name in only if name not in figures]
    if unknown:
        raise Failed(f"no figure {unknown[0]}; there are {ALL}, {', '.join(figures)}")
    return [figures[name] for name in only] if only else list(figures.values())


def missing(name: str, options: argparse.Namespace) -> str:
    """Why a result cannot be measured here, or nothing."""
    result = RESULTS[name]
    texts = [text for text in result.inputs if not (options.corpus / text).is_file()]
    if texts:
        return f"{texts[0]} is missing (make corpus LINUX_SOURCE=folder)"
    if result.target in ("bench-hadoop", "bench-remote") and not shutil.which("mvn"):
        return "Maven is missing"
    if result.target in ("bench-nodes", "bench-nodes-sizes") and os.geteuid() != 0:
        return "quotas of processors need root"
    if name == "caches" and not shutil.which("valgrind"):
        return "valgrind is missing"
    return ""


def measure(names: list[str], options: argparse.Namespace) -> None:
    """Measures results anew; what fails is said, and does not stop the others."""
    done: set[tuple[str, ...]] = set()
    for name in names:
        result = RESULTS[name]
        command = (result.target or result.measurement, *result.variables)
        if not command[0] or command in done:
            continue
        done.add(command)
        if why := missing(name, options):
            say(f"{name}: kept as it is: {why}")
            continue
        start = time.monotonic()
        if result.measurement:
            argv = [
                sys.executable,
                str(Path(__file__).with_name("taken.py")),
                result.measurement,
            ]
            argv += [
                "--corpus",
                str(options.corpus),
                "--tegula",
                str(options.tegula),
                "--runs",
                str(RUNS_ELSE),
            ]
            argv += ["--phoenix", str(options.phoenix)] if options.phoenix else []
        else:
            runs = RUNS.get(result.target, RUNS_ELSE)
            argv = [
                "make",
                "-C",
                str(ROOT),
                result.target,
                f"RUNS={runs}",
                f"CORPUS={options.corpus}",
                *result.variables,
            ]
        code = subprocess.run(argv, stdout=subprocess.DEVNULL).returncode
        # A benchmark that misses a target of its own has measured all the same.
        say(
            f"{name}: {time.monotonic() - start:.0f} s{'' if code == 0 else f', exit code {code}'}"
        )


def say(text: str) -> None:
    print(f"papers: {text}", file=sys.stderr, flush=True)


def section(
    paper: Paper, figure: Figure, kept: Kept, plots: dict[str, str]
) -> list[str]:
    """The part of the page on one figure; its plot is added to the others."""
    name = paper.id_of(figure)
    lines = [
        f"### {figure.number[0].upper()}{figure.number[1:]}: {figure.title}",
        "",
        f"Printed: {figure.printed}.",
        "",
    ]
    if figure.make is None:
        return [*lines, f"**Cannot be made here**, because {figure.not_made}.", ""]
    try:
        made = figure.make(kept)
    except Failed as failure:
        return [*lines, f"**Not made yet:** {failure}.", ""]
    lines += [
        f"**{figure.kind.capitalize()}.** {made.sentence}",
        "",
        table(list(made.heads), made.rows),
        "",
    ]
    if made.plot is not None:
        plots[f"{name}.svg"] = drawn(made.plot)
        lines += [f"![{made.plot.title}]({PLOTS}/{name}.svg)", ""]
    lines += [f"Raw: {'; '.join(told(need) for need in figure.needs)}.", ""]
    return lines


def page(kept: Kept) -> tuple[str, dict[str, str]]:
    """The page, and its plots by name."""
    plots: dict[str, str] = {}
    lines = [
        "# The five papers, figure by figure",
        "",
        "`make papers` makes this page and its plots: the values that each paper printed beside those of Tegula on the same",
        "kind of work. **Measured** figures come from runs on the machine that is named with their raw results. Figures **on",
        "described machines** are simulated with costs that were recorded in real runs. Plots of the papers have no numbers,",
        "so of those only what the text says is here. Processor time is user and system time; times are medians.",
        "",
        f"`make papers` measures a result again after {COMMITS_MOST} commits, where its inputs are there. Each is named with its date and",
        "commit (`-dirty`: with changes that are in no commit), and marked where it is more than a day older than the newest one.",
        "The Linux source, from which some texts are made, is one such input (`make corpus LINUX_SOURCE=folder`); the programs of",
        "Phoenix++ and Metis, built from their authors' sources, are others (`PHOENIX=`, `METIS=`).",
        "",
    ]
    for paper in PAPERS:
        lines += [
            f"## {paper.title}",
            "",
            f"The authors' machine: {paper.machine}.",
            "",
        ]
        for figure in paper.figures:
            lines += section(paper, figure, kept, plots)
    return "\n".join(lines).rstrip() + "\n", plots


def write(docs: Path, is_check: bool) -> int:
    """Writes the page and its plots, and removes other ones; or only compares all with what is there."""
    text, plots = page(Kept())
    folder = docs / PLOTS
    pages = {docs / "papers.md": text} | {
        folder / name: plot for name, plot in plots.items()
    }
    code = write_pages(pages, is_check)
    for path in set(folder.iterdir()) - set(pages):
        if is_check:
            print(f"{path.name}: a plot of no figure; run papers.py")
            code = 1
        else:
            path.unlink()
    return code


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Make the figures of the five papers again."
    )
    parser.add_argument(
        "--corpus", type=Path, required=True, help="folder of the inputs"
    )
    parser.add_argument("--tegula", type=Path, required=True, help="tegula's binary")
    parser.add_argument(
        "--phoenix", type=Path, help="the word count of Phoenix++, if it is built"
    )
    parser.add_argument(
        "--docs", type=Path, default=ROOT / "docs", help="folder of the page"
    )
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        metavar="FIGURE",
        help="measure what these need, always",
    )
    parser.add_argument("--kept", action="store_true", help="measure nothing")
    parser.add_argument("--check", action="store_true", help="nor write anything")
    options = parser.parse_args()
    options.corpus, options.tegula = (
        options.corpus.absolute(),
        options.tegula.absolute(),
    )
    figures = wanted(options.only)
    needs = list(dict.fromkeys(need for _, figure in figures for need in figure.needs))
    if not (options.kept or options.check):
        measure([need for need in needs if options.only or is_old(need)], options)
    return write(options.docs, options.check)


if __name__ == "__main__":
    run_script(main)
