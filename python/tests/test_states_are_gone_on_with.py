"""A run that is killed and started again gives the same answer, and a state knows the code of its map."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import tegula as tg

PROGRAM = """
    import sys, time
    import tegula as tg

    def slow(line):
        time.sleep(0.00001)
        return [(word, 1) for word in line.split()]

    if __name__ == "__main__":
        answer = tg.text("input").map(slow).sum().run(state="saved", job="words")
        print(answer.stats["restored_bytes"], sum(n for _, n in answer), len(answer))
"""


@pytest.mark.once
def test_a_run_goes_on_after_kills(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "input").write_text("\n".join(lines * 2) + "\n")
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    run = [sys.executable, "program.py"]
    for wait in (1.0, 1.2, 1.4):
        program = subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.DEVNULL)
        time.sleep(wait)
        program.send_signal(signal.SIGKILL)
        program.wait()
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, check=True, text=True)
    words = [word for line in lines for word in line.split()]
    assert done.stdout.split()[1:] == [str(2 * len(words)), str(len(set(words)))]
    again = subprocess.run(
        run, cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert again.stdout.split()[1:] == done.stdout.split()[1:]
    assert int(again.stdout.split()[0]) > 0


def test_a_state_is_of_one_job_and_one_input(path: Path, tmp_path: Path) -> None:
    source = tg.text(path)
    saved = functools.partial(dict, state=tmp_path / "saved", job="a")
    first = source.map(str.split).count().run(**saved())
    assert source.map(str.split).count().run(**saved()).to_dict() == first.to_dict()
    with pytest.raises(tg.StateError, match="another job"):
        source.map(lambda line: line.split()[:1]).count().run(**saved())
    with pytest.raises(tg.StateError, match="another job"):
        source.map(str.split).count().run(**saved(version="2"))
    with pytest.raises(tg.StateError, match="input"):
        other = path.parent / "other.txt"
        other.write_text("x\n")
        tg.text(other).map(str.split).count().run(**saved())
    for wrong in [
        {"state": tmp_path},
        {"job": "a"},
        {"incremental": True},
        {"version": "1"},
    ]:
        with pytest.raises(tg.OptionError):
            source.map(str.split).count().run(**wrong)


LIBRARY = """
def factor():
    # Says more than it does.
    return 3
"""

EDITED = """
    import sys
    import tegula as tg

    def length(line):
        from library_of_a_test import factor
        return "all", len(line) * factor()

    if __name__ == "__main__":
        job = tg.text("input").map(length).sum()
        try:
            print(job.run(state="saved", job="a", incremental=True).to_dict())
        except tg.StateError as error:
            print(error)
"""


def test_a_run_goes_on_after_an_edit_that_changes_nothing_and_after_no_other(
    tmp_path: Path,
) -> None:
    (tmp_path / "input").write_text("a\nbc\n")
    (tmp_path / "program.py").write_text(textwrap.dedent(EDITED))

    def run(library: str) -> str:
        (tmp_path / "library_of_a_test.py").write_text(library)
        done = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            # Two edits of one size within a second would be one to Python's cache, in this process and those below it.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout

    assert run(LIBRARY) == "{'all': 9}\n"
    assert run(LIBRARY.replace("Says more", "\n    # Does more")) == "{'all': 9}\n"
    assert "another job" in run(LIBRARY.replace("3", "4"))
    assert run(LIBRARY) == "{'all': 9}\n"


def test_what_changed_is_mapped_and_no_more(tmp_path: Path, lines: list[str]) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    # Files of a megabyte, which is about a tile: few records show as much of what is mapped again.
    wide = "x" * 2000
    for number in range(8):
        some = lines[number * 500 :][:500]
        (folder / f"{number}.txt").write_text(
            "".join(f"{line} {wide}\n" for line in some)
        )
    log = tmp_path / "log"

    def words(line: str, seen: str):
        with open(seen, "a") as file:
            file.write("x")
        return line.split()

    job = tg.text(folder).map(words, args=(str(log),)).count()
    saved = {"state": tmp_path / "saved", "job": "a", "incremental": True}
    assert job.run(**saved).to_dict() == tg.text(folder).words().count().run().to_dict()
    assert len(log.read_text()) == 4000
    (folder / "3.txt").write_text("changed\n")
    (folder / "5.txt").unlink()
    (folder / "9.txt").write_text("new words\n")
    assert job.run(**saved).to_dict() == tg.text(folder).words().count().run().to_dict()
    # Files share a tile, of which the rest is mapped again.
    assert 4002 <= len(log.read_text()) <= 5502


def test_built_in_maps_have_the_states_of_the_command_line(
    path: Path, tmp_path: Path
) -> None:
    saved = {"state": tmp_path / "saved", "job": "a"}
    tg.text(path).words().count().run(**saved)
    manifest = (tmp_path / "saved" / "a" / "manifest").read_bytes()
    assert b"wordcount" in manifest
    assert b"whitespace" in manifest
