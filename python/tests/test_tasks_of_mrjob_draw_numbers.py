"""The random numbers that tasks of `python -m tegula.mrjob job.py` draw, by what the job's file has made of its generators."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy
import pytest
from of_mrjob import check, run

DRAWS = """
import random
from mrjob.job import MRJob

random.seed(7)
logged = open(FOLDER + "/logged", "a")

class Draws(MRJob):
    def mapper(self, _, line):
        logged.write(line + "\\n")
        yield line, random.random()

    def reducer(self, key, values):
        yield key, [*sorted(values), random.random()]

if __name__ == "__main__":
    Draws.run()
"""

DIFFERS = """
import random
import numpy
from mrjob.job import MRJob

random.seed(7)
random.seed()
seeded = random.Random(5), numpy.random.default_rng([5])
others = [random.Random(), numpy.random.default_rng(), numpy.random.RandomState()]
class Bits(numpy.random.PCG64):
    def __init__(self):
        super().__init__()

sources = [getattr(numpy.random, kind)() for kind in ("PCG64DXSM", "Philox", "SFC64", "MT19937")]
drawn = [numpy.random.Generator(one) for one in [*sources, Bits(), numpy.random.PCG64().jumped()]]
# The file itself draws, too.
for one in [numpy.random, *drawn]:
    one.random(600_000)
others += drawn

class Differs(MRJob):
    def mapper(self, _, line):
        draws = [one.random() for one in (random, numpy.random, *others)]
        for number, draw in enumerate(draws):
            yield f"{line}{number}", draw
        yield "same", [one.random() for one in seeded]

    def reducer(self, key, draws):
        drawn = sorted(draws)
        yield key, drawn[0] if key == "same" else [*drawn, *(one.random() for one in (random, *others))]

if __name__ == "__main__":
    Differs.run()
"""

STATES = """
import random
import numpy
from mrjob.job import MRJob

random.setstate(random.Random(7).getstate())
numpy.random.seed(0)
numpy.random.set_state(numpy.random.RandomState(7).get_state())

def set(kind):
    one = numpy.random.Generator(kind(0))
    one.bit_generator.state = kind(7).state
    return one

kinds = [getattr(numpy.random, name) for name in ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")]
streams = map(numpy.random.default_rng, numpy.random.SeedSequence(7).spawn(2))
ones = [random, numpy.random, *map(set, kinds), *streams]

class States(MRJob):
    def mapper(self, _, line):
        yield "mapped", [one.random() for one in ones]

    def reducer(self, key, draws):
        yield key, [*sorted(draws), [one.random() for one in ones]]

if __name__ == "__main__":
    States.run()
"""


@pytest.mark.once
def test_each_task_draws_the_numbers_that_the_file_seeded(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(DRAWS.replace("FOLDER", repr(str(tmp_path))))
    names = [f"{number}.txt" for number in range(5)]
    for name in names:
        (tmp_path / name).write_text("a\nb\n")
    check(tmp_path, "job.py", *names, runner="local")
    # What tasks of both wrote is there.
    assert (tmp_path / "logged").read_text() == "a\nb\n" * 10


@pytest.mark.once
def test_what_the_file_does_not_seed_differs_in_each_task(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(DIFFERS)
    names = [f"{number}.txt" for number in range(4)]
    for name in names:
        (tmp_path / name).write_text("draws\n")
    done = run(tmp_path, "-m", "tegula.mrjob", "job.py", *names)
    assert done.returncode == 0, done.stderr
    draws = dict(map(json.loads, line.split("\t")) for line in done.stdout.splitlines())
    same = draws.pop("same")
    drawn = [draw for of_key in draws.values() for draw in of_key]
    assert len(draws) == 11 and len(set(drawn)) == len(drawn) == 11 * (4 + 10)
    assert same == [random.Random(5).random(), numpy.random.default_rng([5]).random()]


@pytest.mark.once
def test_states_that_the_file_sets_after_a_seed_are_those_of_tasks(
    tmp_path: Path,
) -> None:
    (tmp_path / "job.py").write_text(STATES)
    names = [f"{number}.txt" for number in range(3)]
    for name in names:
        (tmp_path / name).write_text("draws\n")
    check(tmp_path, "job.py", *names, runner="local")
