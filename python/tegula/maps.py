"""Maps: how records become pairs, and the combines that the pairs of each may have."""

from __future__ import annotations

from tegula.combines import KINDS, Column
from tegula.errors import OptionError
from tegula.frozen import Frozen
from tegula.job import Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Literal

    from tegula.job import Reducer
    from tegula.ordering import Ordering
    from tegula.sources import Source

    Style = Literal["record", "split", "arrow", "array"]


class Pairs(Frozen):
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
    program: dict[str, Any] | None
    kept: Any

    def __init__(
        self,
        source: Source,
        plan: dict[str, Any],
        keys: str,
        combines: tuple[str, ...],
        program: dict[str, Any] | None = None,
        kept: Any = None,
    ) -> None:
        self._set(source=source, plan=plan, keys=keys, combines=combines)
        self._set(program=program, kept=kept)

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
        from tegula.ordering import Ordering

        if "count" not in self.combines:
            raise OptionError("distinct: leave the value out, and only keys are read")
        return Ordering(Job(self, "count"), True, False, None)

    def agg(self, **columns: Column) -> Job:
        """Combine several entries of each value, which is a dict: `agg(n=tg.count(), slowest=tg.max("ms"))`.

        A value may lack an entry. At most 8 columns, none of which is named as the key is in tables and files: `key` or
        `key_hex`.

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
            if name in ("key", "key_hex"):
                raise OptionError(
                    f"agg: {name} is the name of the key; give the column another one"
                )
        of = [(name, column.kind, column.source) for name, column in columns.items()]
        return self._combine("agg", of)

    def native_identity(self, version: str | None) -> str:
        """Return what a native map is, for a state."""
        from tegula.identity import identity
        from tegula.native import Library

        if version is not None:
            return f"version {version}"
        if isinstance(self.kept, Library):
            return self.kept.identity()
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
        reducer: Reducer | None = None,
    ) -> Job:
        if kind not in self.combines:
            fit = ", ".join(self.combines)
            raise OptionError(
                f"{kind}: {self.plan['kind']} pairs have no values for it; they take {fit}"
            )
        return Job(self, kind, columns or [], reducer)


def _reducer(name: str, function: Callable[..., Any], args: Sequence[Any]) -> Reducer:
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
    import pickle
    from itertools import product

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


class PerWorker(Frozen):
    """What each process runs before its first record. Made by `per_worker`.

    Attributes:
        per_worker: the function, which gets no arguments.
    """

    per_worker: Callable[[], Any]

    def __init__(self, per_worker: Callable[[], Any]) -> None:
        self._set(per_worker=per_worker)


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
        "setup": None if isinstance(setup, PerWorker) else setup,
        "per_worker": setup.per_worker if isinstance(setup, PerWorker) else None,
    }
    combines = (*KINDS, "collect", "agg", "reduce", "merge")
    return Pairs(source, {"kind": on}, "tagged", combines, program)
