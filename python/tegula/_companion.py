"""The map of a Python job over one split: it calls the user's function and packs what comes of it into columns.

It takes the split's bytes and hands on buffers in the form of `src/dynamic/packed.rs`. It runs in companion processes
and, with ``on="threads"``, in the caller's own. It must not import the native module, nor the rest of the package.
"""

from __future__ import annotations

import functools
import operator
import pickle
import struct
import traceback
from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import chain
from types import GeneratorType
from typing import Any

WHOLE_SPLIT = 2**64 - 1

# What functions return most often.
MANY = (GeneratorType, list)

NOTHING, INTS, FLOATS, WIDE, BYTES = range(5)

_U32 = next(code for code in "IL" if array(code).itemsize == 4)


class Refused(Exception):
    """The function's answer is not what the plan asked for."""


class _At(Exception):
    """A record failed: its number, and why."""

    def __init__(self, number, cause):
        super().__init__(number)
        self.number = number
        self.cause = cause


def packed_failure(offset, error):
    """Pack an exception: the offset of its record, its traceback, and itself if it can be pickled."""
    if isinstance(error, Refused):
        text = str(error).encode("utf-8", "backslashreplace")
        return [struct.pack("<QI", offset, len(text)), text]
    text = "".join(traceback.format_exception(error)).encode(
        "utf-8", "backslashreplace"
    )
    try:
        import cloudpickle

        pickled = cloudpickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        pickled = b""
    return [struct.pack("<QI", offset, len(text)), text, pickled]


# Keys.


def _key(key):
    """Encode one key with its tag. Keys that are equal in Python have the same bytes."""
    kind = type(key)
    if kind is str:
        return b"s" + key.encode("utf-8", "surrogateescape")
    if kind is bytes:
        return b"b" + key
    if kind is tuple:
        return b"t" + b"".join(_item(item) for item in key)
    if isinstance(key, str):
        return b"s" + str.__str__(key).encode("utf-8", "surrogateescape")
    if isinstance(key, float):
        return _float_key(key)
    try:
        number = operator.index(key)
    except TypeError:
        if hasattr(key, "__float__") and not hasattr(key, "__array__"):
            return _float_key(float(key))
        raise Refused(
            f"a key is a {kind.__name__}: keys are str, bytes, int, float or tuples of these"
        ) from None
    return b"i" + _int_key(number)


def _int_key(number):
    try:
        return struct.pack(">Q", number + 2**63)
    except struct.error:
        raise Refused(
            f"a key is {number}: integer keys have 64 bits; give str(...)"
        ) from None


def _float_key(key):
    if key != key:
        raise Refused("a key is NaN, which equals nothing: leave such records out")
    if key.is_integer() and -(2.0**63) <= key < 2.0**63:
        return b"i" + _int_key(int(key))
    (bits,) = struct.unpack("<Q", struct.pack("<d", key))
    return b"f" + struct.pack(">Q", bits ^ (2**64 - 1 if bits >> 63 else 1 << 63))


def _short(key):
    shown = repr(key)
    return shown if len(shown) <= 100 else shown[:97] + "..."


def _shown_key(key, form):
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
                items.append(_shown_key(item, "tagged"))
                item = b""
            else:
                item += b"\0"
        return tuple(items)
    (bits,) = struct.unpack(">Q", rest)
    if tag == b"i":
        return bits - 2**63
    bits ^= 1 << 63 if bits >> 63 else 2**64 - 1
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def _packed_answer(key, answer):
    """Return the kind of an answer of the last step, and its bytes."""
    if type(answer) is int and -(2**127) <= answer < 2**127:
        return 1, answer.to_bytes(16, "little", signed=True)
    if type(answer) is float:
        return 2, struct.pack("<d", answer)
    try:
        return 0, pickle.dumps(answer, 5)
    except Exception as error:
        error.add_note(f"in the answer of the key {_short(key)}")
        raise


