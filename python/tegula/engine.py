"""Engines: the workers and the memory that runs share."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tegula import _tegula
from tegula.errors import Error, OptionError, raise_failure

if TYPE_CHECKING:
    from collections.abc import Callable

inside = threading.local()

_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


def byte_count(option: str, size: int | str | None) -> int | None:
    """Return a size in bytes: a number, or text such as "512M" or "4G" (powers of 1024)."""
    if size is None or isinstance(size, int):
        return size
    text = size.strip().upper().removesuffix("B").removesuffix("I")
    shift = _UNITS.get(text[-1:], 0)
    number = text[:-1] if shift else text
    try:
        return int(float(number) * (1 << shift))
    except ValueError:
        raise OptionError(
            f'{option}: {size!r} is no size; give bytes, or text as "4G"'
        ) from None


class Engine:
    """Workers and memory that several runs share, one after another or at once, from any thread.

    Runs without an engine use one that is made at first use and kept. A forked child makes its own.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        memory: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
    ) -> None:
        """Start `workers` workers; the default is a worker for each processor.

        `memory` limits the resident size of this process, in bytes or as text such as "4G". Pairs that do not fit
        go to nameless files in the folder `scratch`, by default the system's folder for temporary files.
        """
        limit = byte_count("memory", memory)
        try:
            folder = None if scratch is None else Path(scratch)
            self._native = _tegula.Engine(workers, limit, folder)
        except (ValueError, OverflowError) as error:
            raise OptionError(str(error)) from None
        self._pid = os.getpid()

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self._native.workers()

    def close(self) -> None:
        """End the workers. Results stay."""
        self._native.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(
        self, plan: dict[str, Any], watch: Callable[[dict[str, Any]], None] | None
    ) -> _tegula.Answer:
        self._check()
        try:
            answer = self._native.run(plan, watch)
        except ValueError as error:
            if _is_native(error):
                raise OptionError(str(error)) from None
            raise
        if isinstance(answer, _tegula.Failure):
            raise_failure(answer)
        return answer

    def _stream(
        self,
        plan: dict[str, Any],
        every: tuple[str, float],
        top: int | None,
        in_order: bool,
    ) -> _tegula.Stream:
        self._check()
        try:
            stream = self._native.stream(plan, *every, top, in_order)
        except ValueError as error:
            if _is_native(error):
                raise OptionError(str(error)) from None
            raise
        if isinstance(stream, _tegula.Failure):
            raise_failure(stream)
        return stream

    def _check(self) -> None:
        """Refuse a run that could not end."""
        if os.environ.get("TEGULA_COMPANION") or getattr(inside, "is_mapping", False):
            raise Error(
                "a run inside a map would wait for the worker that it runs on: run jobs outside of maps"
            )
        if self._pid != os.getpid():
            raise Error(
                "this engine's workers are in the parent process: make an engine in the child"
            )


def _is_native(error: ValueError) -> bool:
    """Whether the native module raised an error, of options such as a pattern that is none.

    What a function of the user's raised has frames of its own.
    """
    trace = error.__traceback__
    return trace is not None and trace.tb_next is None


_kept: Engine | None = None
_lock = threading.Lock()


def usual_engine() -> Engine:
    """Return the engine of runs that name none."""
    global _kept
    with _lock:
        if _kept is None:
            _kept = Engine()
        return _kept


def _in_child() -> None:
    """Forget the parent's engine, whose threads a forked child does not have."""
    global _kept, _lock
    _lock = threading.Lock()
    if _kept is not None:
        _kept._native.abandon()
        _kept = None


os.register_at_fork(after_in_child=_in_child)
