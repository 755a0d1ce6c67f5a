#!/usr/bin/env python3
"""What it saves that tiles overlap: the same jobs with `--pipeline on` and `off`, turn and turn about.

The jobs are those of Ostrich's figure 21, and an index of one word, whose pairs all go to one partition, so that its
reduce is not balanced. Idle time is that of the workers' lanes in `--timeline`, of the last run. Takes a folder with a
text, logins and records, and tegula's binary; prints a Markdown table and writes the raw results.

    python3 bench/compare/pipeline.py --corpus bench/corpus --tegula target/release/tegula
"""

import argparse
import json
import tempfile
from pathlib import Path

import ours
from measure import (
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

WORKERS = 2
TILE = "8M"
# Name, command (`@` stands for a frequent word of the text) and the input if it is not the text.
JOBS = (
    ("index of one word", ("index", "--word", "@"), ""),
    ("inverted index", ("index",), "zipf100.txt"),
    ("word count", ("wordcount", "--words", "whitespace"), ""),
    ("log statistics", ("logstats",), "logins.txt"),
    ("sort", ("sort", "--records", "terasort"), "tera.bin"),
)


def programs_of(options: argparse.Namespace, folder: Path) -> list[Program]:
    programs = []
    for name, command, input in JOBS:
        path = options.corpus / (input or options.text)
        if not path.is_file():
            raise Failed(f"{path} is missing; see make corpus")
        word = ours.frequent_word(path) if "@" in command else ""
        for form in ("off", "on"):
            trace = folder / f"{name.replace(' ', '-')}-{form}.json"
            flags = [word if flag == "@" else flag for flag in command]
            argv = [str(options.tegula), *flags, str(path), "-j", str(WORKERS)]
            argv += ["--tile", TILE, "--pipeline", form, "--timeline", str(trace)]
            argv += ["-o", str(folder / "answer"), "--progress", "off"]
            program = Program(f"{name}, {form}", WORKERS, path, tuple(argv))
            programs.append(program)
    return programs


def idle_part(one: Measured) -> float:
    """The part of the workers' time until the map stage's end in which they do nothing."""
    argv = one.program.argv
    trace = json.loads(Path(argv[argv.index("--timeline") + 1]).read_text())
    events = trace["traceEvents"]
    stage = next(
        event
        for event in events
        if event.get("cat") == "stage" and event["name"] == "map"
    )
    begin, end = stage["ts"], stage["ts"] + stage["dur"]
    threads = trace["otherData"]["threads"]
    workers = {one["tid"] for one in threads if one["name"].startswith("worker-")}
    busy = sum(
        max(0.0, min(end, event["ts"] + event["dur"]) - max(begin, event["ts"]))
        for event in events
        if event.get("cat") == "work" and event["tid"] in workers
    )
    return 1 - busy / ((end - begin) * len(workers))


def report(measured: list[Measured], idle: list[float]) -> str:
    rows = [
        [
            one.program.name,
            one.spread(lambda sample: sample.cpu_s, 3),
            one.spread(lambda sample: sample.wall_s, 3),
            f"{100 * part:.1f} %",
        ]
        for one, part in zip(measured, idle, strict=True)
    ]
    heads = ["job, pipeline", "CPU s", "wall s", "idle while mapping"]
    return table(heads, rows)


def main() -> int:
    parser = arguments("Measure what the pipeline saves.", "pipeline.json")
    parser.add_argument("--text", default="source256.txt", help="a text of the corpus")
    options = parser.parse_args()
    ours.existing(options.tegula)
    with tempfile.TemporaryDirectory() as folder:
        measured = interleaved(programs_of(options, Path(folder)), options.runs)
        idle = [idle_part(one) for one in measured]
    print(report(measured, idle))
    for one, part in zip(measured, idle, strict=True):
        one.stats = {"idle_while_mapping": part}
    version = version_of(options.tegula)
    write_results(options.out, measured, {"tegula": version})
    return 0


if __name__ == "__main__":
    run_script(main)
