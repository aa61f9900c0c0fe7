"""Rename the ids by which entries refer to each other and to their session.

Only reference fields change. The content of messages is not touched, even where it looks like an id. `is_renamed` tells
whether this holds for a line that was made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Raw, Struct, field
from stringzilla import contains

from clew.errors import Refused
from clew.wire.entry import Entry
from clew.wire.json_codec import decode, encode
from clew.wire.json_splice import join_fields, object_frame, splice, split_fields
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
_TYPED = {"sessionId": "session_id", "cwd": "cwd"}  # names that are not ids of entries, as attributes of an entry
_NESTED_FIELDS = frozenset({"snapshot", "forkedFrom", "worktreeSession", "compactMetadata", "data", "toolUseResult"})
_ONLY_REFERENCES = frozenset({"snapshot", "compactMetadata"})  # an id in them always names an entry of the session
_SAVED_OUTPUT = b'"persistedOutputPath":'
_SAME_ID = ["different entries would have the same id"]
_VARIANTS = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))  # the digit of a uuid that has only four values


class _Renamed(dict[bytes, bytes]):
    """The JSON of ids or paths that were renamed, by the JSON of the old ones; most occur in several lines."""

    def __init__(self, change: Callable[[str], str]) -> None:
        self._change = change

    def __missing__(self, json: bytes) -> bytes:
        """Return the JSON of a changed text; the same bytes if it stays the same or is no text."""
        old = decode(json)
        new = self._change(old) if isinstance(old, str) else old
        self[json] = changed = json if new == old else encode(new)
        return changed


class _RenamedIds(_Renamed):
    """Those of entries, and the old ids by the new ones. Raises Refused if different ids would become one."""

    def __init__(self, change: Callable[[str], str], known: Collection[str], original: dict[bytes, bytes]) -> None:
        super().__init__(change)
        self.update((encode(old), encode(change(old))) for old in known)
        self.original = original
        original.update((new, old) for old, new in self.items())
        if len(original) < len(self):
            raise Refused(_SAME_ID)

    def __missing__(self, json: bytes) -> bytes:
        new = super().__missing__(json)
        old = self.original.setdefault(new, json)
        if old != json and decode(old) != decode(json):  # JSON has several ways to write an id
            raise Refused(_SAME_ID)
        return new


class _Layout:
    """The fields that lines have in common: what surrounds their values, and which of them refer to something."""

    __slots__ = ("frame", "ids", "names", "nested", "references")

    def __init__(self, names: tuple[str, ...], renamed: Mapping[str, _Renamed]) -> None:
        self.frame = object_frame(names)
        self.references = [(at, renamed[name]) for at, name in enumerate(names) if name in renamed]
        self.nested = [(at, name) for at, name in enumerate(names) if name in _NESTED_FIELDS]
        self.ids = [at for at, name in enumerate(names) if name in UUID_FIELDS]
        self.names = [(at, name, renamed[name]) for at, name in enumerate(names) if name in _TYPED and name in renamed]


class RenamedLine(NamedTuple):
    """The JSON of an entry with its references renamed, and the values of its fields if it was joined of them."""

    json: bytes
    layout: _Layout | None = None
    values: Sequence[bytes | Raw] = ()


class IdMapping(Struct, frozen=True, eq=False):
    """New ids for the session and for each entry in `known`. The same old id always gets the same new one."""

    session: str
    known: Collection[str]
    source: str = ""  # the session that the entries were copied from
    cwd: tuple[str, str] | None = None  # old and new working directory
    folder: tuple[str, str] | None = None  # old and new folder of the session
    original_ids: dict[bytes, bytes] = field(default_factory=dict)  # the JSON of old ids by that of their new ones
    _renamed: dict[str, _Renamed] = field(default_factory=dict)
    _layouts: dict[tuple[str, ...], _Layout] = field(default_factory=dict)

    def uuid(self, old: str) -> str:
        return new_uuid(self.session, old) if old in self.known else old

    def path(self, old: str) -> str:
        """Return a path at or below the old working directory, moved to the new one."""
        return PathMapping(*self.cwd).apply(old) if self.cwd else old

    def layout(self, names: tuple[str, ...]) -> _Layout:
        """Return the layout of a line with these fields. Most lines have one of a few."""
        found = self._layouts.get(names)
        if found is None:
            if not self._renamed:
                ids = _RenamedIds(self.uuid, self.known, self.original_ids)
                self._renamed.update(dict.fromkeys(UUID_FIELDS, ids))
                self._renamed.update(dict.fromkeys(_SESSION_FIELDS, _Renamed(lambda _: self.session)))
                self._renamed.update({"cwd": _Renamed(self.path)} if self.cwd else {})
            found = self._layouts[names] = _Layout(names, self._renamed)
        return found


def new_uuid(session: str, old: str) -> str:
    """Derive an id for the copy of an entry from the session id: as random as that, and always the same."""
    import hashlib  # half the time of an import from it, which counts here

    digits = hashlib.sha256(f"{session}/{old}".encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANTS[digits[16]]}{digits[17:20]}-{digits[20:32]}"


def rename_references(entry: Entry, names: IdMapping) -> RenamedLine:
    """Return an entry with its references renamed and every other byte unchanged.

    Only fields that can refer to something are decoded, not the message.
    """
    line = entry.line
    view = line.view
    fields = split_fields(view) if line.whole else None
    is_whole = fields is not None
    fields = fields if fields is not None else {name: encode(value) for name, value in entry.data.items()}
    values = list(fields.values())
    layout = names.layout(tuple(fields))
    longer = 0
    for at, renamed in layout.references:
        old = bytes(values[at])
        values[at] = new = renamed[old]
        longer += len(new) - len(old)
    for at, name in layout.nested:
        if name != "toolUseResult" or contains(view, _SAVED_OUTPUT):
            old = bytes(values[at])
            values[at] = new = _rename_nested(name, old, names)
            longer += len(new) - len(old)
    if is_whole and len(joined := join_fields(layout.frame, values)) == len(view) + longer:
        return RenamedLine(joined, layout, values)
    pairs = zip(fields.items(), values, strict=True)
    changes = {name: bytes(new) for (name, old), new in pairs if new is not old and new != bytes(old)}
    return RenamedLine(splice(line.json, changes) if changes else line.json)


def is_renamed(entry: Entry, made: RenamedLine, names: IdMapping) -> bool:
    """Return whether a line is the entry with its references renamed.

    With the old names put back it must be the old line, byte for byte. Lines with references inside of a field, or that
    had to be encoded again (a field was repeated), must have the same values. A line that was joined of fields is not
    split again.
    """
    layout, values = made.layout, list(made.values)
    if layout is None and (fields := split_fields(made.json)) is not None:
        layout, values = names.layout(tuple(fields)), list(fields.values())
        layout = layout if join_fields(layout.frame, values) == made.json else None  # else bytes could follow
    if layout is not None:
        for at in layout.ids:
            values[at] = names.original_ids.get(bytes(values[at]), b"")
        for at, name, renamed in layout.names:
            old = encode(getattr(entry, _TYPED[name]))
            values[at] = old if renamed[old] == bytes(values[at]) else b""
        if entry.line.is_json(join_fields(layout.frame, values)):
            return True
    try:
        return _is_same_entry(entry.data, decode(made.json), names)
    except ValueError:
        return False


def _is_same_entry(old: dict[str, Any], new: Any, names: IdMapping) -> bool:
    """Return whether decoded entries differ only in ids and paths that were renamed."""
    if not isinstance(new, dict) or [*old] != [*new]:
        return False
    for name, before in old.items():
        if isinstance(before, str) and name in UUID_FIELDS:
            is_same = new[name] == names.uuid(before)
        elif isinstance(before, str) and name in _SESSION_FIELDS:
            is_same = new[name] == names.session
        elif isinstance(before, str) and name == "cwd":
            is_same = new[name] == names.path(before)
        else:
            is_same = _is_same_value(before, new[name], names, name in _ONLY_REFERENCES)
        if not is_same:
            return False
    return True


def _is_same_value(old: Any, new: Any, names: IdMapping, only_references: bool) -> bool:
    """Return whether values of any depth differ only in ids and paths that were renamed."""
    pending = [("", old, new)]
    while pending:
        name, before, after = pending.pop()
        if isinstance(before, dict) and isinstance(after, dict):
            moved = {names.path(key): value for key, value in before.items()}  # the names of tracked files are paths
            expected = moved if [*moved] == [*after] else before
            if [*expected] != [*after]:
                return False
            pending += zip(after, expected.values(), after.values(), strict=True)
        elif isinstance(before, list) and isinstance(after, list):
            if len(before) != len(after):
                return False
            pending += [(name, *pair) for pair in zip(before, after, strict=True)]
        elif isinstance(before, str) and isinstance(after, str):
            if after not in _possible_texts(name, before, names, only_references):
                return False
        elif encode(before) != encode(after):
            return False
    return True


def _possible_texts(name: str, old: str, names: IdMapping, only_references: bool) -> tuple[str, ...]:
    """Return what a text in a nested field can be after its references were renamed."""
    if only_references and old in names.known:
        return (names.uuid(old),)
    session = (names.session,) if name in _SESSION_FIELDS else ()
    return (old, names.uuid(old), names.path(old), _move_path(old, names.folder), *session)


def _rename_nested(name: str, json: bytes, names: IdMapping) -> bytes:
    """Return the JSON of a field with the references inside it renamed."""
    changes = _nested_changes(name, decode(json), names)
    return splice(json, changes) if changes else json


def _nested_changes(name: str, data: Any, names: IdMapping) -> dict[str, Any]:
    if not isinstance(data, dict):
        return {}
    match name:
        case "snapshot":
            return _uuid_changes(data, names, "messageId")
        case "forkedFrom":
            return _origin_changes(data, names)
        case "worktreeSession":
            return _session_change(data, names)
        case "compactMetadata":
            segment = _uuid_changes(data.get("preservedSegment"), names, "headUuid", "anchorUuid", "tailUuid")
            messages = _preserved_changes(data.get("preservedMessages"), names)
            inner = {"preservedSegment": segment, "preservedMessages": messages}
        case "data":
            inner = {"message": _uuid_changes(data.get("message"), names, "uuid")}
        case _:  # the result of a call
            old = data.get("persistedOutputPath")
            return {"persistedOutputPath": encode(_move_path(old, names.folder))} if isinstance(old, str) else {}
    return {key: change for key, change in inner.items() if change}


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
