"""Asking the person: may this call be made, and what the model wants to know. One question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from clew.chat import event
from clew.chat.compose import Session
from clew.chat.permission.decision import Decision
from clew.console.face import Face
from clew.console.live import Transcript
from clew.console.menu import Answer, Menu, Option
from clew.console.outcome import would
from clew.facts.tool import objects, subject, tool_name
from clew.view.document import Row

YES, ALWAYS, MODE, NO = "yes", "always", "mode", "no"
_EDITS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


class Asker:
    """Puts the questions of one session to the person."""

    def __init__(
        self,
        face: Face,
        session: Callable[[], Session | None],
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

    def take(self, told: event.PermissionAsked | event.QuestionAsked) -> None:
        asking = self._permit(told) if isinstance(told, event.PermissionAsked) else self._question(told)
        task = asyncio.get_running_loop().create_task(asking)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- permissions

    async def _permit(self, told: event.PermissionAsked) -> None:
        async with self._one:
            session = self._session()
            if told.answer.done() or session is None:
                return
            dialogue = session.engine.dialogue
            again = session.permissions.decide(told.name, told.input, dialogue.state.cwd, dialogue.mode)
            if again.kind == "allow" and not told.decision.rule:  # what was answered meanwhile covers this one too
                _settle(told.answer, Decision("allow"))
                return
            if not told.agent:
                self._transcript.call(told.call_id, told.name, told.input)
                self._transcript.show_title(told.call_id, would(told.name, told.input, dialogue.state.cwd))
            menu = permission_menu(told, dialogue.mode, dialogue.state.cwd)
            answer = await self._answered(menu, told.answer)
            if not told.answer.done():
                _settle(told.answer, self._decision(answer, told, session))

    def _decision(self, answer: Answer | None, told: event.PermissionAsked, session: Session) -> Decision:
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
            self._face.put(Row("about", f"From now on allowed: {', '.join(told.decision.suggestions)}{later}"))
        if chosen == MODE:
            if told.name == "ExitPlanMode":
                session.engine.dialogue.mode_before = "acceptEdits"
            else:
                session.engine.use_mode("acceptEdits")
        if text:
            session.engine.queue(text)
        return Decision("allow")

    async def _answered(self, menu: Menu, asked: asyncio.Future[Any]) -> Answer | None:
        """The person's answer; None also if what is asked has become idle."""
        self._transcript.is_asking = True
        choosing = asyncio.ensure_future(self._face.choose(menu))
        waits: set[asyncio.Future[Any]] = {choosing, asked}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._transcript.is_asking = False
            if not choosing.done():
                choosing.cancel()
                with suppress(asyncio.CancelledError):
                    await choosing
        return choosing.result() if choosing.done() and not choosing.cancelled() else None

    # -- questions

    async def _question(self, told: event.QuestionAsked) -> None:
        async with self._one:
            given: dict[str, str | list[str]] = {}
            for question in told.questions:
                answer = await self._answered(question_menu(question), told.answer)
                if answer is None:
                    given = {}
                    if not told.answer.done():
                        self._stop()
                    break
                labels = [str(value) for value in answer.values if value is not None]
                given[str(question.get("question"))] = ", ".join([*labels, *([answer.text] if answer.text else [])])
            if not told.answer.done():
                _settle(told.answer, given)


def permission_menu(told: event.PermissionAsked, mode: str, cwd: Path) -> Menu:
    """The question whether a call may be made."""
    no = Option("No, and tell it what to do differently", NO, takes="say what to do instead", opens=True)
    yes = Option("Yes", YES, takes="add a word for the model")
    if told.name == "ExitPlanMode":
        edits = Option("Yes, and accept edits from now on", MODE)
        asks = Option("Yes, and ask before each edit", YES)
        return Menu("Begin with this plan?", [edits, asks, Option("No, keep planning", NO, takes=no.takes, opens=True)])
    options = [yes]
    rules = told.decision.suggestions
    if told.name in _EDITS and mode == "default" and rules:
        options.append(Option("Yes, and accept edits from now on (shift+tab)", MODE))
    elif rules:
        where = "in this session" if told.name == "Read" else "in this project"
        options.append(Option(f"Yes, and don't ask again for {', '.join(rules)} {where}", ALWAYS))
    about = told.decision.reason.replace(f"{cwd}/", "")
    if told.agent:
        about = f"An agent asks for {tool_name(told.name)} {subject(told.name, told.input, str(cwd))}: {about}"
    return Menu(_TITLES.get(told.name, f"Use {tool_name(told.name)}?"), [*options, no], about)


_TITLES = {
    "Bash": "Run this command?",
    "Edit": "Make this edit?",
    "MultiEdit": "Make these edits?",
    "Write": "Write this file?",
    "NotebookEdit": "Change this notebook?",
    "Read": "Read this file?",
    "WebFetch": "Fetch this page?",
    "WebSearch": "Search the web for this?",
}


def question_menu(question: Any) -> Menu:
    """A question of the model. There is always the answer that it did not think of."""
    options = [
        Option(str(o.get("label", "")), str(o.get("label", "")), str(o.get("description", "")))
        for o in objects(question.get("options"))
    ]
    other = Option("Something else", None, takes="say what", opens=True, needs_text=True)
    header = str(question.get("header") or "")
    title = f"[{header}] {question.get('question')}" if header else str(question.get("question"))
    return Menu(title, [*options, other], is_many=bool(question.get("multiSelect")))


def _settle(waiting: asyncio.Future[Any], value: Any) -> None:
    with suppress(asyncio.InvalidStateError):  # it was broken off meanwhile
        waiting.set_result(value)
