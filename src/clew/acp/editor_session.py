"""A seat: one session that an editor talks with. Its prompts run one after the other, and other seats do not mind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

from acp import Client, RequestError
from acp.schema import ConfigOptionUpdate, Cost, CurrentModeUpdate, PromptResponse, StopReason, Usage, UsageUpdate

from clew.acp import editor_questions, modes, session_updates
from clew.acp.prompt_content import Given, said
from clew.acp.update_queue import UpdateQueue
from clew.chat import events
from clew.chat.config.model_alias import resolve_choice
from clew.chat.input.slash_commands import parse_command
from clew.chat.session_factory import ChatSession, Wishes, session

_STOPS: dict[str, StopReason] = {"refusal": "refusal", "max_tokens": "max_tokens"}


@dataclass(frozen=True)
class Editor:
    """The other side: how it is told and asked, and whether it has forms."""

    client: Client
    post: UpdateQueue
    remark: Callable[[str], None]
    has_forms: bool = False


class EditorSession:
    """One open session."""

    def __init__(self, session_id: str, editor: Editor) -> None:
        self.id = session_id
        self._editor = editor
        self._stack = AsyncExitStack()
        self._turn = asyncio.Lock()
        self._asking: set[asyncio.Task[None]] = set()
        self._cancels = 0
        self._mode = ""
        self._session: ChatSession | None = None

    async def open(self, wishes: Wishes) -> None:
        """Begin, or go on with what there is. Raises ClewError, OSError or ValueError if it cannot be."""
        chosen = replace(wishes, options=replace(wishes.options, can_prompt_user=True))
        self._session = await self._stack.enter_async_context(session(chosen, self._tell))
        self._mode = self.session.engine.conversation.mode

    @property
    def session(self) -> ChatSession:
        assert self._session is not None
        return self._session

    def greet(self) -> None:
        """Tell what can be done here."""
        self._put(modes.commands(self.session))

    async def close(self) -> None:
        """Break off what runs, wait until it is written down, and let go of the session."""
        self.cancel()
        async with self._turn:
            await self._stack.aclose()

    # -- what the editor asks for

    async def prompt(self, blocks: Sequence[Given]) -> PromptResponse:
        """Say something, and tell all that comes of it. Raises RequestError if the model could not answer."""
        given = said(blocks)
        before = self._cancels
        async with self._turn:
            session = self.session
            line = parse_command(given.text)
            made = None if line and line[0] == "compact" else given.over(await session.prompt(given.text))
            if self._cancels != before:
                return PromptResponse(stop_reason="cancelled")
            finished = await (session.say(given.text) if made is None else session.engine.submit(made))
            return await self._ended(finished)

    def cancel(self) -> None:
        self._cancels += 1
        if self._session is not None:
            self._session.engine.interrupt()

    def use_mode(self, name: str) -> None:
        mode = next((mode for mode in modes.modes(self.session) if mode == name), None)
        if mode is None:
            raise RequestError.invalid_params({"details": f"There is no mode {name!r} here."})
        self.session.engine.use_mode(mode)
        self._tell_mode()

    def use(self, option: str, value: object) -> modes.Options:
        """Choose something; all choices as they are then."""
        if option == modes.MODE:
            self.use_mode(str(value))
        elif option == modes.MODEL and value in modes.models(self.session):
            self.session.engine.use_model(resolve_choice(str(value)))
        else:
            raise RequestError.invalid_params({"details": f"{value!r} is no choice for {option!r}."})
        return modes.options(self.session)

    # -- what the session tells

    def _tell(self, happened: events.Event) -> None:
        if remark := session_updates.aside(happened):
            self._editor.remark(f"clew: {remark}")
        if self._session is None:
            return
        if isinstance(happened, events.PermissionRequested):
            self._keep(self._permit(happened))
        elif isinstance(happened, events.QuestionRequested):
            self._keep(self._question(happened))
        else:
            for update in session_updates.live(happened, str(self.session.engine.conversation.state.cwd)):
                self._put(update)
            if isinstance(happened, events.ReplyCompleted | events.ConversationCompacted) and not happened.agent:
                self._put(self._weight())
            self._tell_mode()

    def _tell_mode(self) -> None:
        """The mode may change by itself: a plan begins, or is accepted."""
        mode = self.session.engine.conversation.mode
        if mode != self._mode:
            self._mode = mode
            self._put(CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode))
            options = modes.options(self.session)
            self._put(ConfigOptionUpdate(session_update="config_option_update", config_options=options))

    def _weight(self) -> UsageUpdate:
        """How full the window is, and what the session has cost."""
        engine = self.session.engine
        tally = engine.deps.cost
        cost = Cost(amount=tally.dollars, currency="USD") if tally.is_priced else None
        return UsageUpdate(session_update="usage_update", used=engine.conversation.size, size=engine.window, cost=cost)

    def _put(self, update: Any) -> None:
        self._editor.post.put(self.id, update)

    async def _ended(self, finished: events.TurnFinished) -> PromptResponse:
        """How a turn ended, after all that it told."""
        is_failed = finished.ending == "error_during_execution" and not finished.is_interrupted
        if finished.errors and not is_failed:
            self._put(session_updates.message("\n\n" + "\n".join(finished.errors)))
        await self._editor.post.is_out()
        if finished.status in (401, 403):
            raise RequestError(-32000, " ".join(finished.errors))
        if is_failed:
            raise RequestError(-32603, " ".join(finished.errors) or "The turn failed.")
        return PromptResponse(stop_reason=_stop(finished), usage=_usage(finished))

    # -- what is asked of the person

    def _keep(self, asking: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(asking)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _permit(self, asked: events.PermissionRequested) -> None:
        await self._editor.post.is_out()
        decision, remark = await editor_questions.permission(self._editor.client, self.session, asked)
        if remark:
            self._editor.remark(f"clew: {remark}")
        with suppress(asyncio.InvalidStateError):  # it was broken off meanwhile
            asked.answer.set_result(decision)

    async def _question(self, asked: events.QuestionRequested) -> None:
        await self._editor.post.is_out()
        found = await editor_questions.answers(self._editor.client, self.id, asked, self._editor.has_forms)
        with suppress(asyncio.InvalidStateError):
            asked.answer.set_result(found)


def _stop(finished: events.TurnFinished) -> StopReason:
    if finished.is_interrupted:
        return "cancelled"
    if finished.ending in ("error_max_turns", "error_max_budget_usd"):
        return "max_turn_requests"
    return _STOPS.get(finished.stop_reason or "", "end_turn")


def _usage(finished: events.TurnFinished) -> Usage:
    """What the session took so far."""
    told = finished.usage
    sent, output = int(told.get("input_tokens") or 0), int(told.get("output_tokens") or 0)
    written, read = int(told.get("cache_creation_input_tokens") or 0), int(told.get("cache_read_input_tokens") or 0)
    return Usage(
        total_tokens=sent + output + written + read,
        input_tokens=sent,
        output_tokens=output,
        cached_read_tokens=read,
        cached_write_tokens=written,
    )
