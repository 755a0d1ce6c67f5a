"""Records in order, or each once: jobs whose answer is records, not pairs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tegula.errors import OptionError, raise_failure
from tegula.frozen import Frozen

if TYPE_CHECKING:
    import pyarrow

    from tegula._tegula import Answer
    from tegula.engine import Cancel, Engine
    from tegula.job import Job
    from tegula.progress import Progress


class FieldKey(Frozen):
    """A field to sort by. Made by `field`.

    Attributes:
        number: its place in a record, from 1.
        separator: the ASCII character between fields.
        numeric: whether it is compared as a number.
    """

    number: int
    separator: str
    numeric: bool

    def __init__(self, number: int, separator: str, numeric: bool) -> None:
        self._set(number=number, separator=separator, numeric=numeric)


def field(number: int, separator: str = "\t", *, numeric: bool = False) -> FieldKey:
    """Name a field of each record for `sort`, counted from 1; `numeric` compares numbers, exactly up to 64 bits."""
    if number < 1:
        raise OptionError(f"field: {number}; fields are counted from 1")
    if len(separator) != 1 or not separator.isascii():
        raise OptionError(f"separator: {separator!r}; give one ASCII character")
    return FieldKey(number, separator, numeric)


SortKey = FieldKey | slice | Callable[[Any], Any] | None


def plan_of(key: FieldKey | slice | None) -> dict[str, Any]:
    """Return the map of a sort by a field, by some bytes, or by all of them."""
    if key is None:
        return {"kind": "records", "by": "all"}
    if isinstance(key, FieldKey):
        return {
            "kind": "records",
            "by": "field",
            "field": key.number,
            "separator": ord(key.separator),
            "numeric": key.numeric,
        }
    start, stop = key.start or 0, 2**62 if key.stop is None else key.stop
    if key.step is not None or not 0 <= start < stop:
        raise OptionError(
            f"key: {key!r}; give the bytes from one to another, as slice(0, 10)"
        )
    return {"kind": "records", "by": "bytes", "bytes": (start, stop)}


class Ordering:
    """Records that are to be put in order. Made by `sort` and `distinct`; it may be run several times."""

    def __init__(
        self, job: Job, is_each_once: bool, last_first: bool, end: bytes | None
    ) -> None:
        self._job = job
        self._is_each_once = is_each_once
        self._last_first = last_first
        self._end = end

    def run(
        self,
        *,
        workers: int | None = None,
        memory: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
        worker_memory: int | str | None = None,
        skip_bad: bool = False,
        state: str | os.PathLike[str] | None = None,
        job: str | None = None,
        incremental: bool = False,
        version: str | None = None,
        progress: Progress = None,
        timeline: str | os.PathLike[str] | None = None,
        cancel: Cancel | None = None,
        engine: Engine | None = None,
    ) -> Records:
        """Run, and return the records. The arguments are those of `Job.run`."""
        result = self._job.run(
            workers=workers,
            memory=memory,
            scratch=scratch,
            worker_memory=worker_memory,
            skip_bad=skip_bad,
            state=state,
            job=job,
            incremental=incremental,
            version=version,
            progress=progress,
            timeline=timeline,
            cancel=cancel,
            engine=engine,
        )
        keys = self._job.pairs.keys
        shown = (self._is_each_once, self._last_first)
        return Records(result._answer, keys, shown, self._end)

    def write(self, path: str | os.PathLike[str], **options: Any) -> Records:
        """Run, and write the records to a file, which appears, or is replaced, only when all of it is written.

        Each record is followed by what ends records of the source. The other arguments are those of `run`.
        """
        records = self.run(**options)
        records.write(path)
        return records

    def explain(self) -> str:
        """Describe what a run would do, without running it."""
        return self._job.explain()


class Records:
    """Records in order, which stay with the engine until they are asked for."""

    def __init__(
        self, answer: Answer, keys: str, shown: tuple[bool, bool], end: bytes | None
    ) -> None:
        self._answer = answer
        self._keys = keys
        self._is_each_once, self._last_first = shown
        self._end = end

    def __len__(self) -> int:
        if self._is_each_once:
            return len(self._answer)
        return int(self._answer.stats()["pairs"])

    def __iter__(self) -> Iterator[Any]:
        if self._keys == "tagged":
            for portion in range(self._answer.portions()):
                yield from (key for key, _ in self._answer.pairs(portion))
            return
        portions = range(self._answer.portions())
        for portion in reversed(portions) if self._last_first else portions:
            records = self._answer.records(
                portion, self._is_each_once, self._last_first
            )
            if self._keys == "bytes":
                yield from records
            else:
                for record in records:
                    yield record.decode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        return f"<tegula.Records: {len(self)}>"

    def to_list(self) -> list[Any]:
        """Return all records as a list."""
        return list(self)

    def to_arrow(self) -> pyarrow.Table:
        """Return all records as a pyarrow Table with the column "record"."""
        import pyarrow

        return pyarrow.table({"record": self.to_list()})

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write all records to a file, which appears, or is replaced, only when all of it is written."""
        if self._end is None or self._keys == "tagged":
            raise OptionError("write: these records are keys of a map; iterate them")
        failure = self._answer.write_records(
            Path(path), self._end, self._is_each_once, self._last_first
        )
        if failure is not None:
            raise_failure(failure)

    @property
    def stats(self) -> dict[str, Any]:
        """What the run did: counts, bytes, and seconds of each stage."""
        return self._answer.stats()
