"""How pairs become columns: keys with their tags, values by their kind, and failures, in the form of
`src/dynamic/packed.rs`.

It packs Python's own values, pyarrow's arrays and numpy's. It must import neither the native module nor the rest
of the package beside `_pickling.py`.
"""

from __future__ import annotations

import math
import operator
import pickle
import struct
import sys
import traceback
from array import array
from itertools import chain
from typing import Any

NOTHING, INTS, FLOATS, WIDE, BYTES = range(5)

U32 = next(code for code in "IL" if array(code).itemsize == 4)


class Refused(Exception):
    """The function's answer is not what the plan asked for."""


def packed_failure(offset: int, error: BaseException) -> list[bytes]:
    """Pack an exception: the offset of its record, its traceback, and itself if it can be pickled."""
    if isinstance(error, Refused):
        text = str(error).encode("utf-8", "backslashreplace")
        return [struct.pack("<QI", offset, len(text)), text]
    text = "".join(traceback.format_exception(error)).encode(
        "utf-8", "backslashreplace"
    )
    try:
        from ._pickling import dumps

        pickled = dumps(error)
        pickle.loads(pickled)
    except Exception:
        pickled = b""
    return [struct.pack("<QI", offset, len(text)), text, pickled]


# Keys.


def _key(key: Any) -> bytes:
    """Encode one key with its tag. Keys that are equal in Python have the same bytes."""
    kind = type(key)
    if kind is str:
        return b"s" + key.encode("utf-8", "surrogateescape")  # type: ignore[no-any-return]
    if kind is bytes:
        return b"b" + key  # type: ignore[no-any-return]
    if kind is tuple:
        return b"t" + b"".join(_item(item) for item in key)
    if isinstance(key, str):
        return b"s" + str.__str__(key).encode("utf-8", "surrogateescape")
    if isinstance(key, float):
        return _float_key(key)
    try:
        number = operator.index(key)
    except TypeError:
        if _is_numpy_float(key):
            return _float_key(float(key))
        raise Refused(
            f"a key is a {kind.__name__}: keys are str, bytes, int, float or tuples of these"
        ) from None
    return b"i" + _int_key(number)


def _is_numpy_float(value: Any) -> bool:
    """Whether a value is one of numpy's floats. What else can be made a float may lose by it, as Decimal and Fraction do."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.floating)


def _int_key(number: int) -> bytes:
    try:
        return struct.pack(">Q", number + 2**63)
    except struct.error:
        raise Refused(
            f"a key is {number}: integer keys have 64 bits; give str(...)"
        ) from None


def _float_key(key: float) -> bytes:
    """Encode a float: whole ones as integers; others behind the integer below them, so that numbers are in order."""
    if key != key:
        raise Refused("a key is NaN, which equals nothing: leave such records out")
    if -(2.0**63) <= key < 2.0**63:
        below = math.floor(key)
        encoded = b"i" + _int_key(below)
        return encoded if below == key else encoded + _ordered(key)
    return b"i" + b"\xff" * 8 + _ordered(key) if key > 0 else b"f" + _ordered(key)


def _ordered(number: float) -> bytes:
    """Return the bits of a float, in bytes that are in the order of floats."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return struct.pack(">Q", bits ^ (2**64 - 1 if bits >> 63 else 1 << 63))


def short(key: Any) -> str:
    shown = repr(key)
    return shown if len(shown) <= 100 else shown[:97] + "..."


def shown_key(key: bytes, form: str) -> Any:
    """Return what `_key` encoded, or a key of the engine's own as text or bytes."""
    if form == "bytes":
        return key
    if form == "text":
        return key.decode("utf-8", "surrogateescape")
    tag, rest = key[:1], key[1:]
    if tag == b"s":
        return rest.decode("utf-8", "surrogateescape")
    if tag == b"b":
        return rest
    if tag == b"t":
        items, item, at = [], b"", 0
        while at < len(rest):
            zero = rest.index(0, at)
            item += rest[at:zero]
            at = zero + 2
            if rest[zero + 1] == 0:
                items.append(shown_key(item, "tagged"))
                item = b""
            else:
                item += b"\0"
        return tuple(items)
    (bits,) = struct.unpack(">Q", rest[-8:])
    if tag == b"i" and len(rest) == 8:
        return bits - 2**63
    bits ^= 1 << 63 if bits >> 63 else 2**64 - 1
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def packed_answer(key: Any, answer: Any) -> tuple[int, bytes]:
    """Return the kind of an answer of the last step, and its bytes."""
    if type(answer) is int and -(2**127) <= answer < 2**127:
        return 1, answer.to_bytes(16, "little", signed=True)
    if type(answer) is float:
        return 2, struct.pack("<d", answer)
    try:
        return 0, pickle.dumps(answer, 5)
    except Exception as error:
        error.add_note(f"in the answer of the key {short(key)}")
        raise


