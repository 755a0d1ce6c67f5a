"""Each program of `examples/`, run as a person would, prints what `docs/python.md` shows."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A web server's log: the same lines in each run."""
    chance = random.Random(1)
    file = tmp_path_factory.mktemp("log") / "access.log"
    with file.open("w") as out:
        for second in range(20_000):
            host = f"10.0.0.{int(chance.paretovariate(1)) % 200}"
            status = chance.choice(["200"] * 8 + ["304", "404"])
            size = "-" if status == "304" else str(chance.randrange(200, 20_000))
            time = f"0{second % 9 + 1}/Nov/20{second % 3 + 20}:10:00:00 +0000"
            out.write(
                f'{host} - - [{time}] "GET /page/{second % 50} HTTP/1.1" {status} {size}\n'
            )
    return file


def shown(name: str) -> str:
    """The output of an example in the documentation: the block that follows its command."""
    text = DOCUMENTATION.read_text()
    begin = text.index(f"$ python examples/{name}")
    begin = text.index("\n", begin) + 1
    return text[begin : text.index("```", begin)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("word_count.py", ["log"]),
        ("bytes_by_host.py", ["log"]),
        ("many_figures.py", ["log"]),
        ("arrow_batches.py", ["log"]),
        ("while_it_runs.py", ["log"]),
        ("goes_on.py", ["log", "state"]),
        ("kmeans.py", []),
        ("native_map.py", ["log"]),
        ("reduce_and_merge.py", ["log"]),
        ("sort_lines.py", ["log", "sorted"]),
    ],
)
def test_an_example(name: str, arguments: list[str], log: Path, tmp_path: Path) -> None:
    places = {"log": str(log)}
    places |= {name: str(tmp_path / name) for name in ("state", "sorted")}
    command = [
        sys.executable,
        str(EXAMPLES / name),
        *(places[one] for one in arguments),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == shown(name)
    if name == "goes_on.py":
        again = subprocess.run(command, capture_output=True, text=True, check=True)
        assert again.stdout == done.stdout


def test_examples_are_typed() -> None:
    pytest.importorskip("mypy")
    config = Path(__file__).parents[1] / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(config)]
    # Each is a program of its own, but what they import is looked at once.
    examples = sorted(map(str, EXAMPLES.glob("*.py")))
    done = subprocess.run(
        [*command, "--scripts-are-modules", *examples],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_stub_of_the_native_module_is_true() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "tegula._tegula"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
