"""The runner: mrjob's own, with the map, the combiner and the sort of a step done by the engine.

mrjob parses the job's options, brings its files, makes the folders and the environment of tasks, and runs reducers; they
run side by side, in a process each. Steps that the engine cannot take run as mrjob's `local` runner runs them: those of
commands, those without a reducer, and those whose mapper asks for the path of its file among several.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import cloudpickle
from mrjob import job as mrjob_job
from mrjob import options as mrjob_options
from mrjob.inline import InlineMRJobRunner
from mrjob.job import MRJob
from mrjob.local import LocalMRJobRunner
from mrjob.step import StepFailedException

import tegula as tg
from tegula.mrjob import task as task_module
from tegula.mrjob.task import COUNTER, PAIR, MapTask

ALIAS = "tegula"

# About the bytes of a task's lines. A combiner sees the pairs of a task together, so larger tasks have fewer pairs that
# cross to the engine and that reducers read. Of a small input, each worker gets some tasks.
TASK_BYTES_LEAST = 256 << 10
TASK_BYTES_MOST = 2 << 20
TASKS_PER_WORKER = 4

# How programs ask for the path of the file that they map.
ASKS_FOR_FILE = ("input_file", "input.file")


class TegulaRunner(LocalMRJobRunner):  # type: ignore[misc]
    """Runs a job on this machine's engine."""

    alias = ALIAS

    def __init__(self, mrjob_cls: type[MRJob] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._mrjob_cls = mrjob_cls
        # What the inline runner's tasks note.
        self._error_while_reading_from: str | None = None

    def _run_streaming_step(self, step: dict[str, Any], step_num: int) -> None:
        paths = list(self._input_paths_for_step(step_num))
        if not self._is_for_engine(step, step_num, paths):
            super()._run_streaming_step(step, step_num)
            return
        try:
            self._create_dist_cache_dir(step_num)
            self.fs.mkdir(self._output_dir_for_step(step_num))
            self._map_and_sort(step, step_num, paths)
            self._run_reducers(step_num, self._split_reducer_input(step_num))
        finally:
            self._log_counters(step_num)

    def _is_for_engine(
        self, step: dict[str, Any], step_num: int, paths: list[str]
    ) -> bool:
        tasks = [
            step[kind] for kind in ("mapper", "combiner", "reducer") if kind in step
        ]
        if (
            self._mrjob_cls is None
            or "reducer" not in step
            or step.get("mapper", {}).get("type") != "script"
            or not all(_is_script(task) for task in tasks)
            or (step_num == 0 and self._uses_input_manifest())
            or self._has_setup()
        ):
            return False
        script = self._mrjob_cls.mr_job_script()
        if script is None:
            return False
        source = Path(script).read_text(encoding="utf-8", errors="replace")
        return len(paths) == 1 or not any(text in source for text in ASKS_FOR_FILE)

    def _has_setup(self) -> bool:
        """Whether a shell prepares tasks."""
        return bool(self._opts.get("setup"))

    def _map_and_sort(
        self, step: dict[str, Any], step_num: int, paths: list[str]
    ) -> None:
        """Let the engine map, combine and sort, and write the input of the reducers where mrjob looks for it."""
        assert self._mrjob_cls is not None
        script = os.path.abspath(self._mrjob_cls.mr_job_script())
        size = sum(os.path.getsize(path) for path in paths)
        whole = (
            {"file": os.path.abspath(paths[0]), "start": 0, "length": size}
            if paths
            else None
        )
        kind = self._mrjob_cls
        task = MapTask(
            (script, kind.__module__, kind.__qualname__),
            self._args_for_task(step_num, "mapper"),
            step_num,
            "combiner" in step,
            dict(self._env_for_task("mapper", step_num, 0, whole)),
            os.path.abspath(self._setup_working_dir("mapper", step_num, 0)),
        )
        share = size // (TASKS_PER_WORKER * self._num_cores())
        mapped = tg.text(*paths).map_split(task)
        assert mapped.program is not None
        mapped.program["task_bytes"] = min(
            max(share, TASK_BYTES_LEAST), TASK_BYTES_MOST
        )
        cloudpickle.register_pickle_by_value(task_module)
        try:
            answer = mapped.collect().run(
                workers=self._opts.get("num_cores"), progress=False
            )
        finally:
            cloudpickle.unregister_pickle_by_value(task_module)
        to = Path(self._sorted_reducer_input_path(step_num))
        to.parent.mkdir(parents=True, exist_ok=True)
        counters = self._counters[step_num]
        with to.open("wb") as sorted_input:
            for key, values in answer:
                if key[:1] == COUNTER:
                    group, _, name = key[1:].decode("utf-8", "replace").partition(",")
                    of_group = counters.setdefault(group, {})
                    of_group[name] = of_group.get(name, 0) + sum(map(int, values))
                    continue
                assert key[:1] == PAIR
                found = key[1:]
                for value in sorted(values) if self._sort_values else values:
                    sorted_input.write(found + value + b"\n")

    def _invoke_task_func(
        self, task_type: str, step_num: int, task_num: int
    ) -> Callable[..., Any]:
        """Run tasks that are Python's in this process, or in a fork of it, instead of starting an interpreter each."""
        step = self._get_step(step_num)
        if (
            self._mrjob_cls is None
            or self._has_setup()
            or not _is_script(step[task_type])
        ):
            return super()._invoke_task_func(task_type, step_num, task_num)  # type: ignore[no-any-return]
        return InlineMRJobRunner._invoke_task_func(self, task_type, step_num, task_num)  # type: ignore[no-any-return]

    def _run_multiple(
        self, funcs: Iterable[Callable[[], None]], num_processes: int | None = None
    ) -> None:
        """Run tasks side by side, in forks of this process. The first that fails, in their order, ends the job."""
        left = list(funcs)
        most = num_processes or self._num_cores()
        while left:
            these, left = left[:most], left[most:]
            children = [_forked(task) for task in these]
            codes = [
                os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children
            ]
            for code in codes:
                if code:
                    raise StepFailedException(f"a task ended with exit code {code}")


def _is_script(task: dict[str, Any]) -> bool:
    return task["type"] == "script" and "pre_filter" not in task


def _forked(task: Callable[[], None]) -> int:
    """Run a task in a fork of this process, and return the fork's number."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        task()
        code = 0
    except SystemExit as ended:
        code = (
            ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        )
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 0xFF)


def make_usual() -> None:
    """Let jobs of this process run by the engine, unless they name another runner."""
    mrjob_options._RUNNER_ALIASES.add(ALIAS)
    kwargs_of = MRJob._runner_kwargs

    def runner_class(self: Any) -> Any:
        if self.options.runner in (None, ALIAS):
            return TegulaRunner
        return mrjob_job._runner_class(self.options.runner)

    def runner_kwargs(self: Any) -> dict[str, Any]:
        kwargs: dict[str, Any] = kwargs_of(self)
        if self._runner_class() is TegulaRunner:
            kwargs["mrjob_cls"] = type(self)
        return kwargs

    MRJob._runner_class = runner_class
    MRJob._runner_kwargs = runner_kwargs
