"""The figures of Ostrich: R. Chen and H. Chen, Tiled-MapReduce, ACM TACO 10(1), 2013."""

from figure import BOTH, SIMULATED, Figure, Made, Paper
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
    runs = {
        (program, workers): kept.find(
            "word_count", program=program, workers=workers, input="letters.txt"
        )
        for program in ("Phoenix++", "tegula (alpha)")
        for workers in (1, 2)
    }
    rows = [
        ["word count over Phoenix 2.0, 1, 12 and 48 cores", "1.91x, 2.53x, 3.07x", ""]
    ]
    over = []
    for workers in (1, 2):
        phoenix, tegula = runs["Phoenix++", workers], runs["tegula (alpha)", workers]
        if phoenix and tegula:
            over.append(ratio_of(phoenix, tegula))
            rows.append(
                [
                    f"word count over Phoenix++, {workers} worker{'s'[: workers - 1]}",
                    "",
                    f"{over[-1]:.2f}x",
                ]
            )
    rows.append(
        [
            "sort, log statistics, inverted index over Phoenix 2.0, 48 cores",
            "2.38x, 2.40x, 1.86x",
            "-",
        ]
    )
    said = " and ".join(f"{times:.1f}" for times in over)
    return Made(
        f"On 1 GB of words Tegula is {said} times as fast as Phoenix++ with one and two workers, which the paper has "
        "1.19 times as fast as Ostrich; Phoenix 2.0 was not built here.",
        ("", "the paper", "here"),
        rows,
        Bars(
            "Word count, times the speed of the peer",
            "times",
            ("1 core", "2 cores", "12 cores", "48 cores"),
            (
                ("Ostrich / Phoenix 2.0", (1.91, None, 2.53, 3.07)),
                ("Tegula / Phoenix++", (*over, *[None] * (4 - len(over)))),
            ),
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


def saves(kept: Kept) -> Made:
    plain = kept.run("saves", program="no state")

    def over(run: dict) -> float:
        return 100 * (cpu_s(run) / cpu_s(plain) - 1)

    rows, saved = [], []
    names = []
    for run in kept.runs("saves"):
        if run is plain:
            continue
        tile = run["program"].split("of ")[1]
        printed = {
            "every tile of 6M": "6 %, 91 MB",
            "every tile of 64M": "31 MB",
            "every 10 tiles of 6M": "under 1 %",
        }.get(run["program"], "")
        megabytes = run["stats"]["saved_bytes"] / 1e6
        rows.append(
            [run["program"], printed, f"{over(run):+.1f} %", f"{megabytes:.1f} MB"]
        )
        if "10 tiles" not in run["program"]:
            names.append(tile)
            saved.append(megabytes)
    tenth = kept.run("saves", program="every 10 tiles of 6M")
    sixth = kept.run("saves", program="every tile of 6M")
    count = sixth["stats"]["tiles"]
    kilobytes = sixth["stats"]["saved_bytes"] / count / 1e3
    each_ms = 1e3 * (cpu_s(sixth) - cpu_s(plain)) / count
    return Made(
        f"The text is drawn to have about as many different words in each part as the paper's, {plain['stats']['keys']:,} in all. Without saves it takes {cpu_s(plain):.2f} s of processor "
        f"time, so {count} saves of {kilobytes:.0f} kB add {over(sixth):.0f} % though each takes {each_ms:.1f} ms, and every tenth of them {over(tenth):.1f} %. By default a run saves as often as adds a hundredth.",
        ("saved", "the paper", "more processor time", "saved bytes"),
        rows,
        Bars(
            "Word count of 1 GB, saved after each tile of a size",
            "MB saved",
            tuple(names),
            (("saved", tuple(saved)),),
        ),
    )


def server(kept: Kept) -> Made:
    table = kept.tables("server simulated")[""]
    at_48 = next(row for row in table[1:] if row[0] == "64")

    def points(column: int) -> tuple[tuple[float, float], ...]:
        return tuple((float(row[0]), float(row[column])) for row in table[1:])

    return Made(
        f"Simulated on 64 cores, the server runs {at_48[4]} jobs a second instead of {at_48[1]} one after another: jobs beside each "
        "other are the better way to use many cores, as the paper found.",
        ("", "the paper", "here"),
        [
            ["Ostrich over Phoenix, each number of processes", "1.60x to 1.94x", ""],
            ["jobs at once over one after another, 64 cores", "", at_48[5]],
        ],
        Lines(
            "A hundred mixed jobs",
            "cores",
            "jobs a second",
            (
                Line("one after another", points(1), "simulated"),
                Line("best fixed parts", points(2), "simulated"),
                Line("the server", points(4), "simulated"),
            ),
            is_x_logarithmic=True,
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


def shows(kept: Kept) -> Made:
    plain = kept.run("show", program="no shows")
    printed = {
        "every 1 %, one tier": 11.1,
        "every 10 %, one tier": 2.7,
        "every 1 %, two tiers": 96.2,
        "every 10 %, two tiers": 11.0,
    }
    rows, ours = [], []
    for name, percent in printed.items():
        cost = 100 * (cpu_s(kept.run("show", program=name)) / cpu_s(plain) - 1)
        ours.append(cost)
        rows.append([name, f"+{percent} %", f"{cost:+.1f} %"])
    size = (
        sum(1 for part in plain["argv"] if part == plain["input"])
        * plain["input_bytes"]
    )
    return Made(
        f"A hundred shows of one tier take {ours[0]:+.1f} % of the processor time of a word count of {size / 1e9:.0f} GB in which 100,000 words differ, and {ours[2]:+.1f} % "
        "with a second job over all counts, where the paper has +11.1 and +96.2 %.",
        ("shows", "the paper", "here"),
        rows,
        Bars(
            "What shows cost",
            "per cent more",
            ("1 %, one tier", "10 %, one", "1 %, two", "10 %, two"),
            (
                ("the paper", tuple(printed.values())),
                ("Tegula", tuple(max(c, 0.0) for c in ours)),
            ),
            paper=("the paper",),
        ),
    )


def finals(kept: Kept) -> Made:
    tops = (3, 5, 10, 20)
    paper = (9, 18, 45, 79)
    rows, series = [], [("the paper, 6.4 GB", tuple(map(float, paper)))]
    for run in kept.runs("stable"):
        parts = [100 * run["since"][str(top)]["part"] for top in tops]
        series.append((run["shows"], tuple(parts)))
        rows.append(
            [run["shows"], str(run["made"]), *(f"{part:.1f} %" for part in parts)]
        )
    rows.insert(0, ["the paper, Wikipedia", "100", *(f"{part} %" for part in paper)])
    size = kept.runs("stable")[0]["input_bytes"] / 1e6
    return Made(
        f"In {size:.0f} MB of drawn words whose frequencies fall as 1/k the top 3 are final after {series[1][1][0]:.0f} % and the top 20 after "
        f"{series[1][1][-1]:.0f} %; the part depends on the text alone.",
        ("shows", "made", "top 3", "top 5", "top 10", "top 20"),
        rows,
        Bars(
            "Part of the input after which the top words are final",
            "per cent",
            tuple(f"top {top}" for top in tops),
            tuple(series),
            paper=("the paper, 6.4 GB",),
        ),
    )


def appended(kept: Kept) -> Made:
    lines, rows = [], []
    of = {form: [] for form in ("anew", "kept")}
    for form, points in of.items():
        for tenth in range(5, 11):
            run = kept.run("appended", program=f"{form}, {tenth} tenths")
            points.append((tenth / 10, cpu_s(run)))
    lines = [
        Line("anew", tuple(of["anew"])),
        Line("with what is kept", tuple(of["kept"])),
    ]
    for (part, plain), (_, again) in zip(of["anew"], of["kept"], strict=True):
        rows.append(
            [
                f"{part:.1f} of the log",
                f"{plain:.3f} s",
                f"{again:.3f} s",
                f"{100 * again / plain:.0f} %",
            ]
        )
    size = kept.run("appended", program="anew, 10 tenths")["input_bytes"] / 1e6
    return Made(
        f"After a log has grown to {size:.0f} MB by its last tenth, a run takes {100 * of['kept'][-1][1] / of['anew'][-1][1]:.0f} % of the processor time of one "
        "over all of it; the first run has nothing to go by.",
        ("log statistics, processor time", "anew", "with what is kept", "of it"),
        rows,
        Lines("A log that grows", "part of the log", "processor seconds", tuple(lines)),
    )


def edited(kept: Kept) -> Made:
    plain = kept.run("edited", program="plain")
    rows, first_s, again_s = [], [], []
    counts = [
        int(run["program"].split()[1])
        for run in kept.runs("edited")
        if run["program"].startswith("first")
    ]
    for count in counts:
        first, again = (
            kept.run("edited", program=f"{form}, {count} tiles")
            for form in ("first", "again")
        )
        first_s.append((float(count), cpu_s(first)))
        again_s.append((float(count), cpu_s(again)))
        printed = "-70.4 % of the time" if count == 100 else ""
        rows.append(
            [
                f"{count} tiles",
                printed,
                f"{100 * (cpu_s(first) / cpu_s(plain) - 1):+.0f} %",
                f"{100 * (cpu_s(again) / cpu_s(plain) - 1):+.0f} %",
            ]
        )
    hundred = dict(again_s)[100.0]
    rows.insert(0, ["the first run", "under +11 %", "", ""])
    return Made(
        f"With 100 tiles a run over a text with 20 random changes takes {100 * hundred / cpu_s(plain):.0f} % of the processor time of a run over all of it.",
        (
            "word count, processor time",
            "the paper",
            "first run here",
            "changed text here",
        ),
        rows,
        Lines(
            "20 changes in a text, by the number of tiles",
            "tiles",
            "processor seconds",
            (
                Line(
                    "anew",
                    (
                        (float(counts[0]), cpu_s(plain)),
                        (float(counts[-1]), cpu_s(plain)),
                    ),
                ),
                Line("first run", tuple(first_s)),
                Line("changed text", tuple(again_s)),
            ),
            is_x_logarithmic=True,
        ),
    )


OSTRICH = Paper(
    "ostrich",
    "Ostrich: R. Chen and H. Chen, *Tiled-MapReduce: Efficient and Flexible MapReduce Processing on Multicore with Tiling*, ACM TACO 10(1), 2013",
    "48 cores: eight AMD Opteron of six cores at 2.4 GHz, 512 KB L2 for each core, 5 MB L3 for each chip, 128 GB",
    (
        Figure(
            "figure 13",
            "speed over Phoenix, 1 GB",
            "word count 1.91x, 2.53x, 3.07x on 1, 12, 48 cores; sort 1.24x, 2.14x, 2.38x; log statistics 2.40x and inverted index 1.86x on 48",
            needs=("word_count",),
            make=speed,
        ),
        Figure(
            "figure 14",
            "scalability",
            "in a plot: Ostrich grows to 48 cores, Phoenix stagnates",
            BOTH,
            ("jobs", "groups simulated"),
            cores,
        ),
        Figure(
            "figure 15",
            "peak memory, 1, 2 and 4 GB",
            "up to -87.6 % of Phoenix's",
            needs=("jobs",),
            make=peak,
        ),
        Figure(
            "figure 16",
            "memory over time, word count",
            "in a plot",
            needs=("footprint",),
            make=footprint,
        ),
        Figure(
            "figure 17",
            "groups of cores that share a cache",
            "+79 % word count, +58 % sort, +69 % log statistics, +24 % inverted index on 48 cores",
            SIMULATED,
            ("groups simulated",),
            groups,
        ),
        Figure(
            "figure 18",
            "time by the size of an iteration",
            "best at 6.3 MB, 160 sub-jobs for each GB",
            needs=("tiles",),
            make=tiles,
        ),
        Figure(
            "figure 19",
            "misses of the data cache",
            "2.4x to 4.4x fewer for word count, sort and log statistics",
            "counted by cachegrind, which simulates described caches; the machine shows no counters",
            ("caches",),
            caches,
        ),
        Figure(
            "figure 20",
            "accesses to remote caches",
            "more than 90 % fewer",
            SIMULATED,
            ("groups simulated",),
            remote,
        ),
        Figure(
            "figure 21",
            "what the pipeline saves",
            "combine phase: -5 % word count, -11 % sort, -22 % log statistics; 89 % of the inverted index's idle without",
            kind=BOTH,
            needs=("pipeline", "groups simulated"),
            make=pipeline,
        ),
        Figure(
            "figure 22",
            "cost of backups, word count of 1 GB",
            "after each of 160 sub-jobs 6 % and 91 MB, every 10 under 1 %, with 16 sub-jobs 31 MB",
            needs=("saves",),
            make=saves,
        ),
        Figure(
            "figure 23",
            "throughput of a server, 100 mixed jobs of 100 MB",
            "1.60x to 1.94x of Phoenix's",
            SIMULATED,
            ("server simulated",),
            server,
        ),
        Figure(
            "figure 24",
            "time of phases",
            "word count: Phoenix++ 1.19x of Ostrich, Ostrich++ 1.15x of Phoenix++ on 48 cores",
            needs=("jobs",),
            make=phases,
        ),
        Figure(
            "figure 25",
            "cost of online answers, word count",
            "+11.1 and +2.7 % for each 1 and 10 % of the input with one tier, +96.2 and +11.0 % with two",
            needs=("show",),
            make=shows,
        ),
        Figure(
            "figure 26",
            "when the top words are final",
            "top 3, 5, 10, 20 after 9, 18, 45, 79 % of 6.4 GB of Wikipedia",
            needs=("stable",),
            make=finals,
        ),
        Figure(
            "figure 27",
            "incremental log statistics, a growing log",
            "in a plot: time follows the new data",
            needs=("appended",),
            make=appended,
        ),
        Figure(
            "figure 28",
            "incremental word count, 20 random changes",
            "first run under +11 %; with 100 iterations -70.4 %",
            needs=("edited",),
            make=edited,
        ),
    ),
)
