"""Progress: one line on a terminal, a bar in a notebook, or readings for a function of the user's."""

from __future__ import annotations

import sys

from tegula.lent import Lent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Watch = Callable[[dict[str, Any]], None]
    Progress = bool | Watch | None


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def line(reading: dict[str, Any]) -> str:
    """Return a reading as one line."""
    done, planned = reading["bytes_done"], reading["bytes_planned"]
    parts = [reading["stage"]]
    parts.append(
        f"{done / planned:.0%} of {_bytes(planned)}" if planned else _bytes(done)
    )
    parts.append(f"{_bytes(reading['bytes_per_second'])}/s")
    if reading["seconds_left"] is not None:
        parts.append(f"{reading['seconds_left']:.0f} s left")
    parts.append(f"{reading['keys']:,} keys")
    parts.append(f"{_bytes(reading['memory_bytes'])} of memory")
    return ", ".join(parts)


class _Terminal:
    """A line at the cursor, which is cleared at the end."""

    def __init__(self) -> None:
        self.is_shown = False

    def __call__(self, reading: dict[str, Any]) -> None:
        sys.stderr.write("\r\x1b[K" + line(reading))
        sys.stderr.flush()
        self.is_shown = True

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        if self.is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class _Notebook:
    """A bar below a notebook's cell, and the first pairs so far of a job that ranks them."""

    top = 3
    """The number of those pairs."""

    def __init__(self) -> None:
        self.handle: Any = None

    def __call__(self, reading: dict[str, Any]) -> None:
        from IPython.display import HTML, display

        planned = reading["bytes_planned"]
        part = reading["bytes_done"] / planned if planned else 0
        bar = f"<progress max=1 value={part:.4f}></progress> {line(reading)}"
        if "top" in reading:
            from html import escape

            pairs = (f"{key}: {value}" for key, value in reading["top"])
            bar += f"<br>{escape(', '.join(pairs))}"
        if self.handle is None:
            self.handle = display(HTML(bar), display_id=True)
        else:
            self.handle.update(HTML(bar))

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        if self.handle is not None:
            from IPython.display import HTML

            self.handle.update(HTML(""))


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    instance = shell.get_ipython() if shell is not None else None
    return instance is not None and "IPKernelApp" in getattr(instance, "config", {})


def watching(progress: Progress) -> Lent | _Terminal | _Notebook:
    """Return the context of a run, which gives what the run calls with readings; None if nobody looks."""
    if callable(progress):
        return Lent(progress)
    if progress is None:
        progress = _is_notebook() or sys.stderr.isatty()
    if not progress:
        return Lent(None)
    return _Notebook() if _is_notebook() else _Terminal()
