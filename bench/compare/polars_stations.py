"""Finds the least, mean and greatest temperature of each station with Polars.

Takes a file of `name;temperature` lines and a number of threads; writes the stations by name as
tab-separated lines, means unrounded.

    python3 bench/compare/polars_stations.py FILE THREADS OUT
"""

import os
import sys


def main(path: str, threads: str, out: str) -> None:
    # Polars makes its threads when it is imported.
    os.environ["POLARS_MAX_THREADS"] = threads
    import polars

    schema = {"name": polars.String, "degrees": polars.Float64}
    lines = polars.scan_csv(
        path, separator=";", has_header=False, schema=schema, quote_char=None
    )
    degrees = polars.col("degrees")
    extremes = lines.group_by("name").agg(
        least=degrees.min(), mean=degrees.mean(), greatest=degrees.max()
    )
    extremes.sort("name").collect(engine="streaming").write_csv(
        out, separator="\t", include_header=False
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
