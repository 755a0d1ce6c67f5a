"""`python -m tegula.mrjob job.py`: the file of a job of mrjob, unchanged, gives what mrjob's own runner gives."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from of_mrjob import WORDS, check, run

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"

JOBS = {
    "combined": WORDS,
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


# Jobs that see how the input is cut into tasks, with an answer that does not depend on it.
TASKS = {
    "rows below a header": """
from mrjob.compat import jobconf_from_env
from mrjob.job import MRJob

class Rows(MRJob):
    def mapper_init(self):
        self.is_header = jobconf_from_env("mapreduce.map.input.start") == "0"

    def mapper(self, _, line):
        if self.is_header:
            self.is_header = False
        else:
            yield "rows", 1

    def combiner(self, key, counts):
        yield key, sum(counts)

    def reducer(self, key, counts):
        yield key, sum(counts)

if __name__ == "__main__":
    Rows.run()
""",
    "identifiers by the number of the task": """
from mrjob.compat import jobconf_from_env
from mrjob.job import MRJob

class Identifiers(MRJob):
    def __init__(self, args=None):
        super().__init__(args)
        self.lines = 0
        if self.options.run_mapper:
            self.task = jobconf_from_env("mapreduce.task.partition")

    def mapper(self, _, line):
        self.lines += 1
        yield f"{self.task}-{self.lines}", 1

    def reducer(self, key, counts):
        yield None, sum(counts)

if __name__ == "__main__":
    Identifiers.run()
""",
    "a file of the task's own": """
from mrjob.job import MRJob

class Spooled(MRJob):
    def mapper_init(self):
        self.spool = open("spool.txt", "a+")

    def mapper(self, _, line):
        self.spool.write(line + "\\n")

    def mapper_final(self):
        self.spool.seek(0)
        yield "rows", sum(1 for _ in self.spool)

    def reducer(self, key, counts):
        yield key, sum(counts)

if __name__ == "__main__":
    Spooled.run()
""",
    "lines by the path of the file, with a base class of another file": """
from by_file import ByFile

class Lines(ByFile):
    pass

if __name__ == "__main__":
    Lines.run()
""",
}
BY_FILE = """
from mrjob.compat import jobconf_from_env
from mrjob.job import MRJob

class ByFile(MRJob):
    def mapper(self, _, line):
        yield jobconf_from_env("mapreduce.map.input.file"), 1

    def reducer(self, key, counts):
        yield key, sum(counts)
"""
COMBINED = """
from mrjob.job import MRJob

class First(MRJob):
    SORT_VALUES = True

    def mapper(self, _, line):
        key, value = line.split()
        yield key, value

    def combiner_init(self):
        self.before = ""

    def combiner(self, key, values):
        if key < self.before:
            yield "keys out of order", key
        self.before = key
        yield key, next(iter(values))

    def reducer(self, key, values):
        yield key, next(iter(values))

if __name__ == "__main__":
    First.run()
"""
FINAL = """
from mrjob.job import MRJob
from mrjob.step import MRStep

class Final(MRJob):
    def steps(self):
        again = MRStep(mapper_init=self.begin, mapper=self.count, mapper_final=self.end, reducer=self.total)
        return [MRStep(mapper=self.chosen, reducer=self.total), again] if self.options.two else [again]

    def configure_args(self):
        super().configure_args()
        self.add_passthru_arg("--two", action="store_true")

    def chosen(self, _, line):
        if "no such line" in line:
            yield line, 1

    def begin(self):
        self.lines = 0

    def count(self, _, line):
        self.lines += 1

    def end(self):
        yield "lines", self.lines

    def total(self, key, counts):
        yield key, sum(counts)

if __name__ == "__main__":
    Final.run()
"""
TELLS = """
import logging, sys
from mrjob.job import MRJob

class Tells(MRJob):
    def mapper_init(self):
        logging.basicConfig()

    def mapper_final(self):
        logging.warning("a task ends")

    def mapper(self, _, line):
        sys.stderr.write("reporter:counter:own,lines,1\\n")
        sys.stderr.write("reporter:counter:malformed\\n")
        print('"printed"\\t1')
        self.stdout.write(b'"written"\\t1\\n')
        yield line, 1

    def reducer(self, key, counts):
        yield key, sum(counts)

if __name__ == "__main__":
    Tells.run()
"""
RAW = """
from mrjob.job import MRJob
from mrjob.protocol import RawProtocol

class Raw(MRJob):
    INTERNAL_PROTOCOL = RawProtocol
    OUTPUT_PROTOCOL = RawProtocol

    def mapper(self, _, line):
        yield "a", "x\\nb\\ty"
        yield "b", "z\\r"
        yield "aa", "q\\n"

    def combiner(self, key, values):
        yield key, repr(list(values)) + "\\nb\\tcombined"

    def reducer(self, key, values):
        yield key, repr(list(values))

if __name__ == "__main__":
    Raw.run()
"""
DOTS = """
import sys
from mrjob.job import MRJob

class Dots(MRJob):
    def mapper(self, _, line):
        sys.stderr.write(".")
        yield line, 1

    def combiner(self, key, counts):
        self.increment_counter("own", "combined")
        sys.stderr.write(".")
        yield key, sum(counts)

    def reducer(self, key, counts):
        yield key, sum(counts)

if __name__ == "__main__":
    Dots.run()
"""
IMPORTS = """
from mrjob.job import MRJob

class Imports(MRJob):
    def mapper(self, _, line):
        from shouting import shout
        yield shout(line), 1

    def reducer(self, key, counts):
        yield key, sum(counts)

if __name__ == "__main__":
    Imports.run()
