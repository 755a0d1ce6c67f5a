"""The map of a step of a job, over a piece of input: it runs in companions, which import the job's file and mrjob.

It is sent to them by value, so it must import nothing of this package.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from io import BytesIO
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
        read, write = job.pick_protocols(self.step, "mapper")
        pairs = job.map_pairs((read(line.rstrip(b"\r\n")) for line in lines), self.step)
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
        groups: dict[Any, tuple[Any, list[Any]]] = {}
        for key, value in pairs:
            # Numbers that are equal may be written differently, and lists are no keys of a dict.
            if type(key) is str and type(value) in PLAIN:
                group: Any = key
            else:
                line = write(key, value)
                group = line.partition(b"\t")[0]
                key, value = read(line)
            found = groups.get(group)
            if found is None:
                groups[group] = (key, [value])
            else:
                found[1].append(value)
        together = ((key, value) for key, values in groups.values() for value in values)
        return job.combine_pairs(together, self.step), write_combined

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
