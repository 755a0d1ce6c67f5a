"""Threads that a job's file starts as it is loaded: forks of that process do not have them.

It is sent to companions by value, as `task.py` is, so it must import nothing of this package but by value.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from concurrent.futures import wait
from typing import Any

# Seconds that the work of pools may take after the file is loaded.
WORK_S_MOST = 5.0


def pools() -> list[Any]:
    """Return the pools of `concurrent.futures` that have started threads."""
    module = sys.modules.get("concurrent.futures.thread")
    if module is None or threading.active_count() == 1:
        return []
    kind = module.ThreadPoolExecutor
    found = [one for one in gc.get_objects() if issubclass(type(one), kind)]
    return [pool for pool in found if pool._threads]


def await_work(found: list[Any]) -> None:
    """Wait for the work of pools, which forks would wait for for ever, and say so if it goes on. There is none to wait for in
    a thread of a pool, which runs the job itself.
    """
    if any(threading.current_thread() in pool._threads for pool in found):
        return
    until = time.monotonic() + WORK_S_MOST
    while found and (futures := at_work()):
        if time.monotonic() > until:
            sys.stderr.write(
                "tegula.mrjob: a pool of threads is still at work, which tasks do not have: wait for it as the file is "
                "loaded, or begin it in mapper_init\n"
            )
            return
        wait(futures, max(until - time.monotonic(), 0))
        # What is called as a future is done may go on.
        time.sleep(0.001)


def at_work() -> list[Any]:
    """Return the futures of what pools do and are to do, which hold nothing of it once it is done."""
    kind = sys.modules["concurrent.futures.thread"]._WorkItem
    return [one.future for one in gc.get_objects() if issubclass(type(one), kind)]


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
