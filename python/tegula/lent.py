"""A value as a context that leaves it as it is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Lent:
    """Gives a value and does nothing at the end: `contextlib.nullcontext`, without an import that takes longer than a job."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __enter__(self) -> Any:
        return self.value

    def __exit__(self, *error: object) -> None:
        pass
