"""Sources: what a job reads. Nothing is looked at before a run."""

from __future__ import annotations

import os

from tegula.combines import KINDS
from tegula.errors import OptionError
from tegula.frozen import Frozen
from tegula.job import Job
from tegula.maps import Pairs, called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Literal

    import numpy

    from tegula.engine import Engine
    from tegula.maps import PerWorker
    from tegula.ordering import Ordering, SortKey
    from tegula.result import Result

    Words = Literal["whitespace", "alpha", "unicode"]
    On = Literal["processes", "threads"]
    Path = str | os.PathLike[str]


class Source(Frozen):
    """Records of some input, and the maps that make pairs of them.

    Made by `text`, `records`, `files`, `array`, `batches` or `pairs`, of the package or of an `Engine`.

    Attributes:
        plan: what is read, for the engine.
        cut: how records end: "lines", "csv", "whitespace", "whole", a delimiter, or the bytes of each.
        encoding: "utf-8" where records are `str`, None where they are `bytes`.
        plain: whether compressed files are read as they are, instead of decompressed.
        dtype: of an `array`, the numpy type of its items; None of other sources.
        shape: of an `array`, the shape of a row.
        engine: the engine that jobs of this source run on; None for the usual one.
    """

    plan: dict[str, Any]
    cut: str | bytes | int
    encoding: str | None
    plain: bool
    dtype: Any
    shape: tuple[int, ...]
    engine: Engine | None

    def __init__(
        self,
        plan: dict[str, Any],
        cut: str | bytes | int,
        encoding: str | None,
        plain: bool = False,
        dtype: Any = None,
        shape: tuple[int, ...] = (),
        engine: Engine | None = None,
    ) -> None:
        self._set(plan=plan, cut=cut, encoding=encoding, plain=plain)
        self._set(dtype=dtype, shape=shape, engine=engine)

    @property
    def keys(self) -> str:
        """What keys that are pieces of the input are shown as."""
        return "text" if self.encoding else "bytes"

    # Maps of the engine's own.

    def words(self, kind: Words = "whitespace") -> Pairs:
        """Take each word as a key.

        `kind` says what a word is: any bytes between white space; a run of the letters A-Z, in lower case; or a word
        of Unicode text (UAX #29), in folded case.

        >>> tg.text("requests.txt").words("alpha").count().run().to_dict()
        {'a': 2, 'b': 1, 'get': 2, 'post': 1}
        """
        self._only("lines", "words")
        if kind not in ("whitespace", "alpha", "unicode"):
            raise OptionError(
                f'words: {kind!r} is no kind; give "whitespace", "alpha" or "unicode"'
            )
        return Pairs(self, {"kind": "words", "words": kind}, self.keys, ("count",))

    def field(
        self, number: int, separator: str = "\t", *, value: int | None = None
    ) -> Pairs:
        """Take a field of each line as the key, and the field `value`, if given, as its value.

        Fields are counted from 1. `separator` is one ASCII character. A line without the field is a bad record, and
        so is one whose value is no number, unless values are collected.

        >>> tg.text("requests.txt").field(2, " ", value=4).sum().run().to_dict()
        {'/a': 52.0, '/b': 3.0}
        """
        self._only("lines", "field")
        if number < 1 or (value is not None and value < 1):
            raise OptionError(
                f"field: {min(number, value or number)}; fields are counted from 1"
            )
        if len(separator) != 1 or not separator.isascii() or separator == "\n":
            raise OptionError(
                f"separator: {separator!r}; give one ASCII character other than a newline"
            )
        plan = {
            "kind": "field",
            "separator": ord(separator),
            "by": number,
            "value": value,
        }
        numbers = (*KINDS[1:], "collect", "reduce", "merge")
        return Pairs(self, plan, self.keys, ("count",) if value is None else numbers)

    def json(self, field: str, value: str | None = None) -> Pairs:
        r"""Read each line as JSON; take a field as the key, and the field `value`, if given, as its value.

        A field is the keys of objects and the indices of arrays that lead to it, with dots between them: "user.id". A
        backslash before a dot makes it part of a key. A string counts by its content, anything else by its text. A
        line that is no JSON or lacks a field is a bad record, and so is one whose value is no number, unless values
        are collected.

        >>> tg.text("requests.jsonl").json("user.id", value="bytes").max().run().to_dict()
        {'u1': 40.0, 'u2': 3.0}
        """
        self._only("lines", "json")
        for path in (field, value):
            if path is not None and not isinstance(path, str):
                raise OptionError(f'json: {path!r}; write a field as "user.id"')
        plan = {"kind": "json", "by": field, "value": value}
        numbers = (*KINDS[1:], "collect", "reduce", "merge")
        return Pairs(self, plan, self.keys, ("count",) if value is None else numbers)

    def grep(
        self,
        pattern: str,
        *,
        by: Literal["match", "file", "line"] = "match",
        ignore_case: bool = False,
        fixed: bool = False,
    ) -> Pairs:
        """Take each match of a regular expression as a key, by its text.

        `by="file"` takes the file's path instead, once a match, and `by="line"` the path once a line with a match.
        The syntax is that of Rust's crate regex, which takes time linear in the text. `fixed` takes the pattern as
        plain text.

        >>> tg.text("requests.txt").grep("[A-Z]+ /a").count().run().to_dict()
        {'GET /a': 1, 'POST /a': 1}
        """
        self._only("lines", "grep")
        if by not in ("match", "file", "line"):
            raise OptionError(f'by: {by!r}; give "match", "file" or "line"')
        plan = {
            "kind": "grep",
            "pattern": pattern,
            "by": by,
            "ignore_case": ignore_case,
            "fixed": fixed,
        }
        return Pairs(self, plan, self.keys if by == "match" else "text", ("count",))

    def lines(self) -> Pairs:
        """Take each line as a key, without its newline."""
        self._only("lines", "lines")
        return Pairs(self, {"kind": "lines"}, self.keys, ("count",))

    # Maps of the user's.

    def map(
        self,
        function: Callable[..., Any],
        *,
        args: Sequence[Any] = (),
        on: On = "processes",
        setup: Callable[[], Any] | PerWorker | None = None,
    ) -> Pairs:
        """Call `function(record, *args)` for each record, and take the pairs that it returns.

        A record is a `str`, or `bytes` of a source with `encoding=None` or of records of fixed length. The function
        returns a pair (a tuple of a key and a value), an iterable of pairs, a mapping, or None. For `count`, it may
        return a key or an iterable of keys. It may be a lambda, a closure, or of a notebook.

        It runs in processes, one for each worker, or with `on="threads"` in this one, which serves functions that
        let go of the interpreter's lock. Tegula makes no promise in which order records are mapped.

        `setup()` runs once before the first record, in the process that the others are forked from, so what it loads
        into a global variable is shared by all; `setup=tg.per_worker(f)` runs `f` in each.

        What the function raises comes back as itself, with a note that names the record's file, line and byte.

        >>> requests = tg.text("requests.txt")
        >>> requests.map(lambda line: (line.split()[0], len(line))).sum().run().to_dict()
        {'GET': 25, 'POST': 14}
        """
        return called(self, "record", function, args, on, setup)

    def map_split(
        self,
        function: Callable[..., Any],
        *,
        args: Sequence[Any] = (),
        on: On = "processes",
        setup: Callable[[], Any] | PerWorker | None = None,
    ) -> Pairs:
        """Call `function(data, *args)` with the bytes of many whole records at once, as `map` with one.

        How many records come together may change from run to run, so the answer must not depend on it.

        >>> requests = tg.text("requests.txt")
        >>> requests.map_split(lambda data: Counter(data.split())).sum().run().to_dict()[b"GET"]
        2
        """
        return called(self, "split", function, args, on, setup)

    def map_arrow(
        self,
        function: Callable[..., Any],
        *,
        args: Sequence[Any] = (),
        on: On = "processes",
        setup: Callable[[], Any] | PerWorker | None = None,
    ) -> Pairs:
        """Call `function(records, *args)` with many records at once, as a pyarrow array.

        The function returns a dict or a table with the columns "key" and "value" (for `agg`, one for each entry; for
        `count`, only "key"). Keys are text, binary or integers; a row whose key is null is left out. For `collect`,
        `reduce` and `merge`, each value becomes an object of Python's, which takes as long as with `map`.
        """
        if self.cut in ("whitespace", "csv", "pairs"):
            raise OptionError(
                f"map_arrow: cut={self.cut!r} has no batches; give lines or a delimiter"
            )
        return called(self, "arrow", function, args, on, setup)

    def map_array(
        self,
        function: Callable[..., Any],
        *,
        args: Sequence[Any] = (),
        on: On = "processes",
        setup: Callable[[], Any] | PerWorker | None = None,
    ) -> Pairs:
        """Call `function(rows, *args)` with many rows of an `array` at once, as a numpy array that cannot be written.

        The function returns `keys, values`, or a dict with "key" and "value" (for `agg`, one for each entry; for
        `count`, only "key"): arrays of as many items. Keys are integers. For `collect`, `reduce` and `merge`, values
        may be of any shape: each is an object of Python's, a number or the array of a row.
        """
        if self.dtype is None:
            raise OptionError(
                "map_array: only array(...) has rows; give a function to map_arrow or map_split"
            )
        return called(self, "array", function, args, on, setup)

    def map_native(
        self, function: Any, *, value: Literal["i64", "f64"] = "i64"
    ) -> Pairs:
        """Run a function in C, by its address, on the engine's workers: the speed of the engine's own maps.

        `function` is a Numba cfunc, a ctypes function pointer, a cffi function pointer, or a pair of the path of a
        shared library and the name of a symbol in it. `tegula.h` (`tegula.include()` has its folder) says what it
        gets and writes; `value` is the type of the values. It is trusted code: one that crashes ends this process.
        """
        from tegula.native import native

        return native(self, function, value)

    # Records as they are.

    def sort(self, key: SortKey = None, *, reverse: bool = False) -> Ordering:
        """Put the records in order: by all of their bytes; by `field(...)`; by the bytes of a `slice`; or by what a
        function returns of each, which may be numbers, text, or tuples of these.

        Records with equal keys stay in the order of the input, also with `reverse`. Text is in the order of its bytes
        in UTF-8; numbers come before text. With `memory=`, what does not fit goes to disk.

        >>> tg.text("requests.txt").sort(key=tg.field(4, " ", numeric=True)).run().to_list()
        ['GET /b 404 3', 'GET /a 200 12', 'POST /a 200 40']
        """
        from tegula.ordering import FieldKey, Ordering, plan_of

        self._check_records("sort")
        if key is None or isinstance(key, (FieldKey, slice)):
            combine = "count" if key is None else "sort"
            pairs = Pairs(self, plan_of(key), self.keys, (combine,))
        elif callable(key):
            made = called(self, "record", key, (), "processes", None)
            pairs = Pairs(self, made.plan, self.keys, ("sort",), made.program)
            combine = "sort"
        else:
            raise OptionError(f"key: {key!r}; give a function, field(...), or a slice")
        return Ordering(Job(pairs, combine), False, reverse, self._end())

    def distinct(self) -> Ordering:
        """Keep each record once, in order."""
        from tegula.ordering import Ordering, plan_of

        self._check_records("distinct")
        pairs = Pairs(self, plan_of(None), self.keys, ("count",))
        return Ordering(Job(pairs, "count"), True, False, self._end())

    def sample(self, count: int, *, seed: int | None = None) -> numpy.ndarray[Any, Any]:
        """Return `count` rows of an `array`, each at most once, in the order of the array, as a new numpy array.

        The same `seed` gives the same rows. Only those rows are read.
        """
        import numpy

        if self.dtype is None:
            raise OptionError("sample: only array(...) has rows")
        flat = self.plan["bytes"].reshape(-1, self.plan["record_bytes"])
        if not 0 <= count <= len(flat):
            raise OptionError(f"sample: {count} rows; the array has {len(flat)}")
        chosen = numpy.random.default_rng(seed).choice(len(flat), count, replace=False)
        chosen.sort()
        data = numpy.ascontiguousarray(flat[chosen])
        rows: numpy.ndarray[Any, Any] = data.view(self.dtype)
        return rows.reshape(count, *self.shape)

    def _check_records(self, name: str) -> None:
        if self.dtype is not None or self.cut in ("batches", "pairs"):
            raise OptionError(f"{name}: takes text or records; give a function to map")

    def _end(self) -> bytes:
        """What follows each record in a file."""
        if isinstance(self.cut, bytes):
            return self.cut
        if isinstance(self.cut, int) or self.cut == "whole":
            return b""
        return b"\n"

    def _only(self, cut: str, name: str) -> None:
        if self.cut != cut:
            raise OptionError(
                f"{name}: takes lines, and the source has records that end otherwise"
            )


