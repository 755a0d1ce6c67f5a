"""A `Cancel` and Ctrl-C stop runs within a second; a second Ctrl-C ends a process whose functions do not return."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
import tegula as tg
from conftest import companions_of, is_alive


def endless(line: str) -> None:
    while True:
        pass


def wait_for_companions(parent: int, least: int = 2) -> list[int]:
    for _ in range(400):
        if len(below := companions_of(parent)) >= least:
            return below
        time.sleep(0.05)
    raise AssertionError("no companion was started")


def test_another_thread_stops_a_run(path: Path) -> None:
    stop = tg.Cancel()
    stopped = []

    def later() -> None:
        wait_for_companions(os.getpid())
        stopped.append(time.monotonic())
        stop.cancel()

    thread = threading.Thread(target=later)
    thread.start()
    with pytest.raises(tg.Interrupted):
        tg.text(path).map(endless).sum().run(cancel=stop)
    assert time.monotonic() - stopped[0] < 1
    thread.join()
    assert companions_of(os.getpid()) == []
    assert stop.is_cancelled


def test_a_flag_that_is_raised_stops_the_runs_to_come(path: Path) -> None:
    stop = tg.Cancel()
    job = tg.text(path).words().count()
    assert len(job.run(cancel=stop)) > 0
    assert not stop.is_cancelled
    stop.cancel()
    with pytest.raises(tg.Interrupted):
        job.run(cancel=stop)
    with pytest.raises(tg.Interrupted):
        list(job.stream(cancel=stop))
    assert len(job.run(cancel=tg.Cancel())) > 0


def test_a_stream_is_stopped(path: Path) -> None:
    stop = tg.Cancel()

    def slowly(line: str) -> str:
        time.sleep(0.0001)
        return line

    with pytest.raises(tg.Interrupted):
        for _ in tg.text(path).map(slowly).count().stream(every=0.05, cancel=stop):
            stop.cancel()
    assert companions_of(os.getpid()) == []


@pytest.mark.parametrize("ends_by", ["run", "stream"])
def test_a_setup_that_does_not_return_is_stopped(path: Path, ends_by: str) -> None:
    stop = tg.Cancel()
    stopped = []

    def forever() -> None:
        while True:
            time.sleep(0.1)

    def later() -> None:
        wait_for_companions(os.getpid(), least=1)
        # Setup has begun some tenths of a second after its process.
        time.sleep(1)
        stopped.append(time.monotonic())
        stop.cancel()

    job = tg.text(path).map(str.split, setup=forever).count()
    thread = threading.Thread(target=later)
    thread.start()
    with pytest.raises(tg.Interrupted):
        if ends_by == "run":
            job.run(cancel=stop)
        else:
            list(job.stream(cancel=stop))
    assert time.monotonic() - stopped[0] < 2
    thread.join()
    assert companions_of(os.getpid()) == []
    assert len(tg.text(path).map(str.split, setup=time.time).count().run()) > 0


PROGRAM = """
    import ctypes, sys, time
    import tegula as tg
    def endless(line):
        while True:
            time.sleep(0.01)
    path, kind = sys.argv[1:3]
    source = tg.text(path)
    pairs = {{
        "sleeping": lambda: source.map(endless),
        "setup": lambda: source.map(str.split, setup=lambda: endless("")),
        "busy": lambda: source.map(lambda line: [0 for _ in iter(int, 1)]),
        "threads": lambda: source.map(endless, on="threads"),
        "native": lambda: source.map_native((sys.argv[3], "endless")),
    }}[kind]()
    print("ready", flush=True)
    try:
        pairs.sum().run(workers=2)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
        raise
""".replace("{{", "{").replace("}}", "}")

ENDLESS = """
#include "tegula.h"
TEGULA_LIBRARY
int32_t endless(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)pairs; (void)state;
    for (;;) *(volatile size_t *)&split->done;
}
"""


def start(path: Path, kind: str, *more: object) -> subprocess.Popen[str]:
    """Start a program with an endless map, as a group of processes of its own."""
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), path, kind, *more]
    program = subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    return program


@pytest.mark.parametrize("kind", ["sleeping", "busy", "setup"])
def test_an_interrupt_ends_a_run_within_a_second(path: Path, kind: str) -> None:
    program = start(path, kind)
    # During its setup, there is only the process that the others are forked from.
    wait_for_companions(program.pid, least=1 if kind == "setup" else 2)
    time.sleep(1 if kind == "setup" else 0)
    below = companions_of(program.pid)
    began = time.monotonic()
    # As a terminal does: to all processes of the group.
    os.killpg(program.pid, signal.SIGINT)
    printed, errors = program.communicate(timeout=20)
    assert float(printed) - began < (2 if kind == "setup" else 1)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert not any(map(is_alive, below))


@pytest.mark.parametrize("kind", ["threads", "native"])
def test_a_second_interrupt_ends_the_process(
    path: Path, tmp_path: Path, kind: str
) -> None:
    """Of functions that do not return, which nothing else could end."""
    (tmp_path / "endless.c").write_text(ENDLESS)
    library = tmp_path / "endless.so"
    build = ["cc", "-shared", "-fPIC", "-I", tg.include(), "-o", library]
    subprocess.run([*build, tmp_path / "endless.c"], check=True)
    program = start(path, kind, library)
    # The map has begun some tenths of a second after the program said that it is ready.
    time.sleep(1)
    os.killpg(program.pid, signal.SIGINT)
    time.sleep(0.5)
    assert program.poll() is None
    began = time.monotonic()
    os.killpg(program.pid, signal.SIGINT)
    program.communicate(timeout=20)
    assert time.monotonic() - began < 1
    assert program.returncode == -signal.SIGINT
