"""What a run of a job would do, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tegula.errors import OptionError

if TYPE_CHECKING:
    from tegula.job import Job
    from tegula.maps import Pairs
    from tegula.sources import Source

_STYLES = {
    "record": "each record",
    "split": "the bytes of many records at once",
    "arrow": "many records at once, as an Arrow array",
    "array": "many rows at once, as a numpy array",
}


def explain(job: Job) -> str:
    """Return a line for each part of the job, with its cost where one is worth knowing."""
    pairs = job.pairs
    rows = [
        ("reads", _source(pairs.source)),
        ("maps", _map(pairs)),
        ("combines", _combine(job)),
        ("state", _state(job)),
        *_followed(job),
    ]
    return "\n".join(f"{name:<9} {text}" for name, text in rows)


def _source(source: Source) -> str:
    plan = source.plan
    if plan["kind"] == "parts":
        what = {"batches": "record batches of Arrow", "pairs": "pairs of an answer"}
        return f"{len(plan['parts'])} pieces of {what[str(source.cut)]}, in memory"
    if plan["kind"] == "memory":
        rows = f"rows of {plan['record_bytes']} bytes of an array, where it is"
        return f"{rows}; nothing may be written into it during a run"
    cut = source.cut
    if cut == "whole":
        records = "each file as one record"
    elif isinstance(cut, int):
        records = f"records of {cut} bytes"
    elif isinstance(cut, bytes):
        records = f"records that end with {cut!r}"
    else:
        records = {"lines": "lines", "csv": "rows of CSV", "whitespace": "words"}[cut]
    text = "bytes" if source.encoding is None else "text"
    packed = "as they are" if source.plain else "decompressed where they are compressed"
    return f"{', '.join(plan['paths'])}: {records}, as {text}; files {packed}"


def _map(pairs: Pairs) -> str:
    plan, program = pairs.plan, pairs.program
    if program is not None:
        function = program["function"]
        name = getattr(function, "__qualname__", type(function).__qualname__)
        where = {
            "processes": "in a process for each worker",
            "threads": "on the engine's threads, with the interpreter's lock",
        }[plan["kind"]]
        return f"{name}, called with {_STYLES[program['style']]}, {where}"
    if plan["kind"] == "native":
        return "a function in C on the engine's workers, without the interpreter"
    said = {name: value for name, value in plan.items() if name != "kind"}
    arguments = ", ".join(f"{name}={value!r}" for name, value in said.items())
    return f"{plan['kind']}({arguments}), the engine's own"


def _combine(job: Job) -> str:
    if job.combine == "agg":
        columns = [
            f"{name}={kind}({'' if source is None else repr(source)})"
            for name, kind, source in job.columns
        ]
        return f"agg({', '.join(columns)}) for each key"
    if job.combine == "collect":
        return "collect: all values of each key, in memory linear in the values"
    if job.combine == "sort":
        return "sort: records in the order of what they are sorted by"
    if job.reducer is not None:
        function = job.reducer[0]
        name = getattr(function, "__qualname__", type(function).__qualname__)
        values = "two values at a time" if job.combine == "merge" else "all values"
        return f"{job.combine}: {name}, called with {values} of each key, in the end"
    return f"{job.combine} for each key"


def _state(job: Job) -> str:
    fields: dict[str, Any] = {}
    try:
        job._add_state(fields, "", "", False, None)
    except OptionError as error:
        return f"cannot tell whether the map is the same again: {error}"
    known = dict(fields["identity"])
    code = known.get("code")
    return "the map by its name and options" if code is None else f"the code by {code}"


def _followed(job: Job) -> list[tuple[str, str]]:
    """Return a line for each kind of thing that a state knows the functions of a job by."""
    from tegula.identity import followed

    program = job.pairs.program
    functions: list[tuple[Any, tuple[Any, ...]]] = []
    if program is not None:
        setup = program["setup"] or program["per_worker"]
        functions.append((program["function"], program["args"]))
        if setup is not None:
            functions.append((setup, ()))
    if job.combine == "merge" and job.reducer is not None:
        functions.append(job.reducer)
    try:
        found = [followed(*one) for one in functions]
    except OptionError:
        # The line of the state says it.
        return []
    kinds = ("functions", "classes", "values", "installed")
    texts = [
        sorted({one for each in found for one in getattr(each, kind)}) for kind in kinds
    ]
    return [
        (kind, ", ".join(text)) for kind, text in zip(kinds, texts, strict=True) if text
    ]
