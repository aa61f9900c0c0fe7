"""OpenCode: sessions, messages and parts, in a database (`opencode.db`, 1.18) or in files below `storage/` (1.1).

Both hold the same objects. The oldest form keeps them below `storage/session/` and the parts inside the messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.foreign.conversation_steps import Content, Conversation, Scribe
from clew.foreign.image_blocks import picture
from clew.foreign.json_values import document, document_or_part, number, object_of, objects, text, time_of, usage
from clew.system.sqlite_file import DAMAGE
from clew.wire.json_codec import Json, decode_readable

TOOL = "opencode"
_UNNAMED = ("New session - ", "Child session - ")
_QUIET = ("step-start",)  # nothing is told by them


@dataclass(frozen=True, slots=True)
class _Stored:
    """A session as the store holds it: its own record, and each message with its parts."""

    info: Json
    messages: Sequence[tuple[Json, list[Json]]]
    problems: tuple[str, ...] = ()


def find(folder: Path) -> Iterator[Path]:
    for base in (folder, folder / "opencode"):
        yield from base.glob("opencode*.db")
        for root in (base, base / "storage", *base.glob("project/*/storage")):
            yield from root.glob("session/*/ses_*.json")


def fits(path: Path, head: Json) -> bool:
    is_export = isinstance(head.get("info"), dict) and text(head["info"], "id").startswith("ses_")
    return path.suffix == ".db" or is_export or text(head, "id").startswith("ses_")


def read(path: Path) -> Iterator[Conversation]:
    for stored in _database(path) if path.suffix == ".db" else _files(path):
        yield _conversation(stored, path)


# -- the stores


def _files(path: Path) -> Iterator[_Stored]:
    problems: list[str] = []
    found = document_or_part(path, problems)
    info: Json = found if isinstance(found, dict) else {"id": path.stem}
    if isinstance(info.get("info"), dict):  # what `opencode export` prints
        told = [(object_of(m, "info"), objects(m.get("parts"))) for m in objects(info.get("messages"))]
        yield _Stored(info["info"], told, tuple(problems))
        return
    is_old = path.parent.name == "info"
    root = path.parent.parent if is_old else path.parent.parent.parent
    messages = []
    for message in _objects(root / "message" / path.stem, problems):
        where = root / "part" / path.stem / text(message, "id") if is_old else root / "part" / text(message, "id")
        parts = [*objects(message.get("parts")), *_objects(where, problems)] if text(message, "id") else []
        messages.append((message, parts))
    yield _Stored({"id": path.stem, **info}, messages, tuple(problems))


def _objects(folder: Path, problems: list[str]) -> Iterator[Json]:
    for path in sorted(folder.glob("*.json")):
        value = document(path)
        if isinstance(value, dict):
            yield {"id": path.stem, **value}
        else:
            problems.append(f"{path.name}: not a JSON object")


def _database(path: Path) -> Iterator[_Stored]:
    import apsw

    try:
        base = apsw.Connection(
            f"{path.absolute().as_uri()}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        with base:
            sessions = [
                _row(row, names) for row, names in _rows(base, "SELECT * FROM session ORDER BY time_updated DESC")
            ]
            for info in sessions:
                try:
                    stored = _stored(base, info)
                except UnicodeDecodeError as error:  # the other conversations can be read
                    stored = _Stored(info, [], (f"{path.name}: {error}",))
                yield stored
    except (*DAMAGE, apsw.SQLError, apsw.CantOpenError, UnicodeDecodeError) as error:
        yield _Stored({"id": str(path)}, [], (f"{path.name}: {error}",))


def _stored(base: Any, info: Json) -> _Stored:
    problems: list[str] = []
    parts: dict[str, list[Json]] = {}
    query = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
    for (id, message, data), _ in _rows(base, query, info.get("id")):
        parts.setdefault(message, []).append({"id": id, **_data(data, f"part {id}", problems)})
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    messages = [
        ({"id": id, **_data(data, f"message {id}", problems)}, parts.get(id, []))
        for (id, data), _ in _rows(base, query, info.get("id"))
    ]
    return _Stored(info, messages, tuple(problems))


def _rows(base: Any, query: str, *given: Any) -> Iterator[tuple[Any, list[str]]]:
    cursor = base.execute(query, given)
    for row in cursor:
        yield row, [column[0] for column in cursor.get_description()]


def _row(row: Sequence[Any], names: list[str]) -> Json:
    """A session's row as the record that its file would hold."""
    found = dict(zip(names, row, strict=True))
    for key in ("revert", "model", "summary_diffs", "permission", "metadata"):
        if isinstance(found.get(key), str):
            found[key] = _data(found[key], key, [])
    return found


def _data(value: Any, where: str, problems: list[str]) -> Json:
    try:
        found = decode_readable(value.encode() if isinstance(value, str) else bytes(value or b""))
    except (ValueError, TypeError):
        found = None
    if isinstance(found, dict):
        return found
    if not isinstance(found, list):
        problems.append(f"{where}: not a JSON object")
    return {}


