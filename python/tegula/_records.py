"""The records of a split: how its bytes are cut, and where each record begins.

It must import neither the native module nor the rest of the package.
"""

from __future__ import annotations

import pickle
import re
from itertools import islice
from typing import Any


class Records:
    """The records of a split: how its bytes are cut, and what each is given as."""

    def __init__(self, cut: Any, encoding: str | None) -> None:
        self.cut = cut
        self.encoding = encoding
        self.chains = _chains(cut) if isinstance(cut, bytes) else None
        """Matches the bytes between two records, if the delimiter overlaps itself."""

    def of(self, data: bytes) -> list[Any]:
        """Return the records of a split."""
        if self.cut == "whole":
            return [data.decode("utf-8", "surrogateescape") if self.encoding else data]
        if isinstance(self.cut, int):
            return [data[at : at + self.cut] for at in range(0, len(data), self.cut)]
        if self.cut == "pairs":
            pairs: list[Any] = pickle.loads(data)
            return pairs
        if self.cut == "batches":
            rows: list[Any] = batch_of(data).to_pylist()
            return rows
        records: list[Any]
        if self.cut == "lines" and self.encoding:
            records = data.decode("utf-8", "surrogateescape").split("\n")
        elif self.cut == "whitespace":
            records = [*data.split(), b""]
        elif self.cut == "csv":
            records = _rows(data)
        elif self.chains is not None:
            records = self.chains.split(data)
        else:
            records = data.split(b"\n" if self.cut == "lines" else self.cut)
        if not records[-1]:
            records.pop()
        if self.encoding and self.cut != "lines":
            return [record.decode("utf-8", "surrogateescape") for record in records]  # type: ignore[union-attr]
        return records

    def offset(self, data: bytes, number: int) -> int:
        """Return where a record begins in its split, in bytes."""
        if self.cut in ("whole", "pairs", "batches"):
            return 0
        if isinstance(self.cut, int):
            return number * self.cut
        if self.cut == "csv":
            return sum(len(row) + 1 for row in _rows(data)[:number])
        if self.cut == "whitespace":
            return _offset_of_word(data, number)
        if self.chains is not None:
            ends = (chain.end() for chain in self.chains.finditer(data))
            return next(islice(ends, number - 1, None)) if number else 0
        end: bytes = b"\n" if self.cut == "lines" else self.cut
        at = 0
        for _ in range(number):
            at = data.index(end, at) + len(end)
        return at


def _chains(delimiter: bytes) -> re.Pattern[bytes] | None:
    """Return what matches chains of a delimiter that overlaps itself, each of which is one delimiter for the engine:
    see `delimiter.rs` of `input/`."""
    more: list[bytes] = []
    for by in range(1, len(delimiter)):
        # The engine takes the nearest delimiter, so what begins with a nearer one is never taken.
        if delimiter.startswith(delimiter[by:]) and not any(
            delimiter[-by:].startswith(one) for one in more
        ):
            more.append(delimiter[-by:])
    if not more:
        return None
    return re.compile(
        re.escape(delimiter) + b"(?:" + b"|".join(map(re.escape, more)) + b")*"
    )


def _rows(data: bytes) -> list[bytes]:
    """Return the rows of CSV without their newlines, and the bytes after the last newline."""
    lines = data.split(b"\n")
    if b'"' not in data:
        return lines
    rows: list[bytes] = []
    open_lines: list[bytes] = []
    for line in lines:
        # A newline is in quotes if the number of quotes before it is odd.
        if line.count(b'"') % 2:
            if open_lines:
                rows.append(b"\n".join([*open_lines, line]))
                open_lines = []
            else:
                open_lines = [line]
        elif open_lines:
            open_lines.append(line)
        else:
            rows.append(line)
    return [*rows, b"\n".join(open_lines)] if open_lines else rows


def batch_of(data: bytes) -> Any:
    """Return the record batch that a part of the input is."""
    import pyarrow

    with pyarrow.ipc.open_stream(data) as stream:
        return stream.read_next_batch()


def _offset_of_word(data: bytes, number: int) -> int:
    at = 0
    for word in data.split()[: number + 1]:
        at = data.index(word, at)
        begin, at = at, at + len(word)
    return begin
