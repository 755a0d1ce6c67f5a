#!/usr/bin/env python3
"""Lists the lines that make an error, and which of them no test reaches, into docs/error-paths.md.

Runs the tests of some crates with instruments that count how often each line was run, and looks for lines of their
source that make an error. A line that is run is one whose error was made, but for an error that is made beforehand
(`ok_or`). A test of missing permissions may fail, because the counters cannot be written either; and one test is left
out, whose server does not end with the counters in a mapped file.

    python3 reliability/error_paths.py --target target/coverage tegula-machine tegula-core

Needs rustup's component llvm-tools.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "error-paths.md"
# Why no test reaches what it does not: by file and function.
REASONS = ROOT / "reliability" / "error-paths.toml"
# What makes an error, and what only looks at one.
MAKES = re.compile(
    r"\bErr\(|\w*Error::\w+\s*[({]|\.ok_or(_else)?\(|\brefuse\(|\bfault\("
)
LOOKS = re.compile(
    r"^\s*(//|#\[|\*)|let (Some\()?Err\(|matches!|=> *(Ok|None|false|true|\{\})|Err\(_\)|fn \w+|Err\((error|cause|refused)\) (if .*)?=>"
)
# A test whose server does not end with such counters.
HANGS = "a_server_that_is_asked_to_end_leaves_its_jobs_to_the_next"
# What looks for faults of the others: its own errors are such faults.
TOOLS = {"fuzz", "reliability"}
# Tests within a source file come last in it.
TESTS = re.compile(r"^\s*#\[cfg\(.*\btest\b.*\)\]")


@dataclass(frozen=True)
class Line:
    """A line that makes an error."""

    file: str
    function: str
    text: str
    is_run: bool


def tools() -> Path:
    sysroot = subprocess.check_output(["rustc", "--print", "sysroot"], text=True)
    host = re.search(
        r"^host: (.+)$", subprocess.check_output(["rustc", "-vV"], text=True), re.M
    )
    if host is None:
        raise SystemExit("rustc -vV names no host")
    folder = Path(sysroot.strip()) / "lib" / "rustlib" / host[1] / "bin"
    if not (folder / "llvm-cov").exists():
        raise SystemExit("llvm-cov is missing: rustup component add llvm-tools")
    return folder


def counted(
    crates: list[str], target: Path, is_kept: bool
) -> tuple[dict[str, dict[int, int]], bool]:
    """How often each line of each file was run by the tests, and whether all of these passed. `is_kept`: by the
    last tests, which are not run again."""
    llvm = tools()
    profiles = target / "profiles"
    if not is_kept:
        shutil.rmtree(profiles, ignore_errors=True)
    environment = os.environ | {
        # The counters lie in the mapped file itself (%c), so that a process which is killed keeps them.
        "RUSTFLAGS": "-C instrument-coverage -C llvm-args=-runtime-counter-relocation",
        "LLVM_PROFILE_FILE": str(profiles / "%c%8m.profraw"),
    }
    chosen = [word for crate in crates for word in ("-p", crate)]
    features = ("--target-dir", str(target), "--all-features")
    # Tests run the examples, as programs.
    examples = ["cargo", "build", "--profile", "test", *chosen, *features, "--examples"]
    subprocess.run(examples, cwd=ROOT, env=environment, check=True)
    argv = ["cargo", "test", *chosen, *features, "--lib", "--bins", "--tests"]
    if "tegula-remote" in crates:
        # It is run only where it is named, because it needs servers.
        argv += ["--test", "remote"]
    built = subprocess.run(
        [*argv, "--no-run", "--message-format=json"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    programs = {one["executable"] for one in messages if one.get("executable")}
    test = [*argv, "--no-fail-fast", "--", "--skip", HANGS]
    passed = is_kept or subprocess.run(test, cwd=ROOT, env=environment).returncode == 0
    merged = target / "merged.profdata"
    raw = [str(path) for path in profiles.glob("*.profraw")]
    subprocess.run(
        [llvm / "llvm-profdata", "merge", "-sparse", "-o", merged, *raw], check=True
    )
    objects = [word for program in sorted(programs) for word in ("-object", program)]
    exported = subprocess.run(
        [
            llvm / "llvm-cov",
            "export",
            "-format=lcov",
            f"-instr-profile={merged}",
            *objects,
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    counts: dict[str, dict[int, int]] = {}
    lines: dict[int, int] = {}
    for record in exported.stdout.splitlines():
        kind, _, rest = record.partition(":")
        if kind == "SF":
            lines = counts.setdefault(rest, {})
        elif kind == "DA":
            number, count = rest.split(",")[:2]
            lines[int(number)] = max(int(count), lines.get(int(number), 0))
    return counts, passed


def lines_of(path: Path, counts: dict[int, int]) -> Iterator[Line]:
    """The lines of a file that make an error and of which it is known whether they were run."""
    function = ""
    for number, text in enumerate(path.read_text().splitlines(), 1):
        if TESTS.match(text):
            return
        if named := re.match(
            r"\s*(?:pub(?:\(\w+\))? )?(?:const |unsafe )*fn (\w+)", text
        ):
            function = named[1]
        if MAKES.search(text) and not LOOKS.search(text) and number in counts:
            name = str(path.relative_to(ROOT))
            yield Line(name, function, text.strip(), counts[number] > 0)


def page(lines: list[Line], crates: list[str]) -> str:
    reasons: dict[str, dict[str, str]] = tomllib.loads(REASONS.read_text())
    text = [
        "# Error paths",
        "",
        "The lines of the source that make an error, and those that no test reaches. `make error-paths` runs the tests",
        "with counters and writes this page; a process that is killed keeps its counts. An error that is made beforehand",
        "(`ok_or`) counts as reached. Lines are found by their words, so a few only pass an error on or look at it. Every",
        "variant of an error has a test of its own beside this:",
        "[promises.md](promises.md).",
        "",
        f"Commit {commit()}, {datetime.now(UTC):%Y-%m-%d}; the tests of {', '.join(f'`{crate}`' for crate in crates)}.",
        "",
        "| folder | lines that make an error | reached by a test | not reached |",
        "|---|---:|---:|---:|",
    ]
    folders = sorted({line.file.split("/", 1)[0] for line in lines})
    for folder in [*folders, ""]:
        prefix = folder and f"{folder}/"
        own = [line for line in lines if line.file.startswith(prefix)]
        run = sum(line.is_run for line in own)
        name = folder or "all"
        text.append(f"| {name} | {len(own)} | {run} | {len(own) - run} |")
    text += ["", "## Not reached", ""]
    text += ["| file | function | line | why |", "|---|---|---|---|"]
    for line in lines:
        if not line.is_run:
            code = line.text.replace("|", "\\|")
            why = reasons.get(line.file, {}).get(line.function, "")
            text.append(f"| {line.file} | {line.function} | `` {code} `` | {why} |")
    unreached = {(line.file, line.function) for line in lines if not line.is_run}
    for file, functions in reasons.items():
        for function in functions:
            if (file, function) not in unreached:
                print(f"{REASONS.name}: {function} of {file} is reached, or gone")
    return "\n".join(text) + "\n"


def commit() -> str:
    argv = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.check_output(argv, cwd=ROOT, text=True).strip()


def main() -> int:
    parser = argparse.ArgumentParser(description="Lists error paths and their tests.")
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument(
        "--kept", action="store_true", help="of the last tests, which are not run again"
    )
    parser.add_argument("crates", nargs="+")
    options = parser.parse_args()
    counts, passed = counted(options.crates, options.target.resolve(), options.kept)
    folders = {
        "engine" if crate == "tegula" else crate.removeprefix("tegula-")
        for crate in options.crates
    } - TOOLS
    sources = {
        path: lines
        for path, lines in counts.items()
        if Path(path).is_relative_to(ROOT)
        and Path(path).relative_to(ROOT).parts[0] in folders
        and "/src/" in path
    }
    lines = [
        line for path in sorted(sources) for line in lines_of(Path(path), sources[path])
    ]
    PAGE.write_text(page(lines, options.crates))
    unreached = sum(not line.is_run for line in lines)
    print(f"{len(lines)} lines make an error, {unreached} of them not reached")
    if not passed:
        print(
            "some tests failed; what they would have reached after that is not counted"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
