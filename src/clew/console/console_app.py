"""Run the console. The prompt is drawn first; everything a session needs is loaded afterwards.

The question whether a folder is trusted is the exception: it opens before the prompt is drawn, so that no one types
a prompt into it.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.console.pasted_text import Pastes
from clew.console.prompt_completion import NamedCommand, project_files
from clew.console.ui import ConsoleUi, UserInput
from clew.system import shell_quoting
from clew.system.environment import terminal_kind
from clew.version import __version__
from clew.view.approval_text import escape_line
from clew.view.sanitize import short_path

if TYPE_CHECKING:
    from clew.chat.session_factory import ChatSession
    from clew.chat.session_spec import SessionSpec
    from clew.console.controller import Controller
    from clew.console.menu import Menu, MenuAnswer
    from clew.console.render import RowRenderer
    from clew.console.status_command import StatusCommand

Report = Callable[[str], None]
LoadOptions = Callable[[Report], "SessionSpec"]
_SETTINGS = (".claude", ".mcp.json")  # a folder without these has no settings


class ConsoleOptions(Struct, frozen=True):
    """The options of a console. `make` loads the session options and reports what the user should know about them; it is
    called when the prompt is visible, so nothing may be written to the terminal.
    """

    make: LoadOptions
    cwd: Path
    claude: Path
    first: str = ""  # sent immediately
    is_plain: bool = False
    colour: bool = True


def run_console(options: ConsoleOptions) -> int:
    """Run the console until the user leaves."""
    return asyncio.run(_run_plain(options) if options.is_plain else _run_screen(options))


async def open_controller(
    options: ConsoleOptions, ui: ConsoleUi, trusts: Awaitable[MenuAnswer | None] | None
) -> Controller:
    """Load what a session needs. The settings of the folder apply if the user trusts it."""

    notices: list[str] = []

    def load() -> SessionSpec:
        from clew.console import controller  # noqa: F401 - loaded here, while the prompt is already drawn

        notices.clear()
        return options.make(notices.append)

    loading = asyncio.ensure_future(asyncio.to_thread(load))
    answer = await trusts if trusts is not None else None
    if answer is not None and answer.value:
        from clew.chat.permission.folder_trust import Trust

        Trust().give(options.cwd)
        await asyncio.gather(loading, return_exceptions=True)
        loading = asyncio.ensure_future(asyncio.to_thread(load))  # again, with the settings of the folder
    spec = await loading
    from clew.console.controller import Controller
    from clew.console.transcript import Transcript
    from clew.view.row_types import WarningRow

    for text in notices:
        ui.print_row(WarningRow(text.removeprefix("clew: ")))
    return Controller(ui, spec, Transcript(ui.print_row, has_live_lines=not options.is_plain))


def trust_menu(cwd: Path) -> Menu | None:
    """Return the question whether a folder is trusted; None if it has no settings, or is already trusted."""
    if not any((cwd / name).exists() for name in _SETTINGS):
        return None  # most folders: no module has to be imported
    from clew.chat.permission.folder_trust import Trust, describe_settings
    from clew.console.menu import Menu, Option, QuestionLine
    from clew.view.approval_text import escape_line

    state = Trust().state(cwd)
    phrases = [] if state == "trusted" else describe_settings(cwd)
    if not phrases:
        return None
    changed = "This has changed since you trusted the folder. " if state == "changed" else ""
    details = [
        QuestionLine(escape_line(str(cwd)), "Folder:", "fact"),
        QuestionLine(f"{changed}It contains:", "", "note"),
    ]
    details += [QuestionLine(escape_line(phrase), "-") for phrase in phrases]
    options = [Option("Yes, use these settings", True), Option("No, continue without them", False)]
    return Menu("Do you trust this folder?", options, is_sudden=True, details=details, at=1)


def print_resume_hint(session_id: str) -> None:
    if session_id:
        print(f"\nResume with: {shell_quoting.clew_command('chat', '--resume', session_id)}")


# -- on a screen


class _ScreenConsole:
    """Connects keys and drawing with the controller, which is loaded while the user may already type."""

    def __init__(self, started: ConsoleOptions) -> None:
        from clew.console.input_history import ProjectHistory
        from clew.console.key_bindings import Actions
        from clew.console.prompt_editor import PromptEditor
        from clew.console.screen import Screen

        self.started = started
        self.controller: Controller | None = None
        self.early_lines = [UserInput(started.first)] if started.first else []
        self._files: list[str] | None = None
        self._status_command: StatusCommand | None = None
        self._listing = False
        self._recall_task: asyncio.Task[None] | None = None
        history = ProjectHistory(started.claude / "history.jsonl", str(started.cwd))
        line = PromptEditor(started.cwd, history, self.commands, self.files, Pastes())
        actions = Actions(
            submit=self.submit,
            interrupt=self.interrupt,
            cycle=lambda: self.controller.cycle_mode() if self.controller else None,
            aside=lambda: self.controller.put_aside() if self.controller else None,
            rewind=lambda: self.controller.begin_rewind() if self.controller else None,
            verbose=self.verbose,
            recall=self.recall,
            unqueue=lambda: self.controller.take_back_last() if self.controller else "",
            leave=lambda: self.screen.leave(),
        )
        self.screen = Screen(
            actions,
            line,
            live_lines=self.live_lines,
            status=self.status,
            queued=self.queued_lines,
            tasks=self.task_lines,
            colour=started.colour,
            term=terminal_kind(),
        )

    async def run_controller(self, trusts: Awaitable[MenuAnswer | None] | None) -> None:
        """Load the session and run it."""
        await self.screen.is_drawn.wait()  # loading anything earlier would delay the prompt
        self.controller = controller = await open_controller(self.started, self.screen, trusts)
        for typed in self.early_lines:
            controller.handle_input(typed)
        self.early_lines.clear()
        await controller.run()

    async def finish(self, working: asyncio.Task[None]) -> None:
        """Interrupt what still runs, wait for it, and print how the session can be resumed."""
        if not working.done():
            self.interrupt()
            working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        if self.controller is not None:
            print_resume_hint(self.controller.last)

    def handle_input(self, typed: UserInput) -> None:
        if self.controller is None:
            self.early_lines.append(typed)
            self.screen.request_redraw()
        else:
            self.controller.handle_input(typed)

    def queued_lines(self) -> list[str]:
        return self.controller.queued_lines if self.controller else [typed.shown for typed in self.early_lines]

    def live_lines(self, get_renderer: Callable[[], RowRenderer], room: int) -> list[str]:
        return self.controller.transcript.live_lines(get_renderer, room) if self.controller else []

    def task_lines(self, width: int) -> list[str]:
        """Return the subagents and commands that run in the background."""
        if self.controller is None or self.controller.session is None:
            return []
        tasks = self.controller.session.engine.tasks.values()
        commands = [task.description for task in tasks if task.kind == "local_bash" and task.status == "running"]
        return self.controller.transcript.task_lines(commands, width)

    def status(self, width: int) -> list[tuple[str, str]]:
        from clew.console.status_bar import Status, status_fragments

        if self.screen.line.buffer.text.startswith("!"):
            return [("class:status.mode", "  runs in the shell, and the model sees the output"[: width - 1])]
        session = self.controller.session if self.controller else None
        verbose = self.controller.transcript.is_verbose if self.controller else False
        fragments = status_fragments(Status.of(session) if session else None, width, verbose)
        return [*self._status_command_output(session, width), *fragments]

    def _status_command_output(self, session: ChatSession | None, width: int) -> list[tuple[str, str]]:
        """Return what the status line command of the user printed; it is run again if something has changed."""
        if session is None or self.controller is None or not session.settings.merged.get("statusLine"):
            return []
        from clew.console.status_command import StatusCommand

        if self._status_command is None or self._status_command.session is not session:
            if self._status_command is not None:
                self._status_command.close()
            self._status_command = StatusCommand(session, self.screen.request_redraw)
            self.controller.observe = self._status_command.observe
        self._status_command.check()
        return self._status_command.fragments(width)

    def commands(self) -> list[NamedCommand]:
        if self.controller is None:
            return []
        from clew.console.local_commands import list_commands

        return list_commands(self.controller.session)

    def files(self) -> list[str]:
        """Return the files of the project; they are listed in a thread when first needed."""
        if self._files is None and not self._listing:
            self._listing = True
            asyncio.get_running_loop().run_in_executor(None, self._list).add_done_callback(self._files_listed)
        return self._files or []

    def _list(self) -> None:
        self._files = project_files(self.started.cwd)

    def _files_listed(self, _: object) -> None:
        self.screen.line.refresh()
        self.screen.request_redraw()

    def forget_files(self) -> None:
        self._files, self._listing = None, False

    def submit(self, typed: UserInput) -> None:
        self.forget_files()
        self.handle_input(typed)

    def interrupt(self) -> bool:
        return self.controller.interrupt() if self.controller else False

    def recall(self) -> None:
        """Let the user search the history, and put the chosen prompt into the input line."""
        from clew.console.menu import Menu, Option

        prompts = dict.fromkeys(reversed(self.screen.line.buffer.history.get_strings()))
        options = [Option(text, text) for text in prompts]
        waiting = self.screen.open(Menu("Earlier prompts", options, is_sought=True))
        self._recall_task = asyncio.get_running_loop().create_task(self._recall(waiting))

    async def _recall(self, waiting: asyncio.Future[MenuAnswer | None]) -> None:
        chosen = await self.screen.wait_for_answer(waiting)
        if chosen is not None:
            line = self.screen.line
            line.buffer.text = str(chosen.value)
            line.buffer.cursor_position = len(line.buffer.text)
            line.close_completions()

    def verbose(self) -> None:
        if self.controller:
            self.controller.transcript.toggle_verbose()


async def _run_screen(options: ConsoleOptions) -> int:
    console = _ScreenConsole(options)
    screen = console.screen
    _print_header(options)
    menu = trust_menu(options.cwd)
    trusts = screen.wait_for_answer(screen.open(menu)) if menu else None  # open before anything is drawn
    working = asyncio.create_task(console.run_controller(trusts))
    working.add_done_callback(lambda _: screen.leave())
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, screen.leave)
    await screen.app.run_async()
    await console.finish(working)
    return 0


def _print_header(options: ConsoleOptions) -> None:
    bold, plain = ("\x1b[1m", "\x1b[0m") if options.colour else ("", "")
    sys.stdout.write(f"{bold}clew {__version__}{plain}  {escape_line(short_path(str(options.cwd)))}\n")
    sys.stdout.flush()


# -- plain lines


async def _run_plain(options: ConsoleOptions) -> int:
    from clew.console.plain_ui import PlainUi

    ui = PlainUi(sys.stdin, sys.stdout)
    menu = trust_menu(options.cwd)
    controller = await open_controller(options, ui, ui.choose(menu) if menu else None)
    if options.first:
        controller.handle_input(UserInput(options.first))
    await ui.run(controller)
    print_resume_hint(controller.last)
    return 0
