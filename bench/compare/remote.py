#!/usr/bin/env python3
"""Jobs over s3:// and hdfs:// beside the same file on disk, from servers on loopback; and beside what
only reads the file from there: curl, and Hadoop's own `-cat`.

Takes a folder of inputs, tegula's binary and that of the servers; prints a Markdown table and writes
the raw results. CPU time is that of the client alone; wall time is shared with the servers, which run
on the same machine, so it says little about a network.

    python3 bench/compare/remote.py --corpus bench/corpus --tegula target/release/tegula \\
        --servers target/release/loopback
"""

import dataclasses
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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

WORKERS = 2
RULE = "alpha"
# Bound by its map, and by reading.
WORDS, POINTS = "source256.txt", "points.bin"
# The one key that the server lets in.
KEY_ID, SECRET = "tegula", "secret of tegula"
SIGNED = (
    *("--aws-sigv4", "aws:amz:us-east-1:s3", "--user", f"{KEY_ID}:{SECRET}"),
    *("--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"),
)


@dataclasses.dataclass(frozen=True)
class Servers:
    """Where the files are, and how Hadoop's own programs run."""

    s3: str
    hdfs: str
    java_arguments: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.s3,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }


@contextmanager
def servers(binary: Path, files: list[Path]) -> Iterator[Servers]:
    """Runs the servers, with these files, for as long as the block lasts."""
    process = subprocess.Popen(
        [str(binary), *map(str, files)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        said = dict(
            process.stdout.readline().strip().partition(" ")[::2] for _ in range(3)
        )
        if set(said) != {"s3", "hdfs", "java"}:
            raise Failed(f"{binary.name} does not start; it says why above")
        put(f"{said['s3']}/bench", "--request", "PUT")
        for file in files:
            # By the store's own protocol, so that it keeps its ETag.
            url = f"{said['s3']}/bench/{file.name}"
            put(url, "--upload-file", str(file))
        with tempfile.TemporaryDirectory() as folder:
            # Hadoop's programs want a configuration, however empty.
            (Path(folder) / "core-site.xml").write_text("<configuration/>")
            java_arguments = Path(folder) / "hadoop"
            java_arguments.write_text(f"-cp {folder}:{said['java']}")
            yield Servers(said["s3"], said["hdfs"], java_arguments)
    finally:
        process.stdin.close()
        process.wait()


def put(url: str, *what: str) -> None:
    """Puts a bucket or an object into the store."""
    curl = ["curl", "--silent", "--show-error", "--fail-with-body", *SIGNED]
    done = subprocess.run(
        [*curl, *what, url], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Failed(f"curl cannot put {url}: {done.stdout}{done.stderr}")


def programs_of(tegula: Path, corpus: Path, at: Servers) -> list[Program]:
    def everywhere(on_disk: Program) -> list[Program]:
        """The program, and what becomes of it when its file is elsewhere."""
        path = str(on_disk.input)
        programs = [on_disk]
        for store, root in (("s3", "s3://bench"), ("hdfs", f"{at.hdfs}/bench")):
            url = f"{root}/{on_disk.input.name}"
            moved, stats = {path: url}, on_disk.stats
            if stats is not None:
                stats = stats.with_suffix(f".{store}.json")
                moved[str(on_disk.stats)] = str(stats)
            programs.append(
                dataclasses.replace(
                    on_disk,
                    name=f"{on_disk.name.partition(',')[0]}, {store}",
                    argv=tuple(moved.get(part, part) for part in on_disk.argv),
                    environment=at.environment,
                    stats=stats,
                )
            )
        return programs

    def only_read(name: str, file: Path, argv: tuple[str, ...]) -> Program:
        return Program(name=name, workers=1, input=file, argv=argv)

    words, points = corpus / WORDS, corpus / POINTS
    linreg = (str(tegula), "linreg", "--points", "bytes", str(points))
    programs = everywhere(
        ours.word_count(tegula, words, RULE, WORKERS, name="word count, disk")
    )
    programs += everywhere(
        Program(
            name="linreg, disk",
            workers=WORKERS,
            input=points,
            argv=(*linreg, "-j", str(WORKERS)),
            is_hashed=True,
        )
    )
    for file in (words, points):
        url = f"{at.s3}/bench/{file.name}"
        curl = ("curl", "--silent", "--fail", *SIGNED, url, "--output", "/dev/null")
        shell = ("java", f"@{at.java_arguments}", "org.apache.hadoop.fs.FsShell")
        programs += [
            only_read("curl, s3", file, curl),
            only_read(
                "-cat of Hadoop, hdfs",
                file,
                (*shell, "-cat", f"{at.hdfs}/bench/{file.name}"),
            ),
        ]
    return programs


def check_answers(measured: list[Measured]) -> None:
    """Raises `Failed` where a job's answer is not that of the file on disk."""
    expected: dict[str, Answer] = {}
    for one in measured:
        job = one.program.name.partition(",")[0]
        if not one.program.has_answer:
            continue
        if expected.setdefault(job, one.answer) != one.answer:
            raise Failed(f"{one.program.name}: {one.answer} is not {expected[job]}")


def report(measured: list[Measured]) -> str:
    rows = []
    for one in measured:
        megabytes = one.program.input.stat().st_size / 1e6
        rows.append(
            [
                one.program.name,
                one.program.input.name,
                one.spread(lambda sample: sample.cpu_s),
                one.spread(lambda sample: sample.wall_s),
                f"{megabytes / one.cpu_s:.0f}",
                f"{megabytes / one.wall_s:.0f}",
                f"{one.resident_peak_bytes / 1e6:.0f}",
            ]
        )
    heads = ["program", "input", "CPU s", "wall s", "MB/CPU s", "MB/s", "peak MB"]
    return table(heads, rows)


def main() -> int:
    parser = arguments("Measure jobs over stores on loopback.", "remote.json")
    parser.add_argument(
        "--servers", type=Path, required=True, help="the binary of the servers"
    )
    options = parser.parse_args()
    ours.existing(options.tegula)
    files = [options.corpus / name for name in (WORDS, POINTS)]
    for file in files:
        if not file.is_file():
            raise Failed(f"no input at {file}: make it with `make {file}`")
    with servers(options.servers, files) as at:
        programs = programs_of(options.tegula, options.corpus, at)
        measured = interleaved(programs, options.runs, check_answers)
    print(report(measured))
    versions = {
        "tegula": version_of(options.tegula),
        "curl": first_line(["curl", "--version"]),
        "java": first_line(["java", "--version"]),
    }
    write_results(options.out, measured, versions)
    return 0


if __name__ == "__main__":
    run_script(main)
