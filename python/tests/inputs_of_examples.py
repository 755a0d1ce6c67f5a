"""The inputs of the programs of `examples/`: the same bytes in each run."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np

WORDS = ["the", "and", "of", "to", "in", "was", "he", "that", "it", "his", "had", "is"]


def text(chance: random.Random, lines: int) -> str:
    """Lines of words, of which the first are the most frequent."""
    places = range(len(WORDS))
    weights = [1 / (place + 1) for place in places]
    chosen = (chance.choices(WORDS, weights, k=10) for _ in range(lines))
    return "".join(" ".join(words) + "\n" for words in chosen)


def write(folder: Path) -> None:
    """Write all inputs into a folder."""
    chance = random.Random(1)
    books = folder / "books"
    (books / "old").mkdir(parents=True)
    (books / "one.txt").write_text(text(chance, 2000))
    with gzip.open(books / "old" / "two.txt.gz", "wt") as out:
        out.write(text(chance, 1000))
    (folder / "app.log").write_text(
        "".join(
            f"web{second % 3} request {second} took {chance.randrange(500)} ms\n"
            for second in range(3000)
        )
    )
    (folder / "logs").mkdir()
    for day in (1, 2):
        with gzip.open(folder / "logs" / f"2026-11-0{day}.gz", "wt") as out:
            for number in range(2000):
                ms = chance.randrange(10, 4000) / 4
                out.write(f"web{number % 3} {ms} {chance.randrange(200, 9000)}\n")
    with (folder / "access.log").open("w") as out:
        for second in range(20_000):
            host = f"10.0.0.{second % 4 + 1}"
            ms = chance.randrange(8, 8000) / 8
            out.write(f"{host} GET /page/{second % 50} 200 {second % 997} {ms}\n")
    with (folder / "orders.csv").open("w") as out:
        for number in range(3000):
            customer = chance.choice(["Miller, Ann", "Smith", "Wong"])
            out.write(f'"{customer}","order\n{number}",{chance.randrange(4000) / 4}\n')
    (folder / "edges.txt").write_text("a b\nb c\nc d\nd a\na c\n")
    (folder / "wikipedia").mkdir()
    for number in range(4):
        (folder / "wikipedia" / f"{number}.txt").write_text(text(chance, 60_000))
    archive(folder / "archive")
    with (folder / "server.log").open("w") as out:
        for _ in range(20_000):
            host = f"10.0.0.{int(chance.paretovariate(1)) % 200}"
            size = chance.randrange(200, 20_000)
            out.write(
                f'{host} - - [01/Nov/2026:10:00:00 +0000] "GET /page HTTP/1.1" 200 {size}\n'
            )
    points = np.random.default_rng(2).normal(size=(30_000, 2))
    np.save(
        folder / "points.npy", points + np.repeat([[0, 0], [9, 0], [0, 9]], 10_000, 0)
    )
    with (folder / "huge.txt").open("w") as out:
        for number in range(50_000):
            out.write(f"line {number}\t{chance.randrange(10**9)}\n")


def archive(folder: Path) -> None:
    """Write the archive: files of some megabytes, each of more than a tile that is found again."""
    folder.mkdir()
    for number in range(4):
        lines = (f"{number} in the year {1990 + line % 5}\n" for line in range(150_000))
        (folder / f"{number}.txt").write_text("".join(lines))


def change_archive(folder: Path) -> None:
    """Let a file come, one go, and one change."""
    (folder / "0.txt").unlink()
    (folder / "1.txt").write_text("it was 1999\n" * 1000)
    (folder / "9.txt").write_text("and then 2026\n" * 1000)
