"""Adds up the seconds each user was online with Polars, as fast as it was seen to do it.

Takes a log of `user login|logout seconds` lines whose users are numbers, and a number of threads;
writes all users with their seconds, by user, as tab-separated lines. Users are read as numbers,
which is faster than as text and what a person who knows the log would do.

    python3 bench/compare/polars_logins.py FILE THREADS OUT
"""

import os
import sys


def main(path: str, threads: str, out: str) -> None:
    # Polars makes its threads when it is imported.
    os.environ["POLARS_MAX_THREADS"] = threads
    import polars

    schema = {"user": polars.Int32, "action": polars.String, "seconds": polars.Int64}
    lines = polars.scan_csv(
        path, separator=" ", has_header=False, schema=schema, quote_char=None
    )
    seconds = polars.col("seconds")
    change = (
        polars.when(polars.col("action") == "logout").then(seconds).otherwise(-seconds)
    )
    sums = lines.group_by("user").agg(change.sum()).sort("user")
    sums.collect(engine="streaming").write_csv(
        out, separator="\t", include_header=False
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
