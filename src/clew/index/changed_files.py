"""Compare a shard with the transcripts on disk: which files are new or changed, which are deleted."""

from __future__ import annotations

import apsw

from clew.wire.tree_walk import TranscriptFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class ChangedFiles:
    """Files to read, newest first, and {id: path} of deleted files."""

    __slots__ = ("changed", "deleted")

    def __init__(self, changed: list[TranscriptFile], deleted: dict[int, str]) -> None:
        self.changed = changed
        self.deleted = deleted

    @property
    def size(self) -> int:
        return sum(file.size for file in self.changed)


def compare_files(shard: apsw.Connection, files: list[TranscriptFile], is_complete: bool) -> ChangedFiles:
    """Compare the files of a walk with the rows of a shard. Files count as deleted only if the walk was complete."""
    known = {row[0]: row for row in shard.execute("SELECT path, inode, size, mtime, ctime, id FROM file WHERE side=''")}
    changed = []
    for file in files:
        row = known.pop(file.path, None)
        if row is None or row[1:5] != (file.inode, file.size, file.mtime_ns, file.ctime_ns):
            changed.append(file)
    changed.sort(key=_newest_first)
    return ChangedFiles(changed, {row[5]: path for path, row in known.items()} if is_complete else {})


def _newest_first(file: TranscriptFile) -> tuple[int, str]:
    return (-file.mtime_ns, file.path)


def are_side_files_current(shards: Sequence[apsw.Connection], files: list[TranscriptFile]) -> bool:
    """Return whether the rows of side files equal the files on disk."""
    rows = [row for shard in shards for row in shard.execute("SELECT path, size, mtime FROM file WHERE side<>''")]
    return sorted(rows) == sorted((file.path, file.size, file.mtime_ns) for file in files)


def are_outputs_current(shards: Sequence[apsw.Connection], folders: dict[str, int]) -> bool:
    """Return whether every shard knows the long outputs on disk, {session folder: hash}."""
    return all(dict(shard.execute("SELECT folder, hash FROM output")) == folders for shard in shards)
