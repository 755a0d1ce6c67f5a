#!/usr/bin/env python3
"""Word counts of compressed text: tegula on one file and on eight, beside decompression by the usual
program alone, that program and tegula in a pipeline, and tegula on the plain text.

Takes a folder of the texts made by `bench/corpus.py` and tegula's binary; makes the compressed files
there, prints a Markdown table and writes the raw results. A format whose program is not installed is
left out.

    python3 bench/compare/compressed.py --corpus bench/corpus --tegula target/release/tegula
"""

import dataclasses
import shlex
import shutil
import subprocess
from pathlib import Path

import ours
from measure import (
    Failed,
    Measured,
    Program,
    arguments,
    first_line,
    interleaved,
    run_script,
    table,
    version_of,
    warm,
    write_results,
)

TEXT = "source100.txt"
RULE = "alpha"
WORKERS = 2
PARTS = 8
# Program and ending.
FORMATS = (("gzip", "gz"), ("zstd", "zst"), ("bzip2", "bz2"), ("lz4", "lz4"))


def compress(program: str, source: Path, to: Path) -> None:
    """Writes the file unless it is there."""
    if to.exists():
        return
    part = to.with_name(to.name + ".part")
    with open(source, "rb") as text, open(part, "wb") as packed:
        subprocess.run([program, "-c"], stdin=text, stdout=packed, check=True)
    part.rename(to)


def divided(text: Path) -> list[Path]:
    """The text in eight files, cut at lines."""
    folder = text.with_suffix(".parts")
    names = [folder / f"{number}.txt" for number in range(PARTS)]
    if not all(name.exists() for name in names):
        folder.mkdir(exist_ok=True)
        part_bytes = text.stat().st_size // PARTS + 1
        with open(text, "rb") as whole:
            for name in names:
                name.write_bytes(whole.read(part_bytes) + whole.readline())
    return names


def decompress(program: str, packed: Path) -> str:
    return f"{program} -dc {shlex.quote(str(packed))}"


def programs_of(tegula: Path, text: Path) -> list[Program]:
    def count(path: Path, name: str) -> Program:
        counted = ours.word_count(tegula, path, RULE, WORKERS, name=name)
        return dataclasses.replace(counted, input=text)

    def shell(command: str, name: str, plain: Program | None) -> Program:
        argv = ("sh", "-c", command)
        if plain is None:
            return Program(name=name, workers=1, input=text, argv=argv)
        return dataclasses.replace(plain, name=name, argv=argv)

    programs = [count(text, "tegula, plain")]
    for program, ending in FORMATS:
        if shutil.which(program) is None:
            continue
        packed = text.with_name(f"{text.name}.{ending}")
        compress(program, text, packed)
        folder = text.with_suffix(f".parts.{ending}")
        folder.mkdir(exist_ok=True)
        for part in divided(text):
            compress(program, part, folder / f"{part.name}.{ending}")
            warm(folder / f"{part.name}.{ending}")
        warm(packed)
        piped = count(Path("-"), "")
        command = f"{decompress(program, packed)} | {shlex.join(piped.argv)} --plain"
        programs += [
            shell(
                f"{decompress(program, packed)} > /dev/null", f"{program} alone", None
            ),
            shell(command, f"{program} into tegula", piped),
            count(packed, f"tegula, one {ending}"),
            count(folder, f"tegula, {PARTS} {ending}"),
        ]
    return programs


def check_answers(measured: list[Measured]) -> None:
    """Raises `Failed` where an answer is not that of the plain text."""
    expected = measured[0].answer
    for one in measured:
        if one.program.read_answer is not None and one.answer != expected:
            raise Failed(f"{one.program.name}: {one.answer} is not {expected}")


def report(measured: list[Measured]) -> str:
    """Times, and their ratios to the format's decompression alone."""
    alone: Measured | None = None
    rows = []
    for one in measured:
        if one.program.name.endswith(" alone"):
            alone = one
        ratios = ["", ""]
        if alone is not None:
            ratios = [
                f"{one.cpu_s / alone.cpu_s:.2f}",
                f"{one.wall_s / alone.wall_s:.2f}",
            ]
        cpu = one.spread(lambda sample: sample.cpu_s)
        wall = one.spread(lambda sample: sample.wall_s)
        rows.append([one.program.name, cpu, wall, *ratios])
    heads = ["program", "CPU s", "wall s", "CPU / alone", "wall / alone"]
    return table(heads, rows)


def main() -> int:
    parser = arguments("Measure word counts of compressed text.", "compressed.json")
    options = parser.parse_args()
    ours.existing(options.tegula)
    text = options.corpus / TEXT
    if not text.is_file():
        raise Failed(f"no text at {text}: make it with `make {text}`")
    programs = programs_of(options.tegula, text)
    measured = interleaved(programs, options.runs, check_answers)
    print(report(measured))
    tools = [program for program, _ in FORMATS if shutil.which(program)]
    versions = {program: first_line([program, "--version"]) for program in tools}
    versions["tegula"] = version_of(options.tegula)
    write_results(options.out, measured, versions)
    return 0


if __name__ == "__main__":
    run_script(main)
