#!/usr/bin/env python3
"""Runs test modules of mrjob twice, in a Python that has mrjob: as they are, with mrjob's imitation of Hadoop's command,
and with `tegula hadoop` in its place. Fails if a test fails with Tegula that passes with the imitation.

    mrjob_tests.py TEGULA PYTHON SOURCES [module ...]

SOURCES is mrjob's source distribution, unpacked. Of the imitation three things are kept, because the tests prescribe
them: the log of the words of each call, the version that a test asks for, and the answer and counters of jobs that name
Java classes or jars which exist nowhere (`FooFormat`, `fake.jar`), with the steps after them; Tegula refuses these jobs,
as it should.
"""

import getpass
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MODULES = (
    "tests.test_hadoop",
    "tests.test_job",
    "tests.test_step",
    "tests.test_protocol",
)

# The command that the tests run as Hadoop's: MOCK_HADOOP_TMP and MOCK_HADOOP_VERSION are of the test that runs.
COMMAND = """#!/bin/sh
export TEGULA_HDFS="$MOCK_HADOOP_TMP/hdfs"
case "$1" in
version) exec {imitation} "$@" ;;
esac
mkdir -p "$TEGULA_HDFS"
{tegula} hadoop "$@"
code=$?
# 2: it needs Java. The imitation notes the words itself. What follows such a job in a test may lack its answer.
note="$MOCK_HADOOP_TMP/imitated"
if [ "$1" = jar ] && { [ $code = 2 ] || [ $code != 0 -a -e "$note" ]; }; then
    touch "$note"
    exec {imitation} "$@"
fi
{python} -c 'import shlex, sys; print(shlex.join(sys.argv[1:]))' "$@" >>"$MOCK_HADOOP_TMP/cmd.log"
exit $code
"""

# Runs in the sources' folder: argv is a file for the outcome, the command or nothing, and the modules.
INSIDE = """
import json, os, stat, sys, unittest

outcome, command, *modules = sys.argv[1:]
if command:
    import tests.mockhadoop as imitation

    def create(path):
        own = imitation.pipes.quote(sys.executable) + " " + imitation.pipes.quote(os.path.abspath(imitation.__file__))
        with open(path, "w") as file:
            file.write(command.replace("{imitation}", own))
        os.chmod(path, stat.S_IREAD | stat.S_IEXEC)

    imitation.create_mock_hadoop_script = create
suite = unittest.defaultTestLoader.loadTestsFromNames(modules)
result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(suite)
failed = sorted(test.id() for test, _ in result.failures + result.errors)
with open(outcome, "w") as file:
    json.dump({"run": result.testsRun, "skipped": len(result.skipped), "failed": failed}, file)
"""


def main() -> None:
    tegula, python, sources, *modules = sys.argv[1:]
    names = {"python": python, "tegula": str(Path(tegula).resolve())}
    command = COMMAND
    for name, path in names.items():
        command = command.replace("{" + name + "}", "'" + path + "'")
    outcomes = {}
    for way, words in (("mrjob's imitation", ""), ("tegula hadoop", command)):
        outcome, said = run(python, Path(sources).resolve(), words, modules or MODULES)
        outcomes[way] = outcome
        failed = outcome["failed"]
        print(
            f"{way}: {outcome['run']} tests, {outcome['skipped']} skipped, {len(failed)} failed",
            *failed,
            sep="\n  ",
            flush=True,
        )
        if way == "tegula hadoop" and failed:
            print(said)
    stock, ours = outcomes.values()
    more = sorted(set(ours["failed"]) - set(stock["failed"]))
    if more or ours["run"] != stock["run"] or not ours["run"]:
        sys.exit(f"{len(more)} tests fail with tegula hadoop alone: {', '.join(more)}")


def run(
    python: str, sources: Path, command: str, modules: tuple[str, ...] | list[str]
) -> tuple[dict, str]:
    """Returns how the tests ended, and what was said of them."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = Path(folder) / "outcome.json"
        done = subprocess.run(
            [python, "-c", INSIDE, str(outcome), command, *modules],
            cwd=sources,
            # The imitation asks for USER; mrjob takes warnings on its standard error for failures.
            env={
                **os.environ,
                "USER": getpass.getuser(),
                "PYTHONWARNINGS": "ignore",
                "PYTHONPATH": str(sources),
                "TMPDIR": folder,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        said = done.stderr.decode(errors="replace")
        if not outcome.exists():
            sys.exit(
                f"the tests ended with exit code {done.returncode}: {said[-2000:]}"
            )
        return json.loads(outcome.read_text()), said


if __name__ == "__main__":
    main()
