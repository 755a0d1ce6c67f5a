"""Engines: the workers and the memory that runs share."""

from __future__ import annotations

import os

# The module `threading` takes longer to import than this one.
from _thread import allocate_lock, get_ident

from tegula import _tegula
from tegula.errors import Error, OptionError, raise_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType
    from typing import Any, Literal

    from tegula.job import Job, Order
    from tegula.result import Result
    from tegula.sources import Path as Input
    from tegula.sources import Source
    from tegula.topology import Topology

# The threads of this process that are in a function of the user's, by their numbers.
mapping: set[int] = set()

# The part of their time from which on workers that wait for the interpreter's lock are told of.
_WAITED_MOST = 0.2

_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


def byte_count(option: str, size: int | str | None) -> int | None:
    """Return a size in bytes: a number, or text such as "512M" or "4G" (powers of 1024)."""
    if size is None or isinstance(size, int):
        return size
    text = size.strip().upper().removesuffix("B").removesuffix("I")
    shift = _UNITS.get(text[-1:], 0)
    number = text[:-1] if shift else text
    try:
        return int(float(number) * (1 << shift))
    except ValueError:
        raise OptionError(
            f'{option}: {size!r} is no size; give bytes, or text as "4G"'
        ) from None


class Cancel:
    """Stops runs from another thread: those that were given it as `cancel=` raise `Interrupted`.

    A run ends within about a second; native code, and a function with `on="threads"`, must return first. A run that
    ends by Ctrl-C stops the others with the same `Cancel`.
    """

    def __init__(self) -> None:
        self._native = _tegula.Cancel()

    def cancel(self) -> None:
        """Stop the runs, and those that are still to come."""
        self._native.cancel()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._native.is_cancelled()


