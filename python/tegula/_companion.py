"""The map of a Python job over one split: it calls the user's function and packs its answers into columns.

It takes the split's bytes and hands on buffers in the form of `src/dynamic/packed.rs`. It runs in companion processes
and, with ``on="threads"``, in the caller's own. It must not import the native module, nor the rest of the package
beside its own parts.
"""

from __future__ import annotations

import functools
import pickle
import struct
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from types import GeneratorType
from typing import Any

from ._packing import (
    U32,
    Refused,
    array_columns,
    array_rows,
    arrow_columns,
    arrow_rows,
    order_key,
    packed,
    packed_answer,
    packed_bad,
    packed_bytes,
    packed_failure,
    packed_ints,
    packed_numbers,
    packed_values,
    short,
    shown_key,
)
from ._records import Records, batch_of

WHOLE_SPLIT = 2**64 - 1

# What functions return most often.
MANY = (GeneratorType, list)

# The combines that keep values as objects.
KEPT = ("collect", "reduce", "merge")


class _At(Exception):
    """A record failed: its number, and why."""

    def __init__(self, number: int, cause: Exception) -> None:
        super().__init__(number)
        self.number = number
        self.cause = cause


def _cause(error: Exception) -> str:
    """Say in a line why a record is bad."""
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name


def _pairs_of(answer: Any) -> Any:
    """Return the pairs of what a function returned, which is a pair, many, or a mapping."""
    if isinstance(answer, tuple):
        return (answer,)
    return answer.items() if isinstance(answer, Mapping) else answer


