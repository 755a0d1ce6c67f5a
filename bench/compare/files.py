#!/usr/bin/env python3
"""A word count of a million small files, with 64 file descriptors and little memory.

Takes a corpus folder, in which it makes the files and from which it takes them away again, and tegula's
binary; prints a Markdown table beside what the usual programs take to read and to count the same files,
and writes the raw results. Ends with exit code 1 where a count differs or the budget is not kept to.

    python3 bench/compare/files.py --corpus bench/corpus --tegula target/release/tegula
"""

import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import ours
from measure import (
    COMMIT_BEFORE,
    Failed,
    Sample,
    arguments,
    first_line,
    machine,
    run_script,
    sample,
    table,
    version_of,
)

FOLDERS = 1000
FILES_PER_FOLDER = 1000
WORKERS = 2
BUDGET_MIB = 64
DESCRIPTORS = 64


def make_files(root: Path) -> int:
    """Writes the files, about 200 bytes each; returns their words."""
    chance = random.Random(1)
    words = [f"w{number:x}" for number in range(20_000)]
    total = 0
    for number in range(FOLDERS):
        folder = root / f"{number // 100}" / f"{number % 100}"
        folder.mkdir(parents=True)
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        for file in range(FILES_PER_FOLDER):
            chosen = chance.choices(words, k=36)
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
            made = os.open(f"{file}.txt", flags, 0o644, dir_fd=opened)
            os.write(made, (" ".join(chosen) + "\n").encode())
            os.close(made)
            total += len(chosen)
        os.close(opened)
    return total


def programs_of(tegula: Path, root: Path, stats: Path) -> dict[str, str]:
    files = f"find {shlex.quote(str(root))} -type f -print0 | xargs -0 cat"
    count = [str(tegula), "wordcount", str(root), "-j", str(WORKERS), "--top", "10"]
    count += ["--memory", f"{BUDGET_MIB}M", "--stats-json", str(stats)]
    return {
        "find, cat": f"{files} > /dev/null",
        "find, cat, wc -w": f"{files} | wc -w",
        "tegula": f"ulimit -n {DESCRIPTORS}; exec {shlex.join(count)}",
    }


def run_once(command: str) -> tuple[Sample, str]:
    with tempfile.TemporaryFile() as stdout:
        taken = sample(("sh", "-c", command), {}, stdout.fileno())
        stdout.seek(0)
        return taken, stdout.read().decode()


def main() -> int:
    parser = arguments("Measure a word count of a million files.", "files.json")
    options = parser.parse_args()
    ours.existing(options.tegula)
    root = options.corpus / "files"
    if root.exists():
        raise Failed(f"{root} is there: it is made and removed here, so remove it")
    samples: dict[str, list[Sample]] = {}
    try:
        words = make_files(root)
        with tempfile.TemporaryDirectory() as folder:
            stats = Path(folder) / "stats.json"
            programs = programs_of(options.tegula, root, stats)
            # Into the page cache.
            run_once(programs["find, cat"])
            for round_number in range(1, options.runs + 1):
                for name, command in programs.items():
                    taken, printed = run_once(command)
                    samples.setdefault(name, []).append(taken)
                    if name.endswith("wc -w") and int(printed) != words:
                        raise Failed(f"{name}: {printed} words are not {words}")
                    print(
                        f"run {round_number}/{options.runs}: {name}: "
                        f"{taken.cpu_s:.2f} CPU s, {taken.wall_s:.2f} s",
                        file=sys.stderr,
                    )
                figures = json.loads(stats.read_text())
                if figures["pairs"] != words:
                    raise Failed(f"tegula: {figures['pairs']} words are not {words}")
                peak = figures["memory_resident_peak"]
                if peak > BUDGET_MIB << 20:
                    raise Failed(f"tegula: {peak} bytes were held")
    finally:
        # Python's own way takes minutes.
        subprocess.run(["rm", "-rf", str(root)], check=True)
    files = FOLDERS * FILES_PER_FOLDER
    rows = []
    for name, taken in samples.items():
        cpu = median(one.cpu_s for one in taken)
        system = median(one.cpu_system_s for one in taken)
        wall = median(one.wall_s for one in taken)
        most = max(one.resident_peak_bytes for one in taken)
        figures_of_row = (cpu, system, wall, cpu / files * 1e6, most / 1e6)
        rows.append([name, *(f"{figure:.2f}" for figure in figures_of_row)])
    heads = ["program", "CPU s", "of it system", "wall s", "CPU µs / file", "peak MB"]
    print(table(heads, rows))
    results = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": COMMIT_BEFORE,
        "machine": machine(),
        "versions": {
            "tegula": version_of(options.tegula),
            "cat": first_line(["cat", "--version"]),
            "find": first_line(["find", "--version"]),
        },
        "files": files,
        "words": words,
        "budget_bytes": BUDGET_MIB << 20,
        "descriptors": DESCRIPTORS,
        "samples": {
            name: [asdict(one) for one in taken] for name, taken in samples.items()
        },
        "stats": figures,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    run_script(main)
