"""Many figures of a key at once, and the answer as a Polars frame."""

import sys
from collections.abc import Iterator

import tegula as tg


def parse(line: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield a status and the bytes of the answer."""
    fields = line.split()
    if fields[9] != "-":
        yield fields[8], {"bytes": int(fields[9])}


by_status = (
    tg.text(sys.argv[1])
    .map(parse)
    .agg(
        n=tg.count(), mean=tg.mean("bytes"), most=tg.max("bytes"), total=tg.sum("bytes")
    )
    .run()
)
print(by_status.to_polars())