def _item(item: Any) -> bytes:
    if type(item) is tuple:
        raise Refused(
            "a key is a tuple that holds a tuple: give one tuple of all items"
        )
    return _key(item).replace(b"\0", b"\0\xff") + b"\0\0"


def _encoded(keys: Any) -> tuple[bytes, Any, bytes]:
    """Return the tag that all keys share, or 0, the keys' lengths, and their bytes."""
    kinds = set(map(type, keys))
    if kinds == {str}:
        text = "".join(keys)
        if text.isascii():
            # Three times as fast as key by key.
            return b"s", map(len, keys), text.encode()
        tag, encoded = b"s", [key.encode("utf-8", "surrogateescape") for key in keys]
    elif kinds == {bytes}:
        tag, encoded = b"b", keys
    else:
        tag, encoded = b"\0", [_key(key) for key in keys]
    return tag, map(len, encoded), b"".join(encoded)


# Values.


def _number(value: Any) -> int | float:
    """Return a value as an int or a float."""
    if isinstance(value, float):
        return float(value)
    try:
        return int(operator.index(value))
    except TypeError:
        if _is_numpy_float(value):
            return float(value)
        shown = repr(value)
        shown = shown if len(shown) <= 50 else shown[:47] + "..."
        raise Refused(
            f"a value is {shown}, a {type(value).__name__}: this combine takes int and float"
        ) from None


def packed_ints(column: int, values: Any, counts: array[int] | None) -> list[Any]:
    head = struct.pack("<BBBBI", column, INTS, counts is not None, 0, len(values))
    try:
        packed: array[int] | bytes = array("q", values)
    except OverflowError:
        head = struct.pack("<BBBBI", column, WIDE, counts is not None, 0, len(values))
        try:
            packed = b"".join(
                [value.to_bytes(16, "little", signed=True) for value in values]
            )
        except OverflowError:
            raise Refused("a value or a sum exceeds 128 bits: give floats") from None
    return [head, *([counts] if counts is not None else []), packed]


def _floats(column: int, values: Any, counts: array[int] | None) -> list[Any]:
    head = struct.pack("<BBBBI", column, FLOATS, counts is not None, 0, len(values))
    return [head, *([counts] if counts is not None else []), values]


def packed_numbers(column: int, kind: str, lists: list[Any]) -> list[list[Any]]:
    """Pack the values of each key in one column. Only integers are combined here: floats are summed by the engine,
    to the same bits whatever the order."""
    if kind == "count":
        return [packed_ints(column, list(map(len, lists)), None)]
    kinds = set(map(type, chain.from_iterable(lists)))
    if not kinds <= {int, float}:
        lists = [[_number(value) for value in values] for values in lists]
        kinds = set(map(type, chain.from_iterable(lists)))
    if kinds <= {int}:
        if kind == "mean":
            return [
                packed_ints(
                    column,
                    list(chain.from_iterable(lists)),
                    array(U32, map(len, lists)),
                )
            ]
        fold: Any = {"sum": sum, "min": min, "max": max}[kind]
        if all(lists):
            return [packed_ints(column, list(map(fold, lists)), None)]
        present = array(U32, map(bool, lists))
        return [
            packed_ints(column, [fold(values) for values in lists if values], present)
        ]
    if kinds == {float}:
        values = array("d", chain.from_iterable(lists))
        return [_floats(column, values, array(U32, map(len, lists)))]
    ints = [[value for value in values if type(value) is int] for values in lists]
    floats = [[value for value in values if type(value) is float] for values in lists]
    return packed_numbers(column, kind, ints) + packed_numbers(column, kind, floats)


def packed_values(column: int, lists: list[Any]) -> list[Any]:
    """Pack values that are kept, pickled."""
    pickled = [pickle.dumps(value, 5) for value in chain.from_iterable(lists)]
    head = struct.pack("<BBBBI", column, BYTES, True, 0, len(pickled))
    counts = array(U32, map(len, lists))
    return [head, counts, array(U32, map(len, pickled)), b"".join(pickled)]


def packed_bytes(lists: list[Any]) -> list[Any]:
    """Pack values that are bytes."""
    values = list(chain.from_iterable(lists))
    head = struct.pack("<BBBBI", 0, BYTES, True, 0, len(values))
    counts = array(U32, map(len, lists))
    return [head, counts, array(U32, map(len, values)), b"".join(values)]