def _import_for(style: str) -> None:
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
        self.sums_ints: bool | None = None
        """Whether values are added up as they come, as integers may be. The first split shows whether they are."""
        self.reducer: Any = program.get("reducer")
        self.reducer_args = program.get("reducer_args", ())
        self.keys = program.get("keys", "tagged")
        self.values = program.get("values", "pickled")
        self.records = Records(program["cut"], program["encoding"])
        self.dtype = program.get("dtype")
        self.shape: Any = program.get("shape")
        _import_for(program["style"])
        self._map: Any = {
            "record": self._map_records,
            "split": self._map_split,
            "arrow": self._map_arrow,
            "array": self._map_array,
            "none": None,
        }[program["style"]]
        self.per_worker: Any = program.get("per_worker")
        # What a program alone names: a function may answer any attribute, or raise anything.
        self.end_worker: Any = program.get("end_worker")
        if program.get("setup") is not None:
            program["setup"]()

    def begin(self) -> None:
        """Prepare a process that has been forked."""
        if self.per_worker is not None:
            self.per_worker()

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

    def _reduce(self, request: memoryview) -> list[Any]:
        keys, values = struct.unpack_from("<QQ", request)
        numbers = array("Q", request[16 : 16 + 8 * (2 * keys + values)].tobytes())
        at = 16 + 8 * (2 * keys + values)
        found = []
        for length in numbers[:keys]:
            found.append(shown_key(bytes(request[at : at + length]), self.keys))
            at += length
        kinds, lengths, answers = bytearray(), array("Q"), []
        next_value = 2 * keys
        for key, count in zip(found, numbers[keys : 2 * keys], strict=True):
            of = numbers[next_value : next_value + count]
            answer = self._reduced(key, self._each(request, at, of))
            next_value += count
            at += sum(of)
            kind, packed = packed_answer(key, answer)
            kinds.append(kind)
            lengths.append(len(packed))
            answers.append(packed)
        return [kinds, lengths, b"".join(answers)]

    def _each(self, request: memoryview, at: int, lengths: array[int]) -> Iterator[Any]:
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

    def _reduced(self, key: Any, values: Any) -> Any:
        if self.combine == "merge":
            return self._merged(key, values)
        try:
            return self.reducer(key, values, *self.reducer_args)
        except Exception as error:
            error.add_note(f"in the reduce of the key {short(key)}")
            raise

    def _merged(self, key: Any, values: Any) -> Any:
        try:
            if self.reducer_args:
                return functools.reduce(
                    lambda a, b: self.reducer(a, b, *self.reducer_args), values
                )
            return functools.reduce(self.reducer, values)
        except Exception as error:
            error.add_note(f"in the merge of the key {short(key)}")
            raise

    # Functions of one record.

    def _map_records(self, data: bytes) -> list[Any]:
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

    def _map_fast(self, records: list[Any]) -> list[Any]:
        if self.sums_ints and not self.args:
            return self._sum_ints(records)
        function, args = self.function, self.args
        groups: Any = Counter() if self.combine == "count" else defaultdict(list)
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
                        if type(answer) not in MANY:
                            answer = _pairs_of(answer)
                        for key, value in answer:
                            groups[key].append(value)
            else:
                for number, record in enumerate(records):  # noqa: B007 - the handler below names it
                    answer = function(record)
                    if answer is not None:
                        add(groups, answer)
        except Exception as error:
            raise _At(number, error) from None
        if self.combine == "sum" and groups and self.sums_ints is None:
            values = chain.from_iterable(groups.values())
            self.sums_ints = set(map(type, values)) == {int}
        return self._pack(groups, [])

    def _sum_ints(self, records: list[Any]) -> list[Any]:
        """Add up values as they come. If one is no integer, map the records again as others are."""
        function = self.function
        # Faster than `sums[key] += value` with a default, in a loop that most time is spent in.
        sums: dict[Any, Any] = {}
        sum_of = sums.get
        number = 0
        try:
            for number, record in enumerate(records):  # noqa: B007 - the handler below names it
                answer = function(record)
                if answer is None:
                    continue
                if type(answer) is tuple:
                    answer = (answer,)
                elif type(answer) not in MANY:
                    answer = _pairs_of(answer)
                for key, value in answer:
                    try:
                        sums[key] = sum_of(key, 0) + value
                    except TypeError:
                        return self._map_unsummed(records)
        except _At:
            raise
        except Exception as error:
            raise _At(number, error) from None
        if not set(map(type, sums.values())) <= {int}:
            return self._map_unsummed(records)
        return packed(list(sums), [packed_ints(0, list(sums.values()), None)], [])

    def _map_unsummed(self, records: list[Any]) -> list[Any]:
        """Map records to all their values: the engine adds floats, and names what is no number."""
        self.sums_ints = False
        return self._map_fast(records)

    def _map_carefully(self, data: bytes, records: list[Any]) -> list[Any]:
        """Map record by record, each of which is looked at before it counts."""
        groups: Any = Counter() if self.combine == "count" else defaultdict(list)
        add = self._add_count if self.combine == "count" else self._add_values
        bad = []
        for number, record in enumerate(records):
            try:
                answer = self.function(record, *self.args)
                if answer is None:
                    continue
                own: Any = Counter() if self.combine == "count" else defaultdict(list)
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

    def _map_order(self, data: bytes, records: list[Any]) -> list[Any]:
        """Pack each record below what it is ordered by."""
        groups, bad = defaultdict(list), []
        for number, record in enumerate(records):
            try:
                key = order_key(self.function(record, *self.args))
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
        keys = [head, array(U32, map(len, groups)), b"".join(groups)]
        return [*keys, *packed_bytes(list(groups.values())), *packed_bad(bad)]

    def _add_values(self, groups: Any, answer: Any) -> None:
        if type(answer) is tuple:
            key, value = answer
            groups[key].append(value)
            return
        for key, value in _pairs_of(answer):
            groups[key].append(value)

    def _add_count(self, groups: Any, answer: Any) -> None:
        """Count keys: what is no pair is a key, or many."""
        if isinstance(answer, tuple):
            key, _ = answer
            groups[key] += 1
        elif isinstance(answer, (str, bytes, int, float)):
            groups[answer] += 1
        elif isinstance(answer, Mapping):
            groups.update(dict.fromkeys(answer, 1))
        else:
            answer = list(answer)
            if any(issubclass(kind, tuple) for kind in set(map(type, answer))):
                answer = [
                    pair[0] if isinstance(pair, tuple) and len(pair) == 2 else pair
                    for pair in answer
                ]
            groups.update(answer)

    def _pack(self, groups: Any, bad: list[tuple[int, str]]) -> list[Any]:
        if self.combine == "count":
            sections = [packed_ints(0, list(groups.values()), None)]
        elif self.combine in ("collect", "reduce"):
            sections = [packed_values(0, list(groups.values()))]
        elif self.combine == "merge":
            merged = [[self._merged(key, values)] for key, values in groups.items()]
            sections = [packed_values(0, merged)]
        elif self.combine == "agg":
            sections = self._pack_columns(list(groups.values()))
        else:
            sections = packed_numbers(0, self.combine, list(groups.values()))
        return packed(list(groups), sections, bad)

    def _pack_columns(self, lists: list[Any]) -> list[list[Any]]:
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
            sections.extend(packed_numbers(column, kind, of))
        return sections

    # Functions of many records.

    def _map_split(self, data: bytes) -> list[Any]:
        answer = self.function(data, *self.args)
        groups: Any = Counter() if self.combine == "count" else defaultdict(list)
        if answer is None:
            return packed([], [], [])
        is_summed = isinstance(answer, Mapping) and self.combine == "sum"
        if is_summed and set(map(type, answer.values())) <= {int}:
            # A Counter, most often: it has one value for each key, and nothing is to be gathered.
            return packed(
                list(answer), [packed_ints(0, list(answer.values()), None)], []
            )
        if self.combine == "count":
            self._add_count(groups, answer)
        else:
            self._add_values(groups, answer)
        return self._pack(groups, [])

    def _map_arrow(self, data: bytes) -> list[Any]:
        import pyarrow

        records = self._arrow_records(pyarrow, data)
        answer = self.function(records, *self.args)
        if self.combine in KEPT:
            return self._pack_rows(*arrow_rows(pyarrow, answer))
        return arrow_columns(pyarrow, answer, self._kinds())

    def _arrow_records(self, pyarrow: Any, data: bytes) -> Any:
        """Return the records as an array over the split's own bytes: only offsets are made."""
        if isinstance(self.records.cut, int):
            kind = pyarrow.binary(self.records.cut)
            return pyarrow.Array.from_buffers(
                kind, len(data) // self.records.cut, [None, pyarrow.py_buffer(data)]
            )
        if self.records.cut == "batches":
            return batch_of(data)
        if self.records.chains is not None:
            # Arrow knows no such delimiters, so each record is copied.
            split = self.records.chains.split(data)
            if not split[-1]:
                split.pop()
            records = pyarrow.array(split, pyarrow.large_binary())
            text = pyarrow.large_string()
            return records.cast(text) if self.records.encoding else records
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

    def _map_array(self, data: bytes) -> list[Any]:
        import numpy

        rows = numpy.frombuffer(data, dtype=self.dtype).reshape(-1, *self.shape)
        answer = self.function(rows, *self.args)
        if isinstance(answer, tuple):
            answer = {"key": answer[0], "value": answer[1]}
        if self.combine in KEPT:
            return self._pack_rows(*array_rows(numpy, answer))
        return array_columns(numpy, answer, self._kinds())

    def _pack_rows(self, keys: list[Any], values: list[Any]) -> list[Any]:
        """Pack a key and a value of each row, in their order."""
        groups = defaultdict(list)
        for key, value in zip(keys, values, strict=True):
            groups[key].append(value)
        return self._pack(groups, [])

    def _kinds(self) -> list[tuple[str, str | None]]:
        """Return the kind of each column and its name in the function's answer."""
        if self.combine == "agg":
            return [(kind, source) for _, kind, source in self.columns]
        return [(self.combine, "value" if self.combine != "count" else None)]
