"""Values that a function captures count by their content; code that could use anything is refused; and `explain` lists
all that was followed."""

from __future__ import annotations

import collections
import decimal
import functools
import logging
import operator
import os
import random
import re
import sys
import threading
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import attr
import numba
import numpy
import pandas
import polars
import pyarrow
import pytest
import tegula as tg
from tegula.identity import followed, identity
from test_identities_follow_code import FILES, forget, of, written


@pytest.fixture(autouse=True)
def modules_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    forget()


def capturing(value: object) -> Callable[[str], object]:
    return lambda line: (line, value)


@attr.define
class Defined:
    x: int = 1


class Keyed(dict):
    pass


class Measured(numpy.ndarray):
    unit: str

    @staticmethod
    def of(value: float, unit: str) -> Measured:
        measured = numpy.full(2, value).view(Measured)
        measured.unit = unit
        return measured


@numba.njit
def compiled(x):
    return x + 1


@numba.njit
def compiled_in_another_way(x):
    return x + 2


# Two values of one kind that differ, each made anew.
VALUES: list[tuple[Callable[[], object], Callable[[], object]]] = [
    (lambda: 1, lambda: 1.0),
    (lambda: True, lambda: 1),
    (lambda: 10**6000, lambda: 10**6000 + 1),
    (lambda: [10**6000, "a"], lambda: [10**6000, "b"]),
    (lambda: 0.0, lambda: -0.0),
    (lambda: "\udc80", lambda: b"\x80"),
    (lambda: {"a", "b", "c"}, lambda: {"a", "b", "d"}),
    (lambda: {("a", 1), ("b", 2)}, lambda: {("a", 1), ("b", 3)}),
    (lambda: frozenset({frozenset({"a"})}), lambda: frozenset({frozenset({"b"})})),
    (lambda: {"a": 1, "b": 2}, lambda: {"b": 2, "a": 1}),
    (lambda: [1, 2], lambda: (1, 2)),
    (lambda: [[1], 2], lambda: [[1, 2]]),
    (lambda: bytearray(b"a"), lambda: bytearray(b"b")),
    (lambda: memoryview(b"a"), lambda: memoryview(b"b")),
    (lambda: range(4), lambda: range(5)),
    (lambda: re.compile("a"), lambda: re.compile("b")),
    (lambda: decimal.Decimal("1.50"), lambda: decimal.Decimal("1.51")),
    (lambda: Path("a"), lambda: Path("b")),
    (lambda: random.Random(5), lambda: random.Random(6)),
    (lambda: collections.Counter("abc"), lambda: collections.Counter("abd")),
    (lambda: collections.ChainMap({"a": 1}), lambda: collections.ChainMap({"a": 2})),
    (lambda: collections.defaultdict(list), lambda: collections.defaultdict(set)),
    (lambda: types.MappingProxyType({"a": 1}), lambda: types.MappingProxyType({})),
    (lambda: types.SimpleNamespace(f=len), lambda: types.SimpleNamespace(f=max)),
    (lambda: operator.itemgetter(1), lambda: operator.itemgetter(2)),
    (lambda: functools.partial(int, base=2), lambda: functools.partial(int, base=8)),
    (lambda: "ab".join, lambda: "ac".join),
    (lambda: str.split, lambda: str.strip),
    (lambda: [1].append, lambda: [2].append),
    (lambda: open, lambda: print),
    (lambda: list[int], lambda: list[str]),
    (lambda: typing.Optional[int], lambda: int | str),  # noqa: UP045
    (lambda: Keyed(a=1), lambda: Keyed(a=2)),
    (lambda: Defined(1), lambda: Defined(2)),
    (lambda: ValueError("a"), lambda: ValueError("b")),
    (lambda: numpy.arange(4), lambda: numpy.arange(5)),
    (lambda: numpy.zeros(4, "i4"), lambda: numpy.zeros(4, "u4")),
    (lambda: numpy.zeros(4), lambda: numpy.zeros((2, 2))),
    (lambda: numpy.zeros(0), lambda: numpy.zeros((0, 2))),
    (lambda: numpy.ones((4, 4))[::2], lambda: numpy.ones((4, 4))[::4]),
    (lambda: numpy.array([{"a"}, 1], object), lambda: numpy.array([{"b"}, 1], object)),
    (lambda: numpy.rec.array([(1,)]), lambda: numpy.rec.array([(2,)])),
    (lambda: Measured.of(1, "m"), lambda: Measured.of(1, "km")),
    (
        lambda: numpy.ma.array([1, 2], mask=[True, False]),
        lambda: numpy.ma.array([1, 2], mask=[False, True]),
    ),
    (lambda: numpy.float64(3), lambda: numpy.float32(3)),
    (lambda: numpy.add, lambda: numpy.subtract),
    (lambda: numpy.random.default_rng(5), lambda: numpy.random.default_rng(6)),
    (lambda: numpy.vectorize(lambda x: x), lambda: numpy.vectorize(lambda x: -x)),
    (lambda: compiled, lambda: compiled_in_another_way),
    (lambda: pyarrow.table({"a": [1, 2]}), lambda: pyarrow.table({"a": [1, 3]})),
    (lambda: pandas.DataFrame({"a": ["x"]}), lambda: pandas.DataFrame({"a": ["y"]})),
    (lambda: polars.DataFrame({"a": [1]}), lambda: polars.DataFrame({"a": [2]})),
]


