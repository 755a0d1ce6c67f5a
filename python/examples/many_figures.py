"""Many figures of a key at once, in Polars and in DuckDB."""

from collections.abc import Iterator

import duckdb
import tegula as tg


def parse(line: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield a host, and the figures of one of its requests."""
    host, ms, size = line.split()
    yield host, {"ms": float(ms), "bytes": int(size)}


per_host = (
    tg.text("logs/2026-11-*.gz")
    .map(parse)
    .agg(n=tg.count(), ms=tg.mean("ms"), worst=tg.max("ms"), bytes=tg.sum("bytes"))
    .run(workers=16, memory="4G")
)
print(per_host.to_polars().sort("worst"))
print(duckdb.from_arrow(per_host).aggregate("sum(n), max(worst)").fetchall())
