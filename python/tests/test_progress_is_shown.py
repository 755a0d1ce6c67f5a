"""Progress: readings, a line on a terminal, the memory of processes, and a word about waiting for the interpreter."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import textwrap
import threading
import time
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import tegula as tg


def slow(line: str) -> tuple[str, int]:
    # A third of the lines: all of them take a second or two, in which there are some readings.
    if line < "d":
        time.sleep(0.0001)
    return line, 1


@pytest.mark.once
def test_progress_is_read(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readings = []
    tg.text(path).map(slow).sum().run(progress=readings.append)
    assert readings
    assert readings[-1]["bytes_planned"] == path.stat().st_size
    tg.text(path).map(slow).sum().run(progress=True)
    assert "of memory" in capsys.readouterr().err


PROGRAM = """
    import sys, time
    import tegula as tg
    def slow(line):
        if line < "d":
            time.sleep(0.0001)
        return line
    print(len(tg.text(sys.argv[1]).map(slow).count().run(top=5, workers=1)))
"""


def test_a_terminal_has_one_line_that_goes_away(path: Path) -> None:
    """On a terminal of its own: each reading takes the line's place, and at the end the line is empty."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(path)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    seen = bytearray()

    def read() -> None:
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                return
            if not part:
                return
            seen.extend(part)

    reader = threading.Thread(target=read)
    reader.start()
    printed, _ = program.communicate()
    reader.join()
    os.close(ours)
    assert printed == b"5\n"
    assert b"\n" not in seen
    *lines, last = bytes(seen).decode().split("\r\x1b[K")
    assert last == ""
    assert lines[0] == ""
    reading = re.compile(r"(plan|map|reduce|merge), .*/s, .*keys, [\d.]+ MB of memory")
    assert len(lines) >= 3
    assert all(reading.fullmatch(line) for line in lines[1:]), lines


@pytest.mark.once
def test_no_line_where_nobody_looks(path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(path)]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stderr == b""


@pytest.mark.once
def test_memory_of_processes_is_counted(path: Path) -> None:
    """Each of two processes holds 100 MB of its own, and they share 100 MB that the first loaded."""
    held: list[bytes] = []

    def load() -> None:
        globals()["shared"] = b"s" * 100_000_000

    def hold(line: str) -> tuple[str, int]:
        if not held:
            held.append(b"x" * 100_000_000)
        return slow(line)

    readings = []
    pairs = tg.text(path).map(hold, setup=load)
    answer = pairs.sum().run(workers=2, progress=readings.append)
    processes = answer.stats["companion_bytes_peak"]
    assert 250_000_000 < processes < 450_000_000
    assert answer.stats["memory_bytes_peak"] > processes
    assert max(reading["memory_bytes"] for reading in readings) > processes
    assert tg.text(path).words().count().run().stats["companion_bytes_peak"] == 0


def test_threads_that_wait_for_the_interpreter_say_so_once(path: Path) -> None:
    def busy(line: str) -> tuple[str, int]:
        return line, sum(range(1500))

    job = tg.text(path).map(busy, on="threads").sum()
    with pytest.warns(
        RuntimeWarning, match="waited for the interpreter's lock"
    ) as all_of:
        job.run(workers=4)
    assert len(all_of) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        job.run(workers=1)
        tg.text(path).map(busy).sum().run(workers=4)


@pytest.mark.once
def test_a_timeline_is_a_picture_or_a_table(path: Path, tmp_path: Path) -> None:
    job = tg.text(path).map(str.split).count()
    answer = job.run(timeline=tmp_path / "run.svg")
    assert answer.to_dict() == tg.text(path).words().count().run().to_dict()
    assert ElementTree.parse(tmp_path / "run.svg").getroot().tag.endswith("}svg")
    job.run(timeline=tmp_path / "run.JSON")
    assert "traceEvents" in json.loads((tmp_path / "run.JSON").read_text())
    list(job.stream(timeline=tmp_path / "stream.json"))
    assert (tmp_path / "stream.json").exists()
    with pytest.raises(ZeroDivisionError):
        tg.text(path).map(lambda line: 1 // 0).count().run(
            timeline=tmp_path / "bad.svg"
        )
    assert (tmp_path / "bad.svg").exists()
    with pytest.raises(tg.OptionError, match=r"\.svg or \.json"):
        job.run(timeline=tmp_path / "run.png")
    with pytest.raises(tg.OutputError):
        job.run(timeline=tmp_path / "nowhere" / "run.svg")
