"""Rename the ids by which entries refer to each other and to their session.

Only reference fields change. The content of messages is not touched, even where it looks like an id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from clew.wire.entry import Entry
from clew.wire.json_codec import encode
from clew.wire.json_splice import Changes, splice
from clew.wire.path_mapping import PathMapping

UUID_FIELDS = (
    "uuid",
    "parentUuid",
    "logicalParentUuid",
    "leafUuid",
    "messageId",
    "snapshotMessageId",
    "sourceToolAssistantUUID",
    "refusedUserMessageUuid",
    "interruptedMessageId",
)
_SESSION_FIELDS = ("sessionId", "session_id")
_COMMON_TYPES = frozenset({"user", "assistant", "system", "attachment"})
_RARE_KEYS = (
    b'"forkedFrom":',
    b'"compactMetadata":',
    b'"session_id":',
    b'"persistedOutputPath":',
    *(f'"{name}":'.encode() for name in UUID_FIELDS[3:] if name != "sourceToolAssistantUUID"),
)


@dataclass(frozen=True, slots=True)
class IdMapping:
    """New ids for the session and for each entry in `known`. The same old id always gets the same new one."""

    session: str
    known: Collection[str]
    source: str = ""  # the session that the entries were copied from
    cwd: tuple[str, str] | None = None  # old and new working directory
    folder: tuple[str, str] | None = None  # old and new folder of the session

    def uuid(self, old: str) -> str:
        return new_uuid(self.session, old) if old in self.known else old

    def path(self, old: str) -> str:
        """Return a path at or below the old working directory, moved to the new one."""
        return PathMapping(*self.cwd).apply(old) if self.cwd else old


def new_uuid(session: str, old: str) -> str:
    """Derive an id for the copy of an entry from the session id: as random as that, and always the same."""
    digits = sha256(f"{session}/{old}".encode()).hexdigest()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def rename_references(entry: Entry, names: IdMapping) -> bytes:
    """Return the JSON of an entry with its references renamed and every other byte unchanged."""
    json = entry.line.json
    if entry.type in _COMMON_TYPES and entry.line.whole and not any(probe in json for probe in _RARE_KEYS):
        quick = _replace_in_place(entry, json, names)
        if quick is not None:
            return quick
    return splice(json, _field_changes(entry.data, names))


def _replace_in_place(entry: Entry, json: bytes, names: IdMapping) -> bytes | None:
    """Rename in an ordinary line by replacing bytes; None if a field and its value do not occur exactly once.

    `"uuid":"abc"` cannot occur inside a JSON string, where its quotes would be escaped, so one hit is the field.
    """
    for name, old, new in _renamed_fields(entry, names):
        if old is None or old == new:
            continue
        field = b'"' + name + b'":'
        stated = field + encode(old)
        at = json.find(stated)
        if at < 0 or json.find(stated, at + 1) >= 0:
            return None
        json = json[:at] + field + encode(new) + json[at + len(stated) :]
    return json


def _renamed_fields(entry: Entry, names: IdMapping) -> Iterator[tuple[bytes, str | None, str]]:
    yield b"uuid", entry.uuid, names.uuid(entry.uuid or "")
    yield b"parentUuid", entry.parent, names.uuid(entry.parent or "")
    yield b"logicalParentUuid", entry.logical_parent, names.uuid(entry.logical_parent or "")
    yield b"sourceToolAssistantUUID", entry.source_tool_assistant, names.uuid(entry.source_tool_assistant or "")
    yield b"sessionId", entry.session_id, names.session
    if entry.cwd is not None:
        yield b"cwd", entry.cwd, names.path(entry.cwd)


def _field_changes(data: dict[str, Any], names: IdMapping) -> Changes:
    changes: dict[str, Any] = {}
    for name in UUID_FIELDS:
        if isinstance(data.get(name), str):
            changes[name] = encode(names.uuid(data[name]))
    for name in _SESSION_FIELDS:
        if isinstance(data.get(name), str):
            changes[name] = encode(names.session)
    if names.cwd is not None and isinstance(data.get("cwd"), str):
        changes["cwd"] = encode(names.path(data["cwd"]))
    return changes | {name: inner for name, inner in _nested_changes(data, names) if inner}


def _nested_changes(data: dict[str, Any], names: IdMapping) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the changes of references inside nested objects."""
    yield "snapshot", _uuid_changes(data.get("snapshot"), names, "messageId")
    yield "forkedFrom", _origin_changes(data.get("forkedFrom"), names)
    yield "worktreeSession", _session_change(data.get("worktreeSession"), names)
    metadata = data.get("compactMetadata")
    if isinstance(metadata, dict):
        inner = {
            "preservedSegment": _uuid_changes(
                metadata.get("preservedSegment"), names, "headUuid", "anchorUuid", "tailUuid"
            ),
            "preservedMessages": _preserved_changes(metadata.get("preservedMessages"), names),
        }
        yield "compactMetadata", {name: change for name, change in inner.items() if change}
    progress = data.get("data")
    if isinstance(progress, dict):
        inner = {"message": _uuid_changes(progress.get("message"), names, "uuid")}
        yield "data", {name: change for name, change in inner.items() if change}
    result = data.get("toolUseResult")
    if isinstance(result, dict) and isinstance(old := result.get("persistedOutputPath"), str):
        yield "toolUseResult", {"persistedOutputPath": encode(_move_path(old, names.folder))}


def _uuid_changes(value: Any, names: IdMapping, *fields: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    return {name: encode(names.uuid(value[name])) for name in fields if isinstance(value.get(name), str)}


def _origin_changes(value: Any, names: IdMapping) -> dict[str, Any]:
    """Keep the record of where an entry was copied from, unless it names this very session."""
    if not isinstance(value, dict) or value.get("sessionId") != names.source:
        return {}
    return {**_session_change(value, names), **_uuid_changes(value, names, "messageUuid")}


def _session_change(value: Any, names: IdMapping) -> dict[str, Any]:
    return {"sessionId": encode(names.session)} if isinstance(value, dict) and "sessionId" in value else {}


def _preserved_changes(value: Any, names: IdMapping) -> dict[str, Any]:
    changes = _uuid_changes(value, names, "anchorUuid")
    if isinstance(value, dict):
        for name in ("uuids", "allUuids"):
            if isinstance(value.get(name), list):
                changes[name] = encode([names.uuid(u) if isinstance(u, str) else u for u in value[name]])
    return changes


def _move_path(path: str, move: tuple[str, str] | None) -> str:
    """Move a path at or below one folder to another; other paths are returned unchanged."""
    if move is None:
        return path
    old, new = move
    if path == old:
        return new
    tail = path.removeprefix(old)
    return new + tail if tail != path and tail[:1] in ("/", "\\") else path
