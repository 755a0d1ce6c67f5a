"""The figures of Metis: Y. Mao, R. Morris and F. Kaashoek, Optimizing MapReduce for Multicore Architectures, 2010."""

from figure import Figure, Made, Paper
from kept import Kept, cpu_s, wall_s
from measure import Failed
from plot import Bars

# Name here, input of number_jobs.json, and Metis's throughput over Phoenix's in figure 10 where the text has it.
NUMBERS = {
    "matrix product": "square.npy",
    "PCA": "rows.npy",
    "string match": "lines.txt",
    "linear regression": "points.bin",
    "histogram": "picture.bmp",
    "k-means": "grid.npy",
}
CONTAINERS = ("append", "tree", "hash-tree-256", "hash-tree", "hash", "adaptive")
WORKLOADS = ("few", "many", "both", "misled")


def of_job(kept: Kept, job: str, program: str, workers: int) -> dict | None:
    """The run of a program at one of the eight jobs; of PCA that which ends with the covariances, as the peers do."""
    if job == "word count":
        name = "tegula (alpha)" if program == "tegula" else program
        return kept.find(
            "word_count", program=name, workers=workers, input="letters.txt"
        )
    if job == "inverted index":
        name = "tegula, places of 5 words" if program == "tegula" else program
        return kept.find("index", program=name, workers=workers, input="source100.txt")
    if job == "PCA" and program == "tegula":
        runs = [
            run
            for run in kept.runs("numbers")
            if run["program"] == "tegula" and run["workers"] == workers
        ]
        return next(
            (run for run in runs if "pca" in run["argv"] and "0" in run["argv"]), None
        )
    return kept.find("numbers", program=program, workers=workers, input=NUMBERS[job])


def speed_up(kept: Kept) -> Made:
    rows, ours, theirs = [], [], []
    jobs = ("word count", "inverted index", *NUMBERS)
    for job in jobs:
        pair = [of_job(kept, job, "tegula", workers) for workers in (1, 2)]
        peer = [of_job(kept, job, "Metis", workers) for workers in (1, 2)]
        ours.append(wall_s(pair[0]) / wall_s(pair[1]) if all(pair) else None)
        theirs.append(wall_s(peer[0]) / wall_s(peer[1]) if all(peer) else None)
        printed = {
            "inverted index": "13.1x, 8.2x, 13.9x for its phases on 16 cores",
            "word count": "10.8x, 1.4x, 9.8x",
        }.get(job, "")
        rows.append([job, printed, shown(theirs[-1], "x"), shown(ours[-1], "x")])
    return Made(
        f"With two workers Tegula's jobs are {min(filter(None, ours)):.2f} to {max(filter(None, ours)):.2f} times as fast as with one.",
        ("speed-up of two cores", "the paper, 16 cores", "Metis here", "Tegula here"),
        rows,
        Bars(
            "Speed-up of two workers",
            "times",
            tuple(short(job) for job in jobs),
            (("Metis", tuple(theirs)), ("Tegula", tuple(ours))),
        ),
    )


def short(job: str) -> str:
    return {
        "word count": "WC",
        "inverted index": "II",
        "matrix product": "MM",
        "string match": "SM",
        "linear regression": "LR",
        "histogram": "Hist",
        "k-means": "Kmeans",
    }.get(job, job)


def shown(value: float | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:.2f}{unit}"


def throughput(kept: Kept) -> Made:
    rows, over_phoenix, over_metis = [], [], []
    jobs = ("word count", "inverted index", *NUMBERS)
    for job in jobs:
        tegula, phoenix, metis = (
            of_job(kept, job, program, 1)
            for program in ("tegula", "Phoenix++", "Metis")
        )
        over_phoenix.append(
            cpu_s(phoenix) / cpu_s(tegula) if phoenix and tegula else None
        )
        over_metis.append(cpu_s(metis) / cpu_s(tegula) if metis and tegula else None)
        rows.append([job, shown(over_phoenix[-1], "x"), shown(over_metis[-1], "x")])
    times = [value for value in (*over_phoenix, *over_metis) if value is not None]
    return Made(
        f"By processor time of one worker Tegula is {min(times):.2f} to {max(times):.2f} times as fast as Phoenix++ and Metis on these jobs. "
        "Phoenix++ has no inverted index, and compilers leave out the comparisons of its string match, because it uses no result of them.",
        ("times the speed of", "Phoenix++, here", "Metis, here"),
        rows,
        Bars(
            "Tegula's speed, of the peers' (processor time, one worker)",
            "times",
            tuple(short(job) for job in jobs),
            (
                ("over Phoenix++", tuple(over_phoenix)),
                ("over Metis", tuple(over_metis)),
            ),
            is_y_logarithmic=True,
        ),
    )


