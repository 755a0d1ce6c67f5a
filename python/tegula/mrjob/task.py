"""The map tasks of a step of a job: they run in companions, which import the job's file and mrjob.

It is sent to them by value, so it must import nothing of this package.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import pickle
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from io import BytesIO, StringIO, TextIOBase
from itertools import starmap
from types import ModuleType
from typing import Any

PAIR = b"k"
COUNTER = b"c"

# Values that nothing can change and JSON gives back as they are, so that they may wait for the combiner unwritten.
PLAIN = (int, float, str, bool, type(None))


class MapTask:
    """Maps pieces of input by one step of a job.

    A piece is a task, as of mrjob's runner `local`: it has a job object, a working folder and an environment of its own.
    The combiner gets the pairs of a piece.
    """

    def __init__(
        self,
        where: tuple[str, str, str],
        args: dict[str, list[str]],
        step: int,
        sorts_values: bool,
        environment: dict[str, str],
    ) -> None:
        self.where = where
        self.args = args
        self.step = step
        self.sorts_values = sorts_values
        self.environment = environment
        self.kind: Any = None
        self.streams: Any = None
        self.usual: dict[str, str] = {}
        self.path: list[str] = []

    def __call__(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys and values that go on to the reducers, and the counters."""
        file, content, start, length, folder, environment = pickle.loads(data)
        if self.kind is None:
            self._begin()
        self._enter(folder, environment)
        stderr = BytesIO()
        try:
            for line in self._lines(read(content, start, length), stderr):
                found, tab, rest = line.partition(b"\t")
                yield PAIR + found, tab + rest
        except Exception as error:
            error.add_note(f"in a map task of {file}, from byte {start} on")
            raise
        finally:
            counters = told(stderr.getvalue())
        for group, of_group in counters.items():
            for name, amount in of_group.items():
                yield COUNTER + f"{group},{name}".encode(), str(amount).encode()

    def _lines(self, lines: list[bytes], stderr: BytesIO) -> Iterator[bytes]:
        """Yield what the task writes of its lines."""
        stdout = BytesIO()
        with standard(self.streams, stdout, stderr):
            job = self._job("mapper", stdout, stderr)
            read, write = job.pick_protocols(self.step, "mapper")
            pairs = job.map_pairs(map(read, lines), self.step)
            if "combiner" in self.args:
                gathered = self._gathered(pairs, write)
            else:
                yield from starmap(write, pairs)
        if "combiner" in self.args:
            yield from self._combined(gathered, write, printed(stdout), stderr)
        else:
            yield from printed(stdout)

    def _gathered(self, pairs: Any, write: Any) -> dict[str, list[Any]] | list[bytes]:
        """Return the values of each key, if keys are texts and values are plain; otherwise the lines of all pairs."""
        groups: defaultdict[str, list[Any]] = defaultdict(list)
        if self.sorts_values or not is_json(write):
            return list(starmap(write, pairs))
        for key, value in pairs:
            if type(key) is str and type(value) in PLAIN:
                groups[key].append(value)
            else:
                return [
                    *written(groups, write),
                    write(key, value),
                    *starmap(write, pairs),
                ]
        return groups

    def _combined(
        self,
        gathered: dict[str, list[Any]] | list[bytes],
        write: Any,
        more: list[bytes],
        stderr: BytesIO,
    ) -> Iterator[bytes]:
        """Yield what the combiner makes of pairs and of `more` lines: it gets them in the order of mrjob's `sort`."""
        stdout = BytesIO()
        with standard(self.streams, stdout, stderr):
            job = self._job("combiner", stdout, stderr)
            read, write_combined = job.pick_protocols(self.step, "combiner")
            if isinstance(gathered, dict) and not more:
                by = {key: key_of(write(key, None)) for key in gathered}
                groups = (
                    (key, gathered[key]) for key in sorted(by, key=by.__getitem__)
                )
                combined = self._combine(job, groups)
            else:
                if isinstance(gathered, dict):
                    gathered = written(gathered, write)
                lines = gathered + more
                lines.sort(key=None if self.sorts_values else key_of)
                combined = job.combine_pairs(map(read, lines), self.step)
            yield from starmap(write_combined, combined)
        yield from printed(stdout)

    def _combine(
        self, job: Any, groups: Iterable[tuple[Any, list[Any]]]
    ) -> Iterator[Any]:
        """Yield what the combiner makes of keys with their values: `combine_pairs`, which takes them pair by pair."""
        from mrjob.step import MRStep

        step = job._get_step(self.step, MRStep)
        if step["combiner_init"]:
            yield from step["combiner_init"]() or ()
        combiner = step["combiner"]
        for key, values in groups:
            yield from combiner(key, iter(values)) or ()
        if step["combiner_final"]:
            yield from step["combiner_final"]() or ()

    def _job(self, task: str, stdout: BytesIO, stderr: BytesIO) -> Any:
        """Make the job object of a task."""
        return self.kind(self.args[task]).sandbox(BytesIO(), stdout, stderr)

    def _begin(self) -> None:
        """Load the job's class, where the program was started."""
        script, module, name = self.where
        self.streams = Stream(), Stream()
        self.usual, self.path = dict(os.environ), list(sys.path)
        # What the file prints, the program itself has printed.
        with no_runs(), contextlib.redirect_stdout(StringIO()):
            if module == "__main__":
                self.path.insert(0, os.path.dirname(script))
                sys.path[:] = self.path
                loaded = loaded_file(script)
            else:
                loaded = importlib.import_module(module)
        self.kind = getattr(loaded, name)

    def _enter(self, folder: str, environment: dict[str, str]) -> None:
        """Go into the folder and the environment of a task."""
        os.environ.clear()
        os.environ.update({**self.usual, **self.environment, **environment})
        os.chdir(folder)
        sys.path[:] = [folder, *self.path]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "kind": None, "streams": None}


