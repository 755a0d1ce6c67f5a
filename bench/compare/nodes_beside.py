#!/usr/bin/env python3
"""Jobs over nodes beside other ways to do them, with the control groups of `nodes.py`.

- Eight nodes with quotas 1:8 of a core: word count by leases and by fixed units of the text, which whoever has nothing to do
  takes next, each mapped by a process of its own; a histogram by leases.
- A job of half a second on eight nodes that are up already, beside a node's share: eight processes side by side, each with
  an eighth of the text. And beside one process with as many workers as the machine has, which eight nodes on fewer cores
  cannot reach: their tables push each other out of the cache.
- The exchange: distinct words over four nodes, beside Ray Data's `groupby("word").count()` and Dask's `frequencies()`, by the
  processor time of all processes (`--ray` names an interpreter that has Ray and pandas, `--dask` one that has Dask's bags and
  its distributed scheduler).
- A node that a control group holds to 256 MiB, page cache included, and that is sent the input.
- A node that is sent the input over a link of a given rate, which is the loopback of a network namespace: the part of the
  rate that is used while the job runs, and the driver's own processor time, which must not grow with what is sent.
- The bytes a second that a node of 64 MiB is sent in units whose size is found, beside units of fixed sizes.

What this cannot show is said in `nodes.py`.

    python3 bench/compare/nodes_beside.py --corpus bench/corpus --tegula target/release/tegula   # as root
"""

import argparse
import json
import os
import subprocess
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from statistics import median

import ours
from measure import (
    Failed,
    arguments,
    run_script,
    table,
    version_of,
    warm,
    write_rows,
)

import nodes
from nodes import QUOTAS, TIMES, Group, alone, begun, groups_of, over_nodes

EIGHT = QUOTAS[8]
UNITS_MIB = (16, 64)
SMALL_MIB = 256
READY = 8
LINKS_MBIT = (100, 400, 1600)
# Of the node whose units are measured. The largest unit is a sixteenth.
UNITS_NODE_MIB = 64
UNITS_KIB = (256, 512, 1024, 2048, 4096)
# The second carries more than a node can map.
UNITS_LINKS_MBIT = (400, 40000)
# A packet of the loopback has 64 KiB.
LINK_BURST = "256kb"
# 9 million of them differ.
WORDS_MIB = 95
RAY = """
import sys, pyarrow as pa, ray
ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
def words(batch):
    found = " ".join(batch["text"].to_pylist()).split()
    return pa.table({"word": found})
lines = ray.data.read_text(sys.argv[1])
counts = lines.map_batches(words, batch_format="pyarrow").groupby("word").count()
print(counts.count())
"""
DASK = """
import sys
import dask.bag
from dask.distributed import Client
with Client(n_workers=4, threads_per_worker=1, dashboard_address=None, memory_limit=0):
    lines = dask.bag.read_text(sys.argv[1], blocksize="8MiB")
    print(lines.str.split().flatten().frequencies().count().compute())
"""


class UsageGroup:
    """A control group that counts the processor time, and may limit the memory, of all processes in it."""

    def __init__(self, name: str, memory: int | None = None) -> None:
        root = Path("/sys/fs/cgroup")
        self._is_unified = (root / "cgroup.controllers").exists()
        own = f"tegula-{os.getpid()}-{name}"
        kinds = [""] if self._is_unified else ["cpuacct", "memory"]
        self._folders = [root / kind / own for kind in kinds]
        self._memory = memory

    def __enter__(self) -> "UsageGroup":
        try:
            for folder in self._folders:
                folder.mkdir()
            if self._memory is not None:
                limit = "memory.max" if self._is_unified else "memory.limit_in_bytes"
                (self._folders[-1] / limit).write_text(str(self._memory))
        except OSError as error:
            raise Failed(f"control groups need root: {error}") from None
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._folders:
            for _try in range(100):
                with suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.05)

    def add(self, pid: int) -> None:
        for folder in self._folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def enter(self) -> None:
        """Puts this process, just forked, into the group."""
        self.add(os.getpid())

    def cpu_s(self) -> float:
        if self._is_unified:
            lines = (self._folders[0] / "cpu.stat").read_text().splitlines()
            return int(lines[0].split()[1]) / 1e6
        return int((self._folders[0] / "cpuacct.usage").read_text()) / 1e9

    def memory_peak(self) -> int:
        name = "memory.peak" if self._is_unified else "memory.max_usage_in_bytes"
        return int((self._folders[-1] / name).read_text())


