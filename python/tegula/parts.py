"""Answers that nodes write themselves, each its part, so that no machine must hold or write all of one."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from tegula.errors import OptionError
from tegula.result import Result
from tegula.writing import Format, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from tegula import _tegula
    from tegula.job import Job


def parts_of(
    job: Job, folder: str | os.PathLike[str], format: Format
) -> tuple[str, str, Callable[[_tegula.Answer, str], None]]:
    """Return where nodes write their parts, how the names of the files end, and what writes one."""
    if job.reducer is not None:
        raise OptionError("write_parts: values are reduced by this process; give write")
    if job.pairs.plan["kind"] == "index":
        raise OptionError("write_parts: places are of the whole input; give write")
    if format not in get_args(Format):
        raise OptionError(f"format: {format!r}; give one of {get_args(Format)}")
    if format == "tsv" and job.combine == "collect":
        raise OptionError("format: lists have no form in tsv; give jsonl")
    there = Path(folder)
    if there.exists() and (not there.is_dir() or any(there.iterdir())):
        raise OptionError(
            f"write_parts: {there} is there; name a folder that is empty or not there yet"
        )
    names = [name for name, _, _ in job.columns]
    decode, is_made_here = job._decode()
    # Nodes may work in other folders.
    return (
        os.path.abspath(there),
        f".{format}",
        partial(_write_part, names, decode, is_made_here, format),
    )


def _write_part(
    names: list[str],
    decode: Callable[[bytes], Any] | None,
    is_made_here: bool,
    format: Format,
    answer: _tegula.Answer,
    path: str,
) -> None:
    """Write the answer of some partitions, on the node that has it."""
    write(Result(answer, names, decode, False, is_made_here), path, format)
