"""Streams: answers grow up to the last, leaving a loop stops the job, and errors come through."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
import tegula as tg
from conftest import companions_of


@pytest.mark.parametrize("every", ["10%", "100K", 0.01])
def test_shows_grow_to_the_answer(
    path: Path, lines: list[str], every: str | float
) -> None:
    words = Counter(word for line in lines for word in line.split())
    shows = list(tg.text(path).words().count().stream(every=every))
    assert shows[-1].is_last
    assert shows[-1].part == 1
    assert shows[-1].result.to_dict() == words
    parts = [seen.bytes for seen in shows]
    assert parts == sorted(parts)


def test_the_top_of_a_python_map(path: Path, lines: list[str]) -> None:
    words = Counter(word for line in lines for word in line.split())
    ranked = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))
    shows = list(tg.text(path).map(str.split).count().stream(every="20%", top=5))
    assert list(shows[-1].result) == ranked[:5]
    assert shows[-1].top(2) == ranked[:2]
    assert shows[-1].stable_since(1) is not None
    assert shows[-1].stable_since(6) is None
    assert "100%" in repr(shows[-1])


def test_leaving_the_loop_stops_the_job(path: Path) -> None:
    def slow(line: str):
        import time

        time.sleep(0.0001)
        return line, 1

    for seen in tg.text(path).map(slow).sum().stream(every=0.2):
        assert not seen.is_last
        break
    assert companions_of(os.getpid()) == []


def test_an_exception_comes_through(path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        list(tg.text(path).map(lambda line: (line, 1 // 0)).sum().stream())
    for every in ("0%", "101%", "x%", 0, -1.0, "many"):
        with pytest.raises(tg.OptionError):
            tg.text(path).words().count().stream(every=every)


def test_progress_is_read(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readings = []

    def slow(line: str):
        import time

        time.sleep(0.0001)
        return line, 1

    tg.text(path).map(slow).sum().run(progress=readings.append)
    assert readings
    assert readings[-1]["bytes_planned"] == path.stat().st_size
    tg.text(path).map(slow).sum().run(progress=True)
    assert "of memory" in capsys.readouterr().err
