"""`sort` and `distinct` give what Python's own `sorted` and `dict.fromkeys` give, in runs and in files."""

from __future__ import annotations

import csv
import io
import os
import random
from pathlib import Path

import pytest
import tegula as tg
from conftest import in_a_process_of_its_own, least_memory

pytestmark = pytest.mark.once


def rows(count: int, seed: int = 3) -> list[str]:
    chance = random.Random(seed)
    numbers = [chance.choice([-1, 1]) * 10 ** chance.uniform(-3, 12) for _ in range(9)]
    return [
        f"{chance.randrange(99)}\t{chance.choice(numbers):.3f}\té{chance.randrange(9)}"
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    file = tmp_path_factory.mktemp("sorted") / "table.tsv"
    lines = rows(30_000)
    file.write_text("\n".join(lines) + "\n")
    return file, lines


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    ("key", "same"),
    [
        (None, str.encode),
        (slice(1, 4), lambda line: line.encode()[1:4]),
        (slice(4, None), lambda line: line.encode()[4:]),
        (tg.field(3), lambda line: line.split("\t")[2].encode()),
        (tg.field(2, numeric=True), lambda line: float(line.split("\t")[1])),
        (lambda line: float(line.split("\t")[1]), None),
        (lambda line: (line[-1], -int(line.split("\t")[0])), None),
    ],
)
def test_records_are_sorted(
    table: tuple[Path, list[str]], tmp_path: Path, key, same, workers, is_reversed
) -> None:
    file, lines = table
    expected = sorted(lines, key=same or key, reverse=is_reversed)
    job = tg.text(file).sort(key=key, reverse=is_reversed)
    answer = job.run(workers=workers)
    assert list(answer) == expected
    assert len(answer) == len(lines)
    out = tmp_path / "out"
    job.write(out, workers=workers)
    assert out.read_text() == "\n".join(expected) + "\n"


def test_large_integers_are_sorted_exactly(tmp_path: Path) -> None:
    numbers = [2**53 + 1, 2**53, -(2**62) - 1, -(2**62), 2**63 - 1, 0, -0.0, 1e300, 5]
    (tmp_path / "x").write_text("".join(f"{number}\n" for number in numbers))
    source = tg.text(tmp_path / "x")
    shown = [str(number) for number in sorted(numbers)]
    by_field = source.sort(key=tg.field(1, ",", numeric=True)).run()
    assert list(by_field) == shown
    by_function = source.sort(
        key=lambda text: float(text) if "e" in text or "." in text else int(text)
    )
    assert list(by_function.run()) == shown


def sort_beyond_the_memory(folder: str) -> None:
    path, out = Path(folder) / "x", Path(folder) / "out"
    chance = random.Random(1)
    lines = [f"{chance.randrange(10**9)} {'x' * 90}" for _ in range(600_000)]
    path.write_text("\n".join(lines) + "\n")
    job = tg.text(path).sort(key=tg.field(1, " ", numeric=True))
    memory = least_memory(lambda size: job.run(memory=size, workers=1))
    answer = job.write(out, memory=memory, workers=1)
    assert answer.stats["spilled_bytes"] > 0
    expected = sorted(lines, key=lambda line: int(line.split(" ")[0]))
    assert out.read_text() == "\n".join(expected) + "\n"


def test_a_sort_beyond_the_memory_goes_to_disk(tmp_path: Path) -> None:
    in_a_process_of_its_own(sort_beyond_the_memory, tmp_path)


