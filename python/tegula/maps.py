"""Maps: how records become pairs, and the combines that the pairs of each may have."""

from __future__ import annotations

import ctypes
import hashlib
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tegula.combines import KINDS, Column
from tegula.errors import OptionError
from tegula.job import Job
from tegula.ordering import Ordering

if TYPE_CHECKING:
    from tegula.sources import Source

Style = Literal["record", "split", "arrow", "array"]

ABI = 1


@dataclass(frozen=True)
class _Library:
    """A shared library that is loaded, and a map in it."""

    loaded: ctypes.CDLL
    symbol: str
    image: bytes
    """The bytes of its file, which say what the map is."""


# The base of all function types of ctypes: its name there is private.
_FUNCTION_POINTER: Any = ctypes.CFUNCTYPE(None).__mro__[1]


@dataclass(frozen=True)
class Pairs:
    """Pairs of keys and values, and the ways to combine the values of one key. Made by the maps of a `Source`.

    Attributes:
        source: the records that are mapped.
        plan: the kind of the map and its options, for the engine.
        keys: what keys are: "text", "bytes", or "tagged" with their type.
        combines: the names of the combines that fit.
        program: of a map in Python, its function and how it is called; None of other maps.
        kept: of a map in C, what must live as long as the run: its library or function.
    """

    source: Source
    plan: dict[str, Any]
    keys: str
    combines: tuple[str, ...]
    program: dict[str, Any] | None = None
    kept: Any = None

    def count(self) -> Job:
        """Count the pairs of each key."""
        return self._combine("count")

    def sum(self) -> Job:
        """Sum the values of each key: exactly for integers; for floats to the same bits in any order."""
        return self._combine("sum")

    def min(self) -> Job:
        """Keep the least value of each key."""
        return self._combine("min")

    def max(self) -> Job:
        """Keep the greatest value of each key."""
        return self._combine("max")

    def mean(self) -> Job:
        """Take the mean of each key's values, as a float that is rounded once."""
        return self._combine("mean")

    def collect(self) -> Job:
        """Keep all values of each key, as a list in the order of the input. Memory is linear in the values.

        >>> tg.text("requests.txt").field(2, " ", value=3).collect().run().to_dict()
        {'/a': ['200', '200'], '/b': ['404']}
        """
        return self._combine("collect")

    def reduce(self, function: Callable[..., Any], *, args: Sequence[Any] = ()) -> Job:
        """Call `function(key, values, *args)` once for each key, at the end, with an iterator over all its values.

        Values come in the order of the input, one by one: they are all in Python only if the function makes a list
        of them. What it returns is the answer: any object that can be pickled. It runs where the map does, and for
        the engine's own maps in processes; keys are shared among the workers. The values of all keys are kept until
        then, in memory or, with `memory=`, on disk; use `merge` where two values can be made one.

        >>> methods = tg.text("requests.txt").map(lambda line: (line.split()[1], line.split()[0]))
        >>> methods.reduce(lambda path, values: "+".join(values)).run().to_dict()
        {'/a': 'GET+POST', '/b': 'GET'}
        """
        return self._combine("reduce", reducer=_reducer("reduce", function, args))

    def merge(self, function: Callable[..., Any], *, args: Sequence[Any] = ()) -> Job:
        """Make the values of each key one, two at a time: `function(a, b, *args)`, as in `merge(set.union)`.

        Values stay in the order of the input, but which neighbours are merged first differs from run to run, so
        `function` must be associative, and must not change its arguments: `tg.check_merge` tests both. Sums of
        floats are not associative. A value may be any object that can be pickled.

        >>> lengths = tg.text("requests.txt").map(lambda line: (line.split()[0], {len(line)}))
        >>> lengths.merge(set.union).run().to_dict()
        {'GET': {12, 13}, 'POST': {14}}
        """
        return self._combine("merge", reducer=_reducer("merge", function, args))

    def distinct(self) -> Ordering:
        """Keep each key once, in order.

        >>> tg.text("requests.txt").map(lambda line: line.split()[1]).distinct().run().to_list()
        ['/a', '/b']
        """
        if "count" not in self.combines:
            raise OptionError("distinct: leave the value out, and only keys are read")
        return Ordering(Job(self, "count"), True, False, None)

    def agg(self, **columns: Column) -> Job:
        """Combine several entries of each value, which is a dict: `agg(n=tg.count(), slowest=tg.max("ms"))`.

        A value may lack an entry. At most 8 columns.

        >>> sizes = tg.text("requests.txt").map(lambda line: (line[0], {"bytes": int(line[11:])}))
        >>> sizes.agg(n=tg.count(), most=tg.max("bytes")).run().to_dict()
        {'G': {'n': 2, 'most': 12}, 'P': {'n': 1, 'most': 40}}
        """
        if not columns:
            raise OptionError("agg: no columns; give some, as n=tg.count()")
        for name, column in columns.items():
            if not isinstance(column, Column):
                raise OptionError(
                    f'agg: {name}={column!r} is no column; give one as tg.sum("ms")'
                )
        of = [(name, column.kind, column.source) for name, column in columns.items()]
        return self._combine("agg", of)

    def native_identity(self, version: str | None) -> str:
        """Return what a native map is, for a state."""
        from tegula.identity import identity

        if version is not None:
            return f"version {version}"
        if isinstance(self.kept, _Library):
            digest = hashlib.blake2b(self.kept.image, digest_size=20).hexdigest()
            return f"{digest} {self.kept.symbol}"
        function = getattr(self.kept, "__wrapped__", None)
        if function is None:
            raise OptionError(
                'state: an address does not say what the map is: give version="..." and change it whenever the map '
                "changes"
            )
        return identity(function, (), None)

    def _combine(
        self,
        kind: str,
        columns: list[tuple[str, str, str | None]] | None = None,
        reducer: tuple[Callable[..., Any], tuple[Any, ...]] | None = None,
    ) -> Job:
        if kind not in self.combines:
            fit = ", ".join(self.combines)
            raise OptionError(
                f"{kind}: {self.plan['kind']} pairs have no values for it; they take {fit}"
            )
        return Job(self, kind, columns or [], reducer)


