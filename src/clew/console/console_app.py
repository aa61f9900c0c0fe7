"""The console application. The prompt is drawn first, and everything that a session needs is loaded after that.

The one exception is the question whether a folder is trusted: it opens before the prompt is drawn, so that nobody types a
prompt into it.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.console.completion import NamedCommand, project_files
from clew.console.pasted_text import Pastes
from clew.console.ui import Face, Typed
from clew.system import shell_quoting
from clew.system.environment import terminal_kind, user_home
from clew.version import __version__
from clew.view.approval_text import escape_line

if TYPE_CHECKING:
    from clew.chat.session_spec import SessionSpec
    from clew.console.controller import Controller
    from clew.console.menu import Menu, MenuAnswer
    from clew.console.render import Painter
    from clew.console.screen import Screen

Make = Callable[[], "SessionSpec"]
_SETTINGS = (".claude", ".mcp.json")  # what a folder needs to bring anything along


@dataclass(frozen=True)
class ConsoleOptions:
    """How the console is to be: what is wished for is made when the prompt stands already."""

    make: Make
    cwd: Path
    claude: Path
    first: str = ""  # said at once
    is_plain: bool = False
    colour: bool = True


def run(started: ConsoleOptions) -> int:
    """The console, until the person leaves."""
    return asyncio.run(_plain(started) if started.is_plain else _drawn(started))


async def open_talk(started: ConsoleOptions, face: Face, trusts: Awaitable[MenuAnswer | None] | None) -> Controller:
    """Load what a session needs; the folder's own settings count if the user trusts them."""

    def load() -> SessionSpec:
        from clew.console import controller  # noqa: F401 - loaded here, while the prompt is already drawn

        return started.make()

    loading = asyncio.ensure_future(asyncio.to_thread(load))
    answer = await trusts if trusts is not None else None
    spec = await loading
    from clew.console.controller import Controller
    from clew.console.transcript import Transcript

    if answer is not None and answer.value:
        from clew.chat.permission.folder_trust import Trust

        Trust().give(started.cwd)
        spec = replace(spec, is_trusted=True)
    return Controller(face, spec, Transcript(face.put))


def trust_menu(cwd: Path) -> Menu | None:
    """The question whether a folder is trusted; None if it brings no settings, or is trusted already."""
    if not any((cwd / name).exists() for name in _SETTINGS):
        return None  # most folders: nothing has to be loaded
    from clew.chat.permission.folder_trust import Trust, describe_settings
    from clew.console.menu import Menu, Option, QuestionLine
    from clew.view.approval_text import escape_line

    state = Trust().state(cwd)
    found = [] if state == "trusted" else describe_settings(cwd)
    if not found:
        return None
    changed = "This has changed since you trusted the folder. " if state == "changed" else ""
    details = [
        QuestionLine(escape_line(str(cwd)), "Folder:", "fact"),
        QuestionLine(f"{changed}It brings along:", "", "note"),
    ]
    details += [QuestionLine(escape_line(phrase), "-") for phrase in found]
    options = [Option("Yes, they may run things", True), Option("No, go on without them", False)]
    return Menu("Do you trust this folder?", options, is_sudden=True, details=details, at=1)


def farewell(talk: Controller | None, session_id: str) -> None:
    if talk is not None and session_id:
        print(f"\nGo on with: {shell_quoting.clew_command('chat', '--resume', session_id)}")


# -- with a screen


