"""Sum up changes by file, and compare what they left with the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clew.errors import UNEXPECTED_ERRORS
from clew.provenance.disk_content import read_text
from clew.provenance.line_blame import replay_changes
from clew.provenance.recorded_changes import RecordedChange, normalize_path

DiskState = Literal["as written", "changed since", "gone", "unknown"]


class FileSummary(Struct, frozen=True):
    """A file with its changes in order. `on_disk` compares it with what the last of them must have left."""

    path: str
    changes: tuple[RecordedChange, ...]
    on_disk: DiskState

    @property
    def added(self) -> int:
        return sum(change.added for change in self.changes)

    @property
    def removed(self) -> int:
        return sum(change.removed for change in self.changes)

    @property
    def last(self) -> datetime | None:
        return self.changes[-1].time


def group_by_file(changes: Iterable[RecordedChange], selected: Iterable[RecordedChange]) -> list[FileSummary]:
    """Return the files of the selected changes, the one changed last first.

    `changes` are all known changes in order, also those that are not selected: they say what the files contain.
    """
    groups: dict[str, list[RecordedChange]] = {}
    for change in changes:
        groups.setdefault(normalize_path(change.path), []).append(change)
    chosen: dict[str, list[RecordedChange]] = {}
    for change in selected:
        chosen.setdefault(normalize_path(change.path), []).append(change)
    files = [FileSummary(part[0].path, tuple(part), _compare(groups[key])) for key, part in chosen.items()]
    return sorted(files, key=lambda file: -file.last.timestamp() if file.last else 0.0)


def _compare(changes: Sequence[RecordedChange]) -> DiskState:
    """Compare the disk with the content that the last change left: by its record, else by replaying all of them."""
    path = changes[-1].path
    if not Path(path).is_absolute():  # it is on another system
        return "unknown"
    if not os.path.lexists(path):
        return "gone"
    text = read_text(path)
    try:
        left = replay_changes(changes[-1:]).text
        is_unknown = text is None or (left is None and replay_changes(changes).text != text)
    except UNEXPECTED_ERRORS:  # a record with values that no version writes
        return "unknown"
    return "unknown" if is_unknown else "as written" if left in (None, text) else "changed since"
