"""The map of a step of a job, over a piece of input: it runs in companions, which import the job's file and mrjob.

It is sent to them by value, so it must import nothing of this package.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain
from typing import Any

PAIR = b"k"
COUNTER = b"c"
REPORT = b"reporter:counter:"

# Values that nothing can change, so that they may wait for the combiner as they are.
PLAIN = (int, float, str, bytes, bool, type(None))


class MapTask:
    """Maps pieces of input by one step of a job.

    A piece is a task: `mapper_init` comes before its lines and `mapper_final` after them, and what the job object had
    when it was made, it has at the begin of each piece. The combiner gets the pairs of a piece, by keys.
    """

    def __init__(
        self,
        where: tuple[str, str, str],
        args: list[str],
        step: int,
        combines: bool,
        environment: dict[str, str],
        folder: str,
    ) -> None:
        self.where = where
        self.args = args
        self.step = step
        self.combines = combines
        self.environment = environment
        self.folder = folder
        self.job: Any = None
        self.own: dict[str, Any] = {}

    def __call__(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys and values that go on to the reducers, and the counters."""
        if self.job is None:
            self._begin()
        job = copy.copy(self.job)
        for name, value in self.own.items():
            setattr(job, name, copy.deepcopy(value))
        stderr = BytesIO()
        job.sandbox(BytesIO(), BytesIO(), stderr)
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        if b"\r" in data:
            lines = [line.rstrip(b"\r") for line in lines]
        read, write = job.pick_protocols(self.step, "mapper")
        pairs = job.map_pairs(map(read, lines), self.step)
        if self.combines:
            pairs, write = self._combined(job, pairs, write)
        for key, value in pairs:
            line = write(key, value)
            found, tab, rest = line.partition(b"\t")
            yield PAIR + found, tab + rest
        for said in stderr.getvalue().splitlines():
            if said.startswith(REPORT):
                counter, _, amount = said[len(REPORT) :].rpartition(b",")
                yield COUNTER + counter, amount
            elif not said.startswith(b"reporter:status:"):
                sys.stderr.write(said.decode("utf-8", "replace") + "\n")

    def _combined(self, job: Any, pairs: Any, write: Any) -> tuple[Any, Any]:
        """Return what the combiner makes of pairs, and how that is written."""
        read, write_combined = job.pick_protocols(self.step, "combiner")
        of_texts: defaultdict[str, list[Any]] = defaultdict(list)
        of_others: dict[bytes, tuple[Any, list[Any]]] = {}
        for key, value in pairs:
            # Numbers that are equal may be written differently, and lists are no keys of a dict.
            if type(key) is str and type(value) in PLAIN:
                of_texts[key].append(value)
            else:
                line = write(key, value)
                key, value = read(line)
                of_key = of_others.setdefault(line.partition(b"\t")[0], (key, []))
                of_key[1].append(value)
        groups = chain(of_texts.items(), of_others.values())
        return self._combine(job, groups), write_combined

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

    def _begin(self) -> None:
        """Make the job object of this process, in the folder and the environment of a task."""
        os.environ.update(self.environment)
        os.chdir(self.folder)
        sys.path.insert(0, self.folder)
        script, module, name = self.where
        if module == "__main__":
            spec = importlib.util.spec_from_file_location("job_of_mrjob", script)
            if spec is None or spec.loader is None:
                raise ImportError(f"{script} is no file of Python")
            loaded = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = loaded
            sys.path.insert(1, os.path.dirname(script))
            spec.loader.exec_module(loaded)
        else:
            loaded = importlib.import_module(module)
        kind = getattr(loaded, name)
        self.job = kind(self.args)
        from mrjob.job import MRJob

        usual = vars(MRJob(["--step-num=0", "--mapper"])).keys()
        self.own = {
            attribute: value
            for attribute, value in vars(self.job).items()
            if attribute not in usual
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "job": None, "own": {}}