def _reducer(
    name: str, function: Callable[..., Any], args: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    if not callable(function):
        raise OptionError(f"{name}: {function!r} cannot be called")
    return function, tuple(args)


def check_merge(
    function: Callable[..., Any], examples: Iterable[Any], *, args: Sequence[Any] = ()
) -> None:
    """Test that a function fits `merge`: that it is associative over all triples of `examples`, and leaves its
    arguments as they are. Raises an `OptionError` that names the first that show otherwise.

    >>> tg.check_merge(set.union, [{1}, {2, 3}])
    >>> tg.check_merge(lambda a, b: a - b, [1, 2])
    Traceback (most recent call last):
    tegula.errors.OptionError: merge: not associative over 1, 1, 1: -1 from the left, 1 from the right
    """
    values = list(examples)
    images = [pickle.dumps(value) for value in values]

    def merged(a: Any, b: Any) -> Any:
        return function(a, b, *args)

    for triple in product(range(len(values)), repeat=3):
        a, b, c = (pickle.loads(images[place]) for place in triple)
        left = merged(merged(a, b), c)
        a, b, c = (pickle.loads(images[place]) for place in triple)
        right = merged(a, merged(b, c))
        shown = ", ".join(repr(values[place]) for place in triple)
        if left != right:
            raise OptionError(
                f"merge: not associative over {shown}: {left!r} from the left, {right!r} from the right"
            )
    for first, second in product(range(len(values)), repeat=2):
        a, b = pickle.loads(images[first]), pickle.loads(images[second])
        merged(a, b)
        if (a, b) != (values[first], values[second]):
            raise OptionError(
                f"merge: changes its arguments {values[first]!r} and {values[second]!r}; make a new value"
            )


@dataclass(frozen=True)
class PerWorker:
    """What each process runs before its first record. Made by `per_worker`.

    Attributes:
        per_worker: the function, which gets no arguments.
    """

    per_worker: Callable[[], Any]


def per_worker(function: Callable[[], Any]) -> PerWorker:
    """Let `setup=` run in each process that maps, instead of once in the process that they are forked from."""
    if not callable(function):
        raise OptionError(f"per_worker: {function!r} cannot be called")
    return PerWorker(function)


def called(
    source: Source,
    style: Style,
    function: Callable[..., Any],
    args: Sequence[Any],
    on: str,
    setup: Callable[[], Any] | PerWorker | None,
) -> Pairs:
    """Return the pairs that a Python function makes."""
    if setup is not None and not callable(setup) and not isinstance(setup, PerWorker):
        raise OptionError(f"setup: {setup!r} cannot be called")
    if not callable(function):
        raise OptionError(f"map: {function!r} cannot be called")
    if on not in ("processes", "threads"):
        raise OptionError(f'on: {on!r}; give "processes" or "threads"')
    program = {
        "style": style,
        "function": function,
        "args": tuple(args),
        "cut": source.cut,
        "encoding": source.encoding,
        "dtype": source.dtype,
        "shape": source.shape,
        "setup": setup,
    }
    combines = (*KINDS, "collect", "agg", "reduce", "merge")
    return Pairs(source, {"kind": on}, "tagged", combines, program)


def native(source: Source, function: Any, value: str) -> Pairs:
    """Return the pairs that a function in C makes."""
    if value not in ("i64", "f64"):
        raise OptionError(f'value: {value!r}; give "i64" or "f64"')
    if source.cut != "lines" and not isinstance(source.cut, int):
        raise OptionError("map_native: takes lines, or records of fixed length")
    addresses, kept = _addresses(function)
    # The command line knows a library's map by these, so its states are those of this package.
    known = (kept.image, kept.symbol) if isinstance(kept, _Library) else None
    plan = {"kind": "native", "value": value, "library": known, **addresses}
    return Pairs(source, plan, source.keys, KINDS, kept=kept)


def _addresses(function: Any) -> tuple[dict[str, int | None], Any]:
    """Return the addresses of a native map and of what opens and closes its state, and what keeps them loaded."""
    if isinstance(function, tuple):
        path, symbol = function
        return _library(Path(path), symbol)
    address = getattr(function, "address", None)
    if address is None and isinstance(function, _FUNCTION_POINTER):
        address = ctypes.cast(function, ctypes.c_void_p).value
    if address is None and type(function).__module__ == "_cffi_backend":
        import cffi

        address = int(cffi.FFI().cast("uintptr_t", function))
    if not isinstance(address, int) or address == 0:
        raise OptionError(
            f"map_native: {function!r} has no address; give a Numba cfunc, a ctypes or cffi function pointer, "
            'or ("library.so", "symbol")'
        )
    return {"address": address, "open": None, "close": None}, function


def _library(path: Path, symbol: str) -> tuple[dict[str, int | None], _Library]:
    if not path.exists():
        raise OptionError(f"map_native: {path}: no such file")
    try:
        library = ctypes.CDLL(str(path.resolve()))
    except OSError as error:
        raise OptionError(f"map_native: {error}") from None
    try:
        version = ctypes.c_uint32.in_dll(library, "tegula_abi").value
    except ValueError:
        raise OptionError(
            f"map_native: {path} does not say for which tegula.h it was compiled; write TEGULA_LIBRARY once in it"
        ) from None
    if version != ABI:
        raise OptionError(
            f"map_native: {path} is for version {version} of tegula.h, and this is version {ABI}; compile it anew"
        )

    def address(name: str) -> int | None:
        try:
            return ctypes.cast(library[name], ctypes.c_void_p).value
        except AttributeError:
            return None

    found = address(symbol)
    if found is None:
        raise OptionError(
            f'map_native: {path} exports no {symbol}; check the name, and C++\'s extern "C"'
        )
    opened, closed = address(f"{symbol}_open"), address(f"{symbol}_close")
    addresses = {"address": found, "open": opened, "close": closed}
    return addresses, _Library(library, symbol, path.read_bytes())


def pickled(program: dict[str, Any], worker_memory: int | None) -> bytes:
    """Pickle a program for a zygote: lambdas, closures and what `__main__` or a notebook defines by value."""
    from tegula._pickling import dumps

    try:
        body = dumps(program)
    except Exception as error:
        found = _unpicklable(program)
        raise OptionError(
            f"map: {found} cannot be sent to another process ({error}); make it inside of the function, or give "
            'on="threads"'
        ) from error
    setting = {"path": sys.path, "argv": sys.argv, "worker_memory": worker_memory}
    return pickle.dumps((setting, body))


def _unpicklable(program: dict[str, Any]) -> str:
    """Name what cannot be pickled, as far as it can be told."""
    from tegula._pickling import dumps

    def fails(value: Any) -> bool:
        try:
            dumps(value)
        except Exception:
            return True
        return False

    function = program["function"] or program["reducer"]
    for place, value in enumerate(program["args"]):
        if fails(value):
            return f"the argument {place} of args, a {type(value).__name__},"
    code, cells = (
        getattr(function, "__code__", None),
        getattr(function, "__closure__", None),
    )
    if code is not None:
        for name, cell in zip(code.co_freevars, cells or (), strict=False):
            if fails(cell.cell_contents):
                return f"the variable {name!r}, a {type(cell.cell_contents).__name__}, that the function uses"
        for name in code.co_names:
            value = function.__globals__.get(name)
            if value is not None and fails(value):
                return f"the variable {name!r}, a {type(value).__name__}, that the function uses"
    return "the function"


class InThreads:
    """A function that the engine's workers call: with 0 and the bytes of a split, or with 1 and values to reduce.

    It notes how long its calls took, and how much of that a thread ran or could have run, had a processor been free.
    The rest it was blocked.
    """

    def __init__(self, program: dict[str, Any], inside: threading.local) -> None:
        from tegula._companion import Mapper

        self._mapper = Mapper(program)
        self._mapper.begin()
        self._inside = inside
        self._lock = threading.Lock()
        self._seconds = self._seconds_able = 0.0

    def __call__(self, request: int, data: bytes) -> tuple[int, bytes]:
        began, able = time.perf_counter(), _seconds_able()
        self._inside.is_mapping = True
        try:
            status, buffers = (
                self._mapper.reduce(data) if request else self._mapper(data)
            )
        finally:
            self._inside.is_mapping = False
            with self._lock:
                self._seconds += time.perf_counter() - began
                self._seconds_able += _seconds_able() - able
        return status, b"".join(buffers)

    def waited_part(self, map_seconds: float) -> float:
        """Return the part of the calls' time that threads waited for the interpreter's lock.

        That is the time that they were blocked, where one of them ran for most of the map's time: otherwise they waited
        for something else, such as a file. Calls of less than a fifth of a second together are no measure.
        """
        if self._seconds < 0.2 or self._seconds_able < 0.5 * map_seconds:
            return 0.0
        return max(0.0, 1 - self._seconds_able / self._seconds)


def _seconds_able() -> float:
    """Return how long this thread ran, and waited for a processor."""
    try:
        text = Path("/proc/thread-self/schedstat").read_text()
    except OSError:
        return time.thread_time()
    return time.thread_time() + int(text.split()[1]) / 1e9
