"""What a Python map is, for a saved state: a digest of the code that it reaches, without comments and positions.

The digest covers the function; every function and class of the user's own modules that it reaches by a name, an
import, a default, a closure or an attribute; the values of the variables that it reads; and, of what is installed, the
distribution and its version. Code is taken from its compiled form (`reach.py`), so that comments, blank lines and
annotations change nothing. What cannot be followed is an error that asks for `version=`.

Each value has a digest of its own, which its holder includes. So it does not matter whether equal values are one
object, which differs between a file and the cells of a notebook. It must not import the native module.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import importlib
import importlib.util
import inspect
import pickle
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from .errors import OptionError
from .installed import DYNAMIC, distribution, is_installed, is_module_installed, named
from .reach import CannotFollow, Reach, instructions, reaches

_SCALARS = (int, float, complex, str, bytes, bool, type(None), type(...))

_BUILTINS = (
    *(types.BuiltinFunctionType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, types.MethodWrapperType),
    types.ClassMethodDescriptorType,
)

# Members of classes that say nothing of what objects do, or that this file reads in another way.
_NO_MEMBERS = (
    *("__doc__", "__dict__", "__weakref__", "__module__", "__annotations__"),
    *("__annotations_cache__", "__annotate_func__", "__annotate__", "_abc_impl"),
    *("__firstlineno__", "__static_attributes__", "__slotnames__"),
    "_value2member_map_",
)

# What a pickle has by its name.
_NAMED = (types.FunctionType, type, functools._lru_cache_wrapper)

# Variables of a module that say where it is, not what it does.
_PLACES = ("__name__", "__file__", "__doc__", "__package__", "__path__", "__cached__")

# Objects of which only the class counts: a lock is held or not, a log is written somewhere.
_BY_CLASS = (
    ("_thread", ("lock", "RLock", "LockType", "_local")),
    ("logging", ("Logger", "RootLogger")),
    ("os", ("_Environ",)),
)

_HASH = functools.partial(hashlib.blake2b, digest_size=20)

# All functions that `functools.singledispatch` makes have this code.
_DISPATCH = functools.singledispatch(lambda value: value).__code__  # type: ignore[attr-defined]


@dataclass
class Followed:
    """What was followed from a function: its digest, and names to show."""

    digest: str = ""
    functions: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    installed: list[str] = field(default_factory=list)
    imported: set[tuple[str, str]] = field(default_factory=set)
    """What is of a module of the user's: the module, and the name in it."""


def identity(function: Any, args: tuple[Any, ...], version: str | None) -> str:
    """Return the identity of a function with its arguments, as text. Raises an `OptionError` that names what cannot
    be followed."""
    if version is not None:
        return f"version {version}"
    return followed(function, args).digest


def followed(function: Any, args: tuple[Any, ...]) -> Followed:
    """Follow a function with its arguments. Raises an `OptionError` that names what cannot be followed."""
    walk = Walk()
    python = "Python {}.{}".format(*sys.version_info[:2])
    walk.add("python", python)
    try:
        walk.value(function, "the function")
        for place, value in enumerate(args):
            walk.value(value, f"args[{place}]")
            walk.show(f"args[{place}]", value)
    except RecursionError:
        _refuse("the function", "reaches values that are nested too deeply")
    found = walk.found
    found.digest = walk.hash.hexdigest()
    found.installed.append(python)
    for names in (found.functions, found.classes, found.values, found.installed):
        names[:] = sorted(set(names))
    return found


def _refuse(name: str, why: str) -> NoReturn:
    raise OptionError(
        f'state: {name} {why}: give version="..." and change it whenever the map changes'
    ) from None


