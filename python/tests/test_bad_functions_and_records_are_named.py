"""What goes wrong in a function of the user's: the record's place, the exception itself, and no process left."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
import tegula as tg
from conftest import companions_of, is_alive


class OwnError(Exception):
    """An exception of a test's."""


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_an_exception_comes_back_as_itself_with_its_place(
    path: Path, lines: list[str], on: str
) -> None:
    number = 20_000

    def fail(line: str):
        if line == lines_there:
            raise OwnError("no", 5)
        return line, 1

    lines_there = "exactly this line"
    file = path.parent / "failing.txt"
    text = [*lines[:number], lines_there, *lines[number:]]
    file.write_text("\n".join(text) + "\n")
    with pytest.raises(OwnError) as caught:
        tg.text(file).map(fail, on=on).sum().run()
    byte = len("\n".join(lines[:number])) + 1
    assert caught.value.args == ("no", 5)
    assert caught.value.__notes__[0] == f"in {file}, line {number + 1}, byte {byte}"
    assert "raise OwnError" in caught.value.__notes__[1]


def test_code_keeps_the_name_of_its_file_on_its_way(tmp_path: Path) -> None:
    """Some versions of cloudpickle leave it out, and tracebacks then have no lines of the source."""

    class Failure(Exception):
        def place(self) -> None:
            pass

    def names(line: str):
        def inner() -> None:
            pass

        for code in (names.__code__, inner.__code__, Failure.place.__code__):
            yield code.co_filename, 1

    def fail(line: str):
        raise Failure

    (tmp_path / "text").write_text("a line")
    job = tg.text(tmp_path / "text")
    assert job.map(names).sum().run().to_dict() == {__file__: 3}
    with pytest.raises(Failure):
        job.map(fail).sum().run()
    # cloudpickle sets the class's members anew when the exception comes back.
    assert Failure.place.__code__.co_filename == __file__


def test_bad_records_are_skipped_and_counted(path: Path, lines: list[str]) -> None:
    def fail(line: str):
        yield line, 1
        if line.startswith("a"):
            raise ValueError("an a")

    answer = tg.text(path).map(fail).sum().run(skip_bad=True)
    bad = sum(line.startswith("a") for line in lines)
    assert answer.stats["bad_records"] == bad
    assert sum(count for _, count in answer) == len(lines) - bad
    assert not any(key.startswith("a") for key, _ in answer)
    assert answer.stats["bad_first"][0].endswith("ValueError: an a")


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (lambda line: "ab", ValueError, "unpack"),
        (lambda line: (1, 2, 3), ValueError, "too many values"),
        (lambda line: 5, TypeError, "not iterable"),
        (lambda line: (line, "x"), tg.BadRecord, "a value is 'x', a str"),
        (lambda line: (line, None), tg.BadRecord, "a value is None"),
        (lambda line: ([], 1), TypeError, "unhashable"),
        (lambda line: (None, 1), tg.BadRecord, "a key is a NoneType"),
        # Different ones may be one float.
        (lambda line: (Decimal("1.5"), 1), tg.BadRecord, "a key is a Decimal"),
        (lambda line: (("a", Fraction(1, 3)), 1), tg.BadRecord, "a key is a Fraction"),
        (lambda line: (line, Decimal("1.5")), tg.BadRecord, "a Decimal: this"),
        (lambda line: (line, Fraction(1, 3)), tg.BadRecord, "a Fraction: this"),
        (lambda line: (float("nan"), 1), tg.BadRecord, "NaN"),
        (lambda line: (2**70, 1), tg.BadRecord, "64 bits"),
        (lambda line: ((1, (2, 3)), 1), tg.BadRecord, "holds a tuple"),
        (lambda line: ("\ud800", 1), UnicodeEncodeError, "surrogates"),
        (lambda line: (line, 2**130), tg.BadRecord, "128 bits"),
    ],
)
def test_what_a_function_may_not_return(
    tmp_path: Path, function, kind, text: str
) -> None:
    (tmp_path / "x").write_text("one\ntwo\n")
    with pytest.raises(kind, match=text) as caught:
        tg.text(tmp_path / "x").map(function).sum().run()
    place = f"{tmp_path / 'x'}, line 1, byte 0"
    if kind is tg.BadRecord:
        assert str(caught.value).startswith(place)
        assert (caught.value.line, caught.value.byte) == (1, 0)
    else:
        assert caught.value.__notes__[0] == f"in {place}"


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda line: os._exit(3), "exit code 3"),
        (lambda line: sys.exit(4), "exit code 4"),
        (lambda line: os.kill(os.getpid(), 11), "signal 11"),
        (lambda line: os.kill(os.getpid(), 9), "signal 9"),
    ],
)
def test_a_process_that_dies_is_reported(path: Path, function, text: str) -> None:
    with pytest.raises(tg.BadRecord, match=text) as caught:
        tg.text(path).map(function).sum().run()
    assert caught.value.file == str(path)
    assert caught.value.byte == 0
    assert companions_of(os.getpid()) == []


