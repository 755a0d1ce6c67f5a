"""What a figure or table of a paper is here: the values that the paper printed beside those of this project, a plot,
one sentence, and the raw results that they come from.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from kept import Kept
from plot import Bars, Lines

MEASURED = "measured"
SIMULATED = "on described machines, simulated with recorded costs"
BOTH = f"measured; and {SIMULATED}"


@dataclass(frozen=True)
class Made:
    """A figure that was made."""

    sentence: str
    heads: tuple[str, ...]
    rows: list[list[str]]
    plot: Lines | Bars | None = None


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper. `not_made` says why it cannot be made here; else `make` makes it."""

    number: str
    """As in the paper: `figure 13` or `table II`."""
    title: str
    printed: str
    """The values that the paper has in its text and tables: its plots have no numbers."""
    kind: str = MEASURED
    needs: tuple[str, ...] = ()
    """Names of kept results (`kept.RESULTS`)."""
    make: Callable[[Kept], Made] | None = None
    not_made: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    name: str
    """The first part of the names of its figures, and of their files."""
    title: str
    machine: str
    """The machine of the paper's authors, as the paper has it."""
    figures: tuple[Figure, ...] = field(default_factory=tuple)

    def id_of(self, figure: Figure) -> str:
        """Returns what `FIGURES=` selects the figure by, such as `ostrich-13`."""
        words = figure.number.split()
        return (
            f"{self.name}-{words[-1].lower()}"
            if words[0] == "figure"
            else f"{self.name}-{'-'.join(words).lower()}"
        )
