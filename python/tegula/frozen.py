"""Values that are known by their fields: the ground of sources, maps, jobs and what they are made with."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class Frozen:
    """A value whose fields are set when it is made and never again. Values of a class with equal fields are equal.

    A frozen dataclass would say the same, and to import `dataclasses` takes as long as all modules that a job needs.
    """

    def _set(self, **fields: Any) -> None:
        vars(self).update(fields)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} of a {type(self).__name__} is never set again")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name} of a {type(self).__name__} is never deleted")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        fields = [
            f"{name}={value!r}"
            for name, value in vars(self).items()
            if value is not None
        ]
        return f"{type(self).__name__}({', '.join(fields)})"
