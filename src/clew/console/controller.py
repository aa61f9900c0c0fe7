"""Run sessions one after another for a user. The controller does not know about keys or drawing."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any
from uuid import uuid4

from msgspec.structs import replace
from msgspec.structs import replace as change

from clew.chat import events
from clew.chat.config.permission_mode import Mode
from clew.chat.cost import ConversationCost
from clew.chat.events import Event
from clew.chat.session_factory import ChatSession, open_session
from clew.chat.session_spec import SessionSpec
from clew.chat.store.resume_session import find, latest
from clew.console import bang_command, local_commands
from clew.console.ask_user_dialog import UserDialog
from clew.console.rewind_dialog import rewind
from clew.console.scrollback import read_recent_rows
from clew.console.send_prompt import append_to_history, build_prompt, is_prompt
from clew.console.transcript import Transcript
from clew.console.ui import ConsoleUi, UserInput
from clew.errors import ClewError
from clew.view.row_types import AboutRow, ErrorRow, PromptRow, Row
from clew.wire.layout import Tree

LEAVE = "/exit"
_CYCLE: tuple[Mode, ...] = ("default", "acceptEdits", "plan")


class Controller:
    """Dispatches typed lines to the engine, and events of the engine to the user interface."""

    def __init__(self, ui: ConsoleUi, spec: SessionSpec, transcript: Transcript) -> None:
        self.ui = ui
        self.transcript = transcript
        self.spec = spec
        self.session: ChatSession | None = None
        self.last = ""  # id of the last session with a turn
        self.is_busy = False
        self.observe: Callable[[Event], None] = lambda event: None  # is told all events, for the status line
        self._has_opened = False
        self._is_reopening = False  # the previous session, because another one could not be opened
        self._previous_id = ""  # id of the previous session
        self._input_queue: deque[UserInput] = deque()
        self._typed: dict[str, UserInput] = {}  # by uuid: the lines whose prompts wait in the queue of the engine
        self._queueing = asyncio.Lock()  # prompts are queued in the order in which they were typed
        self._cost = ConversationCost()  # of all sessions of this console
        self._input_arrived = asyncio.Event()
        self._stopped = asyncio.Event()  # stops commands that are not turns
        self._in_turn = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._dialog = UserDialog(ui, lambda: self.session, transcript, self._stop_turn, lambda: self.spec.is_trusted)

    # -- sessions

    async def run(self) -> None:
        """Run until the user leaves. Raises ClewError if there is no session left that can be opened."""
        next_options: SessionSpec | None = self.spec
        try:
            while next_options is not None:
                before, self.spec = self.spec, next_options
                try:
                    next_options = await self._run_session()
                except ClewError as error:
                    if not self._has_opened or self._is_reopening:
                        raise
                    self.ui.print_row(ErrorRow(f"{error} {error.hint}".strip()))
                    next_options = self._previous_session(before)
                    self._is_reopening = True
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._dialog.close()

    async def _run_session(self) -> SessionSpec | None:
        """Run one session. Return the options of the next one; None to leave."""
        await self._show_history(self.spec)
        async with open_session(replace(self.spec, cost=self._cost), self._handle_event) as opened:
            self._has_opened = True
            self._is_reopening = False
            self.session = opened
            self.transcript.cwd = str(self.spec.cwd)
            self.transcript.todos = opened.engine.conversation.state.todos
            self.ui.request_redraw()
            try:
                return await self._process_input(opened)
            finally:
                self.session = None
                conversation = opened.engine.conversation
                self._previous_id = conversation.session_id if conversation.journal.path.exists() else ""

    def _previous_session(self, spec: SessionSpec) -> SessionSpec:
        """Return the options to reopen the previous session when another one cannot be opened."""
        return replace(spec, resume=self._previous_id, is_latest=False, is_fork=False, at="", session_id="", title="")

    async def finish(self) -> None:
        """Leave when everything that was typed is done."""
        self._enqueue(UserInput(LEAVE))

    async def _show_history(self, spec: SessionSpec) -> None:
        """Show the last turns of a resumed session, before all of it has been read."""
        is_here = spec.is_fork and self._has_opened  # a copy of what is already on the screen
        if is_here or not (spec.resume or spec.is_latest):
            return

        def rows() -> list[Row]:
            tree = Tree(spec.claude)
            file = find(tree, spec.resume) if spec.resume else latest(tree, spec.cwd)
            return list(read_recent_rows(file.path))

        with suppress(ClewError, OSError):  # opening the session reports the error
            for row in await asyncio.to_thread(rows):
                self.ui.print_row(row)
            await self.ui.wait_until_drawn()

    async def _process_input(self, session: ChatSession) -> SessionSpec | None:
        """Process typed lines. Return the options of the next session; None to leave."""
        while True:
            typed = await self._next_input(session.engine.task_ended)
            self.is_busy = True
            try:
                done = await self._execute(session, typed) if typed is not None else await self._report_tasks(session)
            except ClewError as error:
                self.ui.print_row(ErrorRow(f"{error} {error.hint}".strip()))
            except OSError as error:
                self.ui.print_row(ErrorRow(f"{error.filename or ''} {error.strerror or error}".strip()))
            else:
                if isinstance(done, local_commands.Leave):
                    return None
                if isinstance(done, local_commands.SessionRequest):
                    return done.spec
            finally:
                self.is_busy = False
                self.transcript.end()
                self._stopped.clear()
                self.ui.request_redraw()

    async def _next_input(self, task_ended: asyncio.Event) -> UserInput | None:
        """Return the next typed line; None if the model must be told that a background task has ended."""
        while not self._input_queue:
            if task_ended.is_set():
                return None
            self._input_arrived.clear()
            waits = {asyncio.ensure_future(event.wait()) for event in (task_ended, self._input_arrived)}
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
        return self._input_queue.popleft()

    def _enqueue(self, typed: UserInput) -> None:
        self._input_queue.append(typed)
        self._input_arrived.set()

    # -- input

    def handle_input(self, typed: UserInput) -> None:
        """Handle a typed line: immediately if possible, otherwise when its turn comes."""
        if self.spec.is_kept:
            append_to_history(typed, self.spec, self.session.engine.conversation.session_id if self.session else "")
        command, session = typed.line, self.session if self.is_busy else None
        if session is not None and command.command in local_commands.IMMEDIATE:
            self._start_task(self._run_immediately(session, command.command, command.arguments))
        elif session is not None and self._in_turn and is_prompt(typed) and not self._input_queue:
            self._start_task(self._queue_prompt(session, typed))
        else:  # what follows a queued command waits behind it
            self._enqueue(typed)
        self.ui.request_redraw()

    @property
    def is_idle(self) -> bool:
        """Return True if nothing is running and nothing is queued."""
        return self.session is not None and not self.is_busy and not self._input_queue

    @property
    def queued_lines(self) -> list[str]:
        """The typed lines that were not sent yet."""
        return [typed.shown for _, typed in self._queued]

    @property
    def _queued(self) -> list[tuple[str, UserInput]]:
        """The typed lines that were not sent yet, in order, with the uuid of those that the engine has."""
        queue = self.session.engine.conversation.queue if self.session else ()
        prompts = [prompt for prompt in queue if not prompt.task]
        queued = [(prompt.uuid, self._typed.get(prompt.uuid) or UserInput(prompt.text)) for prompt in prompts]
        return [*queued, *(("", typed) for typed in self._input_queue)]

    def take_back_last(self) -> str:
        """Take the newest queued line out of the queue, to be edited; "" if there is none."""
        if not self._queued:
            return ""
        uuid, typed = self._queued[-1]
        if not uuid:
            self._input_queue.pop()
        elif self.session is not None:
            self.session.engine.conversation.queue.cancel(uuid)
            self._typed.pop(uuid, None)
        self.ui.request_redraw()
        return typed.shown

    def _take_back_all(self) -> str:
        """Empty the queue after an interrupt: prompts are returned to be edited, commands are named and not run."""
        lines = [typed for _, typed in self._queued]
        if self.session is not None:
            self.session.engine.conversation.queue.take_back_prompts()
        self._typed.clear()
        self._input_queue.clear()
        leaving = [typed for typed in lines if typed.full_text == LEAVE]
        self._input_queue.extend(leaving)
        commands = [typed.shown for typed in lines if not is_prompt(typed) and typed not in leaving]
        if commands:
            self.ui.print_row(AboutRow(f"Not run: {', '.join(commands)}"))
        return "\n".join(typed.shown for typed in lines if is_prompt(typed))

    async def _run_immediately(self, session: ChatSession, name: str, arguments: str) -> None:
        self.ui.print_row(PromptRow(f"/{name} {arguments}".strip()))
        context = local_commands.CommandContext(session, self.ui, self.spec, arguments)
        try:
            await local_commands.COMMANDS[name].run(context)
        except ClewError as error:
            self.ui.print_row(ErrorRow(f"{error} {error.hint}".strip()))

    async def _queue_prompt(self, session: ChatSession, typed: UserInput) -> None:
        async with self._queueing:
            try:
                prompt = change(await build_prompt(typed, session), uuid=str(uuid4()))
            except ClewError as error:
                self.ui.print_row(ErrorRow(f"{error} {error.hint}".strip()))
                return
            if self._in_turn and self.session is session:
                self._typed[prompt.uuid] = typed
                session.engine.queue(prompt)
            else:
                self._enqueue(typed)
        self.ui.request_redraw()

    async def _execute(self, session: ChatSession, typed: UserInput) -> local_commands.CommandResult:
        text = typed.full_text
        if text == LEAVE:
            return local_commands.Leave()
        if text == "/rewind":
            await self._rewind(session)
            return None
        self.ui.print_row(PromptRow(typed.shown))
        if text.startswith("!"):
            if text[1:].strip():
                conversation = session.engine.conversation
                await bang_command.run_bang_command(
                    text[1:].strip(), conversation, self.transcript, self._stopped, self.ui.request_redraw
                )
            return None
        if text in ("exit", "quit", ":q"):
            return local_commands.Leave()
        command = typed.line
        if command.command in local_commands.COMMANDS:
            done = await local_commands.COMMANDS[command.command].run(
                local_commands.CommandContext(session, self.ui, self.spec, command.arguments)
            )
            if not isinstance(done, local_commands.PromptRequest):
                return done
            await self._run_turn(session, session.engine.submit(done.text), typed.shown)
            return None
        if command.command and command.command != "compact" and command.command not in session.skills:
            self.ui.print_row(ErrorRow(f"There is no command /{command.command}. See /help."))
            return None
        await self._send(session, typed)
        return None

    async def _report_tasks(self, session: ChatSession) -> local_commands.CommandResult:
        """Run a turn without a prompt, because a background task has ended."""
        await self._run_turn(session, session.engine.report_tasks(), "")
        return None

    async def _send(self, session: ChatSession, typed: UserInput) -> None:
        """Run one turn."""
        engine, command = session.engine, typed.line
        if command.command == "compact":
            await self._run_turn(session, engine.run_compact(command.arguments), typed.shown, "Compacting")
        else:
            prompt = await build_prompt(typed, session)
            await self._run_turn(session, engine.submit(prompt), typed.shown)

    async def _run_turn(
        self,
        session: ChatSession,
        running: Coroutine[Any, Any, events.TurnFinished | None],
        shown: str,
        doing: str = "Waiting for the model",
    ) -> None:
        conversation = session.engine.conversation
        self._in_turn = True
        self._dialog.begin_turn()
        self.transcript.begin(doing)
        self.ui.request_redraw()
        try:
            finished = await running
        finally:
            self._in_turn = False
            self.last = conversation.session_id if self.spec.is_kept else ""
        if finished is not None and finished.is_interrupted:
            unsent = self._take_back_all()
            self.ui.fill_prompt(unsent if unsent or self.transcript.has_spoken else shown)

    # -- keys

    def interrupt(self) -> bool:
        """Interrupt the running turn or command; return False if there is none."""
        if self._in_turn:
            self._stop_turn()
            return True
        if self.is_busy and self.transcript.started_at is not None:
            self._stopped.set()
            return True
        return False

    def _stop_turn(self) -> None:
        if self.session is not None and self._in_turn:
            self.session.engine.interrupt()

    def put_aside(self) -> None:
        if self.session is not None and self._in_turn:
            self.session.engine.send_to_background()

    def cycle_mode(self) -> None:
        if self.session is None:
            return
        may_bypass = self.spec.mode == "bypassPermissions"
        modes: tuple[Mode, ...] = (*_CYCLE, "bypassPermissions") if may_bypass else _CYCLE
        now = self.session.engine.conversation.mode
        at = modes.index(now) if now in modes else -1
        self.session.engine.use_mode(modes[(at + 1) % len(modes)])
        self.ui.request_redraw()

    def begin_rewind(self) -> None:
        if self.session is not None and not self.is_busy:
            self._enqueue(UserInput("/rewind"))

    async def _rewind(self, session: ChatSession) -> None:
        text = await rewind(session, self.ui)
        if text is not None:
            self.ui.fill_prompt(text)

    # -- events

    def _handle_event(self, event: Event) -> None:
        if isinstance(event, events.PermissionRequested | events.QuestionRequested):
            self._dialog.add(event)
        else:
            self.transcript.handle_event(event)
        self.observe(event)
        self.ui.request_redraw()

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
