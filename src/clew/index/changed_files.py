"""Compare shards with the transcripts on disk: which files are new or changed, which are deleted."""

from __future__ import annotations

import os
from array import array

import apsw

from clew.index.index_schema import shard_number
from clew.wire.tree_walk import TranscriptFile, agent_id, iter_transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any


class FileColumns:
    """Transcripts as columns, because a first index has all of them: a third of the memory of a list of tuples.

    The values of a file that are parts of its path are not kept, and its folders are shared with other files.
    """

    __slots__ = ("_folders", "_names", "_numbers", "_order", "_parents", "_sessions", "_shared")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._names: list[str] = []
        self._parents: list[str] = []  # the folders in which the files are
        self._folders: list[str] = []
        self._sessions: list[str] = []  # of agents
        self._shared: dict[str, str] = {}
        self._numbers = array("q")  # size, mtime, inode and ctime of each file
        self._order = array("q")

    def add(self, file: TranscriptFile) -> None:
        path, folder, session, agent, *numbers = file
        parent, _, name = path.rpartition(os.sep)
        self._order.append(len(self._names))
        self._names.append(name)
        self._numbers.extend(numbers)
        for column, text in (
            (self._parents, parent),
            (self._folders, folder),
            (self._sessions, session if agent else ""),
        ):
            column.append(self._shared.setdefault(text, text))

    def sort(self) -> None:
        """Put the newest file first; of files with the same time, that with the first path."""
        times = self._numbers[1::4]
        order = sorted(self._order, key=self._path)
        order.sort(key=times.__getitem__, reverse=True)
        self._order = array("q", order)

    def _path(self, number: int) -> str:
        return f"{self._parents[number]}{os.sep}{self._names[number]}"

    @property
    def size(self) -> int:
        return sum(self._numbers[::4])

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, position: int) -> TranscriptFile:
        number = self._order[position]
        name, numbers = self._names[number], self._numbers[4 * number : 4 * number + 4]
        agent = agent_id(name)
        session = self._sessions[number] if agent else name[:-6]
        return TranscriptFile(self._path(number), self._folders[number], session, agent, *numbers)

    def __iter__(self) -> Iterator[TranscriptFile]:
        return map(self.__getitem__, range(len(self)))

    def split(self, size: int) -> Iterator[FileWindow]:
        """Split the files, newest first, into windows of about some bytes."""
        first = held = 0
        for position, number in enumerate(self._order):
            more = self._numbers[4 * number]
            if position > first and held + more > size:
                yield FileWindow(self, range(first, position), held)
                first, held = position, 0
            held += more
        if len(self) > first:
            yield FileWindow(self, range(first, len(self)), held)


class FileWindow:
    """Some files in a row and how many bytes they have together; the oldest is first."""

    __slots__ = ("_files", "_positions", "size")

    def __init__(self, files: FileColumns, positions: range, size: int) -> None:
        self._files, self._positions, self.size = files, positions, size

    def __iter__(self) -> Iterator[TranscriptFile]:
        return map(self._files.__getitem__, reversed(self._positions))


class ChangedFiles:
    """Files to read, newest first, and {id: path} of deleted files."""

    __slots__ = ("changed", "deleted")

    def __init__(self, changed: FileColumns, deleted: dict[int, str]) -> None:
        self.changed = changed
        self.deleted = deleted


def find_changed_files(
    shards: Mapping[int, apsw.Connection], root: str, missed: list[str], outputs: dict[str, int] | None = None
) -> dict[int, ChangedFiles]:
    """Walk a tree and compare its files with the rows of some shards, given by their numbers.

    Files count as deleted only if the walk was complete: `missed` and `outputs` are those of `iter_transcripts`. Files of
    other shards are not kept, because there may be many.
    """
    statement = "SELECT path, inode, size, mtime, ctime FROM file WHERE side=''"
    known: dict[str, Any] = {row[0]: row[1:] for shard in shards.values() for row in shard.execute(statement)}
    changed = {number: FileColumns() for number in shards}
    for file in iter_transcripts(root, missed, outputs, known):
        number = shard_number(file.session, file.path)
        if number in changed:
            changed[number].add(file)
    for files in changed.values():
        files.sort()
    deleted = known if not missed else {}
    return {
        number: ChangedFiles(changed[number], _row_ids(shard, deleted) if deleted else {})
        for number, shard in shards.items()
    }


def _row_ids(shard: apsw.Connection, paths: Iterable[str]) -> dict[int, str]:
    rows = ((shard.execute("SELECT id FROM file WHERE path=?", (path,)).get, path) for path in paths)
    return {file_id: path for file_id, path in rows if file_id is not None}


def are_side_files_current(shards: Sequence[apsw.Connection], files: list[TranscriptFile]) -> bool:
    """Return whether the rows of side files equal the files on disk."""
    rows = [row for shard in shards for row in shard.execute("SELECT path, size, mtime FROM file WHERE side<>''")]
    return sorted(rows) == sorted((file.path, file.size, file.mtime_ns) for file in files)


def are_outputs_current(shards: Sequence[apsw.Connection], folders: dict[str, int]) -> bool:
    """Return whether every shard knows the long outputs on disk, {session folder: hash}."""
    return all(dict(shard.execute("SELECT folder, hash FROM output")) == folders for shard in shards)
