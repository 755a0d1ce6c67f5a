"""What a running job has seen so far: its pairs, and what can be told of the whole input from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tegula.errors import OptionError

if TYPE_CHECKING:
    from tegula import _tegula
    from tegula.result import Pair, Result


class Estimate(NamedTuple):
    """What a count or a sum will be at the end, as far as it can be told from a part of the input.

    Attributes:
        total: the value so far, scaled to the whole input by its bytes.
        within: with 95 % confidence the value at the end is at most this far from `total`: 0 when all was seen, None
            until the key was shown twice.

    The interval is that of the ratio estimator, and holds as far as the part that was seen resembles the rest: not
    where the input is sorted by what is counted.
    """

    total: float
    within: float | None


class Seen:
    """What a running job has seen so far. Made by `Job.stream`.

    Attributes:
        number: the number of the show, from 1.
        part: the part of the input that the pairs are of, up to 1; None of a stream of unknown length.
        bytes: its bytes.
        keys: distinct keys so far; None where they were not counted.
        seconds: time since the map began.
        is_last: whether the pairs are those of the whole input.
        result: the pairs.
    """

    def __init__(
        self,
        seen: _tegula.Seen,
        result: Result,
        estimated: _tegula.Estimated | str | None = None,
    ) -> None:
        """`estimated`: the estimates of the pairs, or why there are none; None where the input has no known length."""
        self._estimated = estimated
        self._places: dict[Any, int] = {}
        self._planned = seen.bytes_planned
        self.number = seen.number
        self.part = seen.part
        self.bytes = seen.bytes
        self.keys = seen.keys
        self.seconds = seen.seconds
        self.is_last = seen.is_last
        self.result = result
        self._stable = seen.stable

    def __repr__(self) -> str:
        part = "?" if self.part is None else f"{self.part:.0%}"
        return f"<tegula.Seen of {part} of the input: {len(self.result)} pairs>"

    def top(self, count: int, by: str | None = None) -> list[Pair]:
        """Return the pairs with the greatest values, as `Result.top`."""
        return self.result.top(count, by)

    def estimate(self, key: Any, by: str | None = None) -> Estimate | None:
        """Return what the value of `key` will be at the end. None if this show has no such key, and of a stream of
        unknown length.

        `by` names a column of an `agg`; the default is the first. Only counts and sums have estimates. Shows that the
        loop missed do no harm.

        >>> for seen in tg.text("requests.txt").words("alpha").count().stream(top=2):
        ...     print(seen.estimate("get"))
        Estimate(total=2.0, within=0.0)
        """
        if isinstance(self._estimated, str):
            raise OptionError(f"estimate: {self._estimated}")
        if self._estimated is None:
            return None
        if not self._places:
            self._places = {key: place for place, (key, _) in enumerate(self.result)}
        place = self._places.get(key)
        if place is None:
            return None
        try:
            found = self._estimated.of(self.result._column(by), place)
        except IndexError:
            raise OptionError(
                f"estimate: {by or 'the first column'} does not add up; name a count or a sum"
            ) from None
        return None if found is None else Estimate(*found)

    def stable_since(self, count: int, *, least: float = 0.2) -> float | None:
        """Return since which part of the input the first `count` keys are the same ones, in whatever order.

        None while that was so for less than the part `least` of the input, a fifth by default, so that
        `if seen.stable_since(10): break` leaves when the first ten have not changed for as long. The last show, after
        which nothing changes, gives a part always. None, too, if there are fewer keys; at most 1000 are compared. Of a
        stream of unknown length, parts are those of what was read so far.
        """
        if not 0 < count <= len(self._stable):
            return None
        whole = self._planned or self.bytes
        since = self._stable[count - 1]
        if not self.is_last and self.bytes - since < least * whole:
            return None
        return min(since / whole, 1.0) if whole else 1.0
