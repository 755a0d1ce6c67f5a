"""What a Python map is, for a saved state: a digest of the code that it reaches, without comments and positions.

The digest covers the function; every function and class of the user's own modules that it reaches by a name, a default,
a closure or an attribute; the values of the variables that it reads; and, of what is installed, the distribution and
its version. Code is taken from its compiled form, so that comments, blank lines and annotations change nothing. What
cannot be followed is an error that asks for `version=`.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import importlib.metadata
import pickle
import re
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

from tegula.errors import OptionError

_FUSED = re.compile(r"(?:LOAD|STORE)_FAST(?:_BORROW|_CHECK|_AND_CLEAR)?")

_INSTALLED = [
    Path(path).resolve()
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
]


def identity(function: Any, args: tuple[Any, ...], version: str | None) -> str:
    """Return the identity of a function with its arguments, as text."""
    if version is not None:
        return f"version {version}"
    walk = _Walk()
    walk.add("python", "{}.{}".format(*sys.version_info[:2]))
    walk.value(function, "the function")
    for place, value in enumerate(args):
        walk.value(value, f"args[{place}]")
    return walk.digest.hexdigest()


def _is_installed(module: types.ModuleType) -> bool:
    """Whether a module is of the standard library or of an installed distribution."""
    name = module.__name__.partition(".")[0]
    if name in sys.stdlib_module_names and name != "__main__":
        return True
    file = getattr(module, "__file__", None)
    if file is None:
        return module.__name__ != "__main__"
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _INSTALLED)


@functools.cache
def _distribution(name: str) -> str:
    """Return the distribution that holds a module, with its version."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names:
        return top
    found = importlib.metadata.packages_distributions().get(top, [])
    return (
        " ".join(
            f"{one} {importlib.metadata.version(one)}" for one in sorted(set(found))
        )
        or top
    )


