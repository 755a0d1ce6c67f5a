#!/usr/bin/env python3
"""Runs mrjob's own examples and the jobs of its tests, unmodified, with the command `tegula hadoop` as Hadoop's and by
`python -m tegula.mrjob`, and compares their output with that of mrjob's inline runner (of its local runner, for jobs of
commands). Lines may come in another order.

    mrjob_jobs.py TEGULA PYTHON SOURCES [words of a job's name]

PYTHON has mrjob and the package tegula; SOURCES is mrjob's source distribution, unpacked.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TEXT = b"the quick brown fox jumps over the lazy dog\nthe end of the story\n" * 20

# Jobs that are no streaming jobs, or that are modules of others.
LEFT_OUT = (
    "spark",
    "rot13lib",
    "just_a_jar",
    "jar_step",
    "jar_with_generic",
    "jar_and_streaming",
    "no_runner",
    "runner",
)

# Jobs whose Hadoop needs Java: tegula-hadoop runs them.
OF_JAVA = (
    "mr_nick_nack.py",
    "mr_nick_nack_input_format.py",
    "mr_hadoop_format_job.py",
    "mr_two_step_hadoop_format_job.py",
)

# Jobs whose output tells where a task ran, or into how many tasks the input was cut.
TELL_OF_TASKS = (
    "mr_cmd_job.py",
    "mr_count_lines_by_file.py",
    "mr_count_lines_wrong.py",
    "mr_job_where_are_you.py",
    "mr_os_walk_job.py",
    "mr_test_jobconf.py",
    "mr_test_per_step_jobconf.py",
    "mr_word_count.py",
    "mr_partitioner.py",
)

# Jobs whose protocol sees the tab with which Hadoop ends a line without a value.
SEE_TABS = ("mr_sort_and_group_reversed_text.py",)

ARGUMENTS = {
    "mr_grep.py": ["-e", "fox"],
    "mr_log_sampler.py": ["--sample-size", "1000", "--expected-length", "10"],
    "mr_cmd_job.py": ["--mapper-cmd", "cat", "--reducer-cmd", "wc -l"],
    "mr_filter_job.py": ["--mapper-filter", "cat"],
    "mr_tower_of_powers.py": ["--n", "3"],
}
NUMBERS = ("mr_tower_of_powers.py", "mr_two_step_job.py")


def main() -> None:
    tegula, python, sources, *words = sys.argv[1:]
    root = Path(sources).resolve()
    files = sorted([*root.glob("mrjob/examples/mr_*.py"), *root.glob("tests/mr_*.py")])
    jobs = [path for path in files if not any(word in path.name for word in LEFT_OUT)]
    jobs = [path for path in jobs if all(word in path.name for word in words)]
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        text, numbers, jar = (
            Path(folder) / name
            for name in ("text.txt", "numbers.txt", "hadoop-streaming.jar")
        )
        text.write_bytes(TEXT)
        numbers.write_bytes(b"1\n2\n3\n")
        jar.write_bytes(b"")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(root), os.environ.get("PYTHONPATH", "")]
            ),
            "TEGULA_HDFS": f"{folder}/hdfs",
            "MRJOB_CONF": os.devnull,
        }
        hadoop = [
            "-r",
            "hadoop",
            "--hadoop-bin",
            f"{Path(tegula).resolve()} hadoop",
            "--hadoop-streaming-jar",
            str(jar),
        ]
        for path in jobs:
            job = [
                str(path),
                *ARGUMENTS.get(path.name, []),
                str(numbers if path.name in NUMBERS else text),
            ]
            expected = run([python, *job, "-r", "inline"], folder, environment)
            if isinstance(expected, str):
                expected = run([python, *job, "-r", "local"], folder, environment)
            ways = {
                "tegula hadoop": run([python, *job, *hadoop], folder, environment),
                "tegula.mrjob": run(
                    [python, "-m", "tegula.mrjob", *job], folder, environment
                ),
            }
            for way, output in ways.items():
                fault = difference(path.name, way, expected, output)
                different += fault is not None
                print(
                    f"{'DIFFERS' if fault else 'same   '} {path.name} by {way}{f': {fault}' if fault else ''}",
                    flush=True,
                )
    print(f"{2 * len(jobs) - different} of {2 * len(jobs)} are the same")
    sys.exit(1 if different else 0)


def run(
    command: list[str], folder: str, environment: dict[str, str]
) -> list[bytes] | str:
    """Returns the sorted lines of a job's output, or the end of what it said if it failed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    if done.returncode:
        return done.stderr.decode(errors="replace")
    # Hadoop ends a line without a value with a tab.
    return sorted(line.rstrip(b"\t") for line in done.stdout.splitlines())


def difference(
    name: str, way: str, expected: list[bytes] | str, output: list[bytes] | str
) -> str | None:
    if way == "tegula hadoop" and name in OF_JAVA:
        return (
            None
            if isinstance(output, str) and "tegula-hadoop" in output
            else "it was not refused"
        )
    if way == "tegula hadoop" and name in SEE_TABS and isinstance(output, list):
        output = [line.replace(b'"\\t', b'"') for line in output]
    match expected, output:
        case str(), str():
            return None
        case str(said), _:
            return f"mrjob fails: {said[-600:]}"
        case _, str(said):
            return f"it fails: {said[-600:]}"
    if name in TELL_OF_TASKS or expected == output:
        return None
    return f"{expected[:5]} and {output[:5]}"


if __name__ == "__main__":
    main()
