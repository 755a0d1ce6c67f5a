"""The figures of M. M. Rafique, B. Rose, A. R. Butt and D. S. Nikolopoulos, Supporting MapReduce on Large-Scale
Asymmetric Multi-Core Clusters, SIGOPS OSR 43(2), 2009.
"""

from statistics import median

from figure import BOTH, Figure, Made, Paper
from kept import Kept
from measure import Failed
from plot import Bars, Line, Lines


def cells(kept: Kept) -> dict[str, list[tuple[int, float]]]:
    """Of each policy, the part of all speeds that is used, by number of nodes."""
    table = kept.tables("nodes simulated")[""]
    counts = [int(cell.split()[0]) for cell in table[0][1:]]
    return {
        row[0].strip("*"): list(
            zip(counts, (float(cell.split()[0]) for cell in row[1:]), strict=True)
        )
        for row in table[1:]
    }


def real(kept: Kept) -> list[dict]:
    """The runs of a number of nodes under quotas. Others are of one node that is lost, or sent its input."""
    return [run for run in kept.runs("nodes") if "nodes" in run]


def basic(kept: Kept) -> Made:
    policies = cells(kept)
    rows, lines = [], []
    for name, points in policies.items():
        if "lost" not in name:
            lines.append(
                Line(name, tuple((float(n), part) for n, part in points), "simulated")
            )
            rows.append([name, *(f"{part:.3f}" for _, part in points)])
    eight = {name: dict(points)[8] for name, points in policies.items()}
    gain = 100 * (eight["leases by rate"] / eight["equal parts"] - 1)
    measured = [
        (
            run["nodes"],
            median(one["wall_s"] for one in run["runs"]),
            median(run["equal_parts_wall_s"]),
        )
        for run in real(kept)
    ]
    nodes, ours_s, equal_s = measured[-1]
    rows.append(
        [
            f"{nodes} local nodes under quotas, measured: equal parts {equal_s:.1f} s, leases {ours_s:.1f} s",
            *[""] * 5,
        ]
    )
    return Made(
        f"Eight nodes of unequal speed do {gain:.0f} % more in the same time with leases by rate than with equal parts (the paper's Basic), and {nodes} local processes under quotas need {ours_s:.1f} instead of "
        f"{equal_s:.1f} s.",
        (
            "part of all speeds that is used",
            *(f"{n} nodes" for n, _ in next(iter(policies.values()))),
        ),
        rows,
        Lines(
            "Part of all speeds that is used",
            "nodes",
            "part",
            tuple(lines),
            is_x_logarithmic=True,
        ),
    )


def scaling(kept: Kept) -> Made:
    points = cells(kept)["leases by rate"]
    runs = [
        (
            run["nodes"],
            sum(run["quotas"]),
            median(one["wall_s"] for one in run["runs"]),
            median(run["cpu_alone_s"]),
        )
        for run in real(kept)
    ]
    rows = [
        [
            f"{n} nodes, simulated",
            "6.9 with 8 nodes on average" if n == 8 else "",
            f"{n * part:.1f} of {n}",
        ]
        for n, part in points
    ]
    rows += [
        [
            f"{n} local nodes under quotas of {quota:.2f} cores, measured",
            "",
            f"{alone / wall:.2f} of {quota:.2f}",
        ]
        for n, quota, wall, alone in runs
    ]
    return Made(
        f"Leases by rate use {100 * dict(points)[8]:.1f} % of all speeds with 8 simulated nodes and {100 * points[-1][1]:.1f} % with {points[-1][0]}, where the paper's network was full at the eighth.",
        ("speed-up", "the paper", "here"),
        rows,
        Lines(
            "Speed-up, in nodes of the mean speed",
            "nodes",
            "nodes' worth",
            (
                Line("the paper, mean of 4 jobs", ((1.0, 1.0), (8.0, 6.9)), "paper"),
                Line(
                    "leases by rate",
                    tuple((float(n), n * part) for n, part in points[:2]),
                    "simulated",
                ),
            ),
        ),
    )


