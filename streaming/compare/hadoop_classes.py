#!/usr/bin/env python3
"""Runs the test classes of Hadoop Streaming with the stock jar, on Hadoop and on Tegula's engine for Hadoop. Hadoop runs
them on its local runner, and those that ask for a cluster on YARN, over HDFS. The engine claims the jobs of the local
runner, and takes the place of YARN. Fails if a class fails on the engine that passes on Hadoop.

    hadoop_classes.py CLASSPATH TEST_SOURCES_JAR ENGINE_JAR [words of a class's name]
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

TIMEOUT_S = 600
# Hadoop's own build leaves it out.
LEFT_OUT = ("TestStreamingStatus",)
# Lists the working folder of YARN's container. Tasks of the engine, as those of the local runner, work in the program's.
DIFFERS = ("TestFileArgs",)
OPTIONS = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
# What a resource manager's Guice asks of a Java from 17 on.
OPTIONS += ["--add-opens=java.base/java.lang=ALL-UNNAMED"]
# Classes that take the place of Hadoop's for tests that ask for a cluster.
IN_PLACE = Path(__file__).parents[2] / "hadoop/compat/streaming/src"


def main() -> None:
    classpath, sources, engine, *words = sys.argv[1:]
    jars = Path(classpath).read_text().strip()
    engine = str(Path(engine).resolve())
    with tempfile.TemporaryDirectory() as folder:
        names = compile_all(Path(sources), jars, Path(folder))
        in_place = str(Path(folder) / "in-place")
        java_classes(sorted(IN_PLACE.rglob("*.java")), jars, in_place)
        names = [name for name in names if all(word in name for word in words)]
        fewer = []
        for name in names:
            ways = {"Hadoop": "", "the engine": f"{in_place}:{engine}:"}
            outcomes = {
                way: run(name, first + jars, Path(folder), bool(first))
                for way, first in ways.items()
            }
            (is_right, right), (is_ours, ours) = outcomes.values()
            differs = name.endswith(DIFFERS)
            if is_right and not is_ours and not differs:
                fewer.append(name)
            word = {
                (True, True): "passes",
                (True, False): "differs, as docs/hadoop.md says:"
                if differs
                else "FAILS ",
                (False, False): "fails on both",
                (False, True): "passes on the engine alone",
            }[is_right, is_ours]
            print(f"{word} {name}: {right} and {ours}", flush=True)
        print(
            f"{len(names) - len(fewer)} of {len(names)} classes do no worse on the engine"
        )
        sys.exit(1 if fewer or not names else 0)


def compile_all(sources: Path, jars: str, folder: Path) -> list[str]:
    """Compiles the sources into the folder `classes`, and returns the names of the test classes."""
    with zipfile.ZipFile(sources) as packed:
        packed.extractall(folder / "sources")
    files = sorted((folder / "sources").rglob("*.java"))
    java_classes(files, jars, str(folder / "classes"))
    tests = [path for path in files if path.stem.startswith("Test")]
    tests = [path for path in tests if path.stem not in LEFT_OUT]
    below = [path.relative_to(folder / "sources").with_suffix("") for path in tests]
    return [".".join(path.parts) for path in below]


def java_classes(sources: list[Path], jars: str, into: str) -> None:
    words = ["-nowarn", "-proc:none", "-cp", jars, "-d", into]
    subprocess.run(["javac", *words, *map(str, sources)], check=True)


def run(name: str, classpath: str, folder: Path, is_claimed: bool) -> tuple[bool, str]:
    """Returns whether a class's tests pass, and how many of them do."""
    work = folder / f"{name}-{is_claimed}"
    # Their build folder, into which they write, and one for what Hadoop keeps.
    for below in ("target", "tmp"):
        (work / below).mkdir(parents=True)
    properties = [
        f"-Dtegula.claim.local={str(is_claimed).lower()}",
        f"-Dhadoop.tmp.dir={work}/tmp",
        f"-Dhadoop.log.dir={work}/tmp",
        f"-Djava.io.tmpdir={work}/tmp",
    ]
    path = f"{folder}/classes:{classpath}"
    command = [
        "java",
        *OPTIONS,
        *properties,
        "-cp",
        path,
        "org.junit.runner.JUnitCore",
        name,
    ]
    try:
        done = subprocess.run(
            command,
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"none within {TIMEOUT_S} s"
    said = done.stdout.decode(errors="replace")
    if found := re.search(r"OK \((\d+) tests?\)", said):
        return done.returncode == 0, f"{found[1]} of {found[1]} tests"
    if found := re.search(r"Tests run: (\d+),\s+Failures: (\d+)", said):
        failures = re.findall(r"^\d+\) (\S+)", said, re.MULTILINE)
        return (
            False,
            f"{int(found[1]) - int(found[2])} of {found[1]} tests, not {' '.join(failures)}",
        )
    return False, (said + done.stderr.decode(errors="replace"))[-300:]


if __name__ == "__main__":
    main()
