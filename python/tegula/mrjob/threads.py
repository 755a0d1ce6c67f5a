"""Threads that a job's file starts as it is loaded: forks of that process do not have them.

It is sent to companions by value, as `task.py` is, so it must import nothing of this package but by value.
"""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any


def pools() -> list[Any]:
    """Return the pools of `concurrent.futures` that have started threads."""
    module = sys.modules.get("concurrent.futures.thread")
    if module is None or threading.active_count() == 1:
        return []
    kind = module.ThreadPoolExecutor
    found = [one for one in gc.get_objects() if issubclass(type(one), kind)]
    return [pool for pool in found if pool._threads]


def renew(found: list[Any]) -> None:
    """Let pools start threads again, in a fork. They would wait for those that they take for idle for ever."""
    for pool in found:
        pool._threads.clear()
        pool._idle_semaphore = threading.Semaphore(0)


def warn_of_others(found: list[Any]) -> None:
    """Say so if there are threads of no pool: a task that needs them would wait for ever, without a word."""
    known = {thread for pool in found for thread in pool._threads}
    known |= {threading.main_thread(), threading.current_thread()}
    if any(thread not in known for thread in threading.enumerate()):
        sys.stderr.write(
            "tegula.mrjob: the job's file starts threads, which tasks do not have: start them in mapper_init\n"
        )
