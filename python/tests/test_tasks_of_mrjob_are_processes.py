"""Each task of `python -m tegula.mrjob job.py` is a process, as with mrjob's runner `local`: what it begins with, how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import is_alive
from of_mrjob import WORDS, check, run

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

VARIABLES = """
import os, time
from mrjob.job import MRJob

at_load = f"{os.environ.get('LIMIT')} {time.strftime('%H', time.localtime(0))}"
of_jobconf = os.environ.get("of_jobconf")
names = "LIMIT", "mapreduce_task_ismap", "mapreduce_map_input_start", "mapreduce_task_partition"
try:
    import brought
    at_load += " " + brought.BY
except ImportError:
    pass

class Variables(MRJob):
    JOBCONF = {"of.jobconf": "1"}

    def mapper(self, _, line):
        yield f"mapped {at_load} {of_jobconf}", self.own()

    def combiner(self, key, values):
        yield key, list(values)
        yield "combined " + at_load, self.own()

    def reducer(self, key, values):
        yield key, list(values)
        yield f"reduced {at_load} {of_jobconf}", os.environ.get("LIMIT")

    def own(self):
        kind = os.environ["mapreduce_task_id"].split("_")[-2]
        place = os.environ["mapreduce_job_local_dir"] == os.getcwd()
        return [kind, place, *map(os.environ.get, names)]

if __name__ == "__main__":
    Variables.run()
"""

CHOSEN = """
import sys
from mrjob.job import MRJob

class First(MRJob):
    sign = 1

    def mapper(self, _, line):
        yield line, self.sign

    def reducer(self, key, counts):
        yield key, sum(counts)

class Second(First):
    sign = -1

if __name__ == "__main__" and "second" in sys.argv:
    sys.argv.remove("second")
    Second.run()
"""

DRIVER = """
import sys
from job import Second

job = Second([*sys.argv[1:], "text.txt"])
with job.make_runner() as runner:
    runner.run()
    for key, count in job.parse_output(runner.cat_output()):
        print(key, count)
"""

POOLS = """
import signal, subprocess, threading
from concurrent.futures import ThreadPoolExecutor
from mrjob.job import MRJob

pools = [ThreadPoolExecutor(1), ThreadPoolExecutor(2), ThreadPoolExecutor(2)]
for pool in pools[:2]:
    list(pool.map(len, ["a", "bb", "ccc"]))

class Pools(MRJob):
    def mapper(self, _, line):
        yield line, [list(pool.map(len, [line, "bb", "ccc"])) for pool in pools]
        command = subprocess.Popen(["sleep", "1"])
        command.send_signal(signal.SIGINT)
        yield "interrupted", command.wait()

    def reducer(self, key, values):
        yield key, [*values, *(list(pool.map(len, [key, "bb", "ccc"])) for pool in pools)]

if __name__ == "__main__":
    Pools.run()
"""

WORKING = """
import time
from concurrent.futures import ThreadPoolExecutor
from mrjob.job import MRJob

def table():
    time.sleep(0.5)
    return {"a": 1}

pool = ThreadPoolExecutor(1)
loaded = pool.submit(table)
later = pool.submit(len, "bb")

class Working(MRJob):
    def mapper(self, _, line):
        yield line, loaded.result()["a"]

    def reducer(self, key, values):
        yield key, [sum(values), later.result(), pool.submit(len, key).result()]

if __name__ == "__main__":
    Working.run()
"""

THREADS = """
threading.Thread(target=threading.Event().wait, daemon=True).start()
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

LATE = """
from multiprocessing.pool import Pool
import logging, multiprocessing, tempfile, time
from logging.handlers import MemoryHandler
from mrjob.job import MRJob

scratch = tempfile.TemporaryDirectory()
own = logging.getLogger("own")
own.setLevel(logging.INFO)
own.propagate = False
own.addHandler(MemoryHandler(99, target=logging.FileHandler(FOLDER + "/records")))
own.addHandler(MemoryHandler(99, target=own.handlers[0].target, flushOnClose=False))

def late(key):
    time.sleep(0.5)
    print(f'"{key} is late"\\t1', flush=True)

class Late(MRJob):
    def mapper(self, _, line):
        own.info("maps")
        multiprocessing.Process(target=late, args=(line,)).start()
        yield line, 1

    def reducer(self, key, counts):
        own.info(f"reduces {key}")
        multiprocessing.Process(target=late, args=(key,)).start()
        yield key, sum(counts)

if __name__ == "__main__":
    Late.run()
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
noting.start()
WORK
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

WORKS = {
    "threads": """
