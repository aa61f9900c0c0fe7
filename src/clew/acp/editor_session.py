"""One editor session. Prompts of a session run in sequence; sessions are independent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

from acp import Client, RequestError
from acp.schema import ConfigOptionUpdate, Cost, CurrentModeUpdate, PromptResponse, StopReason, Usage, UsageUpdate
from msgspec import Struct
from msgspec.structs import replace

from clew.acp import editor_questions, modes, session_updates
from clew.acp.prompt_content import ContentBlock, parse_blocks
from clew.acp.update_queue import UpdateQueue
from clew.chat import events
from clew.chat.config.model_alias import resolve_choice
from clew.chat.input.input_line import parse_line
from clew.chat.session_factory import ChatSession, open_session
from clew.chat.session_spec import SessionSpec
from clew.chat.turn.model_switch import ModelSwitchBlocked

_STOPS: dict[str, StopReason] = {"refusal": "refusal", "max_tokens": "max_tokens"}


class Editor(Struct, frozen=True):
    """The connected editor: its client object, the queue of updates, and whether it supports forms."""

    client: Client
    updates: UpdateQueue
    remark: Callable[[str], None]
    has_forms: bool = False


class EditorSession:
    """One open session."""

    def __init__(self, session_id: str, editor: Editor, session: ChatSession, stack: AsyncExitStack) -> None:
        """`stack` closes the session."""
        self.id = session_id
        self.session = session
        self._editor = editor
        self._stack = stack
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._cancels = 0
        self._mode = session.engine.conversation.mode

    @classmethod
    async def open(cls, session_id: str, editor: Editor, spec: SessionSpec) -> EditorSession:
        """Start or resume a session. Raises ClewError, OSError or ValueError."""
        handlers: list[events.Emit] = []  # empty while the session is opened: the editor does not know it yet

        def handle_event(event: events.Event) -> None:
            if remark := session_updates.notice_text(event):
                editor.remark(f"clew: {remark}")
            for handle in handlers:
                handle(event)

        stack = AsyncExitStack()
        interactive = replace(spec, can_prompt_user=True)
        opened = cls(
            session_id, editor, await stack.enter_async_context(open_session(interactive, handle_event)), stack
        )
        handlers.append(opened._handle_event)
        return opened

    def send_commands(self) -> None:
        """Send the slash commands that the user can type."""
        self._send(modes.available_commands(self.session))

    async def close(self) -> None:
        """Interrupt the turn, wait until it is written to the session file, and close the session."""
        self.cancel()
        async with self._turn:
            await self._stack.aclose()

    # -- requests of the editor

    async def prompt(self, blocks: Sequence[ContentBlock]) -> PromptResponse:
        """Run a prompt and send its updates. Raises RequestError if the model could not answer."""
        content = parse_blocks(blocks)
        before = self._cancels
        async with self._turn:
            session = self.session
            line = parse_line(content.text)
            user_prompt = None if line.command == "compact" else content.merge(await session.prompt(line))
            if self._cancels != before:
                return PromptResponse(stop_reason="cancelled")
            finished = await (
                session.engine.run_compact(line.arguments)
                if user_prompt is None
                else session.engine.submit(user_prompt)
            )
            return await self._finish_prompt(finished)

    def cancel(self) -> None:
        self._cancels += 1
        self.session.engine.interrupt()

    def use_mode(self, name: str) -> None:
        mode = next((mode for mode in modes.available_modes(self.session) if mode == name), None)
        if mode is None:
            raise RequestError.invalid_params({"details": f"There is no mode {name!r} here."})
        self.session.engine.use_mode(mode)
        self._report_mode()

    async def set_option(self, option: str, value: object) -> modes.Options:
        """Set an option and return all options with their current values."""
        if option == modes.MODE:
            self.use_mode(str(value))
        elif option == modes.MODEL and value in modes.available_models(self.session):
            try:
                await self.session.engine.use_model(resolve_choice(str(value)), str(value), "picker")
            except ModelSwitchBlocked as blocked:
                raise RequestError.invalid_params({"details": str(blocked)}) from None
        else:
            raise RequestError.invalid_params({"details": f"{value!r} is not a valid value of {option!r}."})
        return modes.config_options(self.session)

    # -- events of the session

    def _handle_event(self, event: events.Event) -> None:
        if isinstance(event, events.PermissionRequested):
            self._start_task(self._request_permission(event))
        elif isinstance(event, events.QuestionRequested):
            self._start_task(self._request_answers(event))
        else:
            for update in session_updates.event_updates(event, str(self.session.engine.conversation.state.cwd)):
                self._send(update)
            if isinstance(event, events.ReplyCompleted | events.ConversationCompacted) and not event.agent:
                self._send(self._usage_update())
            self._report_mode()

    def _report_mode(self) -> None:
        """Send the mode if it changed, which also happens when a plan begins or is accepted."""
        mode = self.session.engine.conversation.mode
        if mode != self._mode:
            self._mode = mode
            self._send(CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode))
            options = modes.config_options(self.session)
            self._send(ConfigOptionUpdate(session_update="config_option_update", config_options=options))

    def _usage_update(self) -> UsageUpdate:
        """Return the size of the context and the cost of the session."""
        engine = self.session.engine
        total = engine.deps.cost
        cost = Cost(amount=total.dollars, currency="USD") if total.is_priced else None
        return UsageUpdate(session_update="usage_update", used=engine.conversation.size, size=engine.window, cost=cost)

    def _send(self, update: Any) -> None:
        self._editor.updates.put(self.id, update)

    async def _finish_prompt(self, finished: events.TurnFinished) -> PromptResponse:
        """Return the response to a prompt after all its updates have been sent. Raises RequestError if the turn
        failed.
        """
        is_failed = finished.ending == "error_during_execution" and not finished.is_interrupted
        if finished.errors and not is_failed:
            self._send(session_updates.message_chunk("\n\n" + "\n".join(finished.errors)))
        await self._editor.updates.drain()
        if finished.status in (401, 403):
            raise RequestError(-32000, " ".join(finished.errors))
        if is_failed:
            raise RequestError(-32603, " ".join(finished.errors) or "The turn failed.")
        return PromptResponse(stop_reason=_stop_reason(finished), usage=_session_usage(finished))

    # -- questions to the user

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _request_permission(self, request: events.PermissionRequested) -> None:
        await self._editor.updates.drain()
        decision, warning = await editor_questions.request_permission(self._editor.client, self.session, request)
        if warning:
            self._editor.remark(f"clew: {warning}")
        with suppress(asyncio.InvalidStateError):  # the turn was interrupted meanwhile
            request.answer.set_result(decision)

    async def _request_answers(self, request: events.QuestionRequested) -> None:
        await self._editor.updates.drain()
        answers = await editor_questions.request_answers(self._editor.client, self.id, request, self._editor.has_forms)
        with suppress(asyncio.InvalidStateError):
            request.answer.set_result(answers)


def _stop_reason(finished: events.TurnFinished) -> StopReason:
    if finished.is_interrupted:
        return "cancelled"
    if finished.ending in ("error_max_turns", "error_max_budget_usd"):
        return "max_turn_requests"
    return _STOPS.get(finished.stop_reason or "", "end_turn")


def _session_usage(finished: events.TurnFinished) -> Usage:
    """Return the token usage of the session so far."""
    usage = finished.usage
    sent, output = int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0)
    written, read = int(usage.get("cache_creation_input_tokens") or 0), int(usage.get("cache_read_input_tokens") or 0)
    return Usage(
        total_tokens=sent + output + written + read,
        input_tokens=sent,
        output_tokens=output,
        cached_read_tokens=read,
        cached_write_tokens=written,
    )
