#!/usr/bin/env python3
"""The comparison with other programs as a table and as a picture, made from the raw results.

Reads `bench/results/*_compare.json` as `make bench-compare bench-stations bench-logstats` left them;
replaces what the README and bench/README.md say of them between marks, and writes the SVG. It measures
nothing and computes only medians, maxima and ratios. With --check it only compares.

    python3 bench/compare/chart.py
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import median

import logstats
import stations
from measure import (
    Failed,
    Measured,
    as_measured,
    run_script,
    short,
    table,
    write_pages,
)
from word_count import TWIN

ROOT = Path(__file__).parent.parent.parent
COMPARISON = ("<!-- comparison -->\n", "<!-- end -->")
HEADLINE = ("<!-- headline -->\n", "<!-- end of headline -->")
GOALS = ("<!-- goals -->\n", "<!-- end of goals -->")

OURS = "Tegula"
LABEL = 150
BAR_MOST = 420
ROW = 22
HEAD = 34


@dataclass(frozen=True)
class Job:
    """One job of the comparison: the file of results, its input there, and what it is called."""

    results: str
    input: str
    name: str
    about: str
    ours: str
    """The run of tegula that the table shows."""
    targets: Callable[[list[Measured]], list[tuple[str, bool]]] | None = None
    """The goals of its script, if they are of these runs."""


JOBS = (
    Job(
        "word_count_compare.json",
        "letters.txt",
        "word count",
        "1 GB of lower-case words",
        "tegula (alpha)",
    ),
    Job(
        "stations_compare.json",
        "stations.txt",
        "stations",
        "690 MB: least, mean and greatest temperature by station",
        "tegula",
        stations.targets,
    ),
    Job(
        "logstats_compare.json",
        "logins.txt",
        "logstats",
        "732 MB: seconds online of a million users",
        "tegula",
        logstats.targets,
    ),
)


@dataclass(frozen=True)
class Row:
    """One program at one job."""

    program: str
    cpu_s: float
    wall_s: dict[int, float]
    """By number of workers."""
    resident_peak_bytes: int
    """The most of all runs of one worker."""
    ratio: float
    """CPU time of one worker over that of tegula by the nearest rule."""


def cpu_s(run: dict) -> float:
    return median(
        sample["cpu_user_s"] + sample["cpu_system_s"] for sample in run["samples"]
    )


def nearest(program: str, job: Job, one_worker: dict[str, float]) -> str:
    """The run of tegula that a program is compared with: of word counts that by the nearest rule of words."""
    twin = TWIN.get(program, "tegula (whitespace)")
    return twin if program != job.ours and twin in one_worker else job.ours


def raw_of(job: Job, folder: Path) -> tuple[dict, list[dict]]:
    """The results of a job, and its runs there."""
    path = folder / job.results
    raw = json.loads(path.read_text())
    runs = [run for run in raw["runs"] if run["input"] == job.input]
    if not any(run["program"] == job.ours for run in runs):
        raise Failed(f"{path}: no run of {job.ours} on {job.input}; measure again")
    return raw, runs


def rows_of(job: Job, runs: list[dict]) -> list[Row]:
    """The programs of a job, tegula first, then by CPU time."""
    one_worker = {run["program"]: cpu_s(run) for run in runs if run["workers"] == 1}
    rows = []
    for program, seconds in one_worker.items():
        if program.startswith("tegula") and program != job.ours:
            continue
        every = [run for run in runs if run["program"] == program]
        walls = {
            run["workers"]: median(sample["wall_s"] for sample in run["samples"])
            for run in every
        }
        rows.append(
            Row(
                program=OURS if program == job.ours else program,
                cpu_s=seconds,
                wall_s=walls,
                resident_peak_bytes=max(
                    sample["resident_peak_bytes"]
                    for run in every
                    if run["workers"] == 1
                    for sample in run["samples"]
                ),
                ratio=seconds / one_worker[nearest(program, job, one_worker)],
            )
        )
    return sorted(rows, key=lambda row: (row.program != OURS, row.cpu_s))


def markdown(all_rows: list[tuple[Job, list[Row]]]) -> str:
    heads = [
        "job",
        "program",
        "CPU s, 1 worker",
        "wall s, 1 worker",
        "wall s, 2 workers",
        "peak MB, 1 worker",
        "CPU / Tegula's",
    ]
    lines = []
    for job, rows in all_rows:
        for row in rows:
            walls = [
                f"{row.wall_s[workers]:.2f}" if workers in row.wall_s else ""
                for workers in (1, 2)
            ]
            lines.append(
                [
                    job.name,
                    row.program,
                    f"{row.cpu_s:.2f}",
                    *walls,
                    f"{row.resident_peak_bytes / 1e6:.0f}",
                    f"{row.ratio:.1f}",
                ]
            )
    return table(heads, lines) + "\n"


def svg(all_rows: list[tuple[Job, list[Row]]]) -> Iterator[str]:
    """Bars of CPU seconds, on one scale for all jobs."""
    most = max(row.cpu_s for _, rows in all_rows for row in rows)
    height = 44 + sum(HEAD + ROW * len(rows) for _, rows in all_rows)
    width = LABEL + BAR_MOST + 110
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" '
        'font-family="system-ui, \'DejaVu Sans\', sans-serif" font-size="12">'
    )
    yield '<rect width="100%" height="100%" fill="white"/>'
    yield (
        '<text x="16" y="26" font-size="15" font-weight="600" fill="#222">'
        "CPU seconds of one worker, less is better</text>"
    )
    y = 40
    for job, rows in all_rows:
        yield (
            f'<text x="16" y="{y + 20}" fill="#222"><tspan font-weight="600">'
            f'{escape(job.name)}</tspan> <tspan fill="#666">{escape(job.about)}</tspan></text>'
        )
        y += HEAD - 6
        for row in rows:
            length = max(1.0, row.cpu_s / most * BAR_MOST)
            color = "#0a7d55" if row.program == OURS else "#9aa5b1"
            times = "" if row.program == OURS else f", {row.ratio:.1f}x"
            yield (
                f'<text x="{LABEL - 8}" y="{y + 15}" text-anchor="end" fill="#222">'
                f"{escape(row.program)}</text>"
            )
            yield (
                f'<rect x="{LABEL}" y="{y + 3}" width="{length:.1f}" height="{ROW - 6}" '
                f'fill="{color}"/>'
            )
            yield (
                f'<text x="{LABEL + length + 6:.1f}" y="{y + 15}" fill="#222">'
                f"{row.cpu_s:.2f} s{times}</text>"
            )
            y += ROW
        y += 6
    yield "</svg>"


def headline(rows: list[Row]) -> str:
    """One sentence on tegula's word count."""
    tegula = rows[0]
    seconds, peak = tegula.wall_s[1], tegula.resident_peak_bytes / 1e6
    return f"One core counts the words of 1 GB of text in {seconds:.1f} s, in {peak:.0f} MB of memory.\n"


