"""Colours that carry meaning can be told apart by everybody.

Colour blindness is simulated as in Machado, Oliveira and Fernandes (2009), with severity 1; distances are those of
OKLab, times 100. Two neighbouring cells of the smallest grid are told apart from about 5 on.
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest

SHEET = (Path(__file__).parents[2] / "page/page.css").read_text()
VISIONS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
LEAST = 9

# What is drawn side by side: work of the map stage, of the stages after it, of devices; tiles; jobs.
TOGETHER = {
    "map": ["idle", *(f"kind-{letter}" for letter in "rdmcks")],
    "after": ["idle", *(f"kind-{letter}" for letter in "ugwsp")],
    "device": ["idle", *(f"kind-{letter}" for letter in "rxnyc")],
    "tiles": [f"tile-{letter}" for letter in "smdfrw"],
    "jobs": [f"job-{number}" for number in range(8)],
}


def colours(theme: int) -> dict[str, str]:
    pattern = r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)"
    return {match[1]: match[2 + theme] for match in re.finditer(pattern, SHEET)}


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    ]


def times(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def seen(colour: str, vision: str) -> list[float]:
    """The colour in OKLab, as somebody sees it."""
    light = [
        min(1.0, max(0.0, part)) for part in times(VISIONS[vision], linear(colour))
    ]
    cones = times(
        (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        ),
        light,
    )
    return times(
        (
            (0.2104542553, 0.7936177850, -0.0040720468),
            (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660),
        ),
        [part ** (1 / 3) for part in cones],
    )


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("together", TOGETHER)
def test_colours_side_by_side_differ_in_every_vision(theme, together):
    known = colours(theme)
    for (one, other), vision in itertools.product(
        itertools.combinations(TOGETHER[together], 2), VISIONS
    ):
        distance = 100 * math.dist(seen(known[one], vision), seen(known[other], vision))
        assert distance >= LEAST, f"{one} and {other} with {vision}"


def contrast(one: str, other: str) -> float:
    """The contrast of WCAG 2."""
    bright, dark = sorted(
        (
            0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
            for r, g, b in map(linear, (one, other))
        ),
        reverse=True,
    )
    return bright / dark


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["ground", "surface", "sunken"])
@pytest.mark.parametrize("text", ["ink", "soft", "muted", "accent", "danger", "good"])
def test_text_has_the_contrast_that_wcag_wants(theme, ground, text):
    known = colours(theme)
    assert contrast(known[text], known[ground]) >= 4.5
