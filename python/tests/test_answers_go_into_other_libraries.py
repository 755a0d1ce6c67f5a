"""Answers as Arrow, Polars, pandas, DuckDB and numpy; batches of Arrow and numpy as maps."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import tegula as tg


@pytest.fixture(scope="module")
def answer(path: Path) -> tg.Result:
    return tg.text(path).words().count().run()


def test_all_libraries_read_the_same(answer: tg.Result) -> None:
    pairs = list(answer)
    table = answer.to_arrow()
    assert table.column_names == ["key", "value"]
    assert (
        list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        == pairs
    )
    assert answer.to_polars().rows() == pairs
    frame = answer.to_pandas()
    assert list(zip(frame["key"], frame["value"], strict=True)) == pairs
    assert duckdb.sql("select * from answer order by key").fetchall() == pairs
    assert answer.to_numpy().tolist() == [value for _, value in pairs]
    assert polars.DataFrame(answer).equals(answer.to_polars())


def test_many_batches(tmp_path: Path) -> None:
    count = 300_000
    (tmp_path / "keys").write_text("".join(f"{n}\n" for n in range(count)))
    table = tg.text(tmp_path / "keys").lines().count().run().to_arrow()
    assert table.num_rows == count
    assert len(table["key"].chunks) > 1
    assert table["key"].to_pylist() == sorted(map(str, range(count)))


def test_columns_of_agg(path: Path, lines: list[str]) -> None:
    def row(line: str):
        return len(line), {"a": 1.5, "b": 2} if line else {"a": 0.5}

    answer = (
        tg.text(path).map(row).agg(a=tg.mean("a"), b=tg.sum("b"), n=tg.count()).run()
    )
    table = answer.to_arrow()
    assert table.schema.names == ["key", "a", "b", "n"]
    assert [str(field.type) for field in table.schema] == [
        "int64",
        "double",
        "int64",
        "int64",
    ]
    lengths = Counter(map(len, lines))
    assert table["key"].to_pylist() == sorted(lengths)
    assert table["b"].to_pylist() == [
        None if length == 0 else 2 * lengths[length] for length in sorted(lengths)
    ]
    assert answer.to_numpy("n").tolist() == [
        lengths[length] for length in sorted(lengths)
    ]
    best = sorted(lengths, key=lambda length: (-lengths[length], length))
    assert [key for key, _ in answer.top(3, by="n")] == best[:3]
    with pytest.raises(tg.OptionError, match="no column"):
        answer.to_numpy("c")
    assert "<table>" in answer._repr_html_()


def test_what_arrow_has_no_column_for(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a\n\xff\n")
    source = tg.text(tmp_path / "x")
    with pytest.raises(pa.ArrowInvalid, match="encoding=None"):
        source.lines().count().run().to_arrow()
    binary = tg.text(tmp_path / "x", encoding=None).lines().count().run()
    assert binary.to_arrow()["key"].to_pylist() == [b"a", b"\xff"]
    mixed = source.map(lambda line: [("a", 1), (5, 1)]).sum().run()
    with pytest.raises(tg.OptionError, match="several types"):
        mixed.to_arrow()
    tuples = source.map(lambda line: ((1, 2), 1)).sum().run()
    with pytest.raises(tg.OptionError, match="tuples"):
        tuples.to_arrow()
    wide = source.map(lambda line: (1, 2**70)).sum().run()
    assert wide.to_dict() == {1: 2**71}
    with pytest.raises(pa.ArrowInvalid, match="64 bits"):
        wide.to_arrow()
    with pytest.raises(tg.OptionError, match="64 bits"):
        wide.to_numpy()


def test_lists_and_empty_answers(path: Path, lines: list[str], tmp_path: Path) -> None:
    kept = tg.text(path).map(lambda line: (line[:1], len(line))).collect().run()
    assert (
        dict(zip(*kept.to_arrow().to_pydict().values(), strict=True)) == kept.to_dict()
    )
    assert kept.to_polars().rows() == list(kept)
    fields = tg.text(path).field(1, " ", value=1).collect().run()
    assert fields.to_polars().rows() == list(fields)
    (tmp_path / "empty").write_text("")
    empty = tg.text(tmp_path / "empty").words().count().run()
    assert (len(empty), list(empty), empty.to_arrow().num_rows) == (0, [], 0)
    assert empty.to_polars().is_empty()


def lengths_by_first(lines):
    keys = pc.utf8_slice_codeunits(lines, 0, 1)
    return {"key": keys, "value": pc.utf8_length(lines)}


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_arrow_batches(path: Path, lines: list[str], on: str) -> None:
    expected: Counter[str] = Counter()
    for line in lines:
        expected[line[:1]] += len(line)
    pairs = tg.text(path).map_arrow(lengths_by_first, on=on)
    assert pairs.sum().run().to_dict() == expected
    assert pairs.count().run().to_dict() == Counter(line[:1] for line in lines)
    columns = pairs.agg(n=tg.count(), most=tg.max("value")).run().to_dict()
    assert columns["a"]["most"] == max(
        len(line) for line in lines if line.startswith("a")
    )


def test_arrow_batches_with_nulls_and_other_types(path: Path, lines: list[str]) -> None:
    def ints(records):
        lengths = pc.utf8_length(records)
        return pa.table(
            {
                "key": pc.if_else(pc.greater(lengths, 3), lengths, None),
                "value": pc.if_else(
                    pc.greater(lengths, 5), pc.cast(lengths, "float64"), None
                ),
            }
        )

    expected = Counter(len(line) for line in lines if len(line) > 3)
    answer = (
        tg.text(path).map_arrow(ints).agg(n=tg.count(), total=tg.sum("value")).run()
    )
    assert {key: value["n"] for key, value in answer} == expected
    assert {key: value["total"] for key, value in answer} == {
        key: n * key if key > 5 else None for key, n in expected.items()
    }

    def wrong(records):
        return {"key": records, "value": [1.0]}

    with pytest.raises(tg.BadRecord, match="1 values"):
        tg.text(path).map_arrow(wrong).sum().run()


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_arrays_by_rows(on: str) -> None:
    points = np.random.default_rng(3).normal(size=(50_000, 3))

    def by_octant(rows, scale):
        keys = (rows > 0) @ np.array([1, 2, 4])
        return keys, rows.sum(axis=1) * scale

    keys = (points > 0) @ np.array([1, 2, 4])
    pairs = tg.array(points).map_array(by_octant, args=(2.0,), on=on)
    sums = pairs.sum().run()
    expected = np.bincount(keys, weights=points.sum(axis=1) * 2)
    assert [key for key, _ in sums] == list(range(8))
    assert np.allclose(sums.to_numpy(), expected)
    same = (
        tg.array(points).map_array(by_octant, args=(2.0,), on=on).sum().run(workers=1)
    )
    assert sums.to_numpy().tobytes() == same.to_numpy().tobytes()


def test_arrays_that_cannot_be_read() -> None:
    for values in [
        np.array(5),
        np.array([object()]),
        np.zeros((4, 4)).T[:2],
        np.zeros((3, 0)),
    ]:
        with pytest.raises(tg.OptionError):
            tg.array(values)
    assert (
        len(
            tg.array(np.zeros((0, 2)))
            .map_array(lambda rows: (rows[:, 0].astype(int), rows[:, 1]))
            .sum()
            .run()
        )
        == 0
    )


def test_an_array_on_disk_is_not_copied(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(1000))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    total = tg.array(mapped).map_array(lambda rows: (rows % 2, rows)).sum().run()
    assert total.to_dict() == {0: 249_500, 1: 250_000}
