"""Write a conversation as a Codex CLI rollout, which `codex resume` continues and `clew import` reads back.

Codex ignores the field `clew` of a line. It marks what clew wrote, so that an import takes it literally, and has the
original call where the line has a translated one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from clew.foreign.json_values import get_object, get_text
from clew.foreign.outgoing import Outgoing, OutgoingMessage
from clew.version import __version__
from clew.wire.json_codec import Json, encode
from clew.wire.timestamps import format_timestamp

FORMAT_VERSION = "0.166.0"  # older versions, from 0.50 on, read the same lines
MARK = "clew"
_BASH_INPUTS = {"command": "command", "description": "description", "timeout": "timeout_ms"}


def file_name(conversation: Outgoing) -> str:
    return f"rollout-{conversation.start.astimezone():%Y-%m-%dT%H-%M-%S}-{conversation.id}.jsonl"


def place(home: str, conversation: Outgoing) -> Path:
    """Return where Codex looks for a rollout below its folder of sessions."""
    return Path(home, f"{conversation.start.astimezone():%Y/%m/%d}", file_name(conversation))


def resume_arguments(conversation: Outgoing) -> tuple[str, ...]:
    return ("codex", "resume", conversation.id)


def build(conversation: Outgoing) -> Iterator[Json]:
    """Yield the lines of a rollout."""
    start = format_timestamp(conversation.start)
    meta: Json = {
        "id": conversation.id,
        "session_id": conversation.id,
        "timestamp": start,
        "cwd": conversation.cwd or os.sep,
    }
    meta |= {"originator": f"clew/{__version__}", "cli_version": FORMAT_VERSION, "source": "cli", "instructions": None}
    if conversation.branch:
        meta["git"] = {"branch": conversation.branch}
    records: list[tuple[str, datetime, Json, Json | None]] = [
        ("session_meta", conversation.start, meta, {"session": conversation.source})
    ]
    for message in conversation.messages:
        records += _records(message)
    for ordinal, (kind, time, payload, mark) in enumerate(records):
        line: Json = {"timestamp": format_timestamp(time), "ordinal": ordinal, "type": kind, "payload": payload}
        yield line if mark is None else {**line, MARK: mark}


def _records(message: OutgoingMessage) -> Iterator[tuple[str, datetime, Json, Json | None]]:
    """Yield the items of a message; each text is followed by the event from which Codex shows it."""
    is_reply = message.role == "assistant"
    marks: Json = {"model": message.model} if message.model else {}
    said: list[Json] = []
    for block in (*message.blocks, None):
        is_said = block is not None and block["type"] in ("text", "image")
        if is_said and block is not None:
            said.append(_content(block, "output_text" if is_reply else "input_text"))
        if said and (not is_said or is_reply):
            yield "response_item", message.time, {"type": "message", "role": message.role, "content": said}, marks
            text = "".join(get_text(part, "text") for part in said)
            event = "agent_message" if is_reply else "user_message"
            yield "event_msg", message.time, {"type": event, "message": text}, None
            said = []
        if block is not None and not is_said:
            payload, mark = _call(block) if block["type"] == "tool_use" else _output(block)
            yield "response_item", message.time, payload, marks | mark


def _content(block: Json, text_type: str) -> Json:
    if block["type"] == "text":
        return {"type": text_type, "text": block["text"]}
    source = get_object(block, "source")
    data = f"data:{get_text(source, 'media_type')};base64,{get_text(source, 'data')}"
    return {"type": "input_image", "image_url": get_text(source, "url") or data}


def _call(block: Json) -> tuple[Json, Json]:
    name, given = block["name"], block.get("input")
    translated = _translate(name, given)
    arguments = given if translated is None else translated[1]
    item = {"type": "function_call", "name": translated[0] if translated else name, "call_id": block["id"]}
    return {**item, "arguments": encode(arguments).decode()}, {"name": name, "input": given} if translated else {}


def _output(block: Json) -> tuple[Json, Json]:
    content = block.get("content", "")
    if isinstance(content, list):
        content = [_content(part, "input_text") for part in content]
        if len(content) == 1 and content[0]["type"] == "input_text":
            content = content[0]["text"]
    mark: Json = {"is_error": True} if block.get("is_error") else {}
    return {"type": "function_call_output", "call_id": block["tool_use_id"], "output": content or ""}, mark


def _translate(name: str, given: object) -> tuple[str, Json] | None:
    """Return a call of a tool that Codex has under another name; None if it has none, or not with these inputs."""
    if name == "Bash" and isinstance(given, dict) and "command" in given and _BASH_INPUTS.keys() >= given.keys():
        return "shell_command", {_BASH_INPUTS[key]: value for key, value in given.items()}
    todos = given.get("todos") if name == "TodoWrite" and isinstance(given, dict) else None
    if isinstance(todos, list) and all(isinstance(todo, dict) for todo in todos):
        return "update_plan", {"plan": [{"step": todo.get("content"), "status": todo.get("status")} for todo in todos]}
    return None