def _item(item):
    if type(item) is tuple:
        raise Refused(
            "a key is a tuple that holds a tuple: give one tuple of all items"
        )
    return _key(item).replace(b"\0", b"\0\xff") + b"\0\0"


def _encoded(keys):
    """Return the tag that all keys share, or 0, and the keys' bytes."""
    kinds = set(map(type, keys))
    if kinds == {str}:
        return b"s", [key.encode("utf-8", "surrogateescape") for key in keys]
    if kinds == {bytes}:
        return b"b", list(keys)
    return b"\0", [_key(key) for key in keys]


# Values.


def _number(value):
    """Return a value as an int or a float."""
    if isinstance(value, float):
        return float(value)
    try:
        return int(operator.index(value))
    except TypeError:
        if hasattr(value, "__float__") and not hasattr(value, "__array__"):
            return float(value)
        shown = repr(value)
        shown = shown if len(shown) <= 50 else shown[:47] + "..."
        raise Refused(
            f"a value is {shown}, a {type(value).__name__}: this combine takes numbers"
        ) from None


def _ints(column, values, counts):
    head = struct.pack("<BBBBI", column, INTS, counts is not None, 0, len(values))
    try:
        packed = array("q", values)
    except OverflowError:
        head = struct.pack("<BBBBI", column, WIDE, counts is not None, 0, len(values))
        try:
            packed = b"".join(
                [value.to_bytes(16, "little", signed=True) for value in values]
            )
        except OverflowError:
            raise Refused("a value or a sum exceeds 128 bits: give floats") from None
    return [head, *([counts] if counts is not None else []), packed]


def _floats(column, values, counts):
    head = struct.pack("<BBBBI", column, FLOATS, counts is not None, 0, len(values))
    return [head, *([counts] if counts is not None else []), values]


def _sections(column, kind, lists):
    """Pack the values of each key in one column. Only integers are combined here: floats are summed by the engine,
    to the same bits whatever the order."""
    if kind == "count":
        return [_ints(column, list(map(len, lists)), None)]
    kinds = set(map(type, chain.from_iterable(lists)))
    if not kinds <= {int, float}:
        lists = [[_number(value) for value in values] for values in lists]
        kinds = set(map(type, chain.from_iterable(lists)))
    if kinds <= {int}:
        if kind == "mean":
            return [
                _ints(
                    column,
                    list(chain.from_iterable(lists)),
                    array(_U32, map(len, lists)),
                )
            ]
        fold = {"sum": sum, "min": min, "max": max}[kind]
        if all(lists):
            return [_ints(column, list(map(fold, lists)), None)]
        present = array(_U32, map(bool, lists))
        return [_ints(column, [fold(values) for values in lists if values], present)]
    if kinds == {float}:
        values = array("d", chain.from_iterable(lists))
        return [_floats(column, values, array(_U32, map(len, lists)))]
    ints = [[value for value in values if type(value) is int] for values in lists]
    floats = [[value for value in values if type(value) is float] for values in lists]
    return _sections(column, kind, ints) + _sections(column, kind, floats)


def _values(column, lists):
    """Pack values that are kept, pickled."""
    pickled = [pickle.dumps(value, 5) for value in chain.from_iterable(lists)]
    head = struct.pack("<BBBBI", column, BYTES, True, 0, len(pickled))
    counts = array(_U32, map(len, lists))
    return [head, counts, array(_U32, map(len, pickled)), b"".join(pickled)]


def _raw_values(lists):
    """Pack values that are bytes."""
    values = list(chain.from_iterable(lists))
    head = struct.pack("<BBBBI", 0, BYTES, True, 0, len(values))
    counts = array(_U32, map(len, lists))
    return [head, counts, array(_U32, map(len, values)), b"".join(values)]


