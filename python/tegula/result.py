"""The answer of a run."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from tegula.errors import OptionError

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow

    from tegula import _tegula
    from tegula._tegula import Answer
    from tegula.writing import Format

Pair = tuple[Any, Any]


def plain(value: Any) -> Any:
    """Return a value as Arrow has it: places of an index as structs."""
    if isinstance(value, list) and value and hasattr(value[0], "_asdict"):
        return [place._asdict() for place in value]
    return value


class Result:
    """A sequence of pairs of a key and its value, in the order that the run was asked for.

    Keys are what the map gave, values numbers, lists (of `collect`), or dicts (of `agg`). Nothing is copied into
    Python before it is asked for; `__arrow_c_stream__` gives all to any library that takes Arrow streams.
    """

    def __init__(
        self,
        answer: Answer,
        names: list[str],
        decode: Callable[[bytes], Any] | None,
        is_reduced: bool = False,
    ) -> None:
        self._answer = answer
        self._names = names
        self._decode = decode
        self._is_reduced = is_reduced
        # Whether values have a form that only Python reads.
        self._is_made_here = decode is pickle.loads

    def __len__(self) -> int:
        return len(self._answer)

    @overload
    def __getitem__(self, place: int) -> Pair: ...
    @overload
    def __getitem__(self, place: slice) -> list[Pair]: ...
    def __getitem__(self, place: int | slice) -> Pair | list[Pair]:
        """Return the pair at a place, or those of a slice, in order. Places from the end are below 0."""
        places = range(len(self))[place]
        if isinstance(places, int):
            return self._decoded(self._answer.between(places, places + 1))[0]
        if not places:
            return []
        begin, end = min(places[0], places[-1]), max(places[0], places[-1]) + 1
        return self._decoded(self._answer.between(begin, end))[:: places.step]

    def __iter__(self) -> Iterator[Pair]:
        for pairs in self._portions():
            yield from pairs

    def _portions(self) -> Iterator[list[Pair]]:
        """Yield some thousand pairs at a time."""
        for portion in range(self._answer.portions()):
            yield self._decoded(self._answer.pairs(portion))

    def _decoded(self, pairs: list[Pair]) -> list[Pair]:
        decode = self._decode
        if decode is None:
            return pairs
        if self._is_reduced:
            return [
                (key, decode(value) if type(value) is bytes else value)
                for key, value in pairs
            ]
        return [(key, [decode(value) for value in values]) for key, values in pairs]

    def __repr__(self) -> str:
        few = []
        for pair in self:
            few.append(repr(pair))
            if len(few) == 5:
                break
        more = ", ..." if len(self) > len(few) else ""
        return f"<tegula.Result of {len(self)} pairs: [{', '.join(few)}{more}]>"

    def _repr_html_(self) -> str:
        from html import escape

        names = self._names or ["value"]
        head = "".join(f"<th>{escape(name)}</th>" for name in ["key", *names])
        rows = []
        for key, value in self:
            values = [value[name] for name in names] if self._names else [value]
            cells = "".join(f"<td>{escape(str(one))}</td>" for one in [key, *values])
            rows.append(f"<tr>{cells}</tr>")
            if len(rows) == 10:
                break
        left = len(self) - len(rows)
        more = f"<p>and {left:,} more</p>" if left else ""
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>{more}"

    def top(self, count: int, by: str | None = None) -> list[Pair]:
        """Return the `count` pairs with the greatest values, greatest first; of equal ones the lesser key.

        `by` names the column of an `agg`; the default is the first. Lists count by their length. One pass over all
        pairs: give `top=` to `run` if no others are wanted.
        """
        if count < 0:
            raise OptionError(f"count: {count}; give 0 or more")
        if self._has_objects():
            try:
                return nlargest(count, self, key=lambda pair: pair[1])
            except TypeError as error:
                raise OptionError(f"top: the values have no order: {error}") from None
        return self._decoded(self._answer.top(count, self._column(by)))

    def _has_objects(self) -> bool:
        """Whether values are objects of Python's that only it can read."""
        return self._is_reduced and self._answer.has_objects()

    def _is_pickled(self) -> bool:
        if self._is_reduced:
            return self._has_objects()
        return self._decode is not None and self._is_made_here

    def to_dict(self) -> dict[Any, Any]:
        """Return all pairs as a dict."""
        return dict(iter(self))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule of an Arrow stream of all pairs.

        Columns of `requested_schema` are cast by pyarrow, which refuses what would lose a part of a value.
        """
        if requested_schema is not None:
            return self._cast(requested_schema)
        if self._is_pickled():
            return self.to_arrow().__arrow_c_stream__()
        try:
            return self._answer.stream()
        except ValueError as error:
            raise OptionError(str(error)) from None

    def _cast(self, requested_schema: object) -> object:
        try:
            import pyarrow
        except ImportError:
            raise OptionError(
                "requested_schema: pyarrow casts columns, and is not installed; take them as they are"
            ) from None
        own = pyarrow.RecordBatchReader.from_stream(self)
        schema = pyarrow.Schema._import_from_c_capsule(requested_schema)
        if schema.names != own.schema.names:
            raise OptionError(
                f"requested_schema: the columns {', '.join(schema.names)}; the answer has {', '.join(own.schema.names)}"
            )
        return own.cast(schema).__arrow_c_stream__()

    def to_arrow(self) -> pyarrow.Table:
        """Return all pairs as a pyarrow Table. No number or text is copied."""
        import pyarrow

        if self._is_pickled():
            pairs = list(self)
            keys = [key for key, _ in pairs]
            values = [plain(value) for _, value in pairs]
            return pyarrow.table({"key": keys, "value": values})
        return pyarrow.RecordBatchReader.from_stream(self).read_all()

    def to_polars(self) -> polars.DataFrame:
        """Return all pairs as a Polars DataFrame."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return all pairs as a pandas DataFrame."""
        import pandas

        if hasattr(pandas.DataFrame, "from_arrow"):
            return pandas.DataFrame.from_arrow(self)
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_numpy(self, column: str | None = None) -> numpy.ndarray[Any, Any]:
        """Return the values as a numpy array of integers or floats, in the order of the pairs.

        `column` names one of an `agg`; the default is the first. A missing value is NaN.
        """
        import numpy

        place = self._column(column)
        try:
            has_floats = self._answer.has_floats(place)
            values = numpy.empty(
                len(self), numpy.float64 if has_floats else numpy.int64
            )
            fill = self._answer.fill_floats if has_floats else self._answer.fill_ints
            if len(values):
                fill(place, values)
        except ValueError as error:
            raise OptionError(str(error)) from None
        return values

    @property
    def columns(self) -> list[str]:
        """The names of an `agg`'s columns; none of other answers."""
        return list(self._names)

    def write(
        self, path: str | os.PathLike[str], *, format: Format | None = None
    ) -> None:
        """Write all pairs to a file, which appears, or is replaced, only when all of it is written.

        format: "tsv" (key, tab, value; a column for each part of a tuple and each column of an `agg`), "jsonl" (an
        object with "key" and "value" or the columns of an `agg`; "key_hex" where a key is no UTF-8), "parquet" or
        "arrow" (with pyarrow); the default is what the path ends with.
        """
        from tegula.writing import write

        write(self, path, format)

    def _column(self, name: str | None) -> int:
        if name is None:
            return 0
        if name not in self._names:
            known = ", ".join(map(repr, self._names)) or "no names"
            raise OptionError(
                f"{name!r} is no column of this answer, which has {known}"
            )
        return self._names.index(name)

    @property
    def stats(self) -> dict[str, Any]:
        """What the run did: counts, bytes, and seconds of each stage."""
        return self._answer.stats()

    def file(self, number: int) -> str | None:
        """Return the path or URL of an input file by its number."""
        return self._answer.file(number)


