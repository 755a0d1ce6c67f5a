"""The machine, as an engine found it."""

from __future__ import annotations

from typing import NamedTuple


class Topology(NamedTuple):
    """The machine, as an engine divides its work.

    Attributes:
        processors: hardware threads that this process may use.
        cores: cores that these are of.
        groups: groups of processors that share a last-level cache and a memory node.
        nodes: memory nodes.
        l2_bytes: bytes of the smallest second-level cache.
    """

    processors: int
    cores: int
    groups: int
    nodes: int
    l2_bytes: int
