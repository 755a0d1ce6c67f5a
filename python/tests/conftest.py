"""What tests share: a text with words, and a look at the processes that a run leaves."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import cloudpickle
import pytest
import tegula as tg

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


def in_a_process_of_its_own(function: Callable[[str], None], folder: Path) -> None:
    """Call a function of a test module with the path of a folder, in a process that holds no memory of other tests.

    A limit on memory is one on the whole process, and what earlier tests left there comes and goes.
    """
    module = function.__module__
    program = f"import sys, {module}; {module}.{function.__name__}(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", program, folder],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def least_memory(run: Callable[[str], object]) -> int:
    """Return little more than the least memory that a run needs in this process, which keeps memory of runs before."""
    run("4G")
    with pytest.raises(tg.MemoryLimitError) as caught:
        run("1M")
    least = re.search(r"at least (\d+) bytes", str(caught.value))
    assert least is not None
    return int(least[1]) + (24 << 20)


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
