"""Runs that are unusual, but not wrong, give their answers; and those that cannot go on end with a sentence."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import tegula as tg
from conftest import companions_of, is_alive


def test_a_function_may_print_a_hundred_megabytes(tmp_path: Path) -> None:
    script = """
        import sys
        import tegula as tg
        def loud(line):
            sys.stdout.write("x" * 1_000_000)
            return line, 1
        print("answer", tg.text("input").map(loud).sum().run(workers=2).to_dict())
    """
    (tmp_path / "input").write_text("a\n" * 100)
    out = tmp_path / "out"
    with out.open("wb") as stdout:
        command = [sys.executable, "-c", textwrap.dedent(script)]
        subprocess.run(command, cwd=tmp_path, stdout=stdout, check=True)
    assert out.stat().st_size == 100_000_000 + len("answer {'a': 100}\n")


@pytest.mark.parametrize("size", [70_000, 3_000_000])
def test_keys_may_be_long(tmp_path: Path, size: int) -> None:
    (tmp_path / "input").write_text("a\nb\na\n")
    answer = tg.text(tmp_path / "input").map(lambda line: (line * size, 1)).sum().run()
    assert answer.to_dict() == {"a" * size: 2, "b" * size: 1}
    assert answer.to_arrow()["key"].to_pylist() == ["a" * size, "b" * size]


def test_two_engines_run_at_once(path: Path, lines: list[str]) -> None:
    """Each with processes of its own for a function, and each ends without the other."""
    expected = Counter(word for line in lines for word in line.split())
    answers: dict[int, dict[str, int]] = {}

    def work(workers: int) -> None:
        with tg.Engine(workers=workers) as engine:
            job = tg.text(path).map(str.split).count()
            for _ in range(3):
                answers[workers] = job.run(engine=engine).to_dict()

    threads = [threading.Thread(target=work, args=(workers,)) for workers in (1, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {1: expected, 3: expected}
    assert companions_of(os.getpid()) == []


def test_a_disk_without_room_is_an_error_that_says_so(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk that is full."""
    script = """
        import resource, sys
        import tegula as tg
        tg.Engine(workers=1).close()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        job = tg.text(sys.argv[1]).lines().count()
        try:
            job.run(memory=sys.argv[2], scratch=sys.argv[3])
        except tg.Error as error:
            print(type(error).__name__, error)
    """
    text = tmp_path / "input"
    text.write_text("".join(f"{number:030}\n" for number in range(1_000_000)))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-c", textwrap.dedent(script), text, "100M", scratch]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "scratch" in done.stdout, done.stdout
    assert "Traceback" not in done.stderr
    assert list(scratch.iterdir()) == []


def test_processes_that_cannot_be_given_their_input_are_an_error(
    tmp_path: Path,
) -> None:
    script = """
        import resource, sys
        import tegula as tg
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        try:
            tg.text(sys.argv[1]).map(str.split).count().run()
        except tg.Error as error:
            print(error)
    """
    text = tmp_path / "input"
    text.write_text("".join(f"{number:030}\n" for number in range(100_000)))
    command = [sys.executable, "-c", textwrap.dedent(script), text]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=60
    )
    assert "could not be given its input" in done.stdout, done.stdout


def test_a_full_folder_for_temporary_files_is_an_error_that_says_so(
    tmp_path: Path,
) -> None:
    """A file system of 1 MiB in memory, which only the program sees."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    mount = f"mount -t tmpfs -o size=1m tmpfs {scratch}"
    inside = ["unshare", "--mount", "sh", "-c"]
    if subprocess.run([*inside, mount], capture_output=True, check=False).returncode:
        pytest.skip("no mount of its own")
    script = """
        import sys
        import tegula as tg
        try:
            tg.text(sys.argv[1]).lines().count().run(memory="100M")
        except tg.Error as error:
            print(type(error).__name__, error)
    """
    text = tmp_path / "input"
    text.write_text("".join(f"{number:030}\n" for number in range(1_000_000)))
    program = [sys.executable, "-c", textwrap.dedent(script), str(text)]
    command = [*inside, f'{mount} && exec "$0" "$@"', *program]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    assert str(scratch) in done.stdout, done.stdout
    assert "No space left" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_limit_counts_the_buffers_of_processes(path: Path) -> None:
    """They are a few megabytes of a limit; a limit in which they have no room is refused."""
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    job = tg.text(path).map(str.split).count()
    expected = tg.text(path).words("whitespace").count().run().to_dict()
    assert job.run(memory=resident + (200 << 20)).to_dict() == expected
    with pytest.raises(tg.MemoryLimitError, match="at least"):
        job.run(memory="1M")


def test_a_stream_that_is_forgotten_ends_its_processes(path: Path) -> None:
    def slowly(line: str) -> tuple[str, int]:
        time.sleep(0.0001)
        return line, 1

    shows = tg.text(path).map(slowly).sum().stream(every=0.05)
    next(shows)
    assert companions_of(os.getpid()) != []
    del shows
    for _ in range(200):
        if companions_of(os.getpid()) == []:
            return
        time.sleep(0.01)
    raise AssertionError(companions_of(os.getpid()))


def test_a_notebook_that_is_restarted_leaves_no_process(path: Path) -> None:
    jupyter_client = pytest.importorskip("jupyter_client")
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="python3")
    try:
        client.execute(
            "import tegula as tg\n"
            "def endless(line):\n"
            "    while True: pass\n"
            f"tg.text({str(path)!r}).map(endless).sum().run(workers=1)\n"
        )
        kernel = manager.provisioner.pid
        until = time.monotonic() + 60
        while len(below := companions_of(kernel)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(below) >= 2
        manager.restart_kernel(now=True)
        until = time.monotonic() + 5
        while any(map(is_alive, below)) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(map(is_alive, below))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
