"""The types of the package hold, and the examples in its docstrings give what they show."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import pydoc
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy
import pytest
import tegula as tg

CONFIG = Path(__file__).parents[1] / "pyproject.toml"

REQUESTS = """\
GET /a 200 12
GET /b 404 3
POST /a 200 40
"""

JSON = """\
{"user": {"id": "u1"}, "bytes": 12}
{"user": {"id": "u2"}, "bytes": 3}
{"user": {"id": "u1"}, "bytes": 40}
"""


@pytest.mark.once
def test_the_package_is_typed() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(CONFIG)]
    done = subprocess.run(
        [*command, "-p", "tegula"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_few_need_is_imported_when_it_is_asked_for() -> None:
    program = """
import sys
before = {*sys.modules}
import tegula as tg
early = {name for name in {*sys.modules} - before if not name.startswith("tegula")}
assert early <= {"__future__", "_thread"}, early
assert "tegula.server" not in sys.modules and "tegula.ready" not in sys.modules
assert all(hasattr(tg, name) for name in tg.__all__) and {*tg.__all__} <= {*dir(tg)}
assert tg.connect.__module__ == "tegula.server" and not hasattr(tg, "absent")
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_docstrings_show_what_is_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("requests.txt").write_text(REQUESTS)
    Path("requests.jsonl").write_text(JSON)
    names = {"tg": tg, "numpy": numpy, "Counter": Counter, "__name__": "__main__"}
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    said: list[str] = []
    for module in pkgutil.iter_modules(tg.__path__, "tegula."):
        # Some run as programs, or are what a user need not have.
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        for test in finder.find(importlib.import_module(module.name), globs=names):
            runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)
    # Each of the main functions has an example.
    assert runner.tries >= 20


def test_each_public_name_has_a_docstring() -> None:
    for name in tg.__all__:
        value = getattr(tg, name)
        assert value.__doc__, name
        for member, own in vars(value).items() if isinstance(value, type) else ():
            is_shown = callable(own) or isinstance(own, property)
            if is_shown and not member.startswith("_"):
                assert inspect.getdoc(own), f"{name}.{member}"


def fields_of(kind: type) -> set[str]:
    """The public fields of a class: those that it declares, and what its constructor sets."""
    names = {*inspect.get_annotations(kind)}
    if "__init__" in vars(kind) and not dataclasses.is_dataclass(kind):
        names.update(
            re.findall(r"self\.([a-z]\w*)(?:: .*)? =", inspect.getsource(kind.__init__))
        )
    return names


def test_each_public_field_is_described_where_help_shows_it() -> None:
    """Text below a field is no documentation: `help` does not show it."""
    found = 0
    for name in tg.__all__:
        kind = getattr(tg, name)
        if not isinstance(kind, type):
            continue
        fields = fields_of(kind)
        found += len(fields)
        shown = pydoc.plain(pydoc.render_doc(kind))
        for field in fields:
            assert re.search(rf"^ \|      {field}: \S", shown, re.MULTILINE), (
                f"{name}.{field}"
            )
    # Those of jobs, sources, pairs, shows, errors and answers of ready-made jobs.
    assert found >= 45
