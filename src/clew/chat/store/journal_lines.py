"""Entries that clew writes: the shapes of its lines, as pure functions.

One dialect for all readers: the fields of 2.1.29, a linear chain, one line for each block. `version` names that level of the
format and not a program; who wrote the line is in `writer`, an extra field, which every version leaves alone.
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
LONGEST_PROMPT = 200
NOWHERE = "00000000-0000-0000-0000-000000000000"  # the uuid of no line

_NO_USAGE: Json = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
    "service_tier": None,
}


class Envelope(Struct, frozen=True):
    """What all lines of a conversation share."""

    session_id: str
    cwd: str
    branch: str = ""
    name: str = ""  # the three words of a session
    entrypoint: str = "cli"
    agent_id: str = ""  # of an agent's own file, whose lines are all a sidechain

    def chained(self, body: Mapping[str, Any], uuid: str, parent: str | None, time: str) -> Json:
        """A line of the chain."""
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


# -- what the person and the tools say


def prompt(content: Content, mode: str, todos: Sequence[Json] = ()) -> Json:
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "todos": list(todos),
        "permissionMode": mode,
    }


def plain(content: Content) -> Json:
    """The first line of an agent's file."""
    return {"type": "user", "message": {"role": "user", "content": content}}


def note(content: Content, call_id: str = "") -> Json:
    """A text for the model that no person wrote; of a call if it has one."""
    body: Json = {"type": "user", "message": {"role": "user", "content": content}, "isMeta": True}
    return body | ({"sourceToolUseID": call_id} if call_id else {})


def result(call_id: str, found: CallResult, source: str, is_agent: bool = False) -> Json:
    """What came of a call; `source` is the line of the call. In an agent's file the record is left out."""
    content = found.content if isinstance(found.content, str) else list(found.content)
    if found.is_error:
        block: Json = {"type": "tool_result", "content": content, "is_error": True, "tool_use_id": call_id}
    else:
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        if isinstance(found.detail, dict) and "interrupted" in found.detail:
            block["is_error"] = False  # what a shell answers says so
    body: Json = {"type": "user", "message": {"role": "user", "content": [block]}}
    if not is_agent:
        body["toolUseResult"] = found.detail if found.detail is not None else _told(found)
    return body | {"sourceToolAssistantUUID": source}


def _told(found: CallResult) -> str:
    text = found.content if isinstance(found.content, str) else ""
    return f"Error: {text}" if found.is_error else text


def interrupted(in_tool: bool) -> Json:
    text = INTERRUPTED_IN_TOOL if in_tool else INTERRUPTED
    return {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}


# -- what the model says


def said(message: Mapping[str, Any], block: Json, request_id: str, stop: str | None, usage: Any) -> Json:
    """One block of a reply. Only the last line of a reply tells why it stopped and what it took in all."""
    told = {
        "id": message.get("id"),
        "type": "message",
        "role": "assistant",
        "model": message.get("model"),
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": message.get("stop_sequence") if stop else None,
        "usage": usage,
    }
    return {"message": told, **({"requestId": request_id} if request_id else {}), "type": "assistant"}


def synthetic(text: str, ident: str) -> Json:
    """Words in the model's name that it never said."""
    told = {
        "id": ident,
        "type": "message",
        "role": "assistant",
        "model": SYNTHETIC,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": _NO_USAGE,
    }
    return {"type": "assistant", "message": told}


def api_error(text: str, ident: str, kind: str, status: int | None) -> Json:
    """The failure that ended a turn."""
    body = synthetic(text, ident) | {"error": kind, "isApiErrorMessage": True}
    return body | ({"apiErrorStatus": status} if status is not None else {})


# -- what the program says


def system(subtype: str, level: str = "info", **fields: Any) -> Json:
    return {"type": "system", "subtype": subtype, "isMeta": False, "level": level, **fields}


def retry(message: str, status: int | None, delay: float, number: int, of: int, usage: Json) -> Json:
    """A failed try; `usage` is what it was charged, which no other line tells."""
    error = {"message": message, **({"status": status} if status is not None else {})}
    wait = round(delay * 1000)
    return system(
        "api_error", "error", error=error, retryInMs=wait, retryAttempt=number, maxRetries=of, **_charged(usage)
    )


def _charged(usage: Json) -> Json:
    return {"usage": usage} if usage else {}


def turn_duration(milliseconds: int, messages: int) -> Json:
    return system("turn_duration", durationMs=milliseconds, messageCount=messages)


def boundary(leaf: str | None, trigger: str, tokens: int, usage: Json) -> Json:
    """Where a compaction cut: what stands above is not sent any more. `usage` is what the summary cost."""
    made = {"trigger": trigger, "preTokens": tokens, **_charged(usage)}
    return {"logicalParentUuid": leaf} | system(
        "compact_boundary", content="Conversation compacted", compactMetadata=made
    )


def summary(text: str) -> Json:
    body = {"type": "user", "message": {"role": "user", "content": text}}
    return body | {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}


def progress(data: Json, ident: str, call_id: str) -> Json:
    return {"type": "progress", "data": data, "toolUseID": ident, "parentToolUseID": call_id}


# -- lines beside the chain


def queued(operation: str, session_id: str, time: str, content: Content | None = None) -> Json:
    body: Json = {"type": "queue-operation", "operation": operation, "timestamp": time, "sessionId": session_id}
    return body | ({"content": content} if content is not None else {})


def snapshot(message: str, owner: str, backups: Mapping[str, Json], time: str) -> Json:
    """The saved files at a prompt (`owner`); an update if another line (`message`) made it grow."""
    inner = {"messageId": owner, "trackedFileBackups": dict(backups), "timestamp": time}
    return {
        "type": "file-history-snapshot",
        "messageId": message,
        "snapshot": inner,
        "isSnapshotUpdate": message != owner,
    }


def last_prompt(text: str, leaf: str, session_id: str) -> Json:
    """The pin: where to go on, and what was said last."""
    short = " ".join(text.split())[:LONGEST_PROMPT]
    told = {"lastPrompt": short} if short else {}
    return {"type": "last-prompt", **told, "leafUuid": leaf, "sessionId": session_id}


def pin(leaf: str | None, session_id: str) -> Json:
    """Go on from this line and from no other; with None the older pins count no longer."""
    return {"type": "last-prompt", "leafUuid": leaf or NOWHERE, "sessionId": session_id, "explicit": True}


def title(text: str, session_id: str) -> Json:
    return {"type": "custom-title", "customTitle": text, "sessionId": session_id}


def headline(text: str, leaf: str) -> Json:
    """The `summary` line of old readers: a title for the conversation up to a leaf."""
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
