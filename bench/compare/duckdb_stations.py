"""Finds the least, mean and greatest temperature of each station with DuckDB.

Takes a file of `name;temperature` lines and a number of threads; writes the stations by name as
tab-separated lines, means unrounded.

    python3 bench/compare/duckdb_stations.py FILE THREADS OUT
"""

import sys

import duckdb

LINES = """read_csv(?, columns = {'name': 'VARCHAR', 'degrees': 'DOUBLE'},
    delim = ';', quote = '', escape = '', header = false, auto_detect = false)"""
EXTREMES = f"""COPY (SELECT name, min(degrees), avg(degrees), max(degrees)
    FROM {LINES} GROUP BY name ORDER BY name)
    TO '%s' (FORMAT csv, DELIMITER '\t', HEADER false)"""


def main(path: str, threads: str, out: str) -> None:
    connection = duckdb.connect(
        config={"threads": threads, "preserve_insertion_order": "false"}
    )
    connection.execute(EXTREMES % out, [path])


if __name__ == "__main__":
    main(*sys.argv[1:])
