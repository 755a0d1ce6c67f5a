"""Numpy's sources of random bits, of which each of its generators has one: those that there are, and how each was seeded.

It is sent to companions by value, as `task.py` is, so it must import nothing of this package but by value.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

# The part of a source's state that draws do not change, by the name of its kind.
LASTING = {"PCG64": "inc", "PCG64DXSM": "inc", "Philox": "key"}

# The numbers of MT19937 that are drawn together, and the most that are looked through.
BLOCK = 624
DRAWN_MOST = 1 << 20


def of_numpy() -> list[Any]:
    """Return numpy's sources of random bits."""
    numpy = sys.modules.get("numpy.random")
    if numpy is None:
        return []
    kind = numpy.BitGenerator
    found = [one for one in gc.get_objects() if issubclass(type(one), kind)]
    # That of numpy's own functions may have been made before.
    return usual_of_numpy() + found


def usual_of_numpy() -> list[Any]:
    """Return the source of random bits of numpy's own functions, if they are imported."""
    get = getattr(sys.modules.get("numpy.random"), "get_bit_generator", None)
    return [get()] if get else []


def entropy_of(bits: Any) -> int | None:
    """Return the number that numpy's random bits were made of; none after `numpy.random.seed`."""
    entropy = getattr(getattr(bits, "seed_seq", None), "entropy", None)
    return entropy if isinstance(entropy, int) else None


def is_from_seed(bits: Any) -> bool:
    """Whether a source is where draws alone lead it from its own seed. A state that is set leaves the seed as it was."""
    begun = type(bits)(bits.seed_seq)
    name, now = bits.state["bit_generator"], bits.state["state"]
    if name in LASTING:
        return alike(now, begun, LASTING[name])
    if name == "SFC64":
        # The last word counts the draws.
        drawn = int(now["state"][3]) - int(begun.state["state"]["state"][3])
        if 0 < drawn <= DRAWN_MOST:
            begun.random_raw(drawn, output=False)
        return alike(now, begun, "state")
    if name == "MT19937":
        for _ in range(DRAWN_MOST // BLOCK):
            if alike(now, begun, "key"):
                return True
            begun.random_raw(BLOCK, output=False)
        return False
    # One of another library, whose draws are not known.
    return True


def alike(now: dict[str, Any], begun: Any, part: str) -> bool:
    """Whether a source's state has the part of another source's."""
    return bool(sys.modules["numpy"].array_equal(now[part], begun.state["state"][part]))
