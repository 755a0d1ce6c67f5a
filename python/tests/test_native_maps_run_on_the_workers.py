"""Maps in C: by a shared library, a ctypes pointer and Numba; and what a library that is wrong is told."""

from __future__ import annotations

import ctypes
import gzip
import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import tegula as tg

C_MAPS = r"""
#include <signal.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
#include "tegula.h"

TEGULA_LIBRARY

/* Each word of each line, with its length. */
int32_t words(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)state;
    size_t at = split->done;
    while (at < split->len) {
        size_t end = at;
        while (end < split->len && split->data[end] != ' ' && split->data[end] != '\n') end++;
        if (end > at && !tegula_emit_i64(pairs, split->data + at, (uint32_t)(end - at), (int64_t)(end - at))) {
            split->done = at;
            return 1;
        }
        at = end + 1;
    }
    return 0;
}

/* The length of each line in a unit of its own, by the line's first byte. */
int32_t halves(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)state;
    size_t at = split->done;
    while (at < split->len) {
        const uint8_t *newline = memchr(split->data + at, '\n', split->len - at);
        size_t end = newline ? (size_t)(newline - split->data) : split->len;
        if (!tegula_emit_f64(pairs, split->data + at, end > at, (double)(end - at) / 2)) {
            split->done = at;
            return 1;
        }
        at = end + 1;
    }
    return 0;
}

/* Refuses lines that begin with 'a'; counts in a state of its own how many it saw. */
void *picky_open(void) { return calloc(1, sizeof(int64_t)); }
void picky_close(void *state) { free(state); }
int32_t picky(tegula_split *split, tegula_pairs *pairs, void *state) {
    size_t at = split->done;
    while (at < split->len) {
        const uint8_t *newline = memchr(split->data + at, '\n', split->len - at);
        size_t end = newline ? (size_t)(newline - split->data) : split->len;
        if (end > at && split->data[at] == 'a') { split->done = at; return -7; }
        ++*(int64_t *)state;
        if (!tegula_emit_i64(pairs, "line", 4, 1)) { split->done = at; return 1; }
        at = end + 1;
    }
    return 0;
}

/* The bytes of the split, and nothing for the 64 after it, which may be read. */
int32_t beyond_the_end(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)state;
    const volatile uint8_t *behind = split->data + split->len;
    int64_t sum = 0;
    for (size_t i = 0; i < 64; i++) sum += behind[i];
    if (!tegula_emit_i64(pairs, "bytes", 5, (int64_t)(split->len - split->done) + 0 * sum)) return 1;
    split->done = split->len;
    return 0;
}

/* As `words`, but slowly, and with a crash at the word "crash", if the variable CRASH is set. */
int32_t crashes(tegula_split *split, tegula_pairs *pairs, void *state) {
    if (getenv("CRASH")) {
        usleep((useconds_t)(split->len - split->done) / 4);
        for (size_t at = split->done; at + 5 <= split->len; at++)
            if (memcmp(split->data + at, "crash", 5) == 0) raise(SIGSEGV);
    }
    return words(split, pairs, state);
}

int32_t too_many(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)split; (void)state;
    pairs->pairs = pairs->pairs_most + 1;
    return 0;
}

int32_t stuck(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)split; (void)pairs; (void)state;
    return 1;
}

int32_t other(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)split; (void)pairs; (void)state;
    return 42;
}

int32_t beyond(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)pairs; (void)state;
    split->done = split->len + 1;
    return 0;
}
"""


def compiled(folder: Path, name: str, text: str) -> Path:
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    command = ["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{tg.include()}"]
    subprocess.run([*command, "-o", str(library), str(source)], check=True)
    return library


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("native"), "maps", C_MAPS)


def test_a_shared_library_maps(path: Path, lines: list[str], library: Path) -> None:
    words = Counter(word for line in lines for word in line.split())
    pairs = tg.text(path).map_native((library, "words"))
    assert pairs.count().run().to_dict() == words
    assert pairs.sum().run().to_dict() == {
        word: n * len(word) for word, n in words.items()
    }
    assert pairs.max().run().to_dict() == {word: len(word) for word in words}
    assert pairs.mean().run().to_dict() == {word: len(word) for word in words}


def test_floats_of_a_shared_library(
    path: Path, lines: list[str], library: Path
) -> None:
    groups = defaultdict(list)
    for line in lines:
        groups[line[:1]].append(len(line) / 2)
    pairs = tg.text(path).map_native((library, "halves"), value="f64")
    assert pairs.sum().run().to_dict() == {
        key: sum(all_) for key, all_ in groups.items()
    }
    assert pairs.min().run().to_dict() == {
        key: min(all_) for key, all_ in groups.items()
    }
    means = pairs.mean().run().to_dict()
    assert means == pytest.approx(
        {key: sum(all_) / len(all_) for key, all_ in groups.items()}
    )


def test_a_ctypes_pointer_maps(path: Path, lines: list[str], library: Path) -> None:
    function = ctypes.CDLL(str(library)).words
    assert tg.text(path).map_native(function).count().run().to_dict() == Counter(
        word for line in lines for word in line.split()
    )


