"""Maps in C: where a function is, by its address or in a shared library."""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tegula.combines import KINDS
from tegula.errors import OptionError
from tegula.frozen import Frozen
from tegula.maps import Pairs

if TYPE_CHECKING:
    from tegula.sources import Source

ABI = 1


class Library(Frozen):
    """A shared library that is loaded, and a map in it.

    Attributes:
        loaded: the library.
        symbol: the name of the map.
        image: the bytes of its file, which say what the map is.
    """

    loaded: ctypes.CDLL
    symbol: str
    image: bytes

    def __init__(self, loaded: ctypes.CDLL, symbol: str, image: bytes) -> None:
        self._set(loaded=loaded, symbol=symbol, image=image)

    def identity(self) -> str:
        """Return what the map is, for a state."""
        digest = hashlib.blake2b(self.image, digest_size=20).hexdigest()
        return f"{digest} {self.symbol}"


# The base of all function types of ctypes: its name there is private.
_FUNCTION_POINTER: Any = ctypes.CFUNCTYPE(None).__mro__[1]


def native(source: Source, function: Any, value: str) -> Pairs:
    """Return the pairs that a function in C makes."""
    if value not in ("i64", "f64"):
        raise OptionError(f'value: {value!r}; give "i64" or "f64"')
    if source.cut != "lines" and not isinstance(source.cut, int):
        raise OptionError("map_native: takes lines, or records of fixed length")
    addresses, kept = _addresses(function)
    # The command line knows a library's map by these, so its states are those of this package.
    known = (kept.image, kept.symbol) if isinstance(kept, Library) else None
    plan = {"kind": "native", "value": value, "library": known, **addresses}
    return Pairs(source, plan, source.keys, KINDS, kept=kept)


def _addresses(function: Any) -> tuple[dict[str, int | None], Any]:
    """Return the addresses of a native map and of what opens and closes its state, and what keeps them loaded."""
    if isinstance(function, tuple):
        path, symbol = function
        return _library(Path(path), symbol)
    address = getattr(function, "address", None)
    if address is None and isinstance(function, _FUNCTION_POINTER):
        address = ctypes.cast(function, ctypes.c_void_p).value
    if address is None and type(function).__module__ == "_cffi_backend":
        import cffi

        address = int(cffi.FFI().cast("uintptr_t", function))
    if not isinstance(address, int) or address == 0:
        raise OptionError(
            f"map_native: {function!r} has no address; give a Numba cfunc, a ctypes or cffi function pointer, "
            'or ("library.so", "symbol")'
        )
    return {"address": address, "open": None, "close": None}, function


def _library(path: Path, symbol: str) -> tuple[dict[str, int | None], Library]:
    if not path.exists():
        raise OptionError(f"map_native: {path}: no such file")
    try:
        library = ctypes.CDLL(str(path.resolve()))
    except OSError as error:
        raise OptionError(f"map_native: {error}") from None
    try:
        version = ctypes.c_uint32.in_dll(library, "tegula_abi").value
    except ValueError:
        raise OptionError(
            f"map_native: {path} does not say for which tegula.h it was compiled; write TEGULA_LIBRARY once in it"
        ) from None
    if version != ABI:
        raise OptionError(
            f"map_native: {path} is for version {version} of tegula.h, and this is version {ABI}; compile it anew"
        )

    def address(name: str) -> int | None:
        try:
            return ctypes.cast(library[name], ctypes.c_void_p).value
        except AttributeError:
            return None

    found = address(symbol)
    if found is None:
        raise OptionError(
            f'map_native: {path} exports no {symbol}; check the name, and C++\'s extern "C"'
        )
    opened, closed = address(f"{symbol}_open"), address(f"{symbol}_close")
    addresses = {"address": found, "open": opened, "close": closed}
    return addresses, Library(library, symbol, path.read_bytes())
