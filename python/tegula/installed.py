"""What is installed: modules of the standard library and of distributions, which a state knows by their versions."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

_STANDARD = [
    Path(path).resolve()
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib")
]

# From these, code can get at anything by a text that is known only when it runs.
DYNAMIC = {
    "builtins": {"eval", "exec", "compile", "__import__", "globals"},
    "importlib": {"import_module", "reload", "__import__", "util", "machinery"},
    "importlib.machinery": {"SourceFileLoader", "SourcelessFileLoader"},
    "importlib.util": {"module_from_spec", "spec_from_file_location"},
    "importlib._bootstrap": {"__import__", "_gcd_import"},
    "inspect": {"currentframe", "stack"},
    "pkgutil": {"resolve_name"},
    "pydoc": {"locate"},
    "runpy": {"run_module", "run_path"},
    "sys": {"modules", "_getframe"},
}

_FOLDERS = {"site-packages", "dist-packages"}


def is_module_installed(module: types.ModuleType) -> bool:
    """Return whether a module is of the standard library or of an installed distribution."""
    name = module.__name__
    if name == "__main__":
        return False
    file = getattr(module, "__file__", None)
    if file is not None:
        return _is_place_installed(str(file), name.partition(".")[0])
    return is_installed(name.partition(".")[0])


def named(module: types.ModuleType, called: str) -> Any:
    """Return what a module has under a name, which may have dots; none if nothing."""
    found: Any = module
    for part in called.split("."):
        found = getattr(found, part, None)
    return found


@functools.cache
def is_installed(top: str) -> bool:
    """Return whether a module is installed, by its name without dots. It is found, but not imported."""
    if top == "__main__":
        return False
    # Modules without a file are in the interpreter, or folders without an `__init__.py`.
    if top in sys.builtin_module_names:
        return True
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return top in sys.stdlib_module_names
    if spec.origin in ("built-in", "frozen"):
        return True
    if spec.origin is not None:
        return _is_place_installed(spec.origin, top)
    places = list(spec.submodule_search_locations or ())
    return bool(places) and all(_is_place_installed(one, top) for one in places)


@functools.cache
def _is_place_installed(place: str, top: str) -> bool:
    """Return whether a file or folder of a module is where modules are installed."""
    # The package itself is known by its version, wherever it is.
    if top == "tegula":
        return True
    path = Path(place).resolve()
    if _FOLDERS & set(path.parts):
        # A file that someone put there has no version.
        return bool(_distributions().get(top))
    return any(path.is_relative_to(folder) for folder in _STANDARD)


@functools.cache
def _distributions() -> dict[str, list[str]]:
    """Return the distributions of each module, by its name without dots."""
    return dict(importlib.metadata.packages_distributions())


@functools.cache
def distribution(name: str) -> str:
    """Return the distribution that holds a module, with its version; of the standard library, the module's name."""
    top = name.partition(".")[0]
    found = sorted(set(_distributions().get(top, [])))
    if top in sys.stdlib_module_names or not found:
        return top
    return " ".join(f"{one} {importlib.metadata.version(one)}" for one in found)
