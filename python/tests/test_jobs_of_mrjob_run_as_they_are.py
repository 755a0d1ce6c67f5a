"""`python -m tegula.mrjob job.py`: the file of a job of mrjob, unchanged, gives what mrjob's own runner gives."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy
import pytest
from conftest import is_alive

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"

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
KEEPS = """
from mrjob.job import MRJob

class Keeps(MRJob):
    counts = {}

    def mapper(self, _, line):
        self.counts[line] = self.counts.get(line, 0) + 1

    def mapper_final(self):
        yield from self.counts.items()

    def combiner(self, key, counts):
        self.counts.setdefault(key, 0)
        self.counts[key] += sum(counts)

    def combiner_final(self):
        yield from self.counts.items()

    def reducer(self, key, counts):
        yield key, sum(counts)

if __name__ == "__main__":
    Keeps.run()
"""
COMMANDS = r"""
import subprocess, sys
sys.stdout.reconfigure(line_buffering=True)
from mrjob.job import MRJob

class Commands(MRJob):
    def mapper(self, _, line):
        subprocess.run(["sh", "-c", "echo '\"command\"\t1'"], check=True)
        told = "echo reporter:counter:own,commands,1 >&2"
        subprocess.run(["sh", "-c", told], stderr=sys.stderr, check=True)
        yield line, 1

    def reducer(self, key, counts):
        subprocess.run(["echo", f"reduced {key}"], stdout=sys.stdout, check=True)
        print("printed", key)
        yield key, sum(counts)

if __name__ == "__main__":
    Commands.run()
"""
DRAWS = """
import random
from mrjob.job import MRJob

random.seed(7)
logged = open(FOLDER + "/logged", "a")

class Draws(MRJob):
    def mapper(self, _, line):
        logged.write(line + "\\n")
        yield line, random.random()

    def reducer(self, key, values):
        yield key, [*sorted(values), random.random()]

if __name__ == "__main__":
    Draws.run()
"""
DIFFERS = """
import random
import numpy
from mrjob.job import MRJob

random.seed(7)
random.seed()
seeded = random.Random(5), numpy.random.default_rng([5])
others = random.Random(), numpy.random.default_rng(), numpy.random.RandomState()

class Differs(MRJob):
    def mapper(self, _, line):
        draws = [one.random() for one in (random, numpy.random, *others)]
        for number, draw in enumerate(draws):
            yield f"{line}{number}", draw
        yield "same", [one.random() for one in seeded]

    def reducer(self, key, draws):
        drawn = sorted(draws)
        yield key, drawn[0] if key == "same" else [*drawn, *(one.random() for one in (random, *others))]

if __name__ == "__main__":
    Differs.run()
"""
ENDS = """
import atexit, logging, os, subprocess, sys, threading, time
from logging.handlers import MemoryHandler
from mrjob.job import MRJob
from mrjob.step import MRStep

logged = open(FOLDER + "/logged", "a")

class Ends(MRJob):
    def steps(self):
        last = MRStep(mapper=self.same, reducer=self.log)
        return [MRStep(mapper=self.later, combiner=self.sum, reducer=self.log), last]

    def later(self, _, line):
        if not os.fork():
            sys.exit(0)
        os.wait()
        # Nobody reads what it is given.
        self.command = subprocess.Popen(["true"], stdin=subprocess.PIPE)
        self.command.stdin.write(b"unread")
        own = logging.getLogger("own")
        own.setLevel(logging.INFO)
        own.propagate = False
        own.addHandler(MemoryHandler(9, target=logging.FileHandler(FOLDER + "/records")))
        own.info("seen")
        atexit.register(logged.write, "end\\n")
        threading.Thread(target=self.wait).start()
        yield line, 1

    def wait(self):
        time.sleep(0.2)
        logged.write("thread\\n")

    def sum(self, key, counts):
        yield key, sum(counts)

    def same(self, key, count):
        yield key, count

    def log(self, key, counts):
        atexit.register(logged.write, f"reduced {key}\\n")
        logged.write(f"reduces {key}\\n")
        yield key, sum(counts)

if __name__ == "__main__":
    Ends.run()