class Walk:
    """A walk over all that a function reaches."""

    def __init__(self) -> None:
        self.hash = _HASH()
        self.found = Followed()
        self.known: dict[int, bytes] = {}
        """The digests of values, by their `id`."""
        self.open: dict[int, int] = {}
        """The depths of the values that are being walked over, by their `id`: a cycle ends at one of them."""
        self.kept: list[Any] = []
        """All values that have been seen, so that no other gets the `id` of one."""

    def add(self, kind: str, text: str) -> None:
        """Add a text, with its length so that no two sequences of texts are alike."""
        self.add_bytes(kind, text.encode("utf-8", "surrogatepass"))

    def add_bytes(self, kind: str, data: bytes | memoryview) -> None:
        self.hash.update(f"{kind} {len(data)} ".encode())
        self.hash.update(data)

    def show(self, name: str, value: Any) -> None:
        """Take a variable down for `explain`."""
        kind = type(value)
        if isinstance(value, (types.FunctionType, types.ModuleType, type)):
            return
        if kind in _SCALARS:
            said = repr(value) if kind is not int else _decimal(value)
            said = said if len(said) <= 40 else f"{said[:40]}..."
            self.found.values.append(f"{name} = {said}")
            return
        size = (
            f" of {len(value)}" if isinstance(value, (list, tuple, dict, set)) else ""
        )
        self.found.values.append(f"{name}, a {kind.__name__}{size}")

    def value(self, value: Any, name: str) -> None:
        """Add any value, which messages call `name`."""
        kind = type(value)
        if kind in _SCALARS:
            # The decimal digits of a long integer would take quadratic time.
            self.add(kind.__name__, hex(value) if kind is int else repr(value))
            return
        number = id(value)
        if number in self.known:
            self.hash.update(self.known[number])
        elif number in self.open:
            self.add("around", str(self.open[number]))
        else:
            self.kept.append(value)
            self.open[number] = len(self.open)
            digest = self.alone(lambda: self.content(value, name))
            del self.open[number]
            self.known[number] = digest
            self.hash.update(digest)

    def alone(self, walk: Callable[[], None]) -> bytes:
        """Return the digest of what a walk adds."""
        holder, self.hash = self.hash, _HASH()
        try:
            walk()
            digest: bytes = self.hash.digest()
        finally:
            self.hash = holder
        return digest

    def content(self, value: Any, name: str) -> None:
        """Add a value that is no scalar."""
        kind = type(value)
        if isinstance(value, _NAMED):
            self.place(value)
        if isinstance(value, types.ModuleType):
            self.module(value, name)
        elif isinstance(value, types.FunctionType):
            self.function(value, name)
        elif isinstance(value, type):
            self.type(value, name)
        elif isinstance(value, _BUILTINS):
            self.builtin(value, name)
        elif isinstance(value, types.MethodType):
            self.parts("method", [value.__func__, value.__self__], name)
        elif isinstance(value, types.CodeType):
            self.code(value)
        elif kind in (list, tuple):
            self.sequence(value, name)
        elif kind in (dict, types.MappingProxyType):
            self.mapping(dict(value), name)
        elif isinstance(value, (set, frozenset)):
            self.set(value, name)
        elif kind in (bytearray, memoryview):
            self.add_bytes(kind.__name__, bytes(value))
        else:
            self.object(value, name)

    def parts(self, kind: str, parts: Iterable[Any], name: str) -> None:
        self.add("parts", kind)
        for part in parts:
            self.value(part, name)

    # Containers.

    def sequence(self, value: list[Any] | tuple[Any, ...], name: str) -> None:
        self.add(type(value).__name__, str(len(value)))
        if not self.scalars(value):
            for item in value:
                self.value(item, name)

    def mapping(self, value: dict[Any, Any], name: str) -> None:
        self.add("dict", str(len(value)))
        if self.scalars(value.keys()) and self.scalars(value.values()):
            return
        for key, item in value.items():
            self.value(key, name)
            self.value(item, name)

    def scalars(self, values: Iterable[Any]) -> bool:
        """Add values at once if all are scalars."""
        values = list(values)
        if not {type(value) for value in values} <= set(_SCALARS):
            return False
        try:
            self.add("scalars", repr(values))
        except ValueError:
            # An integer with more decimal digits than `repr` may write.
            return False
        return True

    def set(self, value: set[Any] | frozenset[Any], name: str) -> None:
        """Add a set, whose order differs from process to process."""
        if type(value) not in (set, frozenset):
            self.parts("class", [type(value), getattr(value, "__dict__", None)], name)
        self.add("set", str(len(value)))
        before = len(self.known)
        digests = []
        for item in value:
            digests.append(self.alone(functools.partial(self.value, item, name)))
            # In a cycle, the digests of what an item reaches differ from those that another item leads to.
            while len(self.known) > before:
                self.known.popitem()
        for digest in sorted(digests):
            self.hash.update(digest)

    # Modules, functions and their code.

    def module(self, module: types.ModuleType, name: str) -> None:
        if not is_module_installed(module):
            raise OptionError(
                f"state: {name} is the module {module.__name__}, of which a function may use anything: name what it "
                'uses as an attribute of the module, or give version="..." and change it whenever the map changes'
            )
        self.installed(module.__name__, "")

    def place(self, value: Any) -> None:
        """Take down the name of what a module of the user's has under that name."""
        module = sys.modules.get(value.__module__)
        is_there = module is not None and named(module, value.__qualname__) is value
        if is_there and not is_module_installed(module):  # type: ignore[arg-type]
            self.found.imported.add((value.__module__, value.__qualname__))

    def refuse_dynamic(self, module: str, called: str) -> None:
        if called in DYNAMIC.get(module, ()):
            _refuse(f"{module}.{called}", "can get at any code by its name")

    def installed(self, module: str, called: str) -> None:
        """Add a part of what is installed, by its name."""
        self.refuse_dynamic(module, called.partition(".")[0])
        of = distribution(module)
        self.add("installed", f"{module} {called} {of}")
        self.found.installed.append(of)

    def function(self, function: types.FunctionType, name: str) -> None:
        if function.__code__ is _DISPATCH:
            self.dispatch(function, name)
            return
        called = function.__qualname__
        module, names = _module_of(function), list[Reach]()
        if module is not None and is_module_installed(module):
            # A decorator of a library may hold functions of the user's.
            self.installed(module.__name__, function.__code__.co_qualname)
        else:
            self.found.functions.append(f"{function.__module__}.{called}")
            self.code(function.__code__)
            try:
                names = reaches(function.__code__)
            except CannotFollow as error:
                _refuse(called, str(error))
        self.value(function.__defaults__, f"a default of {called}")
        self.value(function.__kwdefaults__, f"a default of {called}")
        self.value(function.__dict__, f"an attribute of {called}")
        self.closure(function, names)
        for reach in names:
            if reach.kind == "global":
                self.reached_global(function, reach)
            elif reach.kind in ("import", "top"):
                self.reached_import(function, reach)

    def dispatch(self, function: types.FunctionType, name: str) -> None:
        """Add a function of `functools.singledispatch`, without its cache."""
        self.value(function.__wrapped__, name)  # type: ignore[attr-defined]
        registry = function.registry  # type: ignore[attr-defined]
        self.set(frozenset(registry.items()), name)

    def closure(self, function: types.FunctionType, names: list[Reach]) -> None:
        """Add the variables of the enclosing functions."""
        cells = zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        )
        for variable, cell in cells:
            self.add("variable", variable)
            shown = f"the variable {variable!r} of {function.__qualname__}"
            try:
                content = cell.cell_contents
            except ValueError:
                self.add("empty", variable)
                continue
            if isinstance(content, types.ModuleType) and names:
                for reach in names:
                    if (reach.kind, reach.name) == ("free", variable):
                        self.attributes(content, reach.path, variable)
                continue
            self.value(content, shown)
            if variable != "__class__":
                self.show(variable, content)

    def reached_global(self, function: types.FunctionType, reach: Reach) -> None:
        name = reach.name
        self.add("name", name)
        if name in _PLACES:
            return
        if name in ("__builtins__", "__loader__", "__spec__"):
            _refuse(f"{name} of {function.__qualname__}", "can get at any code")
        if name in function.__globals__:
            self.attributes(function.__globals__[name], reach.path, name)
        else:
            self.refuse_dynamic("builtins", name)

    def reached_import(self, function: types.FunctionType, reach: Reach) -> None:
        """Add what an import statement within a function binds."""
        name = "." * reach.level + reach.name
        variables = function.__globals__
        package = variables.get("__package__")
        if package is None:
            package = variables.get("__name__", "").rpartition(".")[0]
        try:
            name = importlib.util.resolve_name(name, package)
            top = name.partition(".")[0]
            if is_installed(top):
                # It may take seconds to import, and is known by its name.
                name = top if reach.kind == "top" else name
                self.installed(name, ".".join(reach.path))
                return
            if importlib.util.find_spec(top) is None:
                self.add("absent", name)
                return
            module: Any = importlib.import_module(name)
        except OptionError:
            raise
        except Exception as error:
            _refuse(f"the module {name}, which is imported,", f"fails: {error!r}")
        if reach.kind == "top":
            name, module = top, sys.modules[top]
        self.attributes(module, reach.path, name)

    def attributes(self, value: Any, path: tuple[str, ...], name: str) -> None:
        """Add what is reached from a value by attributes, which are followed through modules."""
        for place, attribute in enumerate(path):
            if not isinstance(value, types.ModuleType):
                break
            module = value
            self.add("attribute", attribute)
            self.refuse_dynamic(module.__name__, attribute)
            if is_module_installed(module):
                # Its attributes that are modules are not imported here, and other ones count by their names.
                value = vars(module).get(attribute)
                if not isinstance(value, types.ModuleType):
                    self.installed(module.__name__, ".".join(path[place:]))
                    return
                continue
            if attribute in ("__dict__", "__getattribute__"):
                _refuse(f"{name}.{attribute}", "has anything of a module")
            if attribute in _PLACES:
                return
            name = f"{name}.{attribute}"
            value = self.attribute(module, attribute, name)
            if not isinstance(value, types.ModuleType):
                self.found.imported.add((module.__name__, attribute))
        self.value(value, name)
        self.show(name, value)

    def attribute(self, module: types.ModuleType, attribute: str, name: str) -> Any:
        """Return an attribute of a module of the user's, or a module in its package that is not imported yet."""
        try:
            return getattr(module, attribute)
        except AttributeError:
            pass
        if hasattr(module, "__path__"):
            try:
                return importlib.import_module(f"{module.__name__}.{attribute}")
            except ModuleNotFoundError:
                pass
            except Exception as error:
                _refuse(f"the module {name}, which is imported,", f"fails: {error!r}")
        self.add("absent", attribute)
        return None

    def code(self, code: types.CodeType) -> None:
        """Add compiled code, without its positions, its names of files and its docstring."""
        steps, handlers = instructions(code)
        for operation, argument in steps:
            self.add("step", operation)
            self.value(argument, "a constant")
        self.add("handlers", repr(handlers))
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        # Whether there are *args and **kwargs, and whether it is a generator or a coroutine.
        kind = code.co_flags & 0x2AC
        arguments = code.co_argcount + code.co_kwonlyargcount
        arguments += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
        self.add("signature", repr((*counts, kind, code.co_varnames[:arguments])))

    # Classes and objects.

    def type(self, kind: type, name: str) -> None:
        module = sys.modules.get(kind.__module__)
        if module is not None and is_module_installed(module):
            found = named(module, kind.__qualname__)
            # A class that a library makes for its user is called as if it were the library's.
            is_static = not kind.__flags__ & 1 << 9
            if found is kind or is_static:
                self.installed(kind.__module__, kind.__qualname__)
                return
        self.found.classes.append(f"{kind.__module__}.{kind.__qualname__}")
        self.add("class", kind.__name__)
        for base in kind.__bases__:
            self.value(base, f"a base of {kind.__name__}")
        self.value(type(kind), f"the class of {kind.__name__}")
        # Dataclasses and others like them are made by the annotations.
        self.value(_annotations(kind), f"an annotation of {kind.__name__}")
        for member, value in sorted(vars(kind).items()):
            slots = (types.MemberDescriptorType, types.GetSetDescriptorType)
            if member not in _NO_MEMBERS and not isinstance(value, slots):
                self.add("member", member)
                self.value(value, f"{kind.__name__}.{member}")

    def builtin(self, value: Any, name: str) -> None:
        """Add a function in C: by its name, and what it is bound to."""
        holder = getattr(value, "__self__", None)
        holder = getattr(value, "__objclass__", holder)
        called = getattr(value, "__qualname__", value.__name__)
        self.add("builtin", called)
        module = sys.modules.get(getattr(value, "__module__", None) or "")
        if isinstance(holder, types.ModuleType) and module is None:
            module = holder
        # A class in C has methods in C of its own; one in Python has those of its bases.
        if isinstance(holder, type) and vars(holder).get(value.__name__) is value:
            module = sys.modules.get(holder.__module__, module)
        if module is not None and is_module_installed(module):
            self.installed(module.__name__, called)
        # Cython's own module has no file, and its version in its name.
        elif getattr(module, "__file__", None) is not None:
            _refuse(name, f"is {value!r}, which has no code to look at")
        if not isinstance(holder, types.ModuleType) and (
            type(holder).__name__ != "PyCapsule"
        ):
            self.value(holder, name)

    def object(self, value: Any, name: str) -> None:
        """Add an object: its class, and its parts, as `pickle` would take it apart."""
        self.value(kind := type(value), name)
        if isinstance(value, (staticmethod, classmethod)):
            self.value(value.__func__, name)
        elif isinstance(value, property):
            self.parts("property", [value.fget, value.fset, value.fdel], name)
        elif isinstance(value, functools.cached_property):
            self.parts("cached", [value.func, value.attrname], name)
        elif isinstance(value, functools._lru_cache_wrapper):
            self.value(value.cache_parameters(), name)
            self.value(value.__wrapped__, name)
        elif _is_of(kind, (("ctypes", ("CDLL",)),)):
            _refuse(name, "is a library, whose content is not looked at")
        elif _is_of(kind, _BY_CLASS):
            self.add("by", "class")
        elif _is_of(kind, (("numpy", ("ndarray",)),)):
            self.array(value, name)
        elif kind.__module__.startswith("numba.") and hasattr(value, "py_func"):
            # Its pickle has a number that is drawn.
            self.parts("compiled", [value.py_func, value.targetoptions], name)
        else:
            self.reduced(value, name)

    def array(self, value: Any, name: str) -> None:
        """Add an array of numpy's by its bytes; of a derived class, with what it has beside them, such as a mask."""
        import numpy

        kind: Any = type(value)
        if kind.__reduce__ is not numpy.ndarray.__reduce__:
            self.reduced(value, name)
            return
        if kind not in (numpy.ndarray, numpy.memmap):
            self.value(getattr(value, "__dict__", None), name)
            value = value.view(numpy.ndarray)
        self.value(value.dtype, name)
        self.add("shape", repr(value.shape))
        if value.dtype.hasobject:
            self.value(value.tolist(), name)
            return
        if value.size:
            rows = numpy.ascontiguousarray(value).reshape(-1)
            self.add_bytes("array", rows.view(numpy.uint8).data)

    def reduced(self, value: Any, name: str) -> None:
        """Add an object by what it tells `pickle` of itself. Its parts are followed here, and not pickled, because a
        pickle has functions and classes by their names, and sets in any order."""
        kind = type(value)
        try:
            reducer = copyreg.dispatch_table.get(kind)
            parts = reducer(value) if reducer else value.__reduce_ex__(4)
            if isinstance(parts, str):
                module = sys.modules[pickle.whichmodule(value, parts)]  # type: ignore[attr-defined]
                if functools.reduce(getattr, parts.split("."), module) is not value:
                    raise ValueError(f"it is not {module.__name__}.{parts}")
            # Iterators are used up by a look at them.
            elif len(parts) > 3:
                made, arguments, state, items, pairs = (*parts, None)[:5]
                items = None if items is None else list(items)
                pairs = None if pairs is None else [list(pair) for pair in pairs]
                parts = (made, arguments, state, items, pairs)
        except RecursionError:
            raise
        except Exception as error:
            raise OptionError(
                f"state: {name} is a {kind.__name__}, whose content cannot be compared with that of another "
                f'run ({error}): give version="..." and change it whenever the map changes'
            ) from None
        if isinstance(parts, str):
            self.add("global", parts)
            if is_module_installed(module):
                self.installed(module.__name__, parts)
            state = dict(getattr(value, "__dict__", ()))
            state.pop("__module__", None)
            self.value(state, name)
            return
        for place, part in enumerate(parts):
            self.value(_without_caches(kind, part) if place == 2 else part, name)


def _decimal(value: int) -> str:
    return str(value) if value.bit_length() < 1000 else hex(value)


def _module_of(function: types.FunctionType) -> types.ModuleType | None:
    """Return the module whose code a function is, which a decorator may have given another name."""
    module = sys.modules.get(function.__globals__.get("__name__", ""))
    if module is None or vars(module) is not function.__globals__:
        return None
    return module


def _is_of(kind: type, table: tuple[tuple[str, tuple[str, ...]], ...]) -> bool:
    return any(
        one.__module__ == module and one.__name__ in names
        for one in kind.__mro__
        for module, names in table
    )


def _annotations(kind: type) -> dict[str, Any]:
    try:
        return inspect.get_annotations(kind)
    except NameError as error:
        return {"": str(error)}


def _without_caches(kind: type, state: Any) -> Any:
    """Return the state of an object without the values of `cached_property`, which may be there or not."""
    if type(state) is tuple and len(state) == 2:
        return tuple(_without_caches(kind, part) for part in state)
    if type(state) is not dict:
        return state
    kept = {
        name: value
        for name, value in state.items()
        if not isinstance(name, str)
        or not isinstance(
            inspect.getattr_static(kind, name, None), functools.cached_property
        )
    }
    return kept or None
