#!/usr/bin/env python3
"""Words of Unicode text (UAX #29) in five scripts: Tegula beside the crate whose words are the reference.

Takes a folder with the texts of `bench/corpus.py`, tegula, and the reference program of the benchmarks; prints a Markdown
table and writes the raw results. Both must write the same bytes; where they do not, a rate is missed or a text is missing,
it ends with exit code 1.

    python3 bench/compare/unicode.py --corpus bench/corpus --tegula target/release/tegula \\
        --reference target/release/unicode
"""

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

# MB per CPU second, at least.
AT_LEAST = {"books": 500, "greek": 200, "russian": 200, "chinese": 200, "hindi": 200}


def programs_of(
    tegula: Path, reference: Path, text: Path, folder: Path
) -> list[Program]:
    ours_out, theirs_out = folder / "tegula.out", folder / "reference.out"
    argv = [str(tegula), "wordcount", "--words", "unicode", "-j", "1"]
    argv += ["--progress", "off", "-o", str(ours_out), str(text)]
    shell = f'exec "$0" "$1" > "{theirs_out}"'
    return [
        Program(f"tegula, {text.stem}", 1, text, tuple(argv)),
        Program(
            f"reference, {text.stem}",
            1,
            text,
            ("sh", "-c", shell, str(reference), str(text)),
        ),
    ]


def main() -> int:
    parser = arguments("Measure words of Unicode text.", "unicode.json")
    parser.add_argument("--reference", type=Path, required=True)
    options = parser.parse_args()
    ours.existing(options.tegula)
    everything: list[Measured] = []
    rows, failures = [], []
    for name, at_least in AT_LEAST.items():
        text = options.corpus / f"{name}.txt"
        if not text.exists():
            failures.append(
                f"- NO: {text.name} is missing: make bench-unicode BOOKS=folder"
            )
            continue
        with tempfile.TemporaryDirectory() as folder:
            programs = programs_of(
                options.tegula, options.reference, text, Path(folder)
            )
            mine, theirs = interleaved(programs, options.runs)
            answers = [Path(folder) / f"{one}.out" for one in ("tegula", "reference")]
            if answers[0].read_bytes() != answers[1].read_bytes():
                raise Failed(f"{text.name}: the words are not those of the reference")
        rate = mine.megabytes_per_cpu_s
        rows.append(
            [
                name,
                mine.spread(lambda sample: sample.cpu_s, 3),
                f"{rate:.0f}",
                f"{theirs.megabytes_per_cpu_s:.0f}",
                f"{theirs.cpu_s / mine.cpu_s:.1f}",
            ]
        )
        if rate < at_least:
            failures.append(
                f"- NO: {name}: {rate:.0f} MB per CPU s, at least {at_least}"
            )
        everything += [mine, theirs]
    heads = ["text", "CPU s", "MB per CPU s", "reference", "CPU, reference / tegula"]
    print(table(heads, rows))
    print("\n".join(failures))
    version = version_of(options.tegula)
    write_results(options.out, everything, {"tegula": version})
    return 1 if failures else 0


if __name__ == "__main__":
    run_script(main)