def test_numba_maps(path: Path, lines: list[str]) -> None:
    numba = pytest.importorskip("numba")
    from tegula import numba as tn

    @numba.cfunc(tn.signature)
    def second_field(split, pairs, state):
        data = tn.data(split)
        at = tn.done(split)
        while at < data.size:
            end = tn.line_end(data, at)
            begin, stop = tn.field(data, at, end, 2, 32)
            if begin >= 0 and not tn.emit(pairs, data, begin, stop, end - at):
                return tn.full(split, at)
            at = end + 1
        return tn.finished(split)

    expected: Counter[str] = Counter()
    for line in lines:
        fields = line.split(" ")
        if len(fields) > 1:
            expected[fields[1]] += len(line)
    assert tg.text(path).map_native(second_field).sum().run().to_dict() == expected


def test_bad_records_have_places_and_are_skipped(
    path: Path, lines: list[str], library: Path
) -> None:
    pairs = tg.text(path).map_native((library, "picky"))
    first = next(number for number, line in enumerate(lines) if line.startswith("a"))
    with pytest.raises(tg.BadRecord, match="code -7") as caught:
        pairs.sum().run()
    assert caught.value.line == first + 1
    assert caught.value.byte == len("\n".join(lines[:first])) + (first > 0)
    bad = sum(line.startswith("a") for line in lines)
    answer = pairs.sum().run(skip_bad=True)
    assert answer.to_dict() == {"line": len(lines) - bad}
    assert answer.stats["bad_records"] == bad


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        ("too_many", "more than fit"),
        ("stuck", "without a pair"),
        ("other", "returned 42"),
        ("beyond", "is done"),
    ],
)
def test_a_map_that_breaks_its_word_fails_the_job(
    path: Path, library: Path, symbol: str, text: str
) -> None:
    with pytest.raises(tg.BadRecord, match=text):
        tg.text(path).map_native((library, symbol)).sum().run()


@pytest.mark.once
def test_libraries_that_do_not_fit_are_refused(
    path: Path, library: Path, tmp_path: Path
) -> None:
    source = tg.text(path)
    old = compiled(
        tmp_path,
        "old",
        "#include <stdint.h>\nconst uint32_t tegula_abi = 99;\nint f;\n",
    )
    none = compiled(tmp_path, "none", "int f;\n")
    (tmp_path / "text.so").write_text("no library")
    for function, text in [
        ((library, "absent"), "exports no absent"),
        ((old, "f"), "version 99"),
        ((none, "f"), "TEGULA_LIBRARY"),
        ((tmp_path / "missing.so", "f"), "no such file"),
        ((tmp_path / "text.so", "f"), "map_native"),
        (str.split, "has no address"),
    ]:
        with pytest.raises(tg.OptionError, match=text):
            source.map_native(function)
    with pytest.raises(tg.OptionError, match="value"):
        source.map_native((library, "words"), value="i32")


@pytest.mark.parametrize("size", [4096, 65_536, 3_000_000])
def test_bytes_after_a_split_are_readable(
    tmp_path: Path, library: Path, size: int
) -> None:
    """Whatever the source: vectors may end there."""
    numpy = pytest.importorskip("numpy")
    data = (b"x" * 63 + b"\n") * (size // 64)
    (tmp_path / "plain").write_bytes(data)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(data, 1))
    rows = numpy.memmap(tmp_path / "plain", numpy.uint8).reshape(-1, 64)
    for source in (
        tg.text(tmp_path / "plain"),
        tg.text(tmp_path / "packed.gz"),
        tg.records(tmp_path / "plain", bytes=64),
        tg.array(rows),
    ):
        for workers in (1, 3):
            job = source.map_native((library, "beyond_the_end")).sum()
            [(_, mapped)] = job.run(workers=workers)
            assert mapped == len(data)


CRASHES = """
    import sys
    import tegula as tg
    library, text, saved = sys.argv[1:]
    job = tg.text(text).map_native((library, "crashes")).count()
    answer = job.run(state=saved, job="a", workers=1)
    print(answer.stats["restored_bytes"], sorted(answer))
"""


@pytest.mark.once
def test_a_map_that_crashes_ends_the_process_and_a_state_goes_on(
    library: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text("good\n" * 1_600_000 + "crash\n")
    command = [sys.executable, "-c", textwrap.dedent(CRASHES), library, text]
    command.append(tmp_path / "saved")

    def run(**also: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **also}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )

    crashed = run(CRASH="1")
    assert (crashed.returncode, crashed.stdout) == (-signal.SIGSEGV, "")
    mended = run()
    assert mended.returncode == 0, mended.stderr
    restored, answer = mended.stdout.split(" ", 1)
    assert int(restored) > 0
    assert answer == "[('crash', 1), ('good', 1600000)]\n"


def test_records_of_fixed_length(tmp_path: Path, library: Path) -> None:
    (tmp_path / "records").write_bytes(b"ab c" * 1000)
    answer = (
        tg.records(tmp_path / "records", bytes=4)
        .map_native((library, "words"))
        .count()
        .run()
    )
    assert sum(count for _, count in answer) == 1001