class Link:
    """A network namespace whose loopback carries bytes at a rate."""

    def __init__(self, mbit: int) -> None:
        self._name = f"tegula-{os.getpid()}-{mbit}"
        self._mbit = mbit

    def __enter__(self) -> "Link":
        shape = ["tbf", "rate", f"{self._mbit}mbit", "burst", LINK_BURST]
        try:
            self._do("ip", "netns", "add", self._name)
            self._do("ip", "-n", self._name, "link", "set", "lo", "up")
            shape = ["root", *shape, "latency", "50ms"]
            self._do("tc", "-n", self._name, "qdisc", "add", "dev", "lo", *shape)
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            raise Failed(f"a namespace needs root, ip and tc: {error}") from None
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["ip", "netns", "del", self._name], check=False)

    def inside(self, argv: list[str]) -> list[str]:
        """Return a command as one that runs in the namespace."""
        return ["ip", "netns", "exec", self._name, *argv]

    def carried(self) -> int:
        """Return the bytes that the link has carried."""
        shown = self._do("ip", "-n", self._name, "-s", "-j", "link", "show", "lo")
        return json.loads(shown)[0]["stats64"]["rx"]["bytes"]

    def _do(self, *argv: str) -> bytes:
        return subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout


def by_units(tegula: Path, text: Path, unit_bytes: int, folder: Path) -> float:
    """Return how long nodes need if each takes the next unit of the text when it has mapped one."""
    units = []
    with text.open("rb") as whole:
        while unit := whole.read(unit_bytes):
            path = folder / f"unit-{len(units)}"
            path.write_bytes(unit)
            units.append(path)
    waiting, failed = deque(units * TIMES), threading.Event()

    def work(group: Group) -> None:
        while waiting and not failed.is_set():
            with suppress(IndexError):
                unit = waiting.popleft()
                rest = ["-j", "1", "-o", "/dev/null", "--progress", "off"]
                run = subprocess.Popen([str(tegula), "wordcount", str(unit), *rest])
                group.add(run.pid)
                if run.wait() != 0:
                    failed.set()

    groups = [Group(f"unit-{at}", quota) for at, quota in enumerate(EIGHT)]
    with groups_of(groups):
        began = time.monotonic()
        threads = [threading.Thread(target=work, args=(group,)) for group in groups]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wall = time.monotonic() - began
    for path in units:
        path.unlink()
    if failed.is_set():
        raise Failed("a run of a unit failed")
    return wall


def unequal(options: argparse.Namespace, folder: Path, raw: list[dict]) -> None:
    """Leases, and fixed units, on eight unequal nodes."""
    rows = []
    for command, name in (("wordcount", nodes.TEXT), ("histogram", "picture.bmp")):
        text = options.corpus / name
        if not text.is_file():
            raise Failed(f"{text} is missing; see make corpus")
        warm(text)
        cpu, runs = [], []
        for _ in range(options.runs):
            cpu.append(alone(options.tegula, text, command))
            runs.append(over_nodes(options.tegula, text, EIGHT, folder, command))
        ideal = min(cpu) / sum(EIGHT)
        walls = {"leases by rate": [run.wall_s for run in runs]}
        for unit in UNITS_MIB if command == "wordcount" else ():
            walls[f"units of {unit} MiB"] = [
                by_units(options.tegula, text, unit << 20, folder)
                for _ in range(options.runs)
            ]
        for policy, wall_s in walls.items():
            rows.append([command, policy, f"{ideal / median(wall_s):.2f}"])
            raw.append({"command": command, "policy": policy, "wall_s": wall_s})
        idle = [run.idle_part for run in runs]
        raw.append({"command": command, "cpu_alone_s": cpu, "idle_part": idle})
        rows[-1 if len(walls) == 1 else -len(walls)].append(
            f"{100 * median(idle):.1f} %"
        )
    print(table(["command", "policy", "of all speeds", "idle"], filled(rows)))


def filled(rows: list[list[str]]) -> list[list[str]]:
    return [row + [""] * (4 - len(row)) for row in rows]