def seconds(kept: Kept) -> Made:
    printed = {
        "inverted index": (31.7, 12.3, 5.3),
        "word count": (65.3, 9.9, 5.9),
        "PCA": (5.3, 4.0, 3.7),
        "k-means": (3.1, 2.6, 2.7),
    }
    rows, series = [], {"Phoenix++": [], "Metis": [], "tegula": []}
    for job, (phoenix_s, tuned_s, metis_s) in printed.items():
        runs = {program: of_job(kept, job, program, 2) for program in series}
        for program, run in runs.items():
            series[program].append(wall_s(run) if run else None)
        here = [shown(wall_s(run) if run else None, " s") for run in runs.values()]
        rows.append(
            [job, f"Phoenix {phoenix_s} s, tuned {tuned_s} s, Metis {metis_s} s", *here]
        )
    ratio = series["Metis"][1] / series["tegula"][1]  # type: ignore[operator]
    return Made(
        f"With two workers word count takes Tegula {series['tegula'][1]:.2f} s and Metis {ratio:.0f} times as long on the same machine; the paper's table has the "
        "same four jobs on 16 cores and other inputs.",
        (
            "job",
            "the paper, 16 cores",
            "Phoenix++ here, 2 cores",
            "Metis here",
            "Tegula here",
        ),
        rows,
        Bars(
            "Seconds with two workers",
            "seconds",
            tuple(short(job) for job in printed),
            tuple((name, tuple(values)) for name, values in series.items()),
            is_y_logarithmic=True,
        ),
    )


def index_run(kept: Kept, container: str, input: str) -> dict | None:
    """The inverted index of a workload with two workers in a container."""
    runs = (
        run
        for run in kept.runs("containers")
        if run["program"] == container and run["input"] == input
    )
    return next(
        (run for run in runs if run["workers"] == 2 and "index" in run["argv"]), None
    )


def containers(workload: str, said: str):
    def make(kept: Kept) -> Made:
        input = f"{workload}.txt"
        runs = {
            name: run for name in CONTAINERS if (run := index_run(kept, name, input))
        }
        if len(runs) < len(CONTAINERS):
            raise Failed(
                "`make bench-containers` makes an inverted index in all containers"
            )
        words = next(iter(runs.values()))["answer"]["words"] / 1e6
        rates = {name: words / cpu_s(run) for name, run in runs.items()}
        best = max(rate for name, rate in rates.items() if name != "adaptive")
        rows = [
            [name, f"{rate:.1f} million pairs a second of processor time"]
            for name, rate in rates.items()
        ]
        return Made(
            f"{said} The adaptive container reaches {rates['adaptive'] / best:.2f} of the best that is fixed, and Metis's hash+tree {rates['hash-tree'] / best:.2f}. The adaptive one takes {cpu_s(runs['adaptive']):.1f} s of processor time in {wall_s(runs['adaptive']):.1f} s, with the reduce; hash+tree takes {cpu_s(runs['hash-tree']):.1f} s in {wall_s(runs['hash-tree']):.1f} s.",
            ("container", "here"),
            rows,
            Bars(
                f"Inverted index, {input}, two workers",
                "million pairs a second",
                tuple(rates),
                (("throughput", tuple(rates.values())),),
            ),
        )

    return make


def library(kept: Kept) -> Made:
    """What a job takes beyond a map that finds the same words and emits nothing."""
    rows, parts = [], {}
    for job, said in (("count", "word count"), ("index", "inverted index")):
        parts[said] = []
        for workload in WORKLOADS:
            whole, alone = (
                adaptive_run(kept, name, f"{workload}.txt") for name in (job, "map")
            )
            part = 100 * (1 - cpu_s(alone) / cpu_s(whole))
            parts[said].append(part)
            rows.append(
                [
                    f"{said}, {workload}.txt",
                    "nearly all library",
                    f"{cpu_s(alone):.2f} s",
                    f"{cpu_s(whole) - cpu_s(alone):.2f} s",
                    f"{part:.0f} %",
                ]
            )
    all_parts = [part for one in parts.values() for part in one]
    return Made(
        f"Maps that find the words and emit nothing take the application's time; grouping is {min(all_parts):.0f} to {max(all_parts):.0f} % of the processor "
        "time of a word count and an inverted index, so these jobs are the library's here, too.",
        ("job", "the paper", "map alone here", "the rest here", "library"),
        rows,
        Bars(
            "Processor time in the library",
            "per cent",
            WORKLOADS,
            tuple((name, tuple(one)) for name, one in parts.items()),
        ),
    )


