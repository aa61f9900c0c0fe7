"""The talk: one session after another, spoken to by a person. It knows neither keys nor drawing."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

from clew.chat import events
from clew.chat.config.permission_mode import Mode
from clew.chat.events import Event
from clew.chat.session_factory import ChatSession, open_session
from clew.chat.session_spec import SessionSpec
from clew.chat.store.resume_session import find, latest
from clew.console import bang_command, local_commands
from clew.console.ask_user_dialog import UserDialog
from clew.console.rewind_dialog import rewind
from clew.console.scrollback import newest
from clew.console.send_prompt import note_down, prompt_of
from clew.console.transcript import Transcript
from clew.console.ui import Face, Typed
from clew.errors import ClewError
from clew.view.row_types import ErrorRow, PromptRow, Row
from clew.wire.layout import Tree

_CYCLE: tuple[Mode, ...] = ("default", "acceptEdits", "plan")


class Controller:
    """Everything behind the prompt."""

    def __init__(self, face: Face, spec: SessionSpec, transcript: Transcript) -> None:
        self.face = face
        self.transcript = transcript
        self.spec = spec
        self.session: ChatSession | None = None
        self.last = ""  # the session that something was said in
        self.is_busy = False
        self._has_opened = False
        self._left = ""  # the session that was open before
        self._inbox: deque[Typed] = deque()
        self._arrived = asyncio.Event()
        self._stopped = asyncio.Event()  # for what is no turn
        self._in_turn = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._asker = UserDialog(face, lambda: self.session, transcript, self._stop_turn, lambda: self.spec.is_trusted)

    # -- sessions

    async def run(self) -> None:
        """Until the person leaves. Raises ClewError if the first session cannot be opened."""
        wanted: SessionSpec | None = self.spec
        try:
            while wanted is not None:
                before, self.spec = self.spec, wanted
                try:
                    wanted = await self._hold()
                except ClewError as error:
                    if not self._has_opened:
                        raise
                    self.face.put(ErrorRow(f"{error} {error.hint}".strip()))
                    wanted = self._back(before)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._asker.close()

    async def _hold(self) -> SessionSpec | None:
        """One session, until another one is wanted; None to leave."""
        await self._show_again(self.spec)
        async with open_session(self.spec, self._tell) as opened:
            self._has_opened = True
            self.session = opened
            self.transcript.cwd = str(self.spec.cwd)
            self.face.touch()
            try:
                return await self._converse()
            finally:
                self.session = None
                dialogue = opened.engine.conversation
                self._left = dialogue.session_id if dialogue.journal.path.exists() else ""

    def _back(self, spec: SessionSpec) -> SessionSpec:
        """The session that was left for one that cannot be opened."""
        return replace(spec, resume=self._left, is_latest=False, is_fork=False, at="", session_id="", title="")

    async def finish(self) -> None:
        """Leave, when what was typed is done."""
        self._post(Typed("/exit"))

    async def _show_again(self, spec: SessionSpec) -> None:
        """What was said last in a session that is gone on with: seen before all of it has been read."""
        is_here = spec.is_fork and self._has_opened  # a copy of what stands above
        if is_here or not (spec.resume or spec.is_latest):
            return

        def rows() -> list[Row]:
            tree = Tree(spec.claude)
            file = find(tree, spec.resume) if spec.resume else latest(tree, spec.cwd)
            return list(newest(file.path))

        with suppress(ClewError, OSError):  # opening it says what is wrong
            for row in await asyncio.to_thread(rows):
                self.face.put(row)
            await self.face.drawn()

    async def _converse(self) -> SessionSpec | None:
        """Say what is typed, until another session is wanted; None to leave."""
        while True:
            typed = await self._next()
            self.is_busy = True
            try:
                done = await self._do(typed) if typed is not None else await self._heed()
            except ClewError as error:
                self.face.put(ErrorRow(f"{error} {error.hint}".strip()))
            except OSError as error:
                self.face.put(ErrorRow(f"{error.filename or ''} {error.strerror or error}".strip()))
            else:
                if isinstance(done, local_commands.Leave):
                    return None
                if isinstance(done, local_commands.Open):
                    return done.spec
            finally:
                self.is_busy = False
                self.transcript.end()
                self._stopped.clear()
                self.face.touch()

    async def _next(self) -> Typed | None:
        """What was typed; None if the model is to hear what ended in the background."""
        assert self.session is not None
        news = self.session.engine.task_ended
        while not self._inbox:
            if news.is_set():
                return None
            self._arrived.clear()
            waits = {asyncio.ensure_future(each.wait()) for each in (news, self._arrived)}
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
        return self._inbox.popleft()

    def _post(self, typed: Typed) -> None:
        self._inbox.append(typed)
        self._arrived.set()

    # -- what is typed

    def hear(self, typed: Typed) -> None:
        """Take what was typed: at once if it can be, else when its turn comes."""
        if self.spec.is_kept:
            note_down(typed, self.spec, self.session.engine.conversation.session_id if self.session else "")
        line = typed.line
        if self._in_turn and line.command in local_commands.AT_ONCE and self.session is not None:
            self._keep(self._at_once(line.command, line.arguments))
        elif self._in_turn and not line.command and not typed.meant.startswith("!") and self.session is not None:
            self._keep(self._queue(typed))
        else:
            self._post(typed)
        self.face.touch()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being done, and nothing waits to be."""
        return self.session is not None and not self.is_busy and not self._inbox

    @property
    def waiting(self) -> list[str]:
        """What was typed and has not been heard yet."""
        queue = self.session.engine.conversation.queue if self.session else ()
        queued = [said.text for said in queue if not said.task]
        return [*queued, *(typed.shown for typed in self._inbox)]

    async def _at_once(self, name: str, arguments: str) -> None:
        assert self.session is not None
        self.face.put(PromptRow(f"/{name} {arguments}".strip()))
        await local_commands.COMMANDS[name].run(local_commands.At(self.session, self.face, self.spec, arguments))

    async def _queue(self, typed: Typed) -> None:
        session = self.session
        assert session is not None
        prompt = await prompt_of(typed, session)
        if self._in_turn and self.session is session:
            session.engine.queue(prompt)
        else:
            self._post(typed)
        self.face.touch()

    async def _do(self, typed: Typed) -> local_commands.Done:
        assert self.session is not None
        text = typed.meant
        if text == "/exit":
            return local_commands.Leave()
        if text == "/rewind":
            await self.rewind()
            return None
        self.face.put(PromptRow(typed.shown))
        if text.startswith("!"):
            if text[1:].strip():
                dialogue = self.session.engine.conversation
                await bang_command.run(text[1:].strip(), dialogue, self.transcript, self._stopped, self.face.touch)
            return None
        if text in ("exit", "quit", ":q"):
            return local_commands.Leave()
        line = typed.line
        if line.command in local_commands.COMMANDS:
            return await local_commands.COMMANDS[line.command].run(
                local_commands.At(self.session, self.face, self.spec, line.arguments)
            )
        if line.command and line.command != "compact" and line.command not in self.session.skills:
            self.face.put(ErrorRow(f"There is no command /{line.command}. See /help."))
            return None
        await self._say(typed)
        return None

    async def _heed(self) -> local_commands.Done:
        """A turn that nobody asked for: something ended in the background."""
        assert self.session is not None
        await self._turn(self.session.engine.report_tasks(), "")
        return None

    async def _say(self, typed: Typed) -> None:
        """One turn."""
        assert self.session is not None
        engine = self.session.engine
        line = typed.line
        if line.command == "compact":
            await self._turn(engine.run_compact(line.arguments), typed.shown, "Compacting")
        else:
            prompt = await prompt_of(typed, self.session)
            await self._turn(engine.submit(prompt), typed.shown)

    async def _turn(
        self, running: Coroutine[Any, Any, events.TurnFinished | None], shown: str, doing: str = "Waiting for the model"
    ) -> None:
        assert self.session is not None
        dialogue = self.session.engine.conversation
        self._in_turn = True
        self._asker.begin_turn()
        self.transcript.begin(doing)
        self.face.touch()
        try:
            finished = await running
        finally:
            self._in_turn = False
            self.last = dialogue.session_id if self.spec.is_kept else ""
        if finished is not None and finished.is_interrupted:
            taken = [said.text for said in dialogue.take_back_prompts()]
            self.face.fill("\n".join(taken) if taken or self.transcript.has_spoken else shown)

    # -- keys

    def interrupt(self) -> bool:
        """Break off what runs; whether there was something."""
        if self._in_turn:
            self._stop_turn()
            return True
        if self.is_busy and self.transcript.began is not None:
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
        self.face.touch()

    def begin_rewind(self) -> None:
        if self.session is not None and not self.is_busy:
            self._post(Typed("/rewind"))

    async def rewind(self) -> None:
        assert self.session is not None
        text = await rewind(self.session, self.face)
        if text is not None:
            self.face.fill(text)

    # -- what is heard of the engine

    def _tell(self, told: Event) -> None:
        if isinstance(told, events.PermissionRequested | events.QuestionRequested):
            self._asker.take(told)
        else:
            self.transcript.hear(told)
        self.face.touch()

    def _keep(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
