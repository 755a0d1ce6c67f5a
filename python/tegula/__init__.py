"""Tegula: MapReduce for one big machine.

A job is a source, a map and a combine; nothing runs before `run`:

    import tegula as tg

    tg.text("books/").words().count().run(top=10)

Maps come at four speeds: the engine's own (`words`, `field`, `grep`, `lines`), functions in C (`map_native`), of whole
batches (`map_arrow`, `map_array`), and of one record (`map`) or of many (`map_split`).
"""

from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPE_CHECKING

from tegula.combines import Column, count, max, mean, min, sum
from tegula.engine import Cancel, Engine, Topology
from tegula.errors import (
    BadRecord,
    Error,
    InputError,
    Interrupted,
    MemoryLimitError,
    OptionError,
    OutputError,
    StateError,
)
from tegula.job import Job
from tegula.maps import Pairs, PerWorker, check_merge, per_worker
from tegula.ordering import FieldKey, Ordering, Records, field
from tegula.ready import (
    Groups,
    Line,
    Place,
    histogram,
    index,
    kmeans,
    linreg,
    logstats,
    stations,
    stringmatch,
)
from tegula.result import Estimate, Result, Seen
from tegula.sources import Source, array, batches, files, pairs, records, text

if _TYPE_CHECKING:
    from tegula._ray import Cluster, ray
    from tegula.server import Server, Submitted, connect

# Few programs need them, and what they import takes as long as all the rest.
_LATE = {
    "Cluster": "tegula._ray",
    "Server": "tegula.server",
    "Submitted": "tegula.server",
    "connect": "tegula.server",
    "ray": "tegula._ray",
}


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module 'tegula' has no attribute {name!r}")
    value = getattr(_import_module(_LATE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})


def include() -> str:
    """Return the folder of `tegula.h`, for a compiler's `-I`."""
    return str(_Path(__file__).parent / "include")


__all__ = [
    "BadRecord",
    "Cancel",
    "Cluster",
    "Column",
    "Engine",
    "Error",
    "Estimate",
    "FieldKey",
    "Groups",
    "InputError",
    "Interrupted",
    "Job",
    "Line",
    "MemoryLimitError",
    "OptionError",
    "Ordering",
    "OutputError",
    "Pairs",
    "PerWorker",
    "Place",
    "Records",
    "Result",
    "Seen",
    "Server",
    "Source",
    "StateError",
    "Submitted",
    "Topology",
    "array",
    "batches",
    "check_merge",
    "connect",
    "count",
    "field",
    "files",
    "histogram",
    "include",
    "index",
    "kmeans",
    "linreg",
    "logstats",
    "max",
    "mean",
    "min",
    "pairs",
    "per_worker",
    "ray",
    "records",
    "stations",
    "stringmatch",
    "sum",
    "text",
]
