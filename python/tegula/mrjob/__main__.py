"""`python -m tegula.mrjob job.py input...`: the job, with mrjob's own options; `-r` still names another runner."""

from __future__ import annotations

import os
import runpy
import signal
import sys

from tegula.mrjob.chance import Chance

USAGE = (
    "usage: python -m tegula.mrjob job.py [input ...] [options of mrjob and of the job]"
)


def main() -> None:
    """Run a job's file as a program, with the engine as the usual runner."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(USAGE)
    try:
        from tegula.mrjob.runner import make_usual
    except ImportError as error:
        sys.exit(f"tegula.mrjob: {error}; pip install 'tegula[mrjob]'")
    numbers = Chance()
    make_usual(numbers)
    # If the parent ignores it, the system takes the exit codes of tasks away.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    script = sys.argv[1]
    sys.argv[:] = sys.argv[1:]
    # As `python job.py` has it: the first folder of modules is the job's.
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    with numbers.watched():
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
