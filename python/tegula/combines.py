"""Columns for `agg`: what becomes of the values that a map gives under a name."""

from __future__ import annotations

from tegula.frozen import Frozen

KINDS = ("count", "sum", "min", "max", "mean")


class Column(Frozen):
    """A column of `agg`. Made by `count`, `sum`, `min`, `max` or `mean` of this package.

    Attributes:
        kind: the name of the combine.
        source: the entry of each value that it takes; None for a count of all.
    """

    kind: str
    source: str | None

    def __init__(self, kind: str, source: str | None) -> None:
        self._set(kind=kind, source=source)


def count(of: str | None = None) -> Column:
    """Count the values of a key, or those that have an entry `of`."""
    return Column("count", of)


def sum(of: str) -> Column:
    """Sum the entries `of`: exactly for integers; for floats to the same bits whatever the order."""
    return Column("sum", of)


def min(of: str) -> Column:
    """Keep the least of the entries `of`."""
    return Column("min", of)


def max(of: str) -> Column:
    """Keep the greatest of the entries `of`."""
    return Column("max", of)


def mean(of: str) -> Column:
    """Take the mean of the entries `of`, as a float that is rounded once."""
    return Column("mean", of)
