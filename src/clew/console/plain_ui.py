"""A console without drawing, for screen readers, simple terminals and pipes: every row is written once, as lines of text.

A line that arrives while a question is open answers it; any other line is a prompt. While the model works, typed lines are
queued. Piped lines are not read ahead, because the next one may be the answer to a question.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, TextIO, assert_never

from clew.console.menu import PAUSE, Menu, MenuAnswer
from clew.console.ui import UserInput
from clew.system.plural import plural
from clew.view import row_types
from clew.view.approval_text import code, escape, escape_line
from clew.view.row_types import Row
from clew.view.sanitize import clean, one_line
from clew.view.truncate import truncate

if TYPE_CHECKING:
    from clew.console.controller import Controller

_MARKS = {"│": "   ", "⋮": "   ..."}  # signs of the screen, in characters that a screen reader reads aloud
_NUMBERS = tuple(str(number) for number in range(1, 1000))
_STATES = {"completed": "done", "in_progress": "in progress", "pending": "to do"}


def row_text(row: Row) -> str:
    """Return a row as text without control characters."""
    match row:
        case row_types.TableRow():
            return clean("\n".join(row.lines))
        case row_types.CompactionRow():
            return f"Compacted, from {row.before} tokens to {row.after}."
        case row_types.TodoRow():
            return f"Todo, {_STATES.get(row.status, 'to do')}: {one_line(row.text)}"
        case row_types.CallRow():
            return f"Call: {_shown_lines(row, ' (failed)' if row.failed else '')}"
        case row_types.PromptRow() | row_types.QueuedRow():
            return f"You: {_shown_lines(row)}"
        case row_types.ResultRow():
            return f"Result: {_shown_lines(row)}"
        case row_types.FailureRow():
            return f"Failed: {_shown_lines(row)}"
        case row_types.DiffRow():
            return f"Change:\n{_shown_lines(row)}"
        case row_types.PlanRow():
            return f"Plan:\n{_shown_lines(row)}"
        case row_types.ThinkingRow():
            return f"Thinking: {_shown_lines(row)}"
        case row_types.ErrorRow():
            return f"Error: {_shown_lines(row)}"
        case row_types.WarningRow():
            return f"Warning: {_shown_lines(row)}"
        case row_types.NoteRow():
            return f"Note: {_shown_lines(row)}"
        case row_types.AgentRow():
            return f"Agent: {_shown_lines(row)}"
        case (
            row_types.ReplyRow()
            | row_types.InterruptRow()
            | row_types.SummaryRow()
            | row_types.MetaRow()
            | row_types.InputRow()
            | row_types.PictureRow()
        ):
            return _shown_lines(row)
        case row_types.TitleRow() | row_types.AboutRow() | row_types.DoneRow():
            return _shown_lines(row)
        case _:
            assert_never(row)


def _shown_lines(row: Row, state: str = "") -> str:
    """Return the text of a row up to its limit, and the number of lines left out."""
    shown, more = truncate(clean(row.text), row.limit)
    return f"{shown}{state}" + (f"\n{plural(more, 'more line')}" if more else "")


class PlainUi:
    """The user interface that reads and writes lines."""

    def __init__(self, source: TextIO, target: TextIO, pause: float = PAUSE) -> None:
        """`pause` is how long after a question a line counts as typed before the user could read it."""
        self._source = source
        self._target = target
        self._pending_answer: asyncio.Future[str] | None = None
        self._ended = asyncio.Event()
        self._controller: Controller | None = None
        self._lines: deque[str | None] = deque()  # lines read but not dispatched; None is the end of the input
        self._is_piped = not source.isatty()
        self._reading = False
        self._held_lines: list[str] = []  # typed while a question was open, but not an answer to it
        self._pause, self._ignore_lines_until = pause, 0.0

    # -- ConsoleUi

    def print_row(self, row: Row) -> None:
        if not isinstance(row, row_types.PromptRow):  # the terminal has already echoed it
            self._write(row_text(row) + "\n")

    def request_redraw(self) -> None:
        """Nothing is drawn again, but a held line may be dispatched now."""
        if self._reading:
            asyncio.get_running_loop().call_soon(self._dispatch_lines)

    async def wait_until_drawn(self) -> None:
        """Return immediately: rows are written without delay."""

    def fill_prompt(self, text: str) -> None:
        if text.strip():
            self._write(f"Not sent: {clean(text)}\n")

    def copy(self, text: str) -> bool:
        return False

    def clear_screen(self) -> None:
        """Do nothing: text that was written stays."""

    def leave(self) -> None:
        self._ended.set()

    async def choose(self, menu: Menu) -> MenuAnswer | None:
        self._start_reader()
        self._write(f"{escape(menu.title)}{f' ({menu.count})' if menu.count else ''}\n")
        if menu.about:
            self._write(f"{escape_line(menu.about)}\n")
        for detail in menu.details:
            mark = _MARKS.get(detail.mark.strip(), detail.mark)
            text = detail.text.replace("\t", code("\t"))
            self._write(f"{mark} {text}".rstrip() + "\n")
        for number, option in enumerate(menu.options, 1):
            about = f" ({escape_line(option.about)})" if option.about else ""
            self._write(f"{number}. {escape_line(option.label)}{about}\n")
        many = ", several with commas" if menu.is_many else ""
        self._hold_lines(menu.is_sudden)
        while True:
            line = (await self._ask(f"A number{many}, or nothing to cancel: ")).strip()
            if not line:
                return None
            if (answer := await self._answer(menu, line)) is not None:
                return answer
            self._held_lines.append(line)
            self._write("That is not one of the numbers. It will be sent as a prompt after this question.\n")

    def _hold_lines(self, is_sudden: bool) -> None:
        """Hold lines that the user typed before this question was shown: they do not answer it. Piped lines may."""
        if is_sudden and not self._is_piped:
            self._held_lines += [line for line in self._lines if line]
            self._lines = deque(line for line in self._lines if line is None)
            self._ignore_lines_until = asyncio.get_running_loop().time() + self._pause

    async def _answer(self, menu: Menu, line: str) -> MenuAnswer | None:
        """Return the answer that a line gives, or None. Text may follow a number if the option takes text."""
        first, _, text = line.partition(" ")
        words = [word.strip() for word in line.split(",")] if menu.is_many else [first]
        if not all(word in _NUMBERS[: len(menu.options)] for word in words):
            return None
        options = [menu.options[int(word) - 1] for word in words]
        text = "" if menu.is_many else text.strip()
        if text and not options[0].opens:
            return None
        for option in options:
            if option.opens and not text:
                text = (await self._ask(f"{option.takes[:1].upper()}{option.takes[1:]}: ")).strip()
            if option.needs_text and not text:
                return None
        return MenuAnswer(tuple(o.value for o in options if not (menu.is_many and o.needs_text)), text)

    async def _ask(self, question: str) -> str:
        self._write(question)
        self._pending_answer = asyncio.get_running_loop().create_future()
        self._dispatch_lines()
        try:
            return await self._pending_answer
        finally:
            self._write("\n" if self._is_piped else "")  # piped input is not echoed
            self._pending_answer = None
            asyncio.get_running_loop().call_soon(self._dispatch_lines)

    def _write(self, text: str) -> None:
        self._target.write(text)
        self._target.flush()

    # -- input

    async def run(self, controller: Controller) -> None:
        """Run until the user leaves or the input ends."""
        self._controller = controller
        self._start_reader()
        if sys.platform != "win32":
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupt)
        running = asyncio.create_task(controller.run())
        running.add_done_callback(lambda _: self._ended.set())
        await self._ended.wait()
        if not running.done():
            await controller.finish()
        await running

    def _start_reader(self) -> None:
        """Start to read lines in a thread, unless it is already running."""
        if not self._reading:
            self._reading = True
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._read_lines, args=(loop,), daemon=True).start()

    def _read_lines(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in self._source:
            loop.call_soon_threadsafe(self._add_line, line.rstrip("\r\n"))
        loop.call_soon_threadsafe(self._add_line, None)

    def _add_line(self, line: str | None) -> None:
        is_early = self._pending_answer is not None and asyncio.get_running_loop().time() < self._ignore_lines_until
        if line is not None and is_early:
            self._held_lines += [line] if line else []
        else:
            self._lines.append(line)
        self._dispatch_lines()

    def _dispatch_lines(self) -> None:
        """Pass the lines that were read to the open question, or to the controller."""
        if self._pending_answer is None and self._controller is not None and self._held_lines:
            self._lines = deque([*self._held_lines, *self._lines])
            self._held_lines.clear()
        while self._lines:
            if self._pending_answer is not None:
                if self._pending_answer.done():
                    return
                self._pending_answer.set_result(self._lines[0] or "")
            elif self._controller is None or (self._is_piped and not self._controller.is_idle):
                return
            elif self._lines[0] is None:
                self._ended.set()
            elif self._lines[0].strip():
                self._controller.handle_input(UserInput(self._lines[0].strip()))
            if self._lines[0] is None:
                return
            self._lines.popleft()

    def _interrupt(self) -> None:
        if self._pending_answer is not None and not self._pending_answer.done():
            self._pending_answer.set_result("")
        elif self._controller is None or not self._controller.interrupt():
            self._ended.set()
