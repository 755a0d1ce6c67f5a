#!/usr/bin/env python3
"""Makes the inputs on which the jobs about numbers are measured, each drawn by a fixed seed.

Takes the name of an input and a path; writes the file. The same name makes the same bytes anywhere.

    python3 bench/number_inputs.py picture.bmp --out bench/corpus/picture.bmp
"""

import argparse
import random
import struct
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

SEED = 20260
WORDS = 100_000
KEYS = ("Helloworld", "howareyou", "ferrari", "whotheman")


def picture(file: BinaryIO, draw: random.Random) -> None:
    """800 MB of pixels of any levels: 24-bit BMP, 16,384 x 16,276."""
    width, height = 16_384, 16_276
    row = 3 * width
    file.write(b"BM" + struct.pack("<IHHI", 54 + row * height, 0, 0, 54))
    file.write(struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0))
    for _ in range(height):
        file.write(draw.randbytes(row))


def points(file: BinaryIO, draw: random.Random) -> None:
    """268 million points of two bytes of any values."""
    for _ in range(512):
        file.write(draw.randbytes(1 << 20))


def lines(file: BinaryIO, draw: random.Random) -> None:
    """500 MB of words of 4 to 12 letters, a word a line; four of 100,004 are the keys."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [
        "".join(draw.choices(letters, k=draw.randint(4, 12))) for _ in range(WORDS)
    ]
    words += KEYS
    written = 0
    while written < 500_000_000:
        text = ("\n".join(draw.choices(words, k=WORDS)) + "\n").encode()
        written += file.write(text)


def npy(file: BinaryIO, rows: int, columns: int, draw: Callable[[], float]) -> None:
    """A matrix of doubles, as NumPy saves it."""
    header = (
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    )
    header = header.ljust(-(-(11 + len(header)) // 64) * 64 - 11) + "\n"
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    for _ in range(rows):
        row = array("d", (draw() for _ in range(columns)))
        if sys.byteorder == "big":
            row.byteswap()
        file.write(row.tobytes())


def grid(file: BinaryIO, draw: random.Random) -> None:
    """100,000 points of three coordinates, whole numbers below 1,000, as Phoenix draws them."""
    npy(file, 100_000, 3, lambda: float(draw.randrange(1000)))


INPUTS: dict[str, Callable[[BinaryIO, random.Random], None]] = {
    "picture.bmp": picture,
    "points.bin": points,
    "lines.txt": lines,
    "grid.npy": grid,
    "square.npy": lambda file, draw: npy(file, 1024, 1024, draw.random),
    "large.npy": lambda file, draw: npy(file, 2048, 2048, draw.random),
    "rows.npy": lambda file, draw: npy(file, 1000, 1000, draw.random),
    "tall.npy": lambda file, draw: npy(file, 200_000, 100, draw.random),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make an input of numbers.")
    parser.add_argument("name", choices=sorted(INPUTS))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with options.out.open("wb") as file:
        INPUTS[options.name](file, random.Random(f"{SEED} {options.name}"))


if __name__ == "__main__":
    main()
