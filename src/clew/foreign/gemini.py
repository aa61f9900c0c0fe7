"""Read Gemini CLI chats (`.json` of 0.20, `.jsonl` of 0.61), checkpoints and prompt logs.

They are in `~/.gemini/tmp/<project>/chats/session-*`. The lines of a `.jsonl` are a log of changes: a message is
written again whenever it changes, `$set` replaces fields of the record, and `$rewindTo` removes a message and all
after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from clew.foreign.conversation_steps import Conversation, StepRecorder
from clew.foreign.image_blocks import file_block
from clew.foreign.json_values import (
    build_usage,
    get_count,
    get_object,
    get_objects,
    get_text,
    parse_time,
    read_document,
    read_document_or_part,
    read_records,
)
from clew.wire.json_codec import Json, encode

TOOL = "gemini"
_CONTEXT = ("<session_context>", "This is the Gemini CLI. We are setting up the context")
_FOLDER = re.compile(r"(?:Workspace Directories:\**\s*\n\s*-\s*|working in the directory: )(/[^\n]+)")


def find(folder: Path) -> Iterator[Path]:
    yield from folder.rglob("chats/session-*.json")
    yield from folder.rglob("chats/session-*.jsonl")
    yield from folder.rglob("checkpoint-*.json")


def fits(path: Path, head: Json) -> bool:
    is_chat = "sessionId" in head and ("projectHash" in head or "messageId" in head)
    is_history = isinstance(head.get("parts"), list) or "clientHistory" in head
    is_checkpoint = isinstance(head.get("history"), list) and path.name.startswith("checkpoint")
    return is_chat or is_history or is_checkpoint


def read(path: Path) -> Iterator[Conversation]:
    scribe = StepRecorder()
    if path.suffix == ".jsonl":
        record = _replay_changes(path, scribe)
    else:
        content = read_document_or_part(path, scribe.problems)
        if isinstance(content, list) and any("messageId" in item for item in get_objects(content)):
            yield from _read_prompt_log(path, get_objects(content))
            return
        record = content if isinstance(content, dict) else {"history": content}
    _take_record(scribe, record)
    yield _build_conversation(path, record, scribe)


def _build_conversation(path: Path, record: Json, scribe: StepRecorder) -> Conversation:
    scribe.close()
    metadata = {key: value for key, value in record.items() if key not in ("messages", "history", "clientHistory")}
    scribe.keep("session", metadata)
    return Conversation(
        tool=TOOL,
        id=get_text(record, "sessionId") or str(path),
        path=str(path),
        steps=tuple(scribe.steps),
        cwd=_find_cwd(path, record),
        title=get_text(record, "summary"),
        problems=tuple(scribe.problems),
    )


def _replay_changes(path: Path, scribe: StepRecorder) -> Json:
    """Return the record that results from a log of changes. A compression becomes a message of type `summary`."""
    record: Json = {}
    messages: dict[str, Json] = {}
    for _, change in read_records(path, scribe):
        fields = get_object(change, "$set")
        if isinstance(target := change.get("$rewindTo"), str):
            ids = list(messages)
            for id in ids[ids.index(target) :] if target in messages else ids:
                scribe.keep("undone message", messages.pop(id))
        elif isinstance(change.get("id"), str):
            messages[change["id"]] = change
        elif "messages" in fields:
            _replace_messages(messages, get_objects(fields["messages"]), scribe)
            record.update({key: value for key, value in fields.items() if key != "messages"})
        else:
            record.update(fields or {key: value for key, value in change.items() if key != "messages"})
            messages.update({get_text(m, "id"): m for m in get_objects(change.get("messages"))})
    return {**record, "messages": list(messages.values())}


def _replace_messages(messages: dict[str, Json], new: list[Json], scribe: StepRecorder) -> None:
    """Replace the messages that the model knows: by fewer of them, or by a summary."""
    ids = {get_text(message, "id") for message in new}
    if ids <= messages.keys():
        for id in [id for id in messages if id not in ids]:
            scribe.keep("undone message", messages.pop(id))
    elif not any(m.get("type") == "gemini" for m in messages.values()):
        messages.update({get_text(message, "id"): message for message in new})
    else:
        fresh = [message for message in new if get_text(message, "id") not in messages]
        summary_text = "\n\n".join(filter(None, (_plain_text(message.get("content")) for message in fresh)))
        id = f"summary {len(messages)}"
        messages[id] = {
            "id": id,
            "type": "summary",
            "content": summary_text,
            "timestamp": get_text(fresh[0], "timestamp"),
        }


def _read_prompt_log(path: Path, rows: list[Json]) -> Iterator[Conversation]:
    """Yield the conversations of `logs.json`, which contains only prompts."""
    for id in dict.fromkeys(get_text(row, "sessionId") for row in rows):
        scribe = StepRecorder()
        for row in rows:
            if get_text(row, "sessionId") == id:
                time = parse_time(row.get("timestamp"))
                if row.get("type") == "user" and not get_text(row, "message").startswith(("/", "?")):
                    scribe.prompt(get_text(row, "message"), time)
                else:
                    scribe.keep(get_text(row, "type") or "row", row, time)
        yield _build_conversation(path, {"sessionId": f"{id}/logs" if id else ""}, scribe)


# -- what was said


def _take_record(scribe: StepRecorder, record: Json) -> None:
    messages = get_objects(record.get("messages"))
    late = {get_text(r, "id"): r for m in messages for p in _parts(m.get("content")) if (r := _response(p))}
    for message in messages:
        _take_message(scribe, message, late)
    for index, content in enumerate(get_objects(record.get("clientHistory") or record.get("history"))):
        _take_checkpoint_content(scribe, content, index)


def _take_message(scribe: StepRecorder, message: Json, late: dict[str, Json]) -> None:
    time = parse_time(message.get("timestamp"))
    match get_text(message, "type"):
        case "user":
            _take_prompt(scribe, message, time)
        case "gemini":
            scribe.say(_plain_text(message.get("content")), time, extra=_remaining_fields(message))
            for thought in get_objects(message.get("thoughts")):
                scribe.think(get_text(thought, "description"), time, original=thought)
            calls = get_objects(message.get("toolCalls"))
            for call in calls:
                scribe.call(get_text(call, "id"), get_text(call, "name"), get_object(call, "args"), time)
            scribe.close(_convert_usage(get_object(message, "tokens")), get_text(message, "model"))
            for call in calls:
                _take_result(scribe, call, late)
        case "summary":
            scribe.summary(get_text(message, "content"), time)
        case kind:
            scribe.keep(f"{kind or 'unknown'} message", message, time)


def _take_prompt(scribe: StepRecorder, message: Json, time: datetime | None) -> None:
    parts = _parts(message.get("content"))
    prompt = _plain_text(message.get("content"))
    if parts and all(_response(part) for part in parts):
        return  # repeats results of earlier calls
    if prompt.startswith(_CONTEXT) or prompt.lstrip().startswith(("/", "?")):
        scribe.keep("user message", message, time)
    else:
        scribe.prompt(_content_blocks(parts), time, extra=_remaining_fields(message))


_CONVERTED_KEYS = {"type", "content", "timestamp", "thoughts", "toolCalls", "tokens", "model"}


def _remaining_fields(message: Json) -> Json:
    return {key: value for key, value in message.items() if key not in _CONVERTED_KEYS}


def _take_result(scribe: StepRecorder, call: Json, late: dict[str, Json]) -> None:
    id, time = get_text(call, "id"), parse_time(call.get("timestamp"))
    parts = _parts(call.get("result"))
    answers = [r for part in parts if (r := _response(part))] or ([late[id]] if id in late else [])
    aside = {key: call[key] for key in ("status", "resultDisplay", "description") if call.get(key)} or None
    failed = call.get("status") in ("error", "cancelled")
    if answers or parts or failed:
        blocks: list[Json] = [block for answer in answers for block in _response_blocks(answer)]
        blocks += _content_blocks([part for part in parts if not _response(part)])
        only = blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else tuple(blocks)
        is_error = failed or any("error" in get_object(answer, "response") for answer in answers)
        scribe.result(id, only, time, is_error=is_error, aside=aside)


def _response_blocks(answer: Json) -> Iterator[Json]:
    response = get_object(answer, "response")
    response_text = get_text(response, "output", "error")
    if not response_text and response.keys() - {"output"}:
        response_text = encode(response).decode("utf-8", "replace")
    yield {"type": "text", "text": response_text}
    yield from _content_blocks(get_objects(answer.get("parts")))


def _take_checkpoint_content(scribe: StepRecorder, content: Json, position: int) -> None:
    """Take one content of a checkpoint, in the form of an API request."""
    parts = _parts(content.get("parts"))
    if content.get("role") == "model":
        calls = 0
        for part in parts:
            if call := get_object(part, "functionCall"):
                scribe.call(
                    get_text(call, "id") or f"{position}_{calls}", get_text(call, "name"), get_object(call, "args")
                )
                calls += 1
            elif part.get("thought"):
                scribe.think(get_text(part, "text"), original=part)
            else:
                scribe.say(get_text(part, "text"))
        scribe.close()
        return
    answers = [answer for part in parts if (answer := _response(part))]
    for index, answer in enumerate(answers):  # those without an id answer the calls of the content before, in order
        id = get_text(answer, "id") or f"{position - 1}_{index}"
        scribe.result(id, tuple(_response_blocks(answer)), is_error="error" in get_object(answer, "response"))
    other_parts = [part for part in parts if not _response(part)]
    if _plain_text(other_parts).startswith(_CONTEXT):
        scribe.keep("user message", content)
    else:
        scribe.prompt(_content_blocks(other_parts))


def _response(part: Json) -> Json:
    return get_object(part, "functionResponse")


def _parts(value: Any) -> list[Json]:
    """Return the parts of a content: a text, one part, or a list of both."""
    parts = value if isinstance(value, list) else [value]
    return get_objects([{"text": part} if isinstance(part, str) else part for part in parts])


def _plain_text(value: Any) -> str:
    return "".join(get_text(part, "text") for part in _parts(value) if not part.get("thought"))


def _content_blocks(parts: list[Json]) -> tuple[Json, ...]:
    blocks = []
    for part in parts:
        data = get_object(part, "inlineData") or get_object(part, "inline_data")
        if data:
            blocks.append(file_block(get_text(data, "mimeType", "mime_type"), data.get("data")))
        elif get_text(part, "text"):
            blocks.append({"type": "text", "text": part["text"]})
        elif uri := get_text(get_object(part, "fileData"), "fileUri"):
            blocks.append({"type": "text", "text": f"[File: {uri}]"})
    return tuple(blocks)


def _convert_usage(tokens: Json) -> Json:
    """Convert token counts: `input` includes cached tokens; thoughts are counted apart from the output."""
    read = get_count(tokens, "cached")
    fresh = max(0, get_count(tokens, "input") + get_count(tokens, "tool") - read)
    return build_usage(fresh, get_count(tokens, "output") + get_count(tokens, "thoughts"), read)


def _find_cwd(path: Path, record: Json) -> str:
    """Find the project folder: in `.project_root`, in the first messages, or by the hash of a known project."""
    for folder in path.parents[:3]:
        root = folder / ".project_root"
        if root.is_file():
            return root.read_text(encoding="utf-8", errors="replace").strip()
    for source in ("messages", "history", "clientHistory"):
        for message in get_objects(record.get(source))[:2]:
            message_text = _plain_text(message.get("content") or message.get("parts"))
            if match := _FOLDER.search(message_text):
                return match[1].strip()
    project_hash = get_text(record, "projectHash") or path.parent.parent.name
    register = path.parents[3] / "projects.json" if len(path.parents) > 3 else path
    known = read_document(register) if register.is_file() else None
    paths = [str(name) for name in get_object(known, "projects")]
    return next((name for name in paths if sha256(name.encode()).hexdigest() == project_hash), "")
