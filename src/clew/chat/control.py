"""The control protocol: the door through which the Agent SDKs drive a session.

Both sides write one JSON object a line. The SDK sends prompts, asks for changes, and answers what it is asked: whether a
call may be made, what its hooks say, what its own tools do. The engine is started when the SDK has told what it brings.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

from clew.chat import event
from clew.chat.dialogue import Prompt
from clew.chat.engine import Engine
from clew.chat.event import Event, Tell
from clew.chat.frame import LONGEST, Framing, shortened
from clew.chat.hook import TIMEOUT, Hook
from clew.chat.mcp import Remote, tools_of
from clew.chat.permission.decision import Decision, known_mode
from clew.chat.tool import Content, Json
from clew.errors import ClewError
from clew.version import __version__
from clew.wire.encode import decode, encode

PROTOCOL = "2025-06-18"  # of MCP, for servers that live in the SDK's own process


@dataclass(frozen=True, slots=True)
class Brought:
    """What the SDK brings along: hooks and tools that live in its process, and agents that it describes."""

    hooks: tuple[Hook, ...] = ()
    tools: tuple[Remote, ...] = ()
    agents: Mapping[str, Json] = field(default_factory=dict)


class Speaking(Protocol):
    """A session that can be spoken to."""

    @property
    def engine(self) -> Engine: ...

    async def say(self, text: str) -> event.Finished:
        """What a person typed: commands and mentions are understood."""
        ...


Start = Callable[[Brought, Tell], Awaitable[Speaking]]
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
        listing: Json | None = None,
    ) -> None:
        """`servers` are those that live in the SDK's process; `listing` is what the answer to `initialize` holds."""
        self._write = write
        self._start = start
        self._framing = framing
        self._servers = servers
        self._tells_state = tells_state
        self._listing = listing or {}
        self._session: Speaking | None = None
        self._brought = Brought()
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
        """Prompts one after the other."""
        while (content := await self._inbox.get()) is not None:
            try:
                session = await self._started()
                self._tell_state("running")
                saying = session.say(content) if isinstance(content, str) else session.engine.submit(Prompt(content))
                self._has_failed = (await saying).is_error
            except ClewError as error:
                self._has_failed = True
                self._send(self._failed(str(error)))
            self._tell_state("idle")

    async def _started(self) -> Speaking:
        """The session, begun when it is known what the SDK brings."""
        if self._greeting is not None:
            await self._greeting
        async with self._starting:
            if self._session is None:
                self._session = await self._start(self._brought, self.tell)
                self._framing.session_id = self._session.engine.dialogue.session_id
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

    async def _done(self, kind: str, request: Json) -> Json:
        match kind:
            case "initialize":
                return await self._initialize(request)
            case "interrupt":
                self._interrupt()
                return {}
            case "set_permission_mode":
                mode, _ = known_mode(str(request.get("mode")))
                (await self._started()).engine.use_mode(mode)
                self._send(self._framing.system("status", status=None, permissionMode=mode))
                return {"mode": mode}
            case "set_model":
                engine = (await self._started()).engine
                engine.use_model(str(request.get("model") or engine.dialogue.model))
                return {}
            case "get_context_usage":
                return _context((await self._started()).engine)
            case "rewind_files":
                from clew.chat.back import rewind_files

                message, is_dry = str(request.get("user_message_id")), bool(request.get("dry_run"))
                return await rewind_files((await self._started()).engine, message, is_dry=is_dry)
            case "mcp_status":
                return {"mcpServers": self._framing.listed.get("mcp_servers", [])}
        raise ClewError(f"Unsupported control request: {kind}.")

    async def _initialize(self, request: Json) -> Json:
        hooks = tuple(self._hooks(request.get("hooks") or {}))
        tools = [tool for server in self._servers for tool in await self._tools(server)]
        agents = request.get("agents")
        self._brought = Brought(hooks, tuple(tools), agents if isinstance(agents, dict) else {})
        known = [{"name": server, "status": "connected"} for server in self._servers]
        self._framing.listed = {**self._framing.listed, "mcp_servers": known}
        return {
            "commands": [],
            "agents": [],
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": [],
            "account": {},
            "hooks_applied": True,
            "hook_on_failure_supported": True,
            "claude_code_version": __version__,
            **self._listing,
        }

    def _hooks(self, stated: Mapping[str, Any]) -> list[Hook]:
        return [
            Hook(
                name,
                self._hook(callback),
                str(group.get("matcher") or ""),
                float(group.get("timeout") or TIMEOUT),
                group.get("onFailure") == "block",
            )
            for name, groups in stated.items()
            for group in groups or ()
            for callback in group.get("hookCallbackIds") or ()
        ]

    # -- what we ask

    def _hook(self, callback: str) -> Callable[[Json], Awaitable[Json]]:
        async def run(payload: Json) -> Json:
            asked = {"callback_id": callback, "input": payload, "tool_use_id": payload.get("tool_use_id")}
            return await self._ask("hook_callback", asked)

        return run

    async def _tools(self, server: str) -> list[Remote]:
        """The tools of a server in the SDK's process."""
        about = {"name": "clew", "version": __version__}
        begun = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about}
        await self._message(server, "initialize", begun)
        await self._message(server, "notifications/initialized", None)
        listed = await self._message(server, "tools/list", {})

        async def call(name: str, given: Json) -> Json:
            return await self._message(server, "tools/call", {"name": name, "arguments": given})

        return tools_of(server, listed.get("tools") or (), call)

    async def _message(self, server: str, method: str, params: Json | None) -> Json:
        message: Json = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message |= {"id": str(uuid4()), "params": params}
        answer = await self._ask("mcp_message", {"server_name": server, "message": message})
        found = answer.get("mcp_response") or {}
        if "error" in found:
            raise ClewError(f"The server {server} refused {method}: {found['error'].get('message')}.")
        result: Json = found.get("result") or {}
        return result

    async def _permit(self, told: event.PermissionAsked) -> None:
        asked: Json = {
            "tool_name": told.name,
            "input": told.input,
            "permission_suggestions": [],
            "tool_use_id": told.call_id,
            "decision_reason": told.decision.reason or None,
            "blocked_path": told.decision.path,
        }
        try:
            answer = await self._ask("can_use_tool", asked)
        except ClewError as error:
            answer = {"behavior": "deny", "message": str(error)}
        if answer.get("interrupt"):
            self._interrupt()
        with suppress(asyncio.InvalidStateError):  # it was broken off meanwhile
            told.answer.set_result(_decision(answer))

    async def _question(self, told: event.QuestionAsked) -> None:
        """A question for the person goes the way of permissions: the answers come in the input."""
        asked = {"tool_name": "AskUserQuestion", "input": {"questions": list(told.questions)}}
        try:
            answer = await self._ask("can_use_tool", {**asked, "tool_use_id": told.call_id})
        except ClewError:
            answer = {}
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
            case event.PermissionAsked():
                self._keep(self._permit(told))
            case event.QuestionAsked():
                self._keep(self._question(told))
            case _:
                for frame in self._framing.frames(told):
                    self._send(frame)

    def _keep(self, asking: Any) -> None:
        number = str(uuid4())
        task = self._tasks[number] = asyncio.create_task(asking)
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    def _tell_state(self, state: str) -> None:
        if self._tells_state:
            self._send({**self._framing.system("session_state_changed", state=state), "sdk_host_only": True})

    def _failed(self, text: str) -> Json:
        done = event.Finished(
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


def _decision(answer: Json) -> Decision:
    if answer.get("behavior") == "allow":
        changed = answer.get("updatedInput")
        return Decision("allow", input=changed if isinstance(changed, dict) else None)
    return Decision("deny", message=str(answer.get("message") or "The user declined this call."))


def _context(engine: Engine) -> Json:
    size, window = engine.dialogue.size, engine.means.limits.window
    return {
        "totalTokens": size,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": round(100 * size / window, 1) if window else 0,
        "model": engine.dialogue.model,
        "categories": [{"name": "Messages", "tokens": size, "color": ""}],
    }