def test_records_of_all_cuts_are_sorted(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"cc;b \n;aa;b \n;")
    delimited = tg.text(tmp_path / "x", cut=b";", encoding=None)
    assert list(delimited.sort().run()) == [b"aa", b"b \n", b"b \n", b"cc"]
    assert list(delimited.distinct().run()) == [b"aa", b"b \n", b"cc"]
    delimited.sort().write(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"aa;b \n;b \n;cc;"
    fixed = tg.records(tmp_path / "x", bytes=7)
    assert list(fixed.sort(key=slice(0, 1)).run()) == [b"aa;b \n;", b"cc;b \n;"]
    words = tg.text(tmp_path / "x", cut="whitespace")
    assert list(words.sort(reverse=True).run()) == sorted(
        ["cc;b", ";aa;b", ";"], reverse=True
    )


def test_records_are_distinct(path: Path, lines: list[str], tmp_path: Path) -> None:
    answer = tg.text(path).distinct().write(tmp_path / "out")
    expected = sorted(set(lines))
    assert answer.to_list() == expected
    assert len(answer) == len(expected)
    assert (tmp_path / "out").read_text() == "\n".join(expected) + "\n"
    words = {word for line in lines for word in line.split()}
    assert list(tg.text(path).words().distinct().run()) == sorted(words)
    lengths = tg.text(path).map(lambda line: len(line)).distinct().run()
    assert list(lengths) == sorted({len(line) for line in lines})
    assert answer.to_arrow()["record"].to_pylist() == expected
    with pytest.raises(tg.OptionError, match="iterate"):
        lengths.write(tmp_path / "out")


def test_bad_keys_are_named(table: tuple[Path, list[str]], tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\t1\nb\nc\tx\n")
    source = tg.text(tmp_path / "x")
    by = tg.field(2, numeric=True)
    with pytest.raises(tg.BadRecord, match="line 2, byte 4: there is no field 2"):
        source.sort(key=by).run()
    answer = source.sort(key=by).run(skip_bad=True)
    assert (list(answer), answer.stats["bad_records"]) == (["a\t1"], 2)
    with pytest.raises(ValueError, match="could not convert") as caught:
        source.sort(key=lambda line: float(line.split("\t")[-1])).run()
    assert caught.value.__notes__[0] == f"in {tmp_path / 'x'}, line 2, byte 4"
    with pytest.raises(tg.BadRecord, match="NaN"):
        source.sort(key=lambda line: float("nan")).run()
    for wrong in [slice(0, 10, 2), slice(5, 5), slice(-3, None), 5]:
        with pytest.raises(tg.OptionError):
            source.sort(key=wrong)
    for wrong in [{"number": 0}, {"number": 1, "separator": "ab"}]:
        with pytest.raises(tg.OptionError):
            tg.field(**wrong)
    with pytest.raises(tg.OutputError):
        source.sort().write(tmp_path / "no" / "folder")


def test_rows_of_csv_may_have_newlines(tmp_path: Path) -> None:
    chance = random.Random(2)
    texts = ["plain", 'a "quote"', "two\nlines", "a,b", "", '"\n"\n', "é\r\n"]
    table = [
        [str(chance.randrange(50)), chance.choice(texts), str(n)] for n in range(20_000)
    ]
    for number in range(3):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(table[number::3])
        (tmp_path / f"{number}.csv").write_bytes(out.getvalue().encode())

    def of(row: str):
        ((key, text, number),) = csv.reader(io.StringIO(row, newline=""))
        return key, (text, int(number))

    source = tg.text(tmp_path / "*.csv", cut="csv")
    answer = source.map(of).collect().run(workers=3).to_dict()
    found = sorted((n, key, text) for key, all_ in answer.items() for text, n in all_)
    assert found == [(n, key, text) for n, (key, text, _) in enumerate(table)]
    first = source.sort(key=lambda row: of(row)[1][1]).run()
    assert [of(row)[1][1] for row in first] == list(range(20_000))
    assert len(source.distinct().run()) == 20_000

    def fail(row: str):
        if row.startswith("stop"):
            raise ValueError("stop")
        return None

    (tmp_path / "bad.csv").write_text('a,"x\ny"\nstop\n')
    with pytest.raises(ValueError, match="stop") as caught:
        tg.text(tmp_path / "bad.csv", cut="csv").map(fail).count().run()
    assert caught.value.__notes__[0].endswith("byte 8")


def test_batches_and_answers_are_sources(path: Path, lines: list[str]) -> None:
    import polars
    import pyarrow
    import pyarrow.compute as pc

    table = pyarrow.table(
        {"host": [line[:1] for line in lines], "size": [len(line) for line in lines]}
    )
    expected: dict[str, int] = {}
    for line in lines:
        expected[line[:1]] = expected.get(line[:1], 0) + len(line)

    def of(batch):
        return {"key": batch["host"], "value": pc.cast(batch["size"], "float64")}

    for values in (table.to_batches(1000), table, polars.DataFrame(table)):
        source = tg.batches(values)
        assert source.map_arrow(of).sum().run().to_dict() == expected
        rows = source.map(lambda row: (row["host"], row["size"])).sum()
        assert rows.run().to_dict() == expected
    assert len(tg.batches([]).map_arrow(of).sum().run()) == 0
    with pytest.raises(tg.OptionError, match="no record batch"):
        tg.batches([5])
    counts = tg.text(path).words().count().run()
    by_count = tg.pairs(counts).map(lambda pair: (pair[1], pair[0])).collect().run()
    again = {word: count for count, words in by_count for word in words}
    assert again == counts.to_dict()
    chained = tg.pairs(by_count).map(lambda pair: ("all", pair[0] * len(pair[1])))
    assert chained.sum().run().to_dict() == {"all": sum(counts.to_dict().values())}
    for wrong in ("sort", "distinct", "words", "lines"):
        with pytest.raises(tg.OptionError):
            getattr(tg.pairs(counts), wrong)()


def test_no_file_is_left(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("b\na\n")
    tg.text(tmp_path / "x").sort().write(tmp_path / "x")
    assert (tmp_path / "x").read_text() == "a\nb\n"
    assert os.listdir(tmp_path) == ["x"]


def test_a_sort_goes_on_from_a_state(tmp_path: Path) -> None:
    """Each order has a state of its own, and a file is written from what was saved."""
    text, saved = tmp_path / "text", tmp_path / "saved"
    rows = [f"{number % 7} {number * 7919 % 1000}" for number in range(5000)]
    text.write_text("".join(f"{row}\n" for row in rows))
    orders = {
        "all": (None, lambda row: row),
        "second": (tg.field(2, " "), lambda row: row.split()[1]),
        "number": (
            tg.field(2, " ", numeric=True),
            lambda row: int(row.split()[1]),
        ),
        "bytes": (slice(0, 1), lambda row: row[0]),
        "function": (lambda row: row[::-1], lambda row: row[::-1]),
    }
    for name, (key, by) in orders.items():
        job = tg.text(text).sort(key=key)
        assert list(job.run(state=saved, job=name)) == sorted(rows, key=by), name
        out = tmp_path / f"{name}.txt"
        again = job.write(out, state=saved, job=name)
        assert again.stats["restored_bytes"] == text.stat().st_size
        assert out.read_text().splitlines() == sorted(rows, key=by)
    for name, other in [("number", "second"), ("bytes", "all"), ("second", "number")]:
        with pytest.raises(tg.StateError, match="another job"):
            tg.text(text).sort(key=orders[other][0]).run(state=saved, job=name)
