#!/usr/bin/env python3
"""Lines with a match: Tegula beside ripgrep and GNU grep, whichever are there, one worker each.

Takes a folder with `source256.txt` made by `bench/corpus.py` and tegula; prints a Markdown table and writes the raw
results. All must count the same lines, else it ends with exit code 1.

    python3 bench/compare/grep.py --corpus bench/corpus --tegula target/release/tegula
"""

import shutil
from pathlib import Path

import ours
from measure import (
    Answer,
    Failed,
    Program,
    arguments,
    first_line,
    interleaved,
    run_script,
    table,
    version_of,
    write_results,
)

PATTERNS = {
    "many matches, a letter": "e",
    "many matches, a class": "th[aeiou]",
    "a word": "int",
    "a literal inside": "[a-z]+ing",
    "few matches": "[A-Z]+_SUSPEND",
    "no literal": "[0-9]{4}",
}


def read_count(output: str) -> Answer:
    return Answer(words=int(output.split()[-1]))


def programs_of(tegula: Path, text: Path, name: str, pattern: str) -> list[Program]:
    commands = {
        "tegula": (str(tegula), "grep", "-l", "-j", "1", "--progress", "off"),
        "ripgrep": ("rg", "-j", "1", "-c"),
        "GNU grep": ("grep", "-cE"),
    }
    return [
        Program(
            f"{program}, {name}",
            1,
            text,
            (*argv, pattern, str(text)),
            environment={"LC_ALL": "C"},
            read_answer=read_count,
        )
        for program, argv in commands.items()
        if shutil.which(argv[0])
    ]


def main() -> int:
    parser = arguments("Measure lines with a match.", "grep.json")
    options = parser.parse_args()
    ours.existing(options.tegula)
    text = options.corpus / "source256.txt"
    everything, rows = [], []
    for name, pattern in PATTERNS.items():
        measured = interleaved(
            programs_of(options.tegula, text, name, pattern), options.runs
        )
        if len({one.answer for one in measured}) != 1:
            raise Failed(f"{pattern}: {[one.answer for one in measured]}")
        mine = measured[0]
        for one in measured:
            row = [one.program.name, f"`{pattern}`", f"{one.answer.words:,}"]
            row += [one.spread(lambda sample: sample.cpu_s, 3)]
            row += [one.spread(lambda sample: sample.wall_s, 3)]
            rows.append([*row, f"{one.cpu_s / mine.cpu_s:.2f}"])
        everything += measured
    heads = ["program, pattern", "", "lines", "CPU s", "wall s", "CPU / tegula"]
    print(table(heads, rows))
    versions = {"tegula": version_of(options.tegula)}
    versions |= {
        one: first_line([one, "--version"])
        for one in ("rg", "grep")
        if shutil.which(one)
    }
    write_results(options.out, everything, versions)
    return 0


if __name__ == "__main__":
    run_script(main)
