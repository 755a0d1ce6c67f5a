"""A run that is killed and started again gives the same answer, and a state knows the code of its map."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest
import tegula as tg

PROGRAM = """
    import sys, time
    import tegula as tg

    def slow(line):
        time.sleep(0.00001)
        return [(word, 1) for word in line.split()]

    if __name__ == "__main__":
        answer = tg.text("input").map(slow).sum().run(state="saved", job="words")
        print(answer.stats["restored_bytes"], sum(n for _, n in answer), len(answer))
"""


@pytest.mark.once
def test_a_run_goes_on_after_kills(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "input").write_text("\n".join(lines * 2) + "\n")
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    run = [sys.executable, "program.py"]
    for wait in (1.0, 1.2, 1.4):
        program = subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.DEVNULL)
        time.sleep(wait)
        program.send_signal(signal.SIGKILL)
        program.wait()
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, check=True, text=True)
    words = [word for line in lines for word in line.split()]
    assert done.stdout.split()[1:] == [str(2 * len(words)), str(len(set(words)))]
    again = subprocess.run(
        run, cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert again.stdout.split()[1:] == done.stdout.split()[1:]
    assert int(again.stdout.split()[0]) > 0


def test_a_state_is_of_one_job_and_one_input(path: Path, tmp_path: Path) -> None:
    source = tg.text(path)
    saved = functools.partial(dict, state=tmp_path / "saved", job="a")
    first = source.map(str.split).count().run(**saved())
    assert source.map(str.split).count().run(**saved()).to_dict() == first.to_dict()
    with pytest.raises(tg.StateError, match="another job"):
        source.map(lambda line: line.split()[:1]).count().run(**saved())
    with pytest.raises(tg.StateError, match="another job"):
        source.map(str.split).count().run(**saved(version="2"))
    with pytest.raises(tg.StateError, match="input"):
        other = path.parent / "other.txt"
        other.write_text("x\n")
        tg.text(other).map(str.split).count().run(**saved())
    for wrong in [
        {"state": tmp_path},
        {"job": "a"},
        {"incremental": True},
        {"version": "1"},
    ]:
        with pytest.raises(tg.OptionError):
            source.map(str.split).count().run(**wrong)


def test_a_state_is_of_the_contents_of_an_array(tmp_path: Path) -> None:
    saved = functools.partial(dict, state=tmp_path / "saved")

    def ones(rows: Any) -> Any:
        return rows, numpy.ones(len(rows))

    array = numpy.arange(3000)
    for _ in range(2):
        answer = tg.array(array).map_array(ones).sum().run(**saved(job="array"))
        assert len(answer) == 3000
    assert answer.stats["restored_bytes"] == array.nbytes
    with pytest.raises(tg.StateError, match="input"):
        tg.array(array * 2).map_array(ones).sum().run(**saved(job="array"))

    def keys(batch: Any) -> Any:
        return {"key": batch["n"]}

    tables = [pyarrow.table({"n": array}), pyarrow.table({"n": array * 2})]
    assert (
        len(tg.batches(tables[0]).map_arrow(keys).count().run(**saved(job="t"))) == 3000
    )
    with pytest.raises(tg.StateError, match="input"):
        tg.batches(tables[1]).map_arrow(keys).count().run(**saved(job="t"))


RICH = """
import collections, dataclasses, decimal, enum, functools, logging, re, threading
import numpy

LIMIT = 1
WORDS = {"a", "b", "cd", ("e", 1)}
TABLE = numpy.arange(5)
LOG = logging.getLogger(__name__)
LOCK = threading.Lock()
PATTERN = re.compile("a+")
Pair = collections.namedtuple("Pair", "a b")

class Color(enum.Flag):
    RED = 1
    BLUE = 2

@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    more: list = dataclasses.field(default_factory=list)

    @functools.cached_property
    def twice(self):
        return self.x * 2

class Base:
    known = {}

    def __init_subclass__(cls):
        Base.known[cls.__name__] = cls

class Derived(Base):
    __slots__ = ("a",)

    def itself(self):
        return Derived

@functools.lru_cache
def remembered(x):
    return decimal.Decimal(x) if x < LIMIT else other(x - 1)

def other(x):
    return remembered(x)

@functools.singledispatch
def kind(value):
    return "any"

@kind.register
def _(value: str):
    return "text"

def parse(line):
    with LOCK:
        LOG.debug(line)
    made = Point(len(line)).twice, Color.RED | Color.BLUE, Pair(1, 2), Derived().itself()
    return str((kind(line), made, len(WORDS), TABLE.sum(), PATTERN.match(line), other(0)))
