"""A state that the command line began is gone on with from Python, and the other way round, and can be shown."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tegula as tg
from test_native_maps_run_on_the_workers import C_MAPS, compiled

pytestmark = pytest.mark.once

TEGULA = Path(sys.executable).with_name("tegula")


def tegula(*arguments: object) -> bytes:
    command = [TEGULA, *map(os.fspath, arguments)]
    return subprocess.run(command, capture_output=True, check=True).stdout


def tsv(result: tg.Result) -> bytes:
    def cells(key: str, value: object) -> list[str]:
        return [key, *map(str, value.values() if isinstance(value, dict) else [value])]

    lines = ["\t".join(cells(key, value)) for key, value in result]
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    made = {name: folder / name for name in ("text", "json", "log")}
    made["text"].write_text("".join(f"{n % 7} {n}.5 x\n" for n in range(9000)))
    rows = [{"user": {"id": f"u{n % 9}"}, "bytes": n} for n in range(9000)]
    made["json"].write_text("".join(json.dumps(row) + "\n" for row in rows))
    when = "[17/May/2015:10:05:03 +0000]"
    made["log"].write_text(
        "".join(f'h{n % 5} - - {when} "GET / HTTP/1.1" 200 {n}\n' for n in range(900))
    )
    return made


JOBS: dict[str, tuple[str, list[str], Callable[[Path], tg.Job]]] = {
    "words": ("text", ["wordcount"], lambda p: tg.text(p).words().count()),
    "unicode words": (
        "text",
        ["wordcount", "--words", "unicode"],
        lambda p: tg.text(p).words("unicode").count(),
    ),
    "field": (
        "text",
        ["top", "99", "--order", "key", "-s", " "],
        lambda p: tg.text(p).field(1, " ").count(),
    ),
    "sum of a field": (
        "text",
        ["top", "99", "--order", "key", "-s", " ", "--sum", "2"],
        lambda p: tg.text(p).field(1, " ", value=2).sum(),
    ),
    "json": (
        "json",
        ["top", "99", "--json", "user.id"],
        lambda p: tg.text(p).json("user.id").count(),
    ),
    "sum of json": (
        "json",
        ["top", "99", "--json", "user.id", "--sum", "bytes"],
        lambda p: tg.text(p).json("user.id", "bytes").sum(),
    ),
    "grep": (
        "text",
        ["grep", "[12]+", "--by", "match"],
        lambda p: tg.text(p).grep("[12]+").count(),
    ),
    "logs": (
        "log",
        ["logstats", "--key", "host"],
        lambda p: tg.logstats(p, key="host"),
    ),
    "matches": (
        "text",
        ["stringmatch", "-k", "1 1.5 x"],
        lambda p: tg.stringmatch(p, keys=["1 1.5 x"]),
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_state_serves_both(
    name: str, inputs: dict[str, Path], tmp_path: Path
) -> None:
    which, command, job_of = JOBS[name]
    path, job = inputs[which], job_of(inputs[which])
    command = [part for part in command if part not in ("--order", "key")]
    saved = ["--state", tmp_path / "saved", "--job"]
    of_python = {"state": tmp_path / "saved"}
    # Begun by the command line, gone on with from Python.
    tegula(*command, path, *saved, "a")
    answer = job.run(**of_python, job="a")
    assert answer.stats["restored_bytes"] > 0
    assert answer.to_dict() == job.run().to_dict()
    # Begun from Python, gone on with by the command line, and shown by it.
    job.run(**of_python, job="b")
    done = sorted(tegula(*command, path, *saved, "b").splitlines())
    assert done == sorted(tegula(*command, path).splitlines())
    shown = sorted(tegula("show", *saved, "b", "--top", "all").splitlines())
    assert shown == done


def test_an_unfinished_run_is_gone_on_with(tmp_path: Path) -> None:
    text = "".join(f"word{n % 1000} more\n" for n in range(100_000))
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text(text)
    saved = {"state": tmp_path / "saved", "job": "a"}
    source = tg.text(*(tmp_path / f"{number}.txt" for number in range(40)))
    job = source.words().count()

    class Stop(Exception):
        pass

    def stop(reading: dict[str, object]) -> None:
        if int(str(reading["bytes_done"])) > 0:
            raise Stop

    with contextlib.suppress(Stop):
        job.run(**saved, progress=stop, workers=1)
    paths = [tmp_path / f"{number}.txt" for number in range(40)]
    lines = tegula("wordcount", *paths, "--state", saved["state"], "--job", "a")
    expected = job.run()
    assert lines == tsv(expected)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("native"), "maps", C_MAPS)


@pytest.mark.parametrize("value", ["i64", "f64"])
@pytest.mark.parametrize("combine", ["count", "sum", "min", "max", "mean"])
def test_a_library_has_one_state_in_both(
    path: Path, library: Path, tmp_path: Path, combine: str, value: str
) -> None:
    name = {"i64": "words", "f64": "halves"}[value]
    job = getattr(tg.text(path).map_native((library, name), value=value), combine)()
    command = ["run", library, "--map", name, "--combine", combine]
    command += ["--value", value, path, "--state", tmp_path / "saved", "--job"]
    # Begun by the command line, gone on with from Python.
    tegula(*command, "a")
    answer = job.run(state=tmp_path / "saved", job="a")
    assert answer.stats["restored_bytes"] > 0
    assert answer.to_dict() == job.run().to_dict()
    # Begun from Python, gone on with by the command line.
    job.run(state=tmp_path / "saved", job="b")
    figures = tmp_path / "figures"
    lines = tegula(*command, "b", "--order", "key", "--stats-json", figures)
    assert json.loads(figures.read_text())["restored_bytes"] > 0
    rows = [line.split("\t") for line in lines.decode().splitlines()]
    assert {key: float(figure) for key, figure in rows} == answer.to_dict()
    # With a version of its own, the map is another job.
    with pytest.raises(tg.StateError, match="another job"):
        job.run(state=tmp_path / "saved", job="b", version="1")


def test_a_state_of_a_map_of_ones_own_is_not_shown(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    state = {"state": tmp_path, "job": "a"}
    tg.text(inputs["text"]).map(str.split).count().run(**state)
    command = [TEGULA, "show", "--state", tmp_path]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode != 0
    assert b"does not say which command made it" in done.stderr
