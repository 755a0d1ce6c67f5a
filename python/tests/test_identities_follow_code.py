"""An edit of anything that a function reaches changes its identity, and an edit of anything else does not."""

from __future__ import annotations

import importlib
import itertools
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from tegula.identity import identity

JOBS = '''
"""A job."""
import abc
import collections
import enum
import functools
import math
import re
import types
import typing
from dataclasses import dataclass, field

import mylib
import mylib.deep.deeper
import numpy
from mylib import taken

LIMIT = 5
TABLE = {"a": 1}
PATTERN = re.compile("a+")
HOOKS = {"one": lambda x: x + 21}
CHECKS = {taken, len}
QUEUE = collections.deque([taken], maxlen=3)
ORDERED = collections.OrderedDict(first=lambda x: x + 22)
DEFAULTS = collections.defaultdict(lambda: 23)
SPACE = types.SimpleNamespace(apply=lambda x: x + 24)
NUMBERS = numpy.arange(4.0)
WEIGHTS = [1, [2, {"deep": 3}]]


class Meta(type):
    def kind(cls):
        return "meta 1"


class Double:
    def __get__(self, holder, kind=None):
        return 31


class Base(abc.ABC):
    floor = 32

    @abc.abstractmethod
    def run(self): ...

    def shared(self):
        return self.floor + 33


class Rule(Base, metaclass=type("Both", (Meta, abc.ABCMeta), {})):
    """A rule."""

    weight = 2
    double = Double()

    def __init__(self, start=34):
        self.start = start

    def run(self):
        return self.weight * 35

    @property
    def size(self):
        return 36

    @staticmethod
    def plain(x):
        return x + 37

    @classmethod
    def of(cls, x):
        return cls(x + 38)

    @functools.cached_property
    def cached(self):
        return 39


class Slots:
    __slots__ = ("left",)

    def __init__(self):
        self.left = 41


class Own(dict):
    def more(self):
        return 42


@dataclass
class Point:
    x: int
    y: int = 43
    tags: list = field(default_factory=lambda: [44])

    def norm(self) -> float:
        return self.x + self.y


class Colour(enum.Enum):
    RED = 45
    GREEN = 46

    def shade(self):
        return self.value + 47


class Pair(typing.NamedTuple):
    left: int
    right: int = 48


T = typing.TypeVar("T")


class Stack(typing.Generic[T]):
    def push(self, item: T):
        return 49


def traced(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) or 51

    return wrapper


@functools.lru_cache(maxsize=52)
def remembered(x):
    return x + 53


@traced
def wrapped(x):
    return x + 54


@functools.singledispatch
def shown(x):
    return 55


@shown.register
def _(x: int):
    return 56


def added(x, y):
    return x + y + 57


PARTIAL = functools.partial(added, 58)
RULE = Rule(59)
BOUND = Rule(61).run
SLOTS = Slots()
OWN = Own(a=62)


def counter():
    state = [63]

    def count(x):
        return state[0] + x

    return count


COUNT = counter()


def helper(x, by=3, *, factor=64):
    """Helps."""
    return x + by


helper.weight = 65


def guarded(x):
    try:
        y = int(x)
        z = math.floor(y)
    except ValueError:
        return 66
    return z


def lazy(x):
    import late
    from late import picked, sub

    from mylib import deep as within

    return late.named(x) + picked(x) + sub.inner(x) + within.deeper.lowest(x)


def generated(rows):
    yield from (row + 67 for row in rows if row in {"x", "y", 68})


def parse(line: str) -> int:
    """Parses."""

    class Local:
        """Within."""

        step = 69

    rule = Rule()
    values = [n * 71 for n in range(3)]
    ordered = sorted(values, key=lambda v: -v - 72)
    total = helper(len(line)), rule.run(), rule.size, rule.plain(1), Rule.of(2).cached
    total += math.floor(LIMIT) + TABLE["a"], PATTERN.findall(line), Local.step
    total += HOOKS["one"](1), CHECKS, QUEUE, ORDERED, DEFAULTS["b"], SPACE.apply(1)
    total += NUMBERS.sum(), WEIGHTS, SLOTS.left, OWN.more(), Point(1).norm()
    total += Colour.RED.shade(), Pair(1), Stack().push(1), remembered(1), wrapped(2)
    total += shown(3), PARTIAL(4), BOUND(), RULE, COUNT(5), helper.weight, guarded(line)
    total += lazy(1), tuple(generated([])), mylib.used(1), mylib.deep.deeper.lowest(2)
    total += taken(6), line and ordered or values, numpy.add, str.split
    return total
'''

