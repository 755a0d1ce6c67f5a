"""Jobs as a server would describe them: what docs/api.md says of a job at each moment of its run, from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

MIB = 1 << 20
GIB = 1 << 30
# An arbitrary moment, so that pictures are the same each time; a server that is younger than its jobs makes no sense.
BEGIN_S = 1_795_572_247.0

LETTERS = {
    "plan": "p",
    "read": "r",
    "decode": "d",
    "map": "m",
    "combine": "c",
    "compress": "k",
    "spill": "s",
    "reduce": "u",
    "merge": "g",
    "write": "w",
    "copy_in": "x",
    "kernel": "n",
    "copy_out": "y",
}
WORDS = [
    "the",
    "and",
    "of",
    "to",
    "that",
    "in",
    "he",
    "shall",
    "unto",
    "for",
    "i",
    "his",
    "a",
    "lord",
    "they",
    "be",
    "is",
    "him",
    "not",
    "them",
    "with",
    "it",
    "all",
    "thou",
    "thy",
    "was",
    "god",
    "which",
    "my",
    "me",
]
# Frequencies fall as those of words do.
SHARES = [1 / (rank + 1) ** 0.9 for rank in range(len(WORDS))]


@dataclass
class Job:
    """One job. `at_s` is how long it has run; all else follows from the fields."""

    id: int
    name: str = "books, words alpha, top 10"
    command: list[str] = field(
        default_factory=lambda: [
            "wordcount",
            "--words",
            "alpha",
            "--top",
            "10",
            "books",
        ]
    )
    folder: str = "/data"
    user: str = "me"
    state: str = "running"
    priority: int = 0
    at_s: float = 0.0
    created_at_s: float = BEGIN_S
    attempts: int = 1
    workers: int = 4
    first_core: int = 0
    memory_bytes: int = GIB
    tiles: int = 32
    tile_bytes: int = 32 * MIB
    bytes_per_s: float = 400.0 * MIB
    found: int = 0
    saves: bool = True
    spills: bool = False
    device: bool = False
    has_tiles: bool = True
    has_places: bool = True
    has_shows: bool = True
    keys: list[str] = field(default_factory=lambda: list(WORDS))
    pairs: int = 10
    bad: dict[str, Any] | None = None
    message: str | None = None
    code: int | None = None
    signal: int | None = None
    cancelling: bool = False
    log: str = ""
    paths: list[str] = field(default_factory=lambda: ["books/a.txt", "books/b.txt"])

    @property
    def bytes(self) -> int:
        return self.tiles * self.tile_bytes

    @property
    def map_s(self) -> float:
        return (self.tiles - self.found) * self.tile_bytes / self.bytes_per_s

    @property
    def stages(self) -> list[dict[str, Any]]:
        """The stages and their ends, in order."""
        tail = max(0.05, self.map_s / 12)
        begins = [0.0, 0.02]
        begins += [
            0.02 + self.map_s,
            0.02 + self.map_s + tail,
            0.02 + self.map_s + 1.6 * tail,
        ]
        names = ["plan", "map", "reduce", "merge", "output"]
        return [
            {"stage": stage, "from_s": round(begin, 4)}
            for stage, begin in zip(names, begins, strict=True)
        ]

    @property
    def whole_s(self) -> float:
        return self.stages[-1]["from_s"] + max(0.05, self.map_s / 12) * 0.7

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    @property
    def ended_at_s(self) -> float:
        return self.created_at_s + 0.1 + self.at_s

    def finish(self, state: str = "done") -> None:
        """End the job; done, it has run to its end."""
        if state == "done":
            self.at_s = self.whole_s
        self.state = state
        self.code = {"done": 0, "failed": 1, "cancelled": 130}[state]
        self.cancelling = False

    # What the server says.

    def progress(self, at_s: float | None = None) -> dict[str, Any]:
        at = self.at_s if at_s is None else at_s
        stage = [entry["stage"] for entry in self.stages if entry["from_s"] <= at][-1]
        mapped = self.found * self.tile_bytes + int(
            min(self.map_s, max(0.0, at - 0.02)) * self.bytes_per_s
        )
        done = min(self.bytes, mapped)
        left = (self.bytes - done) / self.bytes_per_s
        part = done / self.bytes
        grown = self.memory_bytes * (
            0.12 + 0.75 * part ** (0.35 if self.spills else 0.8)
        )
        wave = 0.03 * self.memory_bytes * random.Random(int(at * 4)).random()
        return {
            "at_s": round(at, 3),
            "stage": stage,
            "bytes_planned": self.bytes,
            "bytes_done": done,
            "bytes_per_s": self.bytes_per_s,
            "left_s": round(left, 2),
            "mapping_s": round(min(at, self.map_s), 3),
            "files_planned": len(self.paths),
            "keys_held": int(1_200_000 * part**0.6),
            "memory_bytes": int(min(self.memory_bytes, grown + wave)),
            "memory_limit_bytes": self.memory_bytes or None,
            "cpu_s": round(self.cpu_s(at), 3),
            "read_bytes": done,
            "written_bytes": int(part * 40 * MIB),
            "spilled_bytes": int(max(0.0, part - 0.3) * 1.4 * GIB)
            if self.spills
            else 0,
            "workers": self.workers,
            "share": self.cores,
        }

    def cpu_s(self, at: float) -> float:
        """Processor time up to a moment: a little uneven, as it is."""
        steps = int(at / 0.25)
        chance = random.Random(7)
        return self.workers * (
            sum(0.25 * (0.82 + 0.16 * chance.random()) for _ in range(steps))
            + 0.9 * (at - steps * 0.25)
        )

    @property
    def cores(self) -> str:
        return (
            str(self.first_core)
            if self.workers == 1
            else f"{self.first_core}-{self.first_core + self.workers - 1}"
        )

    def states_of_tiles(self, at_s: float | None = None) -> str:
        """One letter a tile."""
        at = self.at_s if at_s is None else at_s
        ended = min(
            self.tiles,
            self.found
            + int(max(0.0, at - 0.02) * self.bytes_per_s / self.tile_bytes + 1e-6),
        )
        is_mapping = not self.is_over and ended < self.tiles and self.state == "running"
        saved = (
            0 if not self.saves else max(self.found, ended - max(3, self.tiles // 8))
        )
        letters = ["f"] * self.found + ["s"] * (saved - self.found)
        chance = random.Random(self.id)
        letters += [
            "d" if self.device and chance.random() < 0.3 else "m"
            for _ in range(ended - len(letters))
        ]
        running = min(self.workers, self.tiles - ended) if is_mapping else 0
        letters += ["r"] * running + ["w"] * (self.tiles - ended - running)
        # Groups have queues of their own, so tiles do not end strictly in order.
        for place in range(self.found + 2, len(letters) - 1, 7):
            letters[place], letters[place - 1] = letters[place - 1], letters[place]
        return "".join(letters)

    def tile_grid(self) -> dict[str, Any]:
        letters = self.states_of_tiles()
        each = -(-self.tiles // 4096)
        cells = ""
        for first in range(0, self.tiles, each):
            some = letters[first : first + each]
            open_and_done = "w" in some and some.strip("w") != ""
            cells += (
                "r"
                if "r" in some or open_and_done
                else max(sorted(set(some)), key=some.count)
            )
        names = {
            "waiting": "w",
            "running": "r",
            "mapped": "m",
            "saved": "s",
            "found": "f",
            "device": "d",
        }
        return {
            "at_s": round(self.at_s, 3),
            "tiles": self.tiles,
            "tiles_per_cell": each,
            "places": int(self.has_places),
            "counts": {name: letters.count(letter) for name, letter in names.items()},
            "cells": run_lengths(cells),
        }

    def places(self) -> dict[str, Any] | None:
        """The file and the byte at which each cell begins; all files are of the same size."""
        if not self.has_tiles:
            return None
        each = -(-self.tiles // 4096)
        size = self.bytes // len(self.paths)
        cells = []
        for tile in range(0, self.tiles, each):
            path = min(len(self.paths) - 1, tile * self.tile_bytes // size)
            cells.append([path, tile * self.tile_bytes - path * size, path])
        return {"bytes": self.bytes, "paths": self.paths, "cells": cells}

    def work(self, from_s: float, to_s: float) -> list[dict[str, Any]]:
        """What the threads did in an interval."""
        middle = (from_s + to_s) / 2
        stage = [entry["stage"] for entry in self.stages if entry["from_s"] <= middle][
            -1
        ]
        span = 1000 * (to_s - from_s)
        lanes = []
        for worker in range(self.workers):
            chance = random.Random(f"{self.id} {worker} {int(from_s * 4)}")
            lanes.append(
                {
                    "name": f"worker-{worker}",
                    "ms": self.worker_ms(stage, span, middle, worker, chance),
                }
            )
        if stage == "map":
            for reader in range(max(1, self.workers // 8)):
                lanes.append(
                    {
                        "name": f"reader-{reader}",
                        "ms": {"read": round(span * 0.7 + reader)},
                    }
                )
            if self.device:
                lanes.append(
                    {
                        "name": "device-0 copies",
                        "ms": {
                            "copy_in": round(span * 0.3),
                            "copy_out": round(span * 0.1),
                        },
                    }
                )
                lanes.append(
                    {"name": "device-0 kernels", "ms": {"kernel": round(span * 0.8)}}
                )
        else:
            lanes.append({"name": "caller", "ms": {"plan": 1}})
        return lanes

    def worker_ms(
        self, stage: str, span: float, at: float, worker: int, chance: random.Random
    ) -> dict[str, int]:
        if stage == "plan":
            return {"plan": round(span)} if worker == 0 else {}
        if stage == "map":
            parts = {
                "read": 0.05 + 0.1 * chance.random(),
                "map": 0.7 + 0.1 * chance.random(),
                "combine": 0.05 + 0.05 * chance.random(),
                "compress": 0.03,
            }
            if chance.random() < 0.07:
                parts = {"combine": 0.7, "map": 0.2}
            elif chance.random() < 0.05:
                parts = {"compress": 0.75, "map": 0.2}
            elif chance.random() < 0.04:
                parts = {"read": 0.65, "map": 0.3}
            if self.spills and int(at * 2 + worker * 0.3) % 9 == 0:
                parts = {"spill": 0.8, "map": 0.1}
        else:
            name = "write" if stage == "output" else stage
            parts = {name: 0.55 + 0.4 * chance.random()}
        whole = sum(parts.values())
        return {
            kind: round(span * part / max(1.0, whole)) for kind, part in parts.items()
        }

    def steps(self) -> tuple[float, int]:
        """The seconds of a cell, and the number of cells that are whole."""
        step = 0.25
        while self.at_s / step > 240:
            step *= 2
        return step, int(self.at_s / step + 1e-9)

    def lanes(self) -> dict[str, Any]:
        step, count = self.steps()
        cells: dict[str, list[str]] = {}
        for at in range(count):
            for lane in self.work(at * step, (at + 1) * step):
                idle = step * 1000 - sum(lane["ms"].values())
                kind, most = max(
                    lane["ms"].items(), key=lambda entry: entry[1], default=("idle", 0)
                )
                letters = cells.setdefault(lane["name"], ["i"] * at)
                letters += ["i"] * (at - len(letters))
                letters.append(LETTERS[kind] if most > idle else "i")
        return {
            "from_s": 0,
            "step_s": step,
            "lanes": [
                {"name": name, "cells": run_lengths("".join(letters))}
                for name, letters in cells.items()
            ],
        }

    def history(self) -> dict[str, Any]:
        step, count = self.steps()
        points = [self.progress((at + 1) * step) for at in range(count)]
        # Reading is not even: each step is late or early by a part of itself.
        chance = random.Random(3)
        done = [
            point["bytes_done"]
            - int(
                0.25 * step * self.bytes_per_s * chance.random()
                if point["stage"] == "map"
                else 0
            )
            for point in points
        ]
        done[-1:] = [point["bytes_done"] for point in points[-1:]]
        return {
            "from_s": 0,
            "step_s": step,
            "bytes_done": done,
            "memory_bytes": [point["memory_bytes"] for point in points],
            "cpu_s": [point["cpu_s"] for point in points],
        }

    def show(self) -> dict[str, Any] | None:
        if not self.has_shows or (self.at_s < 2 and not self.is_over):
            return None
        progress = self.progress()
        part = progress["bytes_done"] / self.bytes
        is_last = self.state == "done"
        pairs = []
        for rank, key in enumerate(self.keys[: self.pairs]):
            value = int(30_000_000 * SHARES[rank % len(SHARES)] * part)
            pair: dict[str, Any] = (
                {"key": key} if not key.startswith("hex:") else {"key_hex": key[4:]}
            )
            pair["value"] = value
            if not is_last:
                pair["value_estimate"] = int(value / part)
                pair["value_within"] = int(
                    value / part * (1 - part) * 0.004 * (rank + 1)
                )
            pairs.append(pair)
        since = {
            "3": {"bytes": int(self.bytes * 0.02), "part": 0.02},
            "5": {"bytes": int(self.bytes * 0.031), "part": 0.031},
            "10": {"bytes": progress["bytes_done"], "part": part},
        }
        return {
            "at_s": round(self.at_s, 3),
            "show": int(self.at_s / 2),
            "part": part,
            "bytes": progress["bytes_done"],
            "bytes_planned": self.bytes,
            "elapsed_s": round(self.at_s, 2),
            "keys": 1_214_887 if is_last else None,
            "is_last": is_last,
            "top_since": since,
            "pairs": pairs,
        }

    def stats(self) -> dict[str, Any] | None:
        if self.state != "done":
            return None
        ends = [*[entry["from_s"] for entry in self.stages][1:], self.whole_s]
        progress = self.progress()
        return {
            "stages": [
                {
                    "stage": entry["stage"],
                    "wall_s": round(end - entry["from_s"], 4),
                    "cpu_s": round((end - entry["from_s"]) * self.workers * 0.9, 4),
                }
                for entry, end in zip(self.stages, ends, strict=True)
            ],
            "ingest_busy_s": round(self.map_s * self.workers * 0.08, 3),
            "workers": self.workers,
            "simd": "avx2",
            "files": len(self.paths),
            "bytes": self.bytes,
            "tiles": self.tiles,
            "tile_bytes": self.tile_bytes,
            "splits": self.tiles * 400,
            "split_bytes": 81_920,
            "pairs": 182_000_000,
            "pairs_handed_over": 2_100_000,
            "bad_records": (self.bad or {}).get("records", 0),
            "keys": 1_214_887,
            "key_value_bytes": 21_000_000,
            "spilled_bytes": progress["spilled_bytes"],
            "restored_bytes": self.found * self.tile_bytes,
            "saved_bytes": 40 * MIB if self.saves else 0,
            "memory_counted_peak": int(self.memory_bytes * 0.86),
            "memory_resident_peak": int(self.memory_bytes * 0.91),
            "groups": [],
            "map_idle": [],
            "devices": [],
        }

    def answer(self) -> str:
        show = self.show() or {"pairs": []}
        return "".join(
            f"{pair.get('key', pair.get('key_hex'))}\t{pair['value']}\n"
            for pair in show["pairs"]
        )

    def summary(self, place: int | None = None) -> dict[str, Any]:
        has_begun = self.state != "queued"
        progress = self.progress() if has_begun else None
        few = (
            "stage",
            "bytes_planned",
            "bytes_done",
            "bytes_per_s",
            "left_s",
            "memory_bytes",
            "keys_held",
        )
        return {
            "id": self.id,
            "name": self.name,
            "command": self.command,
            "folder": self.folder,
            "user": self.user,
            "state": self.state,
            "priority": self.priority,
            "created_at_s": self.created_at_s,
            "started_at_s": self.created_at_s + 0.1 if has_begun else None,
            "ended_at_s": self.ended_at_s if self.is_over else None,
            "elapsed_s": round(self.at_s, 3),
            "attempts": self.attempts if has_begun else 0,
            "memory_bytes": self.memory_bytes,
            "least": 1,
            "most": max(8, self.workers),
            "cores": self.cores if self.state == "running" else None,
            "place": place,
            "cancelling": self.cancelling,
            "code": self.code,
            "signal": self.signal,
            "message": self.message,
            "answer_bytes": len(self.answer().encode())
            if self.state == "done"
            else None,
            "progress": progress and {name: progress[name] for name in few},
        }

    def snapshot(self, place: int | None = None) -> dict[str, Any]:
        has_begun = self.state != "queued"
        return self.summary(place) | {
            "progress": self.progress() if has_begun else None,
            "tiles": self.tile_grid() if has_begun and self.has_tiles else None,
            "lanes": self.lanes() if has_begun else None,
            "history": self.history() if has_begun else None,
            "show": self.show() if has_begun else None,
            "bad": self.bad if self.is_over else None,
            "stats": self.stats(),
            "stages": [entry for entry in self.stages if entry["from_s"] <= self.at_s]
            if has_begun
            else [],
            "shares": True,
        }


def run_lengths(cells: str) -> str:
    """The run-length code of a grid, such as `s3w2`."""
    code = ""
    at = 0
    while at < len(cells):
        end = at
        while end < len(cells) and cells[end] == cells[at]:
            end += 1
        code += f"{cells[at]}{end - at}"
        at = end
    return code
