"""A job that is submitted to a server has the answer that it has here, whether a command line gives it or its pickle."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy
import pytest
import tegula as tg

TEGULA = Path(sys.executable).with_name("tegula")


@contextmanager
def serving(folder: Path, root: Path, *flags: str) -> Iterator[tg.Server]:
    """Start a server, whose jobs read what is below `root`."""
    environment = os.environ | {"HOME": str(folder)}
    environment["PATH"] = f"{TEGULA.parent}:{environment['PATH']}"
    command = [str(TEGULA), "serve", "--listen", "127.0.0.1:0", "--root", str(root)]
    command += ["--home", str(folder / "home"), "-j", "2", "--memory", "2G", *flags]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        yield tg.connect(process.stdout.readline().strip())
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.fixture(scope="module")
def server(path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tg.Server]:
    folder = tmp_path_factory.mktemp("server")
    with serving(
        folder, path.parent, "--allow-code", "--python", sys.executable
    ) as server:
        yield server


@pytest.fixture(autouse=True)
def at_the_input(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths are those below the server's root."""
    monkeypatch.chdir(path.parent)


def commands(name: str) -> list[tuple[tg.Job, dict[str, Any]]]:
    """Jobs that a command line gives, and options."""
    text, raw = tg.text(name), tg.text(name, encoding=None)
    return [
        (text.words().count(), {}),
        (raw.words("alpha").count(), {"top": 3, "order": "value"}),
        (text.field(1, " ").count(), {"top": 4, "order": "value", "skip_bad": True}),
        (text.grep("-?a+").count(), {"order": None}),
        (text.grep("b", by="line", fixed=True).count(), {}),
        (tg.index(name, only=["abc", "bca"]), {}),
        (tg.stringmatch(name, keys=["a b", "-c"]), {}),
    ]


@pytest.mark.once
def test_a_command_line_gives_the_same_answers(server: tg.Server, path: Path) -> None:
    jobs = commands(path.name)
    submitted = [server.submit(job, **options) for job, options in jobs]
    for one, (job, options) in zip(submitted, jobs, strict=True):
        expected = job.run(**options)
        found = one.result()
        same = sorted if options.get("order", "") is None else list
        assert same(found) == same(expected)
        assert one.status()["command"][0] != "python"
        assert found.stats["bytes"] == path.stat().st_size


def test_functions_run_in_a_process_of_the_server(server: tg.Server) -> None:
    text, least = tg.text("words.txt"), 2
    jobs = [
        text.map(
            lambda line: [(w, len(w)) for w in line.split() if len(w) > least]
        ).sum(),
        text.map(lambda line: (len(line) % 7, line[:1])).collect(),
        text.map(lambda line: (line[:1], {"n": len(line)})).agg(
            n=tg.count(), most=tg.max("n"), mean=tg.mean("n")
        ),
        text.map(lambda line: ((line[:1], 1), {len(line)})).merge(set.union),
        text.lines().count(),
        # Keys of several types, and values that are missing.
        text.map(lambda line: [(len(line), 1), (line[:2], 1), (line, 1)]).sum(),
        text.map(
            lambda line: (line[:1], {"n": len(line)} if line[:1] == "a" else {})
        ).agg(most=tg.max("n")),
    ]
    submitted = [server.submit(job) for job in jobs]
    for one, job in zip(submitted, jobs, strict=True):
        expected, found = job.run(), one.result()
        assert list(found) == list(expected)
        assert (found.columns, found.top(3)) == (expected.columns, expected.top(3))
        assert one.status()["command"][0] == "python"
    most = [submitted[-1].result().to_numpy(), jobs[-1].run().to_numpy()]
    numpy.testing.assert_array_equal(*most)
    frame = submitted[2].result().to_arrow()
    assert frame.to_pylist() == jobs[2].run().to_arrow().to_pylist()


@pytest.mark.once
def test_its_answers_are_seen_while_it_runs(server: tg.Server) -> None:
    text = tg.text("words.txt")
    slow = text.map(lambda line: time.sleep(1.5e-4) or line[:1]).count()
    seen = list(server.submit(slow, top=3, order="value").stream())
    assert [one.is_last for one in seen[-2:]] == [False, True]
    assert 0 < seen[0].part < 1 and len(seen[0].result) == 3
    plain = text.map(lambda line: line[:1]).count()
    assert list(seen[-1].result) == list(plain.run(top=3, order="value"))
    quick = server.submit(tg.text("words.txt").words().count(), top=2)
    *_, last = quick.stream()
    assert last.is_last and last.stable_since(2) is not None


