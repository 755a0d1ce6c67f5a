#!/usr/bin/env python3
"""Unequal nodes for real: word count over local nodes whose processors are cut by control groups.

A node with a quota of 0.1 of a core is a machine ten times slower. Beside it stands the paper's Basic: the text in equal
parts, one for each node, mapped by separate processes under the same quotas, of which the slowest decides. Reported are the
part of the sum of all speeds that was used, where the ideal is the processor time of one undisturbed worker divided by
the sum of quotas; how long nodes had nothing to do before the last ended; and the driver's own processor time. The text is
read several times over, so that a job takes tens of seconds.

What this cannot show: the nodes share memory bandwidth, the page cache and one kernel's clock, and there is no network. A
busy machine gives less than the quotas; the processor time that the groups were given says how much.

    python3 bench/compare/nodes.py --corpus bench/corpus --tegula target/release/tegula   # as root, control groups v1 or v2
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import ours
from measure import Failed, arguments, first_line, run_script, table, warm, write_rows

TEXT = "letters.txt"
QUOTAS = {
    1: (0.8,),
    2: (1.0, 0.5),
    4: (0.8, 0.4, 0.2, 0.1),
    8: (0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.08, 0.05),
}
PERIOD_US = 20_000
TIMES = 8


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
    tegula: Path, text: Path, quotas: tuple[float, ...], folder: Path
) -> Run:
    """Count over nodes under quotas."""
    trace, stats = folder / "trace.json", folder / "stats.json"
    argv = [
        str(tegula),
        "wordcount",
        *[str(text)] * TIMES,
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
    before = os.times()
    with groups_of(groups):
        began = time.monotonic()
        driver = subprocess.Popen([*argv, "--progress", "off"])
        while (
            len(nodes := children(driver.pid)) < len(quotas) and driver.poll() is None
        ):
            time.sleep(0.0005)
        for group, node in zip(groups, nodes, strict=False):
            group.add(node)
        if driver.wait() != 0:
            raise Failed("a run over nodes failed")
        wall = time.monotonic() - began
    after = os.times()
    cpu = (
        after.children_user
        + after.children_system
        - before.children_user
        - before.children_system
    )
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
        if event.get("cat") == "work" and event["tid"] in lanes
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
    size, parts = text.stat().st_size, []
    with text.open("rb") as whole:
        for at in range(len(quotas)):
            part = folder / f"part-{at}"
            part.write_bytes(
                whole.read(size * (at + 1) // len(quotas) - size * at // len(quotas))
            )
            parts.append(part)
    groups = [Group(str(at), quota) for at, quota in enumerate(quotas)]
    with groups_of(groups):
        began = time.monotonic()
        runs = []
        for group, part in zip(groups, parts, strict=True):
            argv = [
                str(tegula),
                "wordcount",
                *[str(part)] * TIMES,
                "-j",
                "1",
                "-o",
                "/dev/null",
            ]
            run = subprocess.Popen([*argv, "--progress", "off"])
            group.add(run.pid)
            runs.append(run)
        exits = [run.wait() for run in runs]
        if any(exits):
            raise Failed("a run of a part failed")
        wall = time.monotonic() - began
    for part in parts:
        part.unlink()
    return wall


def alone(tegula: Path, text: Path) -> float:
    """Return the processor time of one undisturbed worker."""
    before = os.times()
    argv = [
        str(tegula),
        "wordcount",
        *[str(text)] * TIMES,
        "-j",
        "1",
        "-o",
        "/dev/null",
    ]
    argv += ["--progress", "off"]
    if subprocess.run(argv, check=False).returncode != 0:
        raise Failed("the run of one worker failed")
    after = os.times()
    return (
        after.children_user
        + after.children_system
        - before.children_user
        - before.children_system
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
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        warm(text)
        for count in options.nodes:
            quotas = QUOTAS[count]
            cpu, runs, basic = [], [], []
            for _ in range(options.runs):
                cpu.append(alone(options.tegula, text))
                runs.append(over_nodes(options.tegula, text, quotas, Path(folder)))
                basic.append(equal_parts(options.tegula, text, quotas, Path(folder)))
            ideal = min(cpu) / sum(quotas)
            used = [ideal / run.wall_s for run in runs]
            by_parts = [ideal / wall for wall in basic]
            rows.append(
                [
                    str(count),
                    f"{sum(quotas):.2f}",
                    f"{median(used):.2f} ({min(used):.2f}-{max(used):.2f})",
                    f"{100 * median(run.idle_part for run in runs):.1f} %",
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
                }
            )
    heads = [
        "nodes",
        "sum of quotas",
        "of all speeds",
        "idle",
        "driver, cores",
        "equal parts",
    ]
    print(table(heads, rows))
    version = first_line([str(options.tegula), "--version"])
    write_rows(options.out, raw, {"tegula": version})
    return 0


if __name__ == "__main__":
    run_script(main)
