"""The control protocol through which an Agent SDK drives a session.

Both sides write one JSON object per line. The SDK sends prompts and control requests, and answers ours: permissions,
hooks and its own tools. The engine is started after the SDK has sent `initialize`, or with the first prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from clew.chat import events
from clew.chat.config.permission_mode import Mode
from clew.chat.engine import Engine
from clew.chat.events import Emit, Event
from clew.chat.mcp.mcp_client import full_name
from clew.chat.sdk.control_messages import UNHEARD, failure_frame, resolve, response_frame
from clew.chat.sdk.info_requests import InfoRequests
from clew.chat.sdk.mcp_requests import McpRequests, SdkServer
from clew.chat.sdk.model_requests import ModelRequests
from clew.chat.sdk.project_requests import ProjectRequests
from clew.chat.sdk.prompt_inbox import IncomingPrompt, PromptInbox, State, read_prompt
from clew.chat.sdk.sdk_connection import ControlError, Handler, SdkSession
from clew.chat.sdk.sdk_frames import MAX_LINE, FrameBuilder, shorten_frame
from clew.chat.sdk.sdk_init import SdkInit, read_init
from clew.chat.sdk.sdk_listing import init_lists
from clew.chat.sdk.sdk_questions import SdkQuestions
from clew.chat.sdk.session_requests import SessionRequests
from clew.chat.sdk.settings_requests import SettingsRequests
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.turn.until_stopped import until_stopped
from clew.errors import ClewError
from clew.wire.json_codec import Json, decode, encode

Start = Callable[[SdkInit, Emit], Awaitable[SdkSession]]
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
        prompt_tool: str = "",
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
        self._greet = greet
        self._warn = warn
        self._session: SdkSession | None = None
        self._init = SdkInit()
        self._mode: Mode = "default"
        self._initializing: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._inbox = PromptInbox(self._report_prompt)
        self._running = ""  # uuid of the prompt whose turn runs
        self._folded: list[str] = []  # uuids of prompts that the model got with results of this turn
        self._has_ended = asyncio.Event()
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._has_failed = self._is_deaf = False  # whether the input has ended, so that no answer can come
        self._mcp = McpRequests(self)
        self._requests = SessionRequests(self, self.cancel_prompts, self._has_ended.set, may_bypass)
        self._questions = SdkQuestions(self, self._apply_update, self._interrupt, self._emit_state, prompt_tool)
        self._handlers: dict[str, Handler] = {
            "initialize": self._initialize,
            "interrupt": self._handle_interrupt,
            **self._requests.handlers(),
            **self._mcp.handlers(),
            **InfoRequests(self, self._mcp).handlers(),
            **SettingsRequests(self, self._requests.use_model).handlers(),
            **ModelRequests(self).handlers(),
            **ProjectRequests(self).handlers(),
        }

    async def run(self, lines: AsyncIterator[bytes]) -> int:
        """Serve until the input ends. Return 1 if the last turn failed."""
        prompting = asyncio.create_task(self._run_prompts())
        try:
            await until_stopped(self._has_ended, self._read(lines))
            self._inbox.close()
            await prompting
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)  # their answers are still written
        finally:
            for task in (prompting, *self._tasks.values()):
                task.cancel()
            await asyncio.gather(prompting, *self._tasks.values(), return_exceptions=True)
        return 1 if self._has_failed else 0

    # -- input

    async def _read(self, lines: AsyncIterator[bytes]) -> bool:
        async for line in lines:
            self._receive(line)
        self._is_deaf = True
        for waiting in self._waiting.values():
            resolve(waiting, UNHEARD)
        return True

    def _receive(self, line: bytes) -> None:
        try:
            message = decode(line)
        except ValueError:
            message = None
        match message:
            case {"type": "user", "message": {"content": content}}:
                self._inbox.receive(read_prompt(message, content))
            case {"type": "control_request", "request_id": str(number), "request": {"subtype": str(kind)} as request}:
                task = asyncio.create_task(self._handle_request(number, kind, request))
                self._tasks[number] = task
                task.add_done_callback(lambda done: self._end_request(number, done))
                if kind == "initialize":
                    self._initializing = task
            case {"type": "control_response", "response": {"request_id": str(number)} as response}:
                if waiting := self._waiting.pop(number, None):
                    resolve(waiting, response)
            case {"type": "control_cancel_request", "request_id": str(number)} if number in self._tasks:
                self._tasks[number].cancel()

    def _end_request(self, number: str, task: asyncio.Task[None]) -> None:
        """Answer a request whose handler failed unexpectedly too: an SDK waits for every answer."""
        self._tasks.pop(number, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.send(failure_frame(number, ClewError(f"{type(error).__name__}: {error}")))

    async def _run_prompts(self) -> None:
        """Run the prompts in order; at the end wait for background tasks."""
        while (prompt := await self._next_prompt()) is not None:
            try:
                session = await self.ensure_started()
                self._emit_state("running")
                self._begin_prompt(prompt)
                self._has_failed = (await self._submit(session, prompt)).is_error
            except ClewError as error:
                self._has_failed = True
                self.send(self._framing.failed_result(str(error)))
            self._finish_prompts()
            self._requeue()
            self._emit_state("idle")

    def _submit(self, session: SdkSession, prompt: IncomingPrompt) -> Awaitable[events.TurnFinished]:
        if isinstance(prompt.content, str) and not prompt.is_verbatim:
            return session.say(prompt.content, prompt.uuid)
        content = [{"type": "text", "text": prompt.content}] if isinstance(prompt.content, str) else prompt.content
        return session.engine.submit(UserPrompt(content, uuid=prompt.uuid))

    async def _next_prompt(self) -> IncomingPrompt | None:
        """Return the next prompt. Background tasks that end before it get a turn of their own. None at the end."""
        while self._session is not None:
            engine = self._session.engine
            received = await until_stopped(engine.task_ended, self._receive_prompt())
            if received is not None and (received[0] is not None or not self._waits_for_tasks(engine)):
                return received[0]
            self._emit_state("running")
            finished = await (engine.report_tasks() if received is None else engine.settle())
            self._has_failed = finished is not None and finished.is_error
            self._requeue()
            self._emit_state("idle")
            if received is not None:
                return None
        return await self._inbox.get()

    def _waits_for_tasks(self, engine: Engine) -> bool:
        """Return whether background tasks are waited for at the end: not if the SDK ended the session."""
        return engine.has_pending_tasks and not self._has_ended.is_set()

    async def _receive_prompt(self) -> tuple[IncomingPrompt | None]:
        return (await self._inbox.get(),)

    def _queue_waiting(self) -> None:
        """Queue prompts that arrived during a call, so that the model gets them with its result; a slash command and
        prompts after it wait.
        """
        waiting = self._inbox.drain()
        if self._session is not None and not self._session.engine.stopped.is_set():
            while waiting and (prompt := waiting[0]) is not None and not prompt.is_command:
                self._session.engine.queue(UserPrompt(prompt.content, uuid=prompt.uuid))
                waiting.pop(0)
        self._inbox.put_back(waiting)

    def _requeue(self) -> None:
        """Put queued prompts that the turn did not use back into the inbox."""
        unused = self._session.engine.conversation.queue.take_back_prompts() if self._session is not None else []
        waiting = self._inbox.drain()
        self._inbox.put_back([*(IncomingPrompt(prompt.content, prompt.uuid) for prompt in unused), *waiting])

    # -- states of prompts that the SDK named

    def _report_prompt(self, uuid: str, state: State) -> None:
        frame = {"type": "command_lifecycle", "command_uuid": uuid, "state": state}
        self.send({**frame, "uuid": str(uuid4()), "session_id": self._framing.session_id})

    def _begin_prompt(self, prompt: IncomingPrompt) -> None:
        self._running = self._framing.prompt_uuid = prompt.uuid
        if prompt.uuid:
            self._report_prompt(prompt.uuid, "started")

    def _finish_prompts(self) -> None:
        for uuid in filter(None, (self._running, *self._folded)):
            self._report_prompt(uuid, "completed")
        self._running, self._folded = "", []

    def _note_folded(self, event: events.PromptRecorded) -> None:
        """Report that the model gets a queued prompt with the results of this turn."""
        if event.is_queued and not event.agent and event.uuid in self._inbox.used:
            self._folded.append(event.uuid)
            self._report_prompt(event.uuid, "started")

    async def ensure_started(self) -> SdkSession:
        """Return the session; it is started on first use, after `initialize` was answered."""
        if self._initializing is not None:
            await self._initializing
        async with self._starting:
            if self._session is None:
                self._framing = replace(
                    self._framing, shows_agents=self._framing.shows_agents or self._init.forwards_agent_text
                )
                self._session = await self._start(self._init, self.emit)
                self._mcp.sdk_servers |= {
                    name: SdkServer(
                        name, [tool for tool in self._init.tools if tool.name.startswith(full_name(name, ""))]
                    )
                    for name in self._init.servers
                }
                conversation = self._session.engine.conversation
                self._framing = self._framing.for_session(conversation.session_id, self._listed(self._session))
                self._requests.first_model = conversation.choice
                self._mode = conversation.mode
        return self._session

    def _listed(self, session: SdkSession) -> Json:
        enabled = [server.name for server in self._mcp.sdk_servers.values() if server.is_enabled]
        return init_lists(session, enabled)

    def _interrupt(self) -> None:
        if self._session is not None:
            self._session.engine.interrupt()

    # -- control requests of the SDK

    async def _handle_request(self, number: str, kind: str, request: Json) -> None:
        try:
            if kind not in self._handlers:
                raise ControlError(f"Unsupported control request subtype: {kind}", "unsupported_request")
            if kind == "side_question":
                self.send({**self.system_frame("control_request_progress", status="started"), "request_id": number})
            answer = await self._handlers[kind](request)
        except ClewError as error:
            self.send(failure_frame(number, error))
        else:
            frame = response_frame(number, answer)
            if kind == "initialize":
                frame["response"]["pending_permission_requests"] = []  # a new process has none
            self.send(frame)
            self._emit_mode()
            if self._session is not None and kind.startswith(("mcp_", "reload_")):
                self._framing.listed |= self._listed(self._session)

    async def _initialize(self, request: Json) -> Json:
        self._init = await read_init(request, self._servers, self.send_request)
        return self._greet(self._init)

    async def _handle_interrupt(self, request: Json) -> Json:
        """Stop the turn. Queued prompts run afterwards, unless the request cancels them too."""
        self._interrupt()
        if request.get("cancel_queued") is True:
            return {"still_queued": [], "cancelled": self.cancel_prompts(self.queued_uuids())}
        return {"still_queued": self.queued_uuids()}

    def queued_uuids(self) -> list[str]:
        """Return the uuids of prompts that have not started."""
        queue = self._session.engine.conversation.queue if self._session is not None else ()
        return [*(prompt.uuid for prompt in queue if prompt.uuid), *self._inbox.uuids]

    def cancel_prompts(self, uuids: list[str]) -> list[str]:
        """Drop prompts that have not started; return the uuids of those."""
        queue = self._session.engine.conversation.queue if self._session is not None else None
        dropped = [uuid for uuid in uuids if queue is not None and queue.cancel(uuid)]
        for uuid in dropped:
            self._report_prompt(uuid, "cancelled")
        return [*dropped, *self._inbox.cancel(uuids)]

    def _apply_update(self, session: SdkSession, update: Json) -> None:
        """Apply a permission update that the user of the SDK chose."""
        try:
            mode = session.permissions.apply(update)
            if mode is not None:
                self._requests.use_mode(session, mode)
        except (ClewError, OSError) as error:
            self.warn(str(error))
        self._emit_mode()

    # -- for the handlers of requests

    def system_frame(self, subtype: str, **fields: Any) -> Json:
        return self._framing.system(subtype, **fields)

    def print_output(self, text: str) -> None:
        self.send(self._framing.printed(text))

    def warn(self, text: str) -> None:
        self._warn(f"clew: {text}")

    # -- control requests to the SDK

    async def send_request(self, kind: str, fields: Json) -> Json:
        """Send a control request and wait for the response. Raises ClewError if that is an error."""
        number = str(uuid4())
        waiting: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        if self._is_deaf:
            raise ClewError(str(UNHEARD["error"]))
        self._waiting[number] = waiting
        self.send({"type": "control_request", "request_id": number, "request": {"subtype": kind, **fields}})
        try:
            return await waiting
        except asyncio.CancelledError:
            if self._waiting.pop(number, None):
                self.send({"type": "control_cancel_request", "request_id": number})
            raise

    # -- events

    def emit(self, event: Event) -> None:
        """Handle an event of the engine: send questions as requests, and everything else as messages."""
        match event:
            case events.PermissionRequested():
                self._run_in_background(self._questions.ask_permission(event))
            case events.QuestionRequested():
                self._run_in_background(self._questions.ask_user(event))
            case events.Notice():
                self._warn(f"clew: {event.text}")
                for frame in self._framing.frames(event):
                    self.send(frame)
            case _:
                self._emit_mode()
                if isinstance(event, events.PromptRecorded):
                    self._note_folded(event)
                for frame in self._framing.frames(event):
                    self.send(frame)
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
            self.send(self._framing.system("status", status=None, permissionMode=mode))

    def _emit_state(self, state: str) -> None:
        if self._reports_state:
            self.send({**self._framing.system("session_state_changed", state=state), "sdk_host_only": True})

    def send(self, frame: Json) -> None:
        line = encode(frame)
        if len(line) > MAX_LINE:
            line = encode(shorten_frame(frame, len(line)))
        self._write(line + b"\n")
