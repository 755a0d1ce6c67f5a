"""A job on nodes gives what it gives here. The nodes are in this process, and are called as actors of Ray are."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import polars
import pytest
import tegula as tg
from tegula import _tegula
from tegula._ray import cluster as ray_cluster
from tegula._ray.actor import Node
from tegula.functions import portable

pytestmark = pytest.mark.once


class Beside:
    """Nodes of one worker each."""

    def __init__(self, count: int) -> None:
        self._count = count

    def run(self, plan: dict[str, Any], run: Any) -> _tegula.Answer:
        wires = _tegula.Wires()
        shape = (1, None, None, "127.0.0.1", True)
        nodes = [Node(dict(portable(plan)), *shape) for _ in range(self._count)]
        for at in range(self._count):
            wires.join(f"node {at}")
        work = [threading.Thread(target=_bring_orders, args=(wires, nodes))]
        work += [
            threading.Thread(target=_bring_reports, args=(wires, at, node))
            for at, node in enumerate(nodes)
        ]
        for thread in work:
            thread.start()
        try:
            return run(wires)
        finally:
            wires.close()
            for thread in work:
                thread.join()


def _bring_orders(wires: _tegula.Wires, nodes: list[Node]) -> None:
    while not wires.is_over():
        for at, order in wires.orders(0.01):
            if order is not None:
                nodes[at].put([order])


def _bring_reports(wires: _tegula.Wires, at: int, node: Node) -> None:
    while not wires.is_over():
        reports = node.reports()
        if reports is None:
            return wires.gone(at, "it has ended")
        wires.told(at, reports or [_tegula.ALIVE])


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "lines.tsv"
    lines = (f"word{at * 7 % 9973}\t{at}\t{at % 90}.5\n" for at in range(200_000))
    path.write_text("".join(lines))
    return path


def lengths(line: str):
    key, number, _ = line.split("\t")
    yield key, {"n": len(number)}


def jobs(text: Path) -> dict[str, tg.Job]:
    return {
        "words": tg.text(text).words().count(),
        "means": tg.text(text).field(1, value=3).mean(),
        "lists": tg.text(text).field(1, value=2).collect(),
        "columns": tg.text(text)
        .map(lengths)
        .agg(least=tg.min("n"), most=tg.max("n"), all=tg.sum("n")),
    }


@pytest.mark.parametrize("name", ["words", "means", "lists", "columns"])
def test_nodes_give_and_write_the_answer_of_one_machine(
    name: str, text: Path, tmp_path: Path
) -> None:
    job = jobs(text)[name]
    expected = list(job.run())
    assert list(job.run(on=Beside(3))) == expected
    form = "jsonl" if name == "lists" else "tsv"
    for count in (1, 3):
        folder = tmp_path / str(count)
        stats = job.write_parts(folder, on=Beside(count), format=form)
        assert stats["keys"] == len(expected)
        parts = sorted(folder.iterdir())
        # A node that joins when all is mapped may have none.
        assert 1 <= len(parts) <= count
        names = [f"part-{at:05}.{form}" for at in range(len(parts))]
        assert [part.name for part in parts] == names
        job.write(tmp_path / f"all.{form}", order=None)
        together = b"".join(part.read_bytes() for part in parts)
        assert sorted(together.splitlines()) == sorted(
            (tmp_path / f"all.{form}").read_bytes().splitlines()
        )


def test_other_libraries_read_the_parts(text: Path, tmp_path: Path) -> None:
    job = tg.text(text).words().count()
    job.write_parts(tmp_path / "counts", on=Beside(2), format="parquet")
    rows = polars.read_parquet(tmp_path / "counts" / "*.parquet").sort("key").rows()
    assert rows == list(job.run())


def test_what_has_no_parts_is_refused(text: Path, tmp_path: Path) -> None:
    nodes = Beside(2)
    job = tg.text(text).words().count()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(tg.OptionError, match="is there; name a folder"):
        job.write_parts(tmp_path / "full", on=nodes)
    with pytest.raises(tg.OptionError, match="of the whole input"):
        tg.index(text).write_parts(tmp_path / "out", on=nodes)
    with pytest.raises(tg.OptionError, match="reduced by this process"):
        tg.text(text).map(lengths).reduce(max).write_parts(tmp_path / "out", on=nodes)
    lists = tg.text(text).field(1, value=2).collect()
    with pytest.raises(tg.OptionError, match="lists have no form in tsv"):
        lists.write_parts(tmp_path / "out", on=nodes)
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_nodes_that_never_start_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(ray_cluster.time, "monotonic", lambda: now)
    starts = ray_cluster.Starts(60.0)
    for node, name in enumerate(["head (1)", "other (2)"]):
        starts.join(node, name)
    now = 5.0
    assert starts.failed() == []
    now = 11.0
    with pytest.warns(RuntimeWarning) as told:
        assert starts.failed() == []
    assert [str(one.message).partition(":")[0] for one in told] == ["ray", "ray"]
    assert ["other (2) has not started" in str(one.message) for one in told] == [
        False,
        True,
    ]
    # While a node works, the other is waited for.
    starts.start(0)
    now = 1000.0
    assert starts.failed() == []
    starts.end(0)
    now = 1059.0
    assert starts.failed() == []
    now = 1061.0
    ((node, cause),) = starts.failed()
    assert node == 1
    assert cause.startswith("it has not started for 60 s")
    assert starts.failed() == []


def test_a_run_without_a_node_that_starts_says_so(text: Path) -> None:
    wires = _tegula.Wires()
    wires.join("busy (1)")
    starts = ray_cluster.Starts(0.1)
    starts.join(0, "busy (1)")

    def wait() -> None:
        while not wires.is_over():
            wires.orders(0.01)
            for node, cause in starts.failed():
                wires.gone(node, cause)

    class Waiting:
        def run(self, plan: dict[str, Any], run: Any) -> _tegula.Answer:
            thread = threading.Thread(target=wait)
            thread.start()
            try:
                return run(wires)
            finally:
                wires.close()
                thread.join()

    with pytest.raises(tg.Error, match=r"no node is left.*busy \(1\).*not started"):
        tg.text(text).words().count().run(on=Waiting())


def test_a_node_that_is_given_up_takes_no_part_any_more() -> None:
    class Actor:
        """One whose reports nobody has waited for in vain."""

        def __init__(self) -> None:
            self.is_killed = False
            self.reports = self

        def remote(self) -> Actor:
            return self

    class Ray:
        """One that starts the actor once the node is given up."""

        def wait(self, asked: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
            return (asked if wires.lost else []), []

        def get(self, _: Any) -> list[bytes]:
            return [b"ready"]

        def kill(self, actor: Actor) -> None:
            actor.is_killed = True

    class Wires:
        """A run that goes on for a while after the loss of a node."""

        def __init__(self) -> None:
            self.lost: list[int] = []
            self.heard: list[int] = []
            self.left = 5

        def is_over(self) -> bool:
            self.left -= bool(self.lost)
            return not self.left

        def orders(self, seconds: float) -> list[Any]:
            time.sleep(seconds)
            return []

        def told(self, node: int, _: list[bytes]) -> None:
            self.heard.append(node)

        def gone(self, node: int, _: str) -> None:
            self.lost.append(node)

    wires, actor = Wires(), Actor()
    starts = ray_cluster.Starts(0.1)
    starts.join(0, "busy (1)")
    cluster = ray_cluster.Cluster.__new__(ray_cluster.Cluster)
    cluster._ray = Ray()  # type: ignore[assignment]
    cluster._carry(wires, [actor], lambda _: None, starts)
    assert wires.lost == [0]
    assert actor.is_killed
    assert wires.heard == []


def test_a_map_on_threads_is_refused(text: Path) -> None:
    with pytest.raises(tg.OptionError, match='on="threads" maps in this process'):
        tg.text(text).map(str.split, on="threads").count().run(on=Beside(1))