def ready(options: argparse.Namespace, folder: Path, raw: list[dict]) -> None:
    """A job of a second on nodes that are up."""
    text = options.corpus / nodes.TEXT
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    up = [str(options.tegula), "nodes", "up", "--demo", str(READY), "-j", str(READY)]
    waiting = subprocess.Popen(up, env=environment, stderr=subprocess.DEVNULL)
    time.sleep(1)
    command = [str(options.tegula), "wordcount", str(text)]
    command += ["-o", "/dev/null", "--progress", "off"]
    shares = nodes.parts_of(text, [1] * READY, folder)
    ways = {
        "alone": [command],
        "share": [
            nodes.on_one_worker(options.tegula, part, times=1) for part in shares
        ],
        "nodes": [[*command, "--nodes", "up"]],
    }
    walls: dict[str, list[float]] = {way: [] for way in ways}
    try:
        for _ in range(max(5, options.runs)):
            for way, commands in ways.items():
                began = time.monotonic()
                runs = [subprocess.Popen(each, env=environment) for each in commands]
                exits = [run.wait() for run in runs]
                if any(exits):
                    raise Failed(f"a run of {way} failed")
                walls[way].append(time.monotonic() - began)
    finally:
        waiting.terminate()
        waiting.wait()
    for part in shares:
        part.unlink()
    raw.append({"ready": READY, "wall_s": walls})
    over, share, alone_s = (median(walls[way]) for way in ("nodes", "share", "alone"))
    print(
        f"\na job on {READY} ready nodes: {1000 * (over - share):+.0f} ms over a node's share, which takes {share:.2f} s; "
        f"{1000 * (over - alone_s):+.0f} ms over one process with all cores"
    )


def exchange(options: argparse.Namespace, folder: Path, raw: list[dict]) -> None:
    """Distinct words that nodes exchange, beside Ray Data and Dask."""
    words = folder / "words"
    with (options.corpus / "distinct.txt").open("rb") as all_words:
        words.write_bytes(all_words.read(WORDS_MIB << 20))
    counts = folder / "counts"
    ours_argv = [str(options.tegula), "wordcount", str(words), "--nodes", "local:4x1"]
    # A byte of pairs is enough for an exchange.
    ours_argv += ["--order", "none", "--gather", "1", "-j", "1"]
    ours_argv += ["-o", str(counts), "--progress", "off"]
    rivals = {"nodes": ours_argv}
    if options.ray is not None:
        rivals["Ray Data"] = [str(options.ray), "-c", RAY, str(words)]
    if options.dask is not None:
        rivals["Dask"] = [str(options.dask), "-c", DASK, str(words)]
    cpu: dict[str, list[float]] = {name: [] for name in rivals}
    keys: dict[str, int] = {}
    for _ in range(options.runs):
        for name, argv in rivals.items():
            with UsageGroup("exchange") as group:
                run = subprocess.run(
                    argv, preexec_fn=group.enter, capture_output=True, check=False
                )
                cpu[name].append(group.cpu_s())
            if run.returncode != 0:
                raise Failed(f"{name}: {run.stderr.decode()[-300:]}")
            if name == "nodes":
                keys[name] = lines_of(counts)
            else:
                keys[name] = int(run.stdout.split()[-1])
    if len(set(keys.values())) != 1:
        raise Failed(f"the numbers of keys differ: {keys}")
    raw.append({"exchange_mib": WORDS_MIB, "keys": keys["nodes"], "cpu_s": cpu})
    shown = ", ".join(f"{name} {median(times):.1f} s" for name, times in cpu.items())
    print(f"processor time for {keys['nodes']} distinct words: {shown}")


