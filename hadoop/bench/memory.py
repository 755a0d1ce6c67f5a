#!/usr/bin/env python3
"""A small heap and a large shuffle: Hadoop's TeraSort of 4 GB with a heap of 1 GB, checked by its TeraValidate.

Everything lies in a folder of its own, which is deleted at the end; it takes about three times the data.

    python3 hadoop/bench/memory.py --gigabytes 4 --heap 1g --scratch /var/tmp
"""

import argparse
import tempfile
from pathlib import Path

from jvm import as_raw, run, write_results

PROGRAM = "org.apache.hadoop.examples.ExampleDriver"
ROW_BYTES = 100


def main() -> None:
    """Runs the three programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--heap", default="1g")
    parser.add_argument("--reduces", type=int, default=4)
    parser.add_argument("--scratch", type=Path, default=None)
    options = parser.parse_args()
    rows = int(options.gigabytes * 1e9 / ROW_BYTES)
    raw: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(dir=options.scratch) as name:
        folder = Path(name)
        steps = {
            "teragen": (str(rows), str(folder / "in")),
            "terasort": (str(folder / "in"), str(folder / "sorted")),
            "teravalidate": (str(folder / "sorted"), str(folder / "report")),
        }
        print(
            "| program | wall, s | processor, s | most memory, MB |\n|---|---|---|---|"
        )
        for program, arguments in steps.items():
            done = run(
                "tegula",
                PROGRAM,
                folder,
                (f"mapreduce.job.reduces={options.reduces}", "mapreduce.job.maps=8"),
                (program, *arguments),
                (f"-Xmx{options.heap}",),
            )
            raw.append(as_raw(done, what=program, rows=rows, heap=options.heap))
            memory = done.resident_peak_bytes / 1e6
            print(
                f"| {program} | {done.wall_s:.1f} | {done.cpu_s:.1f} | {memory:.0f} |"
            )
        # One line, the checksum, and nothing on keys out of order.
        report = (folder / "report" / "part-r-00000").read_text()
        if not report.startswith("checksum\t") or len(report.splitlines()) != 1:
            raise SystemExit(f"the output is not sorted:\n{report}")
    write_results("memory", raw)


if __name__ == "__main__":
    main()
