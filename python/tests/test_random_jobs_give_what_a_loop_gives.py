"""Random functions over random bytes, in random splits on random workers, against a loop in plain Python.

`EXAMPLES` is how many of them, 25 by default, and `SEED` draws them.
"""

from __future__ import annotations

import os
import random
import resource
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import tegula as tg
from conftest import companions_of
from functions_from_terms import Record, Term, bytes_of, mapped, pairs_of
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from tegula._records import Records
from tegula.job import Job

EXAMPLES = int(os.environ.get("EXAMPLES", "25"))
SEED = int(os.environ.get("SEED", "1"))
ENGINES = [tg.Engine(workers=workers) for workers in (1, 2, 3, 4)]


def examples(part: float) -> Callable[[Any], Any]:
    """Run a test with a part of the examples, the same ones in each run."""
    bounded = settings(
        max_examples=max(1, round(EXAMPLES * part)),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    return lambda test: seed(SEED)(bounded(test))


TEXTS = st.sampled_from([("record",), ("start", 1), ("start", 2), ("end", 2)])
WHOLE = st.sampled_from(
    [("length",), ("sum", 3), ("sum", 1000), ("constant", -5), ("constant", 2**63 - 1)]
)
FLOATS = st.sampled_from([("third",), ("constant", 0.5), ("constant", -0.0)])
SIMPLE = st.one_of(TEXTS, WHOLE, FLOATS, st.just(("bytes",)))
TUPLES = st.builds(lambda *parts: ("tuple", *parts), SIMPLE, SIMPLE)
VALUES = st.one_of(WHOLE, FLOATS, st.just(("wide",)))
TERMS = st.tuples(
    st.sampled_from(["one", "many", "parts", "none"]),
    st.one_of(SIMPLE, TUPLES),
    VALUES,
    st.integers(1, 3),
)

# Bytes of which a reader of lines could make something of its own.
PIECES = st.sampled_from(
    [
        *(b"a", b"b ", b" ", b"\n", b"\n", b"\n\n", b"\r\n", b"\r", b"\0", b"\xff"),
        *("é".encode(), "é".encode()[:1], "\u2028".encode(), b"\x0b", b"word ", b'"'),
    ]
)
DATA = st.lists(st.one_of(PIECES, st.binary(max_size=4)), max_size=60).map(b"".join)
ENDS = st.sampled_from([b"\n", b"\n", b"a", b"ab", b"\r\n"])
SETTINGS = st.fixed_dictionaries(
    {
        "engine": st.sampled_from([None, *ENGINES]),
        "split_bytes": st.sampled_from([None, 1, 7, 64, 4096]),
        "part_bytes": st.sampled_from([None, 1, 40, 4096]),
        "tile_bytes": st.sampled_from([None, 1, 100, 65536]),
        "memory": st.sampled_from([None, 200 << 20, 1 << 30]),
        "copies": st.sampled_from([1, 1, 7, 100]),
        "encoding": st.sampled_from(["utf-8", None]),
    }
)


def records_of(data: bytes, end: bytes, encoding: str | None) -> list[Record]:
    records = data.split(end)
    if not records[-1]:
        records.pop()
    if encoding is None:
        return records
    return [record.decode("utf-8", "surrogateescape") for record in records]


def total(values: list[Any]) -> float:
    if all(type(value) is int for value in values):
        return sum(values)
    return float(sum(map(Fraction, values)))


def is_near(found: float, values: list[Any], divisor: int = 1) -> bool:
    """Floats are summed to 2^-64 of the largest, and then rounded, to 2^-1074 at least."""
    exact = sum(map(Fraction, values)) / divisor
    scale = max((abs(Fraction(value)) for value in values), default=0)
    allowed = abs(exact) / 2**52 + scale * len(values) / 2**60
    allowed += Fraction(1, 2**1074)
    return abs(Fraction(found) - exact) <= allowed


def check_sum(found: Any, values: list[Any]) -> None:
    assert type(found) is type(total(values))
    if type(found) is int:
        assert found == total(values)
    assert is_near(found, values)


def check_mean(found: Any, values: list[Any]) -> None:
    assert type(found) is float
    assert is_near(found, values, len(values))


def check_agg(found: Any, values: list[Any]) -> None:
    assert (found["n"], found["low"], found["high"]) == (
        len(values),
        min(values),
        max(values),
    )
    check_sum(found["total"], values)
    check_mean(found["mean"], values)


def is_same(answer_of: Callable[[list[Any]], Any]) -> Callable[[Any, list[Any]], None]:
    def check(found: Any, values: list[Any]) -> None:
        assert found == answer_of(values)

    return check


# The job of each combine, how its values are wrapped, and what is asserted of the answer of a key.
COMBINES: dict[str, tuple[Callable[[tg.Pairs], Job], str, Callable[..., None]]] = {
    "count": (lambda pairs: pairs.count(), "", is_same(len)),
    "sum": (lambda pairs: pairs.sum(), "", check_sum),
    "min": (lambda pairs: pairs.min(), "", is_same(min)),
    "max": (lambda pairs: pairs.max(), "", is_same(max)),
    "mean": (lambda pairs: pairs.mean(), "", check_mean),
    "collect": (lambda pairs: pairs.collect(), "", is_same(list)),
    "reduce": (
        lambda pairs: pairs.reduce(lambda _, values: [*values, "end"]),
        "",
        is_same(lambda values: [*values, "end"]),
    ),
    "merge": (lambda pairs: pairs.merge(tuple.__add__), "tuple", is_same(tuple)),
    "agg": (
        lambda pairs: pairs.agg(
            n=tg.count(),
            total=tg.sum("v"),
            low=tg.min("v"),
            high=tg.max("v"),
            mean=tg.mean("v"),
        ),
        "agg",
        check_agg,
    ),
}


def options_of(how: dict[str, Any]) -> dict[str, Any]:
    """The engine of a run, or the limit of one of its own."""
    if how["engine"] is not None:
        return {"engine": how["engine"]}
    memory = how["memory"]
    if memory is None:
        return {"workers": 2}
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return {"workers": 2, "memory": resident + memory}


def set_sizes(patch: pytest.MonkeyPatch, how: dict[str, Any]) -> None:
    """Run jobs with the sizes of their pieces."""
    plan_of = Job._plan

    def with_sizes(self: Job, *arguments: Any) -> dict[str, Any]:
        sizes = {
            name: how[name] for name in ("split_bytes", "part_bytes", "tile_bytes")
        }
        return {**plan_of(self, *arguments), **sizes}

    patch.setattr(Job, "_plan", with_sizes)


def check_job(
    data: bytes, end: bytes, term: Term, combine: str, how: dict[str, Any], on: str
) -> None:
    data *= how["copies"]
    make, wraps, check = COMBINES[combine]
    groups: dict[Any, list[Any]] = defaultdict(list)
    for record in records_of(data, end, how["encoding"]):
        for key, value in pairs_of(term, record):
            groups[key].append(value)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        set_sizes(patch, how)
        file = Path(folder) / "data"
        file.write_bytes(data)
        cut = "lines" if end == b"\n" else end
        source = tg.text(file, cut=cut, encoding=how["encoding"], plain=True)
        pairs = source.map(mapped, args=(term, wraps), on=on)
        answer = make(pairs).run(**options_of(how)).to_dict()
        assert answer.keys() == groups.keys()
        for key, values in groups.items():
            check(answer[key], values)
        if on == "threads":
            distinct = pairs.distinct().run(**options_of(how)).to_list()
            assert len(distinct) == len(groups)
            assert set(distinct) == groups.keys()


JOB = {
    "data": DATA,
    "end": ENDS,
    "term": TERMS,
    "combine": st.sampled_from(sorted(COMBINES)),
    "how": SETTINGS,
}


@examples(4)
@given(**JOB)
def test_random_functions_in_threads(**job: Any) -> None:
    check_job(**job, on="threads")


@examples(0.8)
@given(**JOB)
def test_random_functions_in_processes(**job: Any) -> None:
    check_job(**job, on="processes")


def paragraphs_of(data: bytes, end: bytes) -> tuple[list[bytes], list[int]]:
    """The records between chains of delimiters that overlap, and where each begins."""
    records, offsets = [], []
    begin = at = 0
    while begin < len(data):
        at = data.find(end, begin)
        offsets.append(begin)
        if at < 0:
            records.append(data[begin:])
            break
        records.append(data[begin:at])
        while nexts := [
            by for by in range(1, len(end)) if data.startswith(end, at + by)
        ]:
            at += nexts[0]
        begin = at + len(end)
    return records, offsets


@examples(4)
@given(
    data=st.lists(st.sampled_from([b"a", b"b", b"\n"]), max_size=60).map(b"".join),
    end=st.sampled_from([b"\n\n", b"aa", b"aba", b"aab", b"aabaa", b"abab", b"\n\n\n"]),
    how=SETTINGS,
)
def test_delimiters_that_overlap_are_one(
    data: bytes, end: bytes, how: dict[str, Any]
) -> None:
    data *= how["copies"]
    expected, offsets = paragraphs_of(data, end)
    records = Records(end, None)
    assert records.of(data) == expected
    assert [records.offset(data, n) for n in range(len(expected))] == offsets
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        set_sizes(patch, how)
        file = Path(folder) / "data"
        file.write_bytes(data)
        source = tg.text(file, cut=end, encoding=how["encoding"], plain=True)
        counted = source.map(lambda record: record, on="threads").count()
        arrow = source.map_arrow(lambda records: {"key": records}, on="threads").count()
        counts = Counter(
            record.decode() if how["encoding"] else record for record in expected
        )
        assert counted.run(**options_of(how)).to_dict() == counts
        assert arrow.run(**options_of(how)).to_dict() == counts


@examples(2)
@given(data=DATA, end=ENDS, how=SETTINGS, last_first=st.booleans())
def test_random_bytes_are_sorted(
    data: bytes, end: bytes, how: dict[str, Any], last_first: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data"
        file.write_bytes(data * how["copies"])
        cut = "lines" if end == b"\n" else end
        source = tg.text(file, cut=cut, encoding=how["encoding"], plain=True)
        records = records_of(data * how["copies"], end, how["encoding"])
        in_order = sorted(records, key=bytes_of, reverse=last_first)
        sort = source.sort(reverse=last_first)
        assert sort.run(**options_of(how)).to_list() == in_order
        by_start = source.sort(key=slice(1, 3), reverse=last_first)
        expected = sorted(
            records, key=lambda record: bytes_of(record)[1:3], reverse=last_first
        )
        assert by_start.run(**options_of(how)).to_list() == expected
        distinct = source.distinct().run(**options_of(how)).to_list()
        assert distinct == sorted(set(records), key=bytes_of)


KEYS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    st.binary(max_size=3),
    st.floats(allow_nan=False),
    st.tuples(st.sampled_from("ab\0"), st.integers(-5, 5)),
)
NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(-1e9, 1e9), st.integers(-3, 3)
)


