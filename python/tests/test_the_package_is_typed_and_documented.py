"""The types of the package hold, and the examples in its docstrings give what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
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


def test_the_package_is_typed() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(CONFIG)]
    done = subprocess.run(
        [*command, "-p", "tegula"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


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
            if callable(own) and not member.startswith("_"):
                assert own.__doc__, f"{name}.{member}"
