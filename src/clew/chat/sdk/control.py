"""The control protocol through which an Agent SDK drives a session.

Both sides write one JSON object per line. The SDK sends prompts and control requests, and answers ours: permissions,
hooks and its own tools. The engine is started after the SDK has sent `initialize`, or with the first prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol
from uuid import uuid4

from clew.chat import events
from clew.chat.config.model_alias import resolve_choice
from clew.chat.config.permission_mode import Mode, parse_mode
from clew.chat.engine import Engine
from clew.chat.events import Emit, Event
from clew.chat.permission.decide import Permissions
from clew.chat.sdk import sdk_permission
from clew.chat.sdk.sdk_frames import MAX_LINE, FrameBuilder, shorten_frame
from clew.chat.sdk.sdk_init import SdkInit, read_init
from clew.chat.sdk.sdk_listing import context_usage
from clew.chat.sdk.sdk_rewind import rewind_files
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.tools.tool import Content
from clew.chat.turn.until_stopped import until_stopped
from clew.errors import ClewError
from clew.wire.json_codec import Json, decode, encode

BYPASS = "--dangerously-skip-permissions or --allow-dangerously-skip-permissions"


class SdkSession(Protocol):
    """The session that the SDK drives."""

    @property
    def engine(self) -> Engine: ...

    @property
    def permissions(self) -> Permissions: ...

    async def say(self, text: str) -> events.TurnFinished:
        """Send what the user typed; slash commands and mentions are expanded."""
        ...


Start = Callable[[SdkInit, Emit], Awaitable[tuple[SdkSession, Json]]]  # the session, and lists for its init message
Greet = Callable[[SdkInit], Json]
Write = Callable[[bytes], None]


class Control:
    """One session driven by one SDK."""

    def __init__(
        self,
        write: Write,
        start: Start,
        framing: FrameBuilder,
        *,
        servers: Sequence[str] = (),
        tells_state: bool = False,
        may_bypass: bool = True,
        greet: Greet = lambda brought: {},
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`servers` are MCP servers inside the SDK program; `greet` builds the answer to `initialize`; `may_bypass`
        allows bypassPermissions mode later.
        """
        self._write = write
        self._start = start
        self._framing = framing
        self._servers = servers
        self._reports_state = tells_state
        self._may_bypass = may_bypass
        self._greet = greet
        self._warn = warn
        self._session: SdkSession | None = None
        self._init = SdkInit()
        self._first_model = ""
        self._mode: Mode = "default"
        self._questions = 0  # unanswered permission requests and questions
        self._initializing: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._inbox: asyncio.Queue[Content | None] = asyncio.Queue()
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._has_failed = False

    async def run(self, lines: AsyncIterator[bytes]) -> int:
        """Serve until the input ends. Return 1 if the last turn failed."""
        prompting = asyncio.create_task(self._run_prompts())
        try:
            async for line in lines:
                self._receive(line)
            self._inbox.put_nowait(None)
            await prompting
        finally:
            for task in (prompting, *self._tasks.values()):
                task.cancel()
            await asyncio.gather(prompting, *self._tasks.values(), return_exceptions=True)
        return 1 if self._has_failed else 0

    # -- input

    def _receive(self, line: bytes) -> None:
        try:
            message = decode(line)
        except ValueError:
            message = None
        match message:
            case {"type": "user", "message": {"content": str(text)}, "client_composed": True}:
                self._inbox.put_nowait([{"type": "text", "text": text}])  # verbatim: no slash commands, no mentions
            case {"type": "user", "message": {"content": content}}:
                self._inbox.put_nowait(content)
            case {"type": "control_request", "request_id": str(number), "request": {"subtype": str(kind)} as request}:
                task = asyncio.create_task(self._handle_request(number, kind, request))
                self._tasks[number] = task
                task.add_done_callback(lambda _: self._tasks.pop(number, None))
                if kind == "initialize":
                    self._initializing = task
            case {"type": "control_response", "response": {"request_id": str(number)} as response}:
                if waiting := self._waiting.pop(number, None):
                    _resolve(waiting, response)
            case {"type": "control_cancel_request", "request_id": str(number)} if number in self._tasks:
                self._tasks[number].cancel()

    async def _run_prompts(self) -> None:
        """Run the prompts in order; at the end wait for background tasks."""
        while (content := await self._next_prompt()) is not None:
            try:
                session = await self._ensure_started()
                self._emit_state("running")
                turn = session.say(content) if isinstance(content, str) else session.engine.submit(UserPrompt(content))
                self._has_failed = (await turn).is_error
            except ClewError as error:
                self._has_failed = True
                self._send(self._failed_result(str(error)))
            self._requeue()
            self._emit_state("idle")

    async def _next_prompt(self) -> Content | None:
        """Return the next prompt. Background tasks that end before it get a turn of their own. None at the end."""
        while self._session is not None:
            engine = self._session.engine
            received = await until_stopped(engine.task_ended, self._receive_prompt())
            if received is not None and (received[0] is not None or not engine.has_pending_tasks):
                return received[0]
            self._emit_state("running")
            finished = await (engine.report_tasks() if received is None else engine.settle())
            self._has_failed = finished is not None and finished.is_error
            self._requeue()
            self._emit_state("idle")
            if received is not None:
                return None
        return await self._inbox.get()

    async def _receive_prompt(self) -> tuple[Content | None]:
        return (await self._inbox.get(),)

    def _queue_waiting(self) -> None:
        """Queue prompts that arrived during a call, so that the model gets them with its result; a slash command and
        prompts after it wait.
        """
        waiting = self._drain_inbox()
        if self._session is not None and not self._session.engine.stopped.is_set():
            while waiting and waiting[0] is not None and not _is_command(waiting[0]):
                self._session.engine.queue(UserPrompt(waiting.pop(0) or ""))
        for content in waiting:
            self._inbox.put_nowait(content)

    def _requeue(self) -> None:
        """Put queued prompts that the turn did not use back into the inbox."""
        unused = self._session.engine.conversation.queue.take_back_prompts() if self._session is not None else []
        for content in (*(prompt.content for prompt in unused), *self._drain_inbox()):
            self._inbox.put_nowait(content)

    def _drain_inbox(self) -> list[Content | None]:
        return [self._inbox.get_nowait() for _ in range(self._inbox.qsize())]

    async def _ensure_started(self) -> SdkSession:
        """Return the session; it is started on first use, after `initialize` was answered."""
        if self._initializing is not None:
            await self._initializing
        async with self._starting:
            if self._session is None:
                self._framing = replace(
                    self._framing, shows_agents=self._framing.shows_agents or self._init.forwards_agent_text
                )
                self._session, listed = await self._start(self._init, self.emit)
                self._framing = self._framing.for_session(self._session.engine.conversation.session_id, listed)
                self._first_model = self._session.engine.conversation.choice
                self._mode = self._session.engine.conversation.mode
        return self._session

    def _interrupt(self) -> None:
        if self._session is not None:
            self._session.engine.interrupt()

    # -- control requests of the SDK

    async def _handle_request(self, number: str, kind: str, request: Json) -> None:
        try:
            answer = await self._carry_out(kind, request)
        except ClewError as error:
            self._send(_response(number, error=str(error)))
        else:
            self._send(_response(number, answer))
            self._emit_mode()

    async def _carry_out(self, kind: str, request: Json) -> Json:
        match kind:
            case "initialize":
                return await self._initialize(request)
            case "interrupt":
                self._interrupt()
                return {"still_queued": []}
            case "set_permission_mode":
                mode, _ = parse_mode(str(request.get("mode")))
                self._use_mode(await self._ensure_started(), mode)
                return {"mode": mode}
            case "set_model":
                return await self._use_model(str(request.get("model") or ""))
            case "rename_session":
                (await self._ensure_started()).engine.rename(str(request.get("title") or ""))
                return {}
            case "get_context_usage":
                return context_usage((await self._ensure_started()).engine)
            case "rewind_files":
                message, is_dry = str(request.get("user_message_id")), bool(request.get("dry_run"))
                return await rewind_files((await self._ensure_started()).engine, message, is_dry=is_dry)
            case "stop_task":
                await (await self._ensure_started()).engine.stop_task(str(request.get("task_id")))
                return {}
            case "mcp_status":
                return {"mcpServers": self._framing.listed.get("mcp_servers", [])}
        raise ClewError(f"Unsupported control request: {kind}.")

    async def _initialize(self, request: Json) -> Json:
        self._init = await read_init(request, self._servers, self._send_request)
        return self._greet(self._init)

    async def _use_model(self, name: str) -> Json:
        """Choose another model (without a name the first one) and print it as `/model` does."""
        engine = (await self._ensure_started()).engine
        model = self._first_model if name in ("", "default") else resolve_choice(name)
        engine.use_model(model)
        self._send(self._framing.printed(f"Set model to `{model}`"))
        return {"model": model}

    # -- control requests to the SDK

    async def _request_permission(self, request: events.PermissionRequested) -> None:
        session = await self._ensure_started()
        self._count_question(1)
        try:
            answer = await self._send_request(
                "can_use_tool", sdk_permission.permission_request(request, session.engine)
            )
            for update in sdk_permission.permission_updates(answer):
                self._update(session, update)
        except ClewError as error:
            answer = {"behavior": "deny", "message": str(error)}
        finally:
            self._count_question(-1)
        if answer.get("interrupt"):
            self._interrupt()
        with suppress(asyncio.InvalidStateError):  # the turn was interrupted meanwhile
            request.answer.set_result(sdk_permission.read_decision(answer))

    def _update(self, session: SdkSession, update: Json) -> None:
        """Apply a permission update that the user of the SDK chose."""
        try:
            mode = session.permissions.apply(update)
            if mode is not None:
                self._use_mode(session, mode)
        except (ClewError, OSError) as error:
            self._warn(f"clew: {error}")
        self._emit_mode()

    def _use_mode(self, session: SdkSession, mode: Mode) -> None:
        if mode == "bypassPermissions" and not self._may_bypass:
            raise ClewError(f"The session was not started with {BYPASS}, and the mode cannot be bypassPermissions.")
        session.engine.use_mode(mode)

    def _count_question(self, change: int) -> None:
        self._questions += change
        if self._questions == (change > 0):
            self._emit_state("requires_action" if change > 0 else "running")

    async def _request_answer(self, question: events.QuestionRequested) -> None:
        """Send a question of the model as a permission request; the answers are in the returned input."""
        fields = {"tool_name": "AskUserQuestion", "input": {"questions": list(question.questions)}}
        self._count_question(1)
        try:
            answer = await self._send_request("can_use_tool", {**fields, "tool_use_id": question.call_id})
        except ClewError:
            answer = {}
        finally:
            self._count_question(-1)
        updated = answer.get("updatedInput") or {}
        with suppress(asyncio.InvalidStateError):
            question.answer.set_result(updated.get("answers") or {})

    async def _send_request(self, kind: str, fields: Json) -> Json:
        """Send a control request and wait for the response. Raises ClewError if that is an error."""
        number = str(uuid4())
        waiting: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        self._send({"type": "control_request", "request_id": number, "request": {"subtype": kind, **fields}})
        try:
            return await waiting
        except asyncio.CancelledError:
            if self._waiting.pop(number, None):
                self._send({"type": "control_cancel_request", "request_id": number})
            raise

    # -- events

    def emit(self, event: Event) -> None:
        """Handle an event of the engine: send questions as requests, and everything else as messages."""
        match event:
            case events.PermissionRequested():
                self._run_in_background(self._request_permission(event))
            case events.QuestionRequested():
                self._run_in_background(self._request_answer(event))
            case events.Notice():
                self._warn(f"clew: {event.text}")
            case _:
                self._emit_mode()
                for frame in self._framing.frames(event):
                    self._send(frame)
                if isinstance(event, events.CallFinished) and not event.agent:
                    self._queue_waiting()

    def _run_in_background(self, asking: Any) -> None:
        number = str(uuid4())
        task = self._tasks[number] = asyncio.create_task(asking)
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    def _emit_mode(self) -> None:
        """Report the permission mode if it changed: by the SDK, its user, or a plan."""
        mode = self._session.engine.conversation.mode if self._session else self._mode
        if mode != self._mode:
            self._mode = mode
            self._send(self._framing.system("status", status=None, permissionMode=mode))

    def _emit_state(self, state: str) -> None:
        if self._reports_state:
            self._send({**self._framing.system("session_state_changed", state=state), "sdk_host_only": True})

    def _failed_result(self, text: str) -> Json:
        done = events.TurnFinished(
            ending="error_during_execution",
            text="",
            turns=0,
            milliseconds=0,
            api_milliseconds=0,
            usage={},
            models={},
            cost=None,
            errors=(text,),
        )
        return self._framing.result(done)

    def _send(self, frame: Json) -> None:
        line = encode(frame)
        if len(line) > MAX_LINE:
            line = encode(shorten_frame(frame, len(line)))
        self._write(line + b"\n")


def _is_command(content: Content) -> bool:
    return isinstance(content, str) and content.lstrip().startswith("/")


def _resolve(waiting: asyncio.Future[Json], response: Json) -> None:
    if waiting.done():
        return
    if response.get("subtype") == "error":
        waiting.set_exception(ClewError(str(response.get("error") or "The SDK gave no reason.")))
    else:
        waiting.set_result(response.get("response") or {})


def _response(number: str, answer: Json | None = None, error: str = "") -> Json:
    outcome: Json = {"subtype": "error", "error": error} if error else {"subtype": "success", "response": answer or {}}
    return {"type": "control_response", "response": {**outcome, "request_id": number}}
