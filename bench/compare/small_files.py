#!/usr/bin/env python3
"""A word count of 1 GB in files of 15 KB on average, beside the same bytes in one file.

Takes a corpus folder with `source.txt`, in which it makes the files and from which it takes them away again, and tegula's
binary; prints a Markdown table beside what `cat` takes to read the same files, and writes the raw results. Ends with exit
code 1 where counts differ, where the files take more than their share beside one file, or more memory.

    python3 bench/compare/small_files.py --corpus bench/corpus --tegula target/release/tegula
"""

import json
import random
import shlex
import subprocess
import tempfile
from pathlib import Path

import ours
from measure import (
    Answer,
    Failed,
    Measured,
    Program,
    arguments,
    first_line,
    interleaved,
    run_script,
    table,
    version_of,
    write_results,
)

FILES_PER_FOLDER = 1000
# Of the logarithm of a length: a mean of 15 KB, and a tenth of the files longer than 31 KB.
MU, SIGMA = 9.2, 0.9
SHARE_MOST = 1.15
MEMORY_MORE_MOST = 16 << 20
ONE, MANY, CAT = "one file", "small files", "find, cat: small files"


def make_files(text: Path, root: Path) -> int:
    """Cuts a text into files, at ends of lines; returns their number."""
    chance = random.Random(1)
    count = 0
    # Piece by piece: a process that is started from this one has its peak of memory.
    with text.open("rb") as lines:
        while piece := lines.read(int(chance.lognormvariate(MU, SIGMA))):
            folder = root / f"{count // FILES_PER_FOLDER}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{count}.txt").write_bytes(piece + lines.readline())
            count += 1
    return count


def read_words(output: str) -> Answer:
    lines = [line.split("\t") for line in output.splitlines()]
    return Answer(top=tuple((word, int(count)) for word, count in lines))


def programs_of(tegula: Path, text: Path, root: Path, stats: Path) -> list[Program]:
    files = f"find {shlex.quote(str(root))} -type f -print0 | xargs -0 cat > /dev/null"
    programs = [Program(CAT, 1, text, ("sh", "-c", files), has_family=True)]
    for workers in (1, 2):
        for name, path in ((ONE, text), (MANY, root)):
            left = stats / f"{workers}-{path.name}.json"
            argv = (str(tegula), "wordcount", "--words", "alpha", "-j", str(workers))
            argv += ("--top", "100", "--stats-json", str(left), str(path))
            programs.append(
                Program(name, workers, text, argv, read_answer=read_words, stats=left)
            )
    return programs


def report(measured: list[Measured], files: int) -> tuple[str, list[str]]:
    """The table, and what is not held."""
    rows, broken = [], []
    for one in measured:
        row = [one.program.name, str(one.program.workers)]
        row += [one.spread(lambda sample: sample.cpu_s)]
        row += [one.spread(lambda sample: sample.cpu_system_s)]
        row += [one.spread(lambda sample: sample.wall_s)]
        row += [f"{one.resident_peak_bytes / 1e6:.0f}"]
        if one.program.name == MANY:
            beside = next(
                other
                for other in measured
                if other.program.name == ONE
                and other.program.workers == one.program.workers
            )
            cpu, wall = one.cpu_s / beside.cpu_s, one.wall_s / beside.wall_s
            each = (one.cpu_s - beside.cpu_s) / files * 1e6
            row += [f"{cpu:.2f} / {wall:.2f}", f"{each:.1f}"]
            more = one.resident_peak_bytes - beside.resident_peak_bytes
            if min(cpu, wall) > SHARE_MOST:
                broken.append(f"{row[1]} workers: {row[6]}, at most {SHARE_MOST}")
            if more > MEMORY_MORE_MOST:
                broken.append(f"{row[1]} workers: {more} bytes more than one file")
        else:
            row += ["", ""]
        rows.append(row)
    heads = ["input", "workers", "CPU s", "of it system", "wall s", "peak MB"]
    heads += ["beside one file, CPU / wall", "CPU µs more, a file"]
    return table(heads, rows), broken


def main() -> int:
    parser = arguments("Measure a word count of small files.", "small_files.json")
    options = parser.parse_args()
    ours.existing(options.tegula)
    text, root = options.corpus / "source.txt", options.corpus / "small-files"
    if root.exists():
        raise Failed(f"{root} is there: it is made and removed here, so remove it")
    try:
        files = make_files(text, root)
        with tempfile.TemporaryDirectory() as folder:
            programs = programs_of(options.tegula, text, root, Path(folder))
            measured = interleaved(programs, options.runs)
    finally:
        subprocess.run(["rm", "-rf", str(root)], check=True)
    answers = {one.answer for one in measured if one.program.name != CAT}
    if len(answers) != 1:
        raise Failed(f"{len(answers)} answers: {json.dumps(sorted(map(str, answers)))}")
    printed, broken = report(measured, files)
    print(printed)
    for line in broken:
        print(f"NOT HELD: {line}")
    versions = {
        "tegula": version_of(options.tegula),
        "cat": first_line(["cat", "--version"]),
    }
    write_results(options.out, measured, versions, {"files": files})
    return 1 if broken else 0


if __name__ == "__main__":
    run_script(main)
