"""The input line: text with history, completion and folded pastes."""

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

from clew.console.pasted_text import Pastes, mark_before
from clew.console.prompt_completion import Completion, NamedCommand, find_completions, is_file_mention
from clew.console.ui import UserInput

MAX_HEIGHT = 10
MIN_WIDTH_FOR_HINTS = 68


def _placeholder() -> str:
    is_wide = get_app().output.get_size().columns >= MIN_WIDTH_FOR_HINTS
    return "Ask for something, / for commands, @ for files, ! for the shell" if is_wide else "Ask for something"


class PromptEditor:
    """The text that is being typed, and its completions."""

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
        self._is_closed = False  # the user closed the completions
        self.pastes = pastes
        self.completions: list[Completion] = []
        self.selected = 0
        self.remark = ""  # shown briefly instead of the status line
        self.is_noting = False
        self.buffer = Buffer(history=history, multiline=True, on_text_changed=self._changed)
        self.note = Buffer(multiline=False)

    # -- completions

    def _changed(self, _: Buffer) -> None:
        self.remark = ""
        self._is_closed = False
        self.refresh()

    def refresh(self) -> None:
        """Compute the completions again."""
        before = self.buffer.document.text_before_cursor
        is_open = not self._is_closed and "\n" not in before[-1:]
        files = self._files() if is_file_mention(before) else ()
        self.completions = find_completions(before, self._commands(), files) if is_open else []
        if (
            self.completions
            and any(completion.text == before[completion.start :] for completion in self.completions)
            and len(self.completions) == 1
        ):
            self.completions = []
        self.selected = 0

    def close_completions(self) -> None:
        self._is_closed, self.completions = True, []

    def move_completion(self, by: int) -> None:
        self.selected = (self.selected + by) % len(self.completions)

    def accept_completion(self) -> bool:
        """Insert the selected completion; return True if it is a command."""
        completion = self.completions[self.selected]
        before = self.buffer.document.text_before_cursor
        is_command = completion.text.startswith("/")
        is_folder = completion.text.endswith("/")
        self.buffer.delete_before_cursor(len(before) - completion.start)
        self.buffer.insert_text(completion.text + ("" if is_folder else " "))
        if not is_folder:
            self.close_completions()
        return is_command

    # -- input

    def paste(self, text: str) -> None:
        self.buffer.insert_text(self.pastes.fold(text, self._cwd))

    def delete(self) -> None:
        """Delete the character before the cursor; a mark of a paste is deleted as one."""
        before = self.buffer.document.text_before_cursor
        self.buffer.delete_before_cursor(mark_before(before) or 1)

    def submit(self) -> UserInput | None:
        """Return the typed text and clear the line; None if it is empty or ends with a backslash."""
        before = self.buffer.document.text_before_cursor
        if before.endswith("\\"):
            self.buffer.delete_before_cursor(1)
            self.buffer.insert_text("\n")
            return None
        shown = self.buffer.text.strip()
        if not shown:
            return None
        typed = UserInput(shown, self.pastes.unfold(shown), self.pastes.used(shown))
        self.buffer.reset(append_to_history=True)
        self.completions = []
        return typed

    @property
    def height(self) -> int:
        return self.buffer.text.count("\n") + 1

    def open_note(self) -> None:
        self.is_noting = True

    def close_note(self) -> None:
        self.is_noting = False
        self.note.reset()

    # -- drawing

    def window(self) -> Window:
        is_empty = Condition(lambda: not self.buffer.text)
        hint = ConditionalProcessor(AfterInput(_placeholder, style="class:hint"), is_empty)
        return Window(
            BufferControl(self.buffer, input_processors=[hint]),
            get_line_prefix=self._prefix,
            wrap_lines=True,
            dont_extend_height=True,
            height=Dimension(min=1, max=MAX_HEIGHT),
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