def read(path: str, start: int, length: int) -> list[bytes]:
    """Read the lines of a piece, as mrjob gives them to protocols: without what ends them."""
    with open(path, "rb") as file:
        file.seek(start)
        return lines_of(file.read(length))


def lines_of(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if b"\r" in data:
        lines = [line.rstrip(b"\r") for line in lines]
    return lines


def written(groups: dict[str, list[Any]], write: Any) -> list[bytes]:
    """Return the lines of pairs."""
    return [write(key, value) for key, values in groups.items() for value in values]


def key_of(line: bytes) -> bytes:
    return line.partition(b"\t")[0]


def is_json(write: Any) -> bool:
    """Whether a protocol's method is of one that writes JSON, in which texts that are equal are written alike."""
    from mrjob import protocol

    names = ("Standard", "Simple", "Rapid", "Ultra")
    kinds = [getattr(protocol, f"{name}JSONProtocol") for name in names]
    return type(getattr(write, "__self__", None)) in kinds


def printed(stdout: BytesIO) -> list[bytes]:
    """Return the lines that a task wrote by itself, which count as those that are written of its pairs."""
    return lines_of(stdout.getvalue())


def told(stderr: bytes) -> dict[str, dict[str, int]]:
    """Return the counters of a task, and show what else it wrote on standard error."""
    from mrjob.parse import parse_mr_job_stderr

    found = parse_mr_job_stderr(stderr)
    sys.stderr.write("".join(found["other"]))
    counters: dict[str, dict[str, int]] = found["counters"]
    return counters


class Stream(TextIOBase):
    """Text that goes to the bytes of the task that runs. Loggers keep a stream, and may do so for the next task."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.buffer = BytesIO()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.buffer.write(text.encode("utf-8", "surrogateescape"))
        return len(text)


@contextlib.contextmanager
def standard(
    streams: tuple[Stream, Stream], stdout: BytesIO, stderr: BytesIO
) -> Iterator[None]:
    """Let bytes be the standard streams, as files are of a task that is a process of mrjob's."""
    usual = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = streams
    streams[0].buffer, streams[1].buffer = stdout, stderr
    try:
        yield
    finally:
        sys.stdout, sys.stderr = usual


@contextlib.contextmanager
def no_runs() -> Iterator[None]:
    """Let no job run: a file may run its job without asking whether it is the program."""
    from mrjob.job import MRJob

    usual = {name: vars(MRJob)[name] for name in ("run", "run_job", "make_runner")}

    def refuse(job: Any) -> Any:
        raise RuntimeError(
            f"{type(job).__name__}: a runner is made where the file is imported: put that below "
            'if __name__ == "__main__":'
        )

    try:
        MRJob.run = classmethod(lambda kind: None)
        MRJob.run_job = lambda job: None
        MRJob.make_runner = refuse
        yield
    finally:
        for name, method in usual.items():
            setattr(MRJob, name, method)


def loaded_file(script: str) -> ModuleType:
    """Load the file that is the program as a module."""
    spec = importlib.util.spec_from_file_location("job_of_mrjob", script)
    if spec is None or spec.loader is None:
        raise ImportError(f"{script} is no file of Python")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded
