"""Messages in a pipe between a run and its nodes, in the form of `nodes/src/local/frame.rs`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def frame(message: bytes) -> bytes:
    """Return a message as pipes carry it: after its length in four bytes, least first."""
    return struct.pack("<I", len(message)) + message


def frames(pipe: Any) -> Iterator[bytes]:
    """Return the messages of a pipe until it ends."""
    while len(length := pipe.read(4)) == 4:
        yield pipe.read(*struct.unpack("<I", length))
