"""Streams: answers grow up to the last, leaving a loop stops the job, and errors come through."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import tegula as tg
from conftest import companions_of
from tegula.seen import Seen


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
    assert shows[-1].stable_since(0) is None
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


def show_of(
    stable: list[int], seen: int, planned: int | None, *, is_last: bool
) -> Seen:
    """A show of which `seen` bytes were seen."""
    native = SimpleNamespace(
        number=1,
        part=None if planned is None else seen / planned,
        bytes=seen,
        bytes_planned=planned,
        keys=None,
        seconds=1.0,
        is_last=is_last,
        stable=stable,
    )
    return Seen(native, None)


def test_keys_are_stable_after_a_fifth_of_the_input() -> None:
    """The first changed at 100 of 1000 bytes, the second at 350."""
    early = show_of([100, 350], 350, 1000, is_last=False)
    assert early.stable_since(1) == 0.1
    assert early.stable_since(1, least=0.3) is None
    assert early.stable_since(2) is None
    later = show_of([100, 350], 549, 1000, is_last=False)
    assert later.stable_since(2) is None
    assert show_of([100, 350], 550, 1000, is_last=False).stable_since(2) == 0.35
    # Nothing changes after the last show.
    assert show_of([100, 999], 1000, 1000, is_last=True).stable_since(2) == 0.999
    # Of a stream, the whole is what was read so far.
    assert show_of([90], 100, None, is_last=False).stable_since(1) is None
    assert show_of([50], 100, None, is_last=False).stable_since(1) == 0.5


@pytest.mark.once
def test_a_loop_leaves_when_the_first_keys_are_stable(tmp_path: Path) -> None:
    """Of words whose ranks are the same everywhere: not at once, and long before the end."""
    text = tmp_path / "words"
    text.write_text("a a a b b c\n" * 30_000)

    def slow(line: str) -> list[str]:
        time.sleep(0.0001)
        return line.split()

    job = tg.text(text).map(slow).count()
    for seen in job.stream(every="5%", top=3, workers=1):
        if seen.stable_since(2):
            break
    since = seen.stable_since(2)
    assert seen.part is not None and since is not None
    assert [key for key, _ in seen.top(2)] == ["a", "b"]
    assert 0.2 <= seen.part - since < 1
    assert not seen.is_last


@pytest.mark.once
def test_the_final_values_are_estimated(tmp_path: Path) -> None:
    """Of words that are spread evenly, from the first show on; the last one is certain."""
    text = tmp_path / "words"
    text.write_text("a a a b b c\n" * 30_000)

    def slow(line: str) -> list[tuple[str, dict[str, int]]]:
        time.sleep(0.00003)
        return [(word, {"twice": 2}) for word in line.split()]

    columns = {"least": tg.min("twice"), "n": tg.count(), "twice": tg.sum("twice")}
    job = tg.text(text).map(slow).agg(**columns)
    shows = list(job.stream(every="5%", top=3, workers=1))
    assert len(shows) > 2
    for seen in shows:
        for by, expected in (("n", 90_000), ("twice", 180_000)):
            estimate = seen.estimate("a", by)
            assert estimate is not None
            assert estimate.total == pytest.approx(expected, rel=0.01)
            assert (estimate.within is None) == (seen is shows[0] and not seen.is_last)
            assert estimate.within is None or 0 <= estimate.within < 0.02 * expected
        assert seen.estimate("no such word", "n") is None
        with pytest.raises(tg.OptionError, match="does not add up"):
            seen.estimate("a")
        with pytest.raises(tg.OptionError, match="no column"):
            seen.estimate("a", "mean")
    assert shows[-1].estimate("b", "n") == tg.Estimate(60_000, 0) == (60_000.0, 0.0)


def test_estimates_of_all_keys_are_made_when_they_are_asked_for(path: Path) -> None:
    words = tg.text(path).words().count()
    *_, last = words.stream(estimates=True)
    answer = words.run().to_dict()
    assert all(last.estimate(key) == (count, 0) for key, count in answer.items())
    *_, last = words.stream()
    with pytest.raises(tg.OptionError, match="estimates=True"):
        last.estimate("a")
    *_, last = tg.text(path).map(lambda line: (line, 1)).max().stream(top=2)
    with pytest.raises(tg.OptionError, match="max do not add up"):
        last.estimate("a")


@pytest.mark.once
def test_a_stream_goes_on_from_a_state(path: Path, tmp_path: Path) -> None:
    words = tg.text(path).words().count().run().to_dict()
    job = tg.text(path).map(str.split).count()
    saved = {"state": tmp_path / "saved", "job": "words"}
    shows = list(job.stream(every="20%", **saved))
    assert shows[-1].result.to_dict() == words
    assert job.run(**saved).stats["restored_bytes"] == path.stat().st_size
    again = list(job.stream(every="20%", **saved))
    assert again[-1].result.to_dict() == words
    ordered = list(job.stream(every="20%", in_order=True, **saved))
    assert ordered[-1].result.to_dict() == words
    tiles = {"state": tmp_path / "tiles", "job": "words", "incremental": True}
    with pytest.raises(tg.OptionError, match="order of the input"):
        list(job.stream(in_order=True, **tiles))
    with pytest.raises(tg.StateError, match="another job"):
        list(tg.text(path).map(str.split).collect().stream(**saved))
    with pytest.raises(tg.OptionError, match="state"):
        job.stream(job="words")


@pytest.mark.once
def test_progress_and_devices_of_a_stream(path: Path) -> None:
    readings = []

    def slow(line: str) -> tuple[str, int]:
        if line < "d":
            time.sleep(0.0001)
        return line, 1

    list(tg.text(path).map(slow).sum().stream(every="20%", progress=readings.append))
    assert readings
    assert readings[-1]["bytes_planned"] == path.stat().st_size
    words = tg.text(path).words().count()
    *_, last = words.stream(devices="cpu")
    assert last.result.to_dict() == words.run().to_dict()
    with pytest.raises(tg.OptionError, match="no such device"):
        list(words.stream(devices="no such device"))


def test_an_exception_of_the_watcher_stops_a_stream(path: Path) -> None:
    def watch(_: dict) -> None:
        raise ValueError("mine")

    def slow(line: str) -> tuple[str, int]:
        time.sleep(0.0005)
        return line, 1

    with pytest.raises(ValueError, match=r"^mine$"):
        list(tg.text(path).map(slow).sum().stream(every="99%", progress=watch))
    assert companions_of(os.getpid()) == []
