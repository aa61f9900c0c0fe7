"""The control protocol: the door through which the Agent SDKs drive a session.

Both sides write one JSON object a line. The SDK sends prompts, asks for changes, and answers what it is asked: whether a
call may be made, what its hooks say, what its own tools do. The engine is started when the SDK has told what it brings.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol
from uuid import uuid4

from clew.chat import events
from clew.chat.config.model_alias import choose
from clew.chat.engine import Engine
from clew.chat.events import Event, Tell
from clew.chat.permission.decide import Permissions
from clew.chat.permission.decision import Mode, parse_mode
from clew.chat.sdk import sdk_permission
from clew.chat.sdk.sdk_frames import LONGEST, Framing, shortened
from clew.chat.sdk.sdk_init import Brought, brought
from clew.chat.sdk.sdk_listing import context
from clew.chat.store.live_conversation import UserPrompt
from clew.chat.tools.tool import Content
from clew.chat.turn.until_stopped import unless
from clew.errors import ClewError
from clew.wire.json_codec import Json, decode, encode

BYPASS = "--dangerously-skip-permissions or --allow-dangerously-skip-permissions"


class Speaking(Protocol):
    """A session that can be spoken to."""

    @property
    def engine(self) -> Engine: ...

    @property
    def permissions(self) -> Permissions: ...

    async def say(self, text: str) -> events.TurnFinished:
        """What a person typed: commands and mentions are understood."""
        ...


Start = Callable[[Brought, Tell], Awaitable[Speaking]]
Greet = Callable[[Brought], Json]
Write = Callable[[bytes], None]


class Control:
    """One session behind one SDK."""

    def __init__(
        self,
        write: Write,
        start: Start,
        framing: Framing,
        *,
        servers: Sequence[str] = (),
        tells_state: bool = False,
        may_bypass: bool = True,
        greet: Greet = lambda brought: {},
        remark: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`servers` are those that live in the SDK's process; `greet` gives the answer to `initialize`; only with
        `may_bypass` can questions be switched off later."""
        self._write = write
        self._start = start
        self._framing = framing
        self._servers = servers
        self._tells_state = tells_state
        self._may_bypass = may_bypass
        self._greet = greet
        self._remark = remark
        self._session: Speaking | None = None
        self._brought = Brought()
        self._first_model = ""
        self._mode: Mode = "default"
        self._questions = 0  # that the SDK has not answered yet
        self._greeting: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._inbox: asyncio.Queue[Content | None] = asyncio.Queue()
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._has_failed = False

    async def run(self, lines: AsyncIterator[bytes]) -> int:
        """Until the other side has nothing more to say. 1 if the last turn failed."""
        talking = asyncio.create_task(self._talk())
        try:
            async for line in lines:
                self._hear(line)
            self._inbox.put_nowait(None)
            await talking
        finally:
            for task in (talking, *self._tasks.values()):
                task.cancel()
            await asyncio.gather(talking, *self._tasks.values(), return_exceptions=True)
        return 1 if self._has_failed else 0

    # -- what is heard

    def _hear(self, line: bytes) -> None:
        try:
            said = decode(line)
        except ValueError:
            said = None
        match said:
            case {"type": "user", "message": {"content": str(text)}, "client_composed": True}:
                self._inbox.put_nowait([{"type": "text", "text": text}])  # as it is: no command, no mention
            case {"type": "user", "message": {"content": content}}:
                self._inbox.put_nowait(content)
            case {"type": "control_request", "request_id": str(number), "request": {"subtype": str(kind)} as request}:
                task = asyncio.create_task(self._obey(number, kind, request))
                self._tasks[number] = task
                task.add_done_callback(lambda _: self._tasks.pop(number, None))
                if kind == "initialize":
                    self._greeting = task
            case {"type": "control_response", "response": {"request_id": str(number)} as response}:
                if waiting := self._waiting.pop(number, None):
                    _settle(waiting, response)
            case {"type": "control_cancel_request", "request_id": str(number)} if number in self._tasks:
                self._tasks[number].cancel()

    async def _talk(self) -> None:
        """Prompts one after the other; at the end what agents in the background still bring."""
        while (content := await self._next()) is not None:
            try:
                session = await self._started()
                self._tell_state("running")
                saying = (
                    session.say(content) if isinstance(content, str) else session.engine.submit(UserPrompt(content))
                )
                self._has_failed = (await saying).is_error
            except ClewError as error:
                self._has_failed = True
                self._send(self._failed(str(error)))
            self._take_back()
            self._tell_state("idle")

    async def _next(self) -> Content | None:
        """The next prompt. What ends in the background before it comes is a turn of its own; None when all is over."""
        while self._session is not None:
            engine = self._session.engine
            taken = await unless(engine.news, self._taken())
            if taken is not None and (taken[0] is not None or not engine.is_awaited):
                return taken[0]
            self._tell_state("running")
            finished = await (engine.heed() if taken is None else engine.settle())
            self._has_failed = finished is not None and finished.is_error
            self._take_back()
            self._tell_state("idle")
            if taken is not None:
                return None
        return await self._inbox.get()

    async def _taken(self) -> tuple[Content | None]:
        return (await self._inbox.get(),)

    def _pass_on(self) -> None:
        """What was said while a call ran is heard with its result; a command, and what comes behind it, waits."""
        waiting = self._waiting_words()
        if self._session is not None and not self._session.engine.stopped.is_set():
            while waiting and waiting[0] is not None and not _is_command(waiting[0]):
                self._session.engine.queue(UserPrompt(waiting.pop(0) or ""))
        for content in waiting:
            self._inbox.put_nowait(content)

    def _take_back(self) -> None:
        """What the turn ended before it could be heard is said next."""
        passed = self._session.engine.dialogue.unqueue() if self._session is not None else []
        for content in (*(said.content for said in passed), *self._waiting_words()):
            self._inbox.put_nowait(content)

    def _waiting_words(self) -> list[Content | None]:
        return [self._inbox.get_nowait() for _ in range(self._inbox.qsize())]

    async def _started(self) -> Speaking:
        """The session, begun when it is known what the SDK brings."""
        if self._greeting is not None:
            await self._greeting
        async with self._starting:
            if self._session is None:
                self._session = await self._start(self._brought, self.tell)
                self._framing.session_id = self._session.engine.dialogue.session_id
                self._first_model = self._session.engine.dialogue.choice
                self._mode = self._session.engine.dialogue.mode
        return self._session

    def _interrupt(self) -> None:
        if self._session is not None:
            self._session.engine.interrupt()

    # -- what is asked of us

    async def _obey(self, number: str, kind: str, request: Json) -> None:
        try:
            answer = await self._done(kind, request)
        except ClewError as error:
            self._send(_response(number, error=str(error)))
        else:
            self._send(_response(number, answer))
            self._tell_mode()

    async def _done(self, kind: str, request: Json) -> Json:
        match kind:
            case "initialize":
                return await self._initialize(request)
            case "interrupt":
                self._interrupt()
                return {"still_queued": []}
            case "set_permission_mode":
                mode, _ = parse_mode(str(request.get("mode")))
                self._use_mode(await self._started(), mode)
                return {"mode": mode}
            case "set_model":
                return await self._use_model(str(request.get("model") or ""))
            case "rename_session":
                (await self._started()).engine.rename(str(request.get("title") or ""))
                return {}
            case "get_context_usage":
                return context((await self._started()).engine)
            case "rewind_files":
                from clew.chat.rewind.rewind_conversation import rewind_files

                message, is_dry = str(request.get("user_message_id")), bool(request.get("dry_run"))
                return await rewind_files((await self._started()).engine, message, is_dry=is_dry)
            case "stop_task":
                await (await self._started()).engine.stop_task(str(request.get("task_id")))
                return {}
            case "mcp_status":
                return {"mcpServers": self._framing.listed.get("mcp_servers", [])}
        raise ClewError(f"Unsupported control request: {kind}.")

    async def _initialize(self, request: Json) -> Json:
        self._brought = await brought(request, self._servers, self._ask)
        return self._greet(self._brought)

    async def _use_model(self, name: str) -> Json:
        """Choose another model, or without a name the first one again, and print it as the command `/model` does."""
        engine = (await self._started()).engine
        model = self._first_model if name in ("", "default") else choose(name)
        engine.use_model(model)
        self._send(self._framing.printed(f"Set model to `{model}`"))
        return {"model": model}

    # -- what we ask

    async def _permit(self, told: events.PermissionAsked) -> None:
        session = await self._started()
        self._tell_question(1)
        try:
            answer = await self._ask("can_use_tool", sdk_permission.asked(told, session.engine))
            for update in sdk_permission.updates(answer):
                self._update(session, update)
        except ClewError as error:
            answer = {"behavior": "deny", "message": str(error)}
        finally:
            self._tell_question(-1)
        if answer.get("interrupt"):
            self._interrupt()
        with suppress(asyncio.InvalidStateError):  # it was broken off meanwhile
            told.answer.set_result(sdk_permission.decided(answer))

    def _update(self, session: Speaking, update: Json) -> None:
        """Change permissions as the SDK's user has decided."""
        try:
            mode = session.permissions.apply(update)
            if mode is not None:
                self._use_mode(session, mode)
        except (ClewError, OSError) as error:
            self._remark(f"clew: {error}")
        self._tell_mode()

    def _use_mode(self, session: Speaking, mode: Mode) -> None:
        if mode == "bypassPermissions" and not self._may_bypass:
            raise ClewError(f"The session was not started with {BYPASS}, and the mode cannot be bypassPermissions.")
        session.engine.use_mode(mode)

    def _tell_question(self, change: int) -> None:
        self._questions += change
        if self._questions == (change > 0):
            self._tell_state("requires_action" if change > 0 else "running")

    async def _question(self, told: events.QuestionAsked) -> None:
        """A question for the person goes the way of permissions: the answers come in the input."""
        asked = {"tool_name": "AskUserQuestion", "input": {"questions": list(told.questions)}}
        self._tell_question(1)
        try:
            answer = await self._ask("can_use_tool", {**asked, "tool_use_id": told.call_id})
        except ClewError:
            answer = {}
        finally:
            self._tell_question(-1)
        given = answer.get("updatedInput") or {}
        with suppress(asyncio.InvalidStateError):
            told.answer.set_result(given.get("answers") or {})

    async def _ask(self, kind: str, fields: Json) -> Json:
        """Ask the SDK, and wait for its answer. Raises ClewError if that is an error."""
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

    # -- what is told

    def tell(self, told: Event) -> None:
        """An event of the engine. Questions are asked, everything else is framed."""
        match told:
            case events.PermissionAsked():
                self._keep(self._permit(told))
            case events.QuestionAsked():
                self._keep(self._question(told))
            case events.Noted():
                self._remark(f"clew: {told.text}")
            case _:
                self._tell_mode()
                for frame in self._framing.frames(told):
                    self._send(frame)
                if isinstance(told, events.Answered) and not told.agent:
                    self._pass_on()

    def _keep(self, asking: Any) -> None:
        number = str(uuid4())
        task = self._tasks[number] = asyncio.create_task(asking)
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    def _tell_mode(self) -> None:
        """The mode, if it has changed: by the SDK, by an answer of its user, or because a plan began or was accepted."""
        mode = self._session.engine.dialogue.mode if self._session else self._mode
        if mode != self._mode:
            self._mode = mode
            self._send(self._framing.system("status", status=None, permissionMode=mode))

    def _tell_state(self, state: str) -> None:
        if self._tells_state:
            self._send({**self._framing.system("session_state_changed", state=state), "sdk_host_only": True})

    def _failed(self, text: str) -> Json:
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
        if len(line) > LONGEST:
            line = encode(shortened(frame, len(line)))
        self._write(line + b"\n")


def _is_command(content: Content) -> bool:
    return isinstance(content, str) and content.lstrip().startswith("/")


def _settle(waiting: asyncio.Future[Json], response: Json) -> None:
    if waiting.done():
        return
    if response.get("subtype") == "error":
        waiting.set_exception(ClewError(str(response.get("error") or "The SDK gave no reason.")))
    else:
        waiting.set_result(response.get("response") or {})


def _response(number: str, answer: Json | None = None, error: str = "") -> Json:
    outcome: Json = {"subtype": "error", "error": error} if error else {"subtype": "success", "response": answer or {}}
    return {"type": "control_response", "response": {**outcome, "request_id": number}}