def test_values_count_by_their_content() -> None:
    seen: dict[str, int] = {}
    for number, pair in enumerate(VALUES):
        for make in pair:
            now = identity(capturing(make()), (), None)
            assert identity(capturing(make()), (), None) == now, number
            seen.setdefault(now, number)
            assert identity(capturing(None), (make(),), None) != now, number
    # All differ, but for the integer 1, which is there twice.
    assert len(seen) == 2 * len(VALUES) - 1


def test_values_that_are_one_object_are_as_two_that_are_equal() -> None:
    """The compiler makes equal constants of a file one object, and not those of the cells of a notebook."""
    one = ("a", (1, 2))
    same = capturing([one, one, {"x": one}])
    other = capturing([one, ("a", (1, 2)), {"x": ("a", (1, len("ab")))}])
    assert identity(same, (), None) == identity(other, (), None)


def test_cycles_end() -> None:
    def cycle(last: int) -> list[object]:
        values: list[object] = [1]
        values += [values, {"own": values}, {len}, last]
        return values

    assert identity(capturing(cycle(1)), (), None) == identity(
        capturing(cycle(1)), (), None
    )
    assert identity(capturing(cycle(1)), (), None) != identity(
        capturing(cycle(2)), (), None
    )


def test_what_does_not_change_an_answer_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = threading.Lock()
    held.acquire()
    assert identity(capturing(held), (), None) == identity(
        capturing(threading.Lock()), (), None
    )
    log = logging.getLogger("tests")
    before = identity(capturing(log), (), None)
    log.setLevel(logging.DEBUG)
    assert identity(capturing(log), (), None) == before
    environment = identity(capturing(os.environ), (), None)
    monkeypatch.setenv("TEGULA_TEST", "1")
    assert identity(capturing(os.environ), (), None) == environment

    @functools.cache
    def remembered(x: int) -> int:
        return x + 1

    class Holder:
        @functools.cached_property
        def found(self) -> int:
            return 1

    holder = Holder()
    both = capturing((remembered, holder))
    before = identity(both, (), None)
    assert remembered(1) + holder.found == 3
    assert identity(both, (), None) == before


def test_a_version_replaces_the_digest() -> None:
    with open(os.devnull) as file:
        with pytest.raises(tg.OptionError, match=r"'value'.*version="):
            identity(capturing(file), (), None)
        assert identity(capturing(file), (), "3") == "version 3"


def test_modules_without_a_distribution_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that someone put among what is installed has no version, and its code counts."""
    text = "import single_file_of_a_test as it\ndef parse(line): return it.f(line)"
    seen = set()
    for number in range(2):
        folder = tmp_path / str(number) / "site-packages"
        folder.mkdir(parents=True)
        module = folder / "single_file_of_a_test.py"
        module.write_text(f"def f(line): return {number}")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder))
            seen.add(of({"jobs.py": text}, tmp_path))
        sys.modules.pop("single_file_of_a_test")
    assert len(seen) == 2


def test_a_module_that_is_absent_counts_when_it_is_there(tmp_path: Path) -> None:
    text = """
def parse(line):
    try:
        import mylib.near as near
    except ImportError:
        return 0
    return near.around(line)