class Engine:
    """Workers and memory that several runs share, one after another or at once, from any thread.

    Runs without an engine use one that is made at first use and kept. A forked child makes its own. `text`, `array` and
    the other sources of an engine are those of the package, and jobs of them run on it.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        memory: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
        devices: str | Sequence[str] | None = None,
    ) -> None:
        """Start `workers` workers; the default is a worker for each processor.

        `memory` limits the resident size of this process, in bytes or as text such as "4G". Pairs that do not fit
        go to nameless files in the folder `scratch`, by default the system's folder for temporary files. `devices` work
        beside the cores on the jobs that they have a kernel for, as those of `Job.run`.
        """
        limit = byte_count("memory", memory)
        try:
            folder = None if scratch is None else os.fspath(scratch)
            self._native = _tegula.Engine(workers, limit, folder)
        except (ValueError, OverflowError) as error:
            raise OptionError(str(error)) from None
        self._pid = os.getpid()
        self._devices = devices

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self._native.workers()

    @property
    def topology(self) -> Topology:
        """The processors, caches and memory nodes that the engine found."""
        from tegula.topology import Topology

        return Topology(*self._native.topology())

    # Sources, which are described in `sources.py`.

    def text(
        self,
        *paths: Input,
        cut: Literal["lines", "csv", "whitespace"] | bytes = "lines",
        encoding: Literal["utf-8"] | None = "utf-8",
        plain: bool = False,
    ) -> Source:
        """Read text, as `tegula.text`."""
        from tegula.sources import text

        return text(*paths, cut=cut, encoding=encoding, plain=plain, engine=self)

    def records(self, *paths: Input, bytes: int, plain: bool = False) -> Source:
        """Read records of `bytes` bytes each, as `tegula.records`."""
        from tegula.sources import records

        return records(*paths, bytes=bytes, plain=plain, engine=self)

    def files(
        self,
        *paths: Input,
        encoding: Literal["utf-8"] | None = None,
        plain: bool = False,
    ) -> Source:
        """Read whole files, as `tegula.files`."""
        from tegula.sources import files

        return files(*paths, encoding=encoding, plain=plain, engine=self)

    def array(self, values: Any) -> Source:
        """Read a numpy array where it lies, as `tegula.array`."""
        from tegula.sources import array

        return array(values, engine=self)

    def batches(self, values: Iterable[Any]) -> Source:
        """Read Arrow record batches, as `tegula.batches`."""
        from tegula.sources import batches

        return batches(values, engine=self)

    def pairs(self, result: Result) -> Source:
        """Read the pairs of an answer, as `tegula.pairs`."""
        from tegula.sources import pairs

        return pairs(result, engine=self)

    def saved(
        self,
        state: str | os.PathLike[str],
        job: str,
        of: Job,
        *,
        top: int | None = None,
        order: Order | None = "key",
        version: str | None = None,
    ) -> Result:
        """Return the answer of what the run `job` has saved so far in the folder `state`.

        `of` is the job that saves there; the run may be at work in another process, or have been killed. Its input is
        not read, and no record is mapped. `stats["bytes"]` are those of the input that the answer covers. Raises
        `StateError` if nothing is saved there, or by another job.
        """
        return of._saved(self, state, job, top, order, version)

    def close(self) -> None:
        """End the workers. Results stay."""
        self._native.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(
        self,
        plan: dict[str, Any],
        watch: Callable[[dict[str, Any]], None] | None,
        cancel: Cancel | None = None,
        top: int | None = None,
        wires: _tegula.Wires | None = None,
    ) -> _tegula.Answer:
        zygote = self._begin(plan)
        flag = None if cancel is None else cancel._native
        try:
            answer = self._native.run(plan, watch, flag, top, wires)
        except ValueError as error:
            if _is_native(error):
                raise OptionError(str(error)) from None
            raise
        finally:
            if zygote is not None:
                zygote.close()
        if isinstance(answer, _tegula.Failure):
            raise_failure(answer)
        function = plan["map"].get("callable")
        map_seconds = answer.stats()["seconds"].get("map", 0.0)
        waited = 0.0 if function is None else function.waited_part(map_seconds)
        if waited > _WAITED_MOST:
            import warnings

            warnings.warn(
                f"workers waited for the interpreter's lock for {waited:.0%} of the time of the map: "
                'on="processes" is faster for functions that keep it',
                RuntimeWarning,
                stacklevel=3,
            )
        return answer

    def _stream(
        self,
        plan: dict[str, Any],
        shows: tuple[str, float, int | None, bool],
        watch: Callable[[dict[str, Any]], None] | None,
        cancel: Cancel | None,
    ) -> _tegula.Stream:
        zygote = self._begin(plan)
        flag = None if cancel is None else cancel._native
        try:
            stream = self._native.stream(plan, shows, watch, flag)
        except ValueError as error:
            if _is_native(error):
                raise OptionError(str(error)) from None
            raise
        finally:
            if zygote is not None:
                zygote.close()
        if isinstance(stream, _tegula.Failure):
            raise_failure(stream)
        return stream

    def _begin(self, plan: dict[str, Any]) -> _tegula.Zygote | None:
        """Start the process of a plan's function, if it has one. Refuse a run that could not end.

        The run takes the process over; of one that does not begin, it must be closed.
        """
        if os.environ.get("TEGULA_COMPANION") or get_ident() in mapping:
            raise Error(
                "a run inside a map would wait for the worker that it runs on: run jobs outside of maps"
            )
        if self._pid != os.getpid():
            raise Error(
                "this engine's workers are in the parent process: make an engine in the child"
            )
        from tegula.functions import started

        return started(plan)


def _is_native(error: ValueError) -> bool:
    """Whether the native module raised an error, of options such as a pattern that is none.

    What a function of the user's raised has frames of its own.
    """
    trace = error.__traceback__
    return trace is not None and trace.tb_next is None


_kept: Engine | None = None
_lock = allocate_lock()


def usual_engine() -> Engine:
    """Return the engine of runs that name none."""
    global _kept
    with _lock:
        if _kept is None:
            _kept = Engine()
        return _kept


def _in_child() -> None:
    """Forget the parent's engine, whose threads a forked child does not have."""
    global _kept, _lock
    _lock = allocate_lock()
    mapping.intersection_update({get_ident()})
    if _kept is not None:
        _kept._native.abandon()
        _kept = None


os.register_at_fork(after_in_child=_in_child)
