"""Tasks as processes: forks of one that has loaded the job, so that each begins with what the job's file made as it was
loaded, as the processes of mrjob's runner `local` do.

It is sent to companions by value, as `task.py` is, so it must import nothing of this package but by value.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pickle
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from tegula._zygote import end_with
from tegula.mrjob.ends import finished, flush_logs, handlers, own

STREAMS = ("stdin", "stdout", "stderr")


@dataclass(frozen=True)
class Ran:
    """What a task did.

    Attributes:
        answer: what its function returned.
        failure: what it raised instead.
        stdout: the bytes that it and its commands printed.
        stderr: the same of standard error.
    """

    answer: bytes
    failure: BaseException | None
    stdout: bytes
    stderr: bytes


class Remote(Exception):
    """The traceback of an exception in another process."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@contextlib.contextmanager
def grouped() -> Iterator[int]:
    """Give a process group for tasks. If this process is killed, or an exception ends this, the tasks and the commands
    that they started are killed.
    """
    parent = os.getpid()

    def watch() -> None:
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        end_with(parent, signal.SIGTERM)
        signal.sigwait({signal.SIGTERM})
        os.killpg(0, signal.SIGKILL)

    watcher = forked(watch)
    # Both do this, because either may be first.
    os.setpgid(watcher, watcher)
    try:
        yield watcher
    except BaseException:
        os.killpg(watcher, signal.SIGKILL)
        raise
    finally:
        os.kill(watcher, signal.SIGKILL)
        os.waitpid(watcher, 0)


def forked(task: Callable[[], None], group: int | None = None) -> int:
    """Run a task in a fork of this process, which ends with it, and return the fork's number."""
    flush()
    parent = os.getpid()
    with warnings.catch_warnings():
        # Libraries may have threads; those that do prepare for a fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        own()
        if group is not None:
            os.setpgid(0, group)
            end_with(parent)
        task()
        code = 0
    except BaseException as error:
        code = reported(error)
    finally:
        try:
            flush()
        finally:
            os._exit(code & 0xFF)


def reported(error: BaseException) -> int:
    """Say on standard error what ends a process, as an interpreter does, and return its exit code."""
    if not isinstance(error, SystemExit):
        traceback.print_exception(error)
        return 1
    if isinstance(error.code, int):
        return error.code
    if error.code is None:
        return 0
    print(error.code, file=sys.stderr)
    return 1


def ending(code: int) -> str:
    """Say how a process ended, by its exit code, or its signal below 0."""
    return f"exited with code {code}" if code >= 0 else f"was killed by signal {-code}"


def ran(task: Callable[[], bytes], group: int, folder: str, files: list[Any]) -> Ran:
    """Run a task in a process of its own. `folder` is for what it prints; `files` are those that `settled` gave."""
    failure: BaseException | None
    with contextlib.ExitStack() as stack:
        answer, stdout, stderr = (
            stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(3)
        )

        def work() -> None:
            own_number = os.getpid()
            try:
                with standard({1: stdout, 2: stderr}, files), finished():
                    done = b"\0" + task()
            except BaseException as error:
                if os.getpid() != own_number:
                    raise
                done = b"\1" + packed(error)
            # A fork of the task's own may end here, too, and is not the task.
            if os.getpid() == own_number:
                answer.write(done)
                answer.flush()

        pid = forked(work, group)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        done, *printed = (whole(file) for file in (answer, stdout, stderr))
    failure = None
    if code or not done:
        failure = RuntimeError(f"a task {ending(code)}")
    elif done[:1] == b"\1":
        failure = unpacked(done[1:])
    return Ran(done[1:], failure, *printed)


def whole(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def packed(error: BaseException) -> bytes:
    """Pack an exception with its traceback."""
    if isinstance(error, SystemExit):
        # A text is shown, and stands for the code 1.
        code = error.code if isinstance(error.code, int) else f"1: {error.code}"
        error = RuntimeError(f"a task exited with code {code}")
    text = "".join(traceback.format_exception(error))
    try:
        whole_error = pickle.dumps(error)
        pickle.loads(whole_error)
    except Exception:
        whole_error = b""
    # What is no such exception would end the companion.
    kept = whole_error if isinstance(error, Exception) else b""
    return pickle.dumps((kept, f"{type(error).__name__}: {error}", text))


def unpacked(both: bytes) -> BaseException:
    kept, message, text = pickle.loads(both)
    error: BaseException
    try:
        error = pickle.loads(kept)
    except Exception:
        # Its class may be in a module that the task alone finds.
        error = RuntimeError(message)
    error.__cause__ = Remote(text)
    return error


@contextlib.contextmanager
def standard(streams: dict[int, BinaryIO], files: Iterable[Any] = ()) -> Iterator[None]:
    """Let files be standard streams, by their numbers: those of Python, and those of commands that are started. At the
    end, what waits in `files` and in those that have been opened since is written.
    """
    flush()
    kept = {number: duplicate(number) for number in streams}
    made = {}
    for number, file in streams.items():
        os.dup2(file.fileno(), number)
        name = STREAMS[number]
        usual = getattr(sys, name)
        # A stream that the job's file has set up stays as it is. Input may have been read ahead.
        if number == 0 or not is_of(usual, number):
            mode = "w" if number else "r"
            made[name] = (usual, open(number, mode, closefd=False))  # noqa: SIM115
            setattr(sys, name, made[name][1])
    try:
        yield
    finally:
        flush(*files, *writers())
        for name, (usual, own_stream) in made.items():
            # Another one that has been set since may be made of it.
            if getattr(sys, name) is own_stream:
                setattr(sys, name, usual)
        for number, descriptor in kept.items():
            if descriptor is not None:
                os.dup2(descriptor, number)
                os.close(descriptor)


def duplicate(number: int) -> int | None:
    """Duplicate a descriptor; none if it is closed."""
    try:
        return os.dup(number)
    except OSError:
        return None


def is_of(stream: Any, number: int) -> bool:
    """Whether a stream is one of a descriptor."""
    try:
        return bool(stream.fileno() == number)
    except (AttributeError, OSError, ValueError):
        return False


def settled() -> list[Any]:
    """Write what waits in open files and in handlers of logging, which forks would write again, and return the files: forks do
    not find them. Where other threads write meanwhile, files are left to them.
    """
    flush_logs(handlers())
    files = writers() if threading.active_count() == 1 else []
    flush(*files)
    return files


def writers() -> list[Any]:
    """Return the files that are open for writing, and some that are not."""
    kinds = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
    return [one for one in gc.get_objects() if issubclass(type(one), kinds)]


def flush(*files: Any) -> None:
    """Write what waits in files and standard streams, as the end of an interpreter does."""
    for file in files:
        # It may be closed, or be for reading. What cannot be written is for its own program to learn.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            file.flush()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        # It may be none, and its reader may have gone.
        with contextlib.suppress(AttributeError, ValueError, BrokenPipeError):
            stream.flush()  # type: ignore[union-attr]