def order_key(key: Any) -> bytes:
    """Return bytes that are in the order of keys: numbers, then text or bytes; of tuples, item by item."""
    if isinstance(key, tuple):
        return b"t" + b"".join(
            order_key(item).replace(b"\0", b"\0\xff") + b"\0\0" for item in key
        )
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogateescape")
    if isinstance(key, bytes):
        return b"s" + key
    number = _number(key)
    try:
        nearest = float(number)
    except OverflowError:
        raise Refused(f"a key is {number}, which exceeds the range of floats") from None
    if nearest != nearest:
        raise Refused("a key is NaN, which has no place in an order")
    # What a large integer is more than the float that it is rounded to.
    more = number - int(nearest) if isinstance(number, int) else 0
    try:
        return b"n" + _ordered(nearest + 0.0) + struct.pack(">Q", more + 2**63)
    except struct.error:
        raise Refused(f"a key is {number}: give a float or text") from None


def packed(
    keys: list[Any], sections: list[list[Any]], bad: list[tuple[int, str]]
) -> list[Any]:
    tag, lengths, encoded = _encoded(keys)
    out = [
        struct.pack("<IBBBB", len(keys), 0, tag[0], len(sections), 0),
        array(U32, lengths),
        encoded,
    ]
    out.extend(chain.from_iterable(sections))
    return out + packed_bad(bad)


def packed_bad(bad: list[tuple[int, str]]) -> list[bytes]:
    out = [struct.pack("<I", len(bad))]
    for offset, cause in bad:
        text = cause.encode("utf-8", "backslashreplace")
        out.append(struct.pack("<QI", offset, len(text)) + text)
    return out


# Columns of other libraries.


def _check_columns(answer: Any) -> None:
    if not hasattr(answer, "__getitem__"):
        raise Refused(
            f"the function returned a {type(answer).__name__}: give {{'key': ..., 'value': ...}}"
        )


def _check_lengths(keys: Any, values: Any) -> None:
    if len(keys) != len(values):
        raise Refused(f"{len(keys)} keys and {len(values)} values: give as many")


def _arrow_column(pyarrow: Any, answer: Any, name: str) -> Any:
    """Return a column of a dict or a table as an array."""
    _check_columns(answer)
    values = answer[name]
    if isinstance(values, pyarrow.ChunkedArray):
        values = values.combine_chunks()
    if not isinstance(values, pyarrow.Array):
        values = pyarrow.array(values)
    # A null may also be an entry of the dictionary, which `null_count` does not count.
    is_dictionary = pyarrow.types.is_dictionary(values.type)
    return values.dictionary_decode() if is_dictionary else values


def arrow_rows(pyarrow: Any, answer: Any) -> tuple[list[Any], list[Any]]:
    """Return the keys and the values of an answer as objects, without the rows that have no key."""
    keys = _arrow_column(pyarrow, answer, "key")
    values = _arrow_column(pyarrow, answer, "value")
    _check_lengths(keys, values)
    if keys.null_count:
        there = keys.is_valid()
        keys, values = keys.filter(there), values.filter(there)
    return keys.to_pylist(), values.to_pylist()


def array_rows(numpy: Any, answer: Any) -> tuple[list[Any], list[Any]]:
    """Return the keys and the values of an answer as objects: values of several dimensions as arrays."""
    keys = _array_keys(numpy, answer)
    values = numpy.asarray(answer["value"])
    _check_lengths(keys, values)
    return keys.tolist(), values.tolist() if values.ndim == 1 else list(values)


def _exceeds_int64(values: Any) -> bool:
    """Return whether an array of numpy's has integers that 64 bits with a sign do not hold."""
    return (
        values.dtype.kind == "u"
        and values.dtype.itemsize == 8
        and bool(values.size)
        and int(values.max()) >= 2**63
    )


def _array_keys(numpy: Any, answer: Any) -> Any:
    _check_columns(answer)
    keys = numpy.asarray(answer["key"])
    if keys.dtype.kind not in "iub":
        raise Refused(f"keys are of type {keys.dtype}: map_array takes integers")
    if _exceeds_int64(keys):
        raise Refused(
            f"a key is {keys.max()}: integer keys have 64 bits, one of them for the sign"
        )
    return numpy.ascontiguousarray(keys.ravel(), dtype="<i8")


