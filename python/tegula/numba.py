"""Native maps in Python, compiled by Numba: their signature, and helpers that read splits and write pairs.

import numba
from tegula import numba as tn

@numba.cfunc(tn.signature)
def by_host(split, pairs, state):
    data = tn.data(split)
    at = tn.done(split)
    while at < data.size:
        end = tn.line_end(data, at)
        begin, stop = tn.field(data, at, end, 1, 32)
        if not tn.emit(pairs, data, begin, stop, end - at):
            return tn.full(split, at)
        at = end + 1
    return tn.finished(split)

tg.text("access.log").map_native(by_host).sum().run()
"""

from __future__ import annotations

from typing import Any

import numba
import numpy
from numba.core import cgutils
from numba.extending import intrinsic

signature = numba.types.int32(
    numba.types.voidptr, numba.types.voidptr, numba.types.voidptr
)
"""The signature for `numba.cfunc`: a split, pairs, a state that is null."""

# Fields of the structures in `tegula.h`, by words of 8 bytes.
_DATA, _LEN, _DONE = 0, 1, 4
_KEY_LEN, _VALUE, _KEY, _PAIRS, _PAIRS_MOST, _KEY_BYTES, _KEY_BYTES_MOST = range(7)


_carray: Any = vars(numba)["carray"]
_memcpy: Any = vars(cgutils)["raw_memcpy"]


def _typed_pointer(typing_context: Any, address: Any) -> Any:
    def cast(context: Any, builder: Any, of: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return numba.types.voidptr(numba.types.uint64), cast


_pointer: Any = intrinsic(_typed_pointer)


def _typed_copy(typing_context: Any, to: Any, source: Any, count: Any) -> Any:
    def copy(context: Any, builder: Any, of: Any, args: Any) -> Any:
        to, source = (builder.inttoptr(arg, cgutils.voidptr_t) for arg in args[:2])
        _memcpy(builder, to, source, args[2], 1)
        return context.get_dummy_value()

    address = numba.types.uintp
    return numba.types.void(address, address, numba.types.intp), copy


_copy: Any = intrinsic(_typed_copy)


@numba.njit(inline="always")
def _words(pointer: Any, count: int) -> Any:
    return _carray(pointer, count, numpy.uint64)


@numba.njit(inline="always")
def data(split: Any) -> Any:
    """The bytes of a split, as an array of uint8."""
    words = _words(split, 5)
    return _carray(_pointer(words[_DATA]), (numpy.int64(words[_LEN]),), numpy.uint8)


@numba.njit(inline="always")
def done(split: Any) -> int:
    """The offset at which to begin."""
    return numpy.int64(_words(split, 5)[_DONE])


@numba.njit(inline="always")
def full(split: Any, at: int) -> int:
    """Return this when `emit` had no room: the record at `at` is mapped again in the next call."""
    _words(split, 5)[_DONE] = numpy.uint64(at)
    return 1


@numba.njit(inline="always")
def bad(split: Any, at: int) -> int:
    """Return this for a bad record at `at`, of which nothing was emitted."""
    _words(split, 5)[_DONE] = numpy.uint64(at)
    return -1


@numba.njit(inline="always")
def finished(split: Any) -> int:
    """Return this when the split is done."""
    words = _words(split, 5)
    words[_DONE] = words[_LEN]
    return 0


@numba.njit(inline="always")
def line_end(data: Any, at: int) -> int:
    """The offset of the newline of the line at `at`, or the end of the data."""
    while at < data.size and data[numpy.uintp(at)] != 10:
        at += 1
    return at


@numba.njit(inline="always")
def field_end(data: Any, at: int, separator: int) -> int:
    """The offset of the first separator or newline from `at` on, or the end of the data. A map that goes from field to
    field looks at each byte of a line once."""
    while at < data.size:
        byte = data[numpy.uintp(at)]
        if byte == separator or byte == 10:
            break
        at += 1
    return at


@numba.njit(inline="always")
def field(data: Any, at: int, end: int, number: int, separator: int) -> Any:
    """Where a field of the line from `at` to `end` begins and stops. Fields are counted from 1; -1, -1 if there is
    none."""
    begin = at
    for _ in range(number - 1):
        while begin < end and data[numpy.uintp(begin)] != separator:
            begin += 1
        if begin == end:
            return -1, -1
        begin += 1
    stop = begin
    while stop < end and data[numpy.uintp(stop)] != separator:
        stop += 1
    return begin, stop


@numba.njit(inline="always")
def _has_room(words: Any, length: int) -> bool:
    room = words[_KEY_BYTES_MOST] - words[_KEY_BYTES]
    return words[_PAIRS] < words[_PAIRS_MOST] and numpy.uint64(length) <= room


@numba.njit(inline="always")
def _add_key(words: Any, data: Any, begin: int, stop: int) -> int:
    place = numpy.int64(words[_PAIRS])
    length = stop - begin
    lengths = _carray(_pointer(words[_KEY_LEN]), (place + 1,), numpy.uint32)
    key = numpy.uintp(words[_KEY] + words[_KEY_BYTES])
    _copy(key, numpy.uintp(data.ctypes.data) + numpy.uintp(begin), length)
    lengths[place] = length
    words[_PAIRS] += numpy.uint64(1)
    words[_KEY_BYTES] += numpy.uint64(length)
    return place


@numba.njit(inline="always")
def emit(pairs: Any, data: Any, begin: int, stop: int, value: int) -> bool:
    """Emit a pair with the key `data[begin:stop]` and an integer. Returns whether there was room."""
    words = _words(pairs, 7)
    if not _has_room(words, stop - begin):
        return False
    place = _add_key(words, data, begin, stop)
    _carray(_pointer(words[_VALUE]), (place + 1,), numpy.int64)[place] = value
    return True


@numba.njit(inline="always")
def emit_float(pairs: Any, data: Any, begin: int, stop: int, value: float) -> bool:
    """Emit a pair with the key `data[begin:stop]` and a float, for `map_native(..., value="f64")`."""
    words = _words(pairs, 7)
    if not _has_room(words, stop - begin):
        return False
    place = _add_key(words, data, begin, stop)
    _carray(_pointer(words[_VALUE]), (place + 1,), numpy.float64)[place] = value
    return True
