"""URLs are sources as paths are: the same answers and states, and errors that name the URL. The objects are those of
the S3 server of the Rust tests, on loopback."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
import tegula as tg

pytestmark = pytest.mark.once

SERVER = Path(__file__).parents[2] / "remote" / "servers" / "s3.py"


@dataclass(frozen=True)
class Store:
    """A server with one key."""

    port: int

    def put(self, key: str, data: bytes) -> None:
        """Make or replace an object in the bucket `logs`, which is made with its first."""
        server = http.client.HTTPConnection("127.0.0.1", self.port)
        server.request("PUT", f"/logs/{quote(key)}", data)
        assert server.getresponse().status == 200
        server.close()


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    pytest.importorskip("moto")
    process = subprocess.Popen(
        [sys.executable, SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process, pytest.MonkeyPatch.context() as environment:
        process.stdin.write("start signed\n")
        process.stdin.flush()
        port = int(process.stdout.readline().split()[1])
        environment.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        environment.setenv("AWS_ACCESS_KEY_ID", "tegula")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "secret of tegula")
        environment.setenv("TEGULA_REMOTE_TRIES", "2")
        yield Store(port)
        # The end of its input ends the server.
        process.stdin.close()


@pytest.fixture(scope="module")
def texts(
    store: Store, lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder of compressed and plain files, which are objects below `words/`, too."""
    folder = tmp_path_factory.mktemp("texts")
    for number in range(4):
        text = ("\n".join(lines[number * 10_000 :][:10_000]) + "\n").encode()
        is_packed = number < 3
        name = f"part-{number}.{'gz' if is_packed else 'txt'}"
        (folder / name).write_bytes(gzip.compress(text) if is_packed else text)
        store.put(f"words/{name}", (folder / name).read_bytes())
    return folder


@pytest.mark.parametrize("name", ["*.gz", "", "part-3.txt", "part-[01].gz"])
def test_objects_give_what_files_give(texts: Path, name: str) -> None:
    url, path = f"s3://logs/words/{name}", texts / name
    expected = tg.text(path).words().count().run().to_dict()
    assert expected
    assert tg.text(url).words().count().run().to_dict() == expected
    assert tg.text(url).map(str.split).count().run().to_dict() == expected


def test_urls_and_paths_may_be_mixed(texts: Path, lines: list[str]) -> None:
    source = tg.text(
        "s3://logs/words/*.gz", texts / "part-3.txt", "s3://logs/words/part-0.gz"
    )
    expected = Counter(word for line in lines for word in line.split())
    expected.update(word for line in lines[:10_000] for word in line.split())
    assert source.words().count().run().to_dict() == expected
    records = tg.files("s3://logs/words/*.gz").map(lambda data: ("bytes", len(data)))
    local = tg.files(texts / "*.gz").map(lambda data: ("bytes", len(data)))
    assert records.sum().run().to_dict() == local.sum().run().to_dict()


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://logs/nothing/*.gz", ""),
        ("s3://logs/nothing", "no such file or folder"),
        ("s3://absent/x", "NoSuchBucket"),
        ("hdfs://127.0.0.1:1/x", ""),
        ("what://logs/x", "`what` is no scheme"),
    ],
)
def test_errors_name_the_url(texts: Path, url: str, said: str) -> None:
    with pytest.raises(tg.InputError) as caught:
        tg.text(texts / "part-0.gz", url).words().count().run()
    assert url in str(caught.value)
    assert said in str(caught.value)


def test_bad_records_are_named_by_url_and_line(store: Store) -> None:
    store.put("events.jsonl", b'{"a": 1}\n{"a": 2}\n{"a"\n')
    with pytest.raises(tg.BadRecord) as caught:
        tg.text("s3://logs/events.jsonl").json("a").count().run()
    assert caught.value.file == "s3://logs/events.jsonl"
    assert (caught.value.line, caught.value.byte) == (3, 18)


def test_a_state_goes_on_with_objects(
    store: Store, lines: list[str], tmp_path: Path
) -> None:
    text = ("\n".join(lines) + "\n").encode()
    for number in range(8):
        store.put(f"many/{number}.gz", gzip.compress(text, 1))
    saved = {"state": tmp_path / "saved", "job": "a"}
    job = tg.text("s3://logs/many/*.gz").words().count()
    expected = {
        word: 8 * count
        for word, count in Counter(w for line in lines for w in line.split()).items()
    }

    class Stop(Exception):
        pass

    def stop(reading: dict[str, object]) -> None:
        if int(str(reading["bytes_done"])) > 0:
            raise Stop

    with contextlib.suppress(Stop):
        job.run(**saved, workers=1, progress=stop)
    assert job.run(**saved).to_dict() == expected
    again = job.run(**saved)
    assert again.to_dict() == expected
    assert again.stats["restored_bytes"] > 0


def test_new_and_changed_objects_are_mapped_and_the_others_found_again(
    store: Store, tmp_path: Path
) -> None:
    for number in range(6):
        store.put(f"daily/{number}.txt", f"word{number} word\n".encode() * 500_000)
    job = tg.text("s3://logs/daily/").words().count()
    saved = {"state": tmp_path / "saved", "job": "a", "incremental": True}
    job.run(**saved)
    store.put("daily/2.txt", b"changed word\n" * 10)
    store.put("daily/6.txt", b"new word\n")
    answer = job.run(**saved)
    expected = {f"word{n}": 500_000 for n in (0, 1, 3, 4, 5)}
    expected |= {"word": 2_500_011, "changed": 10, "new": 1}
    assert answer.to_dict() == expected
    assert answer.stats["restored_bytes"] > 20_000_000


def test_a_forked_child_reads_objects(texts: Path) -> None:
    """It has none of the threads that drive the connections of its parent."""
    job = tg.text("s3://logs/words/").words().count()
    expected = job.run().to_dict()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if job.run().to_dict() == expected else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert job.run().to_dict() == expected


def test_the_command_of_the_wheel_reads_objects(texts: Path) -> None:
    tegula = Path(sys.executable).with_name("tegula")

    def count(source: str | Path) -> bytes:
        return subprocess.run(
            [tegula, "wordcount", source], capture_output=True, check=True
        ).stdout

    assert count("s3://logs/words/*.gz") == count(texts / "*.gz") != b""