def _paths(paths: tuple[Path, ...], cut: str | bytes | int) -> dict[str, Any]:
    if not paths:
        raise OptionError("paths: give at least one file, folder or pattern")
    return {"kind": "paths", "paths": [os.fspath(path) for path in paths], "cut": cut}


def text(
    *paths: Path,
    cut: Literal["lines", "csv", "whitespace"] | bytes = "lines",
    encoding: Literal["utf-8"] | None = "utf-8",
    plain: bool = False,
    engine: Engine | None = None,
) -> Source:
    r"""Read text: files, folders with all below them, patterns (`*`, `?`, `[...]`, `**`), or "-" for standard input.

    Records are lines (without their newline; of `\r\n` the `\r` stays), rows of CSV (lines in which a newline in
    double quotes is text), words, or what ends with the bytes `cut`. Each file of CSV is read by one worker.
    gzip, zstd, bzip2 and LZ4 files are decompressed unless `plain`. Text is `str`, in which bytes that are no UTF-8
    are surrogates as in `os.fsdecode`; with `encoding=None` it is `bytes`.
    """
    if not isinstance(cut, bytes) and cut not in ("lines", "csv", "whitespace"):
        raise OptionError(f'cut: {cut!r}; give "lines", "csv", "whitespace" or bytes')
    if isinstance(cut, bytes) and not cut:
        raise OptionError("cut: no bytes; give the bytes at which a record ends")
    if encoding not in ("utf-8", None):
        raise OptionError(f'encoding: {encoding!r}; give "utf-8", or None for bytes')
    return Source(_paths(paths, cut), cut, encoding, plain, engine=engine)


