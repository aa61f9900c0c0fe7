"""Read OpenCode sessions from a database (`opencode.db`, 1.18) or from files below `storage/` (1.1).

Both contain the same objects. The oldest form stores them below `storage/session/`, with the parts inside the
messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from clew.foreign.conversation_steps import Content, Conversation, StepRecorder
from clew.foreign.image_blocks import image_block
from clew.foreign.json_values import (
    build_usage,
    get_count,
    get_object,
    get_objects,
    get_text,
    parse_time,
    read_document,
    read_document_or_part,
)
from clew.system.sqlite_file import DAMAGE
from clew.wire.json_codec import Json, decode_readable

TOOL = "opencode"
_DEFAULT_TITLES = ("New session - ", "Child session - ")
_IGNORED_PARTS = ("step-start",)  # these carry no information


class _StoredSession(Struct, frozen=True):
    """A stored session: its record, and each message with its parts."""

    info: Json
    messages: Sequence[tuple[Json, list[Json]]]
    problems: tuple[str, ...] = ()


def find(folder: Path) -> Iterator[Path]:
    for base in (folder, folder / "opencode"):
        yield from base.glob("opencode*.db")
        for root in (base, base / "storage", *base.glob("project/*/storage")):
            yield from root.glob("session/*/ses_*.json")


def fits(path: Path, head: Json) -> bool:
    is_export = isinstance(head.get("info"), dict) and get_text(head["info"], "id").startswith("ses_")
    return path.suffix == ".db" or is_export or get_text(head, "id").startswith("ses_")


def read(path: Path) -> Iterator[Conversation]:
    for stored in _read_database(path) if path.suffix == ".db" else _read_files(path):
        yield _build_conversation(stored, path)


# -- the stores


def _read_files(path: Path) -> Iterator[_StoredSession]:
    problems: list[str] = []
    content = read_document_or_part(path, problems)
    info: Json = content if isinstance(content, dict) else {"id": path.stem}
    if isinstance(info.get("info"), dict):  # the output of `opencode export`
        exported = [(get_object(m, "info"), get_objects(m.get("parts"))) for m in get_objects(info.get("messages"))]
        yield _StoredSession(info["info"], exported, tuple(problems))
        return
    is_old = path.parent.name == "info"
    root = path.parent.parent if is_old else path.parent.parent.parent
    messages = []
    for message in _read_objects(root / "message" / path.stem, problems):
        part_folder = (
            root / "part" / path.stem / get_text(message, "id") if is_old else root / "part" / get_text(message, "id")
        )
        parts = (
            [*get_objects(message.get("parts")), *_read_objects(part_folder, problems)]
            if get_text(message, "id")
            else []
        )
        messages.append((message, parts))
    yield _StoredSession({"id": path.stem, **info}, messages, tuple(problems))


def _read_objects(folder: Path, problems: list[str]) -> Iterator[Json]:
    for path in sorted(folder.glob("*.json")):
        value = read_document(path)
        if isinstance(value, dict):
            yield {"id": path.stem, **value}
        else:
            problems.append(f"{path.name}: not a JSON object")


def _read_database(path: Path) -> Iterator[_StoredSession]:
    import apsw

    try:
        base = apsw.Connection(
            f"{path.absolute().as_uri()}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        with base:
            sessions = [
                _session_record(row, names)
                for row, names in _query(base, "SELECT * FROM session ORDER BY time_updated DESC")
            ]
            for info in sessions:
                try:
                    stored = _read_session(base, info)
                except UnicodeDecodeError as error:  # the other conversations can be read
                    stored = _StoredSession(info, [], (f"{path.name}: {error}",))
                yield stored
    except (*DAMAGE, apsw.SQLError, apsw.CantOpenError, UnicodeDecodeError) as error:
        yield _StoredSession({"id": str(path)}, [], (f"{path.name}: {error}",))


def _read_session(base: Any, info: Json) -> _StoredSession:
    problems: list[str] = []
    parts: dict[str, list[Json]] = {}
    query = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
    for (id, message, data), _ in _query(base, query, info.get("id")):
        parts.setdefault(message, []).append({"id": id, **_decode_object(data, f"part {id}", problems)})
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    messages = [
        ({"id": id, **_decode_object(data, f"message {id}", problems)}, parts.get(id, []))
        for (id, data), _ in _query(base, query, info.get("id"))
    ]
    return _StoredSession(info, messages, tuple(problems))


def _query(base: Any, query: str, *parameters: Any) -> Iterator[tuple[Any, list[str]]]:
    cursor = base.execute(query, parameters)
    for row in cursor:
        yield row, [column[0] for column in cursor.get_description()]


def _session_record(row: Sequence[Any], names: list[str]) -> Json:
    """Return the row of a session in the form of its file."""
    record = dict(zip(names, row, strict=True))
    for key in ("revert", "model", "summary_diffs", "permission", "metadata"):
        if isinstance(record.get(key), str):
            record[key] = _decode_object(record[key], key, [])
    return record


def _decode_object(value: Any, location: str, problems: list[str]) -> Json:
    try:
        decoded = decode_readable(value.encode() if isinstance(value, str) else bytes(value or b""))
    except (ValueError, TypeError):
        decoded = None
    if isinstance(decoded, dict):
        return decoded
    if not isinstance(decoded, list):
        problems.append(f"{location}: not a JSON object")
    return {}


# -- what was said


def _build_conversation(stored: _StoredSession, path: Path) -> Conversation:
    info, scribe = stored.info, StepRecorder()
    scribe.keep("session", info)
    undone = get_text(get_object(info, "revert"), "messageID")
    cwd = get_text(info, "directory")
    for message, parts in stored.messages:
        if undone and get_text(message, "id") >= undone:
            scribe.keep("undone message", {"message": message, "parts": parts})
        elif get_text(message, "role") == "user":
            _take_prompt(scribe, message, parts)
        else:
            cwd = cwd or get_text(get_object(message, "path"), "cwd")
            _take_reply(scribe, message, parts)
    scribe.close()
    title = get_text(info, "title")
    return Conversation(
        tool=TOOL,
        id=get_text(info, "id") or str(path),
        path=str(path),
        steps=tuple(scribe.steps),
        version=get_text(info, "version"),
        cwd=cwd,
        title="" if title.startswith(_DEFAULT_TITLES) else title,
        problems=stored.problems,
    )


def _take_prompt(scribe: StepRecorder, message: Json, parts: list[Json]) -> None:
    """Add a prompt; files that the program read for it come before it, as a note."""
    time = parse_time(get_object(message, "time").get("created"))
    notes: list[Json] = []
    blocks: list[Json] = []
    for part in parts:
        block = {"type": "text", "text": get_text(part, "text")}
        match get_text(part, "type"):
            case "text" if part.get("ignored") is not True:
                (notes if part.get("synthetic") is True else blocks).append(block)
            case "file" if get_text(part, "mime").startswith("image/") or get_text(part, "url").startswith("data:"):
                blocks.append(image_block(part.get("url")))
            case kind:
                scribe.keep(kind or "part", part, time)
    scribe.prompt(tuple(notes), time, is_note=True)
    scribe.prompt(tuple(blocks), time)
    scribe.keep("user message", message, time)


def _take_reply(scribe: StepRecorder, message: Json, parts: list[Json]) -> None:
    times = get_object(message, "time")
    time, model = parse_time(times.get("created")), get_text(message, "modelID")
    if message.get("summary") is True:
        scribe.summary("\n\n".join(get_text(part, "text") for part in parts if part.get("type") == "text"), time)
        scribe.keep("summary message", {"message": message, "parts": parts}, time)
        return
    waiting: list[Json] = []
    has_usage = False
    for part in parts:
        match get_text(part, "type"):
            case "text" if part.get("ignored") is not True:
                scribe.say(get_text(part, "text"), parse_time(get_object(part, "time").get("start")) or time)
            case "reasoning":
                signature = get_text(get_object(part, "metadata", "anthropic"), "signature")
                scribe.think(get_text(part, "text"), time, signature=signature, original=part)
            case "tool" | "tool-invocation":
                waiting.append(_take_call(scribe, part, time))
            case "step-finish":
                has_usage = True
                scribe.close(_convert_usage(get_object(part, "tokens")), model)
                _take_results(scribe, waiting)
                scribe.keep("step-finish", part, time)
            case kind if kind not in _IGNORED_PARTS:
                scribe.keep(kind or "part", part, time)
    scribe.close({} if has_usage else _convert_usage(get_object(message, "tokens")), model)
    _take_results(scribe, waiting)
    scribe.keep("assistant message", message, parse_time(times.get("completed")) or time)


def _take_call(scribe: StepRecorder, part: Json, time: Any) -> Json:
    """Add a call and return its state; its result is added when the reply is complete."""
    old = get_object(part, "toolInvocation")
    state = get_object(part, "state")
    if old:
        part = {"callID": get_text(old, "toolCallId"), "tool": get_text(old, "toolName")}
        done = old.get("state") == "result"
        state = {"input": old.get("args"), "status": "completed" if done else "", "output": old.get("result")}
    id = get_text(part, "callID", "id")
    scribe.call(id, get_text(part, "tool") or "tool", get_object(state, "input"), time)
    return {"id": id, "state": state}


def _take_results(scribe: StepRecorder, waiting: list[Json]) -> None:
    for call in waiting:
        state = call["state"]
        time = parse_time(get_object(state, "time").get("end"))
        aside = {key: state[key] for key in ("title", "metadata") if state.get(key)} or None
        if state.get("status") == "completed":
            scribe.result(call["id"], _result_content(state), time, aside=aside)
        elif state.get("status") == "error":
            scribe.result(call["id"], get_text(state, "error"), time, is_error=True, aside=aside)
        else:
            scribe.keep("unfinished call", call, time)
    waiting.clear()


def _result_content(state: Json) -> Content:
    output_text = get_text(state, "output")
    pictures = [image_block(file.get("url")) for file in get_objects(state.get("attachments"))]
    return ({"type": "text", "text": output_text}, *pictures) if pictures else output_text


def _convert_usage(tokens: Json) -> Json:
    cache = get_object(tokens, "cache")
    fresh, read, written = get_count(tokens, "input"), get_count(cache, "read"), get_count(cache, "write")
    output = get_count(tokens, "output") + get_count(tokens, "reasoning")
    if total := get_count(tokens, "total"):
        output = max(0, total - fresh - read - written)
    return build_usage(fresh, output, read, written)