def manager(kept: Kept) -> Made:
    runs = [
        (
            run["nodes"],
            median(one["driver_cpu_s"] / one["wall_s"] for one in run["runs"]),
        )
        for run in real(kept)
    ]
    return Made(
        f"The driver takes {1000 * runs[0][1]:.1f} thousandths of a core with one node and {1000 * runs[-1][1]:.1f} with {runs[-1][0]}: its load is that of the pairs that come together at the end, and does not grow with the input, which nodes read themselves.",
        ("nodes", "the paper", "cores of the driver"),
        [
            [str(n), "no effect on a compilation beside it", f"{part:.4f}"]
            for n, part in runs
        ],
        Bars(
            "Processor time of the driver",
            "thousandths of a core",
            tuple(str(n) for n, _ in runs),
            (("driver", tuple(1000 * part for _, part in runs)),),
        ),
    )


def by_size(job: str, unit: str = ""):
    """A job over four small nodes by the size of its input: equal parts, and leases."""

    def make(kept: Kept) -> Made:
        runs = [run for run in kept.runs("nodes by size") if run["job"] == job]
        if not runs:
            raise Failed("`make bench-nodes-sizes` makes it")
        rows, lines = [], {"equal parts (Basic)": [], "leases (AcB)": []}
        for run in runs:
            rounds = run["rounds"]
            equal, leased = (
                median(run[of]) / rounds for of in ("basic_wall_s", "leases_wall_s")
            )
            for name, seconds in zip(lines, (equal, leased), strict=True):
                lines[name].append((float(run["megabytes"]), seconds))
            rows.append(
                [
                    f"{run['megabytes']} MB",
                    f"{equal:.2f} s",
                    f"{leased:.2f} s",
                    f"{100 * (equal / leased - 1):+.0f} %",
                ]
            )
        largest = rows[-1]
        return Made(
            f"Over four nodes of 64 MiB with 0.8, 0.4, 0.2 and 0.1 of a core, {largest[0]} take {largest[2]}{unit} by leases and {largest[1]} in equal "
            "parts at once, which wait for the slowest node; none pages, because a job keeps to its memory in either way.",
            ("input", f"equal parts{unit}", f"leases{unit}", "faster by"),
            rows,
            Lines(
                f"{job[0].upper()}{job[1:]} over four small nodes",
                "MB",
                "seconds",
                tuple(Line(name, tuple(points)) for name, points in lines.items()),
                is_x_logarithmic=True,
            ),
        )

    return make


TABLE_1 = {
    "linreg": ("linear regression", "30 of 32 MB in 16 iterations, 0.65 s"),
    "wordcount": ("word count", "2 of 3 MB in 8, 1.82 s"),
    "histogram": ("histogram", "1 of 2 MB in 4, 0.15 s"),
    "kmeans": ("k-means", "0.12 of 0.37 MB in 16, 1.09 s"),
}


def of_units(kept: Kept) -> dict[tuple[str, str], tuple[dict[int, float], list[dict]]]:
    """Of each device and job: the time of units of each size, and the runs that found theirs."""
    found: dict[tuple[str, str], tuple[dict[int, float], list[dict]]] = {}
    spans: dict[tuple[str, str, int], list[float]] = {}
    for run in kept.runs("units"):
        of = (run["backend"], run["job"])
        fixed, free = found.setdefault(of, ({}, []))
        if run["fixed_bytes"] is None:
            free.append(run)
        else:
            # What memory had room for, of the size that was set.
            size = run["unit_bytes"]
            spans.setdefault((*of, size), []).append(run["span_s"])
            fixed[size] = median(spans[*of, size])
    return found


def unit_sizes(kept: Kept) -> Made:
    rows, costs, overs = [], [], []
    for (backend, job), (fixed, free) in of_units(kept).items():
        name, printed = TABLE_1[job]
        best = min(fixed, key=lambda size: fixed[size])
        size, tried, seconds, span = (
            median(run[of] for run in free)
            for of in ("unit_bytes", "sizing_units", "sizing_s", "span_s")
        )
        scaled = span * (2e9 / free[0]["bytes"])
        costs.append(100 * (span - fixed[best]) / scaled)
        overs.append(span / fixed[best])
        where = "nodes described" if backend == "emulated" else "PoCL, this processor"
        rows.append(
            [
                f"{name}, {where}",
                printed if backend == "emulated" else "",
                f"{size / 1e6:.2f} of {best / 1e6:.2f} MB",
                f"{tried:.0f}",
                f"{seconds:.3f} s",
                f"{overs[-1]:.3f}",
            ]
        )
    return Made(
        f"Runs that begin without knowledge take {min(overs):.3f} to {max(overs):.3f} of the time of the best fixed size. Their first units, of growing size, are "
        "work of the job, so what finding costs is in that ratio and not in the seconds until the size is known.",
        (
            "job",
            "the paper: found, of hand-tuned",
            "found here, of the best fixed",
            "units",
            "known after",
            "time, of the best fixed",
        ),
        rows,
        None,
    )


