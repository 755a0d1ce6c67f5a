"""What all benchmarks of the Hadoop engine share: how a JVM is started and measured, and the file of raw results.

A run is a whole process, whose wall and processor time are its own and those of its children. Results name the
machine's kind and the commit, and no folder.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

HADOOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HADOOP.parent / "bench" / "compare"))
from measure import COMMIT_BEFORE, machine  # noqa: E402

RESULTS = HADOOP / "bench" / "results"
FRAMEWORKS = ("local", "tegula")
# As the script tegula-hadoop sets them, for both frameworks alike where they know them.
SETTINGS = {
    "tegula": ("fs.file.impl=org.tegula.hadoop.files.CachedLocalFileSystem",),
    "local": (),
    "yarn": (),
}
# Hadoop's own cluster in one machine, which has a class path of its own.
CLUSTER = "yarn"
CLUSTER_FOLDER = HADOOP / "bench" / "cluster"
CLUSTER_PROGRAM = "org.tegula.hadoop.bench.cluster.OnCluster"


@dataclass(frozen=True)
class Run:
    """One process: its times, its peak memory, and its output."""

    wall_s: float
    cpu_s: float
    resident_peak_bytes: int
    # Of the machine when it began, over a minute: more than there are processors means that others had a part of them.
    load_before: float
    printed: str

    def steps(self) -> list[dict[str, object]]:
        """What the program says of its jobs: one object of JSON a line."""
        return [
            json.loads(line)
            for line in self.printed.splitlines()
            if line.startswith("{")
        ]


def dependencies(folder: Path, *goals: str) -> str:
    """The jars that a Maven build names; they are looked up once."""
    names = folder / "target" / "bench.classpath"
    if not names.exists():
        build = [
            "mvn",
            "-q",
            *goals,
            "dependency:build-classpath",
            f"-Dmdep.outputFile={names}",
        ]
        subprocess.run(build, cwd=folder, check=True)
    return names.read_text()


def class_path(framework: str) -> str:
    """The engine, the benchmarks' own programs, Hadoop and its examples; for the cluster, what that needs."""
    target = HADOOP / "target"
    own = (target / "classes", target / "test-classes", HADOOP / "conf")
    if framework == CLUSTER:
        jars = dependencies(CLUSTER_FOLDER, "compile")
        own = (CLUSTER_FOLDER / "target" / "classes", *own)
    else:
        jars = dependencies(HADOOP)
    return ":".join([*map(str, own), jars])


def run(
    framework: str,
    program: str,
    folder: Path,
    options: tuple[str, ...] = (),
    arguments: tuple[str, ...] = (),
    java: tuple[str, ...] = (),
) -> Run:
    """Runs a main class; everything temporary goes into the folder. Ends the benchmark if it fails.

    Of the arguments, the first may be the name of a program of the main class, before Hadoop's options.
    """
    named = arguments[:1] if program.endswith("ExampleDriver") else ()
    settings = [
        f"mapreduce.framework.name={framework}",
        f"hadoop.tmp.dir={folder / 'tmp'}",
        *SETTINGS[framework],
        *options,
    ]
    command = ["java", *java, "-cp", class_path(framework)]
    if framework == CLUSTER:
        command.insert(1, f"-Dtest.build.data={folder / 'cluster'}")
        command.append(CLUSTER_PROGRAM)
    command += [program, *named]
    command += [f"-D{each}" for each in settings]
    command += arguments[len(named) :]
    return measure(command)


def measure(command: list[str]) -> Run:
    """Runs a process. Ends the benchmark if it fails."""
    load = os.getloadavg()[0]
    start = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        printed = process.stdout.read() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{printed[-4000:]}")
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss << 10, load, printed)


def java_version() -> str:
    """What runs the engine."""
    found = subprocess.run(
        ["java", "-version"], capture_output=True, text=True, check=True
    )
    return found.stderr.splitlines()[0]


def write_results(name: str, runs: list[dict[str, object]]) -> None:
    """Writes the raw results of a benchmark."""
    raw = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": COMMIT_BEFORE,
        "machine": machine(),
        "versions": {"java": java_version(), "hadoop": "3.5.0"},
        "runs": runs,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(raw, indent=1) + "\n")


def as_raw(measured: Run, **also: object) -> dict[str, object]:
    """A run for the file of results, without what it printed but for its steps."""
    raw = asdict(measured)
    del raw["printed"]
    return {**also, **raw, "steps": measured.steps()}
