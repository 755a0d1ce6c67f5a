"""The actors of nodes: an engine, or a command, with the node's workers, and what it is told and tells."""

from __future__ import annotations

import queue
import subprocess
import sys
import tempfile
import threading
from typing import Any

from tegula import _tegula
from tegula._frames import frame, frames
from tegula.functions import started

_BEAT = 0.5
_MAIN = "from tegula._command import main; raise SystemExit(main())"


class Node:
    """Serves one job. `put` and `reports` are called side by side, and the engine works on threads of its own."""

    def __init__(
        self,
        plan: dict[str, Any],
        workers: int,
        memory: int | None,
        scratch: str | None,
        host: str,
        reads: bool,
    ) -> None:
        started(plan)
        # What a node draws and shows nobody sees.
        plan["timeline"] = None
        self._engine = _tegula.Engine(workers, memory, scratch)
        desk = self._engine.serve(plan, host, reads)
        if isinstance(desk, _tegula.Failure):
            raise RuntimeError(desk.message)
        self._desk = desk

    def put(self, orders: list[bytes]) -> bool:
        """Take orders. Return whether the node goes on."""
        return all(self._desk.put(order) for order in orders)

    def reports(self) -> list[bytes] | None:
        """Return what the node tells, waiting half a second for it; None when the node has ended."""
        return self._desk.reports()


class Program:
    """Runs a command as a node, which takes orders from its standard input and writes reports to its standard output."""

    def __init__(
        self,
        words: list[str],
        folder: str,
        workers: int,
        memory: int | None,
        scratch: str | None,
        host: str,
        reads: bool,
    ) -> None:
        shape = f"{workers}:{memory or ''}{'' if reads else ':streamed'}@{host}"
        rest = [f"--as-node={shape}", *words[1:]]
        rest += [] if scratch is None else ["--scratch", scratch]
        self._errors, pipe = tempfile.TemporaryFile(), subprocess.PIPE  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _MAIN, words[0], *rest],
            cwd=folder,
            stdin=pipe,
            stdout=pipe,
            stderr=self._errors,
        )
        self._reports: queue.Queue[bytes | None] = queue.Queue(8)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for report in frames(self._process.stdout):
            self._reports.put(report)
        self._reports.put(None)

    def put(self, orders: list[bytes]) -> bool:
        """Take orders. Return whether the node goes on."""
        pipe: Any = self._process.stdin
        try:
            pipe.write(b"".join(frame(order) for order in orders))
            pipe.flush()
        except BrokenPipeError:
            return False
        return True

    def reports(self) -> list[bytes] | None:
        """Return what the node tells, waiting half a second for it; None when the node has ended."""
        try:
            report = self._reports.get(timeout=_BEAT)
        except queue.Empty:
            return []
        if report is not None:
            return [report]
        self._process.wait()
        self._errors.seek(0)
        if lines := self._errors.read().decode(errors="replace").strip().splitlines():
            raise RuntimeError(lines[-1])
        return None
