"""What tests share: a text with words, and a look at the processes that a run leaves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import pytest

LETTERS = "abcdefghij"


@pytest.fixture(scope="module", autouse=True)
def functions_are_sent_by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    """Send functions of tests as those of a program are sent: processes need not import the tests and their libraries."""
    cloudpickle.register_pickle_by_value(request.module)
    yield
    cloudpickle.unregister_pickle_by_value(request.module)


@pytest.fixture(scope="session")
def lines() -> list[str]:
    """Some thousand lines of a few words each, the same in each run."""
    chance = random.Random(5)

    def word() -> str:
        return "".join(chance.choices(LETTERS, k=chance.randint(1, 3)))

    return [
        " ".join(word() for _ in range(chance.randint(0, 9))) for _ in range(40_000)
    ]


@pytest.fixture(scope="session")
def path(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of these lines: about 600 kB, which is several splits."""
    file = tmp_path_factory.mktemp("input") / "words.txt"
    file.write_text("\n".join(lines) + "\n")
    return file


def companions_of(parent: int) -> list[int]:
    """The processes below a process, by their number."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text()
        except OSError:
            continue
        fields = stat[stat.rindex(")") + 2 :].split()
        if fields[0] != "Z":
            below.setdefault(int(fields[1]), []).append(int(folder.name))
    found: list[int] = []
    ask = [parent]
    while ask:
        children = below.get(ask.pop(), [])
        found.extend(children)
        ask.extend(children)
    return found


def is_alive(process: int) -> bool:
    """Whether a process runs."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"
