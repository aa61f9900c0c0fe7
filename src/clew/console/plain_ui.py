"""The face that only writes lines: for screen readers, simple terminals and pipes. Nothing is drawn, and so nothing twice.

One that comes while a question stands is its answer; else it is said. While the model works, a person's line waits in the
queue, and what is piped in waits until it is done: there the next line may be the answer to a question.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, TextIO, assert_never

from clew.console.menu import PAUSE, Menu, MenuAnswer
from clew.console.ui import Typed
from clew.system.plural import plural
from clew.view.approval_text import code, escape, escape_line
from clew.view.row_types import (
    AboutRow,
    AgentRow,
    CallRow,
    CompactionRow,
    DiffRow,
    DoneRow,
    ErrorRow,
    FailureRow,
    InputRow,
    InterruptRow,
    MetaRow,
    NoteRow,
    PictureRow,
    PlanRow,
    PromptRow,
    QueuedRow,
    ReplyRow,
    ResultRow,
    Row,
    SummaryRow,
    TableRow,
    ThinkingRow,
    TitleRow,
    TodoRow,
    WarningRow,
)
from clew.view.sanitize import clean, one_line
from clew.view.truncate import truncate

if TYPE_CHECKING:
    from clew.console.controller import Controller

_MARKS = {"│": "   ", "⋮": "   ..."}  # signs of the drawn console, in characters that are read aloud
_NUMBERS = tuple(str(number) for number in range(1, 1000))
_STATES = {"completed": "done", "in_progress": "in progress", "pending": "to do"}


def told(row: Row) -> str:
    """A row in words."""
    match row:
        case TableRow():
            return clean("\n".join(row.lines))
        case CompactionRow():
            return f"Compacted, from {row.before} tokens to {row.after}."
        case TodoRow():
            return f"Todo, {_STATES.get(row.status, 'to do')}: {one_line(row.text)}"
        case CallRow():
            return f"Call: {_shown_lines(row, ' (failed)' if row.failed else '')}"
        case PromptRow() | QueuedRow():
            return f"You: {_shown_lines(row)}"
        case ResultRow():
            return f"Result: {_shown_lines(row)}"
        case FailureRow():
            return f"Failed: {_shown_lines(row)}"
        case DiffRow():
            return f"Change:\n{_shown_lines(row)}"
        case PlanRow():
            return f"Plan:\n{_shown_lines(row)}"
        case ThinkingRow():
            return f"Thinking: {_shown_lines(row)}"
        case ErrorRow():
            return f"Error: {_shown_lines(row)}"
        case WarningRow():
            return f"Warning: {_shown_lines(row)}"
        case NoteRow():
            return f"Note: {_shown_lines(row)}"
        case AgentRow():
            return f"Agent: {_shown_lines(row)}"
        case ReplyRow() | InterruptRow() | SummaryRow() | MetaRow() | InputRow() | PictureRow():
            return _shown_lines(row)
        case TitleRow() | AboutRow() | DoneRow():
            return _shown_lines(row)
        case _:
            assert_never(row)


def _shown_lines(row: Row, state: str = "") -> str:
    """Return the text of a row up to its limit, and the number of lines left out."""
    shown, more = truncate(clean(row.text), row.limit)
    return f"{shown}{state}" + (f"\n{plural(more, 'more line')}" if more else "")


class PlainUi:
    """A chat in lines."""

    def __init__(self, source: TextIO, target: TextIO, pause: float = PAUSE) -> None:
        """`pause` is how long after a question a line counts as typed before the user could read it."""
        self._source = source
        self._target = target
        self._asked: asyncio.Future[str] | None = None
        self._ended = asyncio.Event()
        self._talk: Controller | None = None
        self._lines: deque[str | None] = deque()  # that were read; None is the end
        self._waits = not source.isatty()
        self._reading = False
        self._later: list[str] = []  # typed while a question was open, and no answer to it
        self._pause, self._deaf_until = pause, 0.0

    # -- the face

    def put(self, row: Row) -> None:
        if not isinstance(row, PromptRow):  # what was typed stands there already
            self._write(told(row) + "\n")

    def touch(self) -> None:
        """Nothing is drawn again, but a line may have waited for this."""
        if self._reading:
            asyncio.get_running_loop().call_soon(self._pass_on)

    async def drawn(self) -> None:
        """It is, at once."""

    def fill(self, text: str) -> None:
        if text.strip():
            self._write(f"Not said: {clean(text)}\n")

    def wipe(self) -> None:
        """What stands there stays."""

    def leave(self) -> None:
        self._ended.set()

    async def choose(self, menu: Menu) -> MenuAnswer | None:
        self._read()
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
            self._later.append(line)
            self._write("That is not one of the numbers. It is kept, and said after this question.\n")

    def _hold_lines(self, is_sudden: bool) -> None:
        """Lines that a user typed before this question was shown are no answers to it. Piped lines may be."""
        if is_sudden and not self._waits:
            self._later += [line for line in self._lines if line]
            self._lines = deque(line for line in self._lines if line is None)
            self._deaf_until = asyncio.get_running_loop().time() + self._pause

    async def _answer(self, menu: Menu, line: str) -> MenuAnswer | None:
        """The answer that a line gives; None if it gives none. Text may follow a number where the option asks for it."""
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

    async def _ask(self, words: str) -> str:
        self._write(words)
        self._asked = asyncio.get_running_loop().create_future()
        self._pass_on()
        try:
            return await self._asked
        finally:
            self._write("\n" if self._waits else "")  # nothing echoes what is piped in
            self._asked = None
            asyncio.get_running_loop().call_soon(self._pass_on)

    def _write(self, text: str) -> None:
        self._target.write(text)
        self._target.flush()

    # -- the talk

    async def run(self, talk: Controller) -> None:
        """Until the person leaves, or there is nothing more to read."""
        self._talk = talk
        self._read()
        if sys.platform != "win32":
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupt)
        talking = asyncio.create_task(talk.run())
        talking.add_done_callback(lambda _: self._ended.set())
        await self._ended.wait()
        if not talking.done():
            await talk.finish()
        await talking

    def _read(self) -> None:
        """Read lines beside the talk, from the first question on."""
        if not self._reading:
            self._reading = True
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._listen, args=(loop,), daemon=True).start()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in self._source:
            loop.call_soon_threadsafe(self._hear, line.rstrip("\r\n"))
        loop.call_soon_threadsafe(self._hear, None)

    def _hear(self, line: str | None) -> None:
        is_early = self._asked is not None and asyncio.get_running_loop().time() < self._deaf_until
        if line is not None and is_early:
            self._later += [line] if line else []
        else:
            self._lines.append(line)
        self._pass_on()

    def _pass_on(self) -> None:
        """Give the lines that were read to whoever waits for them."""
        if self._asked is None and self._talk is not None and self._later:
            self._lines = deque([*self._later, *self._lines])
            self._later.clear()
        while self._lines:
            if self._asked is not None:
                if self._asked.done():
                    return
                self._asked.set_result(self._lines[0] or "")
            elif self._talk is None or (self._waits and not self._talk.is_idle):
                return
            elif self._lines[0] is None:
                self._ended.set()
            elif self._lines[0].strip():
                self._talk.hear(Typed(self._lines[0].strip()))
            if self._lines[0] is None:
                return
            self._lines.popleft()

    def _interrupt(self) -> None:
        if self._asked is not None and not self._asked.done():
            self._asked.set_result("")
        elif self._talk is None or not self._talk.interrupt():
            self._ended.set()
