"""The figures of Ostrich on what tiles make possible: saves, a server of many jobs, answers that are shown while a job runs,
and jobs over input that changed."""

from figure import Made
from kept import Kept, cpu_s
from plot import Bars, Line, Lines


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
