"""The same map in C++, in Rust (the program of the documentation) and in Zig; and a pointer of cffi."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from shutil import which

import pytest
import tegula as tg

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
# `make wheel` installs it, as its linker.
ZIG_COMPILER = str(ROOT / "bench" / ".venv" / "bin" / "python-zig")

# Each emits the first word of each line that has one, with the line's length.

CPP = r"""
#include <string_view>
#include "tegula.h"

TEGULA_LIBRARY

extern "C" int32_t first_word(tegula_split *split, tegula_pairs *pairs, void *) {
    const std::string_view all(reinterpret_cast<const char *>(split->data), split->len);
    for (size_t at = split->done; at < all.size();) {
        const auto line = all.substr(at, all.find('\n', at) - at);
        const auto word = line.substr(0, line.find(' '));
        const auto length = static_cast<uint32_t>(word.size());
        if (!word.empty() && !tegula_emit_i64(pairs, word.data(), length, line.size())) {
            split->done = at;
            return 1;
        }
        at += line.size() + 1;
    }
    return 0;
}
"""

RUST = (
    (ROOT / "docs" / "native.md")
    .read_text()
    .partition("```rust\n")[2]
    .partition("```\n")[0]
)

ZIG = r"""
const std = @import("std");

const Split = extern struct { data: [*]const u8, len: usize, offset: u64, file: u32, done: usize };
const Pairs = extern struct {
    key_len: [*]u32,
    value: [*]i64,
    key: [*]u8,
    pairs: usize,
    pairs_most: usize,
    key_bytes: usize,
    key_bytes_most: usize,
};

export const tegula_abi: u32 = 1;

fn emit(pairs: *Pairs, key: []const u8, value: i64) bool {
    if (pairs.pairs == pairs.pairs_most or key.len > pairs.key_bytes_most - pairs.key_bytes) return false;
    @memcpy(pairs.key[pairs.key_bytes..][0..key.len], key);
    pairs.key_len[pairs.pairs] = @intCast(key.len);
    pairs.value[pairs.pairs] = value;
    pairs.pairs += 1;
    pairs.key_bytes += key.len;
    return true;
}

export fn first_word(split: *Split, pairs: *Pairs, _: ?*anyopaque) i32 {
    const data = split.data[0..split.len];
    while (split.done < data.len) {
        const end = std.mem.findScalarPos(u8, data, split.done, '\n') orelse data.len;
        const line = data[split.done..end];
        const word = line[0 .. std.mem.findScalar(u8, line, ' ') orelse line.len];
        if (word.len > 0 and !emit(pairs, word, @intCast(line.len))) return 1;
        split.done = @min(data.len, end + 1);
    }
    return 0;
}
"""

LANGUAGES = {
    "C++": ("map.cpp", CPP, ["g++", "-std=c++17", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "map.cpp"]),
    "Rust": ("map.rs", RUST, ["rustc", "--edition=2024", "-O", "--crate-type=cdylib", "map.rs"]),
    "Zig": ("map.zig", ZIG, [ZIG_COMPILER, "build-lib", "-dynamic", "-O", "ReleaseSmall", "-fno-compiler-rt", "map.zig"]),
}  # fmt: skip


def built(language: str, folder: Path) -> Path:
    name, text, command = LANGUAGES[language]
    if which(command[0]) is None:
        pytest.skip(f"no compiler of {language}")
    (folder / name).write_text(text)
    library = folder / "libmap.so"
    out = {"C++": [f"-I{tg.include()}", "-o", library], "Rust": ["-o", library]}
    out["Zig"] = [f"-femit-bin={library}"]
    subprocess.run([*command, *out[language]], cwd=folder, check=True)
    return library


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_library_in_another_language_maps(
    language: str, path: Path, lines: list[str], tmp_path: Path
) -> None:
    library = built(language, tmp_path)
    expected: Counter[str] = Counter()
    for line in lines:
        if word := line.split(" ")[0]:
            expected[word] += len(line)
    pairs = tg.text(path).map_native((library, "first_word"))
    assert pairs.sum().run().to_dict() == expected
    # In columns that are filled several times for a split.
    assert pairs.sum().run(workers=1).to_dict() == expected


def test_a_pointer_of_cffi_maps(path: Path, lines: list[str], tmp_path: Path) -> None:
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef("int32_t first_word(void *, void *, void *);")
    library = ffi.dlopen(str(built("C++", tmp_path)))
    expected = Counter(word for line in lines if (word := line.split(" ")[0]))
    for pointer in (library.first_word, ffi.addressof(library, "first_word")):
        assert tg.text(path).map_native(pointer).count().run().to_dict() == expected
    with pytest.raises(tg.OptionError, match="no address"):
        tg.text(path).map_native(ffi.NULL)
    # An address does not say what the map is.
    job = tg.text(path).map_native(library.first_word).count()
    saved = {"state": tmp_path / "saved", "job": "a"}
    with pytest.raises(tg.OptionError, match="version"):
        job.run(**saved)
    assert job.run(**saved, version="1").to_dict() == expected
