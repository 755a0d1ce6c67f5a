"""Tasks of `python -m tegula.mrjob job.py` that fail are named, with what they said and their exit code or signal."""

from __future__ import annotations

from pathlib import Path

import pytest
from of_mrjob import WORDS, run

FAILS = """
import os, signal, sys
from mrjob.job import MRJob

class Fails(MRJob):
    def mapper(self, _, line):
        yield line, 1

    def reducer(self, key, counts):
        sys.stderr.write("native library: bad block 7\\n")
        sys.stderr.flush()
        HOW

if __name__ == "__main__":
    Fails.run()
"""

RAISES = """
from mrjob.job import MRJob

class Raises(MRJob):
    FILES = ["lib/helper.py"]

    def mapper(self, _, line):
        import helper
        raise helper.Bad("line 7 is bad")

if __name__ == "__main__":
    Raises.run()
"""


@pytest.mark.once
@pytest.mark.parametrize("error", ["KeyboardInterrupt", "GeneratorExit"])
def test_exceptions_that_end_programs_have_a_place(error: str, tmp_path: Path) -> None:
    job = WORDS.replace("self.lines += 1", f"raise {error}")
    (tmp_path / "job.py").write_text(job)
    (tmp_path / "text.txt").write_text("a\n")
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", "text.txt")
    assert done.returncode != 0
    assert f"{error}: \nin a map task of text.txt, from byte 0 on" in done.stderr


@pytest.mark.once
def test_a_mapper_that_exits_with_a_text_is_named_with_it(tmp_path: Path) -> None:
    job = WORDS.replace("self.lines += 1", 'raise SystemExit("no such table")')
    (tmp_path / "job.py").write_text(job)
    (tmp_path / "text.txt").write_text("a\n")
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", "text.txt")
    assert done.returncode == 1
    told = "a task exited with code 1: no such table\nin a map task of text.txt"
    assert told in done.stderr


@pytest.mark.once
def test_an_exception_that_only_the_task_knows_keeps_its_cause(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(RAISES)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "helper.py").write_text("class Bad(Exception):\n    pass\n")
    (tmp_path / "text.txt").write_text("a\n")
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", "text.txt")
    assert done.returncode != 0
    assert "Bad: line 7 is bad" in done.stderr


@pytest.mark.once
@pytest.mark.parametrize("options", [[], ["--cmdenv", "A=1"]])
@pytest.mark.parametrize(
    ("how", "ended"),
    [
        ('sys.exit("no such table")', "exited with code 1"),
        ("raise ValueError('no such table')", "exited with code 1"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "was killed by signal 11"),
    ],
)
def test_a_reducer_that_fails_is_named_with_what_it_said(
    how: str, ended: str, options: list[str], tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(FAILS.replace("HOW", how))
    (tmp_path / "text.txt").write_text("a\n")
    job = ["-m", "tegula.mrjob", "job.py", *options, "text.txt"]
    done = run(tmp_path, *job)
    assert done.returncode == 1
    assert "native library: bad block 7\n" in done.stderr
    assert ("no such table\n" in done.stderr) == ("table" in how)
    assert done.stderr.endswith(f"Step 1 of 1 failed: reducer 0 {ended}\n")


LEAVES = """
import sys, tempfile
from mrjob.job import MRJob

MADE = tempfile.TemporaryDirectory(prefix="made-")

class Leaves(MRJob):
    def mapper(self, _, line):
        yield line, 1

Leaves.run()
sys.exit(0)
"""


@pytest.mark.once
def test_a_file_that_ends_the_program_as_it_is_loaded_is_named(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(LEAVES)
    (tmp_path / "text.txt").write_text("a\n")
    (tmp_path / "tmp").mkdir()
    done = run(
        tmp_path,
        *["-m", "tegula.mrjob", "job.py", "text.txt", "--cmdenv", "A=1"],
        TMPDIR=str(tmp_path / "tmp"),
    )
    assert done.returncode == 1
    assert "job.py: the program ends as the job's file is loaded" in done.stderr
    assert not [*(tmp_path / "tmp").glob("made-*")]
