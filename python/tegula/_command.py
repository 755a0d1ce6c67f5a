"""The command `tegula`: the command line's own library, which is in the native module.

It ends as the program that `make build` makes ends: its exit codes, and what signals and closed pipes do, are those.
"""

from __future__ import annotations

import os
import signal
import sys

from tegula import _tegula


def main() -> int:
    """Carry out the command line of this process, and return its exit code."""
    # Python's own handlers only note a signal, for code in Python that is not running. Ignored signals stay ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Python ignores it, as Rust's programs do not: a file that exceeds its limit ends them.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    # What carries messages over Ray for `--nodes ray://...` runs in the same interpreter.
    os.environ.setdefault("TEGULA_PYTHON", sys.executable)
    return _tegula.command(["tegula", *sys.argv[1:]])
