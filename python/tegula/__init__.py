"""Tegula: MapReduce for one big machine.

A job is a source, a map and a combine; nothing runs before `run`:

    import tegula as tg

    tg.text("books/").words().count().run(top=10)

Maps come at four speeds: the engine's own (`words`, `field`, `grep`, `lines`), functions in C (`map_native`), of whole
batches (`map_arrow`, `map_array`), and of one record (`map`) or of many (`map_split`).
"""

from tegula.combines import Column, count, max, mean, min, sum
from tegula.engine import Cancel, Engine
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
from tegula.result import Result
from tegula.sources import Source, array, batches, files, pairs, records, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tegula._ray import Cluster, ray
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
    from tegula.seen import Estimate, Seen
    from tegula.server import Server, Submitted, connect
    from tegula.topology import Topology

# What a simple job does without is imported when it is asked for, here and in functions of the modules: the start of a
# program would take twice as long.
_LATE = {
    "_ray": ("Cluster", "ray"),
    "ordering": ("FieldKey", "Ordering", "Records", "field"),
    "ready": (
        *("Groups", "Line", "Place", "histogram", "index", "kmeans"),
        *("linreg", "logstats", "stations", "stringmatch"),
    ),
    "seen": ("Estimate", "Seen"),
    "server": ("Server", "Submitted", "connect"),
    "topology": ("Topology",),
}
_MODULES = {name: module for module, names in _LATE.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'tegula' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"tegula.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


def include() -> str:
    """Return the folder of `tegula.h`, for a compiler's `-I`."""
    return f"{__path__[0]}/include"


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
