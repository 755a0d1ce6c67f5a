#!/usr/bin/env python3
"""What jobs cost that have next to nothing to do: one in a new JVM, many in one JVM, and one of many tiny files.

A job in a new JVM is compared with a JVM that loads the same classes of Hadoop and of Java, and does nothing.

    python3 hadoop/bench/small_jobs.py --runs 5
"""

import argparse
import random
import re
import statistics
import tempfile
from pathlib import Path

from jvm import (
    FRAMEWORKS,
    HADOOP,
    Run,
    as_raw,
    class_path,
    measure,
    run,
    write_results,
)

SCRIPT = HADOOP / "bin" / "tegula-hadoop"
EXAMPLES = "org.apache.hadoop.examples.ExampleDriver"
WARM = "org.tegula.hadoop.bench.WarmJobs"
LOAD = "org.tegula.hadoop.bench.LoadClasses"
# The local runner's clients wait for seconds by default; this engine's do not.
POLLS = {
    "local": (
        "mapreduce.client.progressmonitor.pollinterval=10",
        "mapreduce.client.completion.pollinterval=10",
    ),
    "tegula": (),
}
FILE_BYTES = 1024


def text(size: int, seed: int) -> str:
    """Words of uneven frequency, ten or so a line."""
    drawn = random.Random(seed)
    words: list[str] = []
    length = 0
    while length < size:
        word = f"w{int(drawn.paretovariate(0.7))}"
        words.append(word + ("\n" if drawn.random() < 0.1 else " "))
        length += len(word) + 1
    return "".join(words)[: size - 1] + "\n"


def count(
    framework: str, source: Path, folder: Path, java: tuple[str, ...] = ()
) -> Run:
    """Hadoop's own word count in a JVM of its own."""
    out = folder / f"out-{random.getrandbits(64):x}"
    arguments = ("wordcount", str(source), str(out))
    return run(framework, EXAMPLES, folder, POLLS[framework], arguments, java)


def count_by_script(source: Path, folder: Path) -> Run:
    """The same as the script runs it, with the classes that it has archived."""
    jars = class_path("tegula").split(":")
    examples = next(jar for jar in jars if "hadoop-mapreduce-examples" in jar)
    out = folder / f"out-{random.getrandbits(64):x}"
    temporary = f"-Dhadoop.tmp.dir={folder / 'tmp'}"
    command = (SCRIPT, "jar", examples, "wordcount", temporary, source, out)
    return measure([str(each) for each in command])


def loaded_classes(folder: Path, source: Path) -> Path:
    """The classes that such a job loads, less those of this engine and those that have no name."""
    log = folder / "classes.log"
    count("tegula", source, folder, (f"-Xlog:class+load:file={log}",))
    names = re.findall(r"\] ([\w.$]+) source: (?:file|jrt):", log.read_text())
    kept = [name for name in names if "tegula" not in name and "Lambda" not in name]
    wanted = folder / "classes.txt"
    wanted.write_text("\n".join(kept) + "\n")
    return wanted


def say(name: str, runs: list[Run]) -> None:
    """A row of the table: medians, and the least of each."""
    walls = [each.wall_s for each in runs]
    used = [each.cpu_s for each in runs]
    print(
        f"| {name} | {statistics.median(walls):.2f} ({min(walls):.2f}) "
        f"| {statistics.median(used):.2f} ({min(used):.2f}) |"
    )


def main() -> None:
    """Measures in turns and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--files-runs", type=int, default=1)
    options = parser.parse_args()
    raw: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tiny = folder / "tiny.txt"
        tiny.write_text(text(20_000, 1))
        many = folder / "many"
        many.mkdir()
        for i in range(options.files):
            (many / f"f{i:05}.txt").write_text(text(FILE_BYTES, i))
        classes = loaded_classes(folder, tiny)
        count_by_script(tiny, folder)  # so that it has archived the classes
        runs: dict[str, list[Run]] = {}

        def note(what: str, done: Run) -> None:
            runs.setdefault(what, []).append(done)
            raw.append(as_raw(done, what=what))

        for _ in range(options.runs):
            note("classes alone", run("local", LOAD, folder, (), (str(classes),)))
            for framework in FRAMEWORKS:
                note(f"tiny, {framework}", count(framework, tiny, folder))
            note("tiny, the script", count_by_script(tiny, folder))
        for i in range(options.runs):
            for framework in FRAMEWORKS:
                arguments = (
                    str(tiny),
                    str(folder / f"warm{i}-{framework}"),
                    str(options.jobs),
                )
                note(
                    f"warm, {framework}",
                    run(framework, WARM, folder, POLLS[framework], arguments),
                )
        for _ in range(options.files_runs):
            for framework in FRAMEWORKS:
                note(
                    f"{options.files} files, {framework}",
                    count(framework, many, folder),
                )
    write_results("small_jobs", raw)
    print("| process | wall, s: median (least) | processor, s |\n|---|---|---|")
    for what, done in runs.items():
        say(what, done)
    print(
        "\n| warm job, the last half | wall, ms: median | processor, ms: median |\n|---|---|---|"
    )
    for framework in FRAMEWORKS:
        steps = [
            step
            for done in runs[f"warm, {framework}"]
            for step in done.steps()[options.jobs // 2 :]
        ]
        wall = statistics.median(1000 * step["wall_s"] for step in steps)
        used = statistics.median(1000 * step["cpu_s"] for step in steps)
        print(f"| {framework} | {wall:.1f} | {used:.1f} |")


if __name__ == "__main__":
    main()
