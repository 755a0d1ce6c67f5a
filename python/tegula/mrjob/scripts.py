"""Tasks that are Python's and run side by side: reducers, and the mappers and combiners of steps without a reducer.

They are forks of the program, which has loaded the job's file. Where the job gives its tasks variables, they are forks of an
interpreter that loads the file with them.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import cloudpickle
from mrjob.step import StepFailedException

from tegula._zygote import end_with
from tegula.mrjob.ends import finished
from tegula.mrjob.loaded import JobFile
from tegula.mrjob.process import (
    ending,
    flush,
    forked,
    grouped,
    reported,
    standard,
)

Task = Callable[[], None]

# The interpreter finds modules where the program does before it loads what it runs.
BEGIN = "import pickle, sys; f = sys.stdin.buffer; sys.path[:] = pickle.load(f); pickle.load(f)()"


@dataclass(frozen=True)
class ScriptTask:
    """What a task runs, with the streams, the folder and the variables that mrjob gives it.

    Attributes:
        file: the job's file.
        args: the words that make the job one of this task.
        has_manifest: whether the task's input is a line that ends in the name of a file.
        is_alone: whether it has a process of its own, as a mapper that its combiner follows.
    """

    file: JobFile
    args: list[str]
    has_manifest: bool
    is_alone: bool

    def __call__(
        self,
        stdin: BinaryIO,
        stdout: BinaryIO,
        stderr: BinaryIO,
        wd: str,
        env: dict[str, str],
    ) -> None:
        run = partial(self._run, {0: stdin, 1: stdout, 2: stderr}, wd, env)
        if not self.is_alone:
            run()
            return
        (code,) = ended([run], 1)
        if code:
            # A signal, as a shell gives it.
            sys.exit(code if code > 0 else 128 - code)

    def _run(self, streams: dict[int, BinaryIO], wd: str, env: dict[str, str]) -> None:
        with standard(streams, self.file.files):
            self.file.begin_task(wd, env)
            try:
                with finished():
                    self.file.kind([*self.args, *self._brought()]).execute()
            except BaseException as error:
                # mrjob looks for the cause where the task writes its errors.
                sys.exit(reported(error))

    def _brought(self) -> list[str]:
        """Return the path and the name of the file that a manifest names."""
        if not self.has_manifest:
            return []
        line = sys.stdin.buffer.readline().decode()
        return [line.split("\t")[-1].rstrip()] * 2


def ended(tasks: list[Task], most: int) -> list[int]:
    """Run tasks in a fork each, some at a time, until one fails, and return the exit codes of those that were begun. None of
    the forks is left when an exception ends this.
    """
    codes: list[int] = []
    while len(codes) < len(tasks) and not any(codes):
        codes += ended_together(tasks[len(codes) : len(codes) + most])
    return codes


def ended_together(tasks: list[Task]) -> list[int]:
    """Run tasks side by side, in a fork each, and return their exit codes."""
    children: list[int] = []
    codes: list[int] = []
    with grouped() as group:
        try:
            for one in tasks:
                children.append(forked(partial(run_quietly, one), group))
            for child in children:
                codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        finally:
            for child in children[len(codes) :]:
                # One whose code was not noted any more has ended.
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
    return codes


def run_quietly(task: Task) -> None:
    """Run a task. If it is a command that fails, say so in a line."""
    try:
        task()
    except StepFailedException as error:
        sys.exit(error.reason)


def ended_anew(file: JobFile, tasks: list[Task], most: int) -> list[int]:
    """Do what `ended` does in an interpreter that loads the job's file with the variables of its tasks."""
    with tempfile.TemporaryFile() as codes:
        number = codes.fileno()
        run = partial(run_anew, os.getpid(), sys.argv, number, file, tasks, most)
        done = subprocess.run(
            [sys.executable, "-c", BEGIN],
            input=pickle.dumps(sys.path) + cloudpickle.dumps(run),
            pass_fds=[number],
            check=False,
        )
        if done.returncode:
            how = ending(done.returncode)
            raise StepFailedException(f"what loads the job's file for tasks {how}")
        codes.seek(0)
        return marshal.load(codes)  # type: ignore[no-any-return]


def run_anew(
    parent: int, argv: list[str], to: int, file: JobFile, tasks: list[Any], most: int
) -> None:
    """Load the job's file in this process, run tasks in forks of it, and write their exit codes."""
    code = 1
    try:
        end_with(parent)
        # The program ends this.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.argv[:] = argv
        with open(os.devnull, "rb") as null:
            os.dup2(null.fileno(), 0)
        os.set_inheritable(to, False)
        try:
            file.load()
            os.write(to, marshal.dumps(ended(tasks, most)))
        finally:
            file.end()
        code = 0
    except BaseException as error:
        code = reported(error)
    finally:
        flush()
        # Threads that the file has started may go on for ever.
        os._exit(code & 0xFF)
