"""Define the interface between the console and its two user interfaces: `Screen` draws, `PlainUi` writes lines."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from clew.chat.input.input_line import InputLine, parse_line
from clew.console.menu import Menu, MenuAnswer
from clew.console.pasted_text import PastedItem

if TYPE_CHECKING:
    from clew.view.row_types import Row


class UserInput(Struct, frozen=True, dict=True):
    """Typed input: as shown, with pastes expanded, and the pasted items."""

    shown: str
    text: str = ""
    pasted: list[PastedItem] = field(default_factory=list)

    @property
    def full_text(self) -> str:
        return (self.text or self.shown).strip()

    @cached_property
    def line(self) -> InputLine:
        """The text, parsed as a slash command if it is one."""
        return parse_line(self.full_text)


class ConsoleUi(Protocol):
    """Shows rows and asks questions."""

    def print_row(self, row: Row) -> None:
        """Print a row. It never changes afterwards."""
        ...

    def request_redraw(self) -> None:
        """Draw again soon, because something visible has changed."""
        ...

    async def wait_until_drawn(self) -> None:
        """Wait until all printed rows are visible."""
        ...

    async def choose(self, menu: Menu) -> MenuAnswer | None:
        """Ask the user; return None if the question is dismissed. Cancelling withdraws the question."""
        ...

    def fill_prompt(self, text: str) -> None:
        """Put text into the prompt if it is empty."""
        ...

    def leave(self) -> None:
        """End the console."""
        ...

    def copy(self, text: str) -> bool:
        """Copy text to the clipboard; return False if there is none."""
        ...

    def clear_screen(self) -> None:
        """Clear the screen before the next row."""
        ...