def test_a_new_column_of_agg_is_named(tmp_path: Path) -> None:
    """In the record that has it, also after many that have none."""
    (tmp_path / "x").write_text("fine\n" * 20_000 + "new\n")

    def row(line: str):
        return line, {"ms": 1.5, "bytes": 2} if line == "new" else {"ms": 1.5}

    job = tg.text(tmp_path / "x").map(row).agg(ms=tg.sum("ms"))
    with pytest.raises(tg.BadRecord, match="'bytes', which no column of agg") as caught:
        job.run()
    assert (caught.value.line, caught.value.byte) == (20_001, 100_000)
    answer = job.run(skip_bad=True)
    assert answer.to_dict() == {"fine": {"ms": 30_000.0}}
    assert answer.stats["bad_records"] == 1


def test_a_child_that_the_system_kills_for_its_memory_is_reported(
    tmp_path: Path,
) -> None:
    """The control group's limit stands for a machine that is out of memory."""
    root, limit = Path("/sys/fs/cgroup"), "memory.max"
    if not (root / "cgroup.controllers").exists():
        # Version 1 has a tree for each resource.
        root, limit = root / "memory", "memory.limit_in_bytes"
    group = root / f"tegula-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group of its own: {error}")
    try:
        (group / limit).write_text(str(64 << 20))
    except OSError as error:
        group.rmdir()
        pytest.skip(f"no limit of its own: {error}")

    def greedy(line: str):
        (group / "cgroup.procs").write_text(str(os.getpid()))
        return line, len(b"x" * (256 << 20))

    (tmp_path / "x").write_text("one\n")
    try:
        with pytest.raises(tg.BadRecord, match=r"signal 9.*memory is short"):
            tg.text(tmp_path / "x").map(greedy).sum().run()
    finally:
        group.rmdir()
    assert companions_of(os.getpid()) == []


