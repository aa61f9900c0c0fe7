"""The screen: what is finished goes to the scrollback, and below it a few lines are drawn again and again.

These are what still changes of the transcript, the prompt or a question, and the status line. They are drawn at most fifteen
times a second, whatever comes; only keys are answered at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.input import Input
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.output import ColorDepth, Output

from clew.console.completion import MAX_VISIBLE
from clew.console.key_bindings import Actions, create_bindings
from clew.console.menu import PAUSE, Menu, MenuAnswer
from clew.console.prompt_editor import PromptEditor
from clew.console.question_box import Box, box
from clew.console.styles import STYLE, lines, offer_lines, rule, search_lines
from clew.console.terminal_output import Resized, Terminal
from clew.view.sanitize import one_line

if TYPE_CHECKING:
    from clew.console.render import Painter
    from clew.view.row_types import Row

FRAME = 1 / 15  # seconds between two drawings
TURN = 1 / 8  # seconds between two pictures of what turns
SMALLEST = 6  # lines of the live part
_BELOW_QUESTION = 2  # lines: the text kept for the prompt, and the keys
_FEWEST_LIVE = 4  # lines for which it is worth showing what runs above a question


class Screen:
    """The face that draws."""

    def __init__(
        self,
        actions: Actions,
        line: PromptEditor,
        *,
        live: Callable[[Callable[[], Painter], int], list[str]],
        status: Callable[[int], list[tuple[str, str]]],
        waiting: Callable[[], list[str]],
        colour: bool = True,
        input: Input | None = None,
        output: Output | None = None,
        term: str = "",
        pause: float = PAUSE,
    ) -> None:
        self._live = live
        self._status = status
        self._waiting = waiting
        self._colour = colour
        self._painter: Painter | None = None
        self._rows: list[Row] = []
        self._timer: asyncio.TimerHandle | None = None
        self._shown_live: list[str] = []
        self._wipes = False
        self._pause, self._deaf_until = pause, 0.0
        self._answered_at = float("-inf")
        self._numbered, self._numbered_at = "", 0.0  # the number by which an option was selected, and when
        self._is_drafting = False  # text was typed since the question opened, and no option was selected after it
        self._box: Box | None = None
        self.is_drawn = asyncio.Event()
        self.line = line
        self.menu: Menu | None = None
        self._answer: asyncio.Future[MenuAnswer | None] | None = None
        self._output: Output = output or Terminal(term)
        self._menu_window = lines(self._menu_lines, wraps=True, takes_keys=True)
        self.app: Application[int] = Resized(
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

    # -- the face

    def put(self, row: Row) -> None:
        self._rows.append(row)
        self.touch()

    def touch(self) -> None:
        """Draw soon."""
        if not self.app.is_running:
            return
        loop = asyncio.get_running_loop()
        if self._timer is not None and self._timer.when() - loop.time() > FRAME:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_later(FRAME, self.draw)

    async def drawn(self) -> None:
        self.is_drawn.clear()
        self.draw()
        await self.is_drawn.wait()

    async def choose(self, menu: Menu) -> MenuAnswer | None:
        return await self.closed(self.open(menu))

    def open(self, menu: Menu) -> asyncio.Future[MenuAnswer | None]:
        """Show a question in the place of the prompt."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[MenuAnswer | None] = loop.create_future()
        self.settle(None)  # a menu that is open is cancelled
        self.menu, self._answer, self._deaf_until = menu, waiting, 0.0
        self._numbered, self._is_drafting = "", bool(self.line.buffer.text)
        is_next = loop.time() < self._answered_at + self._pause  # a key that is pressed twice must not answer it too
        if menu.is_sudden or self.line.buffer.text or (is_next and not menu.is_sought):
            self._wait_for_pause()
        self.line.close_note()
        self.app.layout.focus(self._menu_window)
        self.touch()
        return waiting

    async def closed(self, waiting: asyncio.Future[MenuAnswer | None]) -> MenuAnswer | None:
        """Wait for the answer to an open question; then the prompt is back."""
        try:
            return await waiting
        finally:
            if self._answer is waiting:
                if self.line.is_noting and (waiting.cancelled() or waiting.result() is None):
                    self.line.buffer.insert_text(self.line.note.text)  # the question is gone, the words are not
                self.menu = self._answer = self._box = None
                self.line.close_note()
                self.app.layout.focus(self.line.buffer)
            self.touch()

    def fill(self, text: str) -> None:
        if not self.line.buffer.text:
            self.line.buffer.text = text
            self.line.buffer.cursor_position = len(text)
            self.touch()

    def leave(self) -> None:
        if self.app.is_running and not self.app.is_done:
            self.draw()
            self.app.exit(result=0)

    def wipe(self) -> None:
        self._wipes = True
        self.touch()

    # -- answers

    @property
    def is_listening(self) -> bool:
        """Whether keys reach the question: no key was pressed for a while."""
        return asyncio.get_running_loop().time() >= self._deaf_until

    @property
    def is_drafting(self) -> bool:
        """Whether the user types a prompt while the question is open: numbers are text then."""
        return self._is_drafting

    def takes_key(self) -> bool:
        """Whether a key that moves or confirms is meant for the question. Otherwise the pause begins again."""
        if self.is_listening:
            return True
        self._wait_for_pause()
        return False

    def draft(self, text: str) -> None:
        """Keep typed text for the prompt. It selects nothing, and an option selected by number is not selected any more."""
        menu = self.menu
        if menu is not None and not menu.is_sought:
            if self._numbered:
                self.line.buffer.insert_text(self._numbered)
            menu.deselect()
            self._wait_for_pause()
            self._is_drafting = True
        self._numbered = ""
        self.line.buffer.insert_text(text)
        self.touch()

    def select(self, number: str) -> bool:
        """Select an option by its number; Enter has to confirm it, and a letter makes it text."""
        assert self.menu is not None
        now = asyncio.get_running_loop().time()
        is_text = bool(self._numbered) and now < self._numbered_at + self._pause  # the second digit of a number
        if is_text or not self.menu.point(int(number)):
            return False
        self._numbered, self._numbered_at = number, now
        return True

    def undraft(self) -> None:
        """Delete the last letter of what is kept for the prompt."""
        self.line.delete()
        self._is_drafting = self._is_drafting and bool(self.line.buffer.text)

    def move(self, by: int) -> None:
        if self.menu is not None and self.takes_key():
            self._numbered, self._is_drafting = "", False
            self.menu.move(by)

    def scroll(self, pages: int) -> None:
        if self.menu is not None and not self.menu.is_sought:
            shown = self._layout_question(self.menu)
            self.menu.top = max(0, min(shown.top + pages * shown.page, shown.total - shown.page))
            self.touch()

    def _wait_for_pause(self) -> None:
        loop = asyncio.get_running_loop()
        self._deaf_until = loop.time() + self._pause
        loop.call_later(self._pause + 0.01, self.touch)

    def settle(self, answer: MenuAnswer | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)
            self._answered_at = asyncio.get_running_loop().time() if answer else float("-inf")

    def note(self) -> None:
        """Let something be written behind the option pointed at."""
        self.line.open_note()
        self.app.layout.focus(self.line.note)

    def close_note(self) -> None:
        self.line.close_note()
        self.app.layout.focus(self._menu_window)

    # -- drawing

    def painter(self) -> Painter:
        """Whoever paints for the width that the terminal has now; loaded when there is something to paint."""
        from clew.console.render import Painter

        width = self._output.get_size().columns
        if self._painter is None or self._painter.width != max(width, 20):
            self._painter = Painter(width, self._colour)
        return self._painter

    def draw(self) -> None:
        """Print what is finished, and draw the rest below it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._rows or self._wipes:
            rows, self._rows = self._rows, []
            painter = self.painter()
            text = "".join(painter.paint(row) for row in rows)
            self._hold()
            self.app.renderer.erase()
            if self._wipes:
                self._wipes = False
                self._output.write_raw("\x1b[2J\x1b[3J\x1b[H")
            self._output.write_raw(text.replace("\n", "\r\n"))
        self.app.invalidate()

    def _hold(self) -> None:
        if isinstance(self._output, Terminal):
            self._output.hold()

    def _before_render(self, app: Application[int]) -> None:
        """What has become lower is drawn anew: the lines below it would stay."""
        size = self._output.get_size()
        if self.menu is not None and not self.menu.is_sought:
            self._box = self._layout_question(self.menu)
            room = size.rows - len(self._box.rows) - len(self._waiting()) - _BELOW_QUESTION
            self._shown_live = self._live(self.painter, room) if room >= _FEWEST_LIVE else []
        else:
            self._shown_live = self._live(self.painter, max(SMALLEST, size.rows - self._below() - 1))
        self._hold()
        last = app.renderer.last_rendered_screen
        wanted = app.layout.container.preferred_height(size.columns, size.rows).preferred
        if last is not None and wanted < last.height:
            app.renderer.erase()

    def _after_render(self, app: Application[int]) -> None:
        if isinstance(self._output, Terminal):
            self._output.release()
        self.is_drawn.set()
        if self._shown_live and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TURN, self.draw)

    def _below(self) -> int:
        """How many lines the prompt and what is around it take, at most."""
        return 6 + min(self.line.height, 10) + len(self._waiting()) + min(len(self.line.completions), MAX_VISIBLE)

    def _layout(self) -> HSplit:
        asks = Condition(lambda: self.menu is not None)
        has_live = Condition(lambda: bool(self._shown_live))
        has_waiting = Condition(lambda: bool(self._waiting()))
        has_offers = Condition(lambda: bool(self.line.completions) and self.menu is None)
        prompt = HSplit([Window(height=1), rule(), self.line.window(), rule()])
        menu = HSplit(
            [
                self._menu_window,
                ConditionalContainer(self.line.note_window(), Condition(lambda: self.line.is_noting)),
                ConditionalContainer(lines(self._draft_line), Condition(lambda: bool(self.line.buffer.text))),
                lines(self._menu_keys),
            ]
        )
        return HSplit(
            [
                ConditionalContainer(lines(self._live_lines), has_live),
                ConditionalContainer(lines(self._waiting_lines), has_waiting),
                ConditionalContainer(prompt, ~asks),
                ConditionalContainer(menu, asks),
                ConditionalContainer(lines(self._offer_lines), has_offers),
                ConditionalContainer(lines(self._status_line), ~has_offers & ~asks),
            ]
        )

    def _live_lines(self) -> StyleAndTextTuples:
        return to_formatted_text(ANSI("\n".join(self._shown_live)))

    def _waiting_lines(self) -> StyleAndTextTuples:
        width = self._output.get_size().columns
        texts = self._waiting()
        return [("class:queued", "\n".join(f"  ❯ {one_line(text, width - 12)}  (queued)" for text in texts))]

    def _offer_lines(self) -> StyleAndTextTuples:
        return offer_lines(self.line.completions, self.line.selected, self._output.get_size().columns)

    def _status_line(self) -> StyleAndTextTuples:
        if self.line.remark:
            return [("class:hint", f"  {self.line.remark}")]
        return [*self._status(self._output.get_size().columns)]

    def _menu_lines(self) -> StyleAndTextTuples:
        if self.menu is None:
            return []
        if self.menu.is_sought:
            return search_lines(self.menu, self._output.get_size().columns)
        self._box = self._layout_question(self.menu)
        return self._box.text

    def _layout_question(self, menu: Menu) -> Box:
        size = self._output.get_size()
        below = _BELOW_QUESTION + len(self._waiting()) + (2 if self.line.is_noting else 0)
        return box(menu, size.columns, size.rows - below)

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
        words += ["type to search"] if menu.is_sought else []
        takes = menu.current.takes if menu.current and not menu.current.opens else ""
        words += [f"tab to {takes}"] if takes and not self.line.is_noting else []
        words.insert(2, "esc cancels")
        width = self._output.get_size().columns
        while len(" · ".join(words)) + 3 > width and len(words) > 2:
            words.pop()
        return [("class:hint", f"  {' · '.join(words)}")]
