#!/usr/bin/env python3
"""Compares streaming jobs on Tegula with the same on Hadoop's local runner with the stock streaming jar: part files of
the same names, with the same keys in the same order and the same values of each key.

    hadoop.py TEGULA CLASSPATH STREAMING_JAR [words of a case's name]
"""

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

from cases import ALL, Case

LOCAL = ["-D", "mapreduce.framework.name=local", "-D", "fs.defaultFS=file:///"]


def main() -> None:
    tegula, classpath, jar, *words = sys.argv[1:]
    if Path(classpath).is_file():
        classpath = Path(classpath).read_text().strip()
    cases = [case for case in ALL if all(word in case.name for word in words)]
    programs = {
        "hadoop": [
            "java",
            "-Xshare:auto",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            f"{jar}:{classpath}",
            "org.apache.hadoop.streaming.HadoopStreaming",
            *LOCAL,
        ],
        "tegula": [str(Path(tegula).resolve()), "streaming"],
    }
    different = []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            results = {
                name: run(program, case, Path(folder), name)
                for name, program in programs.items()
            }
        if fault := difference(case, results["hadoop"], results["tegula"]):
            different.append(case.name)
            print(f"DIFFERS {case.name}: {fault}", flush=True)
        else:
            print(f"same    {case.name}", flush=True)
    print(f"{len(cases) - len(different)} of {len(cases)} cases are the same")
    sys.exit(1 if different else 0)


def run(
    program: list[str], case: Case, folder: Path, name: str
) -> dict[str, bytes] | str:
    """Returns the files of the answer by name, or the end of what a failed run said."""
    inputs = folder / "input"
    inputs.mkdir(exist_ok=True)
    for path, content in case.input.items():
        (inputs / path).write_bytes(
            gzip.compress(content) if path.endswith(".gz") else content
        )
    work = folder / name
    work.mkdir()
    for path, content in case.files.items():
        (work / path).write_bytes(content)
    output = folder / f"output-{name}"
    command = [*program, *case.options, "-input", str(inputs), "-output", str(output)]
    done = subprocess.run(
        command, cwd=work, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        return done.stderr.decode(errors="replace")[-400:]
    return {
        path.name: path.read_bytes()
        for path in sorted(output.iterdir())
        if not path.name.endswith(".crc")
    }


def difference(
    case: Case, hadoop: dict[str, bytes] | str, tegula: dict[str, bytes] | str
) -> str | None:
    match hadoop, tegula:
        case str(), str():
            return None
        case str(said), _:
            return f"Hadoop fails: {said}"
        case _, str(said):
            return f"Tegula fails: {said}"
    if hadoop.keys() != tegula.keys():
        return f"files {sorted(hadoop)} and {sorted(tegula)}"
    for name, content in hadoop.items():
        ours = tegula[name]
        if name.endswith(".gz"):
            content, ours = gzip.decompress(content), gzip.decompress(ours)
        if content == ours:
            continue
        lines, our_lines = content.split(b"\n"), ours.split(b"\n")
        if sorted(lines) != sorted(our_lines):
            return f"{name} has {content[:300]!r} and {ours[:300]!r}"
        if not case.has_ties and [line.split(b"\t")[0] for line in lines] != [
            line.split(b"\t")[0] for line in our_lines
        ]:
            return f"{name} is in another order: {content[:300]!r} and {ours[:300]!r}"
    return None


if __name__ == "__main__":
    main()
