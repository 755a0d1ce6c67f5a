"""An answer gives pairs by their places, as a list of them does."""

from __future__ import annotations

from pathlib import Path

import pytest
import tegula as tg

SLICES = [
    slice(None),
    slice(3),
    slice(-3, None),
    slice(5, 5),
    slice(9, 2),
    slice(10, 0, -3),
    slice(None, None, -1),
    slice(2, None, 1000),
    slice(-5, 10**9),
]


def check(answer: tg.Result) -> None:
    pairs = list(answer)
    for place in (0, 1, len(pairs) // 2, len(pairs) - 1, -1, -len(pairs)):
        assert answer[place] == pairs[place]
    for places in SLICES:
        assert answer[places] == pairs[places], places
    assert list(reversed(answer)) == pairs[::-1]
    for place in (len(pairs), -len(pairs) - 1):
        with pytest.raises(IndexError):
            answer[place]


def test_places_and_slices(path: Path) -> None:
    source = tg.text(path)
    check(source.words().count().run())
    check(source.words().count().run(order="value"))
    check(source.map(lambda line: (line[:1], len(line))).collect().run())
    check(
        source.map(lambda line: (line[:1], line[-1:])).reduce(lambda _, v: {*v}).run()
    )
    columns = {"n": tg.count(), "most": tg.max("length")}
    rows = source.map(lambda line: (line[:2], {"length": len(line)}))
    check(rows.agg(**columns).run())


def test_an_answer_of_many_portions(tmp_path: Path) -> None:
    count = 300_000
    (tmp_path / "keys").write_text("".join(f"{number:06}\n" for number in range(count)))
    answer = tg.text(tmp_path / "keys").lines().count().run()
    for place in (200_000, 5, count - 1):
        assert answer[place] == (f"{place:06}", 1)
    there = range(19_990, 220_010)
    assert answer[there.start : there.stop] == [(f"{place:06}", 1) for place in there]


def test_an_empty_answer(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    answer = tg.text(tmp_path / "empty").lines().count().run()
    assert answer[:] == []
    with pytest.raises(IndexError):
        answer[0]
