"""The figures of Ostrich on tiled jobs: their time and memory, groups of cores, tiles, caches and the pipeline."""

from figure import Made
from kept import Kept, cpu_s, peak_mb, wall_s
from plot import Bars, Line, Lines

JOBS = ("word count", "sort", "log statistics", "inverted index")
SHORT = {
    "word count": "WC",
    "sort": "DS",
    "log statistics": "LS",
    "inverted index": "II",
}
PHASES = ("plan", "map", "reduce", "merge", "output")


def job_run(kept: Kept, job: str, gigabytes: int, workers: int) -> dict:
    return kept.run("jobs", program=f"{job}, {gigabytes} GB, {workers}")


def ratio_of(run: dict, other: dict) -> float:
    return wall_s(run) / wall_s(other)


def speed(kept: Kept) -> Made:
    def over(peer: str, workers: int) -> float | None:
        """How many times the peer's time Tegula's is."""
        runs = [
            kept.find(
                "word_count", program=program, workers=workers, input="letters.txt"
            )
            for program in (peer, "tegula (alpha)")
        ]
        return ratio_of(runs[0], runs[1]) if all(runs) else None

    printed = {"Phoenix 2.0": "1.91x, 2.53x, 3.07x on 1, 12, 48 cores", "Phoenix++": ""}
    rows, series, said = [], [], []
    for peer, paper in printed.items():
        times = [over(peer, workers) for workers in (1, 2)]
        rows += [
            [
                f"word count over {peer}, {workers} worker{'s'[: workers - 1]}",
                paper,
                f"{one:.2f}x" if one else "not measured",
            ]
            for workers, one in enumerate(times, 1)
        ]
        if all(times):
            said.append(
                f"{' and '.join(f'{one:.1f}' for one in times)} times as fast as {peer}"
            )
        series.append((f"Tegula / {peer}", (*times, None, None)))
    rows.append(
        [
            "sort, log statistics, inverted index over Phoenix 2.0, 48 cores",
            "2.38x, 2.40x, 1.86x",
            "not among Phoenix's programs",
        ]
    )
    return Made(
        f"On 1 GB of words Tegula is {', '.join(said)} with one and two workers; the paper has Phoenix++ 1.19 times as fast as Ostrich.",
        ("", "the paper", "here"),
        rows,
        Bars(
            "Word count, times the speed of the peer",
            "times",
            ("1 core", "2 cores", "12 cores", "48 cores"),
            (("Ostrich / Phoenix 2.0", (1.91, None, 2.53, 3.07)), *series),
            paper=("Ostrich / Phoenix 2.0",),
        ),
    )


def cores(kept: Kept) -> Made:
    table = kept.tables("groups simulated")["even, chips of 6 cores"]
    rows = [
        [
            "48 cores, simulated",
            "Phoenix stagnates or drops; Ostrich grows to 48",
            f"{at(table, 48):.1f}x",
        ]
    ]
    lines = [
        Line(
            "simulated, groups",
            tuple((float(r[0]), float(r[3])) for r in table[1:]),
            "simulated",
        )
    ]
    lines.append(
        Line(
            "simulated, one queue",
            tuple((float(r[0]), float(r[2])) for r in table[1:]),
            "simulated",
        )
    )
    for job in JOBS:
        one, two = (job_run(kept, job, 1, workers) for workers in (1, 2))
        rows.append([f"{job}, 2 workers, measured", "", f"{ratio_of(one, two):.2f}x"])
    return Made(
        f"Two workers are {span(ratio_of(job_run(kept, job, 1, 1), job_run(kept, job, 1, 2)) for job in JOBS)} times as "
        f"fast as one, and with recorded costs of splits 48 cores in 8 chips would be {at(table, 48):.0f} times as fast "
        "as one with a queue for each chip.",
        ("speed-up over one core", "the paper", "here"),
        rows,
        Lines(
            "Speed-up over one core, word count",
            "cores",
            "times",
            tuple(lines),
            is_x_logarithmic=True,
        ),
    )


def at(table: list[list[str]], cores: int) -> float:
    return next(float(row[3]) for row in table[1:] if row[0] == str(cores))


