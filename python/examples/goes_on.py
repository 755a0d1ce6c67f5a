"""Survives a kill: the same program again goes on where it ended."""

import re

import tegula as tg


def expensive(line: str) -> list[str]:
    """Return the years that a line speaks of."""
    return re.findall(r"\b(?:19|20)\d\d\b", line)


job = tg.text("archive/").map(expensive).count()
answer = job.run(state="saved/", job="archive")
print(answer.to_dict())
