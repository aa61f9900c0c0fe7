"""Build the lines that clew writes into session files, as pure functions.

All lines use one dialect that every version reads: the fields of 2.1.29, a linear chain, one line per block.
`version` states that format level, not a program; the extra field `writer`, which every version ignores, names clew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from clew.chat.tools.tool import CallResult, Content
from clew.version import __version__
from clew.wire.json_codec import Json

LEVEL = "2.1.29"
WRITER = f"clew/{__version__}"
SYNTHETIC = "<synthetic>"
INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_IN_TOOL = "[Request interrupted by user for tool use]"
MAX_LAST_PROMPT = 200
NO_LINE = "00000000-0000-0000-0000-000000000000"  # a uuid that no line has

_NO_USAGE: Json = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
    "service_tier": None,
}


class Envelope(Struct, frozen=True):
    """The fields that all lines of a conversation share."""

    session_id: str
    cwd: str
    branch: str = ""
    name: str = ""  # the generated name of the session, three words
    entrypoint: str = "cli"
    agent_id: str = ""  # in the file of a subagent, whose lines are all sidechain

    def chained(self, body: Mapping[str, Any], uuid: str, parent: str | None, time: str) -> Json:
        """Return a line of the chain: the shared fields and `body`."""
        logical = {"logicalParentUuid": body["logicalParentUuid"]} if "logicalParentUuid" in body else {}
        head: Json = {
            "parentUuid": parent,
            **logical,
            "isSidechain": bool(self.agent_id),
            "userType": "external",
            "entrypoint": self.entrypoint,
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": LEVEL,
            "writer": WRITER,
            "gitBranch": self.branch,
        }
        if self.agent_id:
            head["agentId"] = self.agent_id
        if self.name:
            head["slug"] = self.name
        return {**head, **body, "uuid": uuid, "timestamp": time}


# -- user lines and tool results


def prompt(content: Content, mode: str, todos: Sequence[Json] = ()) -> Json:
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "todos": list(todos),
        "permissionMode": mode,
    }


def plain(content: Content) -> Json:
    """Return a user line without mode and todos, as in the file of a subagent."""
    return {"type": "user", "message": {"role": "user", "content": content}}


def note(content: Content, call_id: str = "") -> Json:
    """Return a text for the model that the user did not write; `call_id` is set if a tool added it."""
    body: Json = {"type": "user", "message": {"role": "user", "content": content}, "isMeta": True}
    return body | ({"sourceToolUseID": call_id} if call_id else {})


def result(call_id: str, outcome: CallResult, source: str, is_agent: bool = False) -> Json:
    """Return the result of a call; `source` is the uuid of the call's line. Subagent files omit `toolUseResult`."""
    content = outcome.content if isinstance(outcome.content, str) else list(outcome.content)
    if outcome.is_error:
        block: Json = {"type": "tool_result", "content": content, "is_error": True, "tool_use_id": call_id}
    else:
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        if isinstance(outcome.detail, dict) and "interrupted" in outcome.detail:
            block["is_error"] = False  # shell results always have the field
    body: Json = {"type": "user", "message": {"role": "user", "content": [block]}}
    if not is_agent:
        body["toolUseResult"] = outcome.detail if outcome.detail is not None else _plain_record(outcome)
    return body | {"sourceToolAssistantUUID": source}


def _plain_record(outcome: CallResult) -> str:
    text = outcome.content if isinstance(outcome.content, str) else ""
    return f"Error: {text}" if outcome.is_error else text


def interrupted(in_tool: bool) -> Json:
    text = INTERRUPTED_IN_TOOL if in_tool else INTERRUPTED
    return {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}


# -- assistant lines


def reply_block(message: Mapping[str, Any], block: Json, request_id: str, stop: str | None, usage: Any) -> Json:
    """One block of a reply. Only the last line of a reply has its stop reason and complete usage."""
    reply = {
        "id": message.get("id"),
        "type": "message",
        "role": "assistant",
        "model": message.get("model"),
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": message.get("stop_sequence") if stop else None,
        "usage": usage,
    }
    return {"message": reply, **({"requestId": request_id} if request_id else {}), "type": "assistant"}


