"""k-means with numpy: the points stay where they are, and sums have the same bits for any number of workers."""

from typing import Any

import numpy as np
import tegula as tg

Array = np.ndarray[Any, np.dtype[np.float64]]


def assign(rows: Array, centres: Array) -> tuple[Array, Array]:
    """Return the coordinates of each point, and a 1, below numbers that count them from its nearest centre's first."""
    nearest = ((rows[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    values = np.column_stack([rows, np.ones(len(rows))])
    width = values.shape[1]
    return nearest[:, None] * width + np.arange(width), values


with tg.Engine(workers=8) as engine:
    points = engine.array(np.load("points.npy", mmap_mode="r"))
    centres = points.sample(3, seed=1)
    for _ in range(50):
        mapped = points.map_array(assign, args=(centres,), on="threads")
        sums = mapped.sum().run().to_numpy().reshape(len(centres), -1)
        centres, before = sums[:, :-1] / sums[:, -1:], centres
        if np.array_equal(centres, before):
            break
print(centres.round(3).tolist())
print(tg.kmeans(np.load("points.npy"), 3, seed=1, start="spread").counts)