def by_unit(kept: Kept) -> Made:
    of = of_units(kept)
    lines, rows = [], []
    for (backend, job), (fixed, _) in of.items():
        if backend != "emulated":
            continue
        best = min(fixed.values())
        name = TABLE_1[job][0]
        lines.append(
            Line(
                name,
                tuple((size / 1e6, span / best) for size, span in fixed.items()),
                "simulated",
            )
        )
    sizes = list(next(iter(of.values()))[0])
    jobs = [job for backend, job in of if backend == "emulated"]
    for size in sizes:
        spans = [of["emulated", job][0] for job in jobs]
        rows.append(
            [
                f"{size / 1e6:.2f} MB",
                *(f"{span[size] / min(span.values()):.2f}" for span in spans),
            ]
        )
    return Made(
        "On described nodes that page above the paper's hand-tuned sizes, time by the size of a unit falls while fixed costs are spread, is flat, and rises where a node pages.",
        ("unit, time of the best", *(TABLE_1[job][0] for job in jobs)),
        rows,
        Lines(
            "Time by the size of a unit, of the best",
            "MB",
            "times",
            tuple(lines),
            is_x_logarithmic=True,
        ),
    )


ASYMMETRIC = Paper(
    "asymmetric",
    "M. M. Rafique, B. Rose, A. R. Butt and D. S. Nikolopoulos, *Supporting MapReduce on Large-Scale Asymmetric Multi-Core Clusters*, SIGOPS OSR 43(2), 2009",
    "a manager of two Xeon of four cores at 3 GHz and 16 GB, eight Sony PS3 (Cell, six SPE, 256 MB), gigabit Ethernet",
    (
        Figure(
            "figure 4",
            "linear regression by input size, four configurations",
            "AcB +24.3 %, Blade +60.3 % over Basic",
            BOTH,
            ("nodes", "nodes simulated"),
            basic,
        ),
        Figure(
            "figure 5",
            "word count by input size",
            "AcB +20.2 %, Blade +54.4 % over Basic",
            needs=("nodes by size",),
            make=by_size("word count"),
        ),
        Figure(
            "figure 6",
            "histogram by input size",
            "AcB +68.2 %, Blade +90.0 % over Basic",
            needs=("nodes by size",),
            make=by_size("histogram"),
        ),
        Figure(
            "figure 7",
            "k-means by input size",
            "5.5 s an iteration instead of 319 at 32 MB",
            needs=("nodes by size",),
            make=by_size("k-means", " for a round"),
        ),
        Figure(
            "table 1",
            "size of the unit, found and hand-tuned",
            "linear regression 30 of 32 MB in 16 iterations and 0.65 s, word count 2 of 3 MB, histogram 1 of 2, k-means 0.12 of 0.37; less than 0.5 % of a job of 2 GB",
            kind="measured, on the processor as a device; described nodes simulated with assumed costs",
            needs=("units",),
            make=unit_sizes,
        ),
        Figure(
            "figure 8",
            "time by the size of the unit",
            "in a plot: flat, then rising steeply when a node pages",
            kind="on described nodes, simulated with assumed costs",
            needs=("units",),
            make=by_unit,
        ),
        Figure(
            "figure 9", "load of the manager", "flat", needs=("nodes",), make=manager
        ),
        Figure(
            "figure 10",
            "scaling to eight nodes",
            "6.9 on average, 7.8 with ten times the computation",
            BOTH,
            ("nodes", "nodes simulated"),
            scaling,
        ),
    ),
)