"""

CHANGED = """
    import sys
    from pathlib import Path
    import tegula as tg
    import rich_library_of_a_test as rich

    def through(line):
        return rich.parse(line), rich.LIMIT

    def run(job, function, on="processes", **options):
        count = tg.text("input").map(function, on=on).count()
        try:
            print(job, len(count.run(state="saved", job=job, **options)))
        except tg.Error as error:
            print(job, str(error).splitlines()[-1].partition(" of")[0])

    run("a", rich.parse)
    run("b", through)
    rich.LIMIT = 2
    run("c", rich.parse)
    run("d", through)
    run("e", through, version="1")
    run("f", through, on="threads")
    run("g", str)
    rich.LIMIT = 1
    file = Path("rich_library_of_a_test.py")
    file.write_text(file.read_text().replace("len(WORDS)", "len(WORDS) + 1"))
    run("a", rich.parse)
    run("h", rich.parse)
    run("i", rich.kind)
"""


def test_a_module_that_is_another_one_in_processes_is_refused(tmp_path: Path) -> None:
    """Processes import it from its file, and the state's digest is of the program's memory."""
    (tmp_path / "input").write_text("a\nbc\n")
    (tmp_path / "rich_library_of_a_test.py").write_text(RICH)
    (tmp_path / "program.py").write_text(textwrap.dedent(CHANGED))
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    differs = "state: rich_library_of_a_test"
    assert done.stdout.splitlines() == [
        *("a 2", "b 2"),
        f"c {differs}.other differs from that",
        f"d {differs}.LIMIT differs from that",
        # The last one has nothing left to map.
        *("e 2", "f 2", "g 2", "a 2"),
        f"h {differs}.parse differs from that",
        "i 1",
    ]


LIBRARY = """
def factor():
    # Says more than it does.
    return 3
"""

EDITED = """
    import sys
    import tegula as tg

    def length(line):
        from library_of_a_test import factor
        return "all", len(line) * factor()

    if __name__ == "__main__":
        job = tg.text("input").map(length).sum()
        try:
            print(job.run(state="saved", job="a", incremental=True).to_dict())
        except tg.StateError as error:
            print(error)
"""


def test_a_run_goes_on_after_an_edit_that_changes_nothing_and_after_no_other(
    tmp_path: Path,
) -> None:
    (tmp_path / "input").write_text("a\nbc\n")
    (tmp_path / "program.py").write_text(textwrap.dedent(EDITED))

    def run(library: str) -> str:
        (tmp_path / "library_of_a_test.py").write_text(library)
        done = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            # Two edits of one size within a second would be one to Python's cache, in this process and those below it.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout

    assert run(LIBRARY) == "{'all': 9}\n"
    assert run(LIBRARY.replace("Says more", "\n    # Does more")) == "{'all': 9}\n"
    assert "another job" in run(LIBRARY.replace("3", "4"))
    assert run(LIBRARY) == "{'all': 9}\n"


def test_what_changed_is_mapped_and_no_more(tmp_path: Path, lines: list[str]) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    # Files of a megabyte, which is about a tile: few records show as much of what is mapped again.
    wide = "x" * 2000
    for number in range(8):
        some = lines[number * 500 :][:500]
        (folder / f"{number}.txt").write_text(
            "".join(f"{line} {wide}\n" for line in some)
        )
    log = tmp_path / "log"

    def words(line: str, seen: str):
        with open(seen, "a") as file:
            file.write("x")
        return line.split()

    job = tg.text(folder).map(words, args=(str(log),)).count()
    saved = {"state": tmp_path / "saved", "job": "a", "incremental": True}
    assert job.run(**saved).to_dict() == tg.text(folder).words().count().run().to_dict()
    assert len(log.read_text()) == 4000
    (folder / "3.txt").write_text("changed\n")
    (folder / "5.txt").unlink()
    (folder / "9.txt").write_text("new words\n")
    assert job.run(**saved).to_dict() == tg.text(folder).words().count().run().to_dict()
    # Files share a tile, of which the rest is mapped again.
    assert 4002 <= len(log.read_text()) <= 5502


def test_built_in_maps_have_the_states_of_the_command_line(
    path: Path, tmp_path: Path
) -> None:
    saved = {"state": tmp_path / "saved", "job": "a"}
    tg.text(path).words().count().run(**saved)
    manifest = (tmp_path / "saved" / "a" / "manifest").read_bytes()
    assert b"wordcount" in manifest
    assert b"whitespace" in manifest
