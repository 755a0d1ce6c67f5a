"""A program that is killed at any moment of a job leaves nothing but its state, from which the next one goes on.

`KILLS` is how often, and `SEED` draws the moments: `make campaign` kills a thousand times. By default, each of three
CPythons kills 17 times, at moments of its own.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from conftest import companions_of, is_alive

KILLS = int(os.environ.get("KILLS", "17"))
SEED = int(os.environ.get("SEED", sys.version_info.minor))

PROGRAM = """
    import sys, time
    import tegula as tg
    def words(line):
        # A run takes two seconds, of which the first save is a second away.
        if line.startswith("ab"):
            time.sleep(0.004)
        for word in line.split():
            yield word, len(word)
    kind, source, state, out = sys.argv[1:]
    pairs = tg.text(source).map(words)
    jobs = {"sum": pairs.sum(), "collect": pairs.collect()}
    print("ready", flush=True)
    jobs[kind].run(state=state, job=kind, memory="200M", workers=2).write(out)
    print("done", flush=True)
"""


def started(arguments: list[object], temporary: Path) -> subprocess.Popen[bytes]:
    """Start the program, and wait until it begins to run the job."""
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert program.stdout.readline() == b"ready\n"
    return program


def shared_memory(processes: list[int]) -> set[str]:
    """The files of shared memory that these processes map or have opened. Other programs of the machine have theirs."""
    found = set()
    for process in processes:
        # It may end meanwhile.
        with contextlib.suppress(OSError):
            maps = Path(f"/proc/{process}/maps").read_text()
            found |= set(re.findall(r"(/dev/shm/\S+)", maps))
            for opened in os.listdir(f"/proc/{process}/fd"):
                found.add(os.readlink(f"/proc/{process}/fd/{opened}"))
    return {path for path in found if path.startswith("/dev/shm/")}


def wait_for_the_end(below: list[int]) -> None:
    for _ in range(200):
        if not any(map(is_alive, below)):
            return
        time.sleep(0.01)
    left = [process for process in below if is_alive(process)]
    raise AssertionError(f"{left} still run")


def test_kills_at_random_moments(lines: list[str], tmp_path: Path) -> None:
    chance = random.Random(SEED)
    temporary, outputs = tmp_path / "temporary", tmp_path / "outputs"
    temporary.mkdir()
    outputs.mkdir()
    source = tmp_path / "source.txt"
    source.write_text("".join(line + "\n" for line in lines * 3))
    expected, took = {}, {}
    for kind in ("sum", "collect"):
        out = tmp_path / f"expected-{kind}.jsonl"
        program = started([kind, source, tmp_path / "other", out], temporary)
        began = time.monotonic()
        program.communicate()
        assert program.returncode == 0
        took[kind] = time.monotonic() - began
        expected[kind] = out.read_bytes()
    ends = killed = 0
    while killed < KILLS:
        kind = chance.choice(["sum", "collect"])
        out = outputs / f"{kind}.jsonl"
        program = started([kind, source, tmp_path / "state", out], temporary)
        below: list[int] = []
        segments: set[str] = set()
        until = time.monotonic() + chance.uniform(0, 1.1) * took[kind]
        while time.monotonic() < until and program.poll() is None:
            below = companions_of(program.pid) or below
            segments |= shared_memory([program.pid, *below])
            time.sleep(0.005)
        below = companions_of(program.pid) or below
        program.kill()
        # The processes below it have its standard output, and may print until they are ended.
        ended = program.stdout.read() == b"done\n"
        program.wait()
        program.stdout.close()
        killed += 1
        ends += ended
        wait_for_the_end(below)
        printed = program.stderr.read()
        program.stderr.close()
        assert printed == b""
        assert os.listdir(temporary) == []
        assert not any(map(os.path.exists, segments))
        # An answer is whole or absent, and no part of one has a name.
        assert set(os.listdir(outputs)) <= {"sum.jsonl", "collect.jsonl"}
        if out.exists():
            assert out.read_bytes() == expected[kind]
        else:
            assert not ended
        if ended:
            # The next run begins anew: one whose state is complete has little to be killed in.
            out.unlink()
            shutil.rmtree(tmp_path / "state" / kind)
    for kind, answer in expected.items():
        out = outputs / f"{kind}.jsonl"
        program = started([kind, source, tmp_path / "state", out], temporary)
        program.communicate()
        assert program.returncode == 0
        assert out.read_bytes() == answer
    print(f"{killed} kills, {ends} after the end")
