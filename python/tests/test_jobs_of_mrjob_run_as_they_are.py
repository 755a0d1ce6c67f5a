"""`python -m tegula.mrjob job.py`: the file of a job of mrjob, unchanged, gives what mrjob's own runner gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

JOBS = {
    "combined": """
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
""",
    "of two steps, with sorted values and keys that are lists": """
from mrjob.job import MRJob
from mrjob.step import MRStep

class Pairs(MRJob):
    SORT_VALUES = True

    def steps(self):
        return [MRStep(mapper=self.lengths, reducer=self.first), MRStep(mapper=self.swap, reducer=self.all)]

    def lengths(self, _, line):
        for word in line.split():
            yield [len(word), word[:1]], word

    def first(self, key, words):
        yield key, next(iter(words))

    def swap(self, key, word):
        yield word, key

    def all(self, word, keys):
        yield word, list(keys)

if __name__ == "__main__":
    Pairs.run()
""",
    "with a file, an option and a total at the end": """
from mrjob.job import MRJob

class Known(MRJob):
    def configure_args(self):
        super().configure_args()
        self.add_file_arg("--known")
        self.add_passthru_arg("--times", type=int, default=1)

    def mapper_init(self):
        with open(self.options.known) as file:
            self.known = set(file.read().split())
        self.found = 0

    def mapper(self, _, line):
        self.found += sum(word in self.known for word in line.split())

    def mapper_final(self):
        yield "found", self.found * self.options.times

    def reducer(self, key, counts):
        yield key, sum(counts)

if __name__ == "__main__":
    Known.run()
""",
    "without a reducer": """
from mrjob.job import MRJob
from mrjob.protocol import RawValueProtocol

class Upper(MRJob):
    OUTPUT_PROTOCOL = RawValueProtocol

    def mapper(self, _, line):
        yield None, line.upper()

if __name__ == "__main__":
    Upper.run()
""",
}
OPTIONS = {
    "with a file, an option and a total at the end": [
        "--known",
        "known.txt",
        "--times",
        "3",
    ]
}


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder of a job, without settings of the person who tests."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "MRJOB_CONF": os.devnull},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("name", JOBS)
def test_a_job_gives_what_mrjob_gives(name: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOBS[name])
    (tmp_path / "known.txt").write_text("fox dog")
    text = "the quick brown fox jumps over the lazy dog\nthe end\n" * 50
    (tmp_path / "text.txt").write_text(text)
    job = ["job.py", *OPTIONS.get(name, []), "text.txt"]
    expected = run(tmp_path, *job, "-r", "inline")
    assert expected.returncode == 0, expected.stderr
    done = run(tmp_path, "-m", "tegula.mrjob", *job)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(expected.stdout.splitlines())
    if name == "combined":
        assert "lines=100" in done.stderr


def test_an_exception_of_a_job_comes_back_with_its_place(tmp_path: Path) -> None:
    job = JOBS["without a reducer"].replace("line.upper()", "line.no_such_method()")
    (tmp_path / "job.py").write_text(job)
    (tmp_path / "text.txt").write_text("a\n")
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", "text.txt")
    assert done.returncode != 0
    assert "no_such_method" in done.stderr


def test_without_a_job_the_usage_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "tegula.mrjob")
    assert done.returncode == 1
    assert "usage: python -m tegula.mrjob job.py" in done.stderr
