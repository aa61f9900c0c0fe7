"""Convert events of an engine into the JSON messages of the Agent SDKs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from clew.api.token_estimate import CHARACTERS_PER_TOKEN
from clew.chat import events
from clew.chat.events import Event
from clew.chat.sdk.result_json import result
from clew.chat.sdk.task_frames import TaskFrames
from clew.chat.tools.tool import CallResult, text_of
from clew.version import __version__
from clew.wire.json_codec import Json

MAX_LINE = 900_000  # bytes of one line; the Python SDK fails above 1 MiB
INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_CALL = "[Request interrupted by user for tool use]"
CAPABILITIES = ("interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1")  # of the control protocol
_FAILURES = {401: "authentication_failed", 403: "authentication_failed", 429: "rate_limit", 400: "invalid_request"}


@dataclass
class FrameBuilder:
    """Builds the messages for one listener."""

    session_id: str = ""
    new_id: Callable[[], str] = lambda: ""
    shows_partial: bool = False  # send every event of the API stream
    shows_prompts: bool = False  # send prompts back
    shows_agents: bool = False  # send the text of subagents too, not only their calls
    shows_hooks: bool = False  # send when any hook starts and ends, and not only those at the start of a session
    listed: Json = field(default_factory=dict)  # servers, commands, agents and skills for the init message
    prompt_uuid: str = ""  # of the prompt that the SDK sent, if it named one
    _thinking_tokens: int = 0  # estimated, of the current reply
    _is_in_tool: bool = False
    _held: Json | None = None  # a prompt before the turn started; it is sent after the init message
    _tasks: TaskFrames = field(init=False)

    def __post_init__(self) -> None:
        self._tasks = TaskFrames(self.new_id)

    def for_session(self, session_id: str, listed: Json) -> FrameBuilder:
        """Return a builder for the session that was opened; `listed` is added to its init message."""
        return replace(self, session_id=session_id, listed={**self.listed, **listed})

    def frames(self, event: Event) -> Iterator[Json]:
        """Yield the messages of an event, in order; none if the listener does not want them."""
        if not event.agent and isinstance(event, events.BlockCompleted | events.CallFinished | events.TurnStarted):
            self._is_in_tool = isinstance(event, events.CallFinished)
        match event:
            case events.TurnStarted() if not event.agent:
                self.session_id = event.session_id
                yield self._init(event)
                if self._held is not None:
                    yield self._held
                    self._held = None
            case events.PromptRecorded() if event.agent:
                if not event.is_queued and not self._tasks.is_background(event):
                    yield {**self._user([{"type": "text", "text": text_of(event.content)}], event), "uuid": event.uuid}
            case events.PromptRecorded() if self.shows_prompts:
                prompt = {**self._user(event.content, event), "uuid": event.uuid, "isReplay": True}
                if event.is_queued:
                    yield prompt
                else:
                    self._held = prompt
            case events.StopBlocked() if not event.agent:
                feedback = self._user([{"type": "text", "text": event.text}], event)
                yield {**feedback, "uuid": event.uuid, "isSynthetic": True}
            case events.StreamEvent():
                yield from self._stream(event)
            case events.BlockCompleted():
                yield from self._tasks.frames(event, self.system)
                if not event.agent or self.shows_agents or _has_call(event.message) or self._tasks.is_background(event):
                    yield self._assistant(event)
            case events.CallFinished():
                yield self._call_result(event)
            case events.TurnFinished() if not event.agent:
                yield from self._finish(event)
            case events.HookStarted():
                if self.shows_hooks or event.hook_event == "SessionStart":
                    yield self._hook(event)
            case events.Notice() if event.hook:
                level = "notice" if event.level == "info" else event.level
                yield self.system("informational", content=f"{event.hook} says: {event.text}", level=level)
            case _:
                yield from self._status(event)

    def _frame(self, kind: str, source: Event, **fields: Any) -> Json:
        return {
            "type": kind,
            **fields,
            "parent_tool_use_id": source.agent or None,
            **self._tasks.agent_fields(source),
            "session_id": self.session_id,
            "uuid": self.new_id(),
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }

    def _assistant(self, event: events.BlockCompleted) -> Json:
        frame = {**self._frame("assistant", event, message=event.message), "uuid": event.uuid}
        if event.request_id:
            frame["request_id"] = event.request_id
        if self.prompt_uuid and not event.agent:
            frame |= {"user_message_uuid": self.prompt_uuid, "user_message_uuids": [self.prompt_uuid]}
        return frame

    def _stream(self, event: events.StreamEvent) -> Iterator[Json]:
        """Yield the raw event if the listener wants it, and the estimated size of thinking in any case."""
        match event.event:
            case {"type": "message_start"} if not event.agent:
                self._thinking_tokens = 0
            case {"delta": {"type": "thinking_delta", "thinking": str(text)}} if not event.agent and text:
                delta = -(-len(text) // CHARACTERS_PER_TOKEN)
                self._thinking_tokens += delta
                total = self._thinking_tokens
                yield self.system("thinking_tokens", estimated_tokens=total, estimated_tokens_delta=delta)
        if self.shows_partial:
            yield self._frame("stream_event", event, event=event.event)

    def system(self, subtype: str, **fields: Any) -> Json:
        """Return a system message."""
        return {
            "type": "system",
            "subtype": subtype,
            **fields,
            "session_id": self.session_id,
            "uuid": self.new_id(),
        }

    def _hook(self, event: events.HookStarted) -> Json:
        fields: Json = {"hook_id": event.hook_id, "hook_name": event.hook_name, "hook_event": event.hook_event}
        if not isinstance(event, events.HookFinished):
            return self.system("hook_started", **fields)
        outcome = "cancelled" if event.code is None else "error" if event.code else "success"
        ended: Json = {"output": event.stdout + event.stderr, "stdout": event.stdout, "stderr": event.stderr}
        code = {} if event.code is None else {"exit_code": event.code}
        return self.system("hook_response", **fields, **ended, **code, outcome=outcome)

    def _init(self, event: events.TurnStarted) -> Json:
        offered: Json = {"mcp_servers": [], "slash_commands": [], "agents": [], "skills": [], "plugins": []}
        return self.system(
            "init",
            cwd=event.cwd,
            tools=list(event.tools),
            model=event.model,
            permissionMode=event.mode,
            claude_code_version=__version__,
            **{"output_style": "default", "apiKeySource": "none", **offered, **self.listed},
            capabilities=list(CAPABILITIES),
            **({"user_message_uuids": [self.prompt_uuid]} if self.prompt_uuid else {}),
        )

    def printed(self, text: str) -> Json:
        """Return the output of a slash command."""
        text_block = f"<local-command-stdout>{text}</local-command-stdout>"
        return {**self._user(text_block, Event()), "isReplay": True}

    def _user(self, content: Any, event: Event) -> Json:
        plain_content = content if isinstance(content, str) else list(content)
        return self._frame("user", event, message={"role": "user", "content": plain_content})

    def _call_result(self, event: events.CallFinished) -> Json:
        result = event.result
        content = result.content if isinstance(result.content, str) else list(result.content)
        block: Json = {"type": "tool_result", "tool_use_id": event.call_id, "content": content}
        if result.is_error or event.name == "Bash":  # shell results always have the field
            block["is_error"] = result.is_error
        frame = self._frame("user", event, message={"role": "user", "content": [block]})
        return {**frame, "uuid": event.uuid, "tool_use_result": _detail(result)}

    def _status(self, event: Event) -> Iterator[Json]:
        match event:
            case events.RequestRetried():
                yield self.system(
                    "api_retry",
                    attempt=event.number,
                    max_retries=event.of,
                    retry_delay_ms=round(event.delay * 1000),
                    error_status=event.status,
                    error=event.message,
                )
            case events.CallDenied():
                agent = {"agent_id": agent_id} if (agent_id := self._tasks.agent_fields(event).get("agent_id")) else {}
                names = {"tool_name": event.name, "tool_use_id": event.call_id}
                yield self.system("permission_denied", **names, **agent, message=event.message)
            case events.RequestStarted() if self.shows_partial and not event.agent:
                yield self.system("status", status="requesting")
            case events.CompactionStarted() if not event.agent:
                yield self.system("status", status="compacting")
            case events.CompactionEnded() if not event.agent:
                yield self.system("status", status=None, compact_result="success" if event.is_success else "failed")
            case events.CommandOutput() if not event.agent:
                yield self.printed(event.text)
            case events.ConversationCompacted():
                sizes = {"pre_tokens": event.before, "post_tokens": event.after}
                yield self.system("compact_boundary", compact_metadata={"trigger": event.trigger, **sizes})
                yield {**self._user(event.summary, event), "isSynthetic": True}
            case _:
                yield from self._tasks.frames(event, self.system)

    def _finish(self, event: events.TurnFinished) -> Iterator[Json]:
        if event.is_interrupted:
            text = INTERRUPTED_CALL if self._is_in_tool else INTERRUPTED
            yield self._user([{"type": "text", "text": text}], event)
        elif event.status is not None and event.errors:
            yield self._failure(event)
        yield self.result(event)

    def _failure(self, event: events.TurnFinished) -> Json:
        """Return an API error as an assistant message."""
        text_block = {"type": "text", "text": f"API Error: {event.status} {' '.join(event.errors)}"}
        message = {
            "id": self.new_id(),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [text_block],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        kind = _FAILURES.get(event.status or 0, "server_error" if (event.status or 0) >= 500 else "unknown")
        return {**self._frame("assistant", event, message=message), "error": kind, "api_error_status": event.status}

    def failed_result(self, text: str) -> Json:
        """Return the result of a prompt for which no turn could start."""
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
        return self.result(done)

    def result(self, event: events.TurnFinished) -> Json:
        return result(event, self.session_id, self.new_id())


def _has_call(message: Json) -> bool:
    return any(block.get("type") == "tool_use" for block in message.get("content") or ())


def _detail(result: CallResult) -> Any:
    if result.is_error and result.detail is None:
        return f"Error: {result.content}" if isinstance(result.content, str) else "Error"
    return result.detail


def shorten_frame(frame: Json, size: int) -> Json:
    """Return a message that is too long for one line, with its long parts truncated."""
    fields = {name: value for name, value in frame.items() if name != "tool_use_result"}
    message = fields.get("message")
    if not isinstance(message, dict):
        return fields
    content = message.get("content")
    blocks: Sequence[Any] = content if isinstance(content, list) else ()
    return {
        **fields,
        "message": {**message, "content": [_short(block, size) for block in blocks] or _cut(content, size)},
    }


def _short(block: Any, size: int) -> Any:
    if not isinstance(block, dict):
        return block
    return {name: _cut(value, size) if name in ("content", "text") else value for name, value in block.items()}


def _cut(value: Any, size: int) -> Any:
    note = f"(left out: the line would have {size} bytes)"
    if isinstance(value, str):
        return value if len(value) <= MAX_LINE // 4 else f"{value[: MAX_LINE // 4]}\n{note}"
    return [{"type": "text", "text": note}] if isinstance(value, list) else value
