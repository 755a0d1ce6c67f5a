"""What a map has of the user's modules, which processes import anew: whether it is there what it is in the program.

The digest of a map is that of the program's memory. Modules that were edited since the program imported them, or whose
variables it changed, are others in the processes, and a state would hold pairs of code that its digest does not know.

Processes that map run this file outside of the package, so it must not import the native module.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterable
from typing import Any

from ._packing import Refused
from .identity import Walk
from .installed import named

Imported = list[tuple[str, str, str]]
"""Modules, names in them, and the digests of what is there."""


def imported(names: Iterable[tuple[str, str]]) -> Imported:
    """Return what processes import of these names, with its digests here."""
    from cloudpickle.cloudpickle import list_registry_pickle_by_value

    sent = {"__main__", *list_registry_pickle_by_value()}
    there = [
        (module, name)
        for module, name in sorted(names)
        if not any(module == one or module.startswith(f"{one}.") for one in sent)
    ]
    values = [named(sys.modules[module], name) for module, name in there]
    return [(*one, digest) for one, digest in zip(there, _digests(values), strict=True)]


def check(expected: Imported) -> None:
    """Refuse a map of which this process has imported other code or values than the program has."""
    values = []
    for module, name, _ in expected:
        try:
            values.append(named(importlib.import_module(module), name))
        except ImportError:
            # Where the map needs it, it says so itself.
            return
    for (module, name, digest), found in zip(expected, _digests(values), strict=True):
        if digest != found:
            raise Refused(
                f"state: {module}.{name} differs from that of the program: {module}, or a module that it uses, was edited "
                "or changed after its import; start Python anew, give values as args, or give "
                'version="..." and change it whenever the map changes'
            )


def _digests(values: list[Any]) -> list[str]:
    """Return the digest of each value, the same in each process where all are the same."""
    walk = Walk()
    add = functools.partial(walk.value, name="a value of a module")
    return [walk.alone(functools.partial(add, value)).hex() for value in values]
