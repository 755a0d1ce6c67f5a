"""The process behind `tegula --nodes ray://...`: `python -m tegula._ray.relay ADDRESS COMMAND...`.

The command is the driver, which starts this process. Each node of the cluster runs the same command as a node, and
messages between the two go through standard input and output here, in the form of `nodes/src/local/relay.rs`.
"""

from __future__ import annotations

import os
import queue
import struct
import sys
import threading
from contextlib import suppress
from typing import BinaryIO

from tegula._frames import frame, frames
from tegula._ray.actor import Program
from tegula._ray.cluster import Cluster
from tegula.errors import Error

_JOINS, _TELLS, _LEAVES, _ORDER = 0, 1, 2, 0


class Pipes:
    """The driver's end, as `_tegula.Wires` is for a run in this process."""

    def __init__(self, from_driver: BinaryIO, to_driver: BinaryIO) -> None:
        self._from, self._to, self._nodes = from_driver, to_driver, 0
        self._orders: queue.Queue[tuple[int, bytes | None]] = queue.Queue()
        self._over = threading.Event()
        self.is_over = self._over.is_set
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for message in frames(self._from):
            kind, node = struct.unpack("<BI", message[:5])
            self._orders.put((node, message[5:] if kind == _ORDER else None))
        self._over.set()

    def _write(self, kind: int, node: int, rest: bytes) -> None:
        try:
            self._to.write(frame(struct.pack("<BI", kind, node) + rest))
            self._to.flush()
        except BrokenPipeError:
            self._over.set()

    def join(self, name: str) -> None:
        self._write(_JOINS, self._nodes, name.encode())
        self._nodes += 1

    def orders(self, seconds: float) -> list[tuple[int, bytes | None]]:
        told = []
        with suppress(queue.Empty):
            told.append(self._orders.get(timeout=seconds))
            while True:
                told.append(self._orders.get_nowait())
        return told

    def told(self, node: int, reports: list[bytes]) -> None:
        for report in reports:
            self._write(_TELLS, node, report)

    def gone(self, node: int, cause: str) -> None:
        self._write(_LEAVES, node, cause.encode())


def main() -> int:
    """Carry messages until the driver ends."""
    address, *words = sys.argv[1:]
    wires = Pipes(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    # What Ray prints is no message.
    os.dup2(2, 1)
    try:
        cluster = Cluster(address, None, None, None)
        with cluster.carrying(wires, Program, words, os.getcwd()) as carrying:
            carrying.join()
    except Error as error:
        sys.exit(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
