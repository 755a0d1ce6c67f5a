#!/usr/bin/env python3
"""The campaign: runs the parts of promises.toml at their full size, and writes docs/promises.md and its plot.

A part is a command that is run in turns, each with a seed of its own. What has been done is kept after each turn, in
campaign.json beside this file, so that a campaign which was stopped goes on with the turn that it was at. A turn that
fails is printed as the command that repeats it, and the campaign goes on; its exit code is 1 then. Two parts run beside
each other, unless both build in the same place. A part whose tools are missing is left as it was.

    campaign.py run [--seed 1] [--share 1.0] [--beside 2] [--anew] [part ...]
    campaign.py page [--check]

Run it in the root of the repository, after `make campaign-programs`.
"""

import argparse
import csv
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "bench" / "papers"))
from plot import Line, Lines, drawn  # noqa: E402

PROMISES = HERE / "promises.toml"
DONE = HERE / "campaign.json"
PAGE = HERE.parent / "docs" / "promises.md"
PLOT = HERE.parent / "docs" / "promises.svg"
# What each soak held between two jobs.
SOAKS = {"an engine": HERE / "soak-engine.csv", "a server": HERE / "soak-server.csv"}
# Of a turn that fails, the last lines are printed, and all of them are kept here.
LINES_SAID = 20
FAILED = HERE.parent / "target" / "campaign"
# The exit code of a campaign that was stopped by an interrupt.
INTERRUPTED = 130

HEAD = """# Promises

What Tegula promises when something goes wrong, how each promise is tested, how often with each commit and in the last
campaign, and what the tests have found. The oracle of all of them is one: a run gives the bytes of an undisturbed run by
one worker, or it fails with a named error, an exit code that is not 0 and no output.

`make campaign` runs all parts, with a seed (`SEED=1`), and writes this page. It can be stopped and started again;
`reliability/campaign.py run kills faults` runs some parts. A failure prints the command that repeats it.
"""


@dataclass
class Part:
    """A command of the campaign, and the size of it."""

    name: str
    unit: str
    command: str
    size: int
    turns: int
    counts: str = ""
    each: list[str] = field(default_factory=list)
    builds: str = ""
    needs: str = ""

    def command_of(self, seed: int, turn: int, share: float) -> tuple[str, int]:
        """The command of a turn, and its size."""
        size = max(1, round(self.size * share / self.turns))
        each = self.each[turn] if self.each else ""
        command = self.command.format(size=size, seed=seed * 1000 + turn, each=each)
        return command, size


@dataclass
class Promise:
    """A promise, and what is known of it."""

    says: str
    tested: str
    commit: str
    parts: list[str]
    found: str


@dataclass
class Done:
    """What has been done of a part, with a seed."""

    seed: int
    share: float
    commits: list[str] = field(default_factory=list)
    turns: int = 0
    count: int = 0
    seconds: float = 0.0
    date: str = ""
    failures: list[str] = field(default_factory=list)


def load() -> tuple[list[Part], list[Promise]]:
    with PROMISES.open("rb") as file:
        read = tomllib.load(file)
    parts = [Part(**part) for part in read["part"]]
    promises = [Promise(**promise) for promise in read["promise"]]
    known = {part.name for part in parts}
    for promise in promises:
        unknown = set(promise.parts) - known
        if unknown:
            raise SystemExit(f"{PROMISES.name}: no part is called {', '.join(unknown)}")
    return parts, promises


def load_done() -> dict[str, Done]:
    if not DONE.exists():
        return {}
    return {name: Done(**done) for name, done in json.loads(DONE.read_text()).items()}


def save_done(all_done: dict[str, Done]) -> None:
    """Replaces the file: a campaign may be killed while it writes."""
    new = DONE.with_suffix(".new")
    new.write_text(
        json.dumps({name: asdict(done) for name, done in all_done.items()}, indent=1)
        + "\n"
    )
    new.replace(DONE)


