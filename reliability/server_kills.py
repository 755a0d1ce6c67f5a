#!/usr/bin/env python3
"""Kills a server of jobs, its jobs, or both, at random moments while eight jobs are at work, and lets all go on.

Every answer must have the bytes of a run without a server, no process may be left, and a job may lose 1.5 seconds of its
work at most, in CPU time: eight jobs share the cores. All choices follow from a seed. Ends with exit code 1 where something differs, and prints the seed.

    python3 reliability/server_kills.py --tegula target/release/tegula --kills 100 --seed 1
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from serve import OVER, Server, run_plain

AT_WORK = 8
# A job that a signal has ended three times has failed, as it should.
CHILD_KILLS_MOST = 2
LOST_S_MOST = 1.5
TEXT_BYTES = 96 << 20
TILE_BYTES = 1 << 20


class Differs(Exception):
    """Something is not as it must be."""


@dataclass
class Work:
    """A job of the server."""

    number: int
    command: list[str]
    child_kills: int = 0


def write_text(path: Path, chance: random.Random) -> None:
    words = [
        "".join(chance.choices("abcdefgh", k=chance.randint(1, 4))) for _ in range(3000)
    ]
    block = "".join(
        f"{' '.join(chance.choices(words, k=9))} {chance.randrange(1000)}\n"
        for _ in range(20_000)
    )
    with open(path, "w") as file:
        for _ in range(TEXT_BYTES // len(block)):
            file.write(block)


def lives(number: str) -> bool:
    """Whether a process is there, and no zombie that nobody has waited for."""
    try:
        return bool(Path(f"/proc/{number}/cmdline").read_bytes())
    except OSError:
        return False


class Campaign:
    def __init__(self, tegula: Path, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.root = folder / "input"
        self.root.mkdir()
        text = self.root / "text"
        write_text(text, chance)
        tile = ["--tile", str(TILE_BYTES), str(text)]
        self.commands = [
            ["wordcount", "--words", "unicode", *tile],
            ["wordcount", "--words", "alpha", "--top", "50", *tile],
            ["grep", "[a-d]+h[a-d]+", "--by", "match", *tile],
            ["top", "20", "--separator", " ", "--by", "2", *tile],
        ]
        self.expected = {
            tuple(command): run_plain(tegula, command)[2] for command in self.commands
        }
        flags = ["-j", str(AT_WORK), "--jobs-at-once", str(AT_WORK)]
        self.server = Server(tegula, folder / "home", self.root, *flags)
        self.works: list[Work] = []
        self.lost_cpu_s: list[float] = []
        self.lost_wall_s: list[float] = []
        self.done = 0

    def status(self, work: Work) -> dict[str, Any]:
        return self.server.ask("GET", f"/api/jobs/{work.number}")

    def check(self) -> None:
        """Check the jobs that are over."""
        for work in list(self.works):
            status = self.status(work)
            if status["state"] not in OVER:
                continue
            if status["state"] != "done":
                raise Differs(
                    f"job {work.number}: {status['state']}, {status['message']}"
                )
            if self.server.answer(work.number) != self.expected[tuple(work.command)]:
                raise Differs(f"job {work.number} has another answer: {work.command}")
            self.works.remove(work)
            self.done += 1

    def fill(self) -> None:
        """Check the jobs that are over, and submit others in their place."""
        self.check()
        while len(self.works) < AT_WORK:
            command = self.chance.choice(self.commands)
            self.works.append(Work(self.server.submit(command), command))

    def children(self) -> dict[int, int]:
        """The processes of jobs, by the job's number."""
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            home = f"{self.server.home}/jobs/"
            if entry.name.isdigit() and home in words:
                number = words.partition(home)[2].partition("/")[0]
                found[int(number)] = int(entry.name)
        return found

    def kill(self) -> str:
        """Kill somebody; return who."""
        who = self.chance.choice(["server", "job", "both"])
        before = {work.number: self.status(work) for work in self.works}
        children = self.children()
        victims = [work for work in self.works if work.number in children]
        victims = [work for work in victims if work.child_kills < CHILD_KILLS_MOST]
        hit = list(self.works)
        if who != "server" and victims:
            victim = self.chance.choice(victims)
            victim.child_kills += 1
            hit = [victim]
            with suppress(ProcessLookupError):
                os.kill(children[victim.number], signal.SIGKILL)
        if who != "job":
            hit = list(self.works)
            self.server.kill()
            limit = time.monotonic() + 2
            while left := [one for one in children.values() if lives(str(one))]:
                if time.monotonic() > limit:
                    raise Differs(f"processes outlived the server: {left}")
                time.sleep(0.01)
            self.server.start()
        for work in hit:
            self.lose(work, before[work.number])
        return who

    def lose(self, work: Work, before: dict[str, Any]) -> None:
        """Note the work that a job has lost, once it goes on."""
        progress = before["progress"]
        if before["state"] != "running" or not progress or progress["stage"] != "map":
            return
        limit = time.monotonic() + 30
        while True:
            now = self.status(work)
            tiles = now["tiles"]
            if now["state"] in OVER:
                return
            if now["attempts"] > before["attempts"] and tiles:
                break
            if time.monotonic() > limit:
                raise Differs(f"job {work.number} does not go on: {now['state']}")
            time.sleep(0.01)
        # Bytes that were found in its state were not mapped by this attempt, so its rate is that of the others.
        found_before = (before["tiles"] or {"counts": {"found": 0}})["counts"]["found"]
        mapped = progress["bytes_done"] - found_before * TILE_BYTES
        lost = progress["bytes_done"] - tiles["counts"]["found"] * TILE_BYTES
        if mapped > 0:
            part = max(0.0, lost / mapped)
            self.lost_cpu_s.append(part * progress["cpu_s"])
            self.lost_wall_s.append(part * progress["at_s"])

    def end(self) -> None:
        for work in self.works:
            self.server.wait(work.number)
        self.check()
        self.server.kill()
        time.sleep(0.5)
        if left := self.children():
            raise Differs(f"processes are left: {left}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Kills a server of jobs and its jobs.")
    parser.add_argument("--tegula", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    who: dict[str, int] = {"server": 0, "job": 0, "both": 0}
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(options.tegula.resolve(), Path(folder), chance)
        try:
            for _ in range(options.kills):
                campaign.fill()
                time.sleep(chance.uniform(0.05, 2.5))
                who[campaign.kill()] += 1
            campaign.end()
        except Differs as error:
            print(f"server_kills: --seed {options.seed}: {error}", file=sys.stderr)
            return 1
        finally:
            campaign.server.kill()
    print(
        f"{options.kills} kills ({who['server']} of the server, {who['job']} of a job, {who['both']} of both), "
        f"{campaign.done} answers, all with the same bytes, and no process was left"
    )
    cpu_s, wall_s = sorted(campaign.lost_cpu_s), sorted(campaign.lost_wall_s)
    print(
        f"work lost by a job that was mapping ({len(cpu_s)}): {median(cpu_s):.2f} CPU seconds in the middle, "
        f"{cpu_s[-1]:.2f} at most; {median(wall_s):.2f} and {wall_s[-1]:.2f} s by the clock"
    )
    return 0 if cpu_s[-1] <= LOST_S_MOST else 1


if __name__ == "__main__":
    sys.exit(main())