"""


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


@pytest.mark.once
@pytest.mark.parametrize("is_absolute", [False, True])
def test_a_file_without_a_guard_runs_its_job_once(
    is_absolute: bool, tmp_path: Path
) -> None:
    program = re.search(
        r"^```python\n(from mrjob.*?)^```$", PAGE.read_text(), re.M | re.S
    )
    assert program is not None
    (tmp_path / "job.py").write_text(program[1])
    log = tmp_path / "access.log"
    log.write_text("".join(f"10.0.0.{n % 4} /{n} 200 {n}\n" for n in range(1000)))
    check(tmp_path, "job.py", str(log) if is_absolute else log.name)


@pytest.mark.once
def test_a_runner_that_is_made_without_a_guard_is_named(tmp_path: Path) -> None:
    job = JOBS["combined"].partition("if __name__")[0]
    job += 'with Words(["text.txt"]).make_runner() as runner:\n    runner.run()\n'
    (tmp_path / "job.py").write_text(job)
    (tmp_path / "text.txt").write_text("a\n")
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", "text.txt")
    assert done.returncode != 0
    assert 'put that below if __name__ == "__main__":' in done.stderr


@pytest.mark.once
@pytest.mark.parametrize("sorts", [True, False])
def test_a_combiner_gets_keys_and_values_in_the_order_of_mrjob(
    sorts: bool, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(COMBINED.replace("= True", f"= {sorts}"))
    pairs = [(n * 7 % 10, n * 31 % 97) for n in range(500)]
    text = "".join(f"key{key} value{value:02}\n" for key, value in pairs)
    (tmp_path / "text.txt").write_text(text)
    check(tmp_path, "job.py", "text.txt")


@pytest.mark.once
@pytest.mark.parametrize("name", TASKS)
def test_each_task_has_its_own_place_number_and_folder(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(TASKS[name])
    (tmp_path / "by_file.py").write_text(BY_FILE)
    # Several tasks for each worker, of which there may be many.
    rows = "".join(f"{n},{n * n}\n" for n in range(150_000))
    (tmp_path / "rows.csv").write_text("number,square\n" + rows)
    (tmp_path / "more.csv").write_text("number,square\n1,1\n")
    check(tmp_path, "job.py", "rows.csv", "more.csv")


@pytest.mark.once
def test_compressed_input_is_several_tasks(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(TASKS["rows below a header"])
    rows = "".join(f"{n},{n * n}\n" for n in range(100_000))
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(f"head\n{rows}".encode()))
    check(tmp_path, "job.py", "rows.csv.gz")


@pytest.mark.once
def test_input_without_lines_is_mapped(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(FINAL)
    (tmp_path / "text.txt").write_text("a\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "empty").mkdir()
    for job in (["empty.txt"], ["--two", "text.txt"], ["empty"]):
        check(tmp_path, "job.py", *job)


@pytest.mark.once
def test_what_a_mapper_prints_is_taken_as_of_a_process(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(TELLS)
    names = [f"{number}.txt" for number in range(5)]
    for name in names:
        (tmp_path / name).write_text("a\nb\n")
    said = check(tmp_path, "job.py", *names, runner="local")
    assert "lines=10" in said
    assert said.count("reporter:counter:malformed") == 10
    assert said.count("a task ends") == 5


@pytest.mark.once
@pytest.mark.parametrize("combiner", ["combiner", "unused"])
def test_what_a_protocol_writes_is_cut_into_lines(
    combiner: str, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(RAW.replace("combiner", combiner))
    (tmp_path / "text.txt").write_text("line\n")
    check(tmp_path, "job.py", "text.txt", runner="local")


@pytest.mark.once
def test_counters_follow_an_error_output_without_a_line_end(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(DOTS)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("a\n")
    said = check(tmp_path, "job.py", "a.txt", "b.txt", runner="local")
    assert "combined=2" in said


@pytest.mark.once
def test_modules_of_py_files_are_found(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(IMPORTS)
    (tmp_path / "text.txt").write_text("a\n")
    with zipfile.ZipFile(tmp_path / "modules.zip", "w") as modules:
        modules.writestr("shouting.py", "def shout(text):\n    return text.upper()\n")
    job = ["job.py", "--py-files", "modules.zip", "text.txt"]
    check(tmp_path, *job, runner="local")


HELPED = """
from mrjob.job import MRJob

class Helped(MRJob):
    def mapper(self, _, line):
        yield line, 1

    def reducer(self, line, counts):
        import helper
        yield helper.NAME, sum(counts)

if __name__ == "__main__":
    Helped.run()
"""


@pytest.mark.once
def test_files_are_found_below_a_folder_that_is_relative(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(HELPED)
    (tmp_path / "text.txt").write_text("a\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "helper.py").write_text("NAME = 'helped'\n")
    job = ["job.py", "--local-tmp-dir", "tmp", "--file", "lib/helper.py", "text.txt"]
    check(tmp_path, *job, runner="local")


@pytest.mark.once
def test_what_has_no_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(FINAL)
    check(tmp_path, "job.py", "/proc/self/limits", runner="local")
    (tmp_path / "text.txt").write_text("a\n" * 5)
    job = ["-m", "tegula.mrjob", "job.py", "/dev/stdin"]
    done = run(tmp_path, *job, of=("sh", "-c", 'exec "$@" < text.txt', "sh"))
    assert done.stdout == '"lines"\t5\n', done.stderr
    os.mkfifo(pipe := tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", f"seq 1000 > {pipe}"])
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", "pipe")
    assert done.stdout == '"lines"\t1000\n', done.stderr
    assert writer.wait() == 0