def records(
    *paths: Path, bytes: int, plain: bool = False, engine: Engine | None = None
) -> Source:
    """Read records of `bytes` bytes each, of files whose length is a multiple. A record is `bytes`.

    >>> tg.records("requests.txt", bytes=14).map(lambda record: record[:3]).count().run().to_dict()
    {b'GET': 2, b'OST': 1}
    """
    if bytes < 1:
        raise OptionError(f"bytes: {bytes}; give at least 1")
    return Source(_paths(paths, bytes), bytes, None, plain, engine=engine)


def files(
    *paths: Path,
    encoding: Literal["utf-8"] | None = None,
    plain: bool = False,
    engine: Engine | None = None,
) -> Source:
    """Read whole files: each is one record, which must fit in memory."""
    if encoding not in ("utf-8", None):
        raise OptionError(f'encoding: {encoding!r}; give "utf-8", or None for bytes')
    return Source(_paths(paths, "whole"), "whole", encoding, plain, engine=engine)


def array(values: Any, *, engine: Engine | None = None) -> Source:
    """Read a numpy array where it lies: each row is a record. Nothing may be written into it during a run.

    >>> rows = tg.array(numpy.arange(6.0).reshape(3, 2))
    >>> rows.map_array(lambda some: {"key": some[:, 0] > 1, "value": some[:, 1]}).sum().run().to_dict()
    {0: 1.0, 1: 8.0}
    """
    import numpy

    rows = numpy.asarray(values)
    if rows.ndim == 0:
        raise OptionError("array: a single number has no rows")
    if rows.dtype.hasobject:
        raise OptionError("array: Python objects have no bytes; give numbers")
    if not rows.flags.c_contiguous:
        raise OptionError(
            "array: its rows are not contiguous; give numpy.ascontiguousarray of it"
        )
    row_bytes = rows.dtype.itemsize * int(numpy.prod(rows.shape[1:], dtype=numpy.int64))
    if row_bytes == 0:
        raise OptionError("array: its rows have no bytes")
    flat = (
        rows.reshape(-1).view(numpy.uint8) if rows.size else numpy.empty(0, numpy.uint8)
    )
    plan = {"kind": "memory", "bytes": flat, "record_bytes": row_bytes}
    return Source(
        plan,
        row_bytes,
        None,
        True,
        dtype=rows.dtype,
        shape=rows.shape[1:],
        engine=engine,
    )


