"""Rename the ids by which entries refer to each other and to their session.

Only reference fields change. The content of messages is not touched, even where it looks like an id.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from clew.wire.entry import Entry
from clew.wire.json_codec import decode, encode
from clew.wire.json_splice import Fields, splice, splice_fields, split_fields
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
_NESTED_FIELDS = ("snapshot", "forkedFrom", "worktreeSession", "compactMetadata", "data")
_SAVED_OUTPUT = b'"persistedOutputPath":'


@dataclass(frozen=True, slots=True)
class IdMapping:
    """New ids for the session and for each entry in `known`. The same old id always gets the same new one."""

    session: str
    known: Collection[str]
    source: str = ""  # the session that the entries were copied from
    cwd: tuple[str, str] | None = None  # old and new working directory
    folder: tuple[str, str] | None = None  # old and new folder of the session
    _uuids: dict[bytes, bytes] = field(default_factory=dict, init=False, compare=False, repr=False)
    _paths: dict[bytes, bytes] = field(default_factory=dict, init=False, compare=False, repr=False)

    def uuid(self, old: str) -> str:
        return new_uuid(self.session, old) if old in self.known else old

    def path(self, old: str) -> str:
        """Return a path at or below the old working directory, moved to the new one."""
        return PathMapping(*self.cwd).apply(old) if self.cwd else old

    def uuid_json(self, old: bytes) -> bytes:
        """Return the JSON of the new id for that of an old one. Most ids occur in several lines, so they are kept."""
        new = self._uuids.get(old)
        if new is None:
            new = self._uuids[old] = _change_text(old, self.uuid)
        return new

    def path_json(self, old: bytes) -> bytes:
        new = self._paths.get(old)
        if new is None:
            new = self._paths[old] = _change_text(old, self.path)
        return new


def _change_text(json: bytes, change: Callable[[str], str]) -> bytes:
    """Return the JSON of a changed text; the same bytes if it stays the same or is no text."""
    old = decode(json)
    new = change(old) if isinstance(old, str) else old
    return json if new == old else encode(new)


def new_uuid(session: str, old: str) -> str:
    """Derive an id for the copy of an entry from the session id: as random as that, and always the same."""
    digits = sha256(f"{session}/{old}".encode()).hexdigest()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def rename_references(entry: Entry, names: IdMapping) -> bytes:
    """Return the JSON of an entry with its references renamed and every other byte unchanged."""
    json = entry.line.json
    fields = split_fields(json) if entry.line.whole else None
    if fields is not None:
        return splice_fields(json, fields, _field_changes(fields, names, json))
    return splice(json, _field_changes({name: encode(value) for name, value in entry.data.items()}, names, json))


def _field_changes(fields: Fields, names: IdMapping, json: bytes) -> dict[str, bytes]:
    """Return the changes of an entry. Only fields that can refer to something are decoded, not the message."""
    changes: dict[str, bytes] = {}
    for name in UUID_FIELDS:
        if name in fields:
            old = bytes(fields[name])
            if (new := names.uuid_json(old)) != old:
                changes[name] = new
    for name in _SESSION_FIELDS:
        if name in fields and bytes(fields[name]).startswith(b'"'):
            changes[name] = encode(names.session)
    if names.cwd is not None and "cwd" in fields:
        changes["cwd"] = names.path_json(bytes(fields["cwd"]))
    nested = {name: decode(fields[name]) for name in _NESTED_FIELDS if name in fields}
    if "toolUseResult" in fields and _SAVED_OUTPUT in json:
        nested["toolUseResult"] = decode(fields["toolUseResult"])
    for name, inner in _nested_changes(nested, names) if nested else ():
        if inner:
            changes[name] = splice(bytes(fields[name]), inner)
    return changes


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
