"""What the command line would have been asked for, had it begun the job: a state keeps it, for `tegula show`."""

from __future__ import annotations

import json
from typing import Any


def request(plan: dict[str, Any], combine: str) -> bytes:
    """Return the command of a map and a combine, as the command line keeps it; no bytes if it has none."""
    kind = plan["kind"]
    options: dict[str, Any]
    if kind == "words" and combine == "count":
        command, options = "wordcount", {"words": plan["words"]}
    elif kind in ("field", "json") and _is_top(plan, combine):
        command = "top"
        options = {"sum": plan["value"]}
        if kind == "field":
            options |= {"by": plan["by"], "separator": plan["separator"]}
        else:
            options |= {"json": plan["by"]}
    elif kind == "grep" and combine == "count":
        command = "grep"
        options = {
            "pattern": plan["pattern"],
            "by": "match" if plan["by"] == "match" else "file",
            "lines": plan["by"] == "line",
            "ignore_case": plan["ignore_case"],
            "fixed": plan["fixed"],
        }
    elif kind in ("logins", "access"):
        command, options = "logstats", {"key": plan.get("key", "user")}
    elif kind == "stations":
        command, options = "stations", {}
    elif kind == "index":
        command, options = "index", {"words": plan["words"]}
        if plan["only"] is not None:
            options["only"] = _listed(plan["only"])
    elif kind == "stringmatch":
        command = "stringmatch"
        options = {"places": False, "keys": _listed(plan["keys"])}
    elif kind == "linreg":
        command, options = "linreg", {"points": plan["points"]}
    elif kind == "native" and plan["library"] is not None:
        command, options = "run", {}
    elif kind in ("kmeans", "histogram"):
        command, options = kind, {}
    else:
        return b""
    options["format"] = "tsv"
    said = {"command": command, "version": 1, "options": options}
    return json.dumps(said).encode()


def _is_top(plan: dict[str, Any], combine: str) -> bool:
    return combine == ("count" if plan["value"] is None else "sum")


def _listed(items: list[bytes]) -> list[Any]:
    """Return byte strings for JSON: text, or hexadecimal digits where it is no UTF-8."""

    def of(item: bytes) -> Any:
        try:
            return item.decode()
        except UnicodeDecodeError:
            return {"hex": item.hex()}

    return [of(item) for item in items]
