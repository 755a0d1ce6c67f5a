"""The same answer as a loop in plain Python, for maps of the engine's and maps of one's own."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import statistics
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy
import pytest
import tegula as tg


def words_of(line: str) -> list[str]:
    return line.split()


def test_built_in_maps_count(path: Path, lines: list[str]) -> None:
    words = Counter(word for line in lines for word in line.split())
    assert tg.text(path).words().count().run().to_dict() == words
    assert tg.text(path).lines().count().run().to_dict() == Counter(lines)
    first = Counter(line.split(" ")[0] for line in lines)
    assert tg.text(path).field(1, " ").count().run().to_dict() == first
    found = Counter(match for line in lines for match in re.findall("[ab]+", line))
    assert tg.text(path).grep("[ab]+").count().run().to_dict() == found
    having = sum(1 for line in lines if re.search("[ab]", line))
    assert tg.text(path).grep("[ab]", by="line").count().run().to_dict() == {
        str(path): having
    }


def test_fields_are_summed_and_kept(tmp_path: Path) -> None:
    rows = [(f"h{i % 7}", i * 0.1 - 3) for i in range(5000)]
    file = tmp_path / "rows.tsv"
    file.write_text("".join(f"{key}\t{value!r}\n" for key, value in rows))
    groups = defaultdict(list)
    for key, value in rows:
        groups[key].append(value)
    pairs = tg.text(file).field(1, value=2)
    assert pairs.sum().run().to_dict() == {
        key: math.fsum(all_) for key, all_ in groups.items()
    }
    assert pairs.min().run().to_dict() == {
        key: min(all_) for key, all_ in groups.items()
    }
    assert pairs.max().run().to_dict() == {
        key: max(all_) for key, all_ in groups.items()
    }
    means = pairs.mean().run().to_dict()
    assert means == pytest.approx(
        {key: statistics.fmean(all_) for key, all_ in groups.items()}
    )
    kept = pairs.collect().run().to_dict()
    assert kept == {
        key: [repr(value) for value in all_] for key, all_ in groups.items()
    }


def test_fields_of_json_are_counted_summed_and_kept(tmp_path: Path) -> None:
    rows = [
        {"user": {"id": f"é{i % 7}", "tags": [i % 3]}, "ms": i * 0.5}
        for i in range(3000)
    ]
    file = tmp_path / "rows.jsonl"
    # Some with escapes, some without.
    dumped = [json.dumps(row, ensure_ascii=i % 2 == 0) for i, row in enumerate(rows)]
    file.write_text("\n".join(dumped) + "\n")
    source = tg.text(file)
    counts = Counter(row["user"]["id"] for row in rows)
    assert source.json("user.id").count().run().to_dict() == counts
    tags = Counter(str(row["user"]["tags"][0]) for row in rows)
    assert source.json("user.tags.0").count().run().to_dict() == tags
    groups = defaultdict(list)
    for row in rows:
        groups[row["user"]["id"]].append(row["ms"])
    pairs = source.json("user.id", value="ms")
    for job, combine in [
        (pairs.sum(), math.fsum),
        (pairs.min(), min),
        (pairs.max(), max),
        (pairs.mean(), statistics.fmean),
    ]:
        expected = {key: combine(values) for key, values in groups.items()}
        assert job.run().to_dict() == pytest.approx(expected)
    kept = pairs.collect().run().to_dict()
    assert kept == {key: [repr(v) for v in values] for key, values in groups.items()}


def test_a_job_says_what_it_would_do(path: Path) -> None:
    """Without looking at the input: there need not be any."""
    said = tg.text("missing/").words("alpha").count().explain()
    assert "missing/: lines, as text" in said
    assert "words(words='alpha'), the engine's own" in said
    called = tg.text(path).map(words_of).count().explain()
    assert "words_of, called with each record, in a process for each worker" in called
    assert "the code by " in called


def test_a_function_may_return_a_pair_or_many_or_none(
    path: Path, lines: list[str]
) -> None:
    words = Counter(word for line in lines for word in line.split())
    source = tg.text(path)

    def each(line: str):
        for word in line.split():
            yield word, 1

    assert source.map(each).sum().run().to_dict() == words
    assert (
        source.map(lambda line: [(word, 1) for word in line.split()])
        .sum()
        .run()
        .to_dict()
        == words
    )
    assert source.map(lambda line: Counter(line.split())).sum().run().to_dict() == words
    assert source.map(str.split).count().run().to_dict() == words
    assert source.map(lambda line: line or None).count().run().to_dict() == Counter(
        filter(None, lines)
    )
    assert source.map_split(
        lambda data: Counter(data.split())
    ).sum().run().to_dict() == {word.encode(): count for word, count in words.items()}


class Hit(NamedTuple):
    """A pair that has names."""

    word: str
    size: int


class Answering:
    """A function that answers each attribute by a look-up of its own, as rules and proxies do."""

    def __init__(self, is_proxy: bool) -> None:
        self.known: dict[str, object] = {}
        self.is_proxy = is_proxy

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return fail if self.is_proxy else self.known[name]

    def __call__(self, line: bytes) -> tuple[bytes, int]:
        return line[:1], 1


def fail() -> None:
    raise AssertionError("nobody has asked for it")


@pytest.mark.once
@pytest.mark.parametrize("is_proxy", [False, True])
def test_a_function_may_answer_each_attribute(
    is_proxy: bool, path: Path, lines: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    answer = tg.text(path, encoding=None).map(Answering(is_proxy)).count().run()
    expected = Counter(line[:1].encode() for line in lines)
    assert answer.to_dict() == expected
    assert "asked" not in capfd.readouterr().err


def test_a_named_tuple_is_a_pair(path: Path, lines: list[str]) -> None:
    words = [word for line in lines for word in line.split()[:1]]
    counts, source = Counter(words), tg.text(path)

    def first(line: str):
        return Hit(line.split()[0], len(line.split()[0])) if line.strip() else None

    sizes = {word: count * len(word) for word, count in counts.items()}
    assert source.map(first).sum().run().to_dict() == sizes
    assert source.map(first).count().run().to_dict() == counts
    many = source.map(lambda line: [first(line)] if line.strip() else None)
    assert many.count().run().to_dict() == counts
    kept = source.map(first).collect().run().to_dict()
    assert kept == {word: [len(word)] * count for word, count in counts.items()}
    skipped = source.map(first).sum().run(skip_bad=True)
    assert skipped.to_dict() == sizes


def test_numbers_of_numpy_are_keys_and_values(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("x\n")
    kinds = [numpy.int8, numpy.uint64, numpy.float16, numpy.float32, numpy.float64]

    def pairs(_: str):
        return [(kind(2), kind(3)) for kind in kinds]

    assert tg.text(tmp_path / "one").map(pairs).sum().run().to_dict() == {2: 15.0}


def test_combines_of_a_function(path: Path, lines: list[str]) -> None:
    groups = defaultdict(list)
    for line in lines:
        groups[line[:1]].append(len(line))
    pairs = tg.text(path).map(lambda line: (line[:1], len(line)))
    assert pairs.sum().run().to_dict() == {
        key: sum(all_) for key, all_ in groups.items()
    }
    assert pairs.min().run().to_dict() == {
        key: min(all_) for key, all_ in groups.items()
    }
    assert pairs.max().run().to_dict() == {
        key: max(all_) for key, all_ in groups.items()
    }
    assert pairs.mean().run().to_dict() == {
        key: sum(all_) / len(all_) for key, all_ in groups.items()
    }
    assert pairs.collect().run().to_dict() == groups
    assert pairs.count().run().to_dict() == {
        key: len(all_) for key, all_ in groups.items()
    }


def test_columns_of_agg(path: Path, lines: list[str]) -> None:
    def row(line: str):
        value = {"length": len(line), "part": len(line) / 7}
        if len(line) % 2:
            value["odd"] = len(line)
        return line[:1], value

    answer = (
        tg.text(path)
        .map(row)
        .agg(
            n=tg.count(),
            odd=tg.count("odd"),
            length=tg.sum("length"),
            least=tg.min("part"),
            most=tg.max("part"),
            middle=tg.mean("part"),
        )
    )
    groups = defaultdict(list)
    for line in lines:
        groups[line[:1]].append(len(line))
    for key, value in answer.run():
        lengths = groups.pop(key)
        assert value["n"] == len(lengths)
        assert value["odd"] == sum(length % 2 for length in lengths)
        assert value["length"] == sum(lengths)
        assert value["least"] == min(lengths) / 7
        assert value["most"] == max(lengths) / 7
        assert value["middle"] == pytest.approx(sum(lengths) / 7 / len(lengths))
    assert not groups


KEYS = [
    "",
    "a",
    "a\0b",
    "\udcff",
    "é",
    b"",
    b"\xff\0",
    0,
    -1,
    2**63 - 1,
    -(2**63),
    1.5,
    -1.5,
    1e300,
]
KEYS += [float("inf"), ("a", 1), ("a\0", b"\0", -2), (), ("a", 1.5)]


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_keys_come_back_as_they_were(path: Path, on: str) -> None:
    def all_keys(line: str):
        return [(key, 1) for key in KEYS]

    (path.parent / "one").write_text("x\ny\n")
    answer = tg.text(path.parent / "one").map(all_keys, on=on).sum().run()
    assert answer.to_dict() == dict.fromkeys(KEYS, 2)
    assert {key: type(key) for key, _ in answer} == {key: type(key) for key in KEYS}


def test_keys_are_in_order(tmp_path: Path) -> None:
    (tmp_path / "numbers").write_text("".join(f"{n}\n" for n in range(-500, 500)))
    numbers = tg.text(tmp_path / "numbers")
    ints = numbers.map(int).count().run()
    assert [key for key, _ in ints] == list(range(-500, 500))
    floats = numbers.map(lambda line: int(line) + 0.5).count().run()
    assert [key for key, _ in floats] == [n + 0.5 for n in range(-500, 500)]
    tuples = (
        numbers.map(lambda line: (("x" * (int(line) % 3), int(line)), 1)).sum().run()
    )
    expected = sorted(("x" * (n % 3), n) for n in range(-500, 500))
    assert [key for key, _ in tuples] == expected


def test_whole_numbers_and_others_are_in_one_order(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("x\n")
    # Each between two neighbours that only an exact comparison tells apart.
    ends = [2**53 + 1, 2**63 - 1, -(2**63), 2.0**63, -math.nextafter(2.0**63, math.inf)]
    small = [5e-324, -5e-324, 0, 0.5, -0.5, 1, -1, 1.0, 1.5, -1.5, 2.0, -1e-300, 1e-300]
    numbers = [*ends, *small, 1e300, -1e300, math.inf, -math.inf, 2.0**53, 1 - 2**-53]
    source = tg.text(tmp_path / "one")
    keys = source.map(lambda _, numbers: numbers, args=(numbers,))
    in_order = sorted(set(numbers))
    answer = keys.count().run()
    assert [key for key, _ in answer] == in_order
    whole = [key for key in in_order if -(2**63) <= key < 2**63 and key == int(key)]
    assert [key for key, _ in answer if type(key) is int] == whole
    assert keys.distinct().run().to_list() == in_order
    assert answer.to_arrow()["key"].to_pylist() == [float(key) for key in in_order]
    top = source.map(lambda _, numbers: [(n, 1) for n in numbers], args=(numbers,))
    ranked = top.max().run(top=5)
    assert [key for key, _ in ranked] == in_order[:5]
    tuples = [(text, number) for text in ("", "a") for number in in_order]
    pairs = source.map(lambda _, keys: [(key, 1) for key in keys], args=(tuples[::-1],))
    assert [key for key, _ in pairs.sum().run()] == tuples
    given = pairs.reduce(lambda key, values: key).run().to_dict()
    assert given == {key: key for key in tuples}


def test_keys_that_are_equal_are_one_key(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("x\n" * 10)
    keys = [1, 1.0, True, -0.0, 0, False]
    answer = (
        tg.text(tmp_path / "one")
        .map(lambda line: [(key, 1) for key in keys])
        .sum()
        .run()
    )
    assert answer.to_dict() == {0: 30, 1: 30}


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([1, 2, 3], 6),
        ([2**62] * 9, 9 * 2**62),
        ([2**70, -1], 2**70 - 1),
        ([1, 2.5], 3.5),
        ([2**53, 1.0, 1.0], 2.0**53 + 2),
        ([True, True], 2),
        ([0.1] * 10, math.fsum([0.1] * 10)),
    ],
)
def test_sums_are_exact_and_one_float_makes_a_float(
    tmp_path: Path, values: list, total: float
) -> None:
    (tmp_path / "one").write_text("".join(f"{value!r}\n" for value in values))
    answer = (
        tg.text(tmp_path / "one")
        .map(lambda line: ("sum", eval(line)))
        .sum()
        .run()
        .to_dict()
    )
    assert answer == {"sum": total}
    assert type(answer["sum"]) is type(total)


def test_extremes_compare_integers_with_floats(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("3\n2.5\n-4\n-3.5\n")
    pairs = tg.text(tmp_path / "one").map(lambda line: ("x", eval(line)))
    assert pairs.min().run().to_dict() == {"x": -4}
    assert pairs.max().run().to_dict() == {"x": 3}


def test_sources(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x y\nz\n"))
    (tmp_path / "b").write_bytes(b"x\0y\0")
    assert tg.text(tmp_path / "a.gz").words().count().run().to_dict() == {
        "x": 1,
        "y": 1,
        "z": 1,
    }
    assert tg.text(tmp_path / "b", cut=b"\0").map(
        lambda x: x
    ).count().run().to_dict() == {"x": 1, "y": 1}
    words = tg.text(tmp_path / "a.gz", cut="whitespace").map(lambda word: word)
    assert words.count().run().to_dict() == {"x": 1, "y": 1, "z": 1}
    assert tg.files(tmp_path / "b").map(
        lambda data: len(data)
    ).count().run().to_dict() == {4: 1}
    assert tg.records(tmp_path / "b", bytes=2).map(
        lambda data: data
    ).count().run().to_dict() == {
        b"x\0": 1,
        b"y\0": 1,
    }
    binary = tg.text(tmp_path / "a.gz", encoding=None)
    assert binary.words().count().run().to_dict() == {b"x": 1, b"y": 1, b"z": 1}
    assert binary.map(lambda line: line).count().run().to_dict() == {b"x y": 1, b"z": 1}


def test_top_and_order(path: Path, lines: list[str]) -> None:
    words = Counter(word for line in lines for word in line.split())
    ranked = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))
    job = tg.text(path).words().count()
    assert job.run().top(10) == ranked[:10]
    assert list(job.run(order="value")) == ranked
    assert list(job.run(top=10, order="value")) == ranked[:10]
    assert list(job.run()) == sorted(words.items())
    assert job.run().top(0) == []


def test_any_number_of_workers(path: Path, lines: list[str]) -> None:
    pairs = tg.text(path).map(
        lambda line: [(word, len(word) / 3) for word in line.split()]
    )
    expected = pairs.sum().run().to_dict()
    for workers in (1, 3):
        assert pairs.sum().run(workers=workers).to_dict() == expected


def test_an_engine_serves_many_runs(path: Path) -> None:
    with tg.Engine(workers=2) as one, tg.Engine(workers=1) as two:
        assert (one.workers, two.workers) == (2, 1)
        job = tg.text(path).words().count()
        assert list(job.run(engine=one)) == list(job.run(engine=two))
    with pytest.raises(RuntimeError, match="closed"):
        job.run(engine=one)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


@pytest.mark.once
def test_what_does_not_fit_in_memory_goes_to_disk(tmp_path: Path) -> None:
    count = 600_000
    text = "".join(f"{n:050}\n" for n in range(count))
    (tmp_path / "keys").write_text(text)
    memory = resident_bytes() + (60 << 20)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    answer = (
        tg.text(tmp_path / "keys")
        .lines()
        .count()
        .run(workers=1, memory=memory, scratch=scratch)
    )
    assert answer.stats["spilled_bytes"] > 0
    assert len(answer) == count
    assert [key for key, _ in answer] == text.split()
    assert answer.to_arrow()["key"].to_pylist() == text.split()
    assert answer.top(2) == [(f"{0:050}", 1), (f"{1:050}", 1)]
    with pytest.raises(tg.MemoryLimitError):
        tg.text(tmp_path / "keys").lines().count().run(memory="1M")
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_sums_are_of_integers_until_a_later_split_has_others(
    path: Path, lines: list[str], tmp_path: Path, on: str
) -> None:
    text = path.read_text() * 2

    def values(line: str):
        for word in line.split():
            yield word[:1], 0.1 if word == "half" else len(word)

    floats = tmp_path / "floats"
    floats.write_text(f"{text}h half half\n{text}")
    answer = tg.text(floats).map(values, on=on).sum().run(workers=1).to_dict()
    expected = Counter(
        pair for line in lines for word in line.split() for pair in word[:1] * len(word)
    )
    assert answer == {
        key: 4 * count + (1 + 0.2 if key == "h" else 0)
        for key, count in expected.items()
    }

    def strings(line: str):
        return line[:1], "many" if line == "here" else 1

    bad = tmp_path / "strings"
    bad.write_text(f"{text}here\n")
    with pytest.raises(tg.BadRecord, match="a value is 'many', a str") as caught:
        tg.text(bad).map(strings, on=on).sum().run(workers=1)
    assert caught.value.line == 2 * len(lines) + 1
