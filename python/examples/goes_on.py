"""Survives a kill: the same program again goes on where it ended; with "again", only what is new is mapped."""

import sys

import tegula as tg


def years(line: str) -> list[str]:
    """Return the year of a line of a web server's log."""
    begin = line.find("/20")
    return [line[begin + 1 : begin + 5]] if begin >= 0 else []


source, state = sys.argv[1:3]
answer = (
    tg.text(source)
    .map(years)
    .count()
    .run(state=state, job="years", incremental=sys.argv[3:] == ["again"])
)
print(answer.to_dict())
