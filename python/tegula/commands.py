"""The command line that gives exactly the answer of a job, for a server that runs no code of others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tegula.errors import OptionError

if TYPE_CHECKING:
    from tegula.job import Job, Order


def command_of(
    job: Job, top: int | None, order: Order | None, skip_bad: bool
) -> list[str] | None:
    """Return the words of the command without the program's name; None if no command gives exactly this answer."""
    source = job.pairs.source
    if source.plan["kind"] != "paths" or job.reducer is not None or top == 0:
        return None
    flags = ["--format", "jsonl"]
    if source.plain:
        flags.append("--plain")
    plan = job.pairs.plan
    if skip_bad and _has_bad_records(plan):
        flags.append("--skip-bad")
    kept = [] if top is None else ["--top", str(top)]
    kept += ["--order", order or "none"]
    paths = [_text(path) for path in source.plan["paths"]]
    if "-" in paths:
        return None
    words = _words(plan, job.combine, top, order, kept)
    if words is None:
        return None
    name, options, before = words
    return [name, *options, *flags, "--", *before, *paths]


def _words(
    plan: dict[str, Any],
    combine: str,
    top: int | None,
    order: Order | None,
    kept: list[str],
) -> tuple[str, list[str], list[str]] | None:
    """Return the command, its flags, and what comes before the paths."""
    kind = plan["kind"]
    if kind == "words" and combine == "count":
        return "wordcount", ["--words", plan["words"], *kept], []
    if kind in ("field", "json") and combine in ("count", "sum"):
        # The command has no other order.
        if top is None or order != "value":
            return None
        if kind == "json":
            options = [f"--json={plan['by']}"]
        else:
            separator = chr(plan["separator"])
            separator = "\\t" if separator == "\t" else separator
            options = [f"--by={plan['by']}", f"--separator={separator}"]
        if plan["value"] is not None:
            options.append(f"--sum={plan['value']}")
        return "top", options, [str(top)]
    if kind == "grep" and combine == "count":
        options = {"match": ["--by", "match"], "file": [], "line": ["--lines"]}[
            plan["by"]
        ]
        options = [*options, *(["--ignore-case"] if plan["ignore_case"] else [])]
        options += ["--fixed"] if plan["fixed"] else []
        return "grep", options + kept, [plan["pattern"]]
    if kind in ("logins", "access"):
        return "logstats", ["--key", plan.get("key", "user"), *kept], []
    if kind == "stringmatch" and plan["keys"]:
        return "stringmatch", [f"--key={_text(key)}" for key in plan["keys"]] + kept, []
    if kind == "index" and plan["only"] != []:
        only = [f"--word={_text(word)}" for word in plan["only"] or []]
        return "index", ["--words", plan["words"], *only, *kept], []
    return None


def _has_bad_records(plan: dict[str, Any]) -> bool:
    """Return whether a record can be bad; a command without such records refuses to skip them."""
    if plan["kind"] == "field":
        return plan["by"] != 1 or plan["value"] is not None
    return plan["kind"] in ("json", "logins", "access")


def _text(word: str | bytes | os.PathLike[str]) -> str:
    text = os.fsdecode(word)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OptionError(
            f"{word!r} is no UTF-8, in which servers read commands"
        ) from None
    return text