threads = [threading.Thread(target=work, args=(times,)) for times in (1, 4, 2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""",
    "a pool": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(3) as pool:
    list(pool.map(work, (1, 4, 2)))
""",
}

# Python takes its streams for ASCII.
ASCII = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.once
def test_a_parent_may_ignore_that_processes_end(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(WORDS)
    (tmp_path / "text.txt").write_text("a\n")
    job = ["-m", "tegula.mrjob", "job.py", "text.txt"]
    done = run(tmp_path, *job, of=("env", "--ignore-signal=CHLD"))
    assert done.stdout == '"a"\t1\n', done.stderr


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
@pytest.mark.parametrize("is_given", [False, True])
def test_tasks_have_their_variables_as_the_file_is_loaded(
    is_given: bool, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(VARIABLES)
    (tmp_path / "text.txt").write_text("a\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "brought.py").write_text(
        "import os\nBY = os.environ['LIMIT']\n"
    )
    given = ["LIMIT=3", "TZ=Asia/Tokyo", f"PYTHONPATH={tmp_path / 'more'}"]
    options = [word for one in given for word in ("--cmdenv", one)] if is_given else []
    check(tmp_path, "job.py", *options, "text.txt", runner="local")
    # A step without a reducer.
    (tmp_path / "mapped.py").write_text(VARIABLES.replace("def reducer", "def unused"))
    check(tmp_path, "mapped.py", *options, "text.txt", runner="local")


@pytest.mark.once
@pytest.mark.parametrize("options", [[], ["--cmdenv", "A=1"]])
@pytest.mark.parametrize("reducer", ["reducer", "unused"])
def test_all_tasks_run_the_class_that_the_program_chose(
    options: list[str], reducer: str, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(CHOSEN.replace("def reducer", f"def {reducer}"))
    (tmp_path / "text.txt").write_text("a\na\n")
    expected = "-2" if reducer == "reducer" else "-1"
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", "second", *options, "text.txt")
    assert set(done.stdout.splitlines()) == {f'"a"\t{expected}'}, done.stderr
    # The class is in a module, which is no program.
    (tmp_path / "driver.py").write_text(DRIVER)
    done = run(tmp_path, "-m", "tegula.mrjob", "driver.py", *options)
    assert set(done.stdout.splitlines()) == {f"a {expected}"}, done.stderr


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
@pytest.mark.parametrize("has_threads", [False, True])
def test_pools_of_the_file_have_threads_in_tasks(
    has_threads: bool, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(
        POOLS.replace("\nclass", THREADS * has_threads + "\nclass")
    )
    (tmp_path / "text.txt").write_text("a\nb\n")
    said = check(tmp_path, "job.py", "text.txt", runner="local")
    assert ("starts threads, which tasks do not have" in said) == has_threads


@pytest.mark.once
@pytest.mark.parametrize("options", [[], ["--cmdenv", "A=1"]])
def test_tasks_begin_when_pools_of_the_file_have_done_their_work(
    options: list[str], tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(WORKING)
    (tmp_path / "text.txt").write_text("a\n")
    said = check(tmp_path, "job.py", *options, "text.txt", runner="local")
    assert "still at work" not in said


@pytest.mark.once
def test_work_of_a_pool_that_goes_on_is_told_of(tmp_path: Path) -> None:
    job = WORDS.replace("class", "pool.submit(time.sleep, 7)\n\nclass", 1)
    head = "import time\nfrom concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor()\n"
    (tmp_path / "job.py").write_text(head + job)
    (tmp_path / "text.txt").write_text("a\n")
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", "text.txt")
    assert done.stdout == '"a"\t1\n', done.stderr
    assert "a pool of threads is still at work" in done.stderr


@pytest.mark.once
def test_the_end_of_a_task_finds_what_the_file_made(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(LATE.replace("FOLDER", repr(str(tmp_path))))
    (tmp_path / "text.txt").write_text("a\n")
    (tmp_path / "scratch").mkdir()
    scratch = str(tmp_path / "scratch")
    check(tmp_path, "job.py", "text.txt", runner="local", TMPDIR=scratch)
    assert list((tmp_path / "scratch").iterdir()) == []
    records = (tmp_path / "records").read_text().splitlines()
    assert set(records) == {"maps", "reduces a", "reduces a is late"}
    # Some versions write records of a handler that is not to be flushed at its end.
    half = len(records) // 2
    assert sorted(records[half:]) == sorted(records[:half])


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
@pytest.mark.parametrize("of", WORKS)
def test_jobs_of_a_program_run_side_by_side(of: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(WORDS)
    (tmp_path / "program.py").write_text(SIDE_BY_SIDE.replace("WORK", WORKS[of]))
    (tmp_path / "text.txt").write_text("a\n")
    done = run(tmp_path, "program.py")
    assert done.stdout == "[True, True, True] None True\n", done.stderr


@pytest.mark.once
def test_commands_of_tasks_have_their_standard_streams(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(COMMANDS)
    (tmp_path / "text.txt").write_text("a\nb\n")
    said = check(tmp_path, "job.py", "text.txt", runner="local")
    assert "commands=2" in said


@pytest.mark.parametrize(
    ("sleeper", "options"),
    [("mapper", []), ("reducer", []), ("reducer", ["--cmdenv", "A=1"])],
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_tasks_and_their_commands_end_with_their_program(
    number: int, sleeper: str, options: list[str], tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(SLEEPS)
    (tmp_path / "text.txt").write_text("a\nb\nc\n")
    pids = tmp_path / "pids"
    program = subprocess.Popen(
        [sys.executable, "-m", "tegula.mrjob", "job.py", *options, "text.txt"],
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