def batches(values: Iterable[Any], *, engine: Engine | None = None) -> Source:
    """Read Arrow record batches: of an iterable, or of anything that gives an Arrow stream, such as a table.

    `map_arrow` gets a pyarrow RecordBatch; for `map`, a record is a row, as a dict. Each batch is copied once, at this
    call, and is one piece of work: give several.
    """
    import pyarrow

    if hasattr(values, "__arrow_c_stream__"):
        values = pyarrow.RecordBatchReader.from_stream(values)
    parts = []
    for value in values:
        batch = value if isinstance(value, pyarrow.RecordBatch) else None
        if batch is None and hasattr(value, "__arrow_c_array__"):
            batch = pyarrow.record_batch(value)
        if batch is None:
            raise OptionError(
                f"batches: a {type(value).__name__} is no record batch of Arrow"
            )
        if batch.num_rows:
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            parts.append(memoryview(sink.getvalue()).cast("B"))
    plan = {"kind": "parts", "parts": parts}
    return Source(plan, "batches", None, True, engine=engine)


def pairs(result: Result, *, engine: Engine | None = None) -> Source:
    """Read the pairs of an answer: for `map`, a record is a pair, a tuple of a key and a value.

    >>> counts = tg.text("requests.txt").words("alpha").count().run()
    >>> tg.pairs(counts).map(lambda pair: (pair[1], pair[0])).collect().run().to_dict()
    {1: ['b', 'post'], 2: ['a', 'get']}
    """
    import pickle

    from tegula.result import Result

    if not isinstance(result, Result):
        raise OptionError(
            f"pairs: {type(result).__name__} is no answer of a run; give a Result"
        )
    parts = [pickle.dumps(some, 5) for some in result._portions() if some]
    plan = {"kind": "parts", "parts": parts}
    return Source(plan, "pairs", None, True, engine=engine)
