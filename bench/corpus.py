#!/usr/bin/env python3
"""Makes the texts that the benchmarks read: real ones from a folder, and others drawn by a seed.

Takes a name, and for the real texts a folder; writes one file and prints its size, its words and
its distinct words (cut at ASCII whitespace). The same name, folder, size and seed give the same
bytes on any machine. Needs the standard library alone, and must never need more.

    python3 bench/corpus.py source  --from linux-source-6.1 --out bench/corpus/source.txt
    python3 bench/corpus.py letters --from linux-source-6.1 --out bench/corpus/letters.txt
    python3 bench/corpus.py zipf    --out bench/corpus/zipf.txt
"""

import argparse
import itertools
import json
import math
import os
import random
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

LOWER = b"abcdefghijklmnopqrstuvwxyz"
# Byte values from 234 on are deleted, so that the other 9 x 26 fall on letters evenly.
UNEVEN = bytes(range(234, 256))
TO_LETTER = bytes(LOWER[value % 26] for value in range(256))
# Newlines stay: some of the programs compared read by lines.
TO_WORDS = bytes(
    ord(char.lower())
    if char.isascii() and char.isalpha()
    else 10
    if char == "\n"
    else 32
    for char in map(chr, range(256))
)
SNIFF_BYTES = 8 << 10
BLOCK_BYTES = 4 << 20


@dataclass(frozen=True)
class Recipe:
    """How one corpus is made, and how large it is when nothing else is asked for."""

    blocks: Callable[[argparse.Namespace], Iterator[bytes]]
    size_bytes: int
    needs_folder: bool
    has_whole_lines: bool = False
    """Whether the text ends with a line, and so may be some bytes shorter than was asked for."""


def files_sorted(folder: Path) -> list[bytes]:
    """Regular files below `folder`, links left out, in the order of their paths' bytes."""
    paths = []
    for parent, _, names in os.walk(os.fsencode(folder)):
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path) and os.path.isfile(path):
                paths.append(path)
    return sorted(paths)


def source_blocks(options: argparse.Namespace) -> Iterator[bytes]:
    """The folder's text files, one after another; a NUL near the start marks a file as no text."""
    for path in files_sorted(options.folder):
        with open(path, "rb") as file:
            block = file.read(BLOCK_BYTES)
            if b"\0" in block[:SNIFF_BYTES]:
                continue
            while block:
                yield block
                block = file.read(BLOCK_BYTES)


def letters_blocks(options: argparse.Namespace) -> Iterator[bytes]:
    """The same text as lower-case words of a-z alone, which every program cuts in the same way."""
    return (block.translate(TO_WORDS) for block in source_blocks(options))


def random_words(rng: random.Random, shortest: int, longest: int) -> Iterator[bytes]:
    """Endless words of random letters, every length as likely as another."""
    lengths = range(shortest, longest + 1)
    while True:
        letters = rng.randbytes(BLOCK_BYTES).translate(TO_LETTER, UNEVEN)
        start = 0
        while start + longest <= len(letters):
            end = start + lengths[int(rng.random() * len(lengths))]
            yield letters[start:end]
            start = end


def lines_of(
    words: Iterator[bytes], rng: random.Random, least: int, most: int
) -> Iterator[bytes]:
    """The words in lines of `least` to `most`, many lines a block."""
    spread = most - least + 1
    while True:
        lines = (
            b" ".join(itertools.islice(words, least + int(rng.random() * spread)))
            for _ in range(50_000)
        )
        yield b"\n".join(lines) + b"\n"


def ranked_blocks(
    keys: int, weight: Callable[[int], int]
) -> Callable[[argparse.Namespace], Iterator[bytes]]:
    """Words of a vocabulary of `keys`, the one of rank k as often as its weight says, 10 to 12 a line."""

    def blocks(options: argparse.Namespace) -> Iterator[bytes]:
        rng = random.Random(options.seed)
        words = vocabulary(keys, 3, 12, rng)
        # Integer weights: their running sum is the same on every machine.
        heights = list(itertools.accumulate(weight(rank + 1) for rank in range(keys)))
        top = heights[-1]
        draw = rng.random
        drawn = (
            words[bisect_right(heights, int(draw() * top))]
            for _ in itertools.repeat(None)
        )
        return lines_of(drawn, rng, 10, 12)

    return blocks