@examples(1)
@given(
    table=st.lists(
        st.lists(st.tuples(KEYS, NUMBERS), max_size=20), min_size=1, max_size=10
    ),
    engine=st.sampled_from(ENGINES),
    copies=st.sampled_from([1, 50]),
)
def test_random_keys_and_values(table: list, engine: tg.Engine, copies: int) -> None:
    table = table * copies
    groups: dict[Any, list[Any]] = defaultdict(list)
    for pairs in table:
        for key, value in pairs:
            groups[key].append(value)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "numbers"
        file.write_text("".join(f"{n}\n" for n in range(len(table))))
        source = tg.text(file, engine=engine)
        called = source.map(
            lambda line, table: table[int(line)], args=(table,), on="threads"
        )
        for combine in ("count", "sum", "min", "max", "mean", "collect"):
            make, _, check = COMBINES[combine]
            answer = make(called).run().to_dict()
            assert answer.keys() == groups.keys()
            for key, values in groups.items():
                check(answer[key], values)


def kill_one(
    until: float,
    ended: threading.Event,
    chance: random.Random,
    killed: list[int],
    parents: list[int],
) -> None:
    """Kill a process below this one, at a time, and say which, and which is the parent of the others."""
    while time.monotonic() < until and not ended.wait(0.002):
        pass
    below = companions_of(os.getpid())
    if below and not ended.is_set():
        parents += below[:1]
        killed.append(chance.choice(below))
        os.kill(killed[0], 9)


def test_a_process_that_is_killed_at_any_moment_fails_the_job_or_changes_nothing(
    path: Path, lines: list[str]
) -> None:
    chance = random.Random(SEED)

    def slowly(line: str) -> list[tuple[str, int]]:
        if line.startswith("ab"):
            time.sleep(0.001)
        return [(word, 1) for word in line.split()]

    expected = Counter(word for line in lines for word in line.split())
    job = tg.text(path).map(slowly).sum()
    began = time.monotonic()
    assert job.run(workers=2).to_dict() == expected
    took = time.monotonic() - began
    for _ in range(max(1, EXAMPLES // 5)):
        until = time.monotonic() + chance.uniform(0, 1.2) * took
        ended = threading.Event()
        killed: list[int] = []
        parents: list[int] = []
        killer = threading.Thread(
            target=kill_one, args=(until, ended, chance, killed, parents)
        )
        killer.start()
        try:
            answer = job.run(workers=2).to_dict()
        except tg.Error as error:
            assert killed
            # The process that the others are forked from ends them without a word of its own.
            assert killed[0] in parents or "signal 9" in str(error)
        else:
            assert answer == expected
        finally:
            ended.set()
            killer.join()
        assert companions_of(os.getpid()) == []
