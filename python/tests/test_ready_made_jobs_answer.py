"""The ready-made jobs give what plain Python gives, and what the command line gives, with and without devices."""

from __future__ import annotations

import random
import statistics
import struct
from collections import Counter, defaultdict
from pathlib import Path

import numpy
import pytest
import tegula as tg

pytestmark = pytest.mark.once


def test_logs_are_added_up(tmp_path: Path) -> None:
    chance = random.Random(4)
    requests, sizes = Counter(), Counter()
    with open(tmp_path / "access.log", "w") as file:
        for number in range(5000):
            host, size = f"10.0.0.{chance.randrange(9)}", chance.randrange(9999)
            requests[host] += 1
            sizes[host] += size
            when = f"17/May/2015:{number % 24:02}:05:03 +0000"
            file.write(f'{host} - - [{when}] "GET /a?b HTTP/1.1" 200 {size}\n')
    answer = tg.logstats(tmp_path / "access.log", key="host").run()
    assert answer.to_dict() == {
        host: {"requests": count, "bytes": sizes[host]}
        for host, count in requests.items()
    }
    assert answer.columns == ["requests", "bytes"]
    assert answer.top(1, "bytes")[0][0] == max(sizes, key=sizes.__getitem__)
    assert answer.to_polars()["requests"].sum() == 5000
    hours = tg.logstats(tmp_path / "access.log", key="hour").run()
    assert len(hours) == 24
    (tmp_path / "users").write_text("a login 5\nb login 6\na logout 15\nb logout 7\n")
    assert tg.logstats(tmp_path / "users").run().to_dict() == {"a": 10, "b": 1}
    with pytest.raises(tg.BadRecord, match="line 1"):
        tg.logstats(tmp_path / "users", key="host").run()
    with pytest.raises(tg.OptionError, match="key"):
        tg.logstats(tmp_path / "users", key="browser")  # type: ignore[arg-type]


def test_stations_are_measured(tmp_path: Path) -> None:
    chance = random.Random(5)
    seen = defaultdict(list)
    with open(tmp_path / "m.txt", "w") as file:
        for _ in range(5000):
            name, tenths = f"é{chance.randrange(50)}", chance.randrange(-999, 1000)
            seen[name].append(tenths)
            file.write(f"{name};{tenths / 10:.1f}\n")
    answer = tg.stations(tmp_path / "m.txt").run().to_dict()
    assert answer.keys() == seen.keys()
    for name, tenths in seen.items():
        found = answer[name]
        assert found["least"] == min(tenths) / 10
        assert found["greatest"] == max(tenths) / 10
        assert found["mean"] == pytest.approx(statistics.fmean(tenths) / 10, abs=0.051)