def zipf(rank: int) -> int:
    """A frequency of 1/k."""
    return 10**15 // rank


def steep(rank: int) -> int:
    """A frequency of 1/k^1.3125. Of 100,000 words, 24,000 come in the first 6 MiB and 76,000 in 64 MiB, a ratio near
    that of the pairs which Ostrich saves after each (section 7.6.2)."""
    quarter = math.isqrt(math.isqrt(rank << 240))
    sixteenth = math.isqrt(math.isqrt(quarter << 60))
    return (10**15 << 90) // (rank * quarter * sixteenth)


def requests_blocks(options: argparse.Namespace) -> Iterator[bytes]:
    """Lines of a server's log: host, page, status and bytes. Of 10,000 hosts the k-th has a frequency of 1/k."""
    rng = random.Random(options.seed)
    hosts = [f"10.{k % 7}.{k // 250 % 250}.{k % 250}" for k in range(10_000)]
    rng.shuffle(hosts)
    heights = list(
        itertools.accumulate(10**15 // rank for rank in range(1, len(hosts) + 1))
    )
    statuses = (200, 200, 200, 304, 404)
    draw = rng.random
    while True:
        lines = (
            f"{hosts[bisect_right(heights, int(draw() * heights[-1]))]} /page/{int(draw() * 5000)} "
            f"{statuses[int(draw() * 5)]} {100 + int(draw() * 100_000)}\n"
            for _ in range(50_000)
        )
        yield "".join(lines).encode()


def events_blocks(options: argparse.Namespace) -> Iterator[bytes]:
    """Lines of JSON of 200 to 1000 bytes: an event's time, user, request and message."""
    rng = random.Random(options.seed)
    words = [word.decode() for word in itertools.islice(random_words(rng, 2, 10), 5000)]
    hosts = [f"web-{number:03}" for number in range(200)]
    while True:
        lines = []
        for _ in range(10_000):
            event = {
                "time": f"2026-11-{rng.randrange(1, 31):02}T{rng.randrange(24):02}:{rng.randrange(60):02}:00.125Z",
                "host": rng.choice(hosts),
                "user": {
                    "id": f"u{int(rng.paretovariate(0.7)) % 1_000_000:06}",
                    "new": False,
                },
                "request": {
                    "method": "GET",
                    "path": "/" + "/".join(rng.choices(words, k=3)),
                    "status": rng.choice((200, 304, 404)),
                    "ms": rng.randrange(30_000) / 100,
                },
                "message": " ".join(rng.choices(words, k=rng.randrange(6, 110))),
            }
            lines.append(json.dumps(event, separators=(",", ":")))
        yield "".join(f"{line}\n" for line in lines if len(line) < 1000).encode()


def distinct_blocks(options: argparse.Namespace) -> Iterator[bytes]:
    """Words of 9 or 10 letters, nearly all new, one in twenty seen before; 1 to 10 a line."""
    rng = random.Random(options.seed)
    return lines_of(with_repeats(random_words(rng, 9, 10), rng), rng, 1, 10)


def unique(words: Iterator[bytes]) -> Iterator[bytes]:
    """Each word once, in the order of its first coming."""
    seen = set()
    for word in words:
        if word not in seen:
            seen.add(word)
            yield word


def with_repeats(words: Iterator[bytes], rng: random.Random) -> Iterator[bytes]:
    """One word in twenty gives way to an earlier one, kept in one of 65,536 places."""
    kept: list[bytes] = []
    for word in words:
        chance = rng.random()
        if len(kept) < 1 << 16:
            kept.append(word)
            yield word
            continue
        place = int(rng.random() * len(kept))
        if chance < 0.05:
            yield kept[place]
        else:
            kept[place] = word
            yield word


def drawn_blocks(
    keys: int, shortest: int, longest: int
) -> Callable[[argparse.Namespace], Iterator[bytes]]:
    """Words of a vocabulary of `keys`, each as likely as another, 10 to 12 a line."""

    def blocks(options: argparse.Namespace) -> Iterator[bytes]:
        rng = random.Random(options.seed)
        words = vocabulary(keys, shortest, longest, rng)
        return lines_of(drawn(words, rng), rng, 10, 12)

    return blocks


def vocabulary(
    keys: int, shortest: int, longest: int, rng: random.Random
) -> list[bytes]:
    return list(itertools.islice(unique(random_words(rng, shortest, longest)), keys))


def drawn(words: list[bytes], rng: random.Random) -> Iterator[bytes]:
    """Endless words of the list, each as likely as another."""
    while True:
        yield from rng.choices(words, k=100_000)


def mostly_new_blocks(options: argparse.Namespace) -> Iterator[bytes]:
    """Words of 6 or 7 letters out of 17.7 million, each as likely as another: of 13.7 million that
    are drawn, 9.5 million differ."""
    rng = random.Random(options.seed)
    letters = [bytes(triple) for triple in itertools.product(LOWER, repeat=3)]
    ends = [letter.to_bytes() for letter in LOWER]

    def words() -> Iterator[bytes]:
        draw = rng.random
        while True:
            number = int(draw() * 17_700_000)
            # A number's own word; one in three is longer.
            high, low = divmod(number * 15_485_863 % 308_915_776, 17_576)
            word = letters[high] + letters[low]
            yield word if number % 3 else word + ends[number % 26]

    return lines_of(words(), rng, 10, 12)


@dataclass(frozen=True)
class Script:
    """What words of a language look like: letters, lengths, capitals, and the marks between them."""

    letters: tuple[str, ...]
    """Each as likely as another. One may be several characters, such as a consonant and its vowel."""
    lengths: tuple[int, ...]
    has_capitals: bool
    between: str = " "
    marks: tuple[str, ...] = (",", ".", ",", ".", ";", ":", " \u2013")


SCRIPTS = {
    "greek": Script(tuple("αβγδεζηθικλμνξοπρστυφχψωάέήίόύώ"), (2, 3, 5, 7, 9), True),
    "russian": Script(tuple("абвгдежзийклмнопрстуфхцчшщъыьэюя"), (1, 3, 6, 8, 9), True),
    "hindi": Script(
        tuple(
            consonant + sign
            for consonant in "कखगघचछजझटठडढतथदधनपफबभमयरलवशषसह"
            for sign in ("", "", "ा", "ि", "ी", "ु", "े", "ो", "्", "ं")
        ),
        (1, 2, 3, 4),
        False,
        marks=("।", ",", "।"),
    ),
    # Each ideograph is a word.
    "chinese": Script(
        tuple(map(chr, range(0x4E00, 0x4E00 + 4000))),
        (1,),
        False,
        between="",
        marks=("\uff0c", "\u3002", "\uff0c", "\u3001"),
    ),
}


def script_blocks(
    script: Script,
) -> Callable[[argparse.Namespace], Iterator[bytes]]:
    """Text of 50,000 words, or of each letter as a word, the one of rank k with a frequency of 1/k; 8 to 12 between
    two marks, four such parts a line."""

    def blocks(options: argparse.Namespace) -> Iterator[bytes]:
        rng = random.Random(options.seed)

        def word() -> str:
            return "".join(rng.choices(script.letters, k=rng.choice(script.lengths)))

        is_one = script.lengths == (1,)
        words = list(script.letters) if is_one else [word() for _ in range(50_000)]
        rng.shuffle(words)
        heights = list(
            itertools.accumulate(zipf(rank + 1) for rank in range(len(words)))
        )
        top = heights[-1]

        def part() -> str:
            drawn = [
                words[bisect_right(heights, int(rng.random() * top))]
                for _ in range(8 + int(rng.random() * 5))
            ]
            if script.has_capitals:
                drawn[0] = drawn[0].capitalize()
            return script.between.join(drawn) + rng.choice(script.marks)

        while True:
            lines = (
                script.between.join(part() for _ in range(4)) for _ in range(10_000)
            )
            yield "".join(f"{line}\n" for line in lines).encode()

    return blocks


def misleading_blocks(options: argparse.Namespace) -> Iterator[bytes]:
    """All words of 4 letters, each as likely as another; but the first 35 MB (7 %) go round and
    round through 196,000 of them: whoever looks at that start for a while sees new words alone, and
    who takes all of it for a sample, as Metis does, expects 196,000 / 0.07 = 2.8 million keys."""
    rng = random.Random(options.seed)
    words = [bytes(four) for four in itertools.product(LOWER, repeat=4)]
    rng.shuffle(words)
    round_words = 196_000
    start = itertools.chain.from_iterable(itertools.repeat(words[:round_words], 36))
    return lines_of(itertools.chain(start, drawn(words, rng)), rng, 10, 12)


RECIPES = {
    "source": Recipe(source_blocks, 1_000_000_000, needs_folder=True),
    "source100": Recipe(source_blocks, 100_000_000, needs_folder=True),
    "source256": Recipe(source_blocks, 256 << 20, needs_folder=True),
    "letters100": Recipe(letters_blocks, 100_000_000, needs_folder=True),
    "letters": Recipe(letters_blocks, 1_000_000_000, needs_folder=True),
    "zipf": Recipe(ranked_blocks(1_000_000, zipf), 500_000_000, needs_folder=False),
    "steep": Recipe(ranked_blocks(100_000, steep), 500_000_000, needs_folder=False),
    "requests": Recipe(
        requests_blocks, 100_000_000, needs_folder=False, has_whole_lines=True
    ),
    "events": Recipe(
        events_blocks, 100_000_000, needs_folder=False, has_whole_lines=True
    ),
    "distinct": Recipe(distinct_blocks, 100_000_000, needs_folder=False),
    # Those of Metis, section 5.4.
    "few": Recipe(drawn_blocks(108_000, 5, 8), 100_000_000, needs_folder=False),
    "many": Recipe(mostly_new_blocks, 100_000_000, needs_folder=False),
    "both": Recipe(drawn_blocks(513_000, 5, 8), 800_000_000, needs_folder=False),
    "misled": Recipe(misleading_blocks, 512_000_000, needs_folder=False),
    "books": Recipe(source_blocks, 100_000_000, needs_folder=True),
    **{
        name: Recipe(
            script_blocks(script), 100_000_000, needs_folder=False, has_whole_lines=True
        )
        for name, script in SCRIPTS.items()
    },
}


def write(blocks: Iterator[bytes], size_bytes: int, out: Path) -> int:
    """Writes `size_bytes` of the blocks, or all when there are fewer; gives the bytes written."""
    left = size_bytes
    with open(out, "wb") as file:
        for block in blocks:
            file.write(block[:left])
            left -= min(left, len(block))
            if left == 0:
                break
    return size_bytes - left


def end_with_a_line(path: Path) -> int:
    """Cuts off a line without its end; gives the bytes that are left."""
    with open(path, "rb+") as file:
        size = file.seek(0, os.SEEK_END)
        begin = file.seek(max(0, size - BLOCK_BYTES))
        file.truncate(begin + file.read().rfind(b"\n") + 1)
        return file.seek(0, os.SEEK_END)


def count(path: Path) -> tuple[int, int]:
    """Words and distinct words of a file, cut at ASCII whitespace."""
    total = 0
    seen: set[bytes] = set()
    carried = b""
    with open(path, "rb") as file:
        while block := file.read(BLOCK_BYTES):
            block = carried + block
            words = block.split()
            carried = words.pop() if words and not block[-1:].isspace() else b""
            total += len(words)
            seen.update(words)
    if carried:
        total += 1
        seen.add(carried)
    return total, len(seen)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make a text for the benchmarks.")
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--from", dest="folder", type=Path, help="folder of text files")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    parser.add_argument(
        "--bytes", type=int, dest="size_bytes", help="size, if not the usual one"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of what is drawn (1)")
    options = parser.parse_args()
    recipe = RECIPES[options.name]
    if recipe.needs_folder and (options.folder is None or not options.folder.is_dir()):
        parser.error(
            f"{options.name} is made from a folder of text files: give it with --from"
        )
    size_bytes = recipe.size_bytes if options.size_bytes is None else options.size_bytes
    written = write(recipe.blocks(options), size_bytes, options.out)
    if recipe.has_whole_lines:
        written = size_bytes = end_with_a_line(options.out)
    if written < size_bytes:
        print(f"{options.folder} holds {written} bytes of text only", file=sys.stderr)
    words, distinct = count(options.out)
    print(f"{options.out}: {written} bytes, {words} words, {distinct} distinct")
    return 0 if written == size_bytes else 1


if __name__ == "__main__":
    sys.exit(main())