def test_a_memory_limit_of_processes_holds(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("one\n")
    source = tg.text(tmp_path / "x")
    with pytest.raises(MemoryError):
        source.map(lambda line: (line, len(bytearray(1 << 30)))).sum().run(
            worker_memory="200M"
        )
    assert source.map(lambda line: (line, len(bytearray(1 << 20)))).sum().run(
        worker_memory="400M"
    ).to_dict() == {"one": 1 << 20}


def test_prints_of_a_function_disturb_nothing(tmp_path: Path) -> None:
    script = """
        import tegula as tg
        def loud(line):
            print("x" * 1000)
            return line, 1
        print("answer", tg.text("input").map(loud).sum().run().to_dict())
    """
    (tmp_path / "input").write_text("a\n" * 20_000)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert done.stdout.count(b"x" * 1000) == 20_000
    assert b"answer {'a': 20000}" in done.stdout


def test_prints_of_a_setup_are_shown_once(tmp_path: Path) -> None:
    script = """
        import tegula as tg
        def load():
            print("loaded")
        tg.text("input").map(lambda line: (line, 1), setup=load).sum().run(workers=4)
    """
    (tmp_path / "input").write_text("some words\n" * 200_000)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        env={key: os.environ[key] for key in os.environ if key != "PYTHONUNBUFFERED"},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"loaded\n"


def test_what_cannot_be_pickled_is_named(path: Path) -> None:
    lock = threading.Lock()

    def locked(line: str):
        with lock:
            return line, 1

    with pytest.raises(tg.OptionError, match="variable 'lock'"):
        tg.text(path).map(locked).sum().run()
    assert (
        sum(n for _, n in tg.text(path).map(locked, on="threads").sum().run()) == 40_000
    )


def test_what_cannot_be_loaded_says_so(path: Path) -> None:
    class Stubborn:
        def __reduce__(self):
            return eval, ("1/0",)

        def __call__(self, line: str):
            return line, 1

    with pytest.raises(ZeroDivisionError) as caught:
        tg.text(path).map(Stubborn()).sum().run()
    assert "loaded" in caught.value.__notes__[0]


@pytest.mark.parametrize("on", ["processes", "threads"])
def test_a_run_inside_a_map_is_refused(path: Path, on: str) -> None:
    def nested(line: str):
        return tg.text("/nowhere").words().count().run()

    with pytest.raises(tg.Error, match="inside a map"):
        tg.text(path).map(nested, on=on).sum().run()


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ('{"u":{"id":1}', "the line is no JSON"),
        ('{"u":5}', "the line has no field u.id"),
        ('{"u":{"id":1},"n":"5"}', "the field n is no number"),
    ],
)
def test_lines_that_are_no_json_are_named(
    tmp_path: Path, line: str, cause: str
) -> None:
    good = '{"u":{"id":"x"},"n":2}'
    file = tmp_path / "lines.jsonl"
    file.write_text(f"{good}\n{line}\n{good}\n")
    job = tg.text(file).json("u.id", value="n").sum()
    with pytest.raises(tg.BadRecord, match=f"line 2, byte {len(good) + 1}.*{cause}"):
        job.run()
    answer = job.run(skip_bad=True)
    assert answer.to_dict() == {"x": 4.0}
    assert answer.stats["bad_records"] == 1


def test_missing_input_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(tg.InputError, match="no such file"):
        tg.text(tmp_path / "nothing").words().count().run()


def test_options_that_cannot_be_meant(path: Path) -> None:
    source = tg.text(path)
    wrong = [
        lambda: tg.text(),
        lambda: tg.text(path, cut="pages"),
        lambda: tg.text(path, encoding="latin-1"),
        lambda: source.field(0),
        lambda: source.field(1, "ab"),
        lambda: source.json("a..b").count().run(),
        lambda: source.json("a", value=5),
        lambda: source.json("a").sum(),
        lambda: source.words("french"),
        lambda: source.grep("(").count().run(),
        lambda: source.words().sum(),
        lambda: source.map(5),
        lambda: source.map(str, on="moon"),
        lambda: source.map(str).agg(),
        lambda: source.map(str).agg(n=5),
        lambda: source.map(str).agg(key=tg.count()),
        lambda: source.map(str).agg(key_hex=tg.count()),
        lambda: source.map(str).agg(**{f"c{n}": tg.count() for n in range(9)}).run(),
        lambda: source.map_array(str),
        lambda: source.map_split(str).count().run(skip_bad=True),
        lambda: source.words().count().run(order="best"),
        lambda: source.words().count().run(top=-1),
        lambda: source.words().count().run(memory="many"),
        lambda: source.words().count().run(workers=0),
        lambda: source.words().count().run(workers=1, engine=tg.Engine(workers=1)),
        lambda: source.words().count().run(worker_memory="1G"),
    ]
    for run in wrong:
        with pytest.raises(tg.OptionError, match=r"."):
            run()


