"""The figures of M. M. Rafique, B. Rose, A. R. Butt and D. S. Nikolopoulos, Supporting MapReduce on Large-Scale
Asymmetric Multi-Core Clusters, SIGOPS OSR 43(2), 2009.
"""

from statistics import median

from figure import BOTH, Figure, Made, Paper
from kept import Kept
from plot import Bars, Line, Lines

CELL = "it needs nodes whose memory is too small for their part of the input; here such a node is sent pieces (`--nodes local:1,1x1:64M:streamed`), and was not timed by input size"


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
            not_made=CELL,
        ),
        Figure(
            "figure 6",
            "histogram by input size",
            "AcB +68.2 %, Blade +90.0 % over Basic",
            not_made=CELL,
        ),
        Figure(
            "figure 7",
            "k-means by input size",
            "5.5 s an iteration instead of 319 at 32 MB",
            not_made=CELL,
        ),
        Figure(
            "table 1",
            "size of the unit, found and hand-tuned",
            "linear regression 30 of 32 MB in 16 iterations and 0.65 s, word count 2 of 3 MB, histogram 1 of 2, k-means 0.12 of 0.37; less than 0.5 % of a job of 2 GB",
            not_made="this machine has no device to send units to; `make bench-gpu` measured whole jobs on an H100 (docs/devices.md), and tests hold the emulated device within a tenth of the ideal time",
        ),
        Figure(
            "figure 8",
            "time by the size of the unit",
            "in a plot: flat, then rising steeply when a node pages",
            not_made="the simulated policies of figure 4 have the sizes 1, 16 and 64 tiles; a node here never pages, because a lease fits its memory",
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
