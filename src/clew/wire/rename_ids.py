"""References: the fields by which entries name each other and their session, and how they get new names.

A reference is changed in its field and nowhere else. What a message says is not touched, whatever it looks like.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from clew.wire.entry import Entry
from clew.wire.json_codec import encode
from clew.wire.json_splice import Changes, splice

PLACES = (
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
_SESSIONS = ("sessionId", "session_id")
_ORDINARY = frozenset({"user", "assistant", "system", "attachment"})
_RARE = (
    b'"forkedFrom":',
    b'"compactMetadata":',
    b'"session_id":',
    b'"persistedOutputPath":',
    *(f'"{name}":'.encode() for name in PLACES[3:] if name != "sourceToolAssistantUUID"),
)


@dataclass(frozen=True, slots=True)
class Names:
    """New names: for the session, and for each entry that is `known`. The same old name always gets the same new one."""

    session: str
    known: Collection[str]
    source: str = ""  # the session that they were copied from
    cwd: tuple[str, str] | None = None  # a working directory, and the one that takes its place
    folder: tuple[str, str] | None = None  # the session's folder, likewise

    def uuid(self, old: str) -> str:
        return new_uuid(self.session, old) if old in self.known else old

    def path(self, old: str) -> str:
        """A path at or below the working directory, moved along."""
        return _moved(old, self.cwd)


def new_uuid(session: str, old: str) -> str:
    """A name for the copy of an entry: as random as the session's own id, and the same each time."""
    digits = sha256(f"{session}/{old}".encode()).hexdigest()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def renamed(entry: Entry, names: Names) -> bytes:
    """The JSON of an entry with its references renamed and every other byte as it was."""
    json = entry.line.json
    if entry.type in _ORDINARY and entry.line.whole and not any(probe in json for probe in _RARE):
        quick = _quick(entry, json, names)
        if quick is not None:
            return quick
    return splice(json, _changes(entry.data, names))


def _quick(entry: Entry, json: bytes, names: Names) -> bytes | None:
    """The ordinary line: what a field says under its name is there once, so that finding it is finding the field."""
    for name, old, new in _fields(entry, names):
        if old is None or old == new:
            continue
        field = b'"' + name + b'":'
        stated = field + encode(old)
        at = json.find(stated)
        if at < 0 or json.find(stated, at + 1) >= 0:
            return None
        json = json[:at] + field + encode(new) + json[at + len(stated) :]
    return json


def _fields(entry: Entry, names: Names) -> Iterator[tuple[bytes, str | None, str]]:
    yield b"uuid", entry.uuid, names.uuid(entry.uuid or "")
    yield b"parentUuid", entry.parent, names.uuid(entry.parent or "")
    yield b"logicalParentUuid", entry.logical_parent, names.uuid(entry.logical_parent or "")
    yield b"sourceToolAssistantUUID", entry.source_tool_assistant, names.uuid(entry.source_tool_assistant or "")
    yield b"sessionId", entry.session_id, names.session
    if entry.cwd is not None:
        yield b"cwd", entry.cwd, names.path(entry.cwd)


def _changes(data: dict[str, Any], names: Names) -> Changes:
    found: dict[str, Any] = {}
    for name in PLACES:
        if isinstance(data.get(name), str):
            found[name] = encode(names.uuid(data[name]))
    for name in _SESSIONS:
        if isinstance(data.get(name), str):
            found[name] = encode(names.session)
    if names.cwd is not None and isinstance(data.get("cwd"), str):
        found["cwd"] = encode(names.path(data["cwd"]))
    return found | {name: inner for name, inner in _inner(data, names) if inner}


def _inner(data: dict[str, Any], names: Names) -> Iterator[tuple[str, dict[str, Any]]]:
    """References that lie deeper."""
    yield "snapshot", _uuids(data.get("snapshot"), names, "messageId")
    yield "forkedFrom", _origin(data.get("forkedFrom"), names)
    yield "worktreeSession", _session(data.get("worktreeSession"), names)
    made = data.get("compactMetadata")
    if isinstance(made, dict):
        inner = {
            "preservedSegment": _uuids(made.get("preservedSegment"), names, "headUuid", "anchorUuid", "tailUuid"),
            "preservedMessages": _preserved(made.get("preservedMessages"), names),
        }
        yield "compactMetadata", {name: change for name, change in inner.items() if change}
    progress = data.get("data")
    if isinstance(progress, dict):
        inner = {"message": _uuids(progress.get("message"), names, "uuid")}
        yield "data", {name: change for name, change in inner.items() if change}
    result = data.get("toolUseResult")
    if isinstance(result, dict) and isinstance(old := result.get("persistedOutputPath"), str):
        yield "toolUseResult", {"persistedOutputPath": encode(_moved(old, names.folder))}


def _uuids(value: Any, names: Names, *places: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    return {name: encode(names.uuid(value[name])) for name in places if isinstance(value.get(name), str)}


def _origin(value: Any, names: Names) -> dict[str, Any]:
    """Where the entry was copied from stays true, unless it was this very session."""
    if not isinstance(value, dict) or value.get("sessionId") != names.source:
        return {}
    return {**_session(value, names), **_uuids(value, names, "messageUuid")}


def _session(value: Any, names: Names) -> dict[str, Any]:
    return {"sessionId": encode(names.session)} if isinstance(value, dict) and "sessionId" in value else {}


def _preserved(value: Any, names: Names) -> dict[str, Any]:
    found = _uuids(value, names, "anchorUuid")
    if isinstance(value, dict):
        for name in ("uuids", "allUuids"):
            if isinstance(value.get(name), list):
                found[name] = encode([names.uuid(u) if isinstance(u, str) else u for u in value[name]])
    return found


def _moved(path: str, way: tuple[str, str] | None) -> str:
    """A path that was at or below one folder, below another."""
    if way is None:
        return path
    old, new = way
    if path == old:
        return new
    rest = path.removeprefix(old)
    return new + rest if rest != path and rest[:1] in ("/", "\\") else path
