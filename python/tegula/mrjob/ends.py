"""The ends of processes: what a fork does at its own end, and what it leaves to the process that it came from.

It is sent to companions by value, as `task.py` is, so it must import nothing of this package but by value.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import logging
import sys
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any


def own() -> None:
    """Leave what was there before a fork to its parent: the memory of objects, which a look at them would copy, and what is
    to be done at the end.
    """
    gc.freeze()
    atexit._clear()
    # Called last.
    atexit.register(end_logs, handlers())
    finalize: Any = weakref.finalize
    for one in list(finalize._registry):
        one.atexit = False
    # It registers its function once.
    finalize._registered_with_atexit = False
    own_processes()
    own_pools()


def own_processes() -> None:
    """Let the end wait for processes that `multiprocessing` starts from now on. It registers that once, as it is imported."""
    util: Any = sys.modules.get("multiprocessing.util")
    if util is None:
        return
    util._finalizer_registry.clear()
    children: set[Any] = vars(sys.modules["multiprocessing.process"])["_children"]
    children.clear()
    atexit.register(util._exit_function)


def own_pools() -> None:
    """Let the end wait for no threads of pools that were there before: a fork has none of them but one that it was made by."""
    module: Any = sys.modules.get("concurrent.futures.thread")
    if module is not None:
        module._threads_queues.clear()


def handlers() -> list[Any]:
    """Return weak references to the handlers of logging, which it closes at the end."""
    return list(vars(logging)["_handlerList"])


def end_logs(found: list[Any]) -> None:
    """Close handlers of logging, but for those that a process has found at its begin, which are their maker's to close."""
    before = set(map(id, found))
    logging.shutdown([one for one in handlers() if id(one) not in before])
    flush_logs(found)


def flush_logs(found: list[Any]) -> None:
    """Write the records that handlers of logging hold, of which its end knows the kinds. Those that a handler writes only as it
    is closed are its maker's.
    """
    there = [handler for one in found if (handler := one()) is not None]
    kept: list[Any] = [partial(Unclosed, handler) for handler in there]
    # What cannot be written is for its own program to learn.
    with contextlib.suppress(Exception):
        logging.shutdown(kept)


class Unclosed:
    """A handler of logging that stays open."""

    def __init__(self, handler: logging.Handler) -> None:
        self._handler = handler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    def close(self) -> None:
        """Leave the handler open."""


@contextlib.contextmanager
def finished() -> Iterator[None]:
    """Do what the end of an interpreter does: wait for threads, and call the functions that wait for the end."""
    try:
        yield
    finally:
        shutdown: Any = vars(threading)["_shutdown"]
        shutdown()
        atexit._run_exitfuncs()
