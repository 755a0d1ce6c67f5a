"""Jobs: a source, a map and a combine, and the ways to run them."""

from __future__ import annotations

import os

from tegula import _tegula
from tegula.engine import Engine, byte_count, usual_engine
from tegula.errors import OptionError, raise_failure
from tegula.frozen import Frozen
from tegula.lent import Lent
from tegula.progress import watching
from tegula.result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Literal

    from tegula._ray import Cluster
    from tegula.engine import Cancel
    from tegula.maps import Pairs
    from tegula.progress import Progress
    from tegula.seen import Seen
    from tegula.writing import Format

    Order = Literal["key", "value"]
    Reducer = tuple[Callable[..., Any], tuple[Any, ...]]

# What a plan says of a map that changes its answer: the last three are of records in order.
_SAID = ("kind", "separator", "by", "value", "field", "numeric", "bytes")

# The most lines that Python functions are given at a time, in bytes. Of more, a process keeps the memory of the objects
# that they make; of less, more pairs cross to the engine.
PART_BYTES = 256 << 10


def _every(every: str | float) -> tuple[str, float]:
    """Read how often answers are to be shown."""
    if isinstance(every, (int, float)):
        found = ("seconds", float(every))
    elif every.endswith("%"):
        try:
            found = ("part", float(every[:-1]) / 100)
        except ValueError:
            raise OptionError(
                f'every: {every!r}; write a part of the input as "5%"'
            ) from None
    else:
        found = ("bytes", float(byte_count("every", every) or 0))
    if not found[1] > 0 or (found[0] == "part" and found[1] > 1):
        raise OptionError(f"every: {every!r}; give more than 0, and 100% at most")
    return found


def _device_sizes() -> str | None:
    """Return the file that keeps sizes of units from run to run, as the program does.

    None where the environment names neither a folder of caches nor a home.
    """
    caches = os.environ.get("XDG_CACHE_HOME", "")
    home = os.environ.get("HOME", "")
    if not os.path.isabs(caches):
        if not os.path.isabs(home):
            return None
        caches = os.path.join(home, ".cache")
    return os.path.join(caches, "tegula", "device-units")


def _timeline(path: str | os.PathLike[str] | None) -> str | None:
    """Return the path of a timeline, whose ending says its form."""
    if path is None:
        return None
    name = os.fspath(path)
    if os.path.splitext(name)[1].lower() not in (".svg", ".json"):
        raise OptionError(f"timeline: {name}; give a file that ends in .svg or .json")
    return name