# -- what was said


def _conversation(stored: _Stored, path: Path) -> Conversation:
    info, scribe = stored.info, Scribe()
    scribe.keep("session", info)
    undone = text(object_of(info, "revert"), "messageID")
    cwd = text(info, "directory")
    for message, parts in stored.messages:
        if undone and text(message, "id") >= undone:
            scribe.keep("undone message", {"message": message, "parts": parts})
        elif text(message, "role") == "user":
            _asked(scribe, message, parts)
        else:
            cwd = cwd or text(object_of(message, "path"), "cwd")
            _answered(scribe, message, parts)
    scribe.close()
    title = text(info, "title")
    return Conversation(
        tool=TOOL,
        id=text(info, "id") or str(path),
        path=str(path),
        steps=tuple(scribe.steps),
        version=text(info, "version"),
        cwd=cwd,
        title="" if title.startswith(_UNNAMED) else title,
        problems=stored.problems,
    )


def _asked(scribe: Scribe, message: Json, parts: list[Json]) -> None:
    """A prompt; what the program read for it comes before, as a note."""
    time = time_of(object_of(message, "time").get("created"))
    notes: list[Json] = []
    said: list[Json] = []
    for part in parts:
        block = {"type": "text", "text": text(part, "text")}
        match text(part, "type"):
            case "text" if part.get("ignored") is not True:
                (notes if part.get("synthetic") is True else said).append(block)
            case "file" if text(part, "mime").startswith("image/") or text(part, "url").startswith("data:"):
                said.append(picture(part.get("url")))
            case kind:
                scribe.keep(kind or "part", part, time)
    scribe.prompt(tuple(notes), time, is_note=True)
    scribe.prompt(tuple(said), time)
    scribe.keep("user message", message, time)


def _answered(scribe: Scribe, message: Json, parts: list[Json]) -> None:
    times = object_of(message, "time")
    time, model = time_of(times.get("created")), text(message, "modelID")
    if message.get("summary") is True:
        scribe.summary("\n\n".join(text(part, "text") for part in parts if part.get("type") == "text"), time)
        scribe.keep("summary message", {"message": message, "parts": parts}, time)
        return
    waiting: list[Json] = []
    told = False
    for part in parts:
        match text(part, "type"):
            case "text" if part.get("ignored") is not True:
                scribe.say(text(part, "text"), time_of(object_of(part, "time").get("start")) or time)
            case "reasoning":
                seal = text(object_of(part, "metadata", "anthropic"), "signature")
                scribe.think(text(part, "text"), time, signature=seal, original=part)
            case "tool" | "tool-invocation":
                waiting.append(_call(scribe, part, time))
            case "step-finish":
                told = True
                scribe.close(_usage(object_of(part, "tokens")), model)
                _results(scribe, waiting)
                scribe.keep("step-finish", part, time)
            case kind if kind not in _QUIET:
                scribe.keep(kind or "part", part, time)
    scribe.close({} if told else _usage(object_of(message, "tokens")), model)
    _results(scribe, waiting)
    scribe.keep("assistant message", message, time_of(times.get("completed")) or time)


def _call(scribe: Scribe, part: Json, time: Any) -> Json:
    """Take down a call; what came of it follows when the reply is whole."""
    old = object_of(part, "toolInvocation")
    state = object_of(part, "state")
    if old:
        part = {"callID": text(old, "toolCallId"), "tool": text(old, "toolName")}
        done = old.get("state") == "result"
        state = {"input": old.get("args"), "status": "completed" if done else "", "output": old.get("result")}
    id = text(part, "callID", "id")
    scribe.call(id, text(part, "tool") or "tool", object_of(state, "input"), time)
    return {"id": id, "state": state}


def _results(scribe: Scribe, waiting: list[Json]) -> None:
    for each in waiting:
        state = each["state"]
        time = time_of(object_of(state, "time").get("end"))
        aside = {key: state[key] for key in ("title", "metadata") if state.get(key)} or None
        if state.get("status") == "completed":
            scribe.result(each["id"], _output(state), time, aside=aside)
        elif state.get("status") == "error":
            scribe.result(each["id"], text(state, "error"), time, is_error=True, aside=aside)
        else:
            scribe.keep("unfinished call", each, time)
    waiting.clear()


def _output(state: Json) -> Content:
    words = text(state, "output")
    pictures = [picture(file.get("url")) for file in objects(state.get("attachments"))]
    return ({"type": "text", "text": words}, *pictures) if pictures else words


def _usage(tokens: Json) -> Json:
    cache = object_of(tokens, "cache")
    fresh, read, written = number(tokens, "input"), number(cache, "read"), number(cache, "write")
    output = number(tokens, "output") + number(tokens, "reasoning")
    if total := number(tokens, "total"):
        output = max(0, total - fresh - read - written)
    return usage(fresh, output, read, written)