def method(all_raw: list[tuple[Job, dict, list[dict]]]) -> str:
    """How often, when and with which commit the jobs were measured."""
    least = min(len(run["samples"]) for _, _, runs in all_raw for run in runs)
    when = "; ".join(
        f"{job.name} on {raw['date'][:10]}, commit {short(raw['commit'])}"
        for job, raw, _ in all_raw
    )
    return f"Each figure is the median of at least {least} runs, the peak the most of them. Measured: {when}.\n"


def goals(all_raw: list[tuple[Job, dict, list[dict]]]) -> str:
    """The goals of the kept results, and whether they were reached."""
    said = [
        f"- `{job.name}`: {text}, {'reached' if reached else '**missed**'}\n"
        for job, _, runs in all_raw
        if job.targets is not None
        for text, reached in job.targets([as_measured(run) for run in runs])
    ]
    return "In the results that are kept:\n\n" + "".join(said)


def with_part(text: str, made: str, marks: tuple[str, str]) -> str:
    """A page with another text between two marks."""
    begin, end = marks
    head, found, rest = text.partition(begin)
    _, also_found, tail = rest.partition(end)
    if not (found and also_found):
        raise Failed(f"{begin.strip()} and {end} are not both there")
    return head + begin + made + end + tail


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw the comparison with other programs."
    )
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    parser.add_argument("--method", type=Path, default=ROOT / "bench/README.md")
    parser.add_argument("--svg", type=Path, default=ROOT / "docs/comparison.svg")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    all_raw = [(job, *raw_of(job, options.results)) for job in JOBS]
    all_rows = [(job, rows_of(job, runs)) for job, _, runs in all_raw]
    compared = f"{method(all_raw)}\n{markdown(all_rows)}"
    readme = with_part(options.readme.read_text(), compared, COMPARISON)
    pages = {
        options.readme: with_part(readme, headline(all_rows[0][1]), HEADLINE),
        options.method: with_part(options.method.read_text(), goals(all_raw), GOALS),
        options.svg: "\n".join(svg(all_rows)) + "\n",
    }
    return write_pages(pages, options.check)


if __name__ == "__main__":
    run_script(main)
