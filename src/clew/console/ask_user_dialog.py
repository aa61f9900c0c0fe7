"""Ask the user, one question at a time: for a permission, or for answers to the model's questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from clew.chat import events
from clew.chat.config.settings import Scope
from clew.chat.permission.decision import Decision
from clew.chat.session_factory import ChatSession
from clew.console import describe_call
from clew.console.menu import Menu, MenuAnswer, Option
from clew.console.questionnaire import ask_questions
from clew.console.transcript import Transcript
from clew.console.ui import ConsoleUi
from clew.view.approval_text import escape_line
from clew.view.row_types import AboutRow

YES, ALWAYS, MODE, NO = "yes", "always", "mode", "no"
_EDITS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_Request = events.PermissionRequested | events.QuestionRequested


class UserDialog:
    """Shows the questions of one session to the user."""

    def __init__(
        self,
        ui: ConsoleUi,
        session: Callable[[], ChatSession | None],
        transcript: Transcript,
        stop: Callable[[], None],
        is_trusted: Callable[[], bool],
    ) -> None:
        self._ui = ui
        self._session = session
        self._transcript = transcript
        self._stop = stop
        self._is_trusted = is_trusted
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: list[_Request] = []  # questions without an answer
        self._asked_calls: set[str] = set()  # calls with a question since there was none
        self._menu: Menu | None = None

    def add(self, request: _Request) -> None:
        """Queue a question of the engine."""
        task = asyncio.get_running_loop().create_task(self._ask(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._open.append(request)
        self._update_count()

    def begin_turn(self) -> None:
        """Count the questions of a new turn from one."""
        self._asked_calls.clear()

    async def _ask(self, request: _Request) -> None:
        try:
            async with self._lock:
                if isinstance(request, events.PermissionRequested):
                    await self._ask_permission(request)
                else:
                    await self._ask_questions(request)
        finally:
            self._open.remove(request)
            self._asked_calls.add(request.call_id)
            if not self._pending():
                self._asked_calls.clear()
            self._update_count()

    def _pending(self) -> int:
        """Return the number of open questions, and of calls of the same reply that will need a permission."""
        session = self._session()
        asked = self._asked_calls | {request.call_id for request in self._open}
        later = 0
        if session is not None:
            conversation = session.engine.conversation
            later = sum(
                call.started_at is None
                and call_id not in asked
                and session.permissions.decide(call.name, call.input, conversation.state.cwd, conversation.mode).kind
                == "ask"
                for call_id, call in self._transcript.running.items()
            )
        return len(self._open) + later

    def _update_count(self) -> None:
        """Show in the open question which one it is of how many."""
        if self._menu is not None:
            total = len(self._asked_calls) + self._pending()
            self._menu.count = f"{len(self._asked_calls) + 1} of {total}" if total > 1 else ""
            self._ui.request_redraw()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- permissions

    async def _ask_permission(self, request: events.PermissionRequested) -> None:
        session = self._session()
        if request.answer.done() or session is None:
            return
        mode = request.mode if request.asker else session.engine.conversation.mode
        current_decision = session.permissions.decide(request.name, request.input, Path(request.folder), mode)
        if (
            current_decision.kind == "allow" and not request.decision.rule
        ):  # an answer given meanwhile covers this call too
            _set_result(request.answer, Decision("allow"))
            return
        menu = permission_menu(request, session.engine.conversation.mode, is_trusted=self._is_trusted())
        answer = await self._answer(menu, request.answer)
        if not request.answer.done():
            _set_result(request.answer, self._decision(answer, request, session))

    def _decision(
        self, answer: MenuAnswer | None, request: events.PermissionRequested, session: ChatSession
    ) -> Decision:
        chosen = answer.value if answer else None
        text = answer.text if answer else ""
        if chosen == NO and text:
            return Decision("deny", message=f"The user declined this call, and says: {text}")
        if chosen is None or chosen == NO:
            self._stop()
            return Decision("deny")
        if chosen == ALWAYS:
            scope: Scope = "session" if is_for_session(request.name, self._is_trusted()) else "local"
            for rule in request.decision.suggestions:
                session.permissions.remember(rule, scope)
            rules = ", ".join(map(escape_line, request.decision.suggestions))
            where = "in this session" if scope == "session" else "in this project"
            self._ui.print_row(AboutRow(f"Allowed from now on {where}: {rules}"))
        if chosen == MODE:
            if request.name == "ExitPlanMode":
                session.engine.conversation.mode_before = "acceptEdits"
            else:
                session.engine.use_mode("acceptEdits")
        if text:
            session.engine.queue(text)
        return Decision("allow")

    async def _answer(self, menu: Menu, withdrawn: asyncio.Future[Any]) -> MenuAnswer | None:
        """Return the user's answer; None also if the question was withdrawn."""
        self._transcript.is_asking = True
        self._menu = menu
        self._update_count()
        choosing = asyncio.ensure_future(self._ui.choose(menu))
        waits: set[asyncio.Future[Any]] = {choosing, withdrawn}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._transcript.is_asking = False
            self._menu = None
            if not choosing.done():
                choosing.cancel()
                with suppress(asyncio.CancelledError):
                    await choosing
        return choosing.result() if choosing.done() and not choosing.cancelled() else None

    # -- questions

    async def _ask_questions(self, request: events.QuestionRequested) -> None:
        async def ask(menu: Menu) -> MenuAnswer | None:
            return await self._answer(menu, request.answer)

        answers = await ask_questions(request.questions, bool(request.agent), ask)
        if request.answer.done():
            return
        if answers is None:
            self._stop()
        _set_result(request.answer, answers or {})


def is_for_session(tool: str, is_trusted: bool) -> bool:
    """Return whether "don't ask again" counts for this session only. Nothing is written into an untrusted folder: its
    settings would not count, and would be shown as settings that it brings along.
    """
    return tool in ("Read", *_EDITS) or not is_trusted


def permission_menu(request: events.PermissionRequested, mode: str, *, is_trusted: bool = True) -> Menu:
    """Return the question whether a call may be made, with everything that the call would do."""
    no = Option("No, and tell it what to do differently", NO, takes="say what to do instead", opens=True)
    options = [Option("Yes", YES, takes="add a note for the model"), no]
    rules = request.decision.suggestions
    if request.name == "ExitPlanMode":
        options = [
            Option("Yes, and accept edits from now on", MODE),
            Option("Yes, and ask before each edit", YES),
            Option("No, keep planning", NO, takes=no.takes, opens=True),
        ]
    elif request.name in _EDITS and mode == "default" and rules:
        options.insert(1, Option("Yes, and accept edits from now on (shift+tab)", MODE))
    elif rules:
        where = "in this session" if is_for_session(request.name, is_trusted) else "in this project"
        options.insert(1, Option(f"Yes, and don't ask again for {', '.join(rules)} {where}", ALWAYS))
    return Menu(describe_call.title(request.name), options, is_sudden=True, details=describe_call.describe(request))


def _set_result(future: asyncio.Future[Any], value: Any) -> None:
    with suppress(asyncio.InvalidStateError):  # the turn was interrupted meanwhile
        future.set_result(value)