FILES = {
    "jobs.py": JOBS,
    "mylib/__init__.py": """
FACTOR = 81
ALIAS = {"k": 82}

def used(x):
    return x * FACTOR + 83

def unused(x):
    return x * 84

def taken(x):
    from . import near
    return near.around(x) + ALIAS["k"]
""",
    "mylib/near.py": "def around(x):\n    return x + 85\n",
    # A folder without an `__init__.py`.
    "mylib/deep/deeper.py": "def lowest(x):\n    return x + 86\n",
    "late/__init__.py": """
def named(x):
    return x + 87

def picked(x):
    return x + 88

def ignored(x):
    return x + 89
""",
    "late/sub.py": "def inner(x):\n    return x + 91\n",
}

SAME = [
    ("jobs.py", "def parse", "# a comment\ndef parse"),
    ("jobs.py", "def parse", "\n\n\n\ndef parse"),
    ("jobs.py", "import math\n", "import math\nimport os\n"),
    ("jobs.py", '"""Helps."""', '"""Helps more."""'),
    ("jobs.py", '    """Helps."""\n', ""),
    ("jobs.py", '"""A rule."""', '"""Another text."""'),
    ("jobs.py", '"""A job."""', '"""Another job."""'),
    ("jobs.py", '        """Within."""\n', ""),
    ("jobs.py", '"""Parses."""', '"""Parses lines."""'),
    ("jobs.py", "(line: str) -> int:", "(line):  # says more"),
    ("jobs.py", "def norm(self) -> float:", "def norm(self):"),
    ("jobs.py", "COUNT = counter()", "COUNT = counter()\nUNUSED = 5"),
    ("jobs.py", "COUNT = counter()", "COUNT = counter()\ndef unused(): return 1"),
    ("jobs.py", "LIMIT = 5", "LIMIT = 2 + 3"),
    ("jobs.py", "return x + by", "return (x + by)"),
    ("jobs.py", "return self.weight * 35", "return (self.weight *\n   35)"),
    ("jobs.py", '{"a": 1}', '{ "a" : 1, }'),
    ("jobs.py", "LIMIT = 5\n", "LIMIT = 4\nLIMIT = 5\n"),
    ("jobs.py", '{"x", "y", 68}', '{68, "y", "x"}'),
    ("jobs.py", "{taken, len}", "{len, taken}"),
    ("jobs.py", "step = 69\n", "step = 69  # steps\n\n"),
    ("jobs.py", "        y = int(x)\n", "        # reads\n        y = (\n int(x))\n"),
    ("jobs.py", "line and ordered or values", "(line and\n ordered\n or values)"),
    ("jobs.py", "lambda v: -v - 72", "(lambda v:\n -v - 72)"),
    ("jobs.py", "n * 71 for n", "n * 71\n   for n"),
    ("jobs.py", "class Slots:", "class Unused: pass\nclass Slots:"),
    ("jobs.py", "= numpy.arange(4.0)", "= numpy.array([0.0, 1, 2, 3])"),
    ("jobs.py", "TABLE = {", 'TABLE = "".join("") or {'),
    ("mylib/__init__.py", "x * 84", "x * 85"),
    ("mylib/__init__.py", "FACTOR = 81", "FACTOR = 81  # fixed\nOTHER = 2"),
    ("mylib/near.py", "    return x", "    # near\n    return x"),
    ("late/__init__.py", "x + 89", "x + 90"),
    ("late/sub.py", "def inner", "import os\n\ndef inner"),
]

