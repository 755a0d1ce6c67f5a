"""The same two maps in Numba, C and Rust, for `map_native`; compiled here, before anything is measured."""

import shutil
import subprocess
from pathlib import Path

import numba
import tegula as tg
from tegula import numba as tn

HERE = Path(__file__).parent


@numba.cfunc(tn.signature)
def words(split, pairs, state):
    data = tn.data(split)
    at = tn.done(split)
    while at < data.size:
        end = at
        while end < data.size and data[end] > 32:
            end += 1
        if end > at and not tn.emit(pairs, data, at, end, 1):
            return tn.full(split, at)
        at = end + 1
    return tn.finished(split)


@numba.cfunc(tn.signature)
def host_and_bytes(split, pairs, state):
    data = tn.data(split)
    at = tn.done(split)
    while at < data.size:
        host_end = tn.field_end(data, at, 32)
        end = host_end
        for _ in range(2):
            end = tn.field_end(data, end + 1, 32)
        size = 0
        end += 1
        while end < data.size and data[end] != 10:
            size = size * 10 + data[end] - 48
            end += 1
        if not tn.emit(pairs, data, at, host_end, size):
            return tn.full(split, at)
        at = end + 1
    return tn.finished(split)


def libraries(folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Builds the libraries that this machine has compilers for; returns them, and why others are left out."""
    commands = {
        "C": ["cc", "-O3", "-shared", "-fPIC", f"-I{tg.include()}", HERE / "maps.c"],
        "Rust": [
            "rustc",
            "--edition=2024",
            "-Copt-level=3",
            "--crate-type=cdylib",
            HERE / "maps.rs",
        ],
    }
    found, left_out = {}, {}
    for language, command in commands.items():
        if shutil.which(command[0]) is None:
            left_out[language] = f"{command[0]} is not installed"
            continue
        found[language] = folder / f"lib{language.lower()}.so"
        subprocess.run([*command, "-o", found[language]], check=True)
    return found, left_out
