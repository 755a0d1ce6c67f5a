"""An incremental run calls the map for the records of new tiles, and for no others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import inputs_of_examples
import pytest
import tegula as tg

pytestmark = pytest.mark.once


def words_of(folder: Path) -> dict[str, int]:
    texts = [file.read_text() for file in folder.iterdir()]
    return Counter(word for text in texts for word in text.split())


def test_files_that_came_went_and_changed(tmp_path: Path) -> None:
    """Each call of the map leaves a byte in a file."""
    folder, calls = tmp_path / "archive", tmp_path / "calls"
    inputs_of_examples.archive(folder)
    calls.touch()

    def words(data: bytes, seen: str) -> Counter[bytes]:
        with open(seen, "ab") as file:
            file.write(b"x" * data.count(b"\n"))
        return Counter(data.split())

    job = tg.text(folder, encoding=None).map_split(words, args=(str(calls),)).sum()
    saved = {"state": tmp_path / "saved", "job": "words", "incremental": True}

    def run() -> tuple[tg.Result, int]:
        before = calls.stat().st_size
        result = job.run(**saved)
        found = {key.decode(): count for key, count in result}
        assert found == words_of(folder)
        return result, calls.stat().st_size - before

    result, mapped = run()
    assert mapped == 600_000
    assert result.stats["restored_bytes"] == 0
    result, mapped = run()
    assert mapped == 0
    inputs_of_examples.change_archive(folder)
    result, mapped = run()
    kept = sum((folder / f"{number}.txt").stat().st_size for number in (2, 3))
    assert mapped == 2000
    assert result.stats["restored_bytes"] == kept
    result, mapped = run()
    assert mapped == 0


def test_a_state_that_was_not_incremental_becomes_so(tmp_path: Path) -> None:
    """Today's program and tomorrow's name one state: the first incremental run maps all, and the next what is new."""
    folder = tmp_path / "archive"
    inputs_of_examples.archive(folder)
    job = tg.text(folder).map(str.split).count()
    saved = {"state": tmp_path / "saved", "job": "archive"}
    assert job.run(**saved).to_dict() == words_of(folder)
    inputs_of_examples.change_archive(folder)
    kept = sum((folder / f"{number}.txt").stat().st_size for number in (2, 3))
    for restored_least in (0, kept):
        result = job.run(**saved, incremental=True)
        assert result.to_dict() == words_of(folder)
        assert result.stats["restored_bytes"] >= restored_least
    with pytest.raises(tg.StateError, match=r"as incremental again; name another job"):
        job.run(**saved)
