"""Control groups that give each place an equal share of the machine's processors, and no more, as machines of its own would.

Places are moved into their groups as soon as their processes are there. Needs the right to make groups: root, or a delegated
group of version 2.
"""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
LOOK_S = 0.02
PLACE = b"org.tegula.hadoop.place.PlaceMain"


def make(name: str, processors: float) -> Path:
    """A group that may use so many processors; its files are of version 1 or 2."""
    quota = int(processors * PERIOD_US)
    if (ROOT / "cpu").is_dir():
        group = ROOT / "cpu" / name
        group.mkdir()
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota))
    else:
        group = ROOT / name
        group.mkdir()
        (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")
    return group


def places() -> Iterator[tuple[int, int]]:
    """The numbers of all places that run, and their processes."""
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (each / "cmdline").read_bytes().split(b"\0")
            if PLACE in words:
                yield int(words[words.index(PLACE) + 3]), int(each.name)


def move(groups: list[Path], moved: set[int]) -> None:
    """Moves places that are new into the groups of their numbers."""
    for number, process in places():
        if process not in moved:
            with contextlib.suppress(ProcessLookupError):
                (groups[number] / "cgroup.procs").write_text(str(process))
                moved.add(process)


def waited(group: Path) -> float:
    """The seconds that the group's threads had to wait for its next share, added over the processors."""
    counts = dict(
        line.split() for line in (group / "cpu.stat").read_text().splitlines()
    )
    if "throttled_usec" in counts:
        return int(counts["throttled_usec"]) / 1e6
    return int(counts["throttled_time"]) / 1e9


@contextlib.contextmanager
def limited(count: int) -> Iterator[dict[str, list[float]]]:
    """As long as it lasts, each of `count` places has its share of the processors. Then `throttled_s` has how long each waited."""
    share = (os.cpu_count() or 1) / count
    groups = [make(f"tegula-{os.getpid()}-{each}", share) for each in range(count)]
    ended = threading.Event()

    def watch() -> None:
        moved: set[int] = set()
        while not ended.wait(LOOK_S):
            move(groups, moved)

    watcher = threading.Thread(target=watch)
    watcher.start()
    found: dict[str, list[float]] = {}
    try:
        yield found
    finally:
        ended.set()
        watcher.join()
        found["throttled_s"] = [waited(group) for group in groups]
        for group in groups:
            group.rmdir()
