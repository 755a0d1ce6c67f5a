"""Each day the same job, after files came, went and changed: only what is new is mapped."""

import re

import tegula as tg


def expensive(line: str) -> list[str]:
    """Return the years that a line speaks of."""
    return re.findall(r"\b(?:19|20)\d\d\b", line)


job = tg.text("archive/").map(expensive).count()
answer = job.run(state="saved/", job="daily", incremental=True)
print(answer.to_dict())
print(f"{answer.stats['restored_bytes'] / answer.stats['bytes']:.1%} found again")
