"""Adds up the seconds each user was online with DuckDB, as fast as it was seen to do it.

Takes a log of `user login|logout seconds` lines whose users are numbers, and a number of threads;
writes all users with their seconds, by user, as tab-separated lines. Users are read as numbers,
which is faster than as text and what a person who knows the log would do.

    python3 bench/compare/duckdb_logins.py FILE THREADS OUT
"""

import sys

import duckdb

LINES = """read_csv(?, columns = {'user': 'INTEGER', 'action': 'VARCHAR', 'seconds': 'BIGINT'},
    delim = ' ', quote = '', escape = '', header = false, auto_detect = false)"""
SUMS = f"""COPY (SELECT "user", sum(if(action = 'logout', seconds, -seconds)) AS seconds
    FROM {LINES} GROUP BY "user" ORDER BY "user")
    TO '%s' (FORMAT csv, DELIMITER '\t', HEADER false)"""


def main(path: str, threads: str, out: str) -> None:
    connection = duckdb.connect(
        config={"threads": threads, "preserve_insertion_order": "false"}
    )
    connection.execute(SUMS % out, [path])


if __name__ == "__main__":
    main(*sys.argv[1:])
