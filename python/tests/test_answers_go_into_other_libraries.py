"""Answers as Arrow, Polars, pandas, DuckDB and numpy; batches of Arrow and numpy as maps."""

from __future__ import annotations

import ctypes
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import tegula as tg
from conftest import in_a_process_of_its_own


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


class ArrowArray(ctypes.Structure):
    """The array of Arrow's C data interface."""


ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class Watched:
    """An answer whose stream notes the buffers of each batch that it gives away."""

    def __init__(self, answer: tg.Result) -> None:
        self.answer = answer
        self.buffers: list[int] = []
        self.batches = 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        capsule = self.answer.__arrow_c_stream__(requested_schema)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = (
            ctypes.c_void_p,
            [ctypes.py_object, ctypes.c_char_p],
        )
        address = pointer(capsule, b"arrow_array_stream")
        # Of the stream's five pointers, the second is that of its function `get_next`.
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowArray)
        )
        place = ctypes.c_void_p.from_address(address + ctypes.sizeof(ctypes.c_void_p))
        original = kind(place.value)

        def get_next(stream: int, to: Any) -> int:
            code = original(stream, to)
            if code == 0 and to.contents.release:
                self.batches += 1
                for number in range(to.contents.n_children):
                    column = to.contents.children[number].contents
                    self.buffers += [
                        column.buffers[place] or 0 for place in range(column.n_buffers)
                    ]
            return code

        self.kept = kind(get_next)
        place.value = ctypes.cast(self.kept, ctypes.c_void_p).value
        return capsule


def addresses(table: pa.Table) -> list[int]:
    """The buffers of a table, batch by batch."""
    return [
        buffer.address if buffer else 0
        for batch in table.to_batches()
        for column in batch.columns
        for buffer in column.buffers()
    ]


def test_nothing_is_copied_on_the_way_to_pyarrow(answer: tg.Result) -> None:
    watched = Watched(answer)
    table = pa.RecordBatchReader.from_stream(watched).read_all()
    assert watched.buffers
    assert addresses(table) == watched.buffers
    assert table.equals(answer.to_arrow())


def test_polars_and_duckdb_read_the_buffers_as_they_are(answer: tg.Result) -> None:
    """Polars keeps the numbers and the bytes of the keys; DuckDB takes each batch once."""
    watched = Watched(answer)
    frame = polars.DataFrame(watched)
    assert watched.batches == 1
    _, _, key_bytes, _, numbers = watched.buffers
    assert frame["value"].to_arrow().buffers()[1].address == numbers
    assert frame.equals(answer.to_polars())
    views = frame["key"].to_arrow(compat_level=polars.CompatLevel.newest())
    long = [key for key in frame["key"].to_list() if len(key.encode()) > 12]
    if long:
        assert key_bytes in [buffer.address for buffer in views.buffers()[2:]]
    watched = Watched(answer)
    count, total = (
        duckdb.from_arrow(watched).aggregate("count(*), sum(value)").fetchall()[0]
    )
    assert (count, total) == (len(answer), sum(value for _, value in answer))
    assert watched.batches == 1


def duckdb_keeps_no_keys(folder: str) -> None:
    """The keys are 96 MB, and a query over them needs a fraction of that."""
    text = Path(folder) / "keys"
    with text.open("w") as keys:
        keys.writelines(f"{number:047d}\n" for number in range(2_000_000))
    answer = tg.text(text).lines().count().run(workers=2)
    duckdb.sql("set threads = 1")
    query = "count(*), sum(value), max(length(key)), max(key)"
    Path("/proc/self/clear_refs").write_text("5")  # The peak begins anew.
    before = resident("VmRSS")
    assert duckdb.from_arrow(answer).aggregate(query).fetchall() == [
        (2_000_000, 2_000_000, 47, f"{1_999_999:047d}")
    ]
    assert resident("VmHWM") - before < 32 << 20


def resident(field: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) << 10


@pytest.mark.once
def test_duckdb_does_not_copy_the_keys(tmp_path: Path) -> None:
    in_a_process_of_its_own(duckdb_keeps_no_keys, tmp_path)


def test_a_stream_is_cast_to_the_schema_that_is_asked_for(answer: tg.Result) -> None:
    def stream(schema: pa.Schema) -> pa.Table:
        capsule = answer.__arrow_c_stream__(schema.__arrow_c_schema__())
        return pa.RecordBatchReader._import_from_c_capsule(capsule).read_all()

    schema = pa.schema([("key", pa.string()), ("value", pa.int32())])
    table = stream(schema)
    assert table.schema == schema
    assert table.to_pydict() == answer.to_arrow().to_pydict()
    with pytest.raises(tg.OptionError, match="columns key, count"):
        stream(pa.schema([("key", pa.string()), ("count", pa.int32())]))
    with pytest.raises(pa.ArrowInvalid, match="not in range"):
        stream(pa.schema([("key", pa.string()), ("value", pa.int8())]))


def test_numbers_are_written_into_the_array(path: Path) -> None:
    counts = tg.text(path).words().count().run()
    numbers = counts.to_numpy()
    assert numbers.dtype == np.int64
    assert numbers.flags.owndata
    assert numbers.flags.writeable
    numbers[:] = 0
    assert counts.to_numpy().tolist() == [value for _, value in counts]
    halves = tg.text(path).map(lambda line: (line[:1], len(line) / 2)).sum().run()
    assert halves.to_numpy().tolist() == [value for _, value in halves]


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


