"""How the comparisons call tegula's word count and read what it says.

Takes the binary and a job; hands on a `Program`. It must never call tegula in a way that a person
would not.
"""

import os
import tempfile
from collections import Counter
from pathlib import Path

from measure import Answer, Failed, Program


def word_count(
    binary: Path,
    path: Path,
    rule: str,
    workers: int,
    top: int | None = 10,
    name: str = "",
) -> Program:
    """Words cut by `rule`: the `top` most frequent, or with None all of them, sorted by word."""
    stats = (
        Path(tempfile.gettempdir())
        / f"tegula-{os.getpid()}-{path.stem}-{rule}-{top}-{workers}.json"
    )
    argv = [str(binary), "wordcount", str(path), "--words", rule, "-j", str(workers)]
    argv += ["--stats-json", str(stats), "--progress", "off"]
    if top is not None:
        argv += ["--top", str(top)]
    return Program(
        name=name or f"tegula ({rule})",
        workers=workers,
        input=path,
        argv=tuple(argv),
        read_answer=None if top is None else read_top,
        stats=stats,
    )


def read_top(printed: str) -> Answer:
    """Lines of a word, a tab and a count."""
    pairs = (line.rsplit("\t", 1) for line in printed.splitlines())
    return Answer(top=tuple((word, int(times)) for word, times in pairs))


def frequent_word(path: Path) -> str:
    """The word that is most frequent in the first bytes of a text."""
    with path.open("rb") as file:
        return Counter(file.read(1 << 20).split()).most_common(1)[0][0].decode()


def existing(binary: Path) -> Path:
    """The binary, or a message that says how to get one."""
    if not binary.is_file():
        raise Failed(f"no tegula at {binary}: build it with `cargo build --release`")
    return binary