def test_jobs_are_listed_to_the_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    server = tg.connect("http://127.0.0.1:1", token="any")
    asked: list[str] = []

    def answer(method: str, path: str) -> dict[str, Any]:
        asked.append(path)
        first = {"jobs": [{"id": 9}, {"id": 7}], "next": 7}
        return {"jobs": [{"id": 2}], "next": None} if "before=7" in path else first

    monkeypatch.setattr(server, "_json", answer)
    assert [job["id"] for job in server.jobs(user="ann")] == [9, 7, 2]
    assert all("user=ann" in path and "state" not in path for path in asked)


@pytest.mark.once
@pytest.mark.parametrize("key", ["user", "host"])
def test_keys_of_answers_so_far_are_those_of_the_log(
    server: tg.Server, path: Path, key: Literal["user", "host"]
) -> None:
    """Lines of a show begin with the key, whatever its name."""
    lines = {
        "user": b"ann login 100\nann logout 1000\n",
        "host": b'ann - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.0" 200 1000\n',
    }
    pipe = path.parent / f"log-{key}"
    os.mkfifo(pipe)

    def write() -> None:
        with open(pipe, "wb") as file:
            file.write(lines[key] * 300_000)
            time.sleep(3)

    writer = threading.Thread(target=write)
    writer.start()
    first, *_, last = server.submit(tg.logstats(pipe.name, key=key), top=3).stream()
    writer.join()
    assert not first.is_last and last.is_last
    assert [key for key, _ in first.result] == [key for key, _ in last.result]


@pytest.mark.once
def test_it_is_cancelled_and_failures_say_why(server: tg.Server) -> None:
    slow = server.submit(tg.text("words.txt").map(lambda _: time.sleep(60)).count())
    while slow.status()["state"] == "queued":
        time.sleep(0.01)
    assert slow.id in [job["id"] for job in server.jobs(state="running")]
    slow.cancel()
    with pytest.raises(tg.Interrupted, match="cancelled"):
        slow.result()
    with pytest.raises(tg.Error, match="is over: cancelled"):
        slow.cancel()
    broken = server.submit(tg.text("words.txt").map(lambda _: 1 // 0).count())
    with pytest.raises(tg.Error, match=r"ZeroDivisionError.*words.txt"):
        broken.result()
    assert "Traceback" in broken.log()
    with pytest.raises(tg.Error, match="no such file"):
        server.submit(tg.text("nothing").words().count()).result()


@pytest.mark.once
def test_what_a_server_does_not_take(
    server: tg.Server, path: Path, tmp_path: Path
) -> None:
    text, lock = tg.text("words.txt"), threading.Lock()
    with pytest.raises(tg.InputError, match="not below a root"):
        server.submit(tg.text("/etc/passwd").words().count())
    with pytest.raises(tg.InputError, match="not below a root"):
        server.submit(tg.text("/etc/passwd").map(len).count())
    with pytest.raises(tg.OptionError, match="cannot be sent"):
        server.submit(text.map(lambda _: lock.locked()).count())
    big = b"x" * 2_000_000
    with pytest.raises(tg.OptionError, match="read data from files"):
        server.submit(text.map(lambda _: big[0]).count())
    with pytest.raises(tg.OptionError, match="no job"):
        server.submit(text.sort())
    with pytest.raises(tg.Error, match="token is missing or wrong"):
        tg.connect(server.url, token="wrong").jobs()
    with pytest.raises(tg.Error, match="is a server there"):
        tg.connect("http://127.0.0.1:1", token="any").jobs()
    with pytest.raises(tg.Error, match="cannot read the token"):
        tg.connect(server.url, token_file=tmp_path / "none")
    with serving(tmp_path, path.parent) as careful:
        assert len(careful.submit(text.words().count()).result()) > 0
        with pytest.raises(tg.InputError, match="--allow-code"):
            careful.submit(text.map(len).count())
