"""Runs jobs of mrjob by its own runners and by the engine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

WORDS = """
from mrjob.job import MRJob

class Words(MRJob):
    def mapper_init(self):
        self.lines = 0

    def mapper(self, _, line):
        self.lines += 1
        self.increment_counter("own", "lines", 1)
        for word in line.split():
            yield word, 1

    def combiner(self, word, counts):
        yield word, sum(counts)

    def reducer_init(self):
        self.keys = 0

    def reducer(self, word, counts):
        self.keys += 1
        yield word, sum(counts)

if __name__ == "__main__":
    Words.run()
"""


def run(
    folder: Path, *words: str, of: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder of a job, by a command, without settings of the person who tests."""
    return subprocess.run(
        [*of, sys.executable, *words],
        cwd=folder,
        env={**os.environ, "MRJOB_CONF": os.devnull, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def check(folder: Path, *job: str, runner: str = "inline", **environment: str) -> str:
    """Check that a job gives what a runner of mrjob's gives, and return what it says."""
    expected = run(folder, *job, "-r", runner, **environment)
    assert expected.returncode == 0, expected.stderr
    done = run(folder, "-m", "tegula.mrjob", *job, **environment)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(expected.stdout.splitlines())
    return done.stderr
