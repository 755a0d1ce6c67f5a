"""`tegula run` runs a map of a shared library as `map_native` does, and says what is wrong with one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import tegula as tg
from test_native_maps_run_on_the_workers import C_MAPS

pytestmark = pytest.mark.once

TEGULA = Path(sys.executable).with_name("tegula")


def run(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    command = [TEGULA, "run", *map(os.fspath, arguments)]
    return subprocess.run(command, capture_output=True, timeout=60, check=False)


def compiled(folder: Path, text: str, *flags: str) -> Path:
    (folder / "map.c").write_text(text)
    library = folder / "libmap.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-I", tg.include(), *flags]
    subprocess.run([*command, "-o", library, folder / "map.c"], check=True)
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("library"), C_MAPS)


def test_combines_give_what_python_gives(
    library: Path, path: Path, lines: list[str]
) -> None:
    words = Counter(word for line in lines for word in line.split())
    halves = defaultdict(list)
    for line in lines:
        halves[line[:1]].append(len(line) / 2)

    def of(*arguments: object) -> dict[str, float]:
        done = run(library, path, *arguments)
        assert (done.returncode, done.stderr) == (0, b"")
        rows = [line.split("\t") for line in done.stdout.decode().splitlines()]
        return {key: float(value) for key, value in rows}

    count = of("--map", "words", "--combine", "count")
    assert count == words
    assert of("--map", "words", "--combine", "sum") == {
        word: n * len(word) for word, n in words.items()
    }
    for combine in ("min", "max", "mean"):
        lengths = of("--map", "words", "--combine", combine)
        assert lengths == {word: len(word) for word in words}
    for combine, function in {"sum": sum, "min": min, "max": max}.items():
        found = of("--map", "halves", "--combine", combine, "--value", "f64")
        assert found == {key: function(values) for key, values in halves.items()}
    means = of("--map", "halves", "--combine", "mean", "--value", "f64")
    assert means == pytest.approx(
        {key: sum(values) / len(values) for key, values in halves.items()}
    )
    top = run(library, path, "--map", "words", "--combine", "count", "--top", "3")
    best = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
    assert top.stdout.decode().splitlines() == [f"{key}\t{n}" for key, n in best]
    pairs = tg.text(path).map_native((library, "words")).sum().run()
    done = run(library, path, "--map", "words", "--combine", "sum", "--format", "jsonl")
    assert len(done.stdout.splitlines()) == len(pairs)


def test_bad_records_have_their_place(library: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("bc\nbd\nabc\nb\n")
    picky = [library, tmp_path / "x", "--map", "picky", "--combine", "count"]
    done = run(*picky)
    assert done.returncode == 1
    assert b"x, line 3, byte 6: the map refused it with code -7" in done.stderr
    assert run(*picky, "--skip-bad").returncode == 0


@pytest.mark.parametrize(
    ("text", "symbol", "message"),
    [
        (C_MAPS, "wrods", b"exports no wrods"),
        (
            C_MAPS.replace("TEGULA_LIBRARY", "const uint32_t tegula_abi = 99;"),
            "words",
            b"is for version 99 of tegula.h, and this is version 1; compile it anew",
        ),
        (
            C_MAPS.replace("TEGULA_LIBRARY", ""),
            "words",
            b"does not say for which tegula.h it was compiled",
        ),
    ],
)
def test_a_wrong_library_is_refused(
    tmp_path: Path, path: Path, text: str, symbol: str, message: bytes
) -> None:
    library = compiled(tmp_path, text)
    done = run(library, path, "--map", symbol, "--combine", "sum")
    assert done.returncode == 2
    assert message in done.stderr
    assert str(library).encode() in done.stderr


def test_what_is_no_library_is_refused(tmp_path: Path, path: Path) -> None:
    (tmp_path / "text.so").write_text("no library")
    for library in (tmp_path / "nothing.so", tmp_path / "text.so"):
        done = run(library, path, "--map", "words", "--combine", "sum")
        assert done.returncode == 2
        assert str(library).encode() in done.stderr


def test_a_state_is_of_one_library(library: Path, path: Path, tmp_path: Path) -> None:
    arguments = ["--map", "words", "--combine", "sum", "--state", tmp_path / "saved"]
    first = run(library, path, *arguments, "--job", "a")
    again = run(library, path, *arguments, "--job", "a")
    assert (again.returncode, again.stdout) == (0, first.stdout)
    other = compiled(tmp_path, C_MAPS + "int more;\n")
    refused = run(other, path, *arguments, "--job", "a")
    assert refused.returncode == 1
    assert b"another job" in refused.stderr
