"""`hdfs://` URLs are sources as paths are. The cluster is Hadoop's own, one namenode and one datanode on loopback."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import tegula as tg

CLUSTER = Path(__file__).parents[2] / "remote" / "servers" / "hdfs"
BLOCK_BYTES = 1 << 20

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not shutil.which("mvn"), reason="Maven fetches Hadoop"),
]


@pytest.fixture(scope="module")
def cluster(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """The URL and the local copy of a folder with files of several blocks, one of them compressed."""
    folder = tmp_path_factory.mktemp("hdfs")
    texts = folder / "texts"
    texts.mkdir()
    text = ("\n".join(lines) + "\n").encode()
    (texts / "many.txt").write_bytes(text * 4)
    (texts / "packed.gz").write_bytes(gzip.compress(text))
    with (folder / "log").open("w") as log:
        process = start(folder, log.fileno())
        with process:
            ready = (line for line in process.stdout if line.startswith("ready "))
            line = next(ready, None)
            assert line is not None, (folder / "log").read_text()[-4000:]
            port = line.split()[1]
            process.stdin.write(f"put {texts} /texts\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"
            yield f"hdfs://127.0.0.1:{port}/texts", texts
            # The end of its input ends the cluster.
            process.stdin.close()


def start(folder: Path, log: int) -> subprocess.Popen[str]:
    path = folder / "class-path"
    maven = ["mvn", "--batch-mode", "--quiet", "--file", CLUSTER / "pom.xml"]
    goal = ["dependency:build-classpath", f"-Dmdep.outputFile={path}"]
    subprocess.run([*maven, *goal], check=True)
    settings = f"-Dlog4j.configuration=file:{CLUSTER / 'log4j.properties'}"
    java = ["java", "-Xmx512m", settings, "-cp", path.read_text()]
    arguments = [folder / "dfs", "127.0.0.1", str(BLOCK_BYTES)]
    return subprocess.Popen(
        [*java, CLUSTER / "Cluster.java", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )


@pytest.mark.parametrize("name", ["", "/*.gz", "/many.txt"])
def test_files_give_what_local_ones_give(cluster: tuple[str, Path], name: str) -> None:
    url, texts = cluster
    expected = tg.text(f"{texts}{name}").words().count().run().to_dict()
    assert expected
    assert tg.text(url + name).words().count().run().to_dict() == expected
    assert tg.text(url + name).map(str.split).count().run().to_dict() == expected


def test_a_state_finds_files_again(
    cluster: tuple[str, Path], lines: list[str], tmp_path: Path
) -> None:
    url, _ = cluster
    job = tg.text(f"{url}/many.txt").words().count()
    saved = {"state": tmp_path / "saved", "job": "a", "incremental": True}
    first = job.run(**saved).to_dict()
    again = job.run(**saved)
    words = Counter(word for line in lines for word in line.split())
    assert again.to_dict() == first == {word: 4 * n for word, n in words.items()}
    assert again.stats["restored_bytes"] > 0


def test_errors_name_the_url(cluster: tuple[str, Path]) -> None:
    url, _ = cluster
    with pytest.raises(tg.InputError) as caught:
        tg.text(f"{url}/absent.txt").words().count().run()
    assert f"{url}/absent.txt" in str(caught.value)