def test_words_are_placed(tmp_path: Path) -> None:
    texts = {"a.txt": "to be or not", "b.txt": "to be\nto see"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    answer = tg.index(tmp_path).run().to_dict()
    a, b = str(tmp_path / "a.txt"), str(tmp_path / "b.txt")
    assert answer["to"] == [(a, 0), (b, 0), (b, 6)]
    assert answer["see"][0].offset == 9
    assert tg.index(tmp_path, only=["be", b"x"]).run().to_dict() == {
        "be": [(a, 3), (b, 3)]
    }
    table = tg.index(tmp_path).run().to_arrow()
    assert table["value"].to_pylist()[0] == [
        {"file": a, "offset": 3},
        {"file": b, "offset": 3},
    ]
    assert tg.index(tmp_path).run().top(1)[0][0] == "to"
    *_, last = tg.index(tmp_path).stream()
    assert last.result.to_dict() == answer


def test_lines_are_matched(path: Path, lines: list[str]) -> None:
    keys = ["a b", "", "ab c", lines[5], lines[5]]
    count = Counter(lines)
    answer = tg.stringmatch(path, keys=keys).run().to_dict()
    assert answer == {key: count[key] for key in set(keys) if count[key]}
    with pytest.raises(tg.OptionError, match="line's end"):
        tg.stringmatch(path, keys=["a\nb"])


def lloyd(points, means):
    """Rounds of k-means in numpy until no mean moves."""
    rounds = 0
    while True:
        rounds += 1
        distances = ((points[:, None, :] - means[None, :, :]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        new = numpy.array(
            [
                points[nearest == group].mean(axis=0)
                if (nearest == group).any()
                else means[group]
                for group in range(len(means))
            ]
        )
        if numpy.allclose(new, means, rtol=0, atol=1e-12):
            return means, numpy.bincount(nearest, minlength=len(means))
        means = new


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_points_are_grouped(tmp_path: Path, kind: str) -> None:
    chance = numpy.random.default_rng(6)
    points = numpy.concatenate(
        [chance.normal(centre, 0.5, (500, 3)) for centre in (0, 5, 10, 20)]
    ).astype(kind)
    answer = tg.kmeans(points, 4, seed=1)
    assert answer.settled
    assert answer.counts.sum() == 2000
    means, counts = lloyd(points.astype("float64"), answer.means)
    assert numpy.allclose(means, answer.means, atol=1e-9)
    assert (counts == answer.counts).all()
    again = tg.kmeans(tg.array(points), 4, seed=1, workers=1)
    assert (again.means == answer.means).all()
    assert again.rounds == answer.rounds
    numpy.save(tmp_path / "points.npy", points)
    of_file = tg.kmeans(tmp_path / "points.npy", 4, seed=1)
    assert (of_file.means == answer.means).all()
    on_device = tg.kmeans(points, 4, seed=1, devices="emulated")
    assert (on_device.means == answer.means).all()
    short = tg.kmeans(points, 4, seed=1, rounds=1, start="spread")
    assert short.rounds == 1


def test_wrong_points_are_refused(tmp_path: Path) -> None:
    points = numpy.zeros((5, 2))
    for wrong in [
        {"groups": 0},
        {"groups": 6},
        {"groups": 2, "rounds": 0},
        {"groups": 2, "start": "x"},
        {"groups": 2, "devices": "no such device"},
    ]:
        with pytest.raises(tg.OptionError):
            tg.kmeans(points, **wrong)
    with pytest.raises(tg.OptionError, match="float32 or float64"):
        tg.kmeans(numpy.zeros((5, 2), "i8"), 2)
    with pytest.raises(tg.Error):
        tg.kmeans(numpy.array([[0.0, numpy.nan], [1, 2]]), 1)
    with pytest.raises(tg.InputError):
        tg.kmeans(tmp_path / "nothing", 2)
    with pytest.raises(tg.OptionError, match="no device has a kernel"):
        tg.text(tmp_path).lines().count().run(devices="auto")


def test_words_are_counted_beside_devices(path: Path, lines: list[str]) -> None:
    words = Counter(word for line in lines for word in line.split())
    job = tg.text(path).words().count()
    assert job.run(devices=["cpu"]).to_dict() == words
    assert job.run(devices="emulated").to_dict() == words


def test_devices_need_no_home(
    path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_: int) -> None:
        raise KeyError("no such user")

    words = Counter(word for line in lines for word in line.split())
    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for home in [None, "", "somewhere"]:
        monkeypatch.delenv("HOME", raising=False)
        if home is not None:
            monkeypatch.setenv("HOME", home)
        counts = tg.text(path).words().count().run(devices="emulated").to_dict()
        assert counts == words
    assert not Path("somewhere").exists()


def test_a_line_is_fitted(tmp_path: Path) -> None:
    chance = random.Random(7)
    points = [(x, 3 * x - 2 + chance.gauss(0, 1)) for x in range(1000)]
    (tmp_path / "p").write_text("".join(f"{x} {y!r}\n" for x, y in points))
    line = tg.linreg(tmp_path / "p")
    xs, ys = zip(*points, strict=True)
    slope, intercept = statistics.linear_regression(xs, ys)
    assert line.points == 1000
    assert line.slope == pytest.approx(slope)
    assert line.intercept == pytest.approx(intercept)
    assert line.correlation == pytest.approx(statistics.correlation(xs, ys))
    assert (line.mean_x, line.mean_y) == pytest.approx(
        (statistics.fmean(xs), statistics.fmean(ys))
    )
    (tmp_path / "b").write_bytes(struct.pack("6b", 0, 1, 1, 3, 2, 5))
    line = tg.linreg(tmp_path / "b", points="bytes")
    assert (line.slope, line.intercept) == (2.0, 1.0)
    with pytest.raises(tg.BadRecord):
        tg.linreg(tmp_path / "b")


def test_levels_are_counted(tmp_path: Path) -> None:
    pixels = numpy.random.default_rng(8).integers(0, 256, (40, 30, 3), dtype="u1")
    (tmp_path / "a.ppm").write_bytes(b"P6\n30 40\n255\n" + pixels.tobytes())
    levels = tg.histogram(tmp_path / "a.ppm")
    for place, channel in enumerate(("red", "green", "blue")):
        counted = numpy.bincount(pixels[:, :, place].ravel(), minlength=256)
        assert levels[channel] == counted.tolist()
    assert tg.histogram(tmp_path / "a.ppm", devices="emulated") == levels
    (tmp_path / "b.ppm").write_bytes(b"no picture")
    with pytest.raises(tg.BadRecord, match=r"b\.ppm"):
        tg.histogram(tmp_path)
