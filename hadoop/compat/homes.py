#!/usr/bin/env python3
"""Runs the release of the Hadoop engine with the jars, scripts and settings of installed Hadoops, and compares it with
what each Hadoop does itself on its local runner.

    homes.py RELEASE.tar.gz --home HADOOP_HOME... [--java JAVA_HOME...] [--keep FOLDER] [--only WORD...]

A home is the folder of an unpacked Hadoop 3. One with Hadoop's scripts alone, whose name ends in its version
(hadoop-3.5.0), is given Maven's jars in the places that they have in a tarball.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# Of these, Maven has none that is newer.
OLDER = {
    "hadoop-mapreduce-examples": "3.4.2",
    "hadoop-streaming": "3.4.2",
    "hadoop-archives": "3.4.2",
}
JARS = [
    "hadoop-common",
    "hadoop-hdfs",
    "hadoop-hdfs-client",
    "hadoop-mapreduce-client-app",
    "hadoop-mapreduce-client-hs",
    "hadoop-mapreduce-client-jobclient",
    "hadoop-yarn-client",
    "hadoop-distcp",
    *OLDER,
]
PLACES = [
    (r"hadoop-(archives|distcp|streaming)-", "tools/lib"),
    (r"hadoop-common-", "common"),
    (r"hadoop-hdfs-", "hdfs"),
    (r"hadoop-mapreduce-", "mapreduce"),
    (r"hadoop-(yarn|registry)-", "yarn"),
    (r"", "common/lib"),
]
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.tegula.compat</groupId><artifactId>home</artifactId><version>0.1.0</version><packaging>pom</packaging>
  <dependencyManagement><dependencies><dependency>
    <groupId>org.apache.hadoop</groupId><artifactId>hadoop-project</artifactId><version>{version}</version>
    <type>pom</type><scope>import</scope>
  </dependency></dependencies></dependencyManagement>
  <dependencies>{dependencies}</dependencies>
</project>
"""
DEPENDENCY = """<dependency>
  <groupId>org.apache.hadoop</groupId><artifactId>{name}</artifactId><version>{version}</version>
</dependency>"""
ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"
MOST_SECONDS = 180


class Failed(Exception):
    """A case has not done what it must; the text says why."""


