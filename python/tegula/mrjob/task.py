"""The map tasks of a step of a job: they run in companions, which import the job's file and mrjob.

It is sent to them by value, so it must import nothing of this package but by value.
"""

from __future__ import annotations

import marshal
import os
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import starmap
from typing import Any

from tegula.mrjob.loaded import JobFile
from tegula.mrjob.process import grouped, ran

PAIR = b"k"
COUNTER = b"c"

# Values that nothing can change and JSON gives back as they are, so that they may wait for the combiner unwritten.
PLAIN = (int, float, str, bool, type(None))


class MapTask:
    """Maps pieces of input by one step of a job.

    A piece is a task, as of mrjob's runner `local`: it has a process, a working folder and an environment of its own. The
    combiner gets the pairs of a piece, and has all that of its own, too.
    """

    def __init__(
        self,
        file: JobFile,
        args: dict[str, list[str]],
        step: int,
        sorts_values: bool,
    ) -> None:
        self.file = file
        self.args = args
        self.step = step
        self.sorts_values = sorts_values

    def __call__(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys and values that go on to the reducers, and the counters."""
        file, content, start, length, own = pickle.loads(data)
        if self.file.kind is None:
            self.file.load()
        stderr: list[bytes] = []

        def alone(
            kind: str, function: Callable[..., Any], *args: Any
        ) -> tuple[bytes, list[bytes]]:
            """Call a function in a process of its own; return its answer and what was printed there."""
            folder, environment = own[kind]
            task = partial(self._task, folder, environment, function, *args)
            done = ran(task, group, os.path.dirname(folder), self.file.files)
            stderr.append(done.stderr)
            if done.failure is not None:
                raise done.failure
            return done.answer, lines_of(done.stdout)

        try:
            with grouped() as group:
                # What a task printed counts as what is written of its pairs.
                answer, printed = alone("mapper", self._mapped, content, start, length)
                if "combiner" in self.args:
                    answer, printed = alone("combiner", self._combined, answer, printed)
            pairs = [line.partition(b"\t") for line in marshal.loads(answer) + printed]
        except Exception as error:
            error.add_note(f"in a map task of {file}, from byte {start} on")
            raise
        finally:
            counters = told(stderr)
        for found, tab, rest in pairs:
            yield PAIR + found, tab + rest
        for of, of_group in counters.items():
            for name, amount in of_group.items():
                yield COUNTER + f"{of},{name}".encode(), str(amount).encode()

    def _task(
        self,
        folder: str,
        environment: dict[str, str],
        function: Callable[..., Any],
        *args: Any,
    ) -> bytes:
        """Call a function in the folder and the environment of a task."""
        self.file.begin_task(folder, environment)
        return marshal.dumps(function(*args))

    def _mapped(
        self, content: str, start: int, length: int
    ) -> dict[str, list[Any]] | list[bytes]:
        """Return what the mapper makes of a piece."""
        job = self.file.kind(self.args["mapper"])
        read, write = job.pick_protocols(self.step, "mapper")
        lines = lines_at(content, start, length)
        pairs = to_exit(job.map_pairs(map(read, lines), self.step))
        if "combiner" not in self.args:
            return in_lines(list(starmap(write, pairs)))
        gathered = self._gathered(pairs, write)
        # A line of JSON has no line end within it.
        return gathered if isinstance(gathered, dict) else in_lines(gathered)

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
        return dict(groups)

    def _combined(self, answer: bytes, more: list[bytes]) -> list[bytes]:
        """Return what the combiner makes of pairs and of `more` lines: it gets them in the order of mrjob's `sort`."""
        gathered: dict[str, list[Any]] | list[bytes] = marshal.loads(answer)
        job = self.file.kind(self.args["combiner"])
        read, write_combined = job.pick_protocols(self.step, "combiner")
        _, write = job.pick_protocols(self.step, "mapper")
        if isinstance(gathered, dict) and not more:
            by = {key: key_of(write(key, None)) for key in gathered}
            groups = ((key, gathered[key]) for key in sorted(by, key=by.__getitem__))
            combined = self._combine(job, groups)
        else:
            if isinstance(gathered, dict):
                gathered = written(gathered, write)
            lines = gathered + more
            lines.sort(key=None if self.sorts_values else key_of)
            stripped = (line.rstrip(b"\r") for line in lines)
            combined = job.combine_pairs(map(read, stripped), self.step)
        return in_lines(list(starmap(write_combined, to_exit(combined))))

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


def lines_at(path: str, start: int, length: int) -> list[bytes]:
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


def in_lines(records: list[bytes]) -> list[bytes]:
    """Cut records that a protocol wrote into lines, which is what is sorted and read. Those of most protocols are lines."""
    if b"\n" in b"".join(records):
        return b"\n".join(records).split(b"\n")
    return records


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


def told(streams: list[bytes]) -> dict[str, dict[str, int]]:
    """Return the counters of tasks, and show what else each wrote on standard error, which may not end in a line end."""
    from mrjob.parse import parse_mr_job_stderr

    counters: dict[str, dict[str, int]] = {}
    for stderr in streams:
        found = parse_mr_job_stderr(stderr, counters)
        sys.stderr.write("".join(found["other"]))
    return counters


def to_exit(pairs: Iterable[Any]) -> Iterator[Any]:
    """Yield pairs until a job ends its process by an exit that is no failure."""
    try:
        yield from pairs
    except SystemExit as ended:
        if ended.code:
            raise
