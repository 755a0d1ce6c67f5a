#!/usr/bin/env python3
"""What the Python package is to reach: each figure beside its baseline and its goal.

Takes a folder of texts and a number of runs; prints a Markdown table and writes the raw results. Baselines and what is
compared with them run in turn, in the same minutes; a figure is made of medians. CPU seconds are those of this process
and of its children that have ended; of a run inside of this process they are counted after imports, compilation and a
first run. It must never leave a row out: one that cannot be measured says why.

    bench/.venv-python/bin/python bench/compare/python_reach.py --corpus bench/corpus --runs 5
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import family
from measure import (
    Failed,
    first_lines,
    run_script,
    table,
    versions_of,
    write_rows,
)

HERE = Path(__file__).parent / "python"
sys.path.insert(0, str(HERE))

SPLIT_BYTES = 64 << 10
# Of the loops in Python, which take seconds.
LOOP_BYTES = 40_000_000
TEGULA = Path(sys.executable).with_name("tegula")
TEXTS = ("zipf100.txt", "requests.txt", "distinct.txt", "events.txt")
PACKAGES = ["tegula", "numba", "numpy", "pyarrow"]

IMPORT = "import tegula"
TINY = "import sys, tegula as tg; tg.text(sys.argv[1]).words().count().run()"
LAMBDA = "import sys, tegula as tg; tg.text(sys.argv[1]).map(lambda line: (line, 1)).sum().run()"
WORDS = "import sys, tegula as tg; tg.text(sys.argv[1]).words('whitespace').count().run().top(10)"
MAP = "import sys, tegula as tg; tg.text(*sys.argv[1:]).map(str.split).count().run(workers=2)"

Taken = tuple[float, float]
"""Wall and CPU seconds."""


@dataclass
class Row:
    """A figure, and what it is to be."""

    name: str
    figure: float | None
    unit: str
    goal: float
    is_least: bool = False
    """Whether the goal is the least that the figure may be; else it is the most."""
    raw: dict[str, list[Taken]] = field(default_factory=dict)
    """Wall and CPU seconds of each run."""
    why_not: str = ""

    @property
    def holds(self) -> bool:
        if self.figure is None:
            return False
        return self.figure >= self.goal if self.is_least else self.figure <= self.goal


def cpu_s() -> float:
    """CPU seconds of this process and of those below it that have ended."""
    own, below = (
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime


def taken(work: Callable[[], object]) -> Taken:
    wall, cpu = time.perf_counter(), cpu_s()
    work()
    return time.perf_counter() - wall, cpu_s() - cpu


def in_turn(runs: int, **works: Callable[[], object]) -> dict[str, list[Taken]]:
    """What each took, run in turn."""
    took = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            took[name].append(taken(work))
    return took


def wall(took: list[Taken]) -> float:
    return median(one for one, _ in took)


def cpu(took: list[Taken]) -> float:
    return median(one for _, one in took)


def program(*argv: object) -> Callable[[], object]:
    command = [str(part) for part in argv]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def bare_split_loop(path: Path) -> int:
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


def pairs_of(line: str) -> Iterator[tuple[str, int]]:
    for word in line.split():
        yield word, 1


def bare_generator_loop(path: Path) -> int:
    total: dict[str, int] = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            for word, one in pairs_of(line):
                total[word] = total.get(word, 0) + one
    return len(total)


def bare_exchanges(count: int) -> None:
    """Hands splits to a child and waits for each: the least that a map in another process costs on this machine.

    Both are on one processor. Where the system chose, the same exchange took 30 or 90 µs of CPU, the latter between two.
    """
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    there, back, split = os.pipe(), os.pipe(), os.memfd_create("split")
    data, note = bytes(SPLIT_BYTES), bytes(16)
    child = os.fork()
    for _ in range(count):
        if child == 0:
            os.read(there[0], len(note))
            os.pread(split, SPLIT_BYTES, 0)
            os.write(back[1], note)
        else:
            os.pwrite(split, data, 0)
            os.write(there[1], note)
            os.read(back[0], len(note))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    os.sched_setaffinity(0, processors)
    for descriptor in (*there, *back, split):
        os.close(descriptor)


def memory(texts: Path) -> Iterator[Row]:
    """The first row, because this process must have no other children meanwhile."""
    path = texts / "zipf100.txt"
    argv = (sys.executable, "-c", MAP, str(path), str(path))
    with tempfile.TemporaryFile() as out:
        code, wall_s, user_s, system_s, peak = family.run(
            argv, {}, out.fileno(), out.fileno()
        )
        if code != 0:
            out.seek(0)
            raise Failed(out.read().decode(errors="replace"))
    name = f"peak memory of all processes, `.map` over {2 * path.stat().st_size / 1e6:.0f} MB, 2 workers"
    raw = {"run": [(wall_s, user_s + system_s)]}
    yield Row(name, peak / 1e6, "MB", 150, raw=raw)


def start_up(texts: Path, runs: int) -> Iterator[Row]:
    zipf, tiny = texts / "zipf100.txt", texts / "tiny.txt"
    first_lines(zipf, tiny, 50)
    took = in_turn(
        runs,
        command=program(
            TEGULA, "wordcount", "--words", "whitespace", "--top", 10, zipf
        ),
        package=program(sys.executable, "-c", WORDS, zipf),
    )
    command, package = cpu(took["command"]), cpu(took["package"])
    limit = round(1.15 + 0.06 / command, 2)
    name = "`words().count().run().top(10)` beside `tegula wordcount`, whole processes"
    yield Row(name, package / command, "x its CPU time", limit, raw=took)
    took = in_turn(
        runs * 3,
        bare_python=program(sys.executable, "-c", "pass"),
        package_imported=program(sys.executable, "-c", IMPORT),
        tiny_job=program(sys.executable, "-c", TINY, tiny),
        tiny_job_with_lambda=program(sys.executable, "-c", LAMBDA, tiny),
    )
    bare = wall(took["bare_python"])
    loaded = (wall(took["package_imported"]) - bare) * 1e3
    yield Row("`import tegula`, beyond bare Python", loaded, "ms", 60, raw=took)
    whole = wall(took["tiny_job"]) * 1e3
    yield Row("a tiny job, the whole process", whole, "ms", 120)
    whole = wall(took["tiny_job_with_lambda"]) * 1e3
    yield Row("a tiny job with a lambda, the whole process", whole, "ms", 300)


def loops(texts: Path, runs: int) -> Iterator[Row]:
    import tegula as tg

    path = texts / "loops.txt"
    first_lines(texts / "zipf100.txt", path, LOOP_BYTES // 65)
    source = tg.text(path)

    def count(data):
        return Counter(data.split())

    one, two = (tg.Engine(workers=workers) for workers in (1, 2))
    took = in_turn(
        runs,
        bare_loop=lambda: bare_split_loop(path),
        workers_1=lambda: source.map_split(count).sum().run(engine=one),
        workers_2=lambda: source.map_split(count).sum().run(engine=two),
    )
    name = "word count by `map_split` beside the bare loop"
    ratio = cpu(took["workers_1"]) / cpu(took["bare_loop"])
    yield Row(name, ratio, "x its CPU time", 1.20, raw=took)
    ratio = wall(took["workers_2"]) / wall(took["bare_loop"])
    yield Row(f"{name}, 2 workers", ratio, "x its wall time", 0.56)
    took = in_turn(
        runs,
        bare_loop=lambda: bare_generator_loop(path),
        workers_1=lambda: source.map(pairs_of).sum().run(engine=one),
        workers_2=lambda: source.map(pairs_of).sum().run(engine=two),
    )
    name = "word count by a generator a line beside the bare loop"
    ratio = cpu(took["workers_1"]) / cpu(took["bare_loop"])
    yield Row(name, ratio, "x its CPU time", 1.15, raw=took)
    whole = [texts / "zipf100.txt"] * 2
    splits = sum(text.stat().st_size for text in whole) // SPLIT_BYTES

    def empty(*texts: Path) -> object:
        return tg.text(*texts).map_split(lambda data: None).count().run(engine=one)

    # What a run takes beside its splits, such as the start of a process, is taken off. What is left has the reading of the
    # input, which the bare exchange lacks; it has fewer exchanges, each of several parts.
    took = in_turn(
        runs,
        start=lambda: empty(texts / "tiny.txt"),
        empty=lambda: empty(*whole),
        bare=lambda: bare_exchanges(splits),
    )
    trip = (cpu(took["empty"]) - cpu(took["start"])) / splits * 1e6
    bare = cpu(took["bare"]) / splits * 1e6
    name = "a round trip of 64 KiB, an empty function"
    yield Row(name, trip, "µs of CPU", 35, raw=took)
    name += ", beside a bare exchange over pipes"
    yield Row(name, trip / bare, "x its CPU time", 1.5)


def arrow(texts: Path, runs: int) -> Iterator[Row]:
    import tegula as tg

    answer = tg.text(texts / "distinct.txt").words("whitespace").count().run()
    took = in_turn(runs, to_arrow=answer.to_arrow)
    key_bytes = answer.to_arrow()["key"].nbytes
    speed = key_bytes / 1e9 / wall(took["to_arrow"])
    name = f"`to_arrow()` of {len(answer):,} distinct words"
    yield Row(name, speed, "GB/s of keys", 1, True, raw=took)


def kmeans(runs: int) -> Iterator[Row]:
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

    def by(workers):
        job = tg.array(points).map_array(assign, args=(centres,), on="threads").sum()
        return job.run(workers=workers)

    took = in_turn(runs, numpy=alone, workers_1=lambda: by(1), workers_2=lambda: by(2))
    if by(1).to_dict() != by(2).to_dict():
        raise Failed("k-means: two workers give other bits than one")
    ratio = wall(took["workers_2"]) / wall(took["numpy"])
    name = "a round of k-means by `map_array` in 2 threads beside numpy"
    yield Row(name, ratio, "x its wall time", 0.6, raw=took)


def native(texts: Path, runs: int, folder: Path) -> Iterator[Row]:
    """Runs of one worker. The libraries go through `map_native`, as the functions of Numba do."""
    import native_maps
    import tegula as tg

    libraries, left_out = native_maps.libraries(folder)
    engine = tg.Engine(workers=1)
    jobs = {
        "word count": ("zipf100.txt", "words", "count"),
        "sum of a field": ("requests.txt", "host_and_bytes", "sum"),
    }
    for name, (text, function, combine) in jobs.items():
        source = tg.text(texts / text)
        maps = {"Numba": getattr(native_maps, function)}
        maps |= {language: (path, function) for language, path in libraries.items()}
        runs_of = {
            language: getattr(source.map_native(one), combine)()
            for language, one in maps.items()
        }
        own = source.words("whitespace").count() if combine == "count" else None
        runs_of["own map"] = own or source.field(1, " ", value=4).sum()
        answers = [
            sorted(job.run(engine=engine).to_dict().items()) for job in runs_of.values()
        ]
        if any(answer != answers[0] for answer in answers):
            raise Failed(f"{name}: the languages differ")
        took = in_turn(
            runs,
            **{
                language: lambda job=job: job.run(engine=engine)
                for language, job in runs_of.items()
            },
        )
        for language, goal in (("Numba", 0.8), ("C", 0.9)):
            row = f"`map_native`, {name}: {language} beside the same map in Rust"
            missing = left_out.get(language) or left_out.get("Rust")
            if missing:
                yield Row(row, None, "x its speed", goal, True, why_not=missing)
            else:
                speed = cpu(took["Rust"]) / cpu(took[language])
                raw = took if language == "Numba" else {}
                yield Row(row, speed, "x its speed", goal, True, raw=raw)


def json_lines(texts: Path, runs: int) -> Iterator[Row]:
    """One worker; of four times the file, so that the start of a process, which is taken off, is little."""
    path = texts / "events.txt"
    first_lines(path, texts / "tiny.jsonl", 1)
    for name, arguments in {
        "tegula top --json user.id": ["top", "10", "--json", "user.id"],
        "tegula wordcount --json message": ["wordcount", "--json", "message"],
    }.items():
        command = [TEGULA, *arguments, "-j", 1]
        took = in_turn(
            runs,
            start=program(*command, texts / "tiny.jsonl"),
            whole=program(*command, *[path] * 4),
        )
        spent = max(cpu(took["whole"]) - cpu(took["start"]), 1e-3)
        speed = 4 * path.stat().st_size / 1e6 / spent
        lines = "lines of 200 to 1,000 bytes"
        yield Row(
            f"`{name}`, {lines}", speed, "MB per CPU second", 1000, True, raw=took
        )


def shown(row: Row) -> list[str]:
    figure = row.why_not if row.figure is None else f"{row.figure:.3g} {row.unit}"
    sign = "≥" if row.is_least else "≤"
    return [row.name, figure, f"{sign} {row.goal:g}", "yes" if row.holds else "no"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what is to be reached.")
    parser.add_argument("--corpus", type=Path, required=True, help="folder of texts")
    parser.add_argument("--runs", type=int, default=5, help="runs of each (5)")
    parser.add_argument(
        "--small", action="store_true", help="the first 2 MB; keeps no results"
    )
    parser.add_argument(
        "--out", type=Path, default=HERE.parents[1] / "results/python_reach.json"
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    runs = options.runs
    with tempfile.TemporaryDirectory(dir=options.corpus) as scratch:
        texts = Path(scratch)
        for name in TEXTS:
            if options.small:
                first_lines(options.corpus / name, texts / name, 5_000)
            else:
                (texts / name).symlink_to((options.corpus / name).resolve())
        rows = []
        for part in (
            memory(texts),
            start_up(texts, runs),
            loops(texts, runs),
            arrow(texts, runs),
            kmeans(runs),
            native(texts, runs, texts),
            json_lines(texts, runs),
        ):
            for row in part:
                rows.append(row)
                print(" | ".join(shown(row)), file=sys.stderr)
    heads = ["figure", "measured", "goal", "reached"]
    print(table(heads, list(map(shown, rows))))
    if not options.small:
        versions = versions_of(PACKAGES)
        kept = [asdict(row) | {"holds": row.holds} for row in rows]
        also = {"cores": os.cpu_count()}
        write_rows(options.out, kept, versions, also)
    return 0


if __name__ == "__main__":
    run_script(main)