"""
    without = of({"jobs.py": text}, tmp_path)
    assert without == of({"jobs.py": text}, tmp_path)
    assert without != of({**FILES, "jobs.py": text}, tmp_path)


def test_explain_lists_what_was_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(written(FILES, tmp_path)))
    import jobs

    found = followed(jobs.parse, ())
    assert {"jobs.parse", "jobs.helper", "jobs.Rule.run", "mylib.near.around"} <= set(
        found.functions
    )
    assert {"jobs.Rule", "jobs.Base", "jobs.Meta", "jobs.Colour"} <= set(found.classes)
    assert {"LIMIT = 5", "FACTOR = 81", "WEIGHTS, a list of 2"} <= set(found.values)
    numpys = f"numpy {numpy.__version__}"
    python = "Python {}.{}".format(*sys.version_info[:2])
    assert {numpys, python, "math", "functools"} <= set(found.installed)
    said = tg.text("missing").map(jobs.parse, args=(5,)).count().explain()
    for part in (*found.functions, *found.classes, *found.installed, "args[0] = 5"):
        assert part in said
    refused = tg.text("missing").map(lambda line: eval(line)).count().explain()
    assert "state     cannot tell" in refused
    assert "version=" in refused
    assert "functions" not in refused
    assert "functions" not in tg.text("missing").words().count().explain()


REFUSED = [
    (
        "importlib.import_module",
        "import_module",
        "import importlib\ndef parse(line): return importlib.import_module(line)",
    ),
    (
        "bound",
        "import_module",
        "from importlib import import_module as load\ndef parse(line): return load(line)",
    ),
    (
        "within",
        "import_module",
        "def parse(line):\n    import importlib\n    return importlib.import_module(line)",
    ),
    (
        "within by name",
        "import_module",
        "def parse(line):\n    from importlib import import_module as load\n    return load(line)",
    ),
    ("__import__", "__import__", "def parse(line): return __import__(line)"),
    ("globals", "globals", "def parse(line): return globals()[line]"),
    ("eval", "eval", "def parse(line): return eval(line)"),
    ("exec", "exec", "def parse(line): exec(line)"),
    ("eval as a value", "eval", "ALL = [eval]\ndef parse(line): return ALL[0](line)"),
    (
        "eval in a helper",
        "eval",
        "def helper(x): return [eval(y) for y in x]\ndef parse(line): return helper(line)",
    ),
    (
        "builtins.eval",
        "eval",
        "import builtins\ndef parse(line): return builtins.eval(line)",
    ),
    ("sys.modules", "modules", "import sys\ndef parse(line): return sys.modules[line]"),
    (
        "spec_from_file_location",
        "util",
        "import importlib.util\ndef parse(line): return importlib.util.find_spec(line)",
    ),
    (
        "run_path",
        "run_path",
        "import runpy\ndef parse(line): return runpy.run_path(line)",
    ),
    (
        "getattr of a module",
        "module mylib",
        "import mylib\ndef parse(line): return getattr(mylib, line)(1)",
    ),
    (
        "getattr of a module within",
        "module mylib",
        "def parse(line):\n    import mylib\n    return getattr(mylib, line)(1)",
    ),
    (
        "a module in a list",
        "module mylib",
        "import mylib\nALL = [mylib]\ndef parse(line): return ALL[0].used(1)",
    ),
    (
        "a module in a default",
        "module mylib",
        "import mylib\ndef parse(line, lib=mylib): return lib.used(1)",
    ),
    (
        "a module's dictionary",
        "__dict__",
        "import mylib\ndef parse(line): return mylib.__dict__[line](1)",
    ),
    (
        "a function's globals",
        "__globals__",
        "def helper(): pass\ndef parse(line): return helper.__globals__[line]",
    ),
    (
        "subclasses",
        "__subclasses__",
        "class A: pass\ndef parse(line): return A.__subclasses__()",
    ),
    (
        "__builtins__",
        "__builtins__",
        "def parse(line): return __builtins__[line]",
    ),
    (
        "a library",
        "library",
        "import ctypes\nLIB = ctypes.CDLL(None)\ndef parse(line): return LIB.abs(1)",
    ),
    (
        "a file",
        "TextIOWrapper",
        "import os\nFILE = open(os.devnull)\ndef parse(line): return FILE.read()",
    ),
    (
        "a generator",
        "generator",
        "ROWS = (x for x in [1])\ndef parse(line): return next(ROWS)",
    ),
    (
        "numpy.frompyfunc",
        "ufunc",
        "import numpy\ndef helper(x): return x\nF = numpy.frompyfunc(helper, 1, 1)\ndef parse(line): return F(1)",
    ),
    (
        "a module that fails",
        "broken",
        "def parse(line):\n    import broken\n    return broken.x",
    ),
    (
        "values in a long chain",
        "nested",
        "CHAIN = None\nfor _ in range(5000): CHAIN = [CHAIN]\ndef parse(line): return CHAIN",
    ),
]


@pytest.mark.parametrize(
    ("named", "text"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED]
)
def test_what_cannot_be_followed_is_refused(
    named: str, text: str, tmp_path: Path
) -> None:
    files = {**FILES, "jobs.py": text, "mylib/broken.py": "", "broken.py": "1 / 0"}
    with pytest.raises(tg.OptionError, match="version=") as refused:
        of(files, tmp_path)
    assert named in str(refused.value)