OTHER = [
    # Each number is in one place that `parse` reaches.
    *(
        (name, str(number), f"{number}00")
        for name, first, last in [
            ("jobs.py", 21, 24),
            ("jobs.py", 31, 39),
            ("jobs.py", 41, 49),
            ("jobs.py", 51, 59),
            ("jobs.py", 61, 69),
            ("jobs.py", 71, 72),
            ("mylib/__init__.py", 81, 83),
            ("mylib/near.py", 85, 85),
            ("mylib/deep/deeper.py", 86, 86),
            ("late/__init__.py", 87, 88),
            ("late/sub.py", 91, 91),
        ]
        for number in range(first, last + 1)
    ),
    ("jobs.py", "LIMIT = 5", "LIMIT = 6"),
    ("jobs.py", "LIMIT = 5", "LIMIT = 5.0"),
    ("jobs.py", '{"a": 1}', '{"a": 2}'),
    ("jobs.py", '{"a": 1}', '{"a": True}'),
    ("jobs.py", '{"a": 1}', '{"a": 1, "b": 2}'),
    ("jobs.py", '"a+"', '"a*"'),
    ("jobs.py", 're.compile("a+")', 're.compile("a+", re.I)'),
    ("jobs.py", "maxlen=3", "maxlen=4"),
    ("jobs.py", "deque([taken]", "deque([len]"),
    ("jobs.py", "{taken, len}", "{taken, max}"),
    ("jobs.py", '{"deep": 3}', '{"deep": 4}'),
    ("jobs.py", "arange(4.0)", "arange(5.0)"),
    ("jobs.py", "arange(4.0)", "arange(4)"),
    ("jobs.py", "arange(4.0)", "arange(4.0).reshape(2, 2)"),
    ("jobs.py", '"meta 1"', '"meta 2"'),
    ("jobs.py", "by=3", "by=4"),
    ("jobs.py", "x + by", "x - by"),
    ("jobs.py", "weight = 2", "weight = 3"),
    ("jobs.py", "weight = 2", "weight = 2\n    more = 1"),
    ("jobs.py", "self.weight * 35", "self.weight + 35"),
    ("jobs.py", "math.floor(LIMIT)", "math.ceil(LIMIT)"),
    ("jobs.py", "len(line)", "len(line[1:])"),
    ("jobs.py", "len(line)", "hash(line)"),
    ("jobs.py", 'TABLE["a"]', 'TABLE.get("a")'),
    ("jobs.py", "class Own(dict):", "class Own(collections.OrderedDict):"),
    ("jobs.py", "(Meta, abc.ABCMeta)", "(abc.ABCMeta,)"),
    ("jobs.py", "    @staticmethod\n", "    @classmethod\n"),
    ("jobs.py", "    @functools.cached_property\n", "    @property\n"),
    ("jobs.py", "@dataclass\n", "@dataclass(order=True)\n"),
    ("jobs.py", "    x: int\n", "    x: int\n    w: int = 0\n"),
    ("jobs.py", "RED =", "BLUE ="),
    ("jobs.py", "@functools.lru_cache(maxsize=52)\n", ""),
    ("jobs.py", "def parse", "@functools.cache\ndef parse"),
    ("jobs.py", "@traced\n", ""),
    ("jobs.py", "(x: int):", "(x: str):"),
    ("jobs.py", "partial(added,", "partial(max,"),
    ("jobs.py", "x) + picked", "x) - picked"),
    ("jobs.py", "late import picked, sub", "late import ignored as picked, sub"),
    (
        "jobs.py",
        "    return total",
        "    if line:\n        return None\n    return total",
    ),
    ("jobs.py", "    return total", "    return -total"),
    (
        "jobs.py",
        "    try:\n        y = int(x)\n",
        "    y = int(x)\n    try:\n",
    ),
    ("jobs.py", "except ValueError", "except TypeError"),
    ("jobs.py", "yield from", "return"),
    ("jobs.py", "numpy.add", "numpy.subtract"),
    ("jobs.py", "str.split", "str.strip"),
    ("jobs.py", "def wrapper(*args)", "def wrapper(*args, **more)"),
    ("mylib/__init__.py", "x * FACTOR", "x + FACTOR"),
]

NAMES = ("jobs", "mylib", "late")
FOLDERS = itertools.count()


def forget() -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] in NAMES:
            del sys.modules[name]


def written(files: dict[str, str], folder: Path) -> Path:
    """Write the modules of a test into a folder of their own."""
    own = folder / str(next(FOLDERS))
    for name, text in files.items():
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text(text)
    return own


@pytest.fixture(autouse=True)
def modules_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    forget()


def edited(edit: tuple[str, str, str]) -> dict[str, str]:
    name, old, new = edit
    assert FILES[name].count(old) >= 1, edit
    return {**FILES, name: FILES[name].replace(old, new, 1)}


def of(files: dict[str, str], folder: Path) -> str:
    """The identity of `parse` of `jobs.py` among other files."""
    own = written(files, folder)
    forget()
    importlib.invalidate_caches()
    sys.path.insert(0, str(own))
    try:
        return identity(importlib.import_module("jobs").parse, (), None)
    finally:
        sys.path.remove(str(own))


def test_an_edit_of_what_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    base = of(FILES, tmp_path)
    assert len(SAME) >= 25
    for edit in SAME:
        assert edited(edit) != FILES
        assert of(edited(edit), tmp_path) == base, edit


def test_an_edit_of_what_is_reached_changes_the_identity(tmp_path: Path) -> None:
    seen = {of(FILES, tmp_path)}
    assert len(OTHER) >= 40
    for edit in OTHER:
        assert edited(edit) != FILES
        now = of(edited(edit), tmp_path)
        assert now not in seen, edit
        seen.add(now)


def test_the_identity_is_the_same_in_each_process_and_in_a_notebook(
    tmp_path: Path,
) -> None:
    base = of(FILES, tmp_path)
    own = written(FILES, tmp_path)
    program = """
        import sys
        from tegula.identity import identity
        if sys.argv[1] == "file":
            from jobs import parse
        else:
            # A notebook compiles each cell by itself, and all are of `__main__`.
            import ast
            for number, node in enumerate(ast.parse(open("jobs.py").read()).body):
                cell = ast.unparse(node)
                exec(compile(cell, f"cell {number}", "exec"), globals())
        print(identity(parse, (), None))
    """
    for seed, where in (("0", "file"), ("1", "cells"), ("77", "cells")):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), where],
            cwd=own,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.strip() == base, (seed, where, done.stderr)
