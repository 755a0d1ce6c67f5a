"""A job on the nodes of a Ray cluster gives what it gives here, also when a node is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tegula as tg

ray = pytest.importorskip("ray", minversion="2.50")
cluster_utils = pytest.importorskip("ray.cluster_utils")

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def cluster():
    """Three nodes of one processor, one of which tests may take away."""
    started = cluster_utils.Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 1,
            "_system_config": {
                "health_check_period_ms": 500,
                "health_check_timeout_ms": 1000,
                "health_check_failure_threshold": 3,
            },
        },
    )
    started.add_node(num_cpus=1)
    started.wait_for_nodes()
    ray.init(address=started.address, log_to_driver=False)
    yield started
    ray.shutdown()
    started.shutdown()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    for number in range(3):
        lines = (
            f"word{at * 7 % 997}\t{at}\t{at % 90}.5\n" for at in range(40_000 * number)
        )
        (folder / f"{number}.txt").write_text("".join(lines))
    return folder


def test_an_answer_is_that_of_one_machine(cluster, text: Path) -> None:
    nodes = tg.ray()
    assert len(nodes.nodes) == 2
    words = tg.text(text).words().count()
    assert list(words.run(on=nodes)) == list(words.run())
    assert list(words.run(on=nodes, top=5)) == list(words.run(top=5))
    means = tg.text(text).field(1, value=3).mean()
    assert list(means.run(on=nodes)) == list(means.run())


def test_each_node_writes_its_part(cluster, text: Path, tmp_path: Path) -> None:
    job = tg.text(text).field(1, value=2).collect()
    job.write_parts(tmp_path / "lists", on=tg.ray(), format="jsonl")
    parts = sorted((tmp_path / "lists").iterdir())
    # A node that joins when all is mapped may have none.
    names = ["part-00000.jsonl", "part-00001.jsonl"]
    assert [part.name for part in parts] in (names, names[:1])
    job.write(tmp_path / "all.jsonl")
    together = b"".join(part.read_bytes() for part in parts)
    expected = (tmp_path / "all.jsonl").read_bytes()
    assert sorted(together.splitlines()) == expected.splitlines()


def test_the_command_line_runs_on_a_cluster(cluster, text: Path) -> None:
    program = Path(sys.executable).with_name("tegula")
    command = [str(program), "wordcount", str(text), "--tile", "64k"]
    alone = subprocess.run(command, check=True, capture_output=True).stdout
    nodes = ["--nodes", "ray://auto"]
    environment = {**os.environ, "RAY_ADDRESS": cluster.address}
    for more in ([], ["--gather", "1"]):
        run = subprocess.run(
            [*command, *nodes, *more], check=True, capture_output=True, env=environment
        )
        assert alone == run.stdout


def test_a_function_maps_on_each_node(cluster, text: Path) -> None:
    def lengths(line: str):
        key, number, _ = line.split("\t")
        yield key, len(number)

    job = tg.text(text).map(lengths).sum()
    assert dict(job.run(on=tg.ray())) == dict(job.run())


def test_an_error_is_that_of_one_machine(cluster, text: Path) -> None:
    def fails(line: str):
        yield line, 1 // (len(line) - len(line))

    with pytest.raises(ZeroDivisionError):
        tg.text(text).map(fails).sum().run(on=tg.ray())
    with pytest.raises(tg.InputError):
        tg.text(text / "missing").words().count().run(on=tg.ray())


def test_a_lost_node_changes_no_answer(cluster, text: Path) -> None:
    def slowly(line: str):
        time.sleep(0.001)
        yield line.split("\t")[0], 1

    job = tg.text(text / "1.txt").map(slowly).count()
    expected = dict(tg.text(text / "1.txt").field(1).count().run())
    lost = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    nodes = tg.ray()
    assert len(nodes.nodes) == 3
    threading.Timer(3, cluster.remove_node, (lost,), {"allow_graceful": False}).start()
    assert dict(job.run(on=nodes)) == expected


def test_a_node_without_the_input_is_sent_it(cluster, text: Path) -> None:
    later = cluster.add_node(num_cpus=1, resources={"tegula_streamed": 1})
    cluster.wait_for_nodes()
    try:
        nodes = tg.ray(memory="256M")
        assert len(nodes.nodes) == 3
        words = tg.text(text).words().count()
        assert list(words.run(on=nodes)) == list(words.run())
    finally:
        cluster.remove_node(later)


def test_a_node_that_comes_later_takes_part(
    cluster, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(line: str):
        time.sleep(0.001)
        yield line.split("\t")[0], 1

    job = tg.text(text / "1.txt").map(slowly).count()
    expected = dict(tg.text(text / "1.txt").field(1).count().run())
    nodes, hosts = tg.ray(), []
    start = type(nodes)._actor

    def noting(self, node, kind, arguments):
        hosts.append(node["NodeID"])
        return start(self, node, kind, arguments)

    monkeypatch.setattr(type(nodes), "_actor", noting)
    # Ray starts nodes from the main thread alone.
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(job.run, on=nodes)
        later = cluster.add_node(num_cpus=1)
        assert dict(running.result()) == expected
    assert later.node_id in hosts
    assert len(set(hosts)) == len(hosts) == len(nodes.nodes)


def test_a_node_whose_processors_are_taken_is_not_waited_for_for_ever(
    cluster, text: Path
) -> None:
    @ray.remote(num_cpus=1)
    class Busy:
        def ready(self) -> bool:
            return True

    busy = [Busy.remote() for _ in tg.ray().nodes]
    ray.get([one.ready.remote() for one in busy])
    job = tg.text(text).words().count()
    with pytest.raises(tg.Error, match="not all of its processors are free"):
        job.run(on=tg.ray(start_seconds=2))
    for one in busy:
        ray.kill(one)
    assert list(job.run(on=tg.ray())) == list(job.run())


HEADLESS = """
import os, sys, threading, time
from pathlib import Path
import ray, tegula as tg
from ray.cluster_utils import Cluster

text, began = map(Path, sys.argv[1:])
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
for _ in range(2):
    cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
ray.init(address=cluster.address, log_to_driver=False)

def slowly(line):
    began.touch()
    time.sleep(0.001)
    yield line.split("\\t")[0], 1

def kill():
    while not began.exists():
        time.sleep(0.01)
    cluster.head_node.kill_gcs_server(check_alive=False)

nodes = tg.ray()
assert len(nodes.nodes) == 2
threading.Thread(target=kill).start()
print(sorted(tg.text(text).map(slowly).count().run(on=nodes)), flush=True)
os._exit(0)
"""


def test_a_head_that_is_killed_changes_no_answer(tmp_path: Path) -> None:
    """Ray ends a program a minute after that; until then, nodes go on."""
    text = tmp_path / "text"
    text.write_text("".join(f"word{at * 7 % 97}\t{at}\n" for at in range(6000)))
    expected = sorted(tg.text(text).field(1).count().run())
    script = [sys.executable, "-c", HEADLESS, str(text), str(tmp_path / "began")]
    run = subprocess.run(script, capture_output=True, text=True, check=False)
    assert run.stdout == f"{expected}\n", run.stderr[-2000:]