def arrow_columns(
    pyarrow: Any, answer: Any, kinds: list[tuple[str, str | None]]
) -> list[Any]:
    """Pack Arrow columns: one key for each row, without combining."""
    import pyarrow.compute as compute

    keys = _arrow_column(pyarrow, answer, "key")
    values = [
        None if source is None else _arrow_column(pyarrow, answer, source)
        for _, source in kinds
    ]
    for one in values:
        if one is not None:
            _check_lengths(keys, one)
    if keys.null_count:
        there = compute.is_valid(keys)
        keys = keys.filter(there)
        values = [None if one is None else one.filter(there) for one in values]
    if pyarrow.types.is_integer(keys.type):
        keys = keys.cast(pyarrow.int64())
        packed = [_arrow_bytes(keys, 8)]
        form, tag = 1, b"\0"
    else:
        is_text = pyarrow.types.is_string(keys.type) or pyarrow.types.is_large_string(
            keys.type
        )
        is_text = is_text or keys.type == pyarrow.string_view()
        keys = keys.cast(pyarrow.large_binary())
        lengths = compute.binary_length(keys).cast(pyarrow.uint32())
        packed = [_arrow_bytes(lengths, 4), _arrow_text(keys)]
        form, tag = 0, b"s" if is_text else b"b"
    sections: list[list[Any]] = []
    for place, ((kind, _), one) in enumerate(zip(kinds, values, strict=True)):
        if one is None:
            sections.append(
                [struct.pack("<BBBBI", place, NOTHING, False, 0, len(keys))]
            )
            continue
        there = None
        if one.null_count and kind == "count":
            # A key without a value has a count, too: 0.
            one = compute.is_valid(one).cast(pyarrow.int64())
            kind = "sum"
        elif one.null_count:
            there = compute.is_valid(one)
            one = one.drop_null()
        bytes_of: bytes | memoryview = b""
        if kind == "count":
            form_of = NOTHING
        elif pyarrow.types.is_floating(one.type):
            form_of, bytes_of = FLOATS, _arrow_bytes(one.cast(pyarrow.float64()), 8)
        else:
            form_of, bytes_of = INTS, _arrow_bytes(one.cast(pyarrow.int64()), 8)
        head = struct.pack("<BBBBI", place, form_of, there is not None, 0, len(one))
        counts = (
            [] if there is None else [_arrow_bytes(there.cast(pyarrow.uint32()), 4)]
        )
        sections.append([head, *counts, bytes_of])
    head = struct.pack("<IBBBB", len(keys), form, tag[0], len(sections), 0)
    return [head, *packed, *chain.from_iterable(sections), *packed_bad([])]


def _arrow_bytes(values: Any, width: int) -> bytes | memoryview:
    """Return the values of an array of fixed width without nulls."""
    data = values.buffers()[1]
    if data is None or not len(values):
        return b""
    return memoryview(data)[
        values.offset * width : (values.offset + len(values)) * width
    ]


def _arrow_text(values: Any) -> bytes | memoryview:
    """Return the bytes of a large_binary array without nulls."""
    if not len(values):
        return b""
    _, offsets, data = values.buffers()
    offsets = memoryview(offsets).cast("q")
    begin, end = offsets[values.offset], offsets[values.offset + len(values)]
    return memoryview(data)[begin:end] if data is not None else b""


def array_columns(
    numpy: Any, answer: Any, kinds: list[tuple[str, str | None]]
) -> list[Any]:
    """Pack numpy columns: one key for each row, without combining."""
    keys = _array_keys(numpy, answer)
    sections: list[list[Any]] = []
    for place, (kind, source) in enumerate(kinds):
        if source is None:
            sections.append(
                [struct.pack("<BBBBI", place, NOTHING, False, 0, len(keys))]
            )
            continue
        values = numpy.asarray(answer[source]).ravel()
        _check_lengths(keys, values)
        if kind == "count":
            sections.append(
                [struct.pack("<BBBBI", place, NOTHING, False, 0, len(keys))]
            )
        elif values.dtype.kind == "f":
            values = numpy.ascontiguousarray(values, dtype="<f8")
            sections.append(_floats(place, values.data, None))
        elif _exceeds_int64(values):
            wide = numpy.zeros((len(values), 2), dtype="<u8")
            wide[:, 0] = values
            head = struct.pack("<BBBBI", place, WIDE, False, 0, len(values))
            sections.append([head, wide.data])
        elif values.dtype.kind in "iub":
            values = numpy.ascontiguousarray(values, dtype="<i8")
            sections.append(
                [struct.pack("<BBBBI", place, INTS, False, 0, len(values)), values.data]
            )
        else:
            raise Refused(f"values are of type {values.dtype}: give integers or floats")
    head = struct.pack("<IBBBB", len(keys), 1, 0, len(sections), 0)
    return [head, keys.data, *chain.from_iterable(sections), *packed_bad([])]
