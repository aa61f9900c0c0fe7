"""Ask the user: may this call be made, and what does the model want to know. One question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from clew.chat import events
from clew.chat.permission.decision import Decision
from clew.chat.session_factory import ChatSession
from clew.console import describe_call
from clew.console.menu import Menu, MenuAnswer, Option
from clew.console.transcript import Transcript
from clew.console.ui import Face
from clew.facts.tool_catalog import objects
from clew.view.approval_text import escape_line
from clew.view.row_types import AboutRow

YES, ALWAYS, MODE, NO = "yes", "always", "mode", "no"
_EDITS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_Asked = events.PermissionRequested | events.QuestionRequested


class UserDialog:
    """Puts the questions of one session to the user."""

    def __init__(
        self,
        face: Face,
        session: Callable[[], ChatSession | None],
        transcript: Transcript,
        stop: Callable[[], None],
        is_trusted: Callable[[], bool],
    ) -> None:
        self._face = face
        self._session = session
        self._transcript = transcript
        self._stop = stop
        self._is_trusted = is_trusted
        self._one = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: list[_Asked] = []  # asked and not answered yet
        self._done: set[str] = set()  # calls that were asked about since there was no question
        self._menu: Menu | None = None

    def take(self, told: _Asked) -> None:
        task = asyncio.get_running_loop().create_task(self._ask(told))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._open.append(told)
        self._count()

    def begin_turn(self) -> None:
        """Count the questions of a new turn from one."""
        self._done.clear()

    async def _ask(self, told: _Asked) -> None:
        try:
            async with self._one:
                if isinstance(told, events.PermissionRequested):
                    await self._permit(told)
                else:
                    await self._question(told)
        finally:
            self._open.remove(told)
            self._done.add(told.call_id)
            if not self._pending():
                self._done.clear()
            self._count()

    def _pending(self) -> int:
        """The questions that are open, and the calls of the same reply that will be asked about after them."""
        session = self._session()
        asked = self._done | {told.call_id for told in self._open}
        later = 0
        if session is not None:
            dialogue = session.engine.conversation
            later = sum(
                call.began is None
                and call_id not in asked
                and session.permissions.decide(call.name, call.input, dialogue.state.cwd, dialogue.mode).kind == "ask"
                for call_id, call in self._transcript.running.items()
            )
        return len(self._open) + later

    def _count(self) -> None:
        """Say in the open question which one it is of how many."""
        if self._menu is not None:
            total = len(self._done) + self._pending()
            self._menu.count = f"{len(self._done) + 1} of {total}" if total > 1 else ""
            self._face.touch()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- permissions

    async def _permit(self, told: events.PermissionRequested) -> None:
        session = self._session()
        if told.answer.done() or session is None:
            return
        mode = told.mode if told.asker else session.engine.conversation.mode
        again = session.permissions.decide(told.name, told.input, Path(told.folder), mode)
        if again.kind == "allow" and not told.decision.rule:  # an answer given meanwhile covers this call too
            _settle(told.answer, Decision("allow"))
            return
        answer = await self._answer(permission_menu(told, session.engine.conversation.mode), told.answer)
        if not told.answer.done():
            _settle(told.answer, self._decision(answer, told, session))

    def _decision(self, answer: MenuAnswer | None, told: events.PermissionRequested, session: ChatSession) -> Decision:
        chosen = answer.value if answer else None
        text = answer.text if answer else ""
        if chosen == NO and text:
            return Decision("deny", message=f"The user declined this call, and says: {text}")
        if chosen is None or chosen == NO:
            self._stop()
            return Decision("deny")
        if chosen == ALWAYS:
            scope = "session" if told.name in ("Read", *_EDITS) else "local"
            for rule in told.decision.suggestions:
                session.permissions.remember(rule, scope)  # type: ignore[arg-type]
            later = (
                "" if scope == "session" or self._is_trusted() else "; in later sessions once you trust it: clew trust"
            )
            rules = ", ".join(map(escape_line, told.decision.suggestions))
            self._face.put(AboutRow(f"From now on allowed: {rules}{later}"))
        if chosen == MODE:
            if told.name == "ExitPlanMode":
                session.engine.conversation.mode_before = "acceptEdits"
            else:
                session.engine.use_mode("acceptEdits")
        if text:
            session.engine.queue(text)
        return Decision("allow")

    async def _answer(self, menu: Menu, asked: asyncio.Future[Any]) -> MenuAnswer | None:
        """The user's answer; None also if it is not wanted any more."""
        self._transcript.is_asking = True
        self._menu = menu
        self._count()
        choosing = asyncio.ensure_future(self._face.choose(menu))
        waits: set[asyncio.Future[Any]] = {choosing, asked}
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

    async def _question(self, told: events.QuestionRequested) -> None:
        given: dict[str, str | list[str]] = {}
        for question in told.questions:
            answer = await self._answer(question_menu(question, bool(told.agent)), told.answer)
            if answer is None:
                given = {}
                if not told.answer.done():
                    self._stop()
                break
            labels = [str(value) for value in answer.values if value is not None]
            given[str(question.get("question"))] = ", ".join([*labels, *([answer.text] if answer.text else [])])
        if not told.answer.done():
            _settle(told.answer, given)


def permission_menu(told: events.PermissionRequested, mode: str) -> Menu:
    """The question whether a call may be made, with everything that the call would do."""
    no = Option("No, and tell it what to do differently", NO, takes="say what to do instead", opens=True)
    options = [Option("Yes", YES, takes="add a word for the model"), no]
    rules = told.decision.suggestions
    if told.name == "ExitPlanMode":
        options = [
            Option("Yes, and accept edits from now on", MODE),
            Option("Yes, and ask before each edit", YES),
            Option("No, keep planning", NO, takes=no.takes, opens=True),
        ]
    elif told.name in _EDITS and mode == "default" and rules:
        options.insert(1, Option("Yes, and accept edits from now on (shift+tab)", MODE))
    elif rules:
        where = "in this session" if told.name == "Read" else "in this project"
        options.insert(1, Option(f"Yes, and don't ask again for {', '.join(rules)} {where}", ALWAYS))
    return Menu(describe_call.title(told.name), options, is_sudden=True, details=describe_call.describe(told))


def question_menu(question: Any, is_agent: bool = False) -> Menu:
    """A question of the model. There is always the answer that it did not think of."""
    options = [
        Option(str(o.get("label", "")), str(o.get("label", "")), str(o.get("description", "")))
        for o in objects(question.get("options"))
    ]
    other = Option("Something else", None, takes="say what", opens=True, needs_text=True)
    header = str(question.get("header") or "")
    title = f"[{header}] {question.get('question')}" if header else str(question.get("question"))
    about = "An agent asks this." if is_agent else ""
    is_many = bool(question.get("multiSelect"))
    return Menu(title, [*options, other], about, is_many=is_many, is_sudden=True)


def _settle(waiting: asyncio.Future[Any], value: Any) -> None:
    with suppress(asyncio.InvalidStateError):  # it was broken off meanwhile
        waiting.set_result(value)
