"""A small language of functions: a term is a tuple of an operation and its arguments, and can be sent anywhere.

It is a file of its own because the processes of a job import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Record = Any
Term = tuple[Any, ...]

ATOMS: dict[str, Callable[..., Any]] = {
    "record": lambda record: record,
    "start": lambda record, length: record[:length],
    "end": lambda record, length: record[len(record) - length :],
    "length": lambda record: len(record),
    "third": lambda record: len(record) / 3,
    "bytes": lambda record: bytes_of(record),
    "sum": lambda record, modulus: sum(bytes_of(record)) % modulus,
    "wide": lambda record: (len(record) - 2) << 62,
    "constant": lambda record, value: value,
}


def bytes_of(record: Record) -> bytes:
    if isinstance(record, str):
        return record.encode("utf-8", "surrogateescape")
    return bytes(record)


def value_of(term: Term, record: Record) -> Any:
    name, *arguments = term
    if name == "tuple":
        return tuple(value_of(part, record) for part in arguments)
    return ATOMS[name](record, *arguments)


def pairs_of(term: Term, record: Record) -> list[tuple[Any, Any]]:
    """The pairs of a record: a key and a value, some of them, one of each part of the record, or none."""
    shape, key, value, number = term
    if shape == "none" and len(record) % (number + 1):
        return []
    if shape == "parts":
        parts = record.split(" " if isinstance(record, str) else b" ")
        return [(value_of(key, part), value_of(value, part)) for part in parts]
    pair = value_of(key, record), value_of(value, record)
    return [pair] * (number if shape == "many" else 1)


def mapped(record: Record, term: Term, wraps: str) -> Any:
    """What the job calls: `pairs_of` in each way in which a function may return pairs."""
    pairs = pairs_of(term, record)
    if wraps == "agg":
        pairs = [(key, {"v": value}) for key, value in pairs]
    elif wraps == "tuple":
        pairs = [(key, (value,)) for key, value in pairs]
    if not pairs:
        return None
    if len(pairs) == 1:
        return pairs[0]
    return iter(pairs) if len(pairs) % 2 else pairs
