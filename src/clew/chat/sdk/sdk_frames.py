"""Frames: what the engine tells, in the words of the Agent SDKs. One JSON object each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.chat import events
from clew.chat.events import Event
from clew.chat.sdk.result_json import result
from clew.chat.tools.tool import CallResult
from clew.version import __version__
from clew.wire.json_codec import Json

LONGEST = 900_000  # bytes of one line; the SDK for Python gives up above 1 MiB
INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_CALL = "[Request interrupted by user for tool use]"
_FAILURES = {401: "authentication_failed", 403: "authentication_failed", 429: "rate_limit", 400: "invalid_request"}


@dataclass
class Framing:
    """How frames are made for one listener."""

    session_id: str = ""
    new_id: Callable[[], str] = lambda: ""
    shows_partial: bool = False  # every event of the stream
    shows_prompts: bool = False  # what was said is said back
    shows_agents: bool = False  # also what agents say, not only what they do
    listed: Json = field(
        default_factory=dict
    )  # what the first frame of a turn lists: servers, commands, agents, skills
    _is_in_tool: bool = False
    _held: Json | None = None  # what was said before the turn began: it is told behind the first frame

    def frames(self, told: Event) -> Iterator[Json]:
        """The frames of an event, in order; none for what the listener does not want."""
        if not told.agent and isinstance(told, events.BlockSaid | events.Answered | events.Begun):
            self._is_in_tool = isinstance(told, events.Answered)
        match told:
            case events.Begun() if not told.agent:
                self.session_id = told.session_id
                yield self._began(told)
                if self._held is not None:
                    yield self._held
                    self._held = None
            case events.Prompted() if self.shows_prompts and not told.agent:
                said = {**self._user(told.content, told), "uuid": told.uuid, "isReplay": True}
                if told.is_queued:
                    yield said
                else:
                    self._held = said
            case events.Streamed() if self.shows_partial:
                yield self._frame("stream_event", told, event=told.event)
            case events.BlockSaid():
                if not told.agent or self.shows_agents or _acts(told.message):
                    yield {**self._frame("assistant", told, message=told.message), "uuid": told.uuid}
            case events.Answered():
                yield self._answered(told)
            case events.TurnFinished() if not told.agent:
                yield from self._finished(told)
            case _:
                yield from self._status(told)

    def _frame(self, kind: str, told: Event, **fields: Any) -> Json:
        return {
            "type": kind,
            **fields,
            "parent_tool_use_id": told.agent or None,
            "session_id": self.session_id,
            "uuid": self.new_id(),
        }

    def system(self, subtype: str, **fields: Any) -> Json:
        """Something that the program says of itself."""
        return {
            "type": "system",
            "subtype": subtype,
            **fields,
            "session_id": self.session_id,
            "uuid": self.new_id(),
        }

    def _began(self, told: events.Begun) -> Json:
        offered: Json = {"mcp_servers": [], "slash_commands": [], "agents": [], "skills": [], "plugins": []}
        return self.system(
            "init",
            cwd=told.cwd,
            tools=list(told.tools),
            model=told.model,
            permissionMode=told.mode,
            claude_code_version=__version__,
            output_style="default",
            **{"apiKeySource": "none", **offered, **self.listed},
        )

    def printed(self, text: str) -> Json:
        """What a command of the program's own prints."""
        said = f"<local-command-stdout>{text}</local-command-stdout>"
        return {**self._user(said, Event()), "isReplay": True}

    def _user(self, content: Any, told: Event) -> Json:
        said = content if isinstance(content, str) else list(content)
        return self._frame("user", told, message={"role": "user", "content": said})

    def _answered(self, told: events.Answered) -> Json:
        result = told.result
        content = result.content if isinstance(result.content, str) else list(result.content)
        block: Json = {"type": "tool_result", "tool_use_id": told.call_id, "content": content}
        if result.is_error:
            block["is_error"] = True
        frame = self._frame("user", told, message={"role": "user", "content": [block]})
        return {**frame, "uuid": told.uuid, "tool_use_result": _detail(result)}

    def _status(self, told: Event) -> Iterator[Json]:
        match told:
            case events.Retried():
                yield self.system(
                    "api_retry",
                    attempt=told.number,
                    max_retries=told.of,
                    retry_delay_ms=round(told.delay * 1000),
                    error_status=told.status,
                    error=told.message,
                )
            case events.CompactionDone():
                yield self.system(
                    "compact_boundary", compact_metadata={"trigger": told.trigger, "pre_tokens": told.before}
                )
                yield {**self._user(told.summary, told), "isSynthetic": True}
            case events.AgentBegun():
                yield self.system(
                    "task_started",
                    task_id=told.agent_id,
                    tool_use_id=told.agent or None,
                    description=told.description,
                    task_type="local_agent",
                )
            case events.AgentEnded():
                yield self.system(
                    "task_notification",
                    task_id=told.agent_id,
                    tool_use_id=told.agent or None,
                    status=told.status,
                    output_file=told.output_file,
                    summary=told.summary,
                    usage=told.usage,
                )
            case events.TaskLeft(kind="local_bash"):
                yield self.system(
                    "task_started",
                    task_id=told.task_id,
                    tool_use_id=told.call_id,
                    description=told.title,
                    task_type=told.kind,
                )
            case events.TaskEnded(kind="local_bash"):
                yield self.system(
                    "task_notification",
                    task_id=told.task_id,
                    tool_use_id=told.call_id,
                    status="stopped" if told.status == "killed" else told.status,
                    output_file=told.output_file,
                    summary=told.summary,
                )

    def _finished(self, told: events.TurnFinished) -> Iterator[Json]:
        if told.is_interrupted:
            text = INTERRUPTED_CALL if self._is_in_tool else INTERRUPTED
            yield self._user([{"type": "text", "text": text}], told)
        elif told.status is not None and told.errors:
            yield self._failure(told)
        yield self.result(told)

    def _failure(self, told: events.TurnFinished) -> Json:
        """An error of the API, said in the model's place."""
        said = {"type": "text", "text": f"API Error: {told.status} {' '.join(told.errors)}"}
        message = {
            "id": self.new_id(),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [said],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        kind = _FAILURES.get(told.status or 0, "server_error" if (told.status or 0) >= 500 else "unknown")
        return {**self._frame("assistant", told, message=message), "error": kind, "api_error_status": told.status}

    def result(self, told: events.TurnFinished) -> Json:
        return result(told, self.session_id, self.new_id())


def _acts(message: Json) -> bool:
    return any(block.get("type") == "tool_use" for block in message.get("content") or ())


def _detail(result: CallResult) -> Any:
    if result.is_error and result.detail is None:
        return f"Error: {result.content}" if isinstance(result.content, str) else "Error"
    return result.detail


def shortened(frame: Json, size: int) -> Json:
    """A frame that is too long for one line, without what made it so."""
    kept = {name: value for name, value in frame.items() if name != "tool_use_result"}
    message = kept.get("message")
    if not isinstance(message, dict):
        return kept
    content = message.get("content")
    blocks: Sequence[Any] = content if isinstance(content, list) else ()
    return {**kept, "message": {**message, "content": [_short(block, size) for block in blocks] or _cut(content, size)}}


def _short(block: Any, size: int) -> Any:
    if not isinstance(block, dict):
        return block
    return {name: _cut(value, size) if name in ("content", "text") else value for name, value in block.items()}


def _cut(value: Any, size: int) -> Any:
    note = f"(left out: the line would have {size} bytes)"
    if isinstance(value, str):
        return value if len(value) <= LONGEST // 4 else f"{value[: LONGEST // 4]}\n{note}"
    return [{"type": "text", "text": note}] if isinstance(value, list) else value