def _order(key):
    """Return bytes that are in the order of keys: numbers, then text or bytes; of tuples, item by item."""
    if isinstance(key, tuple):
        return b"t" + b"".join(
            _order(item).replace(b"\0", b"\0\xff") + b"\0\0" for item in key
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
    (bits,) = struct.unpack("<Q", struct.pack("<d", nearest + 0.0))
    head = struct.pack(">Q", bits ^ (2**64 - 1 if bits >> 63 else 1 << 63))
    # What a large integer is more than the float that it is rounded to.
    more = number - int(nearest) if isinstance(number, int) else 0
    try:
        return b"n" + head + struct.pack(">Q", more + 2**63)
    except struct.error:
        raise Refused(f"a key is {number}: give a float or text") from None


def _packed(keys, sections, bad):
    tag, encoded = _encoded(keys)
    out = [
        struct.pack("<IBBBB", len(encoded), 0, tag[0], len(sections), 0),
        array(_U32, map(len, encoded)),
        b"".join(encoded),
    ]
    out.extend(chain.from_iterable(sections))
    return out + _bad(bad)


def _bad(bad):
    out = [struct.pack("<I", len(bad))]
    for offset, cause in bad:
        text = cause.encode("utf-8", "backslashreplace")
        out.append(struct.pack("<QI", offset, len(text)) + text)
    return out


class Records:
    """The records of a split: how its bytes are cut, and what each is given as."""

    def __init__(self, cut, encoding):
        self.cut = cut
        self.encoding = encoding

    def of(self, data):
        """Return the records of a split."""
        if self.cut == "whole":
            return [data.decode("utf-8", "surrogateescape") if self.encoding else data]
        if isinstance(self.cut, int):
            return [data[at : at + self.cut] for at in range(0, len(data), self.cut)]
        if self.cut == "pairs":
            return pickle.loads(data)
        if self.cut == "batches":
            return _batch(data).to_pylist()
        if self.cut == "lines" and self.encoding:
            records = data.decode("utf-8", "surrogateescape").split("\n")
        elif self.cut == "whitespace":
            records = [*data.split(), b""]
        elif self.cut == "csv":
            records = _rows(data)
        else:
            records = data.split(b"\n" if self.cut == "lines" else self.cut)
        if not records[-1]:
            records.pop()
        if self.encoding and self.cut != "lines":
            return [record.decode("utf-8", "surrogateescape") for record in records]
        return records

    def offset(self, data, number):
        """Return where a record begins in its split, in bytes."""
        if self.cut in ("whole", "pairs", "batches"):
            return 0
        if isinstance(self.cut, int):
            return number * self.cut
        if self.cut == "csv":
            return sum(len(row) + 1 for row in _rows(data)[:number])
        if self.cut == "whitespace":
            return _offset_of_word(data, number)
        end = b"\n" if self.cut == "lines" else self.cut
        at = 0
        for _ in range(number):
            at = data.index(end, at) + len(end)
        return at


def _rows(data):
    """Return the rows of CSV without their newlines, and what is behind the last newline."""
    lines = data.split(b"\n")
    if b'"' not in data:
        return lines
    rows, open_lines = [], []
    for line in lines:
        # A newline is in quotes if the number of quotes before it is odd.
        if line.count(b'"') % 2:
            if open_lines:
                rows.append(b"\n".join([*open_lines, line]))
                open_lines = []
            else:
                open_lines = [line]
        elif open_lines:
            open_lines.append(line)
        else:
            rows.append(line)
    return [*rows, b"\n".join(open_lines)] if open_lines else rows


def _batch(data):
    """Return the record batch that a part of the input is."""
    import pyarrow

    with pyarrow.ipc.open_stream(data) as stream:
        return stream.read_next_batch()


def _cause(error):
    """Say in a line why a record is bad."""
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name


def _offset_of_word(data, number):
    at = 0
    for word in data.split()[: number + 1]:
        at = data.index(word, at)
        begin, at = at, at + len(word)
    return begin


def _import_for(style):
    """Import what batches are made of, once for all companions."""
    if style == "arrow":
        import pyarrow.compute  # noqa: F401 - for `_map_arrow`
    elif style == "array":
        import numpy  # noqa: F401 - for `_map_array`


class Mapper:
    """Maps splits by a program, the dict that `job.py` pickled."""

    def __init__(self, program: dict[str, Any]) -> None:
        self.function = program["function"]
        self.args = program["args"]
        self.skip_bad = program["skip_bad"]
        self.columns = program["columns"]
        self.combine = program["combine"]
        self.reducer = program.get("reducer")
        self.reducer_args = program.get("reducer_args", ())
        self.keys = program.get("keys", "tagged")
        self.values = program.get("values", "pickled")
        self.records = Records(program["cut"], program["encoding"])
        self.dtype = program.get("dtype")
        self.shape = program.get("shape")
        _import_for(program["style"])
        self._map = {
            "record": self._map_records,
            "split": self._map_split,
            "arrow": self._map_arrow,
            "array": self._map_array,
            "none": None,
        }[program["style"]]
        self.setup = program.get("setup")
        if self.setup is not None and not hasattr(self.setup, "per_worker"):
            self.setup()

    def begin(self) -> None:
        """Prepare a process that has been forked."""
        if hasattr(self.setup, "per_worker"):
            self.setup.per_worker()

    def __call__(self, data: bytes) -> tuple[int, list[Any]]:
        """Return 0 and the columns of a split, or 1 and the failure of one of its records."""
        try:
            return 0, self._map(data)
        except _At as failed:
            return 1, packed_failure(
                self.records.offset(data, failed.number), failed.cause
            )
        except Exception as error:
            return 1, packed_failure(WHOLE_SPLIT, error)

    # The last step.

    def reduce(self, request: bytes) -> tuple[int, list[Any]]:
        """Return 0 and what the reducer makes of each key's values, or 1 and its failure: see `reducing.rs`."""
        try:
            return 0, self._reduce(memoryview(request))
        except Exception as error:
            return 1, packed_failure(WHOLE_SPLIT, error)

    def _reduce(self, request):
        keys, values = struct.unpack_from("<QQ", request)
        numbers = array("Q", request[16 : 16 + 8 * (2 * keys + values)].tobytes())
        at = 16 + 8 * (2 * keys + values)
        found = []
        for length in numbers[:keys]:
            found.append(_shown_key(bytes(request[at : at + length]), self.keys))
            at += length
        kinds, lengths, answers = bytearray(), array("Q"), []
        next_value = 2 * keys
        for key, count in zip(found, numbers[keys : 2 * keys], strict=True):
            of = numbers[next_value : next_value + count]
            answer = self._reduced(key, self._each(request, at, of))
            next_value += count
            at += sum(of)
            kind, packed = _packed_answer(key, answer)
            kinds.append(kind)
            lengths.append(len(packed))
            answers.append(packed)
        return [kinds, lengths, b"".join(answers)]

    def _each(self, request, at, lengths):
        """Yield values one by one."""
        for length in lengths:
            value = request[at : at + length]
            at += length
            if self.values == "pickled":
                yield pickle.loads(value)
            elif self.values == "text":
                yield str(value, "utf-8", "surrogateescape")
            else:
                yield bytes(value)

    def _reduced(self, key, values):
        if self.combine == "merge":
            return self._merged(key, values)
        try:
            return self.reducer(key, values, *self.reducer_args)
        except Exception as error:
            error.add_note(f"in the reduce of the key {_short(key)}")
            raise

    def _merged(self, key, values):
        try:
            if self.reducer_args:
                return functools.reduce(
                    lambda a, b: self.reducer(a, b, *self.reducer_args), values
                )
            return functools.reduce(self.reducer, values)
        except Exception as error:
            error.add_note(f"in the merge of the key {_short(key)}")
            raise

    # Functions of one record.

    def _map_records(self, data):
        records = self.records.of(data)
        if self.combine == "sort":
            return self._map_order(data, records)
        if self.skip_bad:
            return self._map_carefully(data, records)
        try:
            return self._map_fast(records)
        except _At:
            raise
        except Exception:
            # Some record gave what cannot be combined: which one is found out with a look at each.
            self._map_carefully(data, records)
            raise

    def _map_fast(self, records):
        function, args = self.function, self.args
        groups = Counter() if self.combine == "count" else defaultdict(list)
        add = self._add_count if self.combine == "count" else self._add_values
        number = 0
        try:
            if args:
                for number, record in enumerate(records):  # noqa: B007 - the handler below names it
                    answer = function(record, *args)
                    if answer is not None:
                        add(groups, answer)
            elif add == self._add_values:
                # The loop that most time is spent in.
                for number, record in enumerate(records):  # noqa: B007 - the handler below names it
                    answer = function(record)
                    if type(answer) is tuple:
                        key, value = answer
                        groups[key].append(value)
                    elif answer is not None:
                        # Mappings are looked for last: that takes as long as some pairs.
                        if type(answer) not in MANY and isinstance(answer, Mapping):
                            answer = answer.items()
                        for key, value in answer:
                            groups[key].append(value)
            else:
                for number, record in enumerate(records):  # noqa: B007 - the handler below names it
                    answer = function(record)
                    if answer is not None:
                        add(groups, answer)
        except Exception as error:
            raise _At(number, error) from None
        return self._pack(groups, [])

    def _map_carefully(self, data, records):
        """Map record by record, each of which is looked at before it counts."""
        groups = Counter() if self.combine == "count" else defaultdict(list)
        add = self._add_count if self.combine == "count" else self._add_values
        bad = []
        for number, record in enumerate(records):
            try:
                answer = self.function(record, *self.args)
                if answer is None:
                    continue
                own = Counter() if self.combine == "count" else defaultdict(list)
                add(own, answer)
                self._pack(own, [])
            except Exception as error:
                if not self.skip_bad:
                    raise _At(number, error) from None
                bad.append((self.records.offset(data, number), _cause(error)))
                continue
            for key, values in own.items():
                groups[key] += values
        return self._pack(groups, bad)

    def _map_order(self, data, records):
        """Pack each record below what it is ordered by."""
        groups, bad = defaultdict(list), []
        for number, record in enumerate(records):
            try:
                key = _order(self.function(record, *self.args))
            except Exception as error:
                if not self.skip_bad:
                    raise _At(number, error) from None
                bad.append((self.records.offset(data, number), _cause(error)))
                continue
            groups[key].append(
                record.encode("utf-8", "surrogateescape")
                if isinstance(record, str)
                else record
            )
        head = struct.pack("<IBBBB", len(groups), 0, 0, 1, 0)
        keys = [head, array(_U32, map(len, groups)), b"".join(groups)]
        return [*keys, *_raw_values(list(groups.values())), *_bad(bad)]

    def _add_values(self, groups, answer):
        if type(answer) is tuple:
            key, value = answer
            groups[key].append(value)
            return
        if isinstance(answer, Mapping):
            answer = answer.items()
        for key, value in answer:
            groups[key].append(value)

    def _add_count(self, groups, answer):
        """Count keys: what is no pair is a key, or many."""
        if type(answer) is tuple:
            key, _ = answer
            groups[key] += 1
        elif isinstance(answer, (str, bytes, int, float)):
            groups[answer] += 1
        elif isinstance(answer, Mapping):
            groups.update(dict.fromkeys(answer, 1))
        else:
            answer = list(answer)
            if tuple in set(map(type, answer)):
                answer = [
                    pair[0] if type(pair) is tuple and len(pair) == 2 else pair
                    for pair in answer
                ]
            groups.update(answer)

    def _pack(self, groups, bad):
        if self.combine == "count":
            sections = [_ints(0, list(groups.values()), None)]
        elif self.combine in ("collect", "reduce"):
            sections = [_values(0, list(groups.values()))]
        elif self.combine == "merge":
            merged = [[self._merged(key, values)] for key, values in groups.items()]
            sections = [_values(0, merged)]
        elif self.combine == "agg":
            sections = self._pack_columns(list(groups.values()))
        else:
            sections = _sections(0, self.combine, list(groups.values()))
        return _packed(list(groups), sections, bad)

    def _pack_columns(self, lists):
        sections = []
        known = {source for _, _, source in self.columns if source is not None}
        for values in lists:
            for value in values:
                if not isinstance(value, Mapping):
                    raise Refused(
                        f"a value is a {type(value).__name__}: agg takes a dict of columns"
                    )
                if not value.keys() <= known:
                    names = ", ".join(sorted(map(repr, value.keys() - known)))
                    raise Refused(f"a value has {names}, which no column of agg takes")
        for column, (_, kind, source) in enumerate(self.columns):
            if kind == "count" and source is None:
                of = lists
            else:
                of = [
                    [value[source] for value in values if value.get(source) is not None]
                    for values in lists
                ]
            sections.extend(_sections(column, kind, of))
        return sections

    # Functions of many records.

    def _map_split(self, data):
        answer = self.function(data, *self.args)
        groups = Counter() if self.combine == "count" else defaultdict(list)
        if answer is None:
            return self._pack(groups, [])
        is_summed = isinstance(answer, Mapping) and self.combine == "sum"
        if is_summed and set(map(type, answer.values())) <= {int}:
            # A Counter, most often: it has one value for each key, and nothing is to be gathered.
            return _packed(list(answer), [_ints(0, list(answer.values()), None)], [])
        if self.combine == "count":
            self._add_count(groups, answer)
        else:
            self._add_values(groups, answer)
        return self._pack(groups, [])

    def _map_arrow(self, data):
        import pyarrow

        records = self._arrow_records(pyarrow, data)
        return _arrow_columns(
            pyarrow, self.function(records, *self.args), self._kinds()
        )

    def _arrow_records(self, pyarrow, data):
        """Return the records as an array over the split's own bytes: only offsets are made."""
        if isinstance(self.records.cut, int):
            kind = pyarrow.binary(self.records.cut)
            return pyarrow.Array.from_buffers(
                kind, len(data) // self.records.cut, [None, pyarrow.py_buffer(data)]
            )
        if self.records.cut == "batches":
            return _batch(data)
        import pyarrow.compute as compute

        kind = (
            pyarrow.large_string() if self.records.encoding else pyarrow.large_binary()
        )
        end = b"\n" if self.records.cut == "lines" else self.records.cut
        if self.records.cut == "whole":
            offsets = array("q", [0, len(data)])
        else:
            whole = pyarrow.Array.from_buffers(
                pyarrow.large_binary(),
                1,
                [
                    None,
                    pyarrow.py_buffer(array("q", [0, len(data)])),
                    pyarrow.py_buffer(data),
                ],
            )
            split = compute.split_pattern(whole, end).flatten()
            if data.endswith(end) or not data:
                split = split[:-1]
            if not self.records.encoding:
                return split
            return split.cast(kind)
        return pyarrow.Array.from_buffers(
            kind, 1, [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
        )

    def _map_array(self, data):
        import numpy

        rows = numpy.frombuffer(data, dtype=self.dtype).reshape(-1, *self.shape)
        answer = self.function(rows, *self.args)
        if isinstance(answer, tuple):
            answer = {"key": answer[0], "value": answer[1]}
        return _array_columns(numpy, answer, self._kinds())

    def _kinds(self):
        """Return the kind of each column and its name in the function's answer."""
        if self.combine == "agg":
            return [(kind, source) for _, kind, source in self.columns]
        if self.combine == "collect":
            raise Refused("collect takes the values of .map, .map_split or .field")
        return [(self.combine, "value" if self.combine != "count" else None)]


def _check_columns(answer, kinds):
    if not hasattr(answer, "__getitem__"):
        raise Refused(
            f"the function returned a {type(answer).__name__}: give {{'key': ..., 'value': ...}}"
        )


def _arrow_columns(pyarrow, answer, kinds):
    """Pack Arrow columns: one key for each row, without combining."""
    import pyarrow.compute as compute

    _check_columns(answer, kinds)

    def column(name):
        values = answer[name]
        if isinstance(values, pyarrow.ChunkedArray):
            values = values.combine_chunks()
        return values if isinstance(values, pyarrow.Array) else pyarrow.array(values)

    keys = column("key")
    values = [None if source is None else column(source) for _, source in kinds]
    for one in values:
        if one is not None and len(one) != len(keys):
            raise Refused(f"{len(keys)} keys and {len(one)} values: give as many")
    if keys.null_count:
        there = compute.is_valid(keys)
        keys = keys.filter(there)
        values = [None if one is None else one.filter(there) for one in values]
    if pyarrow.types.is_dictionary(keys.type):
        keys = keys.dictionary_decode()
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
    sections = []
    for place, ((kind, _), one) in enumerate(zip(kinds, values, strict=True)):
        if one is None:
            sections.append(
                [struct.pack("<BBBBI", place, NOTHING, False, 0, len(keys))]
            )
            continue
        there = None
        if one.null_count:
            there = compute.is_valid(one)
            one = one.drop_null()
        if kind == "count":
            form_of, one = NOTHING, one
            bytes_of = b""
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
    return [head, *packed, *chain.from_iterable(sections), *_bad([])]


def _arrow_bytes(values, width):
    """Return the values of an array of fixed width without nulls."""
    data = values.buffers()[1]
    if data is None or not len(values):
        return b""
    return memoryview(data)[
        values.offset * width : (values.offset + len(values)) * width
    ]


def _arrow_text(values):
    """Return the bytes of a large_binary array without nulls."""
    if not len(values):
        return b""
    _, offsets, data = values.buffers()
    offsets = memoryview(offsets).cast("q")
    begin, end = offsets[values.offset], offsets[values.offset + len(values)]
    return memoryview(data)[begin:end] if data is not None else b""


def _array_columns(numpy, answer, kinds):
    """Pack numpy columns: one key for each row, without combining."""
    _check_columns(answer, kinds)
    keys = numpy.asarray(answer["key"])
    if keys.dtype.kind not in "iub":
        raise Refused(f"keys are of type {keys.dtype}: map_array takes integers")
    keys = numpy.ascontiguousarray(keys.ravel(), dtype="<i8")
    sections = []
    for place, (kind, source) in enumerate(kinds):
        if source is None:
            sections.append(
                [struct.pack("<BBBBI", place, NOTHING, False, 0, len(keys))]
            )
            continue
        values = numpy.asarray(answer[source]).ravel()
        if len(values) != len(keys):
            raise Refused(f"{len(keys)} keys and {len(values)} values: give as many")
        if kind == "count":
            sections.append(
                [struct.pack("<BBBBI", place, NOTHING, False, 0, len(keys))]
            )
        elif values.dtype.kind == "f":
            values = numpy.ascontiguousarray(values, dtype="<f8")
            sections.append(_floats(place, values.data, None))
        elif values.dtype.kind in "iub":
            values = numpy.ascontiguousarray(values, dtype="<i8")
            sections.append(
                [struct.pack("<BBBBI", place, INTS, False, 0, len(values)), values.data]
            )
        else:
            raise Refused(f"values are of type {values.dtype}: give integers or floats")
    head = struct.pack("<IBBBB", len(keys), 1, 0, len(sections), 0)
    return [head, keys.data, *chain.from_iterable(sections), *_bad([])]
