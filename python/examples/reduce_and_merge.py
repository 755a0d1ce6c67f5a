"""The median answer of each host, by a function over all values of a key; and who talks to whom, by a merge."""

import statistics
import sys
from collections.abc import Iterable, Iterator

import tegula as tg


def sizes(line: str) -> tuple[str, int] | None:
    """Return the status of a line of a web server's log, and the bytes that were sent."""
    status, size = line.rsplit(" ", 2)[1:]
    return (status, int(size)) if size != "-" else None


def median(key: str, values: Iterable[int]) -> float:
    """Return the median of a key's values."""
    return statistics.median(values)


def hosts(line: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the year of a line, and its host."""
    yield line[line.index("/20") + 1 :][:4], {line.split(" ", 1)[0]}


log = tg.text(sys.argv[1])
for status, middle in log.map(sizes).reduce(median).run():
    print(status, middle)
for year, found in log.map(hosts).merge(set.union).run():
    print(year, len(found))
