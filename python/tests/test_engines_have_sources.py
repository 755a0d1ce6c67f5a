"""An engine reads the sources of the package, runs jobs of them, tells of the machine, and shows what a state holds."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tegula as tg


@pytest.fixture(scope="module")
def engine() -> Iterator[tg.Engine]:
    with tg.Engine(workers=2) as engine:
        yield engine


def test_each_source_runs_on_its_engine(
    engine: tg.Engine, path: Path, lines: list[str]
) -> None:
    words = Counter(word for line in lines for word in line.split())
    counted = engine.text(path).words().count().run()
    assert counted.to_dict() == words
    assert counted.stats["workers"] == engine.workers == 2
    whole = engine.files(path).map(lambda data: ("bytes", len(data))).sum()
    assert whole.run().to_dict() == {"bytes": path.stat().st_size}
    again = engine.pairs(counted).map(lambda pair: ("all", pair[1])).sum()
    assert again.run().to_dict() == {"all": sum(words.values())}
    table = pa.table({"n": [1, 2, 3]})
    rows = engine.batches(table).map(lambda row: ("n", row["n"])).sum()
    assert rows.run().to_dict() == {"n": 6}
    total = engine.array(np.arange(1000)).map_array(lambda rows: (rows % 2, rows))
    assert total.sum().run().to_dict() == {0: 249_500, 1: 250_000}


def test_records_of_an_engine(engine: tg.Engine, tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(b"aabbaa")
    counted = engine.records(tmp_path / "records", bytes=2).map(lambda two: two)
    assert counted.count().run().to_dict() == {b"aa": 2, b"bb": 1}


def test_a_sample_is_rows_of_the_array() -> None:
    values = np.random.default_rng(3).normal(size=(1000, 3))
    source = tg.array(values)
    rows = source.sample(100, seed=1)
    assert rows.shape == (100, 3)
    assert rows.dtype == values.dtype
    places = [int(np.flatnonzero((values == row).all(axis=1))[0]) for row in rows]
    assert places == sorted(set(places))
    assert np.array_equal(rows, source.sample(100, seed=1))
    assert not np.array_equal(rows, source.sample(100, seed=2))
    assert np.array_equal(source.sample(1000), values)
    assert source.sample(0).shape == (0, 3)
    rows[:] = 0
    assert values.any(axis=1).all()
    assert sorted(tg.array(np.arange(9)).sample(9, seed=4)) == list(range(9))
    for count in (-1, 1001):
        with pytest.raises(tg.OptionError, match="1000"):
            source.sample(count)


def test_only_arrays_have_samples(path: Path) -> None:
    with pytest.raises(tg.OptionError, match="array"):
        tg.text(path).sample(1)


def test_the_machine(engine: tg.Engine) -> None:
    machine = engine.topology
    assert machine.processors == len(os.sched_getaffinity(0))
    assert 1 <= machine.cores <= machine.processors
    assert 1 <= machine.groups <= machine.processors
    assert machine.nodes >= 1
    assert machine.l2_bytes >= 1 << 15


def test_devices_of_an_engine_are_those_of_its_runs(path: Path) -> None:
    """A name that no device has is refused where a job has a kernel; other jobs do without."""
    with tg.Engine(devices="no such device") as engine:
        with pytest.raises(tg.OptionError, match="no such device"):
            engine.text(path).words().count().run()
        assert len(engine.text(path).lines().count().run()) > 0
        assert len(engine.text(path).words().count().run(devices="cpu")) > 0
    with pytest.raises(tg.OptionError, match="kernel"):
        tg.text(path).lines().count().run(devices="cpu")


KILLED = """
    import os, sys, time
    import tegula as tg
    def words(line):
        if line == "stop":
            # What was mapped before is saved by now, once a second at the most.
            time.sleep(3)
            os.kill(os.getppid(), 9)
            time.sleep(60)
        return line.split()
    tg.text(sys.argv[1]).map(words).count().run(state=sys.argv[2], job="words", version="1", workers=1)
"""


def test_the_answer_of_a_state_so_far(tmp_path: Path) -> None:
    """A run of two files ends by a kill in the second; its input is gone, too."""
    folder, state = tmp_path / "input", tmp_path / "saved"
    folder.mkdir()
    text = "a b a\n" * 50
    (folder / "1.txt").write_text(text)
    (folder / "2.txt").write_text("c\n" * 500)
    with tg.Engine(workers=1) as engine:
        job = engine.text(folder).map(str.split).count()
        with pytest.raises(tg.StateError):
            engine.saved(state, "words", job)
        done = job.run(state=state, job="words")
        (folder / "1.txt").unlink()
        seen = engine.saved(state, "words", job)
        assert seen.to_dict() == done.to_dict() == {"a": 100, "b": 50, "c": 500}
        assert seen.stats["bytes"] == len(text) + 1000
        assert seen.stats["pairs"] == 0
        ranked = engine.saved(state, "words", job, top=2, order="value")
        assert list(ranked) == [("c", 500), ("a", 100)]
        with pytest.raises(tg.StateError, match="another job"):
            engine.saved(state, "words", engine.text(folder).map(str.split).collect())


@pytest.mark.once
def test_the_state_of_a_run_that_was_killed(tmp_path: Path) -> None:
    """Some of the input, and no more than was there, is in the answer."""
    source = tmp_path / "input"
    line = "a b a\n"
    source.write_text(line * 2_000_000 + "stop\n")
    script = textwrap.dedent(KILLED).replace(
        "os.getppid()", "int(open(sys.argv[3]).read())"
    )
    number = tmp_path / "number"
    command = [sys.executable, "-c", script, source, tmp_path / "saved", number]
    program = subprocess.Popen(command)
    number.write_text(str(program.pid))
    assert program.wait() == -9
    with tg.Engine(workers=1) as engine:
        job = engine.text("anything").map(str.split).count()
        seen = engine.saved(tmp_path / "saved", "words", job, version="1")
        parts = seen.to_dict()
        assert 0 < parts["a"] <= 4_000_000
        assert parts["a"] == 2 * parts["b"]
        # A record belongs to the tile in which it begins.
        assert parts["b"] * len(line) <= seen.stats["bytes"] + len(line)


@pytest.mark.parametrize("kind", ["reduce", "merge", "field", "words"])
def test_saved_answers_of_all_kinds(tmp_path: Path, kind: str) -> None:
    (tmp_path / "input").write_text("a b a\nb c\n")
    with tg.Engine(workers=1) as engine:
        pairs = engine.text(tmp_path / "input")
        jobs = {
            "reduce": pairs.map(lambda line: (line[:1], line)).reduce(
                lambda _, values: "+".join(values)
            ),
            "merge": pairs.map(lambda line: ("all", {line})).merge(set.union),
            "field": pairs.field(1, " ").count(),
            "words": pairs.words().count(),
        }
        job = jobs[kind]
        done = job.run(state=tmp_path / "saved", job=kind)
        seen = engine.saved(tmp_path / "saved", kind, job)
        assert seen.to_dict() == done.to_dict()
        assert len(seen) > 0


def test_programs_have_no_answer_before_their_end(tmp_path: Path) -> None:
    from tegula.job import Job
    from tegula.maps import Pairs

    pairs = Pairs(tg.text(tmp_path), {"kind": "histogram"}, "text", ("own",))
    with tg.Engine(workers=1) as engine, pytest.raises(tg.OptionError, match="end"):
        engine.saved(tmp_path, "a", Job(pairs, "own"))
