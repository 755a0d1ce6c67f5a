"""`reduce` and `merge` give what a loop over each key's values gives, and name the key where a function fails."""

from __future__ import annotations

import functools
import itertools
import os
import random
import statistics
from collections import defaultdict
from pathlib import Path

import pytest
import tegula as tg
from conftest import companions_of, in_a_process_of_its_own, least_memory


class OwnError(Exception):
    """An exception of a test's."""


def pairs_of(line: str) -> list[tuple[str, int]]:
    return [(word, len(line)) for word in line.split()]


def groups_of(lines: list[str]) -> dict[str, list[int]]:
    groups = defaultdict(list)
    for line in lines:
        for word, value in pairs_of(line):
            groups[word].append(value)
    return groups


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_values_are_reduced_in_the_order_of_the_input(
    path: Path, lines: list[str], on: str
) -> None:
    groups = groups_of(lines)
    pairs = tg.text(path).map(pairs_of, on=on)
    medians = pairs.reduce(lambda key, values: statistics.median(values)).run()
    assert medians.to_dict() == {
        key: statistics.median(values) for key, values in groups.items()
    }
    # The order of the values, and the key.
    seen = pairs.reduce(lambda key, values: (key, list(values)[:9])).run(workers=2)
    assert seen.to_dict() == {key: (key, values[:9]) for key, values in groups.items()}
    assert list(seen) == sorted(seen)
    assert seen.stats["keys"] == len(groups)


def test_reduced_numbers_are_columns(path: Path, lines: list[str]) -> None:
    groups = groups_of(lines)
    answer = tg.text(path).map(pairs_of).reduce(lambda _, values: sum(values)).run()
    totals = {key: sum(values) for key, values in groups.items()}
    best = sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))
    assert answer.top(5) == best[:5]
    assert answer.to_numpy().sum() == sum(totals.values())
    table = answer.to_arrow()
    assert table["value"].to_pylist() == [totals[key] for key in sorted(totals)]
    texts = tg.text(path).map(pairs_of).reduce(lambda key, _: key * 2).run()
    last = sorted(groups, key=lambda key: key * 2)[:-3:-1]
    assert texts.top(2) == [(key, key * 2) for key in last]
    assert texts.to_arrow()["value"].to_pylist() == [key * 2 for key in sorted(groups)]
    with pytest.raises(tg.OptionError, match="not all numbers"):
        texts.to_numpy()


@pytest.mark.parametrize("kind", ["reduce", "merge"])
def test_answers_that_are_numbers_are_ranked(
    path: Path, lines: list[str], kind: str
) -> None:
    groups = groups_of(lines)
    pairs = tg.text(path).map(pairs_of)
    if kind == "reduce":
        job = pairs.reduce(lambda _, values: statistics.fmean(values))
        answers = {key: statistics.fmean(values) for key, values in groups.items()}
    else:
        job = pairs.merge(max)
        answers = {key: max(values) for key, values in groups.items()}
    ranked = sorted(answers.items(), key=lambda pair: (-pair[1], pair[0]))
    assert list(job.run(order="value")) == ranked
    assert list(job.run(order="value", top=7)) == ranked[:7]
    assert list(job.run(top=7)) == sorted(ranked[:7])
    assert list(job.run(top=0)) == []
    texts = pairs.reduce(lambda key, _: key)
    for options in ({"top": 3}, {"order": "value"}):
        with pytest.raises(tg.OptionError, match=r"Result\.top"):
            texts.run(**options)


def test_a_reduce_may_stop_early_and_return_anything(path: Path) -> None:
    pairs = tg.text(path).map(pairs_of)
    assert set(pairs.reduce(lambda *_: None).run().to_dict().values()) == {None}
    wide = pairs.reduce(lambda key, values: 2**200).run()
    assert set(wide.to_dict().values()) == {2**200}
    flags = pairs.reduce(lambda key, values: next(values) > 0).run()
    assert {type(value) for _, value in flags} == {bool}


def test_keys_of_all_types_come_back(tmp_path: Path) -> None:
    keys = ["s", b"b", 5, -5, 2.5, -2.5, ("t\0", 1), ("t", b"\0\xff", -1.5), ""]
    (tmp_path / "x").write_text("".join(f"{n}\n" for n in range(len(keys))))
    answer = (
        tg.text(tmp_path / "x")
        .map(lambda line: (keys[int(line)], 1))
        .reduce(lambda key, values: (key, len(list(values))))
        .run()
    )
    assert answer.to_dict() == {key: (key, 1) for key in keys}


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_sets_are_merged(path: Path, lines: list[str], on: str) -> None:
    def neighbours(line: str):
        words = line.split()
        for a, b in itertools.pairwise(words):
            yield a, {b}

    expected = defaultdict(set)
    for line in lines:
        for key, value in neighbours(line):
            expected[key] |= value
    answer = tg.text(path).map(neighbours, on=on).merge(set.union).run()
    assert answer.to_dict() == expected


