"""What the Python package is to reach, each figure beside its baseline, measured inside one process or by short programs.

Takes the texts and prints one JSON object per line: the row, its figures with their units in their names. Baselines and
what they are compared with run in turn, in the same minutes.

    bench/.venv-python/bin/python bench/compare/python/reach.py ZIPF DISTINCT TINY RUNS
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median

SPLIT_BYTES = 64 << 10
TEGULA = Path(sys.executable).with_name("tegula")

IMPORT = "import tegula"
TINY = "import sys, tegula as tg; tg.text(sys.argv[1]).words().count().run()"
LAMBDA = "import sys, tegula as tg; tg.text(sys.argv[1]).map(lambda line: (line, 1)).sum().run()"
WORDS = "import sys, tegula as tg; tg.text(sys.argv[1]).words('whitespace').count().run().top(10)"


def cpu_s() -> float:
    """CPU seconds of this process and of those below it that have ended."""
    own, below = (
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime


def taken(work) -> tuple[float, float]:
    """Wall and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), cpu_s()
    work()
    return time.perf_counter() - wall, cpu_s() - cpu


def in_turn(runs: int, **works) -> dict[str, tuple[float, float]]:
    """The median wall and CPU seconds of each, run in turn."""
    took = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            took[name].append(taken(work))
    return {
        name: tuple(round(median(column), 4) for column in zip(*all_of, strict=True))
        for name, all_of in took.items()
    }


def program(*argv: object):
    command = [str(part) for part in argv]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def say(row: str, **figures: object) -> None:
    print(json.dumps({"row": row, **figures}), flush=True)


def bare_split_loop(path: str) -> int:
    """The loop that `map_split` runs, alone: pieces of 64 KiB at line ends, each counted, and all added up."""
    total, rest = Counter(), b""
    with open(path, "rb", buffering=0) as file:
        while data := file.read(SPLIT_BYTES):
            data = rest + data
            end = data.rfind(b"\n") + 1
            data, rest = data[:end], data[end:]
            for word, count in Counter(data.split()).items():
                total[word] += count
    return len(total)


def pairs_of(line: str):
    for word in line.split():
        yield word, 1


def bare_generator_loop(path: str) -> int:
    total: dict[str, int] = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            for word, one in pairs_of(line):
                total[word] = total.get(word, 0) + one
    return len(total)


def main(zipf: str, distinct: str, tiny: str, runs: int) -> None:
    import tegula as tg

    took = in_turn(
        runs,
        command=program(
            TEGULA, "wordcount", "--words", "whitespace", "--top", 10, zipf
        ),
        package=program(sys.executable, "-c", WORDS, zipf),
    )
    say("words().count().run().top(10)", wall_and_cpu_s=took)
    took = in_turn(
        runs * 3,
        python=program(sys.executable, "-c", "pass"),
        command=program(TEGULA, "wordcount", tiny),
        package_imported=program(sys.executable, "-c", IMPORT),
        tiny_job=program(sys.executable, "-c", TINY, tiny),
        tiny_job_with_lambda=program(sys.executable, "-c", LAMBDA, tiny),
    )
    say("start-up of whole processes", wall_and_cpu_s=took)

    source = tg.text(zipf)

    def count(data):
        return Counter(data.split())

    one, two = (tg.Engine(workers=workers) for workers in (1, 2))
    took = in_turn(
        runs,
        bare_loop=lambda: bare_split_loop(zipf),
        map_split_1=lambda: source.map_split(count).sum().run(engine=one),
        map_split_2=lambda: source.map_split(count).sum().run(engine=two),
    )
    say("word count by map_split", wall_and_cpu_s=took)
    took = in_turn(
        runs,
        bare_loop=lambda: bare_generator_loop(zipf),
        map_1=lambda: source.map(pairs_of).sum().run(engine=one),
        map_2=lambda: source.map(pairs_of).sum().run(engine=two),
    )
    say("word count by a generator a line", wall_and_cpu_s=took)

    took = in_turn(
        runs,
        empty=lambda: source.map_split(lambda data: None).count().run(engine=one),
    )
    splits = os.path.getsize(zipf) / SPLIT_BYTES
    wall, cpu = (part / splits * 1e6 for part in took["empty"])
    say("a round trip of 64 KiB", wall_us=round(wall, 1), cpu_us=round(cpu, 1))

    answer = tg.text(distinct).words("whitespace").count().run()
    took = in_turn(runs, to_arrow=answer.to_arrow)
    key_bytes = sum(map(len, answer.to_arrow()["key"].to_pylist()))
    say(
        "to_arrow of distinct words",
        keys=len(answer),
        key_megabytes=key_bytes / 1e6,
        gigabytes_per_s=round(key_bytes / 1e9 / took["to_arrow"][0], 2),
    )
    kmeans(runs, one, two)


def kmeans(runs: int, one, two) -> None:
    """A round over 100,000 points in 3 dimensions and 100 centres."""
    import numpy as np
    import tegula as tg

    chance = np.random.default_rng(1)
    points = chance.random((100_000, 3))
    centres = points[:100].copy()

    def nearest(rows, centres):
        distances = ((rows[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        return distances.argmin(axis=1)

    def assign(rows, centres):
        near = nearest(rows, centres)
        axes = np.arange(rows.shape[1])
        return {
            "key": (near[:, None] * len(axes) + axes).ravel(),
            "value": rows.ravel(),
        }

    def alone():
        near = nearest(points, centres)
        sums = np.zeros_like(centres)
        np.add.at(sums, near, points)
        return sums

    def by(engine):
        job = tg.array(points).map_array(assign, args=(centres,), on="threads").sum()
        return job.run(engine=engine)

    took = in_turn(
        runs, numpy=alone, workers_1=lambda: by(one), workers_2=lambda: by(two)
    )
    same = by(one).to_dict() == by(two).to_dict()
    say("k-means by map_array", wall_and_cpu_s=took, same_bits=same)


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
