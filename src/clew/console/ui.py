"""Faces: how a person is shown things and asked. There are two: one draws, one only writes lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from clew.chat.input.input_line import InputLine, parse_line
from clew.console.menu import Menu, MenuAnswer
from clew.console.pasted_text import PastedItem

if TYPE_CHECKING:
    from clew.view.row_types import Row


@dataclass(frozen=True)
class Typed:
    """What a person typed: as it stood there, as it is meant, and what was pasted into it."""

    shown: str
    text: str = ""
    pasted: list[PastedItem] = field(default_factory=list)

    @property
    def meant(self) -> str:
        return (self.text or self.shown).strip()

    @cached_property
    def line(self) -> InputLine:
        """The text, parsed as a slash command if it is one."""
        return parse_line(self.meant)


class Face(Protocol):
    def put(self, row: Row) -> None:
        """Print a row for good."""
        ...

    def touch(self) -> None:
        """Something that is shown has changed."""
        ...

    async def drawn(self) -> None:
        """Wait until all that was printed can be seen."""
        ...

    async def choose(self, menu: Menu) -> MenuAnswer | None:
        """Ask; None if the person would rather not answer. Cancelling takes the question back."""
        ...

    def fill(self, text: str) -> None:
        """Put words into the prompt, if it is empty."""
        ...

    def leave(self) -> None:
        """End the console."""
        ...

    def wipe(self) -> None:
        """Begin with an empty screen."""
        ...
