"""Track which files were saved at each message, and which saved state a rewind restores.

Claude Code records its backups at each prompt, before files are changed. A later snapshot for the same message (an
update) replaces the earlier one; newer versions write only the added file (a delta).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from clew.wire.entry import Entry
from clew.wire.entry_types import Backup, FileHistorySnapshot, SnapshotDelta
from clew.wire.timestamps import parse_timestamp


class FileState(Struct, frozen=True):
    """The tracked files at a message, by path. `changed_by` are the messages that added files to it later."""

    message: str
    time: datetime | None
    backups: Mapping[str, Backup]
    changed_by: tuple[str, ...] = ()


def file_states(entries: Iterable[Entry]) -> dict[str, FileState]:
    """Return the state of the files at each message that has one, in the order of their first record."""
    states: dict[str, FileState] = {}
    for entry in entries:
        if entry.type == "file-history-snapshot":
            _add_snapshot(states, FileHistorySnapshot.of(entry))
        elif entry.type == "file-history-delta":
            _add_delta(states, SnapshotDelta.of(entry))
    return states


def _add_snapshot(states: dict[str, FileState], snapshot: FileHistorySnapshot) -> None:
    message = snapshot.inner_message_id or snapshot.message_id
    if message is None:
        return
    before = states.get(message) if snapshot.is_update else None
    changed_by = before.changed_by if before else ()
    if snapshot.is_update and snapshot.message_id:
        changed_by = (*changed_by, snapshot.message_id)
    states[message] = FileState(message, parse_timestamp(snapshot.timestamp), snapshot.backups, changed_by)


def _add_delta(states: dict[str, FileState], delta: SnapshotDelta) -> None:
    message = delta.snapshot_message_id or delta.message_id
    if message is None:
        return
    before = states.get(message) or FileState(message, parse_timestamp(delta.timestamp), {})
    backups = {**before.backups, delta.path: delta.backup or Backup()}
    changed_by = (*before.changed_by, delta.message_id) if delta.message_id else before.changed_by
    states[message] = replace(before, backups=backups, changed_by=changed_by)


def backups_to_restore(states: Mapping[str, FileState], message: str) -> dict[str, Backup]:
    """Return what a rewind to a message restores: its own backups, and the first backup of each file tracked later.

    A backup without a name stands for a file that did not exist: a rewind deletes it.
    """
    order = list(states)
    if message not in states:
        return {}
    backups: dict[str, Backup] = {}
    for later in order[order.index(message) :]:
        for path, backup in states[later].backups.items():
            backups.setdefault(path, backup)
    return backups
