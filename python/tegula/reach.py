"""What compiled code does, without its positions, and what it names outside of itself.

`instructions` gives those of code, with its exception handlers, in a form that depends on neither comments, docstrings
nor line breaks; `reaches` the variables and imports that it uses, with the attributes that are taken of each at once, so
that a module need not be followed as a whole. Nothing is looked up here: `identity.py` does that.
"""

from __future__ import annotations

import dis
import re
import types
from typing import Any, Literal, NamedTuple

Step = tuple[str, Any]

Handler = tuple[int, int, int, int, bool]
"""The instructions from and to which it holds, where it begins, and how much of the stack it keeps."""

_FUSED = re.compile(r"(?:LOAD|STORE)_FAST(?:_BORROW|_CHECK|_AND_CLEAR)?")

# `PUSH_NULL` and `LOAD_METHOD` are one way to call an attribute and `LOAD_ATTR` is another. The compiler takes one of
# them by whether the same file imports the module, which the cells of a notebook do not show it.
_LEFT_OUT = ("RESUME", "NOP", "CACHE", "EXTENDED_ARG", "PUSH_NULL")
_ALIKE = {"LOAD_METHOD": "LOAD_ATTR"}

# Stored by the body of a class without a part in what the class does. The order of the attributes in
# `__static_attributes__` differs from process to process.
_OF_CLASSES = ("__doc__", "__firstlineno__", "__static_attributes__")

_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_CELLS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_LOCALS = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
_STORES = ("STORE_FAST", "STORE_DEREF", "STORE_NAME")
# Attributes from which everything can be reached by a text.
_UNFOLLOWED = ("__globals__", "f_globals", "__subclasses__", "__builtins__")


class Reach(NamedTuple):
    """A variable or an import that code uses."""

    kind: Literal["global", "free", "import", "top"]
    """A global; a variable of an enclosing function; the module that is imported; the first part of its name, as
    `import a.b` binds it."""
    name: str
    level: int
    """The dots of a relative import."""
    path: tuple[str, ...]
    """Attributes that are taken of it at once."""


class CannotFollow(Exception):
    """Code does something after which it could use anything."""


def instructions(code: types.CodeType) -> tuple[list[Step], list[Handler]]:
    """Return the instructions of code as they are wherever its lines begin, and its exception handlers.

    What the compiler fuses within a line is taken apart, and jumps go to the number of an instruction.
    """
    found: list[Step] = []
    number_at: dict[int, int] = {}
    jumps: list[int] = []
    for instruction in dis.get_instructions(code):
        number_at[instruction.offset] = len(found)
        name, argument = instruction.opname, instruction.argval
        name = _ALIKE.get(name, name)
        if name in _LEFT_OUT:
            continue
        is_of_class = name == "STORE_NAME" and argument in _OF_CLASSES
        if is_of_class and found[-1][0] == "LOAD_CONST":
            found.pop()
            continue
        if type(argument) is tuple and len(fused := _FUSED.findall(name)) == 2:
            found.extend(zip(fused, argument, strict=True))
            continue
        if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
            jumps.append(len(found))
        found.append((name, argument))
    # The end is the offset after the last instruction, whose inline caches are shown by none.
    numbers = _Ends(number_at, len(found))
    for step in jumps:
        name, target = found[step]
        found[step] = (name, numbers[target])
    return found, _handlers(code, numbers)


def _handlers(code: types.CodeType, number_at: dict[int, int]) -> list[Handler]:
    found: list[Handler] = []
    entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    for entry in entries:
        begin, end = number_at[entry.start], number_at[entry.end]
        how = (number_at[entry.target], entry.depth, entry.lasti)
        if begin == end:
            continue
        # The compiler ends a stretch at an instruction that does nothing but have a line.
        if found and found[-1][1] == begin and found[-1][2:] == how:
            begin = found.pop()[0]
        found.append((begin, end, *how))
    return found


class _Ends(dict[int, int]):
    """Numbers by offsets, of which those that begin no instruction belong to the next one."""

    def __init__(self, number_at: dict[int, int], end: int) -> None:
        super().__init__(number_at)
        self.end = end

    def __missing__(self, offset: int) -> int:
        later = [at for at in self if at > offset]
        return self[min(later)] if later else self.end


def reaches(code: types.CodeType) -> list[Reach]:
    """Return what code uses outside of itself, in an order that depends on names alone."""
    found: set[Reach] = set()
    _scan(code, {}, found)
    return sorted(found)


def _scan(
    code: types.CodeType, outer: dict[str, set[Reach]], found: set[Reach]
) -> None:
    """Add what code reaches, when variables of the functions around it are bound to imports as `outer` says."""
    sequence, _ = instructions(code)
    bound = {name: set(outer[name]) for name in code.co_freevars if name in outer}
    for number, (operation, argument) in enumerate(sequence):
        if operation == "IMPORT_NAME":
            _bind(sequence, number, bound, found)
        if operation == "LOAD_ATTR" and argument in _UNFOLLOWED:
            raise CannotFollow(f"uses the attribute {argument}")
    cells = {*code.co_cellvars, *code.co_freevars}
    for number, (operation, name) in enumerate(sequence):
        roots: set[Reach] = set()
        if operation in _GLOBALS:
            roots = {Reach("global", name, 0, ())}
            if operation == "LOAD_NAME":
                roots |= bound.get(name, set())
        elif operation in _CELLS:
            roots = bound.get(name, set()) | {Reach("free", name, 0, ())}
        # Of a cell, this hands the cell on to a function within.
        elif operation in _LOCALS and name not in cells:
            roots = bound.get(name, set())
        if roots:
            path = _path(sequence, number + 1)
            found.update(
                Reach(root.kind, root.name, root.level, root.path + path)
                for root in roots
            )
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _scan(constant, bound, found)


def _path(sequence: list[Step], number: int) -> tuple[str, ...]:
    """Return the attributes that are taken from an instruction on."""
    path: list[str] = []
    while number < len(sequence) and sequence[number][0] == "LOAD_ATTR":
        path.append(sequence[number][1])
        number += 1
    return tuple(path)


def _bind(
    sequence: list[Step], number: int, bound: dict[str, set[Reach]], found: set[Reach]
) -> None:
    """Bind the variables of an import statement."""
    (_, level), (_, names), (_, name) = sequence[number - 2 : number + 1]
    root = Reach("import" if names else "top", name, level, ())
    imported: list[tuple[Reach, Step]] = []
    at = number + 1
    if names:
        for one in names:
            imported.append((root._replace(path=(one,)), sequence[at + 1]))
            at += 2
    else:
        # `import a.b as c` takes the attribute b of a, and drops a.
        path: list[str] = []
        while sequence[at][0] in ("IMPORT_FROM", "SWAP", "POP_TOP"):
            if sequence[at][0] == "IMPORT_FROM":
                path.append(sequence[at][1])
            at += 1
        imported.append((root._replace(path=tuple(path)), sequence[at]))
    for reach, (operation, variable) in imported:
        if operation == "STORE_GLOBAL":
            # Any function may use it.
            found.add(reach)
        elif operation in _STORES:
            bound.setdefault(variable, set()).add(reach)
        else:
            raise CannotFollow(f"imports {name} in a way that is not known")