def test_random_merges_give_what_a_loop_gives(tmp_path: Path) -> None:
    # Concatenation tells any change of the order of the values.
    for seed in range(5):
        chance = random.Random(seed)
        lines = [
            f"{chance.randrange(20)} {chance.choice('abcdef')}" for _ in range(30_000)
        ]
        (tmp_path / "x").write_text("\n".join(lines))
        expected = defaultdict(str)
        for line in lines:
            key, value = line.split()
            expected[key] += value
        source = tg.text(tmp_path / "x")
        pairs = source.map(lambda line: tuple(line.split()))
        joined = pairs.merge(str.__add__).run(workers=1 + seed % 3)
        assert joined.to_dict() == expected
        listed = pairs.reduce(lambda _, values: "".join(values)).run()
        assert listed.to_dict() == expected
        fields = source.field(1, " ", value=2).merge(str.__add__).run()
        assert fields.to_dict() == expected
        by_bytes = tg.text(tmp_path / "x", encoding=None).field(1, " ", value=2)
        joined = by_bytes.reduce(lambda key, values: key + b"".join(values)).run()
        assert joined.to_dict() == {
            key.encode(): (key + value).encode() for key, value in expected.items()
        }


def reduce_beyond_the_memory(folder: str) -> None:
    path = Path(folder) / "x"
    lines = [f"{n % 1000} {n:0100}" for n in range(400_000)]
    path.write_text("\n".join(lines) + "\n")
    pairs = tg.text(path).field(1, " ", value=2)
    job = pairs.reduce(lambda key, values: sum(map(int, values)))
    memory = least_memory(lambda size: job.run(memory=size, workers=1))
    answer = job.run(memory=memory, workers=1)
    assert answer.stats["spilled_bytes"] > 0
    assert answer.to_dict() == {
        str(key): sum(range(key, 400_000, 1000)) for key in range(1000)
    }


@pytest.mark.once
def test_values_beyond_the_memory_go_to_disk(tmp_path: Path) -> None:
    in_a_process_of_its_own(reduce_beyond_the_memory, tmp_path)


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_a_failing_function_names_the_key(path: Path, on: str) -> None:
    def fail(key, values):
        if key == "abc":
            raise OwnError("no", 5)
        return 1

    pairs = tg.text(path).map(pairs_of, on=on)
    with pytest.raises(OwnError) as caught:
        pairs.reduce(fail).run()
    assert caught.value.args == ("no", 5)
    assert caught.value.__notes__[0] == "in the reduce of the key 'abc'"
    assert "raise OwnError" in caught.value.__notes__[-1]

    def fail_to_merge(a, b):
        raise OwnError("no")

    with pytest.raises(OwnError) as caught:
        pairs.merge(fail_to_merge).run()
    assert caught.value.__notes__[0].startswith("in the merge of the key '")
    with pytest.raises((TypeError, AttributeError)) as caught:
        pairs.reduce(lambda key, values: (x for x in values)).run()
    assert caught.value.__notes__[0].startswith("in the answer of the key ")
    if on == "processes":
        with pytest.raises(tg.Error, match="ended with exit code 3"):
            pairs.reduce(lambda key, values: os._exit(3)).run()
    assert not companions_of(os.getpid())


def test_what_reduce_and_merge_refuse(path: Path) -> None:
    pairs = tg.text(path).map(pairs_of)
    job = pairs.reduce(lambda key, values: 1)
    with pytest.raises(tg.OptionError, match="no answer before the end"):
        job.stream()
    with pytest.raises(tg.OptionError, match="cannot be called"):
        pairs.reduce(5)
    with pytest.raises(tg.OptionError, match="no values"):
        tg.text(path).words().reduce(len)
    assert "called with all values of each key" in job.explain()


def test_a_merge_is_checked() -> None:
    tg.check_merge(set.union, [set(), {1}, {2, 3}])
    tg.check_merge(max, [1, 5, 3])
    with pytest.raises(tg.OptionError, match="not associative over"):
        tg.check_merge(lambda a, b: a - b, [1, 2])

    def changes(a: set, b: set) -> set:
        a |= b
        return a

    with pytest.raises(tg.OptionError, match="changes its arguments"):
        tg.check_merge(changes, [{1}, {2}])


def test_a_state_has_the_values_and_no_reduce(path: Path, tmp_path: Path) -> None:
    saved = functools.partial(dict, state=tmp_path / "saved", job="a")
    pairs = tg.text(path).map(pairs_of)
    first = pairs.reduce(lambda key, values: sum(values)).run(**saved())
    again = pairs.reduce(lambda key, values: max(values)).run(**saved())
    assert again.stats["restored_bytes"] > 0
    assert first.to_dict() != again.to_dict()
    assert again.to_dict() == pairs.max().run().to_dict()
    # Of a merge, the function is part of what is saved.
    saved = functools.partial(dict, state=tmp_path / "saved", job="b")
    merged = pairs.merge(max).run(**saved())
    assert merged.to_dict() == again.to_dict()
    with pytest.raises(tg.StateError, match="another job"):
        pairs.merge(min).run(**saved())


def test_a_setup_runs_once_or_in_each_process(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1\n2\n3\n")

    def prepare() -> None:
        global FACTOR
        FACTOR = os.getpid()

    def of(line: str):
        return int(line), FACTOR - os.getpid()

    shared = tg.text(tmp_path / "x").map(of, setup=prepare).sum().run()
    assert all(value != 0 for _, value in shared)
    own = tg.text(tmp_path / "x").map(of, setup=tg.per_worker(prepare)).sum().run()
    assert own.to_dict() == {1: 0, 2: 0, 3: 0}
    with pytest.raises(tg.OptionError, match="setup"):
        tg.text(tmp_path / "x").map(of, setup=5)
