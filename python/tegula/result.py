"""The answer of a run."""

from __future__ import annotations

from tegula.errors import OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from typing import Any, overload

    import numpy
    import pandas
    import polars
    import pyarrow

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
        is_made_here: bool = False,
    ) -> None:
        """`decode`: makes a value, or an item of a list, of its bytes. `is_made_here`: no other library can read them."""
        self._answer = answer
        self._names = names
        self._decode = decode
        self._is_reduced = is_reduced
        self._is_made_here = is_made_here

    def __len__(self) -> int:
        return len(self._answer)

    if TYPE_CHECKING:

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
            from heapq import nlargest

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
