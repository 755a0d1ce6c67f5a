"""Plots as SVG, all in one style: lines over a linear or a logarithmic axis, or groups of bars.

Takes numbers; hands on the text of an SVG file. The same numbers give the same bytes. What was printed in a paper is
grey, what is simulated is dashed, and what was measured here has a colour.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 176, 40, 52
COLORS = ("#0a7d55", "#1d4ed8", "#c2410c", "#7c3aed", "#b45309", "#0e7490", "#be185d")
PAPER_COLOR = "#6b7280"
GRID, TEXT = "#ddd", "#222"


@dataclass(frozen=True)
class Line:
    """A series of points; `form` says where they come from: `ours`, `paper` or `simulated`."""

    name: str
    points: tuple[tuple[float, float], ...]
    form: str = "ours"


@dataclass(frozen=True)
class Lines:
    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    is_x_logarithmic: bool = False
    """To the base of two."""
    y_least: float = 0.0
    marks: tuple[tuple[float, str], ...] = ()
    """Vertical lines with their names."""


@dataclass(frozen=True)
class Bars:
    """Groups of bars: for each series a value by group, or None where there is none."""

    title: str
    y: str
    groups: tuple[str, ...]
    series: tuple[tuple[str, tuple[float | None, ...]], ...]
    paper: tuple[str, ...] = ()
    """The series that a paper printed."""
    is_y_logarithmic: bool = False
    is_stacked: bool = False


def drawn(plot: Lines | Bars) -> str:
    """Returns the plot as the text of an SVG file."""
    body = lines_of(plot) if isinstance(plot, Lines) else bars_of(plot)
    return "\n".join([*head(plot.title), *body, "</svg>"]) + "\n"


def head(title: str) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, \'DejaVu Sans\', sans-serif" font-size="12">'
    )
    yield '<rect width="100%" height="100%" fill="white"/>'
    yield f'<text x="{LEFT}" y="22" font-size="14" font-weight="600" fill="{TEXT}">{escape(title)}</text>'


def ticks(least: float, most: float) -> list[float]:
    """Returns four to nine round numbers from `least` to `most` or a little more."""
    span = max(most - least, 1e-12)
    step = 10 ** math.floor(math.log10(span))
    for factor in (0.2, 0.5, 1, 2):
        if span / (step * factor) <= 8:
            step *= factor
            break
    first = math.floor(least / step + 1e-9)
    last = math.ceil(most / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def said(number: float) -> str:
    """Returns a number as an axis shows it: three digits, without zeros at the end."""
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def frame_y(values: Sequence[float], at: "Scale", name: str) -> Iterator[str]:
    right = WIDTH - RIGHT
    for value in values:
        y = at.y(value)
        yield f'<path d="M{LEFT} {y:.1f}H{right}" stroke="{GRID}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="{TEXT}">{said(value)}</text>'
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})" fill="{TEXT}">{escape(name)}</text>'


@dataclass(frozen=True)
class Scale:
    x_least: float
    x_most: float
    y_least: float
    y_most: float
    is_x_logarithmic: bool = False
    is_y_logarithmic: bool = False

    def x(self, value: float) -> float:
        part = part_of(value, self.x_least, self.x_most, self.is_x_logarithmic)
        return LEFT + part * (WIDTH - RIGHT - LEFT)

    def y(self, value: float) -> float:
        part = part_of(value, self.y_least, self.y_most, self.is_y_logarithmic)
        return HEIGHT - BOTTOM - min(1.0, max(0.0, part)) * (HEIGHT - BOTTOM - TOP)


def part_of(value: float, least: float, most: float, is_logarithmic: bool) -> float:
    if is_logarithmic:
        value, least, most = (math.log2(max(n, 1e-12)) for n in (value, least, most))
    return (value - least) / ((most - least) or 1.0)


def legend(names: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """The names of the series at the right, each after its color and dashes."""
    for row, (name, color, dashes) in enumerate(names):
        y = TOP + 8 + 18 * row
        x = WIDTH - RIGHT + 12
        yield f'<path d="M{x} {y}h18" stroke="{color}" stroke-width="3"{dashes}/>'
        yield f'<text x="{x + 24}" y="{y + 4}" fill="{TEXT}">{escape(name)}</text>'


def lines_of(plot: Lines) -> Iterator[str]:
    xs = [x for line in plot.lines for x, _ in line.points]
    ys = [y for line in plot.lines for _, y in line.points]
    y_ticks = ticks(min(plot.y_least, *ys), max(ys))
    at = Scale(min(xs), max(xs), y_ticks[0], y_ticks[-1], plot.is_x_logarithmic)
    yield from frame_y(y_ticks, at, plot.y)
    bottom = HEIGHT - BOTTOM
    x_ticks = sorted(set(xs)) if plot.is_x_logarithmic else ticks(min(xs), max(xs))
    last = -math.inf
    for value in x_ticks:
        x = at.x(value)
        if not min(xs) <= value <= max(xs) or x - last < 34:
            continue
        last = x
        yield f'<path d="M{x:.1f} {bottom}v4" stroke="{TEXT}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="{TEXT}">{said(value)}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle" fill="{TEXT}">{escape(plot.x)}</text>'
    for value, name in plot.marks:
        x = at.x(value)
        yield f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="{PAPER_COLOR}" stroke-dasharray="2 3"/>'
        yield f'<text x="{x + 3:.1f}" y="{TOP + 10}" fill="{PAPER_COLOR}" font-size="10">{escape(name)}</text>'
    names, colors = [], iter(COLORS * 3)
    for line in plot.lines:
        color = PAPER_COLOR if line.form == "paper" else next(colors)
        dashes = ' stroke-dasharray="6 4"' if line.form == "simulated" else ""
        names.append((line.name, color, dashes))
        points = " ".join(f"{at.x(x):.1f},{at.y(y):.1f}" for x, y in line.points)
        yield f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>'
        if len(line.points) <= 32:
            for x, y in line.points:
                yield f'<circle cx="{at.x(x):.1f}" cy="{at.y(y):.1f}" r="3" fill="{color}"/>'
    yield from legend(names)


def bars_of(plot: Bars) -> Iterator[str]:
    values = [v for _, row in plot.series for v in row if v is not None]
    tops = values
    if plot.is_stacked:
        columns = zip(*(row for _, row in plot.series), strict=True)
        tops = [sum(v or 0.0 for v in column) for column in columns]
    if plot.is_y_logarithmic:
        low = 2.0 ** math.floor(math.log2(min(values)))
        high = 2.0 ** math.ceil(math.log2(max(values)) + 1e-9)
        step = max(1, round(math.log2(high / low) / 6))
        count = math.ceil(math.log2(high / low) / step)
        y_ticks = [low * 2.0 ** (step * number) for number in range(count + 1)]
    else:
        y_ticks = ticks(min(0.0, *values), max(tops))
    at = Scale(0, 1, y_ticks[0], y_ticks[-1], is_y_logarithmic=plot.is_y_logarithmic)
    yield from frame_y(y_ticks, at, plot.y)
    room = (WIDTH - RIGHT - LEFT) / len(plot.groups)
    across = 1 if plot.is_stacked else len(plot.series)
    thick = min(36.0, room * 0.8 / across)
    names, colors = [], iter(COLORS * 3)
    ground = at.y(max(y_ticks[0], 0.0) if not plot.is_y_logarithmic else y_ticks[0])
    heights = [0.0] * len(plot.groups)
    for number, (name, row) in enumerate(plot.series):
        color = PAPER_COLOR if name in plot.paper else next(colors)
        names.append((name, color, ""))
        for group, value in enumerate(row):
            if value is None:
                continue
            place = 0 if plot.is_stacked else number
            x = LEFT + room * (group + 0.5) + thick * (place - across / 2)
            foot = at.y(heights[group]) if plot.is_stacked else ground
            top = at.y(heights[group] + value) if plot.is_stacked else at.y(value)
            heights[group] += value
            high, tall = min(top, foot), abs(foot - top)
            yield f'<rect x="{x:.1f}" y="{high:.1f}" width="{thick * 0.94:.1f}" height="{max(tall, 0.5):.1f}" fill="{color}"/>'
    for group, name in enumerate(plot.groups):
        x = LEFT + room * (group + 0.5)
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="{TEXT}">{escape(name)}</text>'
    yield from legend(names)