class Estimate(NamedTuple):
    """What a count or a sum will be at the end, as far as it can be told from a part of the input.

    Attributes:
        total: the value so far, scaled to the whole input by its bytes.
        within: with 95 % confidence the value at the end is at most this far from `total`: 0 when all was seen, None
            until the key was shown twice.

    The interval is that of the ratio estimator, and holds as far as the part that was seen resembles the rest: not
    where the input is sorted by what is counted.
    """

    total: float
    within: float | None


class Seen:
    """What a running job has seen so far. Made by `Job.stream`.

    Attributes:
        number: the number of the show, from 1.
        part: the part of the input that the pairs are of, up to 1; None of a stream of unknown length.
        bytes: its bytes.
        keys: distinct keys so far; None where they were not counted.
        seconds: time since the map began.
        is_last: whether the pairs are those of the whole input.
        result: the pairs.
    """

    def __init__(
        self,
        seen: _tegula.Seen,
        result: Result,
        estimated: _tegula.Estimated | str | None = None,
    ) -> None:
        """`estimated`: the estimates of the pairs, or why there are none; None where the input has no known length."""
        self._estimated = estimated
        self._places: dict[Any, int] = {}
        self._planned = seen.bytes_planned
        self.number = seen.number
        self.part = seen.part
        self.bytes = seen.bytes
        self.keys = seen.keys
        self.seconds = seen.seconds
        self.is_last = seen.is_last
        self.result = result
        self._stable = seen.stable

    def __repr__(self) -> str:
        part = "?" if self.part is None else f"{self.part:.0%}"
        return f"<tegula.Seen of {part} of the input: {len(self.result)} pairs>"

    def top(self, count: int, by: str | None = None) -> list[Pair]:
        """Return the pairs with the greatest values, as `Result.top`."""
        return self.result.top(count, by)

    def estimate(self, key: Any, by: str | None = None) -> Estimate | None:
        """Return what the value of `key` will be at the end. None if this show has no such key, and of a stream of
        unknown length.

        `by` names a column of an `agg`; the default is the first. Only counts and sums have estimates. Shows that the
        loop missed do no harm.

        >>> for seen in tg.text("requests.txt").words("alpha").count().stream(top=2):
        ...     print(seen.estimate("get"))
        Estimate(total=2.0, within=0.0)
        """
        if isinstance(self._estimated, str):
            raise OptionError(f"estimate: {self._estimated}")
        if self._estimated is None:
            return None
        if not self._places:
            self._places = {key: place for place, (key, _) in enumerate(self.result)}
        place = self._places.get(key)
        if place is None:
            return None
        try:
            found = self._estimated.of(self.result._column(by), place)
        except IndexError:
            raise OptionError(
                f"estimate: {by or 'the first column'} does not add up; name a count or a sum"
            ) from None
        return None if found is None else Estimate(*found)

    def stable_since(self, count: int, *, least: float = 0.2) -> float | None:
        """Return since which part of the input the first `count` keys are the same ones, in whatever order.

        None while that was so for less than the part `least` of the input, a fifth by default, so that
        `if seen.stable_since(10): break` leaves when the first ten have not changed for as long. The last show, after
        which nothing changes, gives a part always. None, too, if there are fewer keys; at most 1000 are compared. Of a
        stream of unknown length, parts are those of what was read so far.
        """
        if not 0 < count <= len(self._stable):
            return None
        whole = self._planned or self.bytes
        since = self._stable[count - 1]
        if not self.is_last and self.bytes - since < least * whole:
            return None
        return min(since / whole, 1.0) if whole else 1.0