def commit() -> str:
    argv = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(
        argv, cwd=HERE, capture_output=True, text=True, check=True
    ).stdout.strip()


def run_turn(part: Part, done: Done, groups: set[int]) -> None:
    """Runs the next turn of a part, and adds what it did. Its process group is among `groups` meanwhile."""
    command, size = part.command_of(done.seed, done.turns, done.share)
    began = time.monotonic()
    turn = subprocess.Popen(
        command,
        shell=True,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=HERE.parent,
    )
    groups.add(turn.pid)
    said, _ = turn.communicate()
    groups.discard(turn.pid)
    done.seconds += time.monotonic() - began
    done.turns += 1
    done.date = datetime.now(UTC).isoformat(timespec="seconds")
    if commit() not in done.commits:
        done.commits.append(commit())
    counts = re.findall(part.counts, said, re.MULTILINE) if part.counts else [size]
    if turn.returncode != 0 or not counts:
        done.failures.append(command)
        FAILED.mkdir(parents=True, exist_ok=True)
        kept = FAILED / f"{part.name}-{done.turns}.log"
        kept.write_text(said)
        last = "\n".join(said.splitlines()[-LINES_SAID:])
        print(f"{part.name}: FAILED: {command}\n{last}\nAll of it: {kept}", flush=True)
        return
    done.count += sum(map(int, counts))
    print(
        f"{part.name}: {done.turns} of {part.turns} turns, {done.count} {part.unit}, {done.seconds:.0f} s",
        flush=True,
    )


