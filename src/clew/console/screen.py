"""Draw the console: finished rows go to the scrollback, and a few lines below them are redrawn.

Those lines are the live part of the transcript, the prompt or a question, and the status line. They are redrawn at most
fifteen times a second; only keys are handled immediately.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.input import Input
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.output import ColorDepth, Output

from clew.console.key_bindings import Actions, create_bindings
from clew.console.menu import PAUSE, Menu, MenuAnswer
from clew.console.prompt_completion import MAX_VISIBLE
from clew.console.prompt_editor import PromptEditor
from clew.console.question_box import QuestionBox, layout_question
from clew.console.styles import STYLE, completion_lines, rule_window, search_lines, text_window
from clew.console.terminal_output import ReflowingApplication, SynchronizedOutput
from clew.view.sanitize import one_line

if TYPE_CHECKING:
    from clew.console.render import RowRenderer
    from clew.view.row_types import Row

FRAME = 1 / 15  # seconds between two redraws
TURN = 1 / 8  # seconds between two frames of the spinner
SMALLEST = 6  # lines of the live part
_BELOW_QUESTION = 2  # lines: the text kept for the prompt, and the keys
_FEWEST_LIVE = 4  # minimum height of the live part above a question


class Screen:
    """The user interface that draws on a terminal."""

    def __init__(
        self,
        actions: Actions,
        line: PromptEditor,
        *,
        live_lines: Callable[[Callable[[], RowRenderer], int], list[str]],
        status: Callable[[int], list[tuple[str, str]]],
        queued: Callable[[], list[str]],
        tasks: Callable[[int], list[str]] = lambda width: [],
        colour: bool = True,
        input: Input | None = None,
        output: Output | None = None,
        term: str = "",
        pause: float = PAUSE,
    ) -> None:
        self._get_live = live_lines
        self._get_status = status
        self._get_queued = queued
        self._get_tasks = tasks
        self._colour = colour
        self._renderer: RowRenderer | None = None
        self._rows: list[Row] = []
        self._timer: asyncio.TimerHandle | None = None
        self._shown_live: list[str] = []
        self._clears_screen = False
        self._pause, self._ignore_keys_until = pause, 0.0
        self._answered_at = float("-inf")
        self._selected_number, self._selected_at = "", 0.0  # the digit that selected an option, and when
        self._is_drafting = False  # text was typed since the question opened, and no option was selected after it
        self._box: QuestionBox | None = None
        self.is_drawn = asyncio.Event()
        self.line = line
        self.menu: Menu | None = None
        self._answer: asyncio.Future[MenuAnswer | None] | None = None
        self._output: Output = output or SynchronizedOutput(term)
        self._menu_window = text_window(self._menu_lines, wraps=True, takes_keys=True)
        self.app: Application[int] = ReflowingApplication(
            layout=Layout(self._layout(), focused_element=line.buffer),
            key_bindings=create_bindings(self, actions),
            style=STYLE,
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            input=input,
            output=self._output,
            erase_when_done=True,
            before_render=self._before_render,
            after_render=self._after_render,
        )
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.1

    # -- ConsoleUi

    def print_row(self, row: Row) -> None:
        self._rows.append(row)
        self.request_redraw()

    def request_redraw(self) -> None:
        """Draw within one frame."""
        if not self.app.is_running:
            return
        loop = asyncio.get_running_loop()
        if self._timer is not None and self._timer.when() - loop.time() > FRAME:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_later(FRAME, self.draw)

    async def wait_until_drawn(self) -> None:
        self.is_drawn.clear()
        self.draw()
        await self.is_drawn.wait()

    async def choose(self, menu: Menu) -> MenuAnswer | None:
        return await self.wait_for_answer(self.open(menu))

    def open(self, menu: Menu) -> asyncio.Future[MenuAnswer | None]:
        """Show a question in place of the prompt. Return a future for the answer."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[MenuAnswer | None] = loop.create_future()
        self.close_menu(None)  # cancel an open menu
        self.menu, self._answer, self._ignore_keys_until = menu, waiting, 0.0
        self._selected_number, self._is_drafting = "", bool(self.line.buffer.text)
        is_next = loop.time() < self._answered_at + self._pause  # a key that is pressed twice must not answer it too
        if menu.is_sudden or self.line.buffer.text or (is_next and not menu.is_sought):
            self._wait_for_pause()
        self.line.close_note()
        self.app.layout.focus(self._menu_window)
        self.request_redraw()
        return waiting

    async def wait_for_answer(self, waiting: asyncio.Future[MenuAnswer | None]) -> MenuAnswer | None:
        """Wait for the answer to an open question, then show the prompt again."""
        try:
            return await waiting
        finally:
            if self._answer is waiting:
                if self.line.is_noting and (waiting.cancelled() or waiting.result() is None):
                    self.line.buffer.insert_text(self.line.note.text)  # keep the text of a withdrawn question
                self.menu = self._answer = self._box = None
                self.line.close_note()
                self.app.layout.focus(self.line.buffer)
            self.request_redraw()

    def fill_prompt(self, text: str) -> None:
        if not self.line.buffer.text:
            self.line.buffer.text = text
            self.line.buffer.cursor_position = len(text)
            self.request_redraw()

    def leave(self) -> None:
        if self.app.is_running and not self.app.is_done:
            self.draw()
            self.app.exit(result=0)

    def copy(self, text: str) -> bool:
        self._output.write_raw(f"\x1b]52;c;{b64encode(text.encode()).decode()}\x07")  # the terminal has the clipboard
        self._output.flush()
        return True

    def clear_screen(self) -> None:
        self._clears_screen = True
        self.request_redraw()

    # -- answers

    @property
    def is_listening(self) -> bool:
        """Whether keys reach the question: no key was pressed for a while."""
        return asyncio.get_running_loop().time() >= self._ignore_keys_until

    @property
    def is_drafting(self) -> bool:
        """Whether the user types a prompt while the question is open: numbers are text then."""
        return self._is_drafting

    def accepts_key(self) -> bool:
        """Return whether a key that moves or confirms is meant for the question. Otherwise the pause begins again."""
        if self.is_listening:
            return True
        self._wait_for_pause()
        return False

    def add_to_draft(self, text: str) -> None:
        """Keep typed text for the prompt. It selects nothing, and an option selected by number is not selected any more."""
        menu = self.menu
        if menu is not None and not menu.is_sought:
            if self._selected_number:
                self.line.buffer.insert_text(self._selected_number)
            menu.deselect()
            self._wait_for_pause()
            self._is_drafting = True
        self._selected_number = ""
        self.line.buffer.insert_text(text)
        self.request_redraw()

    def select(self, number: str) -> bool:
        """Select an option by its number; Enter has to confirm it, and a letter makes it text."""
        now = asyncio.get_running_loop().time()
        is_text = bool(self._selected_number) and now < self._selected_at + self._pause  # the second digit of a number
        if self.menu is None or is_text or not self.menu.point(int(number)):
            return False
        self._selected_number, self._selected_at = number, now
        return True

    def delete_from_draft(self) -> None:
        """Delete the last character of the draft."""
        self.line.delete()
        self._is_drafting = self._is_drafting and bool(self.line.buffer.text)

    def move(self, by: int) -> None:
        if self.menu is not None and self.accepts_key():
            self._selected_number, self._is_drafting = "", False
            self.menu.move(by)

    def scroll(self, pages: int) -> None:
        if self.menu is not None and not self.menu.is_sought:
            shown = self._layout_question(self.menu)
            self.menu.top = max(0, min(shown.top + pages * shown.page, shown.total - shown.page))
            self.request_redraw()

    def _wait_for_pause(self) -> None:
        loop = asyncio.get_running_loop()
        self._ignore_keys_until = loop.time() + self._pause
        loop.call_later(self._pause + 0.01, self.request_redraw)

    def close_menu(self, answer: MenuAnswer | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)
            self._answered_at = asyncio.get_running_loop().time() if answer else float("-inf")

    def open_note(self) -> None:
        """Let the user add text to the selected option."""
        self.line.open_note()
        self.app.layout.focus(self.line.note)

    def close_note(self) -> None:
        self.line.close_note()
        self.app.layout.focus(self._menu_window)

    # -- drawing

    def get_renderer(self) -> RowRenderer:
        """Return a renderer for the current width. It is imported when there is something to render."""
        from clew.console.render import RowRenderer

        width = self._output.get_size().columns
        if self._renderer is None or self._renderer.width != max(width, 20):
            self._renderer = RowRenderer(width, self._colour)
        return self._renderer

    def draw(self) -> None:
        """Print finished rows, and draw the live lines below them."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._rows or self._clears_screen:
            rows, self._rows = self._rows, []
            renderer = self.get_renderer()
            text = "".join(renderer.render(row) for row in rows)
            self._begin_update()
            self.app.renderer.erase()
            if self._clears_screen:
                self._clears_screen = False
                self._output.write_raw("\x1b[2J\x1b[3J\x1b[H")
            self._output.write_raw(text.replace("\n", "\r\n"))
        self.app.invalidate()

    def _begin_update(self) -> None:
        if isinstance(self._output, SynchronizedOutput):
            self._output.begin_update()

    def _before_render(self, app: Application[int]) -> None:
        """Erase the drawn lines first if there are fewer now; otherwise the last of them would stay."""
        size = self._output.get_size()
        if self.menu is not None and not self.menu.is_sought:
            self._box = self._layout_question(self.menu)
            room = size.rows - len(self._box.rows) - len(self._get_queued()) - _BELOW_QUESTION
            self._shown_live = self._get_live(self.get_renderer, room) if room >= _FEWEST_LIVE else []
        else:
            self._shown_live = self._get_live(self.get_renderer, max(SMALLEST, size.rows - self._below() - 1))
        self._begin_update()
        last = app.renderer.last_rendered_screen
        wanted = app.layout.container.preferred_height(size.columns, size.rows).preferred
        if last is not None and wanted < last.height:
            app.renderer.erase()

    def _after_render(self, app: Application[int]) -> None:
        if isinstance(self._output, SynchronizedOutput):
            self._output.end_update()
        self.is_drawn.set()
        if (self._shown_live or self._task_texts()) and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TURN, self.draw)

    def _below(self) -> int:
        """Return the maximum height of the prompt and everything around it."""
        around = len(self._get_queued()) + min(len(self.line.completions), MAX_VISIBLE + 1) + len(self._task_texts())
        return 6 + min(self.line.height, 10) + around

    def _layout(self) -> HSplit:
        asks = Condition(lambda: self.menu is not None)
        has_live = Condition(lambda: bool(self._shown_live))
        has_queued = Condition(lambda: bool(self._get_queued()))
        has_tasks = Condition(lambda: bool(self._task_texts()))
        has_completions = Condition(lambda: bool(self.line.completions) and self.menu is None)
        prompt = HSplit([Window(height=1), rule_window(), self.line.window(), rule_window()])
        menu = HSplit(
            [
                self._menu_window,
                ConditionalContainer(self.line.note_window(), Condition(lambda: self.line.is_noting)),
                ConditionalContainer(text_window(self._draft_line), Condition(lambda: bool(self.line.buffer.text))),
                text_window(self._menu_keys),
            ]
        )
        return HSplit(
            [
                ConditionalContainer(text_window(self._live_lines), has_live),
                ConditionalContainer(text_window(self._queued_lines), has_queued),
                ConditionalContainer(prompt, ~asks),
                ConditionalContainer(menu, asks),
                ConditionalContainer(text_window(self._completion_lines), has_completions),
                ConditionalContainer(text_window(self._task_lines), has_tasks & ~has_completions & ~asks),
                ConditionalContainer(text_window(self._status_line), ~has_completions & ~asks),
            ]
        )

    def _live_lines(self) -> StyleAndTextTuples:
        return to_formatted_text(ANSI("\n".join(self._shown_live)))

    def _queued_lines(self) -> StyleAndTextTuples:
        width = self._output.get_size().columns
        texts = self._get_queued()
        lines = [f"  ❯ {one_line(text, width - 12)}  (queued)" for text in texts]
        return [("class:queued", "\n".join(lines)), ("class:hint", "\n  ↑ to edit what is queued" if texts else "")]

    @property
    def has_queued(self) -> bool:
        return bool(self._get_queued())

    def _task_texts(self) -> list[str]:
        return self._get_tasks(self._output.get_size().columns)

    def _task_lines(self) -> StyleAndTextTuples:
        return [("class:task", "\n".join(self._task_texts()))]

    def _completion_lines(self) -> StyleAndTextTuples:
        return completion_lines(self.line.completions, self.line.selected, self._output.get_size().columns)

    def _status_line(self) -> StyleAndTextTuples:
        if self.line.remark:
            return [("class:hint", f"  {self.line.remark}")]
        return [*self._get_status(self._output.get_size().columns)]

    def _menu_lines(self) -> StyleAndTextTuples:
        if self.menu is None:
            return []
        if self.menu.is_sought:
            return search_lines(self.menu, self._output.get_size().columns)
        self._box = self._layout_question(self.menu)
        return self._box.text

    def _layout_question(self, menu: Menu) -> QuestionBox:
        size = self._output.get_size()
        below = _BELOW_QUESTION + len(self._get_queued()) + (2 if self.line.is_noting else 0)
        return layout_question(menu, size.columns, size.rows - below)

    def _draft_line(self) -> StyleAndTextTuples:
        text = one_line(self.line.buffer.text, max(self._output.get_size().columns - 26, 10))
        return [("class:question.draft", f" Kept for the prompt: {text}")]

    def _menu_keys(self) -> StyleAndTextTuples:
        menu = self.menu
        if menu is None:
            return []
        if not self.is_listening and not menu.is_sought:
            return [("class:hint", "  … typing goes to the prompt")]
        numbers = f"1-{min(len(menu.options), 9)}"
        if menu.current:
            words = ["enter to choose"]
        else:  # a number has to be confirmed, too
            words = ["↑↓" if self._is_drafting else f"{numbers} or ↑↓", "then enter"]
        words += ["space to mark"] if menu.is_many else []
        words += ["←→ other questions"] if menu.tabs else []
        words += ["type to search"] if menu.is_sought else []
        takes = menu.current.takes if menu.current and not menu.current.opens else ""
        words += [f"tab to {takes}"] if takes and not self.line.is_noting else []
        words.insert(2, "esc cancels")
        width = self._output.get_size().columns
        while len(" · ".join(words)) + 3 > width and len(words) > 2:
            words.pop()
        return [("class:hint", f"  {' · '.join(words)}")]
