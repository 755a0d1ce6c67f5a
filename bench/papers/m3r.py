"""The figures of M3R: A. Shinnar, D. Cunningham, B. Herta and V. Saraswat, Increased Performance for In-Memory Hadoop
Jobs, VLDB 2012.
"""

from collections.abc import Callable
from functools import partial
from statistics import median

from figure import Figure, Made, Paper
from kept import Kept
from plot import Bars, Line, Lines

LOCAL, TEGULA = "local", "tegula"


def walls(kept: Kept, result: str, what: str, framework: str) -> list[dict]:
    return [
        run
        for run in kept.runs(result)
        if run["what"] == what and run["framework"] == framework
    ]


def steps(runs: list[dict]) -> list[float]:
    """The median of each step over all runs."""
    return [
        median(times)
        for times in zip(
            *([step["wall_s"] for step in run["steps"]] for run in runs), strict=True
        )
    ]


def micro(kept: Kept) -> Made:
    rows, lines = [], {}
    for percent in (0, 50, 100):
        for framework in (LOCAL, TEGULA):
            times = steps(
                walls(kept, "sequences", f"pairs, {percent} % away", framework)
            )
            for number, seconds in enumerate(times[:3]):
                lines.setdefault((framework, number), []).append(
                    (float(percent), seconds)
                )
            rows.append(
                [
                    f"{percent} % away, {framework}",
                    *(f"{seconds:.2f} s" for seconds in times[:3]),
                ]
            )
    first = {framework: lines[framework, 0][0][1] for framework in (LOCAL, TEGULA)}
    second = {framework: lines[framework, 1][0][1] for framework in (LOCAL, TEGULA)}
    names = {LOCAL: "local runner", TEGULA: "Tegula"}
    return Made(
        f"After the first iteration, which reads the files, an iteration takes {second[LOCAL] / second[TEGULA]:.0f} times as long with Hadoop's local runner ({first[LOCAL] / first[TEGULA]:.1f} times for the "
        "first), and like Hadoop's its times do not depend on where pairs go; one JVM has no remote place, so neither do ours.",
        ("pairs that leave", "iteration 1", "iteration 2", "iteration 3"),
        rows,
        Lines(
            "Sequence of jobs by the part of pairs that leave",
            "per cent",
            "seconds",
            tuple(
                Line(f"{names[framework]}, iteration {number + 1}", tuple(points))
                for (framework, number), points in lines.items()
                if number < 2
            ),
        ),
    )


def matrix(kept: Kept) -> Made:
    rows, series = [], []
    for framework in (LOCAL, TEGULA):
        times = steps(walls(kept, "sequences", "matrix x vector", framework))
        series.append((framework, tuple(times)))
        rows.append([framework, *(f"{seconds:.2f} s" for seconds in times)])
    local, tegula = (sum(times[2:]) for _, times in series)
    count = len(series[0][1])
    return Made(
        f"The products of a sparse matrix and a vector after the first take {local / tegula:.0f} times as long with the local runner, because the matrix stays in memory as objects.",
        ("framework", *(f"job {number + 1}" for number in range(count))),
        rows,
        Bars(
            "Sparse matrix times vector, job by job",
            "seconds",
            tuple(f"{number + 1}" for number in range(count)),
            tuple(series),
            is_y_logarithmic=True,
        ),
    )


def word_count(kept: Kept) -> Made:
    rows, series = [], {LOCAL: [], TEGULA: []}
    sizes = sorted({run["text_bytes"] for run in kept.runs("hadoop word count")})
    for size in sizes:
        for framework, values in series.items():
            runs = [
                run
                for run in kept.runs("hadoop word count")
                if run["text_bytes"] == size and run["framework"] == framework
            ]
            values.append(median(run["wall_s"] for run in runs))
        ratio = series[LOCAL][-1] / series[TEGULA][-1]
        rows.append(
            [
                f"{size / 1e6:.0f} MB",
                "about 2x",
                f"{series[LOCAL][-1]:.1f} s",
                f"{series[TEGULA][-1]:.1f} s",
                f"{ratio:.1f}x",
            ]
        )
    return Made(
        f"Hadoop's own word count, unchanged, takes the local runner {rows[-1][-1].removesuffix('x')} times as long on {rows[-1][0]}, beside the paper's factor of two over a Hadoop cluster.",
        ("text", "the paper", "local runner", "Tegula", "times"),
        rows,
        Bars(
            "Hadoop's word count",
            "seconds",
            tuple(f"{size / 1e6:.0f} MB" for size in sizes),
            tuple((name, tuple(values)) for name, values in series.items()),
        ),
    )


def systemml(kept: Kept, script: str) -> Made:
    """A program of SystemML as a whole process, on each system."""
    of = {}
    for run in kept.runs("systemml"):
        if run["what"] == script:
            of.setdefault(run["system"], []).append(run)
    wall = {
        system: median(run["wall_s"] for run in runs) for system, runs in of.items()
    }
    rows = [
        [
            system,
            f"{wall[system]:.1f} s",
            f"{median(run['cpu_s'] for run in runs):.1f} s",
            f"{wall[LOCAL] / wall[system]:.2f}",
        ]
        for system, runs in of.items()
    ]
    one, four = (wall[LOCAL] / wall[system] for system in ("one JVM", "4 places"))
    return Made(
        f"SystemML's compiler makes unmodified jobs of the program, which one JVM ends in 1/{one:.1f} of the local runner's time; over four places that share two cores it takes {1 / four:.1f} times that of "
        "the local runner, because each place loads SystemML anew for each of few short jobs.",
        ("system", "wall", "CPU", "times as fast as the local runner"),
        rows,
        Bars(
            f"SystemML: {script}",
            "seconds",
            tuple(wall),
            (("wall", tuple(wall.values())),),
        ),
    )


def of_systemml(script: str) -> Callable[[Kept], Made]:
    return partial(systemml, script=script)


M3R = Paper(
    "m3r",
    "M3R: A. Shinnar, D. Cunningham, B. Herta and V. Saraswat, *M3R: Increased Performance for In-Memory Hadoop Jobs*, VLDB 2012",
    "20 nodes of two AMD Opteron of four cores at 2.3 GHz and 16 GB, gigabit Ethernet",
    (
        Figure(
            "figure 6",
            "microbenchmark, by the part of pairs that leave",
            "in a plot: Hadoop constant; M3R linear, and less after the first iteration",
            needs=("sequences",),
            make=micro,
        ),
        Figure(
            "figure 7",
            "sparse matrix times dense vector",
            "in a plot",
            needs=("sequences",),
            make=matrix,
        ),
        Figure(
            "figure 8",
            "word count",
            "about twice as fast as Hadoop",
            needs=("hadoop word count",),
            make=word_count,
        ),
        Figure(
            "figure 9",
            "SystemML: non-negative matrix factorization",
            "in a plot",
            needs=("systemml",),
            make=of_systemml("gnmf"),
        ),
        Figure(
            "figure 10",
            "SystemML: linear regression",
            "in a plot",
            needs=("systemml",),
            make=of_systemml("regression"),
        ),
        Figure(
            "figure 11",
            "SystemML: page rank",
            "in a plot",
            needs=("systemml",),
            make=of_systemml("pagerank"),
        ),
    ),
)