class _Drawn:
    """What the keys and the drawing ask for, before and after there is somebody to talk to."""

    def __init__(self, started: ConsoleOptions) -> None:
        self.started = started
        self.talk: Controller | None = None
        self.held: list[Typed] = []
        self.screen: Screen
        self._files: list[str] | None = None
        self._listing = False
        self._recalling: asyncio.Task[None] | None = None

    def hear(self, typed: Typed) -> None:
        if self.talk is None:
            self.held.append(typed)
            self.screen.touch()
        else:
            self.talk.hear(typed)

    def waiting(self) -> list[str]:
        return self.talk.waiting if self.talk else [typed.shown for typed in self.held]

    def live(self, brush: Callable[[], Painter], room: int) -> list[str]:
        return self.talk.transcript.live(brush, room) if self.talk else []

    def status(self, width: int) -> list[tuple[str, str]]:
        from clew.console.status_bar import Status, fragments

        session = self.talk.session if self.talk else None
        verbose = self.talk.transcript.is_verbose if self.talk else False
        return fragments(Status.of(session) if session else None, width, verbose)

    def commands(self) -> list[NamedCommand]:
        if self.talk is None:
            return []
        from clew.console.local_commands import known

        return known(self.talk.session)

    def files(self) -> list[str]:
        """The files of the project; listed beside the prompt when they are first asked for."""
        if self._files is None and not self._listing:
            self._listing = True
            asyncio.get_running_loop().run_in_executor(None, self._list).add_done_callback(self._listed)
        return self._files or []

    def _list(self) -> None:
        self._files = project_files(self.started.cwd)

    def _listed(self, _: object) -> None:
        self.screen.line.refresh()
        self.screen.touch()

    def forget_files(self) -> None:
        self._files, self._listing = None, False

    def submit(self, typed: Typed) -> None:
        self.forget_files()
        self.hear(typed)

    def interrupt(self) -> bool:
        return self.talk.interrupt() if self.talk else False

    def recall(self) -> None:
        """Look for something that was typed before, and put it into the prompt."""
        from clew.console.menu import Menu, Option

        found = dict.fromkeys(reversed(self.screen.line.buffer.history.get_strings()))
        options = [Option(text, text) for text in found]
        waiting = self.screen.open(Menu("What was typed before", options, is_sought=True))
        self._recalling = asyncio.get_running_loop().create_task(self._recall(waiting))

    async def _recall(self, waiting: asyncio.Future[MenuAnswer | None]) -> None:
        chosen = await self.screen.closed(waiting)
        if chosen is not None:
            line = self.screen.line
            line.buffer.text = str(chosen.value)
            line.buffer.cursor_position = len(line.buffer.text)
            line.close_offers()

    def verbose(self) -> None:
        if self.talk:
            self.talk.transcript.is_verbose = not self.talk.transcript.is_verbose


async def _drawn(started: ConsoleOptions) -> int:
    from clew.console.input_history import Earlier
    from clew.console.input_line import InputLine
    from clew.console.key_bindings import Actions
    from clew.console.screen import Screen

    drawn = _Drawn(started)
    pastes = Pastes()
    history = Earlier(started.claude / "history.jsonl", str(started.cwd))
    line = InputLine(started.cwd, history, drawn.commands, drawn.files, pastes)
    actions = Actions(
        submit=drawn.submit,
        interrupt=drawn.interrupt,
        cycle=lambda: drawn.talk.cycle_mode() if drawn.talk else None,
        aside=lambda: drawn.talk.put_aside() if drawn.talk else None,
        rewind=lambda: drawn.talk.begin_rewind() if drawn.talk else None,
        verbose=drawn.verbose,
        recall=drawn.recall,
        leave=lambda: drawn.screen.leave(),
    )
    screen = drawn.screen = Screen(
        actions,
        line,
        live=drawn.live,
        status=drawn.status,
        waiting=drawn.waiting,
        colour=started.colour,
        term=terminal_kind(),
    )
    if started.first:
        drawn.held.append(Typed(started.first))
    _head(started)
    menu = trust_menu(started.cwd)
    trusts = screen.closed(screen.open(menu)) if menu else None  # open before anything is drawn
    working = asyncio.create_task(_work(drawn, screen, trusts))
    working.add_done_callback(lambda _: screen.leave())
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, screen.leave)
    await screen.app.run_async()
    return await _ended(drawn, working)


async def _work(drawn: _Drawn, screen: Screen, trusts: Awaitable[MenuAnswer | None] | None) -> str:
    """Load the session and talk; the id of the session that can be resumed."""
    await screen.is_drawn.wait()  # whatever is loaded now would keep the prompt waiting
    talk = drawn.talk = await open_talk(drawn.started, screen, trusts)
    for typed in drawn.held:
        talk.hear(typed)
    drawn.held.clear()
    await talk.run()
    return talk.last


async def _ended(drawn: _Drawn, working: asyncio.Task[str]) -> int:
    if not working.done():
        if drawn.talk is not None:
            drawn.talk.interrupt()
        working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    farewell(drawn.talk, drawn.talk.last if drawn.talk else "")
    return 0


def _head(started: ConsoleOptions) -> None:
    folder, home = str(started.cwd), user_home()
    short = f"~{folder[len(home) :]}" if folder.startswith(f"{home}/") else folder
    bold, plain = ("\x1b[1m", "\x1b[0m") if started.colour else ("", "")
    sys.stdout.write(f"{bold}clew {__version__}{plain}  {escape_line(short)}\n")
    sys.stdout.flush()


# -- in lines


async def _plain(started: ConsoleOptions) -> int:
    from clew.console.plain_ui import PlainUi

    face = PlainUi(sys.stdin, sys.stdout)
    menu = trust_menu(started.cwd)
    talk = await open_talk(started, face, face.choose(menu) if menu else None)
    if started.first:
        talk.hear(Typed(started.first))
    await face.run(talk)
    farewell(talk, talk.last)
    return 0