class Home:
    """One installed Hadoop with one JVM, and the release beside it."""

    def __init__(self, home: Path, java: Path, release: Path, work: Path) -> None:
        self.home = home
        self.java = java
        self.release = release
        self.work = work
        self.server: str | None = None
        self.counter = 0
        shutil.rmtree(work, ignore_errors=True)
        (work / "in").mkdir(parents=True)
        for i in range(3):
            words = [f"word{(i * 7 + n * n) % 97}" for n in range(4000)]
            lines = [" ".join(words[n : n + 8]) for n in range(0, len(words), 8)]
            (work / "in" / f"{i}.txt").write_text("\n".join(lines) + "\n")
        (work / "pairs").mkdir()
        pairs = [f"{n * 31 % 50} {n * 17 % 211}" for n in range(2000)]
        (work / "pairs" / "0.txt").write_text("\n".join(pairs) + "\n")

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HADOOP_", "TEGULA_", "YARN_", "MAPRED_"))
            and name != "JAVA_HOME"
        }
        temporary = self.work / "tmp"
        temporary.mkdir(exist_ok=True)
        return {
            **kept,
            "HADOOP_HOME": str(self.home),
            "JAVA_HOME": str(self.java),
            "HADOOP_CLIENT_OPTS": f"-Xmx512m -Djava.io.tmpdir={temporary}",
            **more,
        }

    def run(
        self, program: Path, arguments: list[str], code: int = 0, **more: str
    ) -> str:
        """Returns what a command printed on its standard output; it must exit with the code."""
        done = subprocess.run(
            [str(program), *arguments],
            cwd=self.work,
            env=self.environment(more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
        if done.returncode != code:
            raise Failed(
                f"{program.name} {' '.join(arguments)} exits with {done.returncode}: {(done.stdout + done.stderr)[-600:]}"
            )
        return done.stdout

    def own(self, *arguments: str, **more: str) -> str:
        return self.run(self.home / "bin/hadoop", list(arguments), **more)

    def engine(self, *arguments: str, code: int = 0, **more: str) -> str:
        if self.server:
            more.setdefault("TEGULA_SERVER", self.server)
        return self.run(
            self.release / "bin/tegula-hadoop", list(arguments), code, **more
        )

    def jar(self, folder: str, name: str) -> str:
        found = sorted((self.home / "share/hadoop" / folder).glob(f"{name}-[0-9]*.jar"))
        if not found:
            raise Failed(f"{self.home} has no {name}.jar in share/hadoop/{folder}")
        return str(found[-1])

    def output(self) -> str:
        self.counter += 1
        return f"out-{self.counter}"

    def files(self, folder: str) -> dict[str, bytes]:
        root = self.work / folder
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }

    def examples(self) -> str:
        return self.jar("mapreduce", "hadoop-mapreduce-examples")

    def same(self, *arguments: str, options: tuple[str, ...] = ()) -> None:
        """Runs a program that ends with its output by Hadoop and by the engine; the files must be the same."""
        right, ours = self.output(), self.output()
        self.own("jar", *(a.replace("OUT", right) for a in arguments))
        first, *others = (a.replace("OUT", ours) for a in arguments)
        # Options follow the name of a program, which the streaming jar has none of.
        program = [] if "hadoop-streaming" in first else others[:1]
        others = others[len(program) :]
        self.engine("jar", first, *program, *options, *others)
        self.compare(right, ours)

    def compare(self, right: str, ours: str) -> None:
        expected, found = self.files(right), self.files(ours)
        if not expected:
            raise Failed(f"Hadoop has written nothing to {right}")
        if expected.keys() != found.keys():
            raise Failed(f"files {sorted(expected)} and {sorted(found)}")
        for name, content in expected.items():
            if content != found[name]:
                raise Failed(f"{name} differs: {self.work}/{right} and {ours}")


def the_home_itself(home: Home) -> None:
    """Without the engine: if this fails, nothing else can be compared."""
    home.own("version")
    home.own(
        "jar",
        home.examples(),
        "wordcount",
        "in",
        home.output(),
    )


def version(home: Home) -> None:
    right, ours = home.own("version"), home.engine("version")
    if right != ours:
        raise Failed(f"{right!r} and {ours!r}")


def classpath(home: Home) -> None:
    right = home.own("classpath").strip().split(":")
    ours = home.engine("classpath").strip().split(":")
    # The JVM has put the jars of each folder where its name and a star were.
    for each in right:
        folder = each.removesuffix("/*")
        there = [
            one
            for one in ours
            if one == each or (each.endswith("*") and os.path.dirname(one) == folder)
        ]
        if not there and not (
            each.endswith("*") and not list(Path(folder).glob("*.jar"))
        ):
            raise Failed(f"{each} is missing in {ours}")


def without_java_home(home: Home) -> None:
    """Hadoop's scripts insist on JAVA_HOME; the engine's takes the java of the path."""
    path = f"{home.java / 'bin'}:{os.environ['PATH']}"
    if "Hadoop" not in home.engine("version", JAVA_HOME="", PATH=path):
        raise Failed("it does not tell its version")


def settings_of_the_home(home: Home) -> None:
    """Options in hadoop-env.sh and properties in core-site.xml count: here the mode of new folders, by way of both."""
    conf = home.work / "conf"
    shutil.copytree(home.home / "etc/hadoop", conf)
    with (conf / "hadoop-env.sh").open("a") as file:
        file.write(f"export JAVA_HOME={home.java}\n")
        file.write(
            'export HADOOP_CLIENT_OPTS="$HADOOP_CLIENT_OPTS -Dmask.of.env=027"\n'
        )
    (conf / "core-site.xml").write_text(
        "<configuration><property><name>fs.permissions.umask-mode</name><value>${mask.of.env}</value></property></configuration>"
    )
    for run, folder in ((home.own, "mode-own"), (home.engine, "mode-engine")):
        run("fs", "-mkdir", folder, HADOOP_CONF_DIR=str(conf), JAVA_HOME="/usr")
        mode = (home.work / folder).stat().st_mode & 0o777
        if mode != 0o750:
            raise Failed(f"{folder} has mode {mode:o}, not 750")


def fs(home: Home) -> None:
    for arguments in (
        ["-ls", "in"],
        ["-cat", "in/0.txt"],
        ["-du", "in"],
        ["-checksum", "in/0.txt"],
    ):
        right, ours = home.own("fs", *arguments), home.engine("fs", *arguments)
        if right != ours:
            raise Failed(f"fs {arguments}: {right!r} and {ours!r}")
    home.engine("fs", "-ls", "missing", code=1)


def word_count(home: Home) -> None:
    home.same(home.examples(), "wordcount", "in", "OUT")


def grep(home: Home) -> None:
    home.same(
        home.examples(),
        "grep",
        "in",
        "OUT",
        "word[0-9]*7",
    )


def secondary_sort(home: Home) -> None:
    home.same(
        home.examples(),
        "secondarysort",
        "pairs",
        "OUT",
    )


def streaming(home: Home) -> None:
    home.same(
        home.jar("tools/lib", "hadoop-streaming"),
        *("-D", "mapreduce.job.reduces=2", "-D", "mapreduce.job.maps=1"),
        *("-input", "in", "-output", "OUT"),
        *("-mapper", "tr ' ' '\\n'", "-reducer", "uniq -c"),
    )


def archive(home: Home) -> None:
    right, ours = home.output(), home.output()
    parent = home.work / "archived"  # whose time of modification is in the archive
    for each in ("in", "pairs"):
        shutil.copytree(home.work / each, parent / each)
    for run, to in ((home.own, right), (home.engine, ours)):
        run("archive", "-archiveName", "all.har", "-p", str(parent), "in", "pairs", to)
    listed = [
        run("fs", "-ls", "-R", f"har://{home.work}/{to}/all.har/in").replace(to, "")
        for run, to in ((home.own, right), (home.engine, ours))
    ]
    if listed[0] != listed[1] or listed[0].count(".txt") != 3:
        raise Failed(f"{listed}")
    home.compare(f"{right}/all.har", f"{ours}/all.har")


def distcp(home: Home) -> None:
    right, ours = home.output(), home.output()
    for run, to in ((home.own, right), (home.engine, ours)):
        run("distcp", f"file://{home.work}/in", f"file://{home.work}/{to}")
    home.compare(right, ours)


def places(home: Home) -> None:
    home.same(
        *(home.examples(), "wordcount"),
        *("-D", "mapreduce.job.reduces=3", "in", "OUT"),
        options=("-D", "tegula.places=jvm:2"),
    )


def server(home: Home) -> None:
    """A server, its clients and Hadoop's commands about its jobs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (home.work / "server.txt").open("w")
    folder = home.work / "server"
    folder.mkdir(exist_ok=True)
    history = home.work / "history"
    token = f"tegula.server.token.file={home.work}/server.token"
    served = subprocess.Popen(
        [
            str(home.release / "bin/tegula-hadoop"),
            "serve",
            "-D",
            token,
            "-D",
            f"tegula.history.dir=file://{history}",
            "--port",
            str(port),
        ],
        cwd=folder,
        env=home.environment({}),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    home.server = f"127.0.0.1:{port}"
    try:
        until(lambda: port_answers(port) or served.poll() is not None)
        home.same(
            *(
                home.examples(),
                "wordcount",
                "in",
                "OUT",
            ),
            options=("-D", token),
        )
        commands_of_jobs(home, token, history)
        served.send_signal(signal.SIGTERM)
        if served.wait(60) not in (0, 128 + signal.SIGTERM):
            raise Failed(f"it ends with {served.returncode}")
    except Failed as e:
        raise Failed(
            f"{e}; the server: {(home.work / 'server.txt').read_text()[-600:]}"
        ) from e
    finally:
        home.server = None
        served.kill()
        served.wait()


def commands_of_jobs(home: Home, token: str, history: Path) -> None:
    def job(*arguments: str, code: int = 0) -> str:
        return home.engine("job", "-D", token, *arguments, code=code)

    listed = job("-list", "all")
    found = re.search(r"^\s*(job_\S+)\s.*SUCCEEDED", listed, re.MULTILINE)
    if not found:
        raise Failed(f"-list all: {listed}")
    name = found[1]
    if "Job state: SUCCEEDED" not in job("-status", name):
        raise Failed("-status does not tell that the job succeeded")
    counter = job(
        "-counter", name, "org.apache.hadoop.mapreduce.TaskCounter", "MAP_INPUT_RECORDS"
    ).strip()
    if counter != "1500":
        raise Failed(f"-counter tells {counter}, not 1500")
    told = job("-history", name)
    if "Status: SUCCEEDED" not in told:
        raise Failed(f"-history tells {told}")
    written = [str(path) for path in history.rglob("*.jhist")]
    if not written:
        raise Failed("the server has written no history")
    by_hadoop = home.run(home.home / "bin/mapred", ["job", "-history", written[0]])
    if "Status: SUCCEEDED" not in by_hadoop:
        raise Failed(f"mapred job -history tells {by_hadoop}")
    kill(home, job, token)


def kill(home: Home, job: Callable[..., str], token: str) -> None:
    """A job that sleeps is killed by its name; its client exits with an error."""
    client = subprocess.Popen(
        [
            str(home.release / "bin/tegula-hadoop"),
            "jar",
            home.jar("tools/lib", "hadoop-streaming"),
            "-D",
            token,
            "-input",
            "in",
            "-output",
            home.output(),
            "-mapper",
            "sleep 100",
        ],
        cwd=home.work,
        env=home.environment({"TEGULA_SERVER": home.server or ""}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        running: list[str] = []

        def found() -> bool:
            running[:] = re.findall(
                r"^\s*(job_\S+)\s.*RUNNING", job("-list"), re.MULTILINE
            )
            return bool(running)

        until(found)
        if "Killed job" not in job("-kill", running[0]):
            raise Failed("-kill does not tell that it killed the job")
        if client.wait(60) == 0:
            raise Failed("the client of a killed job exits with 0")
        if "KILLED" not in job("-status", running[0]):
            raise Failed("-status does not tell that the job was killed")
    finally:
        client.kill()
        client.wait()


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not done():
        if time.monotonic() > end:
            raise Failed("nothing happens for a minute")
        time.sleep(0.2)


def port_answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


CASES = [
    version,
    classpath,
    without_java_home,
    settings_of_the_home,
    fs,
    word_count,
    grep,
    secondary_sort,
    streaming,
    archive,
    distcp,
    places,
    server,
]


def add_jars(home: Path) -> None:
    number = re.search(r"[0-9]+\.[0-9]+\.[0-9]+$", home.name)
    if not number:
        sys.exit(
            f"{home} has no share/hadoop, and its name does not end in a version of Hadoop whose jars it is to get"
        )
    with tempfile.TemporaryDirectory() as folder:
        blocks = []
        for name in JARS:
            block = DEPENDENCY.format(name=name, version=OLDER.get(name, number[0]))
            blocks.append(
                block.replace("</dependency>", ALONE) if name in OLDER else block
            )
        pom = Path(folder, "pom.xml")
        pom.write_text(POM.format(version=number[0], dependencies="".join(blocks)))
        subprocess.run(
            [
                "mvn",
                "-B",
                "-ntp",
                "-q",
                "-f",
                str(pom),
                "dependency:copy-dependencies",
                "-DincludeScope=runtime",
                f"-DoutputDirectory={folder}/jars",
            ],
            check=True,
        )
        for jar in Path(folder, "jars").iterdir():
            place = next(place for name, place in PLACES if re.match(name, jar.name))
            to = home / "share/hadoop" / place
            to.mkdir(parents=True, exist_ok=True)
            shutil.move(jar, to / jar.name)


def java_of_the_path() -> Path:
    java = shutil.which("java")
    if not java:
        sys.exit("there is no java: name a JDK with --java")
    return Path(java).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("release", type=Path)
    parser.add_argument("--home", type=Path, nargs="+", required=True)
    parser.add_argument("--java", type=Path, nargs="+")
    parser.add_argument("--keep", type=Path, help="the folder for what the cases write")
    parser.add_argument("--only", nargs="+", default=[], help="words of a case's name")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="tegula-homes-"))
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(options.release) as tar:
        tar.extractall(folder, filter="data")
    release = folder.resolve() / options.release.name.removesuffix(".tar.gz")
    failed = total = 0
    for home in options.home:
        if not (home / "share/hadoop").is_dir():
            add_jars(home)
        for java in options.java or [java_of_the_path()]:
            work = folder.resolve() / f"{home.name}-{java.name}"
            one = Home(home.resolve(), java.resolve(), release, work)
            about = f"{home.name} {java_version(java)}"
            if fault := outcome(the_home_itself, one):
                print(
                    f"absent  {about}: Hadoop itself does not run: {fault}", flush=True
                )
                continue
            for case in CASES:
                name = case.__name__.replace("_", " ")
                if not all(word in name for word in options.only):
                    continue
                begin = time.monotonic()
                fault = outcome(case, one)
                total += 1
                failed += bool(fault)
                said = (
                    f"FAILED  {about} {name}: {fault}"
                    if fault
                    else f"same    {about} {name}"
                )
                print(f"{said} ({time.monotonic() - begin:.1f} s)", flush=True)
    print(f"{total - failed} of {total} cases are as Hadoop's own")
    if not options.keep:
        shutil.rmtree(folder)
    sys.exit(1 if failed or not total else 0)


def outcome(case: Callable[[Home], None], home: Home) -> str | None:
    try:
        case(home)
    except (Failed, subprocess.TimeoutExpired) as e:
        return str(e)
    return None


def java_version(java: Path) -> str:
    said = subprocess.run(
        [str(java / "bin/java"), "-version"], capture_output=True, text=True, check=True
    )
    number = re.search(r'"([^"]+)"', said.stderr)
    return f"Java {number[1]}" if number else java.name


if __name__ == "__main__":
    main()
