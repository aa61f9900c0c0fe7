"""The state of a shard against the transcripts: what is new, what is gone. Cheap enough to ask before every search."""

from __future__ import annotations

import apsw

from clew.wire.tree_walk import TranscriptFile


class ChangedFiles:
    """Files to read, newest first; the files that are gone, by id."""

    __slots__ = ("changed", "gone")

    def __init__(self, changed: list[TranscriptFile], gone: dict[int, str]) -> None:
        self.changed = changed
        self.gone = gone

    @property
    def size(self) -> int:
        return sum(file.size for file in self.changed)


def state_of(shard: apsw.Connection, found: list[TranscriptFile], is_whole: bool) -> ChangedFiles:
    """Compare; what was not found is gone only if the walk was whole."""
    known = {row[0]: row for row in shard.execute("SELECT path, inode, size, mtime, id FROM file WHERE side=''")}
    changed = []
    for file in found:
        row = known.pop(file.path, None)
        if row is None or row[3] != file.mtime_ns or row[2] != file.size or row[1] != file.inode:
            changed.append(file)
    changed.sort(key=_newest_first)
    return ChangedFiles(changed, {row[4]: path for path, row in known.items()} if is_whole else {})


def _newest_first(file: TranscriptFile) -> tuple[int, str]:
    return (-file.mtime_ns, file.path)


def are_known(shards: list[apsw.Connection], found: list[TranscriptFile]) -> bool:
    """Whether the rows of side files are those of what was found."""
    rows = [row for shard in shards for row in shard.execute("SELECT path, size, mtime FROM file WHERE side<>''")]
    return sorted(rows) == sorted((file.path, file.size, file.mtime_ns) for file in found)