class Job(Frozen):
    """A job that has not run. It may be run several times. Made by the combines of `Pairs`, as `count` and `sum`.

    Attributes:
        pairs: the source and its map.
        combine: the name of the combine.
        columns: of an `agg`, the name, the combine and the entry of each column.
        reducer: the function of `reduce` or `merge`, and its further arguments; None of other combines.
    """

    pairs: Pairs
    combine: str
    columns: list[tuple[str, str, str | None]]
    reducer: Reducer | None

    def __init__(
        self,
        pairs: Pairs,
        combine: str,
        columns: list[tuple[str, str, str | None]] | None = None,
        reducer: Reducer | None = None,
    ) -> None:
        self._set(pairs=pairs, combine=combine, columns=columns or [], reducer=reducer)

    def run(
        self,
        *,
        top: int | None = None,
        order: Order | None = "key",
        workers: int | None = None,
        memory: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
        worker_memory: int | str | None = None,
        skip_bad: bool = False,
        devices: str | Sequence[str] | None = None,
        state: str | os.PathLike[str] | None = None,
        job: str | None = None,
        incremental: bool = False,
        version: str | None = None,
        progress: Progress = None,
        timeline: str | os.PathLike[str] | None = None,
        cancel: Cancel | None = None,
        engine: Engine | None = None,
        on: Cluster | None = None,
    ) -> Result:
        """Run the job and return its answer.

        top: keep only so many pairs, those with the greatest values (of an `agg`, of its first column). Of a `reduce`
            or a `merge`, the answers must be numbers; otherwise use `Result.top`.
        order: "key", "value" (greatest first), or None for whatever order costs nothing.
        workers: default: a worker for each processor.
        memory: a limit on the resident size of this process, in bytes or as "4G"; what does not fit goes to disk. It
            includes the buffers that are shared with the processes of a function, not the processes themselves.
        scratch: the folder for that; default: the system's folder for temporary files.
        worker_memory: a limit on the data of each process that runs a function of yours.
        devices: devices that work beside the cores, as `tegula wordcount --device` names them: "auto", "gpu", or a part
            of a name. `words().count()` has a kernel for them, as `tg.kmeans`, `tg.linreg` and `tg.histogram` have. The
            published wheel has no drivers: `maturin build --features opencl,cuda` adds them. Default: those of the
            engine.
        skip_bad: count bad records in `Result.stats` instead of failing at the first.
        state: a folder in which the run is saved under the name `job` as it goes, so that the same run, started
            again after a kill, computes only what is missing.
        incremental: find again what an earlier run of the state has mapped, though files came, went or changed.
        version: what the map is, instead of a digest of its code.
        progress: True or False for a bar; a function that is called with a dict four times a second; default: a
            bar on a terminal and in a notebook.
        timeline: a file that ends in .svg or .json, for a picture or a table of the work of each thread over time.
        cancel: stops the run from another thread.
        engine: whose workers and memory to use; then `workers`, `memory` and `scratch` are its own.
        on: the machines that do the work, as `tegula.ray` finds them; this process puts their pairs together. Default:
            this one. The answer is the same.

        Ctrl-C stops the run within a second; where native code or a function with `on="threads"` does not return, a
        second one ends this process. Raises `Error`, or what a function of yours raised.
        """
        limit = byte_count("worker_memory", worker_memory)
        plan = self._plan(top, order, skip_bad, limit)
        self._add_state(plan, state, job, incremental, version)
        self._add_devices(plan, devices, engine)
        plan["timeline"] = _timeline(timeline)
        is_ranked = self.reducer is None and (top is not None or order == "value")
        with (
            watching(progress) as watch,
            self._engine(workers, memory, scratch, engine) as chosen,
        ):
            shown = getattr(watch, "top", None) if is_ranked else None
            if on is None:
                answer = chosen._run(plan, watch, cancel, shown)
            else:
                if incremental:
                    raise OptionError("incremental: nodes keep no tiles apart")
                answer = on.run(
                    plan, lambda wires: chosen._run(plan, watch, cancel, None, wires)
                )
        return self._result(answer)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        format: Format | None = None,
        **options: Any,
    ) -> Result:
        """Run the job, write its answer to a file, and return it: `run(**options)` and `Result.write`."""
        result = self.run(**options)
        result.write(path, format=format)
        return result

    def write_parts(
        self,
        folder: str | os.PathLike[str],
        *,
        on: Cluster,
        format: Format = "tsv",
        skip_bad: bool = False,
        worker_memory: int | str | None = None,
        progress: Progress = None,
        timeline: str | os.PathLike[str] | None = None,
        cancel: Cancel | None = None,
        engine: Engine | None = None,
    ) -> dict[str, Any]:
        """Run the job on nodes, each of which writes its part of the answer, and return what `Result.stats` has.

        folder: where `part-00000.tsv`, `part-00001.tsv` and so on appear, when all are there. Each node must reach it by
            the same path; it must be empty, or not there yet. A key is in one part, and a part's keys are in no order.
        format: as that of `Result.write`.
        The others are those of `run`.

        Nothing of the answer is in the memory of this process. Jobs with `reduce` or `merge`, and `index`, are refused.
        """
        from tegula.parts import parts_of

        plan = self._plan(
            None, None, skip_bad, byte_count("worker_memory", worker_memory)
        )
        plan["timeline"] = _timeline(timeline)
        plan["parts"] = parts_of(self, folder, format)
        with (
            watching(progress) as watch,
            self._engine(None, None, None, engine) as chosen,
        ):
            answer = on.run(
                plan, lambda wires: chosen._run(plan, watch, cancel, None, wires)
            )
        return answer.stats()

    def explain(self) -> str:
        """Describe what a run would do, without running it: what is read, where the map runs, and what a state knows
        the job by.
        """
        from tegula.explain import explain

        return explain(self)

    def stream(
        self,
        *,
        every: str | float = "5%",
        top: int | None = None,
        in_order: bool = False,
        estimates: bool | None = None,
        workers: int | None = None,
        memory: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
        worker_memory: int | str | None = None,
        skip_bad: bool = False,
        devices: str | Sequence[str] | None = None,
        state: str | os.PathLike[str] | None = None,
        job: str | None = None,
        incremental: bool = False,
        version: str | None = None,
        progress: Progress = None,
        timeline: str | os.PathLike[str] | None = None,
        cancel: Cancel | None = None,
        engine: Engine | None = None,
    ) -> Iterator[Seen]:
        """Run the job and yield its answers so far, the last time those of the whole input.

        every: "5%" of the input, "100M" bytes of it, or a number of seconds.
        top: only the pairs with the greatest values, greatest first; default: all pairs, by key.
        in_order: let each show be of the first part of the input, up to some byte of it. Not with `incremental`, which
            begins with tiles from anywhere; devices do nothing then. A run that resumes makes its first show when all
            is mapped before the last split that was saved.
        estimates: whether shows have estimates of the values at the end, `Seen.estimate`; default: with `top`. Each key
            that is shown takes some hundred bytes for it, and part of a microsecond a show.

        A loop that is slower than the shows misses some. Leaving it stops the job; with a state, the next run goes on.
        The other arguments are those of `run`; progress is reported while the loop waits for a show.
        """
        if self.reducer is not None:
            raise OptionError(
                f"stream: {self.combine} has no answer before the end; use run"
            )
        how = _every(every)
        if top is not None and top < 1:
            raise OptionError(f"top: {top}; give at least 1")
        limit = byte_count("worker_memory", worker_memory)
        plan = self._plan(None, "key", skip_bad, limit)
        self._add_state(plan, state, job, incremental, version)
        self._add_devices(plan, devices, engine)
        plan["timeline"] = _timeline(timeline)
        shows = (*how, top, in_order)
        is_estimated = top is not None if estimates is None else estimates
        on = (workers, memory, scratch, engine)
        return self._seen(plan, shows, is_estimated, progress, cancel, on)

    def _seen(
        self,
        plan: dict[str, Any],
        shows: tuple[str, float, int | None, bool],
        is_estimated: bool,
        progress: Progress,
        cancel: Cancel | None,
        on: tuple[Any, Any, Any, Engine | None],
    ) -> Iterator[Seen]:
        from tegula.seen import Seen

        kinds = [kind for _, kind, _ in self.columns] or [self.combine]
        adding = [place for place, kind in enumerate(kinds) if kind in ("count", "sum")]
        estimates = _tegula.Estimates(adding)
        with watching(progress) as watch, self._engine(*on) as chosen:
            stream = chosen._stream(plan, shows, watch, cancel)
            try:
                while (seen := stream.next()) is not None:
                    if isinstance(seen, _tegula.Failure):
                        raise_failure(seen)
                    estimated: _tegula.Estimated | str | None = None
                    planned = seen.bytes if seen.is_last else seen.bytes_planned
                    if not adding:
                        estimated = f"the values of {self.combine} do not add up"
                    elif not is_estimated:
                        estimated = "give top= or estimates=True to stream"
                    elif planned is not None:
                        estimated = estimates.add(seen.answer, seen.bytes, planned)
                    yield Seen(seen, self._result(seen.answer), estimated)
            finally:
                stream.stop()

    def _saved(
        self,
        engine: Engine,
        state: str | os.PathLike[str],
        job: str,
        top: int | None,
        order: Order | None,
        version: str | None,
    ) -> Result:
        """Return the answer of what a run of this job has saved so far: see `Engine.saved`."""
        if self.pairs.plan["kind"] in ("kmeans", "linreg", "histogram"):
            raise OptionError("saved: this job has no answer before its end")
        plan = self._plan(top, order, False, None)
        self._add_state(plan, state, job, False, version)
        plan["source"] = {"kind": "parts", "parts": []}
        plan["is_saved"] = True
        return self._result(engine._run(plan, None))

    def _result(self, answer: _tegula.Answer) -> Result:
        names = [name for name, _, _ in self.columns]
        is_reduced = self.reducer is not None
        decode, is_made_here = self._decode()
        result = Result(answer, names, decode, is_reduced, is_made_here)
        if self.pairs.plan["kind"] == "index":
            from tegula.ready import places

            result._decode, result._is_made_here = places(result), True
        return result

    def _engine(
        self,
        workers: int | None,
        memory: int | str | None,
        scratch: str | os.PathLike[str] | None,
        engine: Engine | None,
    ) -> Lent | Engine:
        """Return the context of a run, which gives its engine: the one that is named, the usual one, or one of its own."""
        engine = engine or self.pairs.source.engine
        is_special = workers is not None or memory is not None or scratch is not None
        if engine is not None:
            if is_special:
                raise OptionError(
                    "workers, memory and scratch are those of the engine that is given"
                )
            return Lent(engine)
        if is_special:
            return Engine(workers=workers, memory=memory, scratch=scratch)
        return Lent(usual_engine())

    def _plan(
        self,
        top: int | None,
        order: Order | None,
        skip_bad: bool,
        worker_memory: int | None,
    ) -> dict[str, Any]:
        if top is not None and top < 0:
            raise OptionError(f"top: {top}; give 0 or more")
        if order not in ("key", "value", None):
            raise OptionError(f'order: {order!r}; give "key", "value" or None')
        pairs = self.pairs
        combine: dict[str, Any] = {"kind": self.combine}
        if self.combine == "agg":
            combine["columns"] = [(name, kind) for name, kind, _ in self.columns]
        elif self.combine == "own":
            combine["names"] = [name for name, _, _ in self.columns]
        plan: dict[str, Any] = {
            "source": pairs.source.plan,
            "map": dict(pairs.plan),
            "combine": combine,
            "keys": pairs.keys,
            "order": order,
            "top": top,
            "skip_bad": skip_bad,
            "plain": pairs.source.plain,
            "tile_bytes": None,
            "split_bytes": None,
            "part_bytes": None,
            "state": None,
            "identity": None,
            "reduces": self.reducer is not None,
            "is_saved": False,
            "timeline": None,
            "parts": None,
            "reducer": None,
            "devices": [],
            "device_sizes": None,
        }
        if pairs.program is not None:
            if pairs.program["style"] in ("record", "split"):
                plan["part_bytes"] = PART_BYTES
            self._add_function(
                plan, plan["map"], pairs.program, skip_bad, worker_memory
            )
        elif self.reducer is not None:
            plan["reducer"] = {"kind": "processes"}
            program = {"style": "none", "function": None, "args": ()}
            program.update(cut=None, encoding=None)
            self._add_function(plan, plan["reducer"], program, False, worker_memory)
        elif worker_memory is not None:
            raise OptionError("worker_memory: this job starts no processes")
        return plan

    def _add_devices(
        self,
        plan: dict[str, Any],
        devices: str | Sequence[str] | None,
        engine: Engine | None,
    ) -> None:
        kinds = ("words", "kmeans", "linreg", "histogram")
        has_kernel = self.pairs.plan["kind"] in kinds and self.reducer is None
        if devices is not None and not has_kernel:
            raise OptionError("devices: no device has a kernel for this job")
        on = engine or self.pairs.source.engine
        if devices is None and on is not None and has_kernel:
            devices = on._devices
        if devices is None:
            return
        plan["devices"] = [devices] if isinstance(devices, str) else list(devices)
        plan["device_sizes"] = _device_sizes()

    def _add_state(
        self,
        plan: dict[str, Any],
        state: str | os.PathLike[str] | None,
        job: str | None,
        incremental: bool,
        version: str | None,
    ) -> None:
        if state is None:
            if job is not None or incremental or version is not None:
                raise OptionError(
                    "job, incremental and version are of a state: name its folder, state=..."
                )
            return
        # It takes part of a tenth of a second to import, which most runs do without.
        from tegula.identity import followed
        from tegula.imported import imported
        from tegula.requests import request

        if job is None:
            raise OptionError('state: name the job, as job="archive"')
        pairs = self.pairs
        about = request(pairs.plan, self.combine)
        plan["state"] = (os.fspath(state), job, incremental, about)
        # A reduce has no part in what is saved, which are the values.
        combine = "collect" if self.combine == "reduce" else self.combine
        said = {key: value for key, value in pairs.plan.items() if key in _SAID}
        fields = [
            ("map", repr(said)),
            ("cut", repr(pairs.source.cut)),
            ("combine", repr((combine, self.columns))),
        ]
        names: set[tuple[str, str]] = set()

        def add(kind: str, function: Any, args: tuple[Any, ...]) -> None:
            if version is not None:
                fields.append((kind, f"version {version}"))
                return
            found = followed(function, args)
            fields.append((kind, found.digest))
            names.update(found.imported)

        if pairs.program is not None:
            program = pairs.program
            style = [
                str(program[name]) for name in ("style", "encoding", "dtype", "shape")
            ]
            fields.append(("style", repr(style)))
            # The form of keys, which `_packing.py` writes.
            fields.append(("form of keys", "2"))
            add("code", program["function"], program["args"])
            for setup in (program["setup"], program["per_worker"]):
                if setup is not None:
                    add("setup", setup, ())
        elif pairs.plan["kind"] == "native":
            fields.append(("code", pairs.native_identity(version)))
            if version is not None:
                plan["map"]["library"] = None
        elif version is not None and self.combine != "merge":
            raise OptionError(
                "version: this map is the engine's own, and has its own version"
            )
        if self.combine == "merge" and self.reducer is not None:
            add("merge", *self.reducer)
        where = plan.get("reducer") or plan.get("map")
        if names and where is not None and where["kind"] == "processes":
            where["program"]["imported"] = imported(names)
        plan["identity"] = fields

    def _add_function(
        self,
        plan: dict[str, Any],
        where: dict[str, Any],
        program: dict[str, Any],
        skip_bad: bool,
        worker_memory: int | None,
    ) -> None:
        from tegula.functions import InThreads, setting

        if skip_bad and program["style"] != "record":
            raise OptionError(
                "skip_bad: a function of many records cannot say which is bad; use map"
            )
        program = {
            **program,
            "combine": self.combine,
            "columns": self.columns,
            "skip_bad": skip_bad,
            "keys": plan["keys"],
        }
        if self.reducer is not None:
            program["reducer"], program["reducer_args"] = self.reducer
            is_own = self.pairs.program is None
            program["values"] = self.pairs.keys if is_own else "pickled"
        if where["kind"] == "threads":
            if worker_memory is not None:
                raise OptionError(
                    "worker_memory: functions in threads have the memory of this process"
                )
            where["callable"] = InThreads(program)
            return
        # Pickled when the run begins.
        where.update(setting=setting(worker_memory), program=program)

    def _decode(self) -> tuple[Callable[[bytes], Any] | None, bool]:
        """Return what makes values of their bytes, and whether no other library can."""
        if self.reducer is None and self.combine != "collect":
            return None, False
        if self.reducer is not None or self.pairs.program is not None:
            import pickle

            return pickle.loads, True
        if self.pairs.keys == "text":
            return lambda value: value.decode("utf-8", "surrogateescape"), False
        return bytes, False