class _Walk:
    """A walk over all that a function reaches, each thing once."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=20)
        self.seen: dict[int, int] = {}
        # What has been seen must stay, or another thing could get its number.
        self.kept: list[Any] = []

    def add(self, kind: str, text: str) -> None:
        """Add a text, with its length so that no two sequences of texts are alike."""
        data = text.encode("utf-8", "surrogatepass")
        self.digest.update(f"{kind} {len(data)} ".encode() + data)

    def value(self, value: Any, name: str) -> None:
        """Add any value."""
        if id(value) in self.seen:
            self.add("again", str(self.seen[id(value)]))
            return
        if not isinstance(value, (int, float, str, bytes, type(None))):
            self.seen[id(value)] = len(self.seen)
            self.kept.append(value)
        if isinstance(value, types.ModuleType):
            self.module(value, name)
        elif isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
            self.named(value, name)
        elif isinstance(value, types.MethodType):
            self.value(value.__func__, name)
            self.value(value.__self__, name)
        elif isinstance(value, functools.partial):
            self.value(value.func, name)
            self.value(list(value.args), name)
            self.value(value.keywords, name)
        elif isinstance(value, types.CodeType):
            self.code(value)
        elif isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            self.add(type(value).__name__, str(len(value)))
            for item in value:
                self.value(item, name)
        elif type(value) is dict:
            self.add("dict", str(len(value)))
            for key, item in value.items():
                self.value(key, name)
                self.value(item, name)
        elif type(value) in (set, frozenset):
            parts = sorted(self.alone(item, name) for item in value)
            self.add("set", " ".join(parts))
        elif type(value) in (
            int,
            float,
            complex,
            str,
            bytes,
            bytearray,
            bool,
            type(None),
            type(...),
        ):
            self.add(type(value).__name__, repr(value))
        else:
            self.object(value, name)

    def alone(self, value: Any, name: str) -> str:
        """Return the digest of one value."""
        walk = _Walk()
        walk.value(value, name)
        return walk.digest.hexdigest()

    def module(self, module: types.ModuleType, name: str) -> None:
        if not _is_installed(module):
            raise OptionError(
                f"state: {name} is the module {module.__name__}, of which a function may use anything: import what "
                'it uses by name, or give version="..." and change it whenever the map changes'
            )
        self.add("module", f"{module.__name__} {_distribution(module.__name__)}")

    def named(self, value: Any, name: str) -> None:
        """Add a function or a class: by its name if it is installed, else by its code."""
        module = sys.modules.get(getattr(value, "__module__", None) or "builtins")
        if module is not None and _is_installed(module):
            called = getattr(value, "__qualname__", repr(value))
            self.add(
                "installed",
                f"{module.__name__}.{called} {_distribution(module.__name__)}",
            )
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, type):
            self.type(value)
        else:
            raise OptionError(
                f'state: {name} is {value!r}, which has no code to look at: give version="..."'
            )

    def function(self, function: types.FunctionType) -> None:
        self.code(function.__code__)
        self.value(list(function.__defaults__ or ()), "a default")
        self.value(function.__kwdefaults__ or {}, "a default")
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                content = cell.cell_contents
            except ValueError:
                self.add("empty", name)
                continue
            self.value(content, f"the variable {name!r}")
        for name, path in _names(function.__code__):
            self.reached(function, name, path)

    def reached(
        self, function: types.FunctionType, name: str, path: tuple[str, ...]
    ) -> None:
        """Add a global that a function names, or what it reaches by attributes of a module of the user's."""
        if name not in function.__globals__:
            self.add("builtin", name)
            return
        value, shown = function.__globals__[name], name
        for attribute in path:
            if not isinstance(value, types.ModuleType) or _is_installed(value):
                break
            value, shown = getattr(value, attribute, None), f"{shown}.{attribute}"
        self.add("name", shown)
        self.value(value, f"the variable {shown!r}")

    def code(self, code: types.CodeType) -> None:
        """Add compiled code, without its positions, its names of files and its docstring."""
        for name, argument in _steps(code):
            shown = "code" if isinstance(argument, types.CodeType) else repr(argument)
            if isinstance(argument, frozenset):
                shown = repr(sorted(map(repr, argument)))
            self.add(name, shown)
        self.add(
            "signature",
            repr((code.co_argcount, code.co_kwonlyargcount, code.co_flags & 0x2C)),
        )
        self.add(
            "arguments",
            repr(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]),
        )
        for one in code.co_consts:
            if isinstance(one, types.CodeType):
                self.code(one)

    def type(self, kind: type) -> None:
        self.add("class", kind.__name__)
        for base in kind.__bases__:
            self.value(base, f"a base of {kind.__name__}")
        skipped: tuple[str, ...] = (
            "__doc__",
            "__dict__",
            "__weakref__",
            "__module__",
            "__annotations__",
        )
        skipped += (
            "__firstlineno__",
            "__static_attributes__",
            "__annotate_func__",
            "__annotate__",
        )
        for name, value in sorted(vars(kind).items()):
            if name in skipped or isinstance(
                value, (types.MemberDescriptorType, types.GetSetDescriptorType)
            ):
                continue
            self.add("member", name)
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if isinstance(value, property):
                for part in (value.fget, value.fset, value.fdel):
                    self.value(part, f"{kind.__name__}.{name}")
                continue
            self.value(value, f"{kind.__name__}.{name}")

    def object(self, value: Any, name: str) -> None:
        """Add an object: its class, and its pickle, which must be the same twice."""
        self.named(type(value), name)
        state = getattr(value, "__dict__", None)
        module = sys.modules.get(type(value).__module__)
        is_own = module is not None and not _is_installed(module)
        own = ("__reduce__", "__reduce_ex__", "__getstate__")
        is_plain = not any(
            name in vars(kind) for kind in type(value).__mro__[:-1] for name in own
        )
        if state is not None and is_own and is_plain:
            self.value(dict(sorted(state.items())), name)
            return
        try:
            pickled = pickle.dumps(value, 4)
            if pickle.dumps(pickle.loads(pickled), 4) != pickled:
                raise ValueError("its pickle is another each time")
        except Exception as error:
            raise OptionError(
                f"state: {name} is a {type(value).__name__}, whose content cannot be compared with that of another "
                f'run ({error}): give version="..." and change it whenever the map changes'
            ) from None
        self.digest.update(hashlib.blake2b(pickled).digest())


def _steps(code: types.CodeType) -> list[tuple[str, Any]]:
    """Return the instructions of code as they are wherever its lines begin: what the compiler fuses within a line
    is taken apart, and jumps go to the number of an instruction."""
    steps: list[tuple[str, Any]] = []
    number_at: dict[int, int] = {}
    jumps: list[int] = []
    for instruction in dis.get_instructions(code):
        number_at[instruction.offset] = len(steps)
        name, argument = instruction.opname, instruction.argval
        fused = _FUSED.findall(name)
        if name in ("RESUME", "NOP", "CACHE", "EXTENDED_ARG"):
            continue
        if len(fused) == 2 and isinstance(argument, tuple):
            steps.extend(zip(fused, argument, strict=True))
            continue
        if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
            jumps.append(len(steps))
        steps.append((name, argument))
    for step in jumps:
        name, target = steps[step]
        steps[step] = (name, number_at[target])
    return steps


def _names(code: types.CodeType) -> list[tuple[str, tuple[str, ...]]]:
    """Return the globals that code names, each with the attributes that are taken of it at once."""
    found: list[tuple[str, tuple[str, ...]]] = []
    name: str | None = None
    path: list[str] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            if name is not None:
                found.append((name, tuple(path)))
            name, path = instruction.argval, []
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and name is not None:
            path.append(instruction.argval)
        elif (
            instruction.opname
            not in ("CACHE", "PRECALL", "PUSH_NULL", "EXTENDED_ARG", "NOP")
            and name is not None
        ):
            found.append((name, tuple(path)))
            name, path = None, []
    if name is not None:
        found.append((name, tuple(path)))
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            found.extend(_names(one))
    return sorted(set(found))
