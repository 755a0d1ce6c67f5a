"""The figures of SupMR: M. Sevilla and others, Circumventing Disk and Memory Bandwidth Bottlenecks for Scale-up
MapReduce, 2014.
"""

from figure import Figure, Made, Paper
from kept import Kept, wall_s
from plot import Line, Lines


def of_job(kept: Kept, job: str) -> dict:
    return kept.run("utilisation", job=job)


def drawn(recorded: dict, title: str, before_s: float = 0.0) -> Lines:
    """User, system and I/O-wait time of processors over time; `before_s` seconds were spent reading before."""
    processors = recorded["processors"]

    def part(name: str) -> tuple[tuple[float, float], ...]:
        step = max(1, len(processors) // 100)
        return tuple(
            (round(before_s + at, 3), args[name]) for at, args in processors[::step]
        )

    marks = tuple(
        (before_s + begin, name)
        for name, begin, end in recorded["stages"]
        if end - begin > 0.02 * recorded["wall_s"]
    )
    return Lines(
        title,
        "seconds",
        "processors",
        (
            Line("user", part("user")),
            Line("system", part("system")),
            Line("I/O wait", part("io_wait")),
        ),
        marks=marks,
    )


def stage_s(recorded: dict, wanted: str) -> float:
    return sum(end - begin for name, begin, end in recorded["stages"] if name == wanted)


def of_time(recorded: dict, name: str) -> float:
    """The mean number of processors at a kind of time."""
    points = recorded["processors"]
    spans = zip(
        points, [*(at for at, _ in points[1:]), recorded["wall_s"]], strict=True
    )
    return (
        sum(args[name] * max(0.0, end - at) for (at, args), end in spans)
        / recorded["wall_s"]
    )


def sort_before(kept: Kept) -> Made:
    run = of_job(kept, "sort")
    after, read_s = run["after"], run["read_first_s"]
    whole = read_s + after["wall_s"]
    return Made(
        f"If the file is read first, {100 * read_s / whole:.0f} % of the time of a sort is reading, and the computation that follows keeps {of_time(after, 'busy'):.2f} processors busy.",
        ("sort", "the paper, 60 GB", f"here, {run['input_bytes'] / 1e9:.0f} GB"),
        [
            ["read", "182.78 of 397.31 s", f"{read_s:.2f} of {whole:.2f} s"],
            ["compute", "less than 25 % of the time", f"{after['wall_s']:.2f} s"],
            ["merge", "191.23 s", f"{stage_s(after, 'merge'):.2f} s"],
        ],
        drawn(after, "Sort after its file was read", read_s),
    )


def sort_now(kept: Kept) -> Made:
    run = of_job(kept, "sort")["overlapped"]
    return Made(
        f"Each range is sorted once by one worker and written at its place, so there is no round of merges: the stage keeps on with {of_time(run, 'busy'):.2f} processors busy on "
        "average over the whole job, reading included.",
        ("sort", "the paper, SupMR", "here"),
        [
            [
                "merge",
                "3.13x as fast: 61.14 instead of 191.23 s",
                f"{stage_s(run, 'merge'):.2f} of {run['wall_s']:.2f} s",
            ],
            ["total", "397.31 to 272.58 s, 1.46x", f"{run['wall_s']:.2f} s"],
        ],
        drawn(run, "Sort, reading overlaps"),
    )


def ingest(kept: Kept) -> Made:
    run = of_job(kept, "word count")
    whole = run["read_first_s"] + run["after"]["wall_s"]
    now = run["overlapped"]
    return Made(
        f"Reading while mapping makes a word count of a cold file {whole / now['wall_s']:.2f} times as fast as reading it first; I/O wait is {of_time(now, 'io_wait'):.2f} processors on average.",
        ("word count", "the paper, 155 GB", f"here, {run['input_bytes'] / 1e9:.1f} GB"),
        [
            ["read first", "471.75 s", f"{whole:.2f} s"],
            [
                "overlapped",
                "407.58 s (1 GB chunks), 429.76 s (50 GB)",
                f"{now['wall_s']:.2f} s",
            ],
            ["speed-up", "1.16x, 1.10x", f"{whole / now['wall_s']:.2f}x"],
        ],
        drawn(now, "Word count of a cold file, reading overlaps"),
    )


WAYS = {"cached": "into the page cache", "direct": "past it"}


def chunks(kept: Kept) -> Made:
    rows, lines = [], []
    for workers in (1, 2):
        part = kept.raw("ingest")["measured"][f"workers {workers}"]
        sizes = [(size, float(seconds)) for size, seconds in part["sizes"][1:]]
        fixed = [
            (int(size) / 1024, seconds) for size, seconds in sizes if size != "auto"
        ]
        auto = next(seconds for size, seconds in sizes if size == "auto")
        lines.append(Line(f"{workers} worker{'s'[: workers - 1]}", tuple(fixed)))
        best = min(seconds for _, seconds in fixed)
        for reads, read_s, compute_s, _, both_s, *_ in part["cold"][1:]:
            apart = float(read_s) + float(compute_s)
            rows.append(
                [
                    f"{workers} worker{'s'[: workers - 1]}, {WAYS[reads]}",
                    f"{best:.3f} to {max(s for _, s in fixed):.3f} s",
                    f"{auto:.3f} s",
                    f"{auto / best:.3f}",
                    f"{apart:.2f} s",
                    f"{float(both_s):.2f} s",
                    f"{apart / float(both_s):.2f}x",
                ]
            )
    rows.insert(
        0,
        [
            "the paper: none, 1 GB, 50 GB",
            "407.58 to 429.76 s",
            "",
            "",
            "471.75 s",
            "407.58 s",
            "1.16x",
        ],
    )
    return Made(
        "Splits of 64 KiB to 4 MiB take the same time to a per cent where reading is the bottleneck, and what the engine finds is as good as the best. "
        f"With two workers a cold file is counted {rows[-1][-1]} as fast overlapped as read first, if it is read past the page cache, as one that memory would not keep is; into the "
        f"cache {rows[-2][-1]}, because the workers' cores fill it.",
        (
            "word count",
            "by size of chunk",
            "found here",
            "of the best",
            "read, then computed",
            "overlapped",
            "gain",
        ),
        rows,
        Lines(
            "Word count by the size of what is read at a time",
            "KiB",
            "seconds",
            tuple(lines),
            is_x_logarithmic=True,
        ),
    )


def hdfs(kept: Kept) -> Made:
    runs = {
        name: kept.find("remote", program=name, input="source256.txt")
        for name in ("word count, disk", "word count, hdfs", "-cat of Hadoop, hdfs")
    }
    apart = wall_s(runs["-cat of Hadoop, hdfs"]) + wall_s(runs["word count, disk"])
    together = wall_s(runs["word count, hdfs"])
    return Made(
        f"From HDFS on the same machine a word count takes {together:.2f} s, and {apart:.2f} s where Hadoop's client copies the file first: {apart / together:.1f} times as long.",
        ("word count", "the paper, 30 GB, 32 nodes", "here, 268 MB, loopback"),
        [
            ["copied first", "", f"{apart:.2f} s"],
            ["read while mapping", "7 s less", f"{together:.2f} s"],
        ],
        None,
    )


SUPMR = Paper(
    "supmr",
    "SupMR: M. Sevilla, I. Nassi, K. Ioannidou, S. Brandt and C. Maltzahn, *SupMR: Circumventing Disk and Memory Bandwidth Bottlenecks for Scale-up MapReduce*, 2014",
    "two processors of eight cores with hyper-threading (32 contexts), 384 GB, three disks in RAID 0 (384 MB/s)",
    (
        Figure(
            "figure 1",
            "utilisation of a sort",
            "compute is less than 25 % of 397 s",
            needs=("utilisation",),
            make=sort_before,
        ),
        Figure(
            "figure 5",
            "utilisation of a word count, with chunks and without",
            "1.16x with 1 GB chunks, 1.11x with 50 GB",
            needs=("utilisation",),
            make=ingest,
        ),
        Figure(
            "figure 6",
            "utilisation of a sort by SupMR",
            "merge 3.13x as fast",
            needs=("utilisation",),
            make=sort_now,
        ),
        Figure(
            "figure 7",
            "word count from HDFS",
            "7 s less with reading overlapped",
            needs=("remote",),
            make=hdfs,
        ),
        Figure(
            "table II",
            "times by chunk size",
            "word count 471.75, 407.58, 429.76 s; sort 397.31, 272.58 s",
            needs=("ingest",),
            make=chunks,
        ),
    ),
)