def run(options: argparse.Namespace) -> int:
    parts, promises = load()
    unknown = set(options.parts) - {part.name for part in parts}
    if unknown:
        raise SystemExit(
            f"no part is called {', '.join(unknown)}; one of: {' '.join(part.name for part in parts)}"
        )
    all_done = load_done()
    wanted = [part for part in parts if not options.parts or part.name in options.parts]
    for part in wanted:
        done = all_done.get(part.name)
        is_other = done is not None and (done.seed, done.share) != (
            options.seed,
            options.share,
        )
        if done is None or options.anew or is_other:
            all_done[part.name] = Done(options.seed, options.share)
    lanes = Lanes(
        [part for part in wanted if all_done[part.name].turns < part.turns], all_done
    )
    threads = [
        threading.Thread(target=lanes.run, daemon=True) for _ in range(options.beside)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        lanes.stop()
    for path, text in pages(parts, promises, all_done).items():
        path.write_text(text)
    failed = any(all_done[part.name].failures for part in wanted)
    return 1 if failed or lanes.unmet else 0


class Lanes:
    """Parts that are run beside each other, each turn by turn."""

    def __init__(self, waiting: list[Part], all_done: dict[str, Done]) -> None:
        self.waiting = waiting
        self.all_done = all_done
        self.building: set[str] = set()
        self.unmet: list[str] = []
        self.groups: set[int] = set()
        self.changed = threading.Condition()

    def take(self) -> Part | None:
        """The next part that builds where no other does; None if all are begun."""
        with self.changed:
            while self.waiting:
                for part in self.waiting:
                    if not part.builds or part.builds not in self.building:
                        self.waiting.remove(part)
                        self.building.add(part.builds)
                        return part
                self.changed.wait()
        return None

    def has_tools(self, part: Part) -> bool:
        """Whether what the part needs is there; make says what is missing."""
        argv = ["make", "--silent", part.needs]
        if not part.needs or subprocess.run(argv, cwd=HERE.parent).returncode == 0:
            return True
        print(f"{part.name}: left out", flush=True)
        self.unmet.append(part.name)
        return False

    def stop(self) -> None:
        """Ends the turns that are at work, and the campaign; they are run again when it goes on."""
        with self.changed:
            for group in list(self.groups):
                os.killpg(group, signal.SIGKILL)
            os._exit(INTERRUPTED)

    def run(self) -> None:
        while (part := self.take()) is not None:
            try:
                self.run_part(part)
            except Exception as error:
                print(f"{part.name}: STOPPED: {error!r}", flush=True)
                self.unmet.append(part.name)
            finally:
                # Another lane may wait for the place in which this part builds.
                with self.changed:
                    self.building.discard(part.builds)
                    self.changed.notify_all()

    def run_part(self, part: Part) -> None:
        done = self.all_done[part.name]
        turns = part.turns if self.has_tools(part) else 0
        while done.turns < turns:
            run_turn(part, done, self.groups)
            with self.changed:
                save_done(self.all_done)


def campaign_of(part: Part, done: Done | None) -> str:
    if done is None or done.turns == 0:
        return f"not yet: {part.unit}"
    said = f"{done.count:,} {part.unit}"
    if done.turns < part.turns:
        said += f" ({done.turns} of {part.turns} turns)"
    if done.failures:
        said += f"; {len(done.failures)} failed: " + ", ".join(
            f"`{failure}`" for failure in done.failures
        )
    return said


def page(parts: list[Part], promises: list[Promise], all_done: dict[str, Done]) -> str:
    by_name = {part.name: part for part in parts}
    heads = (
        "promise",
        "how it is tested",
        "with each commit",
        "in the last campaign",
        "found and mended",
    )
    rows = [heads, ("---",) * len(heads)]
    for promise in promises:
        campaign = "; ".join(
            campaign_of(by_name[name], all_done.get(name)) for name in promise.parts
        )
        rows.append(
            (
                promise.says,
                promise.tested,
                promise.commit,
                campaign or "the same",
                promise.found or "nothing yet",
            )
        )
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    runs = ["| part | command of a turn | turns | seconds | commit | date |"]
    runs.append("|---|---|---:|---:|---|---|")
    for part in parts:
        done = all_done.get(part.name)
        if done is None:
            continue
        command, _ = part.command_of(done.seed, 0, done.share)
        runs.append(
            f"| {part.name} | `{command}` | {done.turns} | {done.seconds:.0f} | {', '.join(done.commits)} | {done.date[:10]} |"
        )
    return (
        HEAD
        + "\n"
        + "\n".join(lines)
        + "\n\n## The last campaign\n\n"
        + "\n".join(runs)
        + "\n"
    )


def pages(
    parts: list[Part], promises: list[Promise], all_done: dict[str, Done]
) -> dict[Path, str]:
    """The files that say what was done: the page, and the plot of the soaks that were kept."""
    text = page(parts, promises, all_done)
    lines = tuple(
        Line(name, resident(path)) for name, path in SOAKS.items() if path.exists()
    )
    if not lines:
        return {PAGE: text}
    plot = Lines("What a soak holds", "minutes", "resident MB", lines)
    text += (
        f"\n![Resident memory of an engine and of a server over an hour]({PLOT.name})\n"
    )
    return {PAGE: text, PLOT: drawn(plot)}


def resident(samples: Path) -> tuple[tuple[float, float], ...]:
    """Minutes, and the megabytes that were resident then."""
    with samples.open(newline="") as file:
        return tuple(
            (float(row["seconds"]) / 60, float(row["resident_bytes"]) / 1e6)
            for row in csv.DictReader(file)
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the campaign.")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run parts, and write the page")
    running.add_argument("parts", nargs="*", help="parts to run; all without any")
    running.add_argument("--seed", type=int, default=1)
    running.add_argument(
        "--share", type=float, default=1.0, help="of each part's size, to try them"
    )
    running.add_argument(
        "--beside", type=int, default=2, help="parts that run beside each other"
    )
    running.add_argument("--anew", action="store_true", help="forget what was done")
    writing = commands.add_parser("page", help="write the page alone")
    writing.add_argument("--check", action="store_true", help="or only compare it")
    options = parser.parse_args()
    if options.command == "run":
        return run(options)
    for path, text in pages(*load(), load_done()).items():
        if not options.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            said = "not of what is kept; run reliability/campaign.py page"
            print(f"docs/{path.name}: {said}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