def synthetic(text: str, ident: str) -> Json:
    """Return an assistant line that the program wrote in place of the model."""
    reply = {
        "id": ident,
        "type": "message",
        "role": "assistant",
        "model": SYNTHETIC,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": _NO_USAGE,
    }
    return {"type": "assistant", "message": reply}


def api_error(text: str, ident: str, kind: str, status: int | None) -> Json:
    """Return the API failure that ended a turn."""
    body = synthetic(text, ident) | {"error": kind, "isApiErrorMessage": True}
    return body | ({"apiErrorStatus": status} if status is not None else {})


# -- system lines


def system(subtype: str, level: str = "info", **fields: Any) -> Json:
    return {"type": "system", "subtype": subtype, "isMeta": False, "level": level, **fields}


def retry(message: str, status: int | None, delay: float, number: int, of: int, usage: Json) -> Json:
    """Return a failed attempt; `usage` is what it was charged, which no other line states."""
    error = {"message": message, **({"status": status} if status is not None else {})}
    wait = round(delay * 1000)
    return system(
        "api_error", "error", error=error, retryInMs=wait, retryAttempt=number, maxRetries=of, **_usage_field(usage)
    )


def _usage_field(usage: Json) -> Json:
    return {"usage": usage} if usage else {}


def turn_duration(milliseconds: int, messages: int) -> Json:
    return system("turn_duration", durationMs=milliseconds, messageCount=messages)


def boundary(leaf: str | None, trigger: str, tokens: int, usage: Json) -> Json:
    """Return the boundary of a compaction: lines before it are no longer sent. `usage` is that of the summary."""
    metadata = {"trigger": trigger, "preTokens": tokens, **_usage_field(usage)}
    return {"logicalParentUuid": leaf} | system(
        "compact_boundary", content="Conversation compacted", compactMetadata=metadata
    )


def summary(text: str) -> Json:
    body = {"type": "user", "message": {"role": "user", "content": text}}
    return body | {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}


def progress(data: Json, ident: str, call_id: str) -> Json:
    return {"type": "progress", "data": data, "toolUseID": ident, "parentToolUseID": call_id}


# -- lines outside the chain


def queued(operation: str, session_id: str, time: str, content: Content | None = None) -> Json:
    body: Json = {"type": "queue-operation", "operation": operation, "timestamp": time, "sessionId": session_id}
    return body | ({"content": content} if content is not None else {})


def snapshot(message: str, owner: str, backups: Mapping[str, Json], time: str) -> Json:
    """Return the saved files at a prompt (`owner`); an update if another line (`message`) added files."""
    inner = {"messageId": owner, "trackedFileBackups": dict(backups), "timestamp": time}
    return {
        "type": "file-history-snapshot",
        "messageId": message,
        "snapshot": inner,
        "isSnapshotUpdate": message != owner,
    }


def last_prompt(text: str, leaf: str, session_id: str) -> Json:
    """Return the line that states where to resume and what the last prompt was."""
    short = " ".join(text.split())[:MAX_LAST_PROMPT]
    prompt_field = {"lastPrompt": short} if short else {}
    return {"type": "last-prompt", **prompt_field, "leafUuid": leaf, "sessionId": session_id}


def pin(leaf: str | None, session_id: str) -> Json:
    """Resume from this line and no other; None cancels earlier pins."""
    return {"type": "last-prompt", "leafUuid": leaf or NO_LINE, "sessionId": session_id, "explicit": True}


def title(text: str, session_id: str) -> Json:
    return {"type": "custom-title", "customTitle": text, "sessionId": session_id}


def headline(text: str, leaf: str) -> Json:
    """Return the `summary` line of old readers: the title of the conversation up to a leaf."""
    return {"type": "summary", "summary": text, "leafUuid": leaf}


def pull_request(number: int, url: str, repository: str, session_id: str, time: str) -> Json:
    return {
        "type": "pr-link",
        "sessionId": session_id,
        "prNumber": number,
        "prUrl": url,
        "prRepository": repository,
        "timestamp": time,
    }
