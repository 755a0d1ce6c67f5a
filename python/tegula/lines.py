"""Answers as lines of JSON, in which jobs of a server hand them on: a line for each pair, as `--format jsonl` writes it.

What JSON cannot hold exactly is shown by its `repr`, and its pickle is in the field "pickle" of the line.
"""

from __future__ import annotations

import base64
import json
import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from tegula._packing import order_key
from tegula.errors import Error, OptionError

if TYPE_CHECKING:
    from tegula.result import Pair

# Fields of a line beside its values.
_OWN = ("key", "pickle")


def _is_exact(value: Any) -> bool:
    if type(value) is str:
        return value.isprintable() or not any(
            "\ud800" <= one <= "\udfff" for one in value
        )
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (int, bool)


def line_of(key: Any, value: Any, names: list[str]) -> dict[str, Any]:
    """Return the fields of the line of a pair, whose value has these columns, if there are any."""
    shown = {"value": value}
    is_exact = type(key) is str and _is_exact(key)
    if names:
        is_exact &= type(value) is dict and list(value) == names
        is_exact &= not set(names) & set(_OWN)
        shown = {name: value.get(name) for name in names if name not in _OWN}
    is_exact &= all(map(_is_exact, shown.values()))
    line = {"key": key if type(key) is str and _is_exact(key) else repr(key)}
    line |= {name: one if _is_exact(one) else repr(one) for name, one in shown.items()}
    if not is_exact:
        line["pickle"] = base64.b64encode(pickle.dumps((key, value))).decode()
    return line


def pairs_of(
    lines: Iterable[dict[str, Any]], names: list[str], is_text: bool, is_sum: bool
) -> Iterator[Pair]:
    """Return the pairs of lines, whose values have these columns, if there are any.

    is_text: whether keys are `str`, and not `bytes`.
    is_sum: whether values are floats, though a line may show a whole number.
    """
    for line in lines:
        if "pickle" in line:
            yield pickle.loads(base64.b64decode(line["pickle"]))
            continue
        (name, shown), *values = line.items()
        data = bytes.fromhex(shown) if name.endswith("_hex") else shown.encode()
        key = data.decode("utf-8", "surrogateescape") if is_text else data
        if names:
            yield key, {name: line[name] for name in names}
        else:
            value = values[0][1]
            if is_sum and value is None:
                raise Error(
                    f"the sum of {key!r} is no finite number, which no line tells"
                )
            yield key, float(value) if is_sum else value


class Pairs:
    """The pairs of an answer, which a `Result` reads as it reads those of the native module."""

    def __init__(
        self,
        pairs: list[Pair],
        names: list[str],
        stats: dict[str, Any] | None = None,
    ) -> None:
        self._pairs = pairs
        self._names = names
        self._stats = stats or {}

    def __len__(self) -> int:
        return len(self._pairs)

    def portions(self) -> int:
        return 1

    def pairs(self, portion: int) -> list[Pair]:
        return self._pairs

    def between(self, begin: int, end: int) -> list[Pair]:
        return self._pairs[begin:end]

    def top(self, most: int, column: int) -> list[Pair]:
        value = self._value_of(column)

        def rank(pair: Pair) -> Any:
            found = value(pair)
            if isinstance(found, list):
                return len(found)
            # A missing value comes last.
            return (found is not None, 0 if found is None else found)

        # Sorting is stable: of equal values the lesser key comes first.
        pairs = sorted(self._pairs, key=lambda pair: order_key(pair[0]))
        return nlargest(most, pairs, key=rank)

    def _value_of(self, column: int) -> Callable[[Pair], Any]:
        if not self._names:
            return lambda pair: pair[1]
        name = self._names[column]
        return lambda pair: pair[1][name]

    def stream(self) -> object:
        return self._table().__arrow_c_stream__()

    def _table(self) -> Any:
        try:
            import pyarrow

            from tegula.result import plain
        except ImportError:
            raise OptionError(
                "pyarrow makes Arrow of an answer that came from a server, and is not installed"
            ) from None
        columns: dict[str, list[Any]] = {"key": [key for key, _ in self._pairs]}
        for column, name in enumerate(self._names or ["value"]):
            columns[name] = list(map(plain, map(self._value_of(column), self._pairs)))
        return pyarrow.table(columns)

    def schema(self) -> object:
        return self._table().schema.__arrow_c_schema__()

    def has_objects(self) -> bool:
        return not all(isinstance(value, (int, float)) for _, value in self._pairs)

    def has_floats(self, column: int) -> bool:
        return any(
            one is None or isinstance(one, float) for one in self._column(column)
        )

    def _column(self, column: int) -> list[Any]:
        values = list(map(self._value_of(column), self._pairs))
        if not all(
            value is None or isinstance(value, (int, float)) for value in values
        ):
            raise ValueError("the values are no numbers")
        return values

    def fill_ints(self, column: int, to: Any) -> None:
        try:
            to[:] = self._column(column)
        except OverflowError:
            raise ValueError("a number has more than 64 bits") from None

    def fill_floats(self, column: int, to: Any) -> None:
        to[:] = [math.nan if one is None else one for one in self._column(column)]

    def file(self, number: int) -> str | None:
        return None

    def stats(self) -> dict[str, Any]:
        return self._stats


def parsed(text: bytes) -> Iterator[dict[str, Any]]:
    """Return the fields of each line."""
    return map(json.loads, text.splitlines())