def adaptive_run(kept: Kept, job: str, input: str) -> dict:
    return next(
        run
        for run in kept.runs("library")
        if run["program"] == "adaptive"
        and run["input"] == input
        and run["workers"] == 2
        and job in run["argv"]
    )


def prediction(kept: Kept) -> Made:
    rows, expected, predicted = [], [], []
    runs = [
        run
        for workload in WORKLOADS
        if (run := index_run(kept, "hash-tree", f"{workload}.txt"))
    ]
    if len(runs) < len(WORKLOADS):
        raise Failed(
            "`make bench-containers` makes the predictions of Metis's container"
        )
    for run in runs:
        figures = run["stats"]
        expected.append(figures["most_keys"] / 1e3)
        predicted.append(figures["predicted_keys"] / 1e3)
        overhead = 100 * figures["prediction_s"] / wall_s(run)
        rows.append(
            [
                run["input"],
                f"{run['answer']['keys']:,}",
                f"{figures['most_keys']:,}",
                f"{figures['predicted_keys']:,}",
                f"{overhead:.1f} %",
            ]
        )
    rows.insert(0, ["the paper: inverted index", "9.49 M", "593 K", "697 K", "0.8 %"])
    rows.insert(1, ["the paper: word count", "1 M", "1 M", "2.67 M", "6.3 %"])
    times = sorted(found / met for found, met in zip(predicted, expected, strict=True))
    return Made(
        f"A sample of the first 7 % of the input, as in section 3.4, predicts {times[0]:.1f} times the keys of a worker where hardly a key repeats, and {times[1]:.1f} to "
        f"{times[-1]:.1f} times where the sample has seen most of them; the engine's own containers grow by what they meet and predict nothing.",
        ("input", "keys", "of a worker", "predicted", "time of the prediction"),
        rows,
        Bars(
            "Keys of a worker: found and predicted",
            "thousands",
            tuple(run["input"].removesuffix(".txt") for run in runs),
            (("found", tuple(expected)), ("predicted", tuple(predicted))),
            is_y_logarithmic=True,
        ),
    )


METIS = Paper(
    "metis",
    "Metis: Y. Mao, R. Morris and F. Kaashoek, *Optimizing MapReduce for Multicore Architectures*, MIT-CSAIL-TR-2010-020, 2010",
    "16 cores: four AMD of four cores at 2.0 GHz, 512 KB L2 for each core, 2 MB L3 for each chip, 64 GB",
    (
        Figure(
            "figure 8",
            "parallel speed-up",
            "more than half of linear on 16 cores for inverted index and word count",
            needs=("word_count", "index", "numbers"),
            make=speed_up,
        ),
        Figure(
            "figure 9",
            "time in the application and in the library",
            "in a plot: inverted index and word count are nearly all library",
            needs=("library",),
            make=library,
        ),
        Figure(
            "figure 10",
            "throughput over Phoenix's",
            "in a plot: inverted index and word count gain most",
            needs=("word_count", "index", "numbers"),
            make=throughput,
        ),
        Figure(
            "figure 11",
            "seconds of four jobs",
            "inverted index 31.7 -> 5.3 s, word count 65.3 -> 5.9, PCA 5.3 -> 3.7, k-means 3.1 -> 2.7 from Phoenix to Metis",
            needs=("word_count", "index", "numbers"),
            make=seconds,
        ),
        Figure(
            "figure 12",
            "few keys, many repeats",
            "in a plot: hash+tree is best, append worst",
            needs=("containers",),
            make=containers("few", "Few keys repeat often."),
        ),
        Figure(
            "figure 13",
            "many keys, few repeats",
            "in a plot: append and tree are best, hash+tree somewhat slower",
            needs=("containers",),
            make=containers("many", "Many keys hardly repeat."),
        ),
        Figure(
            "figure 14",
            "many keys, many repeats",
            "in a plot: hash+tree is best by far",
            needs=("containers",),
            make=containers("both", "Many keys repeat often."),
        ),
        Figure(
            "figure 15",
            "unpredictable keys",
            "457,000 keys, 2.8 million predicted",
            needs=("containers",),
            make=containers("misled", "The first 7 % mislead."),
        ),
        Figure(
            "figure 16",
            "accuracy and cost of prediction",
            "inverted index 593 K expected, 697 K predicted, 0.8 %; word count 1 M, 2.67 M, 6.3 %",
            needs=("containers",),
            make=prediction,
        ),
    ),
)
