"""A run that is killed and started again gives the same answer, and a state knows the code of its map."""

from __future__ import annotations

import functools
import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import tegula as tg
from tegula.identity import identity

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


def test_a_run_goes_on_after_kills(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "input").write_text("\n".join(lines * 5) + "\n")
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    run = [sys.executable, "program.py"]
    for wait in (1.0, 1.5, 2.0):
        program = subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.DEVNULL)
        time.sleep(wait)
        program.send_signal(signal.SIGKILL)
        program.wait()
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, check=True, text=True)
    words = [word for line in lines for word in line.split()]
    assert done.stdout.split()[1:] == [str(5 * len(words)), str(len(set(words)))]
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


def test_what_changed_is_mapped_and_no_more(tmp_path: Path, lines: list[str]) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.txt").write_text(
            "\n".join(lines[number * 5000 :][:5000]) + "\n"
        )
    log = tmp_path / "log"

    def words(line: str, seen: str):
        with open(seen, "a") as file:
            file.write("x")
        return line.split()

    job = tg.text(folder).map(words, args=(str(log),)).count()
    saved = {"state": tmp_path / "saved", "job": "a", "incremental": True}
    assert job.run(**saved).to_dict() == tg.text(folder).words().count().run().to_dict()
    assert len(log.read_text()) == 40_000
    (folder / "3.txt").write_text("changed\n")
    (folder / "5.txt").unlink()
    (folder / "9.txt").write_text("new words\n")
    assert job.run(**saved).to_dict() == tg.text(folder).words().count().run().to_dict()
    # Small files share a tile, of which the rest is mapped again.
    assert len(log.read_text()) < 40_000 + 40_000


def test_built_in_maps_have_the_states_of_the_command_line(
    path: Path, tmp_path: Path
) -> None:
    saved = {"state": tmp_path / "saved", "job": "a"}
    tg.text(path).words().count().run(**saved)
    manifest = (tmp_path / "saved" / "a" / "manifest").read_bytes()
    assert b"wordcount" in manifest
    assert b"whitespace" in manifest


BASE = '''
import math
import re
LIMIT = 5
TABLE = {"a": 1}
class Rule:
    """A rule."""
    weight = 2
    def apply(self, x):
        return x * self.weight
def helper(x, by=3):
    """Helps."""
    return x + by
def parse(line):
    rule = Rule()
    return helper(len(line)), rule.apply(math.floor(LIMIT)) + TABLE["a"]
'''

SAME = [
    lambda s: s.replace("def parse", "# a comment\ndef parse"),
    lambda s: s.replace("def parse", "\n\n\n\ndef parse"),
    lambda s: s.replace("import math\n", "import math\nimport os\n"),
    lambda s: s.replace('"""Helps."""', '"""Helps more."""'),
    lambda s: s.replace('    """Helps."""\n', ""),
    lambda s: s.replace('"""A rule."""', '"""Another text."""'),
    lambda s: s.replace("def parse(line):", "def parse(line):  # says more"),
    lambda s: s + "\ndef unused(): return 1\n",
    lambda s: s + "\nUNUSED = 5\n",
    lambda s: s.replace("LIMIT = 5", "LIMIT = 2 + 3"),
    lambda s: s.replace("x + by", "(x + by)"),
    lambda s: s.replace("def parse(line):", "def parse(line: str):"),
    lambda s: s.replace(
        "return x * self.weight", "return (x *\n            self.weight)"
    ),
    lambda s: s.replace('{"a": 1}', '{ "a" : 1, }'),
    lambda s: s.replace("LIMIT = 5\n", "").replace(
        "class Rule", "LIMIT = 5\nclass Rule"
    ),
]

OTHER = [
    lambda s: s.replace("LIMIT = 5", "LIMIT = 6"),
    lambda s: s.replace("LIMIT = 5", "LIMIT = 5.0"),
    lambda s: s.replace('{"a": 1}', '{"a": 2}'),
    lambda s: s.replace('{"a": 1}', '{"a": 1, "b": 2}'),
    lambda s: s.replace("by=3", "by=4"),
    lambda s: s.replace("x + by", "x - by"),
    lambda s: s.replace("weight = 2", "weight = 3"),
    lambda s: s.replace("x * self.weight", "x + self.weight"),
    lambda s: s.replace("math.floor", "math.ceil"),
    lambda s: s.replace("len(line)", "len(line[1:])"),
    lambda s: s.replace("len(line)", "hash(line)"),
    lambda s: s.replace('TABLE["a"]', 'TABLE.get("a")'),
    lambda s: s.replace("class Rule:", "class Rule(dict):"),
    lambda s: s.replace("rule = Rule()", "rule = Rule() or None"),
    lambda s: s.replace("return helper(len(line)), ", "return -helper(len(line)), "),
    lambda s: s.replace(
        "def apply(self, x):\n        return x", "def apply(self, x):\n        return 7"
    ),
    lambda s: s.replace(
        "    return helper", "    if line:\n        return None\n    return helper"
    ),
    lambda s: s.replace("def parse", "@__import__('functools').cache\ndef parse"),
    lambda s: s.replace("    weight = 2", "    weight = 2\n    more = 1"),
    lambda s: s.replace("helper(len(line))", "[helper(n) for n in (1, 2)]"),
    lambda s: s.replace("helper(len(line))", "(lambda n: n + 1)(2)"),
    lambda s: s.replace("helper(len(line))", "(lambda n: n + 2)(2)"),
    lambda s: s.replace("return x + by", "global LIMIT\n    return x + by + LIMIT"),
    lambda s: s.replace('"a"', '"c"'),
    lambda s: s.replace("rule.apply", "rule .apply").replace(
        "weight = 2", "weight = '2'"
    ),
]


def of(text: str, folder: Path) -> str:
    file = folder / "jobs_of_a_test.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("jobs_of_a_test", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["jobs_of_a_test"] = module
    exec(compile(text, str(file), "exec"), module.__dict__)
    return identity(module.parse, (), None)


def test_forty_edits_change_the_identity_or_not(tmp_path: Path) -> None:
    base = of(BASE, tmp_path)
    assert len(SAME) + len(OTHER) == 40
    for number, edit in enumerate(SAME):
        assert edit(BASE) != BASE, number
        assert of(edit(BASE), tmp_path) == base, f"same {number}"
    seen = {base}
    for number, edit in enumerate(OTHER):
        assert edit(BASE) != BASE, number
        now = of(edit(BASE), tmp_path)
        assert now not in seen, f"other {number}"
        seen.add(now)


def test_captured_values_count_and_what_cannot_be_followed_is_refused() -> None:
    def make(value):
        return lambda line: (line, value)

    assert identity(make(1), (), None) == identity(make(1), (), None)
    assert identity(make(1), (), None) != identity(make(2), (), None)
    assert identity(make({1, 2}), (), None) == identity(make({2, 1}), (), None)
    assert identity(str.split, (), None) != identity(str.strip, (), None)
    assert identity(make(1), (1,), None) != identity(make(1), (2,), None)
    assert identity(make(open), (), None)
    with open(os.devnull) as file, pytest.raises(tg.OptionError, match="version="):
        identity(make(file), (), None)
    assert identity(make(file), (), "3") == "version 3"
