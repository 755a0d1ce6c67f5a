"""Each program of `examples/`, run as a person would, is shown in `docs/python.md`, and prints what is shown there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import inputs_of_examples
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "python.md"

# A show: the part of the input, the first three words, and since when they are the same.
SHOW = re.compile(
    r"\d+% \[\('the', \d+\), \('and', \d+\), \('of', \d+\)\] (None|\d\.\d+)"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the inputs, in which the programs run."""
    folder = tmp_path_factory.mktemp("examples")
    inputs_of_examples.write(folder)
    return folder


def shown(name: str) -> tuple[str, str]:
    """The text of an example in the documentation, and its output: two blocks that follow each other."""
    documentation = DOCUMENTATION.read_text()
    blocks = re.compile(
        r"```python\n((?:(?!```).)*)```\n\n```\n\$ python examples/"
        + re.escape(name)
        + r"\n((?:(?!```).)*)```",
        re.DOTALL,
    )
    found = blocks.search(documentation)
    assert found is not None, f"{name} is not shown in {DOCUMENTATION}"
    return found[1], found[2]


def run(name: str, folder: Path) -> str:
    """Run an example in a folder, and return its output."""
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_is_shown_as_it_is(name: str) -> None:
    assert shown(name)[0] == (EXAMPLES / name).read_text()


@pytest.mark.parametrize(
    "name",
    [
        "arrow_batches.py",
        "bytes_by_host.py",
        "kmeans.py",
        "many_figures.py",
        "native_map.py",
        "reduce_and_merge.py",
        "word_count.py",
    ],
)
def test_an_example(name: str, folder: Path) -> None:
    assert run(name, folder) == shown(name)[1]


def test_answers_while_a_job_runs(folder: Path) -> None:
    """When shows are made is a matter of time. The last is of words that have not changed for a fifth of the input."""
    for lines in (
        run("while_it_runs.py", folder).splitlines(),
        shown("while_it_runs.py")[1].splitlines(),
    ):
        assert lines
        assert all(SHOW.fullmatch(line) for line in lines), lines
        part, since = int(lines[-1].split("%")[0]), lines[-1].rsplit(" ", 1)[1]
        assert since != "None"
        assert part == 100 or part / 100 - float(since) >= 0.19


@pytest.mark.once
def test_a_run_goes_on_and_maps_only_what_is_new(folder: Path) -> None:
    first = run("goes_on.py", folder)
    assert first == shown("goes_on.py")[1]
    assert run("goes_on.py", folder) == first
    years, found = run("goes_on_tomorrow.py", folder).splitlines()
    assert years + "\n" == first
    assert found == "0.0% found again"
    inputs_of_examples.change_archive(folder / "archive")
    assert run("goes_on_tomorrow.py", folder) == shown("goes_on_tomorrow.py")[1]


def test_lines_are_sorted(folder: Path) -> None:
    assert run("sort_lines.py", folder) == shown("sort_lines.py")[1]
    lines = (folder / "huge.txt").read_text().splitlines(keepends=True)
    expected = sorted(lines, key=lambda line: int(line.split("\t")[1]))
    assert (folder / "sorted.txt").read_text() == "".join(expected)


@pytest.mark.once
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


@pytest.mark.once
def test_the_stub_of_the_native_module_is_true(tmp_path: Path) -> None:
    """The stub needs no other module of the package. In a folder of its own, it leaves the cache of mypy as it is."""
    pytest.importorskip("mypy")
    (tmp_path / "mypy.ini").write_text("[mypy]\nfollow_imports = skip\n")
    command = [sys.executable, "-m", "mypy.stubtest", "tegula._tegula"]
    command += ["--mypy-config-file", "mypy.ini"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