"""
WRAPS = """
import io, sys
sys.stdout = io.TextIOWrapper(sys.stdout.WRAPPED, encoding="utf-8")
sys.stderr = io.TextIOWrapper(sys.stderr.WRAPPED, encoding="utf-8", line_buffering=True)
from mrjob.job import MRJob

class Wraps(MRJob):
    def mapper(self, _, line):
        print('"\\xe9"\\t1')
        self.increment_counter("own", "lines")
        yield line, 1

    def reducer(self, key, counts):
        print("\\xe9 is printed" if key == "a" else "")
        yield key, sum(counts)

if __name__ == "__main__":
    Wraps.run()
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
SIDE_BY_SIDE = """
import gc, threading, time, weakref
from job import Words
from tegula.mrjob.runner import make_usual

make_usual()
answers = []

def work(times):
    job = Words(["--no-conf", "-q"] + ["text.txt"] * times)
    with job.make_runner() as runner:
        runner.run()
        answers.append(dict(job.parse_output(runner.cat_output())) == {"a": times})

class Garbage:
    pass

garbage = Garbage()
garbage.itself = garbage
is_there = weakref.ref(garbage)
del garbage
gc.disable()
notes = open("notes", "w")
ended = threading.Event()

def note():
    number = 0
    while not ended.is_set():
        notes.write(f"{number}\\n")
        number += 1
        time.sleep(0.001)

noting = threading.Thread(target=note)
threads = [threading.Thread(target=work, args=(times,)) for times in (1, 4, 2)]
for thread in [noting, *threads]:
    thread.start()
for thread in threads:
    thread.join()
ended.set()
noting.join()
notes.close()
lines = open("notes").read().splitlines()
gc.collect()
print(answers, is_there(), lines == [str(number) for number in range(len(lines))])
"""
SLEEPS = """
import os, subprocess, time
from mrjob.job import MRJob

class Sleeps(MRJob):
    def mapper(self, _, line):
        if os.environ["SLEEPER"] == "mapper":
            self.sleep()
        yield line, 1

    def reducer(self, key, counts):
        self.sleep()
        yield key, sum(counts)

    def sleep(self):
        command = subprocess.Popen(["sleep", "60"])
        with open(os.environ["PIDS"], "a") as pids:
            pids.write(f"{os.getpid()} {command.pid}\\n")
        command.wait()

if __name__ == "__main__":
    Sleeps.run()
"""


# Python takes its streams for ASCII.
ASCII = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


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


@pytest.mark.once
@pytest.mark.parametrize("error", ["KeyboardInterrupt", "GeneratorExit"])
def test_exceptions_that_end_programs_have_a_place(error: str, tmp_path: Path) -> None:
    job = JOBS["combined"].replace("self.lines += 1", f"raise {error}")
    (tmp_path / "job.py").write_text(job)
    (tmp_path / "text.txt").write_text("a\n")
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", "text.txt")
    assert done.returncode != 0
    assert f"{error}: \nin a map task of text.txt, from byte 0 on" in done.stderr


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
def test_a_parent_may_ignore_that_processes_end(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOBS["combined"])
    (tmp_path / "text.txt").write_text("a\n")
    job = ["-m", "tegula.mrjob", "job.py", "text.txt"]
    done = run(tmp_path, *job, of=("env", "--ignore-signal=CHLD"))
    assert done.stdout == '"a"\t1\n', done.stderr


def test_without_a_job_the_usage_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "tegula.mrjob")
    assert done.returncode == 1
    assert "usage: python -m tegula.mrjob job.py" in done.stderr