def span(values: object, digits: int = 2) -> str:
    figures = sorted(values)  # type: ignore[call-overload]
    return f"{figures[0]:.{digits}f} to {figures[-1]:.{digits}f}"


def peak(kept: Kept) -> Made:
    rows, series = [], []
    for gigabytes in (1, 2, 4):
        runs = [job_run(kept, job, gigabytes, 2) for job in JOBS]
        series.append((f"{gigabytes} GB", tuple(peak_mb(run) for run in runs)))
        for job, run in zip(JOBS, runs, strict=True):
            size = run["stats"]["bytes"] / 1e6
            rows.append(
                [
                    f"{job}, {size:,.0f} MB",
                    "",
                    f"{peak_mb(run):,.0f} MB",
                    f"{100 * (1 - peak_mb(run) / size):.1f} %",
                ]
            )
    saved = [
        1 - peak_mb(run) / (run["stats"]["bytes"] / 1e6)
        for run in (job_run(kept, "log statistics", g, 2) for g in (1, 2, 4))
    ]
    rows.insert(0, ["the best case of the paper", "-87.6 %", "", ""])
    return Made(
        f"Log statistics of 4 GB hold {100 * saved[2]:.1f} % less than their input, which Phoenix holds whole besides its "
        "pairs; a sort holds its input, because it moves the records, unless --memory limits it.",
        ("input", "the paper, of Phoenix's memory", "peak here", "less than the input"),
        rows,
        Bars(
            "Peak memory",
            "MB",
            tuple(SHORT[job] for job in JOBS),
            tuple(series),
            is_y_logarithmic=True,
        ),
    )


def footprint(kept: Kept) -> Made:
    run = kept.runs("footprint")[0]
    resident = [(at_s, args["resident"] / 1e6) for at_s, args in run["memory_bytes"]]
    counted = [(at_s, args["counted"] / 1e6) for at_s, args in run["memory_bytes"]]
    most = max(mb for _, mb in resident)
    half = [mb for at_s, mb in resident if at_s >= run["wall_s"] / 2]
    return Made(
        f"While it counts {run['input_bytes'] / 1e9:.1f} GB the process holds at most {most:.0f} MB, and in the second half of the run "
        f"{min(half):.0f} to {max(half):.0f} MB: what it holds does not grow with the input.",
        ("", "the paper", "here"),
        [
            [
                "memory over time",
                "Phoenix grows with the input until the end; Ostrich is steady after the first iteration",
                f"at most {most:.0f} MB",
            ],
            ["input", "1 GB", f"{run['input_bytes'] / 1e9:.1f} GB"],
        ],
        Lines(
            "Memory of a word count",
            "seconds",
            "MB",
            (Line("resident", thinned(resident)), Line("counted", thinned(counted))),
        ),
    )


