"""Random records, functions and workers against a loop in plain Python."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import tegula as tg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ENGINES = [tg.Engine(workers=workers) for workers in (1, 2, 3)]
NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(-1e9, 1e9),
    st.integers(-3, 3),
)
KEYS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.floats(allow_nan=False),
    st.tuples(st.text(max_size=2), st.integers(-5, 5)),
)
PAIRS = st.lists(st.tuples(KEYS, NUMBERS), max_size=20)


def is_encodable(key: object) -> bool:
    try:
        str(key).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return not isinstance(key, tuple) or all(map(is_encodable, key))


def total(values: list) -> float:
    if all(type(value) is int for value in values):
        return sum(values)
    return float(sum(map(Fraction, values)))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    table=st.lists(PAIRS, min_size=1, max_size=10),
    engine=st.sampled_from(ENGINES),
    copies=st.sampled_from([1, 50]),
)
def test_random_pairs(table: list, engine: tg.Engine, copies: int) -> None:
    table = [
        [pair for pair in pairs if is_encodable(pair[0])] for pairs in table
    ] * copies
    groups = defaultdict(list)
    for pairs in table:
        for key, value in pairs:
            groups[key].append(value)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "numbers").write_text(
            "".join(f"{n}\n" for n in range(len(table)))
        )
        source = tg.text(Path(folder) / "numbers", engine=engine)
        mapped = source.map(
            lambda line, table: table[int(line)], args=(table,), on="threads"
        )
        assert mapped.collect().run().to_dict() == groups
        assert mapped.count().run().to_dict() == {
            key: len(all_) for key, all_ in groups.items()
        }
        sums = mapped.sum().run().to_dict()
        assert sums.keys() == groups.keys()
        for key, values in groups.items():
            # Floats are summed to 2^-64 of the largest, and then rounded.
            error = abs(Fraction(sums[key]) - Fraction(total(values)))
            scale = max((abs(Fraction(value)) for value in values), default=0)
            assert (
                error
                <= Fraction(abs(total(values))) / 2**52 + scale * len(values) / 2**60
            )
            assert type(sums[key]) is type(total(values))
        assert mapped.min().run().to_dict() == {
            key: min(all_) for key, all_ in groups.items()
        }
        assert mapped.max().run().to_dict() == {
            key: max(all_) for key, all_ in groups.items()
        }


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    data=st.binary(max_size=3000),
    end=st.sampled_from([b"\n", b"a", b"ab"]),
    engine=st.sampled_from(ENGINES),
)
def test_random_bytes_are_cut_into_the_same_records(
    data: bytes, end: bytes, engine: tg.Engine
) -> None:
    records = data.split(end)
    if not records[-1]:
        records.pop()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").write_bytes(data)
        cut = "lines" if end == b"\n" else end
        binary = tg.text(
            Path(folder) / "data", cut=cut, encoding=None, plain=True, engine=engine
        )
        kept = (
            binary.map(lambda record: (0, record), on="threads")
            .collect()
            .run()
            .to_dict()
        )
        assert kept.get(0, []) == records
        text = tg.text(Path(folder) / "data", cut=cut, plain=True, engine=engine)
        kept = (
            text.map(lambda record: (0, record), on="threads").collect().run().to_dict()
        )
        decoded = [record.decode("utf-8", "surrogateescape") for record in records]
        assert kept.get(0, []) == decoded
