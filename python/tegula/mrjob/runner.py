"""The runner: mrjob's own, with the map, the combiner and the sort of a step done by the engine.

mrjob parses the job's options, brings its files, makes the folders and the environment of tasks, and runs reducers; they
run side by side, in a process each. Steps that the engine cannot take run as mrjob's `local` runner runs them: those of
commands, those without a reducer, and those that a shell prepares.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
from mrjob import job as mrjob_job
from mrjob import options as mrjob_options
from mrjob.job import MRJob
from mrjob.local import LocalMRJobRunner, _TaskFailedException
from mrjob.sim import _run_task
from mrjob.step import StepFailedException

import tegula as tg
from tegula import _zygote
from tegula.mrjob import chance, ends, loaded, process, scripts, task, threads
from tegula.mrjob.chance import Chance
from tegula.mrjob.loaded import JobFile
from tegula.mrjob.pieces import Piece, pieces
from tegula.mrjob.process import ending
from tegula.mrjob.scripts import ScriptTask, ended, ended_anew
from tegula.mrjob.task import COUNTER, PAIR, MapTask
from tegula.sources import Source

ALIAS = "tegula"

# What these define is sent to processes that do not import them. Jobs may run side by side in threads, so it stays so.
for _module in (task, scripts, loaded, process, ends, threads, chance, _zygote):
    cloudpickle.register_pickle_by_value(_module)


class TegulaRunner(LocalMRJobRunner):  # type: ignore[misc]
    """Runs a job on this machine's engine."""

    alias = ALIAS

    def __init__(
        self,
        mrjob_cls: type[MRJob] | None = None,
        numbers: Chance | None = None,
        **kwargs: Any,
    ) -> None:
        # As a job is run, its file is loaded.
        self._chance = numbers or Chance()
        self._chance.settle()
        super().__init__(**kwargs)
        self._mrjob_cls = mrjob_cls
        self._file = self._of_program()

    def _run_streaming_step(self, step: dict[str, Any], step_num: int) -> None:
        if not self._is_for_engine(step, step_num):
            super()._run_streaming_step(step, step_num)
            return
        try:
            self._create_dist_cache_dir(step_num)
            self.fs.mkdir(self._output_dir_for_step(step_num))
            self._map_and_sort(step, step_num)
            self._run_reducers(step_num, self._split_reducer_input(step_num))
        except StepFailedException as error:
            self._log_cause_of_error(error)
            raise
        finally:
            self._log_counters(step_num)

    def _is_for_engine(self, step: dict[str, Any], step_num: int) -> bool:
        tasks = [
            step[kind] for kind in ("mapper", "combiner", "reducer") if kind in step
        ]
        return (
            self._mrjob_cls is not None
            and self._mrjob_cls.mr_job_script() is not None
            and "reducer" in step
            and step.get("mapper", {}).get("type") == "script"
            and all(_is_script(task) for task in tasks)
            and not (step_num == 0 and self._uses_input_manifest())
            and not self._has_setup()
        )

    def _has_setup(self) -> bool:
        """Whether a shell prepares tasks."""
        return bool(self._opts.get("setup") or self._opts.get("py_files"))

    def _map_and_sort(self, step: dict[str, Any], step_num: int) -> None:
        """Let the engine map, combine and sort, and write the input of the reducers where mrjob looks for it."""
        cut = pieces(
            list(self._input_paths_for_step(step_num)),
            Path(self._step_dir(step_num), "decompressed"),
            self._num_cores(),
        )
        to = Path(self._sorted_reducer_input_path(step_num))
        to.parent.mkdir(parents=True, exist_ok=True)
        with to.open("wb") as sorted_input:
            # The engine has no answer to no input.
            for key, values in self._mapped(step, step_num, cut) if cut else ():
                if key[:1] == COUNTER:
                    self._count(step_num, key[1:], values)
                    continue
                assert key[:1] == PAIR
                found = key[1:]
                for value in sorted(values) if self._sort_values else values:
                    sorted_input.write(found + value + b"\n")

    def _mapped(
        self, step: dict[str, Any], step_num: int, cut: list[Piece]
    ) -> tg.Result:
        """Return the lines of all map tasks by their keys, and the counters."""
        usual = self._usual_environment(step_num)
        map_task = MapTask(
            JobFile(self._where(), usual),
            {
                task_type: self._args_for_task(step_num, task_type)
                for task_type in ("mapper", "combiner")
                if task_type in step
            },
            step_num,
            bool(self._sort_values),
        )
        parts = [
            self._part(step_num, number, piece, usual)
            for number, piece in enumerate(cut)
        ]
        # Each part is a record, and a piece of work for a worker.
        source = Source({"kind": "parts", "parts": parts}, "whole", None, plain=True)
        pairs = source.map_split(map_task)
        assert pairs.program is not None
        pairs.program["end_worker"] = map_task.file.end
        try:
            workers = self._opts.get("num_cores")
            return pairs.collect().run(workers=workers, progress=False)
        except Exception as error:
            # The task has told its own place.
            error.__notes__ = [
                note
                for note in getattr(error, "__notes__", ())
                if not note.startswith("in batch ")
            ]
            raise

    def _where(self) -> tuple[str, str, str]:
        """Return where the job's class is."""
        kind = self._mrjob_cls or MRJob
        path = os.path.abspath(kind.mr_job_script() or "")
        return path, kind.__module__, kind.__qualname__

    def _of_program(self) -> JobFile:
        """Return the job's file as the program has loaded it."""
        return JobFile(self._where(), {}, self._mrjob_cls, self._chance)

    def _part(
        self, step_num: int, number: int, piece: Piece, usual: dict[str, str]
    ) -> bytes:
        """Return what a map task is told of its piece, and make its folder and that of its combiner."""
        own = {}
        for task_type in ("mapper", "combiner"):
            if task_type in self._get_step(step_num):
                folder = self._setup_working_dir(task_type, step_num, number)
                environment = self._environment(task_type, step_num, number, piece)
                differs = environment.items() - usual.items()
                own[task_type] = (os.path.abspath(folder), dict(differs))
        return pickle.dumps((piece.file, piece.content, piece.start, piece.length, own))

    def _usual_environment(self, step_num: int) -> dict[str, str]:
        """Return the variables that all map tasks of a step and their combiners have alike."""
        one = self._environment("mapper", step_num, 0, Piece("a", "", 0, 0))
        other = self._environment("combiner", step_num, 1, Piece("b", "", 1, 1))
        return dict(one.items() & other.items())

    def _environment(
        self, task_type: str, step_num: int, number: int, piece: Piece
    ) -> dict[str, str]:
        split = {"file": piece.file, "start": piece.start, "length": piece.length}
        return dict(self._env_for_task(task_type, step_num, number, split))

    def _count(self, step_num: int, counter: bytes, amounts: list[bytes]) -> None:
        group, _, name = counter.decode("utf-8", "replace").partition(",")
        of_group = self._counters[step_num].setdefault(group, {})
        of_group[name] = of_group.get(name, 0) + sum(map(int, amounts))

    def _invoke_task_func(
        self, task_type: str, step_num: int, task_num: int
    ) -> Callable[..., Any]:
        """Run tasks that are Python's in a fork, instead of starting an interpreter each."""
        step = self._get_step(step_num)
        if (
            self._mrjob_cls is None
            or self._has_setup()
            or not _is_script(step[task_type])
        ):
            return super()._invoke_task_func(task_type, step_num, task_num)  # type: ignore[no-any-return]
        is_mapper = task_type == "mapper"
        return ScriptTask(
            self._file,
            self._args_for_task(step_num, task_type),
            is_mapper and step_num == 0 and self._uses_input_manifest(),
            # Otherwise the combiner would run in the mapper's process.
            is_mapper and "combiner" in step,
        )

    def _run_multiple(
        self, funcs: Iterable[Callable[[], None]], num_processes: int | None = None
    ) -> None:
        """Run tasks side by side, in forks. The first that fails, in their order, ends the job."""
        self._file = self._of_program()
        tasks = list(funcs)
        most = num_processes or self._num_cores()
        parts = [part for one in tasks for part in _parts(one)]
        scripts = [part for part in parts if isinstance(part.args[0], ScriptTask)]
        if scripts and self._gives_variables(scripts[0].args[2]):
            variables = [set(part.args[-1].items()) for part in scripts]
            self._file.environment = dict(set.intersection(*variables))
            codes = ended_anew(self._file, tasks, most)
        else:
            self._file.settle()
            codes = ended(tasks, most)
        for one, code in zip(tasks, codes, strict=False):
            if code:
                raise self._failure(one, ending(code))

    def _gives_variables(self, step_num: int) -> bool:
        """Whether the job gives the tasks of a step variables that its program has not."""
        jobconf = self._get_step(step_num).get("jobconf")
        has_any = self._cmdenv() or self._opts["jobconf"] or jobconf
        return bool(has_any and self._mrjob_cls and self._mrjob_cls.mr_job_script())

    def _failure(self, task: Callable[[], None], how: str) -> StepFailedException:
        """Return what says which task has failed: a mapper and its combiner are one piece of work."""
        places = [part.args[1:4] for part in _parts(task)]
        begun = [one for one in places if os.path.exists(self._task_stderr_path(*one))]
        if not begun:
            return StepFailedException(f"a task {how}")
        task_type, step_num, number = begun[-1]
        return _TaskFailedException(
            f"{task_type} {number} {how}",
            step_num=step_num,
            num_steps=self._num_steps(),
            task_type=task_type,
            task_num=number,
        )


def _parts(task: Callable[[], None]) -> list[partial[None]]:
    """Return the calls of a piece of work: one, or that of a mapper and that of its combiner."""
    parts = [task, *getattr(task, "args", ())]
    return [
        part for part in parts if isinstance(part, partial) and part.func is _run_task
    ]


def _is_script(task: dict[str, Any]) -> bool:
    return task["type"] == "script" and "pre_filter" not in task


def make_usual(numbers: Chance | None = None) -> None:
    """Let jobs of this process run by the engine, unless they name another runner. `numbers` are those of the job's file."""
    mrjob_options._RUNNER_ALIASES.add(ALIAS)
    kwargs_of = MRJob._runner_kwargs

    def runner_class(self: Any) -> Any:
        if self.options.runner in (None, ALIAS):
            return TegulaRunner
        return mrjob_job._runner_class(self.options.runner)

    def runner_kwargs(self: Any) -> dict[str, Any]:
        kwargs: dict[str, Any] = kwargs_of(self)
        if self._runner_class() is TegulaRunner:
            kwargs.update(mrjob_cls=type(self), numbers=numbers)
        return kwargs

    MRJob._runner_class = runner_class
    MRJob._runner_kwargs = runner_kwargs