def test_an_error_of_the_watcher_is_its_own(path: Path) -> None:
    """It is not taken for one of the options, though it is of the same kind."""

    def watch(_: dict) -> None:
        raise ValueError("mine")

    def slowly(line: str) -> str:
        time.sleep(0.0002)
        return line

    with pytest.raises(ValueError, match=r"^mine$") as caught:
        tg.text(path).map(slowly).count().run(progress=watch)
    assert not isinstance(caught.value, tg.Error)


ENDLESS = """
    import sys
    import tegula as tg
    def endless(line):
        while True:
            pass
    sys.stdout.write("ready\\n")
    sys.stdout.flush()
    tg.text(sys.argv[1]).map(endless).sum().run()
"""


def start(path: Path) -> tuple[subprocess.Popen, list[int]]:
    """Start a program with an endless map, and return it with the processes below it."""
    script = textwrap.dedent(ENDLESS)
    program = subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert program.stdout.readline() == b"ready\n"
    for _ in range(200):
        if len(below := companions_of(program.pid)) >= 2:
            time.sleep(0.2)
            return program, companions_of(program.pid) or below
        time.sleep(0.05)
    raise AssertionError("no companion was started")


def test_nothing_outlives_a_parent_that_is_killed(path: Path) -> None:
    program, below = start(path)
    assert len(below) >= 2
    program.kill()
    program.wait()
    for _ in range(100):
        if not any(map(is_alive, below)):
            return
        time.sleep(0.01)
    raise AssertionError(
        f"{[process for process in below if is_alive(process)]} still run"
    )


def test_a_fork_before_any_run(path: Path) -> None:
    """Both processes run jobs at once, each on an engine of its own."""
    script = """
        import os, sys, warnings
        import tegula as tg
        warnings.simplefilter("ignore")
        job = tg.text(sys.argv[1]).map(str.split).count()
        child = os.fork()
        print(len(job.run()), flush=True)
        if child:
            print(os.waitstatus_to_exitcode(os.wait()[1]))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    done = subprocess.run(
        command, capture_output=True, timeout=60, check=True, text=True
    )
    count = str(len(tg.text(path).words().count().run()))
    assert done.stdout.split() == [count, count, "0"]


def test_a_forked_child_has_an_engine_of_its_own(path: Path) -> None:
    expected = tg.text(path).words().count().run().to_dict()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            same = tg.text(path).words().count().run().to_dict() == expected
            mapped = tg.text(path).map(str.split).count().run().to_dict() == expected
            code = 0 if same and mapped else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert tg.text(path).words().count().run().to_dict() == expected


def test_a_forked_child_ends_with_engines_and_answers_of_its_parent(path: Path) -> None:
    script = """
        import os, sys, warnings
        import tegula as tg
        warnings.simplefilter("ignore")
        job = tg.text(sys.argv[1]).words().count()
        usual, special = job.run(), job.run(workers=1)
        engine = tg.Engine(workers=2)
        if os.fork() == 0:
            try:
                job.run(engine=engine)
            except tg.Error as error:
                print(error)
            sys.exit(3)
        print(os.waitstatus_to_exitcode(os.wait()[1]), len(job.run(engine=engine)) == len(special))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert b"make an engine in the child" in done.stdout
    assert b"3 True" in done.stdout


def test_a_child_that_is_forked_in_a_stream_ends_and_the_stream_goes_on(
    path: Path,
) -> None:
    script = """
        import os, sys, warnings
        import tegula as tg
        warnings.simplefilter("ignore")
        codes = []
        with tg.Engine(workers=2) as engine:
            for seen in tg.text(sys.argv[1]).map(str.split).count().stream(every="20%", engine=engine):
                if not codes:
                    if os.fork() == 0:
                        sys.exit(3)
                    codes.append(os.waitstatus_to_exitcode(os.wait()[1]))
            if os.fork() == 0:
                sys.exit(4)
            codes.append(os.waitstatus_to_exitcode(os.wait()[1]))
        print(codes, seen.is_last)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert done.stdout == b"[3, 4] True\n"
