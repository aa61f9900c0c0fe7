"""Gemini CLI: chats, `~/.gemini/tmp/<project>/chats/session-*.json` (0.20) and `.jsonl` (0.61), checkpoints and logs.

The lines of a `.jsonl` are a log of changes: a message is written again whenever it changes, `$set` replaces fields of the
record and `$rewindTo` takes back a message and all behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from clew.foreign.conversation_steps import Conversation, Scribe
from clew.foreign.image_blocks import embedded
from clew.foreign.json_values import (
    document,
    document_or_part,
    number,
    object_of,
    objects,
    records,
    text,
    time_of,
    usage,
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
    scribe = Scribe()
    if path.suffix == ".jsonl":
        record = _replayed(path, scribe)
    else:
        found = document_or_part(path, scribe.problems)
        if isinstance(found, list) and any("messageId" in item for item in objects(found)):
            yield from _logged(path, objects(found))
            return
        record = found if isinstance(found, dict) else {"history": found}
    _told(scribe, record)
    yield _conversation(path, record, scribe)


def _conversation(path: Path, record: Json, scribe: Scribe) -> Conversation:
    scribe.close()
    kept = {key: value for key, value in record.items() if key not in ("messages", "history", "clientHistory")}
    scribe.keep("session", kept)
    return Conversation(
        tool=TOOL,
        id=text(record, "sessionId") or str(path),
        path=str(path),
        steps=tuple(scribe.steps),
        cwd=_cwd(path, record),
        title=text(record, "summary"),
        problems=tuple(scribe.problems),
    )


def _replayed(path: Path, scribe: Scribe) -> Json:
    """The record that a log of changes comes to. A compression is told by a message of the type `summary`."""
    record: Json = {}
    messages: dict[str, Json] = {}
    for _, change in records(path, scribe):
        fields = object_of(change, "$set")
        if isinstance(target := change.get("$rewindTo"), str):
            ids = list(messages)
            for id in ids[ids.index(target) :] if target in messages else ids:
                scribe.keep("undone message", messages.pop(id))
        elif isinstance(change.get("id"), str):
            messages[change["id"]] = change
        elif "messages" in fields:
            _replace(messages, objects(fields["messages"]), scribe)
            record.update({key: value for key, value in fields.items() if key != "messages"})
        else:
            record.update(fields or {key: value for key, value in change.items() if key != "messages"})
            messages.update({text(m, "id"): m for m in objects(change.get("messages"))})
    return {**record, "messages": list(messages.values())}


def _replace(messages: dict[str, Json], new: list[Json], scribe: Scribe) -> None:
    """The model knows these messages from here on: fewer of the old ones, or a summary of them."""
    ids = {text(message, "id") for message in new}
    if ids <= messages.keys():
        for id in [id for id in messages if id not in ids]:
            scribe.keep("undone message", messages.pop(id))
    elif not any(m.get("type") == "gemini" for m in messages.values()):
        messages.update({text(message, "id"): message for message in new})
    else:
        fresh = [message for message in new if text(message, "id") not in messages]
        words = "\n\n".join(filter(None, (_words(message.get("content")) for message in fresh)))
        id = f"summary {len(messages)}"
        messages[id] = {"id": id, "type": "summary", "content": words, "timestamp": text(fresh[0], "timestamp")}


def _logged(path: Path, rows: list[Json]) -> Iterator[Conversation]:
    """The prompts alone, which is all that `logs.json` holds."""
    for id in dict.fromkeys(text(row, "sessionId") for row in rows):
        scribe = Scribe()
        for row in rows:
            if text(row, "sessionId") == id:
                time = time_of(row.get("timestamp"))
                if row.get("type") == "user" and not text(row, "message").startswith(("/", "?")):
                    scribe.prompt(text(row, "message"), time)
                else:
                    scribe.keep(text(row, "type") or "row", row, time)
        yield _conversation(path, {"sessionId": f"{id}/logs" if id else ""}, scribe)


# -- what was said


def _told(scribe: Scribe, record: Json) -> None:
    messages = objects(record.get("messages"))
    late = {text(r, "id"): r for m in messages for p in _parts(m.get("content")) if (r := _response(p))}
    for message in messages:
        _message(scribe, message, late)
    for place, content in enumerate(objects(record.get("clientHistory") or record.get("history"))):
        _turn(scribe, content, place)


def _message(scribe: Scribe, message: Json, late: dict[str, Json]) -> None:
    time = time_of(message.get("timestamp"))
    match text(message, "type"):
        case "user":
            _asked(scribe, message, time)
        case "gemini":
            scribe.say(_words(message.get("content")), time, extra=_rest(message))
            for thought in objects(message.get("thoughts")):
                scribe.think(text(thought, "description"), time, original=thought)
            calls = objects(message.get("toolCalls"))
            for call in calls:
                scribe.call(text(call, "id"), text(call, "name"), object_of(call, "args"), time)
            scribe.close(_usage(object_of(message, "tokens")), text(message, "model"))
            for call in calls:
                _result(scribe, call, late)
        case "summary":
            scribe.summary(text(message, "content"), time)
        case kind:
            scribe.keep(f"{kind or 'unknown'} message", message, time)


def _asked(scribe: Scribe, message: Json, time: datetime | None) -> None:
    parts = _parts(message.get("content"))
    words = _words(message.get("content"))
    if parts and all(_response(part) for part in parts):
        return  # said again, of the calls before
    if words.startswith(_CONTEXT) or words.lstrip().startswith(("/", "?")):
        scribe.keep("user message", message, time)
    else:
        scribe.prompt(_content(parts), time, extra=_rest(message))


_SAID = {"type", "content", "timestamp", "thoughts", "toolCalls", "tokens", "model"}


def _rest(message: Json) -> Json:
    return {key: value for key, value in message.items() if key not in _SAID}


def _result(scribe: Scribe, call: Json, late: dict[str, Json]) -> None:
    id, time = text(call, "id"), time_of(call.get("timestamp"))
    parts = _parts(call.get("result"))
    answers = [r for part in parts if (r := _response(part))] or ([late[id]] if id in late else [])
    aside = {key: call[key] for key in ("status", "resultDisplay", "description") if call.get(key)} or None
    failed = call.get("status") in ("error", "cancelled")
    if answers or parts or failed:
        blocks: list[Json] = [block for answer in answers for block in _answer(answer)]
        blocks += _content([part for part in parts if not _response(part)])
        only = blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else tuple(blocks)
        is_error = failed or any("error" in object_of(answer, "response") for answer in answers)
        scribe.result(id, only, time, is_error=is_error, aside=aside)


def _answer(answer: Json) -> Iterator[Json]:
    response = object_of(answer, "response")
    words = text(response, "output", "error")
    if not words and response.keys() - {"output"}:
        words = encode(response).decode("utf-8", "replace")
    yield {"type": "text", "text": words}
    yield from _content(objects(answer.get("parts")))


def _turn(scribe: Scribe, content: Json, place: int) -> None:
    """One content of a checkpoint: the form in which the model is asked."""
    parts = _parts(content.get("parts"))
    if content.get("role") == "model":
        calls = 0
        for part in parts:
            if call := object_of(part, "functionCall"):
                scribe.call(text(call, "id") or f"{place}_{calls}", text(call, "name"), object_of(call, "args"))
                calls += 1
            elif part.get("thought"):
                scribe.think(text(part, "text"), original=part)
            else:
                scribe.say(text(part, "text"))
        scribe.close()
        return
    answers = [answer for part in parts if (answer := _response(part))]
    for index, answer in enumerate(answers):  # those without an id answer the calls of the content before, in order
        id = text(answer, "id") or f"{place - 1}_{index}"
        scribe.result(id, tuple(_answer(answer)), is_error="error" in object_of(answer, "response"))
    rest = [part for part in parts if not _response(part)]
    if _words(rest).startswith(_CONTEXT):
        scribe.keep("user message", content)
    else:
        scribe.prompt(_content(rest))


def _response(part: Json) -> Json:
    return object_of(part, "functionResponse")


def _parts(value: Any) -> list[Json]:
    """Parts, however they are written: a text, one part, or a list of both."""
    found = value if isinstance(value, list) else [value]
    return objects([{"text": part} if isinstance(part, str) else part for part in found])


def _words(value: Any) -> str:
    return "".join(text(part, "text") for part in _parts(value) if not part.get("thought"))


def _content(parts: list[Json]) -> tuple[Json, ...]:
    found = []
    for part in parts:
        data = object_of(part, "inlineData") or object_of(part, "inline_data")
        if data:
            found.append(embedded(text(data, "mimeType", "mime_type"), data.get("data")))
        elif text(part, "text"):
            found.append({"type": "text", "text": part["text"]})
        elif uri := text(object_of(part, "fileData"), "fileUri"):
            found.append({"type": "text", "text": f"[File: {uri}]"})
    return tuple(found)


def _usage(tokens: Json) -> Json:
    """`input` counts what came out of the cache too; thoughts are counted apart from the output."""
    read = number(tokens, "cached")
    fresh = max(0, number(tokens, "input") + number(tokens, "tool") - read)
    return usage(fresh, number(tokens, "output") + number(tokens, "thoughts"), read)


def _cwd(path: Path, record: Json) -> str:
    """The project: a file beside the chats names it, or the first message; else the hash of a known one."""
    for folder in path.parents[:3]:
        root = folder / ".project_root"
        if root.is_file():
            return root.read_text(encoding="utf-8", errors="replace").strip()
    for source in ("messages", "history", "clientHistory"):
        for message in objects(record.get(source))[:2]:
            words = _words(message.get("content") or message.get("parts"))
            if found := _FOLDER.search(words):
                return found[1].strip()
    asked = text(record, "projectHash") or path.parent.parent.name
    register = path.parents[3] / "projects.json" if len(path.parents) > 3 else path
    known = document(register) if register.is_file() else None
    paths = [str(name) for name in object_of(known, "projects")]
    return next((name for name in paths if sha256(name.encode()).hexdigest() == asked), "")
