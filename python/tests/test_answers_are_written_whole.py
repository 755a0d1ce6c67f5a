"""Answers in files: in each format, whole or absent."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import polars
import pyarrow as pa
import pytest
import tegula as tg

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def answer(path: Path) -> tg.Result:
    return tg.text(path).words().count().run()


def test_each_format_holds_all_pairs(
    answer: tg.Result, path: Path, lines: list[str], tmp_path: Path
) -> None:
    counts = Counter(word for line in lines for word in line.split())
    pairs = sorted(counts.items())
    for ending in ("tsv", "jsonl", "parquet", "arrow"):
        answer.write(tmp_path / f"out.{ending}")
    rows = (tmp_path / "out.tsv").read_text().splitlines()
    assert rows == [f"{word}\t{count}" for word, count in pairs]
    objects = [json.loads(row) for row in (tmp_path / "out.jsonl").open()]
    assert objects == [{"key": word, "value": count} for word, count in pairs]
    assert polars.read_parquet(tmp_path / "out.parquet").rows() == pairs
    with pa.ipc.open_file(tmp_path / "out.arrow") as file:
        assert file.read_all().to_pydict() == {
            "key": [word for word, _ in pairs],
            "value": [count for _, count in pairs],
        }
    job = tg.text(path).words().count()
    assert len(job.write(tmp_path / "named", format="jsonl", workers=1)) == len(pairs)
    assert (tmp_path / "named").read_bytes() == (tmp_path / "out.jsonl").read_bytes()
    assert len(list(tmp_path.iterdir())) == 5


def test_columns_tuples_lists_and_odd_bytes(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_bytes(b"a 1\na 2\n\xff 3\n")
    source = tg.text(file)

    def figures(line: str):
        word, number = line.split()
        return (word, int(number) % 2), {"n": int(number)}

    out = tmp_path / "out"
    aggregated = source.map(figures).agg(total=tg.sum("n"), count=tg.count()).run()
    aggregated.write(out, format="tsv")
    assert out.read_bytes() == b"a\t0\t2\t1\na\t1\t1\t1\n\xff\t1\t3\t1\n"
    fields = source.field(1, " ", value=2).collect().run()
    fields.write(out, format="jsonl")
    assert [json.loads(line) for line in out.open()] == [
        {"key": "a", "value": ["1", "2"]},
        {"key_hex": "ff", "value": ["3"]},
    ]
    with pytest.raises(tg.OptionError, match="lists have no form in tsv"):
        fields.write(out, format="tsv")


def test_what_cannot_be_written_leaves_nothing(
    answer: tg.Result, path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("before")
    unfit = tg.text(path).map(lambda line: (line[:1], {1, 2})).collect().run()
    with pytest.raises(tg.OptionError, match="has no form in jsonl"):
        unfit.write(out)
    infinite = tg.text(path).map(lambda line: (line[:1], float("inf"))).max().run()
    with pytest.raises(tg.OptionError, match="has no form in jsonl"):
        infinite.write(out)
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]
    with pytest.raises(tg.OutputError, match="No such file"):
        answer.write(tmp_path / "no" / "out.tsv")
    with pytest.raises(tg.OptionError, match="give format="):
        answer.write(tmp_path / "out.txt")
    with pytest.raises(tg.OptionError, match="give format="):
        answer.write(tmp_path / "out", format="xml")


def test_a_job_is_written_from_its_state(path: Path, tmp_path: Path) -> None:
    job = tg.text(path).map(str.split).count()
    saved = {"state": tmp_path / "saved", "job": "words"}
    job.write(tmp_path / "first.tsv", **saved)
    again = job.write(tmp_path / "again.tsv", **saved)
    assert again.stats["restored_bytes"] == path.stat().st_size
    first = (tmp_path / "first.tsv").read_bytes()
    assert first == (tmp_path / "again.tsv").read_bytes()
    assert first.count(b"\n") == len(again)