def check(folder: Path, *job: str, runner: str = "inline", **environment: str) -> str:
    """Check that a job gives what a runner of mrjob's gives, and return what it says."""
    expected = run(folder, *job, "-r", runner, **environment)
    assert expected.returncode == 0, expected.stderr
    done = run(folder, "-m", "tegula.mrjob", *job, **environment)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(expected.stdout.splitlines())
    return done.stderr


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
def test_modules_of_py_files_are_found(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(IMPORTS)
    (tmp_path / "text.txt").write_text("a\n")
    with zipfile.ZipFile(tmp_path / "modules.zip", "w") as modules:
        modules.writestr("shouting.py", "def shout(text):\n    return text.upper()\n")
    job = ["job.py", "--py-files", "modules.zip", "text.txt"]
    check(tmp_path, *job, runner="local")


@pytest.mark.once
def test_each_task_begins_with_what_the_file_made(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(KEEPS)
    # Several tasks for each of three workers.
    (tmp_path / "text.txt").write_text("word\n" * 400_000)
    check(tmp_path, "job.py", "--num-cores", "3", "text.txt", runner="local")
    # A combiner that is the last of its job.
    (tmp_path / "last.py").write_text(KEEPS.replace("reducer", "unused"))
    (tmp_path / "some.txt").write_text("a\nb\na\n")
    check(tmp_path, "last.py", "some.txt", runner="local")


@pytest.mark.once
def test_each_task_draws_the_numbers_that_the_file_seeded(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(DRAWS.replace("FOLDER", repr(str(tmp_path))))
    names = [f"{number}.txt" for number in range(5)]
    for name in names:
        (tmp_path / name).write_text("a\nb\n")
    check(tmp_path, "job.py", *names, runner="local")
    # What tasks of both wrote is there.
    assert (tmp_path / "logged").read_text() == "a\nb\n" * 10


@pytest.mark.once
def test_what_the_file_does_not_seed_differs_in_each_task(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(DIFFERS)
    names = [f"{number}.txt" for number in range(4)]
    for name in names:
        (tmp_path / name).write_text("draws\n")
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", *names)
    assert done.returncode == 0, done.stderr
    draws = dict(map(json.loads, line.split("\t")) for line in done.stdout.splitlines())
    same = draws.pop("same")
    drawn = [draw for of_key in draws.values() for draw in of_key]
    assert len(draws) == 5 and len(set(drawn)) == len(drawn) == 5 * (4 + 4)
    assert same == [random.Random(5).random(), numpy.random.default_rng([5]).random()]


@pytest.mark.once
def test_tasks_end_as_programs_do(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(ENDS.replace("FOLDER", repr(str(tmp_path))))
    (tmp_path / "text.txt").write_text("a\n")
    check(tmp_path, "job.py", "text.txt", runner="local")
    # Of both runners, the reducers in two steps.
    logged = [*(["end", "thread"] * 2), *(["reduced a", "reduces a"] * 4)]
    assert sorted((tmp_path / "logged").read_text().splitlines()) == sorted(logged)
    assert (tmp_path / "records").read_text() == "seen\n" * 2


@pytest.mark.once
@pytest.mark.parametrize("wrapped", ["buffer", "detach()"])
def test_streams_that_the_file_sets_are_those_of_tasks(
    wrapped: str, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(WRAPS.replace("WRAPPED", wrapped))
    (tmp_path / "text.txt").write_text("a\nb\n")
    said = check(tmp_path, "job.py", "text.txt", runner="local", **ASCII)
    assert "lines=2" in said


@pytest.mark.once
def test_jobs_of_a_program_run_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOBS["combined"])
    (tmp_path / "program.py").write_text(SIDE_BY_SIDE)
    (tmp_path / "text.txt").write_text("a\n")
    done = run(tmp_path, "program.py")
    assert done.stdout == "[True, True, True] None True\n", done.stderr


@pytest.mark.once
def test_commands_of_tasks_have_their_standard_streams(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(COMMANDS)
    (tmp_path / "text.txt").write_text("a\nb\n")
    said = check(tmp_path, "job.py", "text.txt", runner="local")
    assert "commands=2" in said


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


@pytest.mark.parametrize("sleeper", ["mapper", "reducer"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_tasks_and_their_commands_end_with_their_program(
    number: int, sleeper: str, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(SLEEPS)
    (tmp_path / "text.txt").write_text("a\nb\nc\n")
    pids = tmp_path / "pids"
    program = subprocess.Popen(
        [sys.executable, "-m", "tegula.mrjob", "job.py", "text.txt"],
        cwd=tmp_path,
        env={
            **os.environ,
            "MRJOB_CONF": os.devnull,
            "PIDS": str(pids),
            "SLEEPER": sleeper,
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not pids.exists() or not pids.read_text().endswith("\n"):
        assert program.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    program.send_signal(number)
    program.wait(timeout=20)
    left = [int(pid) for pid in pids.read_text().split()]
    until = time.monotonic() + 5
    while any(map(is_alive, left)) and time.monotonic() < until:
        time.sleep(0.01)
    assert [pid for pid in left if is_alive(pid)] == []
