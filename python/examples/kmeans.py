"""k-means with numpy: the points stay where they are, and sums are the same to the bit for any number of workers."""

from typing import Any

import numpy as np
import tegula as tg

Array = np.ndarray[Any, np.dtype[np.float64]]


def assign(points: Array, centres: Array) -> dict[str, Any]:
    """Return the nearest centre of each point, and the point's coordinates."""
    distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return {"key": distances.argmin(axis=1), "x": points[:, 0], "y": points[:, 1]}


points = np.random.default_rng(1).normal(size=(20_000, 2))
points[:10_000] += 5
centres = points[[0, -1]].copy()
with tg.Engine() as engine:
    source = tg.array(points, engine=engine)
    while True:
        mapped = source.map_array(assign, args=(centres,), on="threads")
        means = mapped.agg(x=tg.mean("x"), y=tg.mean("y")).run()
        before, centres = (
            centres,
            np.stack([means.to_numpy("x"), means.to_numpy("y")], axis=1),
        )
        if np.array_equal(centres, before):
            break
print((centres.round(1) + 0).tolist())
