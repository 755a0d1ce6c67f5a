#!/usr/bin/env python3
"""The cost of building: `make run` and `make build` with nothing built, and a user's own job after an edit.

Takes a folder that does not exist, on a disk with 6 GB of room; it is removed at the end. Prints a Markdown
table and writes the raw results. External crates must be in the package cache (`cargo fetch`). The jobs are
examples as crates of their own, in Cargo's default release profile. It ends with exit code 1 if a figure is
more than it may be.

    python3 bench/compare/builds.py --scratch target/builds
"""

import argparse
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from measure import (
    Failed,
    Measured,
    Program,
    first_line,
    interleaved,
    run_script,
    table,
    write_results,
)

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "engine" / "examples"
RUN, BUILD = "make run", "make build"
# Jobs rebuilt: the first has a combine of the engine's that is compiled with it, the second one of its own.
JOBS = ("word_count", "own_combine")
# What each may take: seconds of wall time for the first two, CPU seconds for the last.
RUN_WALL_S, BUILD_WALL_S, REBUILD_CPU_S = 75.0, 240.0, 8.0
PROGRAM_BYTES = 25_000_000

MANIFEST = """\
[package]
name = "job"
edition = "2024"

[dependencies]
tegula = {{ path = "{engine}" }}

[workspace]
"""


@dataclass(frozen=True)
class Scratch:
    """The folder of the targets: each build has its own."""

    folder: Path

    def target(self, name: str) -> Path:
        return self.folder / name

    @property
    def program(self) -> Path:
        return self.target("build") / "release" / "tegula"

    def make(self, name: str, what: str) -> Program:
        target = self.target(what)
        return Program(
            name,
            os.cpu_count() or 1,
            ROOT / "Cargo.lock",
            ("make", "--no-print-directory", "-C", str(ROOT), what),
            environment={"CARGO_TARGET_DIR": str(target)},
            before=f"rm -rf {shlex.quote(str(target))}",
        )

    def job(self, example: str) -> Program:
        """A crate of one job, built once; each run follows an edit of its source."""
        crate = self.target(example)
        source = crate / "src" / "main.rs"
        source.parent.mkdir(parents=True, exist_ok=True)
        (crate / "Cargo.toml").write_text(MANIFEST.format(engine=ROOT / "engine"))
        shutil.copy(ROOT / "Cargo.lock", crate)
        shutil.copy(EXAMPLES / f"{example}.rs", source)
        build = (
            "cargo",
            "build",
            "--quiet",
            "--release",
            "--offline",
            "--manifest-path",
        )
        argv = (*build, str(crate / "Cargo.toml"))
        target = {"CARGO_TARGET_DIR": str(crate / "target")}
        edit = f"echo '// An edit.' >>{shlex.quote(str(source))}"
        first = f"CARGO_TARGET_DIR={shlex.quote(target['CARGO_TARGET_DIR'])} {shlex.join(argv)}"
        # The first run builds the engine too, outside what is measured.
        before = f"{first} >/dev/null && {edit}"
        workers = os.cpu_count() or 1
        return Program(
            f"{example} rebuilt", workers, source, argv, target, before=before
        )


def allowed(measured: Measured) -> tuple[str, bool]:
    """The most that a build may take, and whether its median does."""
    name = measured.program.name
    if name not in (RUN, BUILD):
        return f"{REBUILD_CPU_S:.0f} CPU s", measured.cpu_s <= REBUILD_CPU_S
    most = RUN_WALL_S if name == RUN else BUILD_WALL_S
    return f"{most:.0f} s wall", measured.wall_s <= most


def report(measured: list[Measured]) -> str:
    rows = [
        [
            one.program.name,
            one.spread(lambda sample: sample.wall_s, 1),
            one.spread(lambda sample: sample.cpu_s, 1),
            allowed(one)[0],
            "yes" if allowed(one)[1] else "NO",
        ]
        for one in measured
    ]
    return table(["build", "wall s", "CPU s", "at most", "within"], rows)


def measure(
    scratch: Scratch, runs: int, builds: int
) -> tuple[list[Measured], dict[str, int]]:
    """Measures all builds, and the size of the program if there is one."""
    jobs = [scratch.job(example) for example in JOBS]
    measured = interleaved([*jobs, scratch.make(RUN, "run")], runs)
    if not builds:
        return measured, {}
    measured += interleaved([scratch.make(BUILD, "build")], builds)
    return measured, {"program_bytes": scratch.program.stat().st_size}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the cost of building.")
    parser.add_argument(
        "--scratch", type=Path, required=True, help="folder of the targets"
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each build (5)")
    parser.add_argument(
        "--builds",
        type=int,
        default=1,
        help="runs of make build, which takes minutes (1)",
    )
    out = ROOT / "bench" / "results" / "builds.json"
    parser.add_argument("--out", type=Path, default=out, help="file of raw results")
    options = parser.parse_args()
    scratch = Scratch(options.scratch.resolve())
    if scratch.folder.exists():
        raise Failed(f"{options.scratch}: exists; remove it or give another folder")
    scratch.folder.mkdir(parents=True)
    try:
        measured, sizes = measure(scratch, options.runs, options.builds)
    finally:
        shutil.rmtree(scratch.folder)
    print(report(measured))
    size = sizes.get("program_bytes", 0)
    if size:
        print(
            f"\nprogram of make build: {size / 1e6:.1f} MB, at most {PROGRAM_BYTES / 1e6:.0f}"
        )
    write_results(
        options.out, measured, {"rustc": first_line(["rustc", "--version"])}, {**sizes}
    )
    within = size <= PROGRAM_BYTES and all(allowed(one)[1] for one in measured)
    return 0 if within else 1


if __name__ == "__main__":
    run_script(main)
