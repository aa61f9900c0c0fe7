"""The prompt: the lines that a person is typing, with history, completion and folded pastes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from prompt_toolkit.application.current import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.layout import Window
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import AfterInput, ConditionalProcessor

from clew.console.completion import NamedCommand, Offer, offers, wants_files
from clew.console.pasted_text import Pastes, mark_before
from clew.console.ui import Typed

TALLEST = 10
WIDE = 68


def _placeholder() -> str:
    is_wide = get_app().output.get_size().columns >= WIDE
    return "Ask for something, / for commands, @ for files, ! for the shell" if is_wide else "Ask for something"


class InputLine:
    """What is being typed, and what could stand there."""

    def __init__(
        self,
        cwd: Path,
        history: History,
        commands: Callable[[], Sequence[NamedCommand]],
        files: Callable[[], Sequence[str]],
        pastes: Pastes,
    ) -> None:
        self._cwd = cwd
        self._commands = commands
        self._files = files
        self._is_closed = False  # whether the offers were waved away
        self.pastes = pastes
        self.offers: list[Offer] = []
        self.offered = 0
        self.remark = ""  # in the place of the status line, for a moment
        self.is_noting = False
        self.buffer = Buffer(history=history, multiline=True, on_text_changed=self._changed)
        self.note = Buffer(multiline=False)

    # -- what could stand there

    def _changed(self, _: Buffer) -> None:
        self.remark = ""
        self._is_closed = False
        self.refresh()

    def refresh(self) -> None:
        """Look anew for what could be meant."""
        before = self.buffer.document.text_before_cursor
        is_open = not self._is_closed and "\n" not in before[-1:]
        files = self._files() if wants_files(before) else ()
        self.offers = offers(before, self._commands(), files) if is_open else []
        if self.offers and any(offer.text == before[offer.start :] for offer in self.offers) and len(self.offers) == 1:
            self.offers = []
        self.offered = 0

    def close_offers(self) -> None:
        self._is_closed, self.offers = True, []

    def move_offer(self, by: int) -> None:
        self.offered = (self.offered + by) % len(self.offers)

    def take_offer(self) -> bool:
        """Put the chosen offer in; whether it is a command that is now whole."""
        offer = self.offers[self.offered]
        before = self.buffer.document.text_before_cursor
        is_command = offer.text.startswith("/")
        is_folder = offer.text.endswith("/")
        self.buffer.delete_before_cursor(len(before) - offer.start)
        self.buffer.insert_text(offer.text + ("" if is_folder else " "))
        if not is_folder:
            self.close_offers()
        return is_command

    # -- what was typed

    def paste(self, text: str) -> None:
        self.buffer.insert_text(self.pastes.take(text, self._cwd))

    def delete(self) -> None:
        """The letter before the cursor; a mark goes as a whole."""
        before = self.buffer.document.text_before_cursor
        self.buffer.delete_before_cursor(mark_before(before) or 1)

    def submit(self) -> Typed | None:
        """What was typed, and an empty prompt; None if it was nothing, or a line that goes on."""
        before = self.buffer.document.text_before_cursor
        if before.endswith("\\"):
            self.buffer.delete_before_cursor(1)
            self.buffer.insert_text("\n")
            return None
        shown = self.buffer.text.strip()
        if not shown:
            return None
        typed = Typed(shown, self.pastes.unfold(shown), self.pastes.used(shown))
        self.buffer.reset(append_to_history=True)
        self.offers = []
        return typed

    @property
    def height(self) -> int:
        return self.buffer.text.count("\n") + 1

    def open_note(self) -> None:
        self.is_noting = True

    def close_note(self) -> None:
        self.is_noting = False
        self.note.reset()

    # -- how it is drawn

    def window(self) -> Window:
        is_empty = Condition(lambda: not self.buffer.text)
        hint = ConditionalProcessor(AfterInput(_placeholder, style="class:hint"), is_empty)
        return Window(
            BufferControl(self.buffer, input_processors=[hint]),
            get_line_prefix=self._prefix,
            wrap_lines=True,
            dont_extend_height=True,
            height=Dimension(min=1, max=TALLEST),
        )

    def note_window(self) -> Window:
        def prefix(line: int, wrapped: int) -> StyleAndTextTuples:
            return [("class:mark", "     › " if not line and not wrapped else "       ")]

        return Window(
            BufferControl(self.note), get_line_prefix=prefix, wrap_lines=True, dont_extend_height=True, height=None
        )

    def _prefix(self, line: int, wrapped: int) -> StyleAndTextTuples:
        if line or wrapped:
            return [("", "  ")]
        is_shell = self.buffer.text.startswith("!")
        return [("class:mark.shell" if is_shell else "class:mark", "❯ ")]
