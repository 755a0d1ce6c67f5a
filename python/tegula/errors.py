"""What can go wrong in a run. What a function of yours raises comes back as itself, with a note of its place."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from tegula._tegula import Failure


class Error(Exception):
    """A run gave no answer. The message names the path or the record, the cause, and what to do."""


class InputError(Error):
    """The input cannot be found or read."""


class OutputError(Error):
    """The answer cannot be written."""


class MemoryLimitError(Error):
    """Something does not fit in `memory` and cannot go to disk: one record, one pair, or the least that a run needs."""


class StateError(Error):
    """A saved state cannot serve this run."""


class OptionError(Error, ValueError):
    """An option has a value that cannot be meant."""


class Interrupted(Error):
    """A `Cancel` stopped the run."""


class BadRecord(Error):
    """The map refused a record.

    Attributes:
        file: path or URL of the input file.
        line: number of the line from 1, or None where records are no lines.
        byte: offset of the record in the file, or None.
    """

    def __init__(
        self,
        message: str,
        file: str = "",
        line: int | None = None,
        byte: int | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.byte = byte


_KINDS: dict[str, type[Error]] = {
    "input": InputError,
    "output": OutputError,
    "memory": MemoryLimitError,
    "storage": OutputError,
    "state": StateError,
    "option": OptionError,
    "cancelled": Interrupted,
}


def raise_failure(failure: Failure) -> NoReturn:
    """Raise the exception that a failed run stands for."""
    if failure.place is None and failure.raised is None:
        raise _KINDS.get(failure.kind, Error)(failure.message)
    path, line, byte = failure.place or ("", None, None)
    if failure.raised is None:
        raise BadRecord(failure.message, path, line, byte)
    import pickle

    text, pickled, at_start = failure.raised
    try:
        raised = pickle.loads(pickled)
    except Exception:
        raised = None
    if not isinstance(raised, BaseException):
        if at_start:
            raise Error(
                f"the map's function could not be loaded in a process of its own:\n{text}"
            )
        # Of what Tegula itself refuses, the text is the last line of the message.
        message = (
            failure.message
            if failure.message.endswith(text)
            else f"{failure.message}\n{text}"
        )
        raise BadRecord(message, path, line, byte)
    if at_start:
        raised.add_note("while the map's function was loaded in a process of its own")
    elif failure.place is not None:
        places = [f"in {path}"]
        places += [] if line is None else [f"line {line}"]
        places += [] if byte is None else [f"byte {byte}"]
        raised.add_note(", ".join(places))
    raised.add_note(text.rstrip())
    raise raised