def thinned(
    points: list[tuple[float, float]], most: int = 120
) -> tuple[tuple[float, float], ...]:
    step = max(1, len(points) // most)
    return tuple((round(x, 3), round(y, 3)) for x, y in points[::step])


def groups(kept: Kept) -> Made:
    tables = kept.tables("groups simulated")
    rows, lines = [], []
    for name, shown in (
        ("even, chips of 6 cores", "even costs"),
        ("uneven, chips of 6 cores", "uneven costs"),
    ):
        gains = [
            (float(r[0]), 100 * (float(r[3]) / float(r[2]) - 1))
            for r in tables[name][1:]
            if 6 <= int(r[0]) <= 48
        ]
        lines.append(Line(shown, tuple(gains), "simulated"))
        rows += [
            [f"{shown}, {cores:.0f} cores", "", f"{gain:+.1f} %"]
            for cores, gain in gains
            if cores in (6, 12, 24, 48)
        ]
    rows.insert(0, ["WC, DS, LS, II, 48 cores", "+79 %, +58 %, +69 %, +24 %", ""])
    rows.insert(1, ["6 cores (one chip)", "little", ""])
    return Made(
        "On eight described chips of six cores a queue for each chip gains an eighth on even work; the paper's jobs lose "
        "far more to remote caches, because their combine phases read what other chips wrote, where workers here keep "
        "tables of their own.",
        ("gain by groups", "the paper", "here"),
        rows,
        Lines(
            "Gain by a queue for each chip of six cores",
            "cores",
            "per cent",
            tuple(lines),
        ),
    )


def tiles(kept: Kept) -> Made:
    rows, lines, apart = [], [], []
    for gigabytes in (1, 2, 4):
        runs = [
            run
            for run in kept.runs("tiles")
            if run["program"].startswith(f"{gigabytes} GB, ")
        ]
        of = [(mib(run["program"].split(", ")[1]), cpu_s(run)) for run in runs]
        lines.append(Line(f"{gigabytes} GB", tuple(of)))
        best, worst = min(of, key=lambda p: p[1]), max(of, key=lambda p: p[1])
        apart.append(100 * (worst[1] / best[1] - 1))
        near = next(seconds for size, seconds in of if size == 6)
        auto = next(seconds for size, seconds in of if size == 32)
        rows.append(
            [
                f"{gigabytes} GB",
                "6.3 MB",
                f"{best[0]:.0f} MiB",
                f"{near:.2f} s",
                f"{auto:.2f} s",
                f"{best[1]:.2f} to {worst[1]:.2f} s",
            ]
        )
    return Made(
        f"The worst of these sizes takes {min(apart):.0f} to {max(apart):.0f} % more processor time than the best: a worker takes a piece "
        "of 64 KiB or some more at a time, which fits its own second-level cache, so a tile is only what is saved and recognised as a unit.",
        (
            "input, processor time",
            "best in the paper",
            "best here",
            "6 MiB",
            "32 MiB",
            "best to worst",
        ),
        rows,
        Lines(
            "Word count by the size of a tile",
            "MiB",
            "processor seconds",
            tuple(lines),
            is_x_logarithmic=True,
        ),
    )


def mib(text: str) -> float:
    return float(text.removesuffix("M"))


def caches(kept: Kept) -> Made:
    rows, firsts, lasts = [], [], []
    for job in JOBS:
        first, last = misses(kept.run("caches", job=job, program="tegula"))
        firsts.append(first)
        lasts.append(last)
        rows.append([job, "", f"{first:.1f}", f"{last:.1f}"])
    peer, over = kept.find("caches", program="Phoenix++"), ""
    if peer:
        first, last = misses(peer)
        rows.append(["word count by Phoenix++", "", f"{first:.1f}", f"{last:.1f}"])
        over = f" Phoenix++ has {first / firsts[0]:.1f} and {last / lasts[0]:.1f} times those of the word count."
    rows.insert(0, ["WC, DS, LS", "2.4x to 4.4x fewer than Phoenix", "", ""])
    rows.insert(1, ["II", "close to Phoenix", "", ""])
    return Made(
        f"For a kilobyte of input, {span(firsts, 1)} accesses to data miss a first-level cache like that of the paper's machine and {span(lasts, 1)} "
        f"a last-level one of 4 MiB, as cachegrind counts them over 8 MB.{over}",
        ("misses for a kilobyte", "the paper", "D1 here", "LL here"),
        rows,
        Bars(
            "Misses of described caches",
            "for a kilobyte of input",
            tuple(SHORT[job] for job in JOBS),
            (("D1, 64 KiB", tuple(firsts)), ("LL, 4 MiB", tuple(lasts))),
        ),
    )


def misses(run: dict) -> tuple[float, float]:
    """Misses of the first and the last cache for a kilobyte of input."""
    first, last = (
        1000 * run[of] / run["input_bytes"] for of in ("d1_misses", "ll_misses")
    )
    return first, last


def remote(kept: Kept) -> Made:
    table = kept.tables("groups simulated")["even, chips of 6 cores"]
    percent = [
        (float(r[0]), float(r[4].rstrip(" %")), float(r[5].rstrip(" %")))
        for r in table[1:]
        if int(r[0]) <= 48
    ]
    flat, grouped = percent[-1][1:]
    return Made(
        f"On 48 described cores {grouped:.1f} % of all splits are read from another chip's memory instead of {flat:.1f} % with one queue, "
        f"{100 * (1 - grouped / flat):.0f} % fewer.",
        ("", "the paper", "here"),
        [
            [
                "remote accesses, 48 cores",
                "more than 90 % fewer than Phoenix",
                f"{100 * (1 - grouped / flat):.0f} % fewer than one queue",
            ]
        ],
        Lines(
            "Splits from another chip's memory",
            "cores",
            "per cent",
            (
                Line("one queue", tuple((c, f) for c, f, _ in percent), "simulated"),
                Line(
                    "a queue for each chip",
                    tuple((c, g) for c, _, g in percent),
                    "simulated",
                ),
            ),
        ),
    )


def pipeline(kept: Kept) -> Made:
    rows, off_s, on_s, gains = [], [], [], []
    names = []
    for job, said in (
        ("index of one word", "89 % of the combine phase idle without"),
        ("inverted index", ""),
        ("word count", "5 % of combine saved"),
        ("log statistics", "22 % of combine saved"),
        ("sort", "11 % of combine saved"),
    ):
        off, on = (
            kept.run("pipeline", program=f"{job}, {form}") for form in ("off", "on")
        )
        idle = [100 * run["stats"]["idle_while_mapping"] for run in (off, on)]
        gains.append(100 * (1 - wall_s(on) / wall_s(off)))
        names.append(job)
        off_s.append(wall_s(off))
        on_s.append(wall_s(on))
        rows.append(
            [
                job,
                said,
                f"{wall_s(off):.3f} s, idle {idle[0]:.1f} %",
                f"{wall_s(on):.3f} s, idle {idle[1]:.1f} %",
                f"{gains[-1]:+.1f} %",
            ]
        )
    simulated = []
    for name, costs in (("even", "even costs"), ("uneven", "uneven costs")):
        table = kept.tables("groups simulated")[f"{name}, chips of 6 cores"]
        for row in table[1:]:
            cores, overlapped, waiting = int(row[0]), float(row[2]), float(row[9])
            if cores in (12, 48, 256):
                simulated.append(100 * (1 - waiting / overlapped))
                rows.append(
                    [
                        f"word count, {costs}, {cores} cores, simulated",
                        "",
                        f"{waiting:.1f} times one core's speed, idle {row[10]}",
                        f"{overlapped:.1f} times, idle {row[6]}",
                        f"{simulated[-1]:+.1f} %",
                    ]
                )
    return Made(
        f"With two workers overlapped tiles save {min(gains):.0f} to {max(gains):.0f} % of the time, most where each tile leaves many pairs, which a worker would "
        "have to hand over at its end. With more cores more of them wait for the last split of a tile: simulated with recorded costs of splits, overlap "
        f"saves {min(simulated):.0f} to {max(simulated):.0f} % on 12 to 256, most where splits differ.",
        ("job", "the paper, 48 cores", "off", "on", "saved"),
        rows,
        Bars(
            "Tiles that wait for each other, and tiles that overlap",
            "seconds",
            tuple(names),
            (("off", tuple(off_s)), ("on", tuple(on_s))),
        ),
    )


def phases(kept: Kept) -> Made:
    rows, parts = [], {phase: [] for phase in PHASES}
    for job in JOBS:
        stages = {
            stage["stage"]: stage["wall_s"]
            for stage in job_run(kept, job, 1, 2)["stats"]["stages"]
        }
        for phase in PHASES:
            parts[phase].append(stages.get(phase, 0.0))
        rows.append([job, *(f"{stages.get(phase, 0.0):.3f}" for phase in PHASES)])
    mapped = [
        seconds / sum(parts[phase][n] for phase in PHASES)
        for n, seconds in enumerate(parts["map"])
    ]
    return Made(
        f"Map is {100 * min(mapped):.0f} to {100 * max(mapped):.0f} % of the time of the four jobs, because values are combined in place in the "
        "workers' tables while they map, which is what the paper took over from Phoenix++ for Ostrich++.",
        ("job, seconds of the stages here", *PHASES),
        rows,
        Bars(
            "Stages of jobs of 1 GB, two workers",
            "seconds",
            tuple(SHORT[job] for job in JOBS),
            tuple((phase, tuple(parts[phase])) for phase in PHASES),
            is_stacked=True,
        ),
    )
