"""The process of a Python job of a server: `python -P -m tegula._served FLAGS PROGRAM`.

It is told what to do by the flags that the command line's jobs have, tells on `--events` what it does and obeys on
`--control` (docs/events.md). PROGRAM has the job and the options of its run, as `server.py` writes them.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import json
import os
import pickle
import select
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from tegula.engine import Cancel
from tegula.errors import Error, Interrupted, OptionError
from tegula.lines import line_of

# Exit codes, those of the command line.
_FAILED, _WRONG, _INTERRUPTED = 1, 2, 130
_PR_SET_PDEATHSIG = 1
# How often the pairs so far are told, in seconds, and the most of them.
_SHOW_EVERY = 2.0
_SHOWN, _SHOWN_MOST = 10, 100


class Events:
    """What the process tells, a line each. It is what a run calls with its readings, too."""

    def __init__(self, fd: int, columns: list[str], top: int | None) -> None:
        self._out = os.fdopen(os.dup(fd), "wb", buffering=0)
        self._began = time.monotonic()
        self._columns = columns
        self.top = min(top or _SHOWN, _SHOWN_MOST)
        """The number of pairs that readings have of a job that ranks them."""
        self._shows = 0
        self._shown_s = 0.0

    def tell(self, event: str, **fields: Any) -> None:
        """Write a line. A reader that has gone away does not end the job."""
        at_s = round(time.monotonic() - self._began, 3)
        line = json.dumps({"event": event, "at_s": at_s, **fields}) + "\n"
        with suppress(OSError):
            self._out.write(line.encode())

    def __call__(self, reading: dict[str, Any]) -> None:
        """Tell a reading. It is left out if the reader has no room for it."""
        if not select.select([], [self._out], [], 0)[1]:
            return
        own = os.times()
        self.tell(
            "progress",
            stage=reading["stage"],
            bytes_planned=reading["bytes_planned"],
            bytes_done=reading["bytes_done"],
            bytes_per_s=reading["bytes_per_second"],
            left_s=reading["seconds_left"],
            keys_held=reading["keys"],
            memory_bytes=reading["memory_bytes"],
            cpu_s=own.user + own.system + own.children_user + own.children_system,
        )
        now_s = time.monotonic() - self._began
        if reading.get("top") and now_s >= self._shown_s + _SHOW_EVERY:
            self._shown_s = now_s
            self._shows += 1
            planned, done = reading["bytes_planned"], reading["bytes_done"]
            self.tell(
                "show",
                show=self._shows,
                part=done / planned if planned else None,
                bytes=done,
                bytes_planned=planned,
                elapsed_s=now_s,
                keys=None,
                is_last=False,
                pairs=[line_of(key, one, self._columns) for key, one in reading["top"]],
            )


def _obey(fd: int, cancel: Cancel, events: Events) -> None:
    """Carry out commands, until their file ends."""
    holds = False
    for line in os.fdopen(os.dup(fd), "rb"):
        try:
            command = json.loads(line)
        except ValueError:
            command = None
        if command == {"cancel": True}:
            cancel.cancel()
        elif command == {"hold": True}:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            holds = True
        else:
            said = line.decode(errors="replace").strip()
            events.tell("refused", line=said, cause='give "cancel" or "hold"')
    if holds:
        # Whoever held this process is gone.
        os.kill(os.getpid(), signal.SIGKILL)


def _loaded(program: Path) -> tuple[Any, dict[str, Any], str]:
    """Return the job, the options of its run, and what its function is."""
    version, digest, text = program.read_text().split()
    own = ".".join(map(str, sys.version_info[:2]))
    if version != own:
        raise OptionError(
            f"the job is of Python {version}, and this server runs Python {own}: submit it from that version, or start "
            "the server with --python"
        )
    job, options = pickle.loads(base64.b64decode(text))
    has_code = job.pairs.program is not None or job.combine == "merge"
    return job, options, digest if has_code else ""


def _run(flags: argparse.Namespace) -> int:
    """Run the job; return the exit code."""
    cancel = Cancel()
    job, options, version = _loaded(flags.program)
    events = Events(flags.events, [name for name, _, _ in job.columns], options["top"])
    watching = threading.Thread(
        target=_obey, args=(flags.control, cancel, events), daemon=True
    )
    watching.start()
    begin = {"tiles": False, "shares": False, "shows": True, "workers": flags.workers}
    events.tell("begin", pid=os.getpid(), command=sys.argv, **begin)
    if flags.state is not None:
        options |= {"state": flags.state, "job": flags.job, "version": version or None}
    code, message, answer = 0, None, None
    try:
        result = job.run(
            workers=flags.workers,
            memory=flags.memory,
            scratch=flags.scratch,
            timeline=flags.timeline,
            progress=events,
            cancel=cancel,
            **options,
        )
        from tegula import _tegula

        file = _tegula.AtomicFile(flags.output)
        for key, value in result:
            file.write(
                (json.dumps(line_of(key, value, result.columns)) + "\n").encode()
            )
        file.commit()
        events.tell("stats", stats=result.stats)
        answer = {"path": str(flags.output), "bytes": flags.output.stat().st_size}
    except Interrupted:
        code, message = _INTERRUPTED, "interrupted"
    except Exception as error:
        code = _WRONG if isinstance(error, OptionError) else _FAILED
        name = "" if isinstance(error, Error) else f"{type(error).__name__}: "
        places = [note for note in getattr(error, "__notes__", []) if note[:3] == "in "]
        message = f"{name}{error}" + "".join(f", {place}" for place in places[:1])
        traceback.print_exc()
    result_of = {0: "done", _INTERRUPTED: "cancelled"}.get(code, "failed")
    events.tell("end", result=result_of, code=code, message=message, answer=answer)
    return code


def main() -> int:
    """Run the job of this process's command line, and return the exit code."""
    parser = argparse.ArgumentParser(prog="tegula._served", allow_abbrev=False)
    for name in ("events", "control", "workers", "memory"):
        parser.add_argument(f"--{name}", type=int, required=True)
    for name in ("output", "scratch", "timeline"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--progress")
    parser.add_argument("--state", type=Path)
    parser.add_argument("--job")
    parser.add_argument("program", type=Path)
    flags = parser.parse_args()
    try:
        return _run(flags)
    except OptionError as error:
        print(f"tegula: {error}", file=sys.stderr)
        return _WRONG


if __name__ == "__main__":
    sys.exit(main())
