"""Writes answers to files. A file appears, or is replaced, only when all of it is written."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from tegula import _tegula
from tegula.errors import OptionError, OutputError

if TYPE_CHECKING:
    from tegula.result import Result

Format = Literal["tsv", "jsonl", "parquet", "arrow"]

_ENDINGS: dict[str, Format] = {
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
}


def write(
    result: Result, path: str | os.PathLike[str], format: Format | None = None
) -> None:
    """Write all pairs of an answer to a file."""
    target = Path(path)
    chosen = format or _ENDINGS.get(target.suffix)
    writers: dict[str, Callable[[Result, IO[bytes]], None]] = {
        "tsv": _tsv,
        "jsonl": _jsonl,
        "parquet": _parquet,
        "arrow": _arrow,
    }
    if chosen not in writers:
        wrong = f"format: {format!r}" if format else f"path: {target}"
        raise OptionError(
            f'{wrong}; give format="tsv", "jsonl", "parquet" or "arrow", or a path that ends so'
        )
    try:
        out = _Whole(target)
        try:
            # Pairs are some dozens of bytes each.
            with io.BufferedWriter(out, 1 << 20) as buffered:
                writers[chosen](result, buffered)
                buffered.flush()
                out.commit()
        finally:
            out.close()
    except OSError as error:
        raise OutputError(str(error)) from None


class _Whole(io.RawIOBase):
    """A file that has no name until it is whole, so that neither a failure nor a kill leaves a part of it."""

    def __init__(self, target: Path) -> None:
        self._file = _tegula.AtomicFile(target)
        self._at = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._file.write(bytes(data))
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def commit(self) -> None:
        """Let the file appear."""
        self._file.commit()

    def close(self) -> None:
        """Drop the file, if it has not appeared."""
        self._file.close()
        super().close()


def _cell(value: Any) -> bytes:
    """Return a field of a line: text as it is in the input, numbers as Python shows them, nothing for None."""
    if isinstance(value, bytes):
        return value
    text = "" if value is None else str(value)
    return text.encode("utf-8", "surrogateescape")


def _rows(result: Result) -> Iterator[tuple[list[Any], list[Any]]]:
    """Return the columns of each pair's key, and those of its value."""
    names = result.columns
    for key, value in result:
        keys = list(key) if isinstance(key, tuple) else [key]
        yield keys, [value[name] for name in names] if names else [value]


def _tsv(result: Result, out: IO[bytes]) -> None:
    for keys, values in _rows(result):
        if isinstance(values[0], list):
            raise OptionError("format: lists have no form in tsv; give jsonl")
        out.write(b"\t".join(map(_cell, [*keys, *values])) + b"\n")


def _named(name: str, value: Any) -> dict[str, Any]:
    """Return a value under its name, or in hexadecimal digits where JSON has no form for it."""
    raw = value if isinstance(value, bytes) else None
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogateescape")
    if raw is None:
        return {name: value}
    try:
        return {name: raw.decode()}
    except UnicodeDecodeError:
        return {f"{name}_hex": raw.hex()}


def _jsonl(result: Result, out: IO[bytes]) -> None:
    for key, value in result:
        entries = value if result.columns else {"value": value}
        line = {**_named("key", key), **entries}
        try:
            text = json.dumps(
                line, ensure_ascii=False, allow_nan=False, separators=(",", ":")
            )
            out.write(text.encode() + b"\n")
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"format: the pair of {key!r} has no form in jsonl: {error}"
            ) from None


def _parquet(result: Result, out: IO[bytes]) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(result.to_arrow(), out)


def _arrow(result: Result, out: IO[bytes]) -> None:
    import pyarrow

    table = result.to_arrow()
    with pyarrow.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