def lines_of(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def as_node(pid: int) -> bytes:
    """Return what a node was told to be, once its program has begun."""
    while True:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        for word in words[:4]:
            if word.startswith(b"--as-node="):
                return word
        time.sleep(0.0005)


def small(options: argparse.Namespace, folder: Path, raw: list[dict]) -> None:
    """A node that may hold 256 MiB, by its group as by its flag."""
    text = options.corpus / nodes.TEXT
    argv = [str(options.tegula), "wordcount", *[str(text)] * TIMES, "-j", "1"]
    argv += ["--nodes", f"local:1x1,1x1:{SMALL_MIB}M:streamed", "-o", "/dev/null"]
    walls, peaks = [], []
    for _ in range(options.runs):
        with UsageGroup("small", SMALL_MIB << 20) as group:
            began = time.monotonic()
            driver = subprocess.Popen([*argv, "--progress", "off"])
            for node in begun(driver, 2):
                if b":streamed" in as_node(node):
                    group.add(node)
            if driver.wait() != 0:
                raise Failed("a run with a small node failed")
            walls.append(time.monotonic() - began)
            peaks.append(group.memory_peak())
    raw.append({"group_mib": SMALL_MIB, "wall_s": walls, "peak_bytes": peaks})
    part = 100 * max(peaks) / (SMALL_MIB << 20)
    print(f"a node of {SMALL_MIB} MiB by a control group: {part:.0f} % at most")


def link(options: argparse.Namespace, folder: Path, raw: list[dict]) -> None:
    """A node that is sent the input over a link."""
    text = options.corpus / nodes.TEXT
    warm(text)
    stats = folder / "stats.json"
    argv = [str(options.tegula), "wordcount", *[str(text)] * TIMES, "-j", "1"]
    argv += ["--nodes", f"local:1x1,1x1:{SMALL_MIB}M:streamed", "-o", "/dev/null"]
    argv += ["--progress", "off", "--stats-json", str(stats)]
    rows = []
    for mbit in LINKS_MBIT:
        walls, carried, driver = [], [], []
        for _ in range(options.runs):
            with Link(mbit) as way:
                began = time.monotonic()
                subprocess.run(way.inside(argv), check=True)
                walls.append(time.monotonic() - began)
                carried.append(way.carried())
            stages = json.loads(stats.read_text())["stages"]
            driver.append(sum(stage["cpu_s"] for stage in stages))
        used = [
            8e-6 * of / wall / mbit for of, wall in zip(carried, walls, strict=True)
        ]
        raw.append(
            {
                "link_mbit": mbit,
                "wall_s": walls,
                "carried_bytes": carried,
                "driver_cpu_s": driver,
            }
        )
        figures = [f"{median(carried) / 1e6:.0f}", f"{median(walls):.1f}"]
        rows.append(
            [str(mbit), *figures, f"{median(used):.2f}", f"{median(driver):.3f}"]
        )
    head = ["link Mbit/s", "MB sent", "wall s", "of the rate", "driver's CPU s"]
    print(table(head, rows))


def units(options: argparse.Namespace, folder: Path, raw: list[dict]) -> None:
    """The size of units that a node finds, beside fixed ones."""
    text = options.corpus / nodes.TEXT
    warm(text)
    fixed = {f"{kib} KiB": f"streamed={kib}k" for kib in UNITS_KIB}
    ways = {"found": "streamed", **fixed}
    rows = []
    for mbit in UNITS_LINKS_MBIT:
        rates: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(options.runs):
            for way, streamed in ways.items():
                argv = [str(options.tegula), "wordcount", *[str(text)] * TIMES]
                argv += ["-j", "1", "-o", "/dev/null", "--progress", "off", "--nodes"]
                argv += [f"local:1x1,1x1:{UNITS_NODE_MIB}M:{streamed}"]
                with Link(mbit) as lane:
                    began = time.monotonic()
                    subprocess.run(lane.inside(argv), check=True)
                    wall = time.monotonic() - began
                    rates[way].append(lane.carried() / wall)
        raw.append({"units_link_mbit": mbit, "bytes_a_second": rates})
        best = max(median(rates[way]) for way in fixed)
        parts = [f"{median(of) / best:.2f}" for of in rates.values()]
        rows.append([str(mbit), f"{best / 1e6:.0f}", *parts])
    print(table(["link Mbit/s", "best fixed, MB/s", *ways], rows))


def main() -> int:
    parser = arguments("Compare jobs over nodes.", "nodes_beside.json")
    parser.add_argument("--ray", type=Path, help="an interpreter that has Ray")
    parser.add_argument("--dask", type=Path, help="an interpreter that has Dask")
    parser.add_argument(
        "--only", nargs="*", help="unequal, ready, exchange, small, link, units"
    )
    options: argparse.Namespace = parser.parse_args()
    ours.existing(options.tegula)
    raw: list[dict] = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for measure in (ready, exchange, small, link, units, unequal):
            if options.only is None or measure.__name__ in options.only:
                measure(options, Path(folder), raw)
    version = version_of(options.tegula)
    write_rows(options.out, raw, {"tegula": version})
    return 0


if __name__ == "__main__":
    run_script(main)
