"""Random numbers of tasks: what the job's file has seeded goes on alike in each task, and all else differs, as in processes
that load the file each.

It is sent to companions by value, as `task.py` is, so it must import nothing of this package but by value.
"""

from __future__ import annotations

import contextlib
import gc
import random
import secrets
import sys
import weakref
from collections.abc import Iterator
from types import MethodType
from typing import Any


class Chance:
    """The generators of random numbers that a job's file has made, and which of them it has seeded."""

    def __init__(self) -> None:
        # That of the functions of `random`, which forks seed anew.
        self._usual: Any = vars(random)["seed"].__self__
        # Generators of `random` by their identity, with whether they are seeded.
        self._noted: dict[int, tuple[weakref.ref[random.Random], bool]] = {}
        # What numpy, or the file itself, has asked of the system as a seed.
        self._drawn: set[int | None] = set()
        self._is_watching = False
        self._state: Any = None
        self._unseeded: list[random.Random] = []
        self._unseeded_of_numpy: list[Any] = []

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Note what is seeded meanwhile."""
        kind = random.Random
        usual_seed, usual_setstate, usual_bits = (
            kind.seed,
            kind.setstate,
            secrets.randbits,
        )

        def seed(one: random.Random, a: Any = None, version: int = 2) -> None:
            usual_seed(one, a, version)
            self._note(one, a is not None)

        def setstate(one: random.Random, state: Any) -> None:
            usual_setstate(one, state)
            self._note(one, True)

        def randbits(k: int) -> int:
            drawn = usual_bits(k)
            if self._is_watching:
                self._drawn.add(drawn)
            return drawn

        with contextlib.ExitStack() as stack:
            for owner, name, function in (
                (kind, "seed", seed),
                (kind, "setstate", setstate),
                (random, "seed", MethodType(seed, self._usual)),
                (random, "setstate", MethodType(setstate, self._usual)),
                (secrets, "randbits", randbits),
                # What numpy took of `secrets`, if it is imported.
                (sys.modules.get("numpy.random.bit_generator"), "randbits", randbits),
            ):
                stack.enter_context(replaced(owner, name, function))
            self._drawn.update(map(entropy_of, usual_of_numpy()))
            self._drawn.discard(None)
            self._is_watching = True
            try:
                yield
            finally:
                self._is_watching = False

    def _note(self, one: random.Random, is_seeded: bool) -> None:
        if self._is_watching:
            self._noted[id(one)] = (weakref.ref(one), is_seeded)

    def settle(self) -> None:
        """Let tasks begin with the generators that there are."""
        noted = [(ref(), is_seeded) for ref, is_seeded in list(self._noted.values())]
        is_seeded = any(seeded for one, seeded in noted if one is self._usual)
        self._state = random.getstate() if is_seeded else None
        self._unseeded = [
            one
            for one, seeded in noted
            if one is not None and one is not self._usual and not seeded
        ]
        # A state that is set leaves the seed as it was, so it does not count.
        self._unseeded_of_numpy = [
            one for one in of_numpy() if entropy_of(one) in self._drawn
        ]

    def begin(self) -> None:
        """Give a task its numbers, in its process."""
        self._is_watching = False
        if self._state is not None:
            random.setstate(self._state)
        for one in self._unseeded:
            one.seed(None)
        for bits in self._unseeded_of_numpy:
            bits.state = type(bits)().state


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Let an attribute be another one, if it is there."""
    usual = getattr(owner, name, None)
    if usual is None:
        yield
        return
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, usual)


def of_numpy() -> list[Any]:
    """Return numpy's sources of random bits, of which each of its generators has one."""
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
