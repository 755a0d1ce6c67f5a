"""The job's file, loaded for tasks: in a process that forks them, with the variables that they have alike.

It is sent to companions by value, as `task.py` is, so it must import nothing of this package but by value.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tegula.mrjob.chance import Chance
from tegula.mrjob.ends import flush_logs, handlers, own
from tegula.mrjob.process import settled, standard
from tegula.mrjob.threads import await_work, pools, renew, warn_of_others


class JobFile:
    """The file that has a job's class.

    Attributes:
        where: the path of the file, the name of its module, and that of the class.
        environment: the variables that all tasks have alike.
        has_interrupts: whether the program heeds SIGINT, as its tasks do then.
        kind: the class; none before the file is loaded, also where this is sent to another process.
    """

    def __init__(
        self,
        where: tuple[str, str, str],
        environment: dict[str, str],
        kind: Any = None,
        chance: Chance | None = None,
    ) -> None:
        self.where = where
        self.environment = environment
        self.kind = kind
        self._chance = chance
        # A shell starts programs in the background such that they ignore it.
        self.has_interrupts = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
        # Those that there are as tasks begin.
        self.files: list[Any] = []
        self._pools: list[Any] = []
        self._has_waited = False

    def load(self) -> None:
        """Load the class, where the program was started."""
        script, module, name = self.where
        # Standard output is a file in tasks.
        with contextlib.suppress(AttributeError):
            sys.stdout.reconfigure(line_buffering=False)  # type: ignore[union-attr]
        self._chance = Chance()
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
            self._chance.watched(),
        ):
            if module == "__main__":
                sys.path.insert(0, os.path.dirname(script))
            # An interpreter that is started has them behind the folder of its program.
            sys.path[1:1] = added(usual_path, os.environ.get("PYTHONPATH", ""))
            try:
                if module == "__main__":
                    loaded = loaded_file(script)
                else:
                    loaded = importlib.import_module(module)
            except SystemExit as error:
                raise RuntimeError(
                    f"{script}: the program ends as the job's file is loaded: put that below "
                    'if __name__ == "__main__":'
                ) from error
            flush_logs(handlers())
        self._chance.settle()
        self.kind = getattr(loaded, name)
        self.settle()
        warn_of_others(self._pools)

    def settle(self) -> None:
        """Prepare for forks, which find open files and pools of threads as they are now. Work of pools counts as the file's the
        first time alone; later it is the program's own.
        """
        self._pools = pools()
        if not self._has_waited:
            await_work(self._pools)
        self._has_waited = True
        self.files = settled()

    def begin_task(self, folder: str, environment: dict[str, str]) -> None:
        """Give a task its folder, its variables and all that a process has of its own, in its fork."""
        os.environ.update(environment)
        os.chdir(folder)
        # The folder may be given as one below that where the program was started.
        sys.path.insert(0, os.getcwd())
        assert self._chance is not None
        self._chance.begin()
        renew(self._pools)
        # A worker leaves it to its program to end it. What a task starts would ignore the signal, too.
        if self.has_interrupts and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def end(self) -> None:
        """Do what is to be done at the end of a process that has loaded the file, as to remove temporary folders."""
        if self._chance is None:
            return
        with open(os.devnull, "wb") as null, standard({1: null}):
            atexit._run_exitfuncs()

    def __getstate__(self) -> dict[str, Any]:
        own: dict[str, Any] = {"kind": None, "_chance": None, "files": [], "_pools": []}
        return {**self.__dict__, **own, "_has_waited": False}


def added(usual: str, path: str) -> list[str]:
    """Return the folders that a path of modules has and the usual one has not."""
    before = usual.split(os.pathsep)
    folders = [one for one in path.split(os.pathsep) if one and one not in before]
    return [os.path.abspath(folder) for folder in folders]


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
