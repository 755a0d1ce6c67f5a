#!/usr/bin/env python3
"""Unequal nodes for real: word count over local nodes whose processors are cut by control groups.

A node with a quota of 0.1 of a core is a machine ten times slower. Beside it stands the paper's Basic: the text in equal
parts, one for each node, mapped by separate processes under the same quotas, of which the slowest decides. Reported are the
part of the sum of all speeds that was used: of those at which separate processes map side by side under the same quotas, and
of those that one undisturbed worker would have in their processor time; how long nodes had nothing to do before the
last ended; the part of the quotas that the machine gave; the processor time beside that of one worker; and the driver's own.
Jobs over nodes take half a minute, because they read the text many times over; the others' times are in proportion to fewer.

What this cannot show: the nodes share memory bandwidth, the page cache and one kernel's clock, and there is no network. A
busy machine gives less than the quotas; the processor time that the groups were given says how much.

    python3 bench/compare/nodes.py --corpus bench/corpus --tegula target/release/tegula   # as root, control groups v1 or v2
"""

import argparse
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
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

TEXT = "letters.txt"
QUOTAS = {
    1: (0.8,),
    2: (1.0, 0.5),
    4: (0.8, 0.4, 0.2, 0.1),
    8: (0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.08, 0.05),
}
PERIOD_US = 20_000
TIMES = 8
TIMES_OVER_NODES = 40
TIMES_IN_PARTS = 2
# The memory of a node that is sent the input.
SMALL_MIB = 64


class Group:
    """A control group with a quota of processor time, which goes when it is left."""

    def __init__(self, name: str, quota: float) -> None:
        self._quota = int(quota * PERIOD_US)
        unified = Path("/sys/fs/cgroup/cgroup.controllers").exists()
        root = Path("/sys/fs/cgroup") if unified else Path("/sys/fs/cgroup/cpu")
        self._folder = root / f"tegula-{os.getpid()}-{name}"
        self._is_unified = unified

    def __enter__(self) -> "Group":
        try:
            self._folder.mkdir()
            if self._is_unified:
                self._write("cpu.max", f"{self._quota} {PERIOD_US}")
            else:
                self._write("cpu.cfs_period_us", str(PERIOD_US))
                self._write("cpu.cfs_quota_us", str(self._quota))
        except OSError as error:
            raise Failed(f"control groups need root: {error}") from None
        return self

    def __exit__(self, *_: object) -> None:
        for _try in range(50):
            with suppress(OSError):
                self._folder.rmdir()
                return
            time.sleep(0.02)

    def add(self, pid: int) -> None:
        self._write("cgroup.procs", str(pid))

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)


@dataclass
class Run:
    wall_s: float
    cpu_s: float
    driver_cpu_s: float
    idle_part: float


