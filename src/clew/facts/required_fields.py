"""Check which lines lack fields that their type requires."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clew.conversation.session import Session
from clew.wire.entry import Entry

_ENVELOPE = ("uuid", "parentUuid", "sessionId", "timestamp", "isSidechain", "userType", "cwd", "version")
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "user": (*_ENVELOPE, "message", "message.role", "message.content"),
    "assistant": (
        *_ENVELOPE,
        *("requestId", "message", "message.model", "message.id", "message.role", "message.content"),
        *("message.stop_reason", "message.usage"),
    ),
    "system": ("uuid", "sessionId", "timestamp", "subtype"),
    "summary": ("summary", "leafUuid"),
    "progress": ("uuid", "timestamp", "data", "data.type"),
    "file-history-snapshot": ("messageId", "snapshot", "isSnapshotUpdate"),
    "queue-operation": ("operation", "timestamp", "sessionId"),
    "pr-link": ("sessionId", "prNumber", "prUrl", "prRepository", "timestamp"),
}
_NULLABLE = frozenset({"parentUuid", "message.stop_reason"})
_SYNTHETIC = frozenset({"requestId"})  # missing in replies that were not sent by the API


class Lacking(NamedTuple):
    """A line and the required fields that it lacks."""

    line: int
    type: str
    fields: tuple[str, ...]

    def __str__(self) -> str:
        return f"the {self.type} line has no {', '.join(self.fields)}"


def find_incomplete_lines(session: Session) -> Iterator[Lacking]:
    """Yield the lines of a session that lack required fields, in file order."""
    for entry in session.entries:
        if fields := missing_fields(entry):
            yield Lacking(entry.line.number, entry.type, fields)


def missing_fields(entry: Entry) -> tuple[str, ...]:
    """Return the required fields that an entry lacks, by their paths; none for unknown types."""
    required = _REQUIRED.get(entry.type)
    if required is None:
        return ()
    data = entry.data
    missing = [name for name in required if not _has(data, name)]
    if (entry.version or "").startswith("1."):  # version 1 had no subtypes
        missing = [name for name in missing if name != "subtype"]
    if entry.is_synthetic or entry.is_api_error:
        missing = [name for name in missing if name not in _SYNTHETIC]
    return tuple(name for name in missing if name.rpartition(".")[0] not in missing)


def _has(data: Any, name: str) -> bool:
    value = data
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return value is not None or name in _NULLABLE
