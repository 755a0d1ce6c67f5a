"""Python functions on their way to where they run: pickled for processes, or called by the engine's own threads."""

from __future__ import annotations

import marshal
import os
import sys
import time
from _thread import allocate_lock, get_ident

from tegula import _tegula
from tegula.engine import mapping
from tegula.errors import OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ZYGOTE = os.path.join(os.path.dirname(__file__), "_zygote.py")


def setting(worker_memory: int | None) -> bytes:
    """Return what a zygote is to know before it has its function."""
    path = [one for one in sys.path if isinstance(one, str)]
    return marshal.dumps((path, list(map(str, sys.argv)), worker_memory))


def started(plan: dict[str, Any]) -> _tegula.Zygote | None:
    """Start the process that loads a plan's function, if it has one: it imports what every function needs while the
    function is pickled.
    """
    where = plan["reducer"] or plan["map"]
    if where["kind"] != "processes":
        return None
    started = _tegula.Zygote(sys.executable, _ZYGOTE, where["setting"])
    where["zygote"] = started
    try:
        _carry(where)
    except BaseException:
        started.close()
        raise
    return started


def portable(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan that other machines can be sent: its functions are pickled, and none is started."""
    portable = dict(plan)
    for part in ("map", "reducer"):
        where = plan[part]
        if where is None:
            continue
        if where["kind"] == "threads":
            raise OptionError(
                'map: on="threads" maps in this process, and nodes are others; leave it out'
            )
        if where["kind"] == "processes":
            _carry(where)
            portable[part] = dict(where)
    return portable


def _carry(where: dict[str, Any]) -> None:
    """Pickle the function of a part of a plan, if it is not yet."""
    if not isinstance(where["program"], bytes):
        where["program"] = pickled(where["program"])


def pickled(program: dict[str, Any]) -> bytes:
    """Pickle a program for a zygote: lambdas, closures and what `__main__` or a notebook defines by value."""
    from tegula._pickling import dumps

    try:
        return dumps(program)
    except Exception as error:
        found = _unpicklable(program)
        raise OptionError(
            f"map: {found} cannot be sent to another process ({error}); make it inside of the function, or give "
            'on="threads"'
        ) from error


def _unpicklable(program: dict[str, Any]) -> str:
    """Name what cannot be pickled, as far as it can be told."""
    from tegula._pickling import dumps

    def fails(value: Any) -> bool:
        try:
            dumps(value)
        except Exception:
            return True
        return False

    function = program["function"] or program["reducer"]
    for place, value in enumerate(program["args"]):
        if fails(value):
            return f"the argument {place} of args, a {type(value).__name__},"
    code, cells = (
        getattr(function, "__code__", None),
        getattr(function, "__closure__", None),
    )
    if code is not None:
        for name, cell in zip(code.co_freevars, cells or (), strict=False):
            if fails(cell.cell_contents):
                return f"the variable {name!r}, a {type(cell.cell_contents).__name__}, that the function uses"
        for name in code.co_names:
            value = function.__globals__.get(name)
            if value is not None and fails(value):
                return f"the variable {name!r}, a {type(value).__name__}, that the function uses"
    return "the function"


class InThreads:
    """A function that the engine's workers call: with 0 and the bytes of a split, or with 1 and values to reduce.

    It notes how long its calls took, and how much of that a thread ran or could have run, had a processor been free.
    The rest it was blocked.
    """

    def __init__(self, program: dict[str, Any]) -> None:
        from tegula._companion import Mapper

        self._mapper = Mapper(program)
        self._mapper.begin()
        self._lock = allocate_lock()
        self._seconds = self._seconds_able = 0.0

    def __call__(self, request: int, data: bytes) -> tuple[int, bytes]:
        began, able = time.perf_counter(), _seconds_able()
        thread = get_ident()
        mapping.add(thread)
        try:
            status, buffers = (
                self._mapper.reduce(data) if request else self._mapper(data)
            )
        finally:
            mapping.discard(thread)
            with self._lock:
                self._seconds += time.perf_counter() - began
                self._seconds_able += _seconds_able() - able
        return status, b"".join(buffers)

    def waited_part(self, map_seconds: float) -> float:
        """Return the part of the calls' time that threads waited for the interpreter's lock.

        That is the time that they were blocked, where one of them ran for most of the map's time: otherwise they waited
        for something else, such as a file. Calls of less than a fifth of a second together are no measure.
        """
        if self._seconds < 0.2 or self._seconds_able < 0.5 * map_seconds:
            return 0.0
        return max(0.0, 1 - self._seconds_able / self._seconds)


def _seconds_able() -> float:
    """Return how long this thread ran, and waited for a processor."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            text = file.read()
    except OSError:
        return time.thread_time()
    return time.thread_time() + int(text.split()[1]) / 1e9
