"""The actor of a node: an engine with the node's workers and memory, and the two ends of what it is told and tells."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tegula import _tegula


class Node:
    """Serves one job. `put` and `reports` are called side by side, and the engine works on threads of its own."""

    def __init__(
        self,
        plan: dict[str, Any],
        workers: int,
        memory: int | None,
        scratch: str | None,
        host: str,
    ) -> None:
        if plan["map"].get("kind") == "processes":
            zygote = Path(__file__).parent.with_name("_zygote.py")
            plan["map"].update(python=sys.executable, zygote=str(zygote))
        # What a node draws and shows nobody sees.
        plan["timeline"] = None
        folder = None if scratch is None else Path(scratch)
        self._engine = _tegula.Engine(workers, memory, folder)
        desk = self._engine.serve(plan, host)
        if isinstance(desk, _tegula.Failure):
            raise RuntimeError(desk.message)
        self._desk = desk

    def put(self, orders: list[bytes]) -> bool:
        """Take orders. Return whether the node goes on."""
        return all(self._desk.put(order) for order in orders)

    def reports(self) -> list[bytes] | None:
        """Return what the node tells, waiting half a second for it; None when the node has ended."""
        return self._desk.reports()
