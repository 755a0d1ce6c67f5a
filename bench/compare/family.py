"""A program with all its processes: what daemons that it leaves behind took counts, and the memory of all at once.

It makes the calling process the one that processes without a parent fall to, waits for each of them, and ends those
that outlive the program. It must never be used where the caller has other children.
"""

import ctypes
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
LOOK_EVERY_S = 0.05


def below(parent: int) -> list[int]:
    """The processes below a process."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            stat = Path("/proc", name, "stat").read_text()
            children.setdefault(
                int(stat[stat.rindex(")") + 2 :].split()[1]), []
            ).append(int(name))
    found, ask = [], [parent]
    while ask:
        of = children.get(ask.pop(), [])
        found += of
        ask += of
    return found


def proportional_bytes(process: int) -> int:
    """A process's memory, of which what it shares is divided by those that share it."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc", str(process), "smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line[:4] == "Pss:")
    return 0


class _Watch(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_bytes = 0
        self.has_ended = threading.Event()

    def run(self) -> None:
        while not self.has_ended.wait(LOOK_EVERY_S):
            now = sum(map(proportional_bytes, below(os.getpid())))
            self.peak_bytes = max(self.peak_bytes, now)


def run(
    argv: tuple[str, ...], environment: dict[str, str], stdout: int, stderr: int
) -> tuple[int, float, float, float, int]:
    """Runs a program to its end: its exit code, wall seconds, user and system CPU seconds, and peak bytes."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    watch = _Watch()
    start = time.perf_counter()
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        env=os.environ | environment,
    )
    watch.start()
    code, user_s, system_s, peak_bytes, wall_s = -1, 0.0, 0.0, 0, 0.0
    while True:
        try:
            ended, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        user_s += usage.ru_utime
        system_s += usage.ru_stime
        peak_bytes = max(peak_bytes, usage.ru_maxrss << 10)
        if ended == process.pid:
            wall_s = time.perf_counter() - start
            code = process.returncode = os.waitstatus_to_exitcode(status)
        if code >= 0 or process.returncode is not None:
            for left in below(os.getpid()):
                with suppress(ProcessLookupError):
                    os.kill(left, signal.SIGKILL)
    watch.has_ended.set()
    watch.join()
    return code, wall_s, user_s, system_s, max(peak_bytes, watch.peak_bytes)
