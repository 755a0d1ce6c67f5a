"""The command `tegula` that pip installs: it answers, fails, and ends as the program of `make build` does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tegula as tg

TEGULA = Path(sys.executable).with_name("tegula")


def run(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    command = [TEGULA, *map(os.fspath, arguments)]
    return subprocess.run(command, capture_output=True, timeout=60, check=False)


def default_signals() -> None:
    """A test runner in the background of a shell has interrupts ignored, and its children keep that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_its_answer_is_that_of_the_package(path: Path) -> None:
    done = run("wordcount", "--words", "whitespace", path)
    assert (done.returncode, done.stderr) == (0, b"")
    pairs = tg.text(path).words().count().run()
    assert done.stdout == b"".join(b"%s\t%d\n" % (k.encode(), n) for k, n in pairs)


def test_a_path_may_hold_any_bytes(path: Path, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"\xff n\xc3\xa4me")
    odd.write_bytes(path.read_bytes())
    assert run("wordcount", odd).stdout == run("wordcount", path).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["wordcount", "/nowhere"], 1, b"tegula: "),
        (["wordcount", "--memory", "none"], 2, b"--memory"),
        (["divide"], 2, b"unrecognized subcommand"),
        (["wordcount", "/proc/self/status", "-j", "0"], 2, b"workers"),
    ],
)
def test_its_exit_codes(arguments: list[str], code: int, text: bytes) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (code, b"")
    assert text in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_its_help(argument: str) -> None:
    done = run(argument)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"tegula" in done.stdout.lower()


def test_a_reader_that_goes_away_is_no_failure(tmp_path: Path) -> None:
    file = tmp_path / "words"
    file.write_text(" ".join(f"word-{number}" for number in range(200_000)))
    command = [TEGULA, "wordcount", file]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout.read(10) == b"word-0\t1\nw"
        program.stdout.close()
        assert program.stderr.read() == b""
    assert program.returncode == 0


def started(*arguments: object) -> subprocess.Popen[bytes]:
    """Start the command and wait until the engine watches for signals: it has workers then."""
    program = subprocess.Popen(
        [TEGULA, *map(os.fspath, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=default_signals,
    )
    tasks = Path(f"/proc/{program.pid}/task")
    for _ in range(2000):
        if len(list(tasks.iterdir())) > 2:
            time.sleep(0.1)
            return program
        time.sleep(0.01)
    raise AssertionError("the command has no threads")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_with_130_and_leaves_no_file(
    number: int, tmp_path: Path
) -> None:
    program = started("wordcount", "-", "-o", tmp_path / "out")
    program.stdin.write(b"some words")
    program.stdin.flush()
    began = time.monotonic()
    program.send_signal(number)
    # Standard input stays open: the end of the input is not what ends it.
    assert program.wait(timeout=20) == 130
    assert time.monotonic() - began < 5
    assert (program.stdout.read(), program.stderr.read()) == (b"", b"")
    assert list(tmp_path.iterdir()) == []
    program.stdin.close()
    program.stdout.close()
    program.stderr.close()


def test_an_ignored_interrupt_stays_ignored(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = f"trap '' INT; exec '{TEGULA}' wordcount - -o '{out}'"
    with subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE) as program:
        tasks = Path(f"/proc/{program.pid}/task")
        while len(list(tasks.iterdir())) < 3:
            time.sleep(0.01)
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        program.stdin.write(b"a word")
    assert program.returncode == 0
    assert out.read_bytes() == b"a\t1\nword\t1\n"


def test_a_timeline_is_titled_by_the_command_line(path: Path, tmp_path: Path) -> None:
    timeline = tmp_path / "timeline.json"
    assert run("wordcount", path, "--timeline", timeline).returncode == 0
    recorded = json.loads(timeline.read_text())
    assert f"tegula wordcount {path}" in json.dumps(recorded)
