"""Ready-made jobs, those of the command line: the same answers, at the same speed, with the same states."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tegula.errors import OptionError
from tegula.job import Job
from tegula.maps import Pairs
from tegula.sources import Source, text

if TYPE_CHECKING:
    import numpy

    from tegula.result import Result
    from tegula.sources import Path, Words


class Place(NamedTuple):
    """Where a word of `index` begins.

    Attributes:
        file: path of the file.
        offset: bytes from its start.
    """

    file: str
    offset: int


def _pairs_job(paths: tuple[Path, ...], plan: dict[str, Any], names: list[str]) -> Job:
    source = text(*paths)
    pairs = Pairs(source, plan, "text", ("own",))
    return Job(pairs, "own", [(name, "own", None) for name in names])


def logstats(
    *paths: Path, key: Literal["user", "host", "path", "status", "hour"] = "user"
) -> Job:
    """Add up a log. "user": the seconds that each user was online, from lines of "user login|logout seconds". The
    others: the columns requests and bytes of a web server's log in Common or Combined Log Format, by client, by path
    without its query, by status, or by hour.
    """
    if key not in ("user", "host", "path", "status", "hour"):
        raise OptionError(
            f'key: {key!r}; give "user", "host", "path", "status" or "hour"'
        )
    if key == "user":
        return _pairs_job(paths, {"kind": "logins"}, [])
    return _pairs_job(paths, {"kind": "access", "key": key}, ["requests", "bytes"])


def stations(*paths: Path) -> Job:
    """Find the columns least, mean and greatest of each weather station, from lines of "name;temperature", as the One
    Billion Row Challenge has them: temperatures are whole tenths of -99.9 to 99.9.
    """
    return _pairs_job(paths, {"kind": "stations"}, ["least", "mean", "greatest"])


def index(
    *paths: Path, words: Words = "whitespace", only: Iterable[str | bytes] | None = None
) -> Job:
    """List the places of each word, or of the words `only`, in the order of the input: a path and an offset in bytes.

    `words` says what a word is, as in `Source.words`.
    """
    if words not in ("whitespace", "alpha", "unicode"):
        raise OptionError(
            f'words: {words!r} is no kind; give "whitespace", "alpha" or "unicode"'
        )
    wanted = None if only is None else [_bytes("only", word) for word in only]
    plan = {"kind": "index", "words": words, "only": wanted}
    return _pairs_job(paths, plan, [])


def stringmatch(*paths: Path, keys: Iterable[str | bytes]) -> Job:
    """Count the lines that equal a key, for each of the `keys` that is found."""
    wanted = [_bytes("keys", key) for key in keys]
    for key in wanted:
        if b"\n" in key or key.endswith(b"\r"):
            raise OptionError(
                f"keys: {key!r} holds a line's end, so that no line equals it"
            )
    return _pairs_job(paths, {"kind": "stringmatch", "keys": wanted}, [])


def _bytes(option: str, value: str | bytes) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if not isinstance(value, bytes):
        raise OptionError(f"{option}: {value!r}; give str or bytes")
    return value


def places(result: Result) -> Any:
    """Return what makes a place of the bytes that the native module has of it."""
    paths: dict[int, str] = {}

    def place(data: bytes) -> Place:
        number, offset = struct.unpack("<IQ", data)
        if number not in paths:
            paths[number] = result.file(number) or ""
        return Place(paths[number], offset)

    return place


@dataclass(frozen=True)
class Groups:
    """The answer of `kmeans`.

    Attributes:
        means: the mean of each group, a row each.
        counts: the points of each group.
        rounds: rounds done.
        settled: whether another round would change nothing.
        stats: what the runs did.
    """

    means: numpy.ndarray[Any, Any]
    counts: numpy.ndarray[Any, Any]
    rounds: int
    settled: bool
    stats: dict[str, Any]


@dataclass(frozen=True)
class Line:
    """The answer of `linreg`: y = intercept + slope * x.

    Attributes:
        points: points that were read.
        slope: the change of y where x grows by 1.
        intercept: y where x is 0.
        correlation: Pearson's, from -1 to 1.
        mean_x: the mean of x.
        mean_y: the mean of y.
        stats: what the run did.
    """

    points: int
    slope: float
    intercept: float
    correlation: float
    mean_x: float
    mean_y: float
    stats: dict[str, Any]


def _rows(
    source: Source, plan: dict[str, Any], names: list[str], **options: Any
) -> Result:
    """Run a program whose answer is a few rows."""
    job = Job(
        Pairs(source, plan, "tagged", ("own",)),
        "own",
        [(name, "own", None) for name in names],
    )
    return job.run(**options)


def kmeans(
    points: Any,
    groups: int,
    *,
    seed: int = 1,
    rounds: int | None = None,
    start: Literal["random", "spread"] = "random",
    devices: str | Sequence[str] | None = None,
    **options: Any,
) -> Groups:
    """Group points around their means, by Lloyd's rounds, until no mean moves or `rounds` are done.

    points: a numpy array of floats with a point in each row, `tg.array` of one, or paths: files of text with a point
        in each line, or .npy files.
    start: the first means: random points, or random points far from each other (k-means++).
    devices: devices that work beside the cores, as `tegula --device` names them: "auto", "gpu", or a part of a name.
    options: those of `Job.run` for workers, memory, progress and states.

    The same seed gives the same bits, for any number of workers and any devices.
    """
    import numpy

    if groups < 1:
        raise OptionError(f"groups: {groups}; give at least 1")
    if rounds is not None and rounds < 1:
        raise OptionError(f"rounds: {rounds}; give at least 1")
    if start not in ("random", "spread"):
        raise OptionError(f'start: {start!r}; give "random" or "spread"')
    source, element = _points(points)
    plan = {
        "kind": "kmeans",
        "groups": groups,
        "seed": seed,
        "rounds": rounds,
        "start": start,
        "element": element,
    }
    names = ["count", "rounds", "settled", "mean"]
    result = _rows(source, plan, names, devices=devices, **options)
    rows = [row for _, row in result]
    means = [[struct.unpack("<d", one)[0] for one in row["mean"]] for row in rows]
    return Groups(
        numpy.array(means),
        numpy.array([row["count"] for row in rows]),
        rows[0]["rounds"],
        bool(rows[0]["settled"]),
        result.stats,
    )


def _points(points: Any) -> tuple[Source, tuple[str, int] | None]:
    import numpy

    from tegula.sources import array

    if isinstance(points, (str, os.PathLike)):
        return text(points), None
    if (
        isinstance(points, (list, tuple))
        and points
        and isinstance(points[0], (str, os.PathLike))
    ):
        return text(*points), None
    if not isinstance(points, Source):
        points = array(numpy.asarray(points, order="C"))
    if points.dtype is None:
        return points, None
    kinds = {"<f4": "f32", "<f8": "f64"}
    if points.dtype.str not in kinds or len(points.shape) > 1:
        raise OptionError(
            f"points: rows of {points.dtype} with the shape {points.shape}; give rows of float32 or float64"
        )
    return points, (kinds[points.dtype.str], points.shape[0] if points.shape else 1)


def linreg(
    *paths: Path,
    points: Literal["text", "bytes"] = "text",
    devices: str | Sequence[str] | None = None,
    **options: Any,
) -> Line:
    """Fit a line to points by least squares: x and y in each line of text, or in two signed bytes.

    The other arguments are those of `kmeans`.
    """
    if points not in ("text", "bytes"):
        raise OptionError(f'points: {points!r}; give "text" or "bytes"')
    plan = {"kind": "linreg", "points": points}
    source = text(*paths)
    result = _rows(source, plan, ["points", "figures"], devices=devices, **options)
    ((_, row),) = result
    slope, intercept, correlation, mean_x, mean_y = (
        struct.unpack("<d", one)[0] for one in row["figures"]
    )
    return Line(
        row["points"],
        slope,
        intercept,
        correlation,
        mean_x,
        mean_y,
        result.stats,
    )


def histogram(
    *paths: Path, devices: str | Sequence[str] | None = None, **options: Any
) -> dict[str, list[int]]:
    """Count the levels, 0 to 255, of "red", "green" and "blue" in pictures: 24-bit BMP or binary PPM files.

    The other arguments are those of `kmeans`.
    """
    result = _rows(
        text(*paths),
        {"kind": "histogram"},
        ["count", "rest"],
        devices=devices,
        **options,
    )
    counts = [row["count"] for _, row in result]
    return {
        channel: counts[256 * place : 256 * place + 256]
        for place, channel in enumerate(("red", "green", "blue"))
    }
