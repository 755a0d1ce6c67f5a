"""Pickles of what a user defines: functions and exceptions, by value where the other process cannot import them.

Code keeps the name of its file, so that tracebacks of companion processes show lines of the source. cloudpickle 3.1.2
keeps the name, and 3.1.3 writes `<dynamic-code>` instead and has no option.

It must import neither the native module nor the rest of the package.
"""

from __future__ import annotations

import io
import types
from typing import Any

import cloudpickle

_TABLE = cloudpickle.Pickler.dispatch_table


def dumps(value: Any) -> bytes:
    """Return the pickle of a value. An exception of the value's own reducers is raised as it is."""
    file = io.BytesIO()
    _Pickler(file).dump(value)
    return file.getvalue()


def _reduced_code(code: types.CodeType) -> Any:
    """Reduce code as cloudpickle does, with the name of its file."""
    make, arguments, *rest = reduced = _TABLE[types.CodeType](code)
    if make is not types.CodeType:
        return reduced
    # The arguments of `types.CodeType` differ among versions of Python. The file is the first text in all of them.
    place = next(at for at, one in enumerate(arguments) if isinstance(one, str))
    return make, (*arguments[:place], code.co_filename, *arguments[place + 1 :]), *rest


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """A pickler of cloudpickle's that keeps the names of files."""

    dispatch_table = _TABLE.new_child({types.CodeType: _reduced_code})
