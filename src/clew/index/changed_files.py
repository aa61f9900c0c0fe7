"""Compare shards with the transcripts on disk: which files are new or changed, which are deleted."""

from __future__ import annotations

import apsw

from clew.index.index_schema import shard_number
from clew.wire.tree_walk import TranscriptFile, iter_transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any


class ChangedFiles:
    """Files to read, newest first, and {id: path} of deleted files."""

    __slots__ = ("changed", "deleted")

    def __init__(self, changed: list[TranscriptFile], deleted: dict[int, str]) -> None:
        self.changed = changed
        self.deleted = deleted

    @property
    def size(self) -> int:
        return sum(file.size for file in self.changed)


def find_changed_files(
    shards: Mapping[int, apsw.Connection], root: str, missed: list[str], outputs: dict[str, int] | None = None
) -> dict[int, ChangedFiles]:
    """Walk a tree and compare its files with the rows of some shards, given by their numbers.

    Files count as deleted only if the walk was complete: `missed` and `outputs` are those of `iter_transcripts`. Files of
    other shards are not kept, because there may be many.
    """
    statement = "SELECT path, inode, size, mtime, ctime FROM file WHERE side=''"
    known: dict[str, Any] = {row[0]: row[1:] for shard in shards.values() for row in shard.execute(statement)}
    changed: dict[int, list[TranscriptFile]] = {number: [] for number in shards}
    for file in iter_transcripts(root, missed, outputs, known):
        number = shard_number(file.session, file.path)
        if number in changed:
            changed[number].append(file)
    for files in changed.values():
        files.sort(key=_newest_first)
    deleted = known if not missed else {}
    return {
        number: ChangedFiles(changed[number], _row_ids(shard, deleted) if deleted else {})
        for number, shard in shards.items()
    }


def _row_ids(shard: apsw.Connection, paths: Iterable[str]) -> dict[int, str]:
    rows = ((shard.execute("SELECT id FROM file WHERE path=?", (path,)).get, path) for path in paths)
    return {file_id: path for file_id, path in rows if file_id is not None}


def _newest_first(file: TranscriptFile) -> tuple[int, str]:
    return (-file.mtime_ns, file.path)


def are_side_files_current(shards: Sequence[apsw.Connection], files: list[TranscriptFile]) -> bool:
    """Return whether the rows of side files equal the files on disk."""
    rows = [row for shard in shards for row in shard.execute("SELECT path, size, mtime FROM file WHERE side<>''")]
    return sorted(rows) == sorted((file.path, file.size, file.mtime_ns) for file in files)


def are_outputs_current(shards: Sequence[apsw.Connection], folders: dict[str, int]) -> bool:
    """Return whether every shard knows the long outputs on disk, {session folder: hash}."""
    return all(dict(shard.execute("SELECT folder, hash FROM output")) == folders for shard in shards)
