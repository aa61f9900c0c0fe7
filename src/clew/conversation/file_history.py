"""The files of a session: which were tracked at each message, and which saved state of them belongs there.

The program notes its backups at each prompt, before files are changed. A later snapshot for the same message (an update)
takes the place of the earlier one; newer versions write only the file that came to it (a delta).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from clew.wire.entry import Entry
from clew.wire.entry_types import Backup, FileHistorySnapshot, SnapshotDelta
from clew.wire.timestamps import instant


@dataclass(frozen=True, slots=True)
class FileState:
    """The tracked files at a message, by path. `changed_by` are the messages that made it grow afterwards."""

    message: str
    time: datetime | None
    backups: Mapping[str, Backup]
    changed_by: tuple[str, ...] = ()


def file_states(entries: Iterable[Entry]) -> dict[str, FileState]:
    """The state of the files at each message that has one, in the order in which they were first noted."""
    found: dict[str, FileState] = {}
    for entry in entries:
        if entry.type == "file-history-snapshot":
            _snapshot(found, FileHistorySnapshot.of(entry))
        elif entry.type == "file-history-delta":
            _delta(found, SnapshotDelta.of(entry))
    return found


def _snapshot(found: dict[str, FileState], noted: FileHistorySnapshot) -> None:
    message = noted.inner_message_id or noted.message_id
    if message is None:
        return
    before = found.get(message) if noted.is_update else None
    changed_by = before.changed_by if before else ()
    if noted.is_update and noted.message_id:
        changed_by = (*changed_by, noted.message_id)
    found[message] = FileState(message, instant(noted.timestamp), noted.backups, changed_by)


def _delta(found: dict[str, FileState], noted: SnapshotDelta) -> None:
    message = noted.snapshot_message_id or noted.message_id
    if message is None:
        return
    before = found.get(message) or FileState(message, instant(noted.timestamp), {})
    backups = {**before.backups, noted.path: noted.backup or Backup()}
    changed_by = (*before.changed_by, noted.message_id) if noted.message_id else before.changed_by
    found[message] = replace(before, backups=backups, changed_by=changed_by)


def restoration(states: Mapping[str, FileState], message: str) -> dict[str, Backup]:
    """What going back to a message would put in place: its own backups, and the first one of each file tracked later.

    A backup without a name stands for a file that did not exist: it would be deleted.
    """
    order = list(states)
    if message not in states:
        return {}
    found: dict[str, Backup] = {}
    for later in order[order.index(message) :]:
        for path, backup in states[later].backups.items():
            found.setdefault(path, backup)
    return found
