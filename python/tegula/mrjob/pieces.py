"""The pieces of a step's input, each of which is a map task: whole lines of one file, by their place in it.

Compressed files, which mrjob knows by their names, are decompressed into a folder first, as mrjob's own runners do. What
has no size, as pipes and files of the system, is copied there, and so is what only this process finds by its path.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mrjob.cat import decompress, is_compressed

# About the bytes of a task's lines. A combiner sees the pairs of a task together, so larger tasks have fewer pairs that
# cross to the engine and that reducers read. Of a small input, each worker gets some tasks.
TASK_BYTES_LEAST = 256 << 10
TASK_BYTES_MOST = 2 << 20
TASKS_PER_WORKER = 4


@dataclass(frozen=True)
class Piece:
    """Lines of a file, and where their bytes are read.

    Attributes:
        file: the input file, by the name that the job gave it.
        content: the absolute path of what is read: the file, or what its content was written into.
        start: where the lines begin in the content, in bytes.
        length: the bytes of the lines, which are 0 of an empty file.
    """

    file: str
    content: str
    start: int
    length: int


def pieces(paths: list[str], folder: Path, workers: int) -> list[Piece]:
    """Cut input files into pieces, in the order of the input. `folder` is for contents that cannot be read by their place."""
    contents = [
        _content(path, folder / str(number)) for number, path in enumerate(paths)
    ]
    size = sum(map(os.path.getsize, contents))
    share = size // (TASKS_PER_WORKER * workers)
    most = min(max(share, TASK_BYTES_LEAST), TASK_BYTES_MOST)
    return [
        Piece(path, os.path.abspath(content), start, length)
        for path, content in zip(paths, contents, strict=True)
        for start, length in _ranges(content, most)
    ]


def _content(path: str, to: Path) -> str:
    """Return the path of a file's content: the file, or `to` where it has to be written first."""
    if not is_compressed(path) and _has_size(path) and not _is_of_process(path):
        return path
    to.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "rb") as file, to.open("wb") as content:
        if is_compressed(path):
            content.writelines(decompress(file, path))
        else:
            shutil.copyfileobj(file, content)
    return str(to)


def _has_size(path: str) -> bool:
    """Whether a file's size is that of its content. That of pipes, and of some files of the system, is 0."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        return False
    if status.st_size:
        return True
    with open(path, "rb") as file:
        return not file.read(1)


def _is_of_process(path: str) -> bool:
    """Whether a path leads through the system's folder of processes, as `/dev/stdin` does: it is another file for others."""
    at = os.path.abspath(path)
    while not at.startswith("/proc/"):
        folder = os.path.realpath(os.path.dirname(at))
        at = os.path.join(folder, os.path.basename(at))
        if at.startswith("/proc/") or not os.path.islink(at):
            break
        at = os.path.join(folder, os.readlink(at))
    return at.startswith("/proc/")


def _ranges(path: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield the begins and lengths of the pieces of a file, which are as long as each other, give or take a line."""
    size = os.path.getsize(path)
    if not size:
        # An empty file has a task, too: what `mapper_init` and `mapper_final` give counts.
        yield 0, 0
        return
    part = -(-size // -(-size // most))
    start = 0
    with open(path, "rb") as file:
        while start < size:
            end = min(start + part, size)
            # The last byte of the piece, if it ends a line.
            file.seek(end - 1)
            end += max(len(file.readline()) - 1, 0)
            yield start, end - start
            start = end
