"""Each program of `docs/coming-from.md` that imports Tegula prints what the page shows below it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs() -> list[tuple[str, str]]:
    """The programs, each with its output."""
    blocks = BLOCK.findall(PAGE.read_text())
    return [
        (program, shown)
        for (language, program), (_, shown) in zip(
            blocks, [*blocks[1:], ("", "")], strict=True
        )
        if language == "python" and "import tegula" in program
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log and some books."""
    folder = tmp_path_factory.mktemp("input")
    hosts = ["10.0.0.1"] * 4 + ["10.0.0.2"] * 2 + ["10.0.0.3"] + ["10.0.0.4"]
    with (folder / "access.log").open("w") as log:
        for number in range(1000):
            host = hosts[number // 100 % len(hosts)]
            status = 404 if number % 5 == 4 else 200
            log.write(f"{host} /page/{number % 50} {status} {3000 + number}\n")
    (folder / "books").mkdir()
    for number in range(10):
        text = "the the\nand the and\na the and a\n"
        (folder / "books" / f"{number}.txt").write_text(text)
    return folder


def test_there_is_a_program_for_each_library() -> None:
    assert len(programs()) == PAGE.read_text().count("\n## ") - 1


@pytest.mark.parametrize("number", range(5))
def test_a_program(number: int, folder: Path) -> None:
    program, shown = programs()[number]
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == shown