def children(pid: int) -> list[int]:
    with suppress(OSError):
        return [
            int(one)
            for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    return []


def over_nodes(
    tegula: Path,
    text: Path,
    quotas: tuple[float, ...],
    folder: Path,
    command: str = "wordcount",
    times: int = TIMES,
) -> Run:
    """Run a command over nodes under quotas."""
    trace, stats = folder / "trace.json", folder / "stats.json"
    argv = [
        str(tegula),
        command,
        *[str(text)] * times,
        "--nodes",
        f"local:{len(quotas)}x1",
        "-j",
        "1",
    ]
    argv += [
        "--tile",
        "4M",
        "--timeline",
        str(trace),
        "--stats-json",
        str(stats),
        "-o",
        "/dev/null",
    ]
    groups = [Group(str(at), quota) for at, quota in enumerate(quotas)]
    before = cpu_of_children()
    with groups_of(groups):
        began = time.monotonic()
        driver = subprocess.Popen([*argv, "--progress", "off"])
        for group, node in zip(groups, begun(driver, len(quotas)), strict=False):
            group.add(node)
        if driver.wait() != 0:
            raise Failed("a run over nodes failed")
        wall = time.monotonic() - began
    cpu = cpu_of_children() - before
    stages = json.loads(stats.read_text())["stages"]
    idle = idle_of(json.loads(trace.read_text()), len(quotas))
    return Run(wall, cpu, sum(stage["cpu_s"] for stage in stages), idle)


def idle_of(trace: dict, nodes: int) -> float:
    """Return the part of the nodes' time without a lease until the last lease ended."""
    events = trace["traceEvents"]
    lanes = {
        one["tid"]
        for one in trace["otherData"]["threads"]
        if one["name"].startswith("node-")
    }
    spans = [
        event
        for event in events
        if event.get("cat") == "work"
        and event["name"] == "map"
        and event["tid"] in lanes
    ]
    if not spans:
        return 0.0
    begin = min(span["ts"] for span in spans)
    end = max(span["ts"] + span["dur"] for span in spans)
    busy = sum(span["dur"] for span in spans)
    return 1 - busy / ((end - begin) * nodes)


class groups_of:
    """Makes groups, and removes them."""

    def __init__(self, groups: list[Group]) -> None:
        self._groups = groups

    def __enter__(self) -> None:
        for group in self._groups:
            group.__enter__()

    def __exit__(self, *_: object) -> None:
        for group in self._groups:
            group.__exit__()


def equal_parts(
    tegula: Path, text: Path, quotas: tuple[float, ...], folder: Path
) -> float:
    """Return how long separate processes need for equal parts of the text."""
    parts = parts_of(text, [1] * len(quotas), folder)
    commands = [on_one_worker(tegula, part, times=TIMES_IN_PARTS) for part in parts]
    wall = side_by_side(commands, quotas)
    for part in parts:
        part.unlink()
    return wall


def sum_of_speeds(
    tegula: Path, text: Path, quotas: tuple[float, ...], folder: Path
) -> float:
    """Return the bytes a second that separate processes map side by side, each a part of the text by its quota."""
    parts = parts_of(text, quotas, folder)
    stats = [folder / f"stats-{at}.json" for at in range(len(quotas))]
    commands = [
        [*on_one_worker(tegula, part), "--stats-json", str(path)]
        for part, path in zip(parts, stats, strict=True)
    ]
    side_by_side(commands, quotas)
    speeds = 0.0
    for part, path in zip(parts, stats, strict=True):
        found = json.loads(path.read_text())
        wall = {stage["stage"]: stage["wall_s"] for stage in found["stages"]}
        speeds += found["bytes"] / wall["map"]
        part.unlink()
    return speeds


def side_by_side(commands: list[list[str]], quotas: tuple[float, ...]) -> float:
    """Run commands under quotas, and return how long the last needs."""
    groups = [Group(str(at), quota) for at, quota in enumerate(quotas)]
    with groups_of(groups):
        began = time.monotonic()
        runs = []
        for group, command in zip(groups, commands, strict=True):
            run = subprocess.Popen(command)
            group.add(run.pid)
            runs.append(run)
        exits = [run.wait() for run in runs]
        if any(exits):
            raise Failed("a run of a part failed")
        return time.monotonic() - began


def parts_of(text: Path, shares: Sequence[float], folder: Path) -> list[Path]:
    """Write parts of a text to the folder, as large as their shares."""
    size, parts, shared = text.stat().st_size, [], 0.0
    with text.open("rb") as whole:
        for at, share in enumerate(shares):
            shared += share
            end = round(size * shared / sum(shares))
            part = folder / f"part-{at}"
            part.write_bytes(whole.read(end - whole.tell()))
            parts.append(part)
    return parts


def alone(tegula: Path, text: Path, command: str = "wordcount") -> float:
    """Return the processor time of one undisturbed worker."""
    before = cpu_of_children()
    run = subprocess.run(on_one_worker(tegula, text, command), check=False)
    if run.returncode != 0:
        raise Failed("the run of one worker failed")
    return cpu_of_children() - before


def on_one_worker(
    tegula: Path, text: Path, command: str = "wordcount", times: int = TIMES
) -> list[str]:
    """Return a command over a text, several times over."""
    texts = [str(text)] * times
    rest = ["-j", "1", "-o", "/dev/null", "--progress", "off"]
    return [str(tegula), command, *texts, *rest]


def cpu_of_children() -> float:
    """Return the processor time of all processes that were waited for, in seconds."""
    times = os.times()
    return times.children_user + times.children_system


def with_a_loss(
    tegula: Path, text: Path, quotas: tuple[float, ...], after_s: float
) -> float:
    """Return how long nodes need if the second is killed after some seconds."""
    nodes = ["--nodes", f"local:{len(quotas)}x1", "--tile", "4M"]
    groups = [Group(f"loss-{at}", quota) for at, quota in enumerate(quotas)]
    with groups_of(groups):
        began = time.monotonic()
        command = on_one_worker(tegula, text, times=TIMES_OVER_NODES)
        driver = subprocess.Popen([*command, *nodes])
        pids = begun(driver, len(quotas))
        for group, pid in zip(groups, pids, strict=False):
            group.add(pid)
        time.sleep(max(0.0, after_s - (time.monotonic() - began)))
        with suppress(ProcessLookupError, IndexError):
            os.kill(pids[1], signal.SIGKILL)
        if driver.wait() != 0:
            raise Failed("a run that lost a node failed")
        return time.monotonic() - began


def with_a_small_node(tegula: Path, text: Path) -> tuple[float, int]:
    """Return how long a node, and a small one that it sends the input to, need, and the resident bytes of the latter."""
    nodes = ["--nodes", f"local:1x1,1x1:{SMALL_MIB}M:streamed", "--tile", "4M"]
    began, most = time.monotonic(), 0
    driver = subprocess.Popen([*on_one_worker(tegula, text), *nodes])
    pids = begun(driver, 2)
    while driver.poll() is None:
        with suppress(OSError, IndexError, StopIteration):
            lines = Path(f"/proc/{pids[1]}/status").read_text().splitlines()
            line = next(line for line in lines if line.startswith("VmHWM:"))
            most = max(most, int(line.split()[1]) << 10)
        time.sleep(0.01)
    if driver.returncode != 0:
        raise Failed("a run with a small node failed")
    return time.monotonic() - began, most


def begun(driver: subprocess.Popen[bytes], count: int) -> list[int]:
    """Return the processes of a driver's nodes, once all are there."""
    while len(nodes := children(driver.pid)) < count and driver.poll() is None:
        time.sleep(0.0005)
    return nodes


def with_faults(
    options: argparse.Namespace, text: Path, folder: Path, raw: list[dict]
) -> None:
    """Measure the loss of a node at half time, and a small node that is sent the input."""
    quotas = QUOTAS[4]
    # All that was done by the lost node is done again by the others.
    left = sum(quotas) / (sum(quotas) - quotas[1])
    tegula, times = options.tegula, TIMES_OVER_NODES
    losses, parts = [], []
    for _ in range(options.runs):
        whole = over_nodes(tegula, text, quotas, folder, times=times).wall_s
        lost = with_a_loss(tegula, text, quotas, whole / 2)
        losses.append({"whole_s": whole, "wall_s": lost})
        parts.append(lost / (whole * left))
    raw.append({"killed": 1, "quotas": quotas, "runs": losses})
    print(
        f"\nthe second of four nodes is killed at half time: {median(parts):.2f} "
        f"({min(parts):.2f}-{max(parts):.2f}) of the time of those that are left alone"
    )
    alone_s, small = [], []
    for _ in range(options.runs):
        began = time.monotonic()
        subprocess.run(on_one_worker(options.tegula, text), check=True)
        alone_s.append(time.monotonic() - began)
        small.append(with_a_small_node(options.tegula, text))
    most = max(resident for _, resident in small) / (SMALL_MIB << 20)
    gain = median(alone_s) / median(wall for wall, _ in small)
    raw.append({"small_mib": SMALL_MIB, "alone_wall_s": alone_s, "runs": small})
    print(
        f"a node of {SMALL_MIB} MiB that is sent the input: {100 * most:.0f} % of its memory resident at most; "
        f"with the sender {gain:.2f} times as fast as one worker"
    )


def main() -> int:
    parser = arguments("Measure jobs over unequal nodes.", "nodes.json")
    parser.add_argument("--nodes", type=int, nargs="*", default=list(QUOTAS))
    options: argparse.Namespace = parser.parse_args()
    ours.existing(options.tegula)
    text = options.corpus / TEXT
    if not text.is_file():
        raise Failed(f"{text} is missing; see make corpus")
    rows, raw = [], []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        warm(text)
        for count in options.nodes:
            quotas = QUOTAS[count]
            cpu, runs, basic, speeds = [], [], [], []
            for _ in range(options.runs):
                cpu.append(alone(options.tegula, text) * TIMES_OVER_NODES / TIMES)
                times = TIMES_OVER_NODES
                run = over_nodes(options.tegula, text, quotas, folder, times=times)
                runs.append(run)
                wall = equal_parts(options.tegula, text, quotas, folder)
                basic.append(wall * TIMES_OVER_NODES / TIMES_IN_PARTS)
                speeds.append(sum_of_speeds(options.tegula, text, quotas, folder))
            ideal = min(cpu) / sum(quotas)
            used = [ideal / run.wall_s for run in runs]
            size = text.stat().st_size * TIMES_OVER_NODES
            of_speeds = [
                size / run.wall_s / speed
                for run, speed in zip(runs, speeds, strict=True)
            ]
            by_parts = [ideal / wall for wall in basic]
            rows.append(
                [
                    str(count),
                    f"{sum(quotas):.2f}",
                    f"{median(of_speeds):.2f} ({min(of_speeds):.2f}-{max(of_speeds):.2f})",
                    f"{median(used):.2f} ({min(used):.2f}-{max(used):.2f})",
                    f"{100 * median(run.idle_part for run in runs):.1f} %",
                    f"{median(run.cpu_s / run.wall_s for run in runs) / sum(quotas):.2f}",
                    f"{median(run.cpu_s for run in runs) / min(cpu):.2f}",
                    f"{median(run.driver_cpu_s / run.wall_s for run in runs):.4f}",
                    f"{median(by_parts):.2f}",
                ]
            )
            raw.append(
                {
                    "nodes": count,
                    "quotas": quotas,
                    "cpu_alone_s": cpu,
                    "runs": [vars(run) for run in runs],
                    "equal_parts_wall_s": basic,
                    "speeds_bytes_per_s": speeds,
                }
            )
    heads = [
        "nodes",
        "sum of quotas",
        "of all speeds",
        "of one worker's",
        "idle",
        "quotas given",
        "CPU of one worker's",
        "driver, cores",
        "equal parts",
    ]
    print(table(heads, rows))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        with_faults(options, text, Path(name), raw)
    version = version_of(options.tegula)
    write_rows(options.out, raw, {"tegula": version})
    return 0


if __name__ == "__main__":
    run_script(main)
