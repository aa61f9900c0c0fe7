"""Values that need no library: for modules that list files before anything is decoded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Record:
    """Equal to another value of its class with the same fields. A subclass names its own fields as `__slots__`.

    A `msgspec.Struct` does the same in C, but loading that library takes longer than Python takes to start.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._values()!r}"

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for kind in reversed(type(self).__mro__[:-1]) for name in kind.__slots__)  # type: ignore[attr-defined]