def test_keys_without_a_value_are_counted() -> None:
    rows = tg.batches(pa.table({"row": list("ab")}), engine=tg.Engine(workers=1))
    for values in ([None, 1], [None, None]):
        given = rows.map_arrow(
            lambda batch: {"key": batch["row"], "x": pa.array(values, pa.int64())},  # noqa: B023
            on="threads",
        )
        expected = {"a": {"c": 0}, "b": {"c": int(values[1] is not None)}}
        assert given.agg(c=tg.count("x")).run().to_dict() == expected


def test_nulls_in_a_dictionary_of_arrow_are_nulls() -> None:
    """Its array counts the nulls among its indices alone."""

    def coded(indices, entries):
        return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), entries)

    rows = tg.batches(pa.table({"row": list("abcde")}), engine=tg.Engine(workers=1))
    for indices in ([0, 1, 2, 1, 0], [0, 1, 2, None, 0]):
        names, numbers = coded(indices, ["x", None, "z"]), coded(indices, [1, None, 3])
        ones = pa.array([1] * 5)
        keyed = rows.map_arrow(lambda _: {"key": names, "value": ones}, on="threads")  # noqa: B023
        assert keyed.sum().run().to_dict() == {"x": 2, "z": 1}
        assert keyed.count().run().to_dict() == {"x": 2, "z": 1}
        assert keyed.collect().run().to_dict() == {"x": [1, 1], "z": [1]}
        given = rows.map_arrow(
            lambda batch: {"key": batch["row"], "value": numbers},  # noqa: B023
            on="threads",
        )
        assert given.sum().run().to_dict() == {"a": 1, "c": 3, "e": 1}
    halves = coded([0, 1, 1, 0, None], [0.5, 1.5])
    floats = rows.map_arrow(lambda _: {"key": ones, "value": halves}, on="threads")
    assert floats.sum().run().to_dict() == {1: 4.0}


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


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_values_of_batches_are_kept_reduced_and_merged(
    path: Path, lines: list[str], on: str
) -> None:
    groups: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        groups[line[:1]].append(len(line))
    pairs = tg.text(path).map_arrow(lengths_by_first, on=on)
    assert pairs.collect().run().to_dict() == groups
    firsts = pairs.reduce(lambda key, values: list(values)[:9]).run()
    assert firsts.to_dict() == {key: values[:9] for key, values in groups.items()}
    merged = pairs.merge(max).run()
    assert merged.to_dict() == {key: max(values) for key, values in groups.items()}

    def texts(records):
        return {"key": pc.utf8_length(records), "value": records}

    found = tg.text(path).map_arrow(texts, on=on).reduce(lambda _, values: {*values})
    expected: dict[int, set[str]] = defaultdict(set)
    for line in lines:
        expected[len(line)].add(line)
    assert found.run().to_dict() == expected


def test_rows_without_a_key_are_not_kept(path: Path, lines: list[str]) -> None:
    def some(records):
        lengths = pc.utf8_length(records)
        return {
            "key": pc.if_else(pc.greater(lengths, 20), "long", None),
            "value": lengths,
        }

    kept = tg.text(path).map_arrow(some).collect().run().to_dict()
    assert kept == {"long": [len(line) for line in lines if len(line) > 20]}
    with pytest.raises(tg.BadRecord, match="1 values"):
        tg.text(path).map_arrow(lambda r: {"key": r, "value": [1]}).collect().run()


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_values_of_arrays_are_kept_reduced_and_merged(on: str) -> None:
    points = np.arange(30_000, dtype=np.float64).reshape(-1, 3)

    def by_row(rows):
        return (rows[:, 0] % 2).astype(int), rows

    pairs = tg.array(points).map_array(by_row, on=on)
    kept = pairs.collect().run().to_dict()
    assert np.array_equal(kept[0], points[::2])
    assert np.array_equal(kept[1], points[1::2])
    sums = pairs.merge(np.add).run().to_dict()
    assert np.array_equal(sums[1], points[1::2].sum(axis=0))
    least = pairs.reduce(lambda _, rows: float(min(row[0] for row in rows))).run()
    assert least.to_dict() == {0: 0.0, 1: 3.0}
    numbers = tg.array(np.arange(10)).map_array(lambda rows: (rows % 2, rows))
    assert numbers.collect().run().to_dict() == {0: [0, 2, 4, 6, 8], 1: [1, 3, 5, 7, 9]}


def test_integers_without_a_sign_are_what_they_are() -> None:
    numbers = np.array([2**64 - 1, 2**63, 2, 2**63 - 1], np.uint64)
    source = tg.array(numbers, engine=tg.Engine(workers=1))
    ones = np.ones(4, int)
    values = source.map_array(lambda rows: (ones[: len(rows)], rows))
    for combine, expected in [("sum", 2**65), ("min", 2), ("max", 2**64 - 1)]:
        assert getattr(values, combine)().run().to_dict() == {1: expected}
    assert values.mean().run().to_dict() == {1: 2.0**63}
    columns = source.map_array(lambda rows: {"key": ones[: len(rows)], "v": rows})
    both = columns.agg(total=tg.sum("v"), n=tg.count()).run().to_dict()
    assert both == {1: {"total": 2**65, "n": 4}}
    keyed = source.map_array(lambda rows: (rows, rows))
    for pairs in (keyed.sum(), keyed.count(), keyed.collect()):
        with pytest.raises(tg.BadRecord, match=r"18446744073709551615.* 64 bits"):
            pairs.run()
    small = tg.array(numbers[2:]).map_array(lambda rows: (rows, rows)).sum().run()
    assert small.to_dict() == {2: 2, 2**63 - 1: 2**63 - 1}


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
