"""The map tasks of a step of a job: they run in companions, which import the job's file and mrjob.

It is sent to them by value, so it must import nothing of this package but by value.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import importlib.util
import marshal
import os
import pickle
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import starmap
from types import ModuleType
from typing import Any

from tegula.mrjob.chance import Chance
from tegula.mrjob.ends import flush_logs, handlers, own
from tegula.mrjob.process import grouped, ran, settled, standard
from tegula.mrjob.threads import pools, renew, warn_of_others

PAIR = b"k"
COUNTER = b"c"

# Values that nothing can change and JSON gives back as they are, so that they may wait for the combiner unwritten.
PLAIN = (int, float, str, bool, type(None))


class MapTask:
    """Maps pieces of input by one step of a job.

    A piece is a task, as of mrjob's runner `local`: it has a process, a working folder and an environment of its own. The
    combiner gets the pairs of a piece, and has all that of its own, too. `environment` is what all have alike, also as the
    job's file is loaded.
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
        self.chance: Chance | None = None
        self.files: list[Any] = []
        self.pools: list[Any] = []

    def __call__(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys and values that go on to the reducers, and the counters."""
        file, content, start, length, own = pickle.loads(data)
        if self.kind is None:
            self._begin()
        stderr: list[bytes] = []

        def alone(
            kind: str, function: Callable[..., Any], *args: Any
        ) -> tuple[bytes, list[bytes]]:
            """Call a function in a process of its own; return its answer and what was printed there."""
            folder, environment = own[kind]
            task = partial(self._task, folder, environment, function, *args)
            done = ran(task, group, os.path.dirname(folder), self.files)
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
        os.environ.update(environment)
        os.chdir(folder)
        sys.path.insert(0, folder)
        assert self.chance is not None
        self.chance.begin()
        renew(self.pools)
        # A worker leaves it to its program to end it. What a task starts would ignore the signal, too.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return marshal.dumps(function(*args))

    def _mapped(
        self, content: str, start: int, length: int
    ) -> dict[str, list[Any]] | list[bytes]:
        """Return what the mapper makes of a piece."""
        job = self.kind(self.args["mapper"])
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
        job = self.kind(self.args["combiner"])
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

    def _begin(self) -> None:
        """Load the job's class, where the program was started."""
        script, module, name = self.where
        # Standard output is a file in tasks.
        with contextlib.suppress(AttributeError):
            sys.stdout.reconfigure(line_buffering=False)  # type: ignore[union-attr]
        self.chance = Chance()
        # The end of this process is the end of what the file makes.
        own()
        usual_path = os.environ.get("PYTHONPATH", "")
        os.environ.update(self.environment)
        # The variable alone does not change times.
        time.tzset()
        # What the file prints, the program itself has printed.
        with (
            open(os.devnull, "wb") as null,
            standard({1: null}),
            no_runs(),
            self.chance.watched(),
        ):
            if module == "__main__":
                sys.path.insert(0, os.path.dirname(script))
            # An interpreter that is started has them behind the folder of its program.
            sys.path[1:1] = added(usual_path, os.environ.get("PYTHONPATH", ""))
            if module == "__main__":
                loaded = loaded_file(script)
            else:
                loaded = importlib.import_module(module)
            flush_logs(handlers())
        self.chance.settle()
        self.kind = getattr(loaded, name)
        self.files, self.pools = settled(), pools()
        warn_of_others(self.pools)

    def end_worker(self) -> None:
        """Do what is to be done at the end of a process that has loaded the file, as to remove temporary folders."""
        if self.chance is None:
            return
        with open(os.devnull, "wb") as null, standard({1: null}):
            atexit._run_exitfuncs()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "kind": None, "chance": None}


def added(usual: str, path: str) -> list[str]:
    """Return the folders that a path of modules has and the usual one has not."""
    before = usual.split(os.pathsep)
    folders = [one for one in path.split(os.pathsep) if one and one not in before]
    return [os.path.abspath(folder) for folder in folders]


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
