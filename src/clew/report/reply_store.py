"""The store: the replies of each transcript, as far as it has been read. A cache that can be deleted at any time.

A file is known by its path, its inode, the bytes consumed and a hash of some before them. One that has grown is read on from
there, one that was rewritten is read anew, and one that is gone is forgotten, but only after a whole walk.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from functools import reduce
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import apsw
from msgspec import msgpack

from clew.errors import READ_ERRORS, UNEXPECTED_ERRORS
from clew.facts.token_usage import Spend, usage
from clew.report.usage_bucket import Cell, ReplyContext, add_to, cell_of, cells_of, put, sum_replies
from clew.report.usage_summary import UsageSummary, folder_of, load, save, states_of
from clew.system.sqlite_file import BUSY_MS, DAMAGE, UNUSABLE, WriteTransaction, reset_database
from clew.wire.bulk_scan import scan
from clew.wire.growth import ReadState, fingerprint, has_only_grown
from clew.wire.line import MAX_LINE
from clew.wire.tree_walk import TranscriptFile
from clew.wire.usage_fields import USAGE_KEY, Billed

if TYPE_CHECKING:
    from clew.report.usage_bucket import Sums

VERSION = 2
_TABLE = """
CREATE TABLE file(
  path TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
  offset INTEGER NOT NULL, mark BLOB NOT NULL, folder TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL,
  sums BLOB NOT NULL, keys BLOB NOT NULL, spends BLOB NOT NULL
);
"""
_INSERT = "INSERT OR REPLACE INTO file VALUES(?,?,?,?,?,?,?,?,?,?,?,?)"
_SELECT = "SELECT inode, offset, mark, session, keys, spends FROM file WHERE path=?"
_KEYS = msgpack.Decoder(list[str])
_SPENDS = msgpack.Decoder(list[Spend])


Values = tuple[str | int | bytes, ...]
Progress = Callable[[int, int], None]  # bytes that have been read, and all that are to be


def _silent(done: int, total: int) -> None:
    return


class Store:
    """The replies of a tree. `refresh` brings it up to date; `cells` gives each reply once, with its place."""

    def __init__(
        self, root: str, cache: str | None, elsewhere: Mapping[str, Callable[[], bytes]] | None = None
    ) -> None:
        """Without a cache, or where it cannot be written, it is kept in memory and gone with the process.

        `elsewhere` says of files that are not at their path how to read them.
        """
        self._elsewhere = elsewhere or {}
        self.folder = folder_of(root, cache) if cache else None
        try:
            self.database = _opened(self.folder)
        except UNUSABLE:
            self._forget_cache()
        self._minutes: dict[str, int] = {}
        self.failed: list[str] = []

    def _forget_cache(self) -> None:
        """Go on in memory, where the cache cannot be read or written."""
        self.folder = None
        self.database = _opened(None)

    def close(self) -> None:
        self.database.close()

    def refresh(
        self, found: list[TranscriptFile], is_whole: bool = True, progress: Progress | None = None
    ) -> UsageSummary:
        """Read what has changed of these files, and sum up; what is not among them is gone if they are all there are."""
        states = states_of(found)
        kept = load(self.folder) if self.folder else None
        if kept is not None and kept.states == states and kept.is_whole:
            return kept
        try:
            summary = self._refreshed(states, found, is_whole, progress or _silent)
            if self.folder:
                save(self.folder, summary)
        except (*UNUSABLE, *DAMAGE, *UNEXPECTED_ERRORS) as error:
            self.reset(error)
            summary = self._refreshed(states, found, is_whole, progress or _silent)
        return summary

    def reset(self, error: BaseException) -> None:
        """Empty a store that is damaged, and leave one that cannot be used: the next refresh reads everything again."""
        self.failed.clear()
        try:
            if isinstance(error, UNUSABLE) or not self.folder:
                raise error
            Path(self.folder, "summary").unlink(missing_ok=True)
            reset_database(self.database)
            _prepare(self.database)
        except (*UNUSABLE, *DAMAGE, *UNEXPECTED_ERRORS):
            self.close()
            self._forget_cache()

    def _refreshed(
        self, states: dict[str, tuple[int, int, int]], found: list[TranscriptFile], is_whole: bool, progress: Progress
    ) -> UsageSummary:
        try:
            is_complete = self._update(found, is_whole, progress)
        except apsw.BusyError:  # another clew is at it: what there is will do
            is_complete = False
        return UsageSummary(states, cells_of(self._sums()), is_whole and is_complete)

    def _update(self, found: list[TranscriptFile], is_whole: bool, progress: Progress) -> bool:
        self.database.execute("BEGIN IMMEDIATE")
        try:
            rows = self.database.execute("SELECT path, inode, size, mtime FROM file")
            known = {path: (inode, size, mtime) for path, inode, size, mtime in rows}
            changed = [file for file in found if known.get(file.path) != (file.inode, file.size, file.mtime_ns)]
            self.database.executemany(_INSERT, self._read_all(changed, known, progress))
            if is_whole:
                gone = known.keys() - {file.path for file in found}
                self.database.executemany("DELETE FROM file WHERE path=?", ((path,) for path in gone))
            self.database.execute("COMMIT")
        finally:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
        return not any(os.path.exists(path) for path in self.failed)

    def _read_all(self, changed: list[TranscriptFile], known: Container[str], progress: Progress) -> Iterator[Values]:
        """The rows of files that have changed; those that cannot be read have none."""
        done, total = 0, sum(file.size for file in changed)
        for file in changed:
            row = self._read(file, file.path in known)
            if row is None:
                self.failed.append(file.path)
            else:
                yield row
            done += file.size
            progress(done, total)

    def _read(self, found: TranscriptFile, is_known: bool) -> Values | None:
        """Read a file on, or anew: its row, or None if it cannot be read."""
        try:
            if found.path in self._elsewhere:
                return self._row(found, BytesIO(self._elsewhere[found.path]()), False)
            with open(found.path, "rb") as file:
                return self._row(found, file, is_known)
        except READ_ERRORS:
            return None

    def _row(self, found: TranscriptFile, file: BinaryIO, is_known: bool) -> Values:
        offset, session = 0, found.session
        replies: dict[str, Spend] = {}
        if is_known:
            row = self.database.execute(_SELECT, (found.path,)).fetchone()
            if row and row[1] and has_only_grown(file, ReadState(*row[:3]), found.inode, found.size):
                offset, session = row[1], row[3]
                replies = dict(zip(_KEYS.decode(row[4]), _SPENDS.decode(row[5]), strict=True))
        reader = _UsageLines(file, offset, session)
        spent = usage(reader).own
        for key, spend in spent.items():
            replies[key] = spend.merge(replies[key]) if key in replies else spend
        offset, session = 0 if reader.has_tail else reader.offset, reader.session
        state = (found.path, found.inode, found.size, found.mtime_ns, offset, fingerprint(file, offset))
        blobs = (msgpack.encode(list(replies)), msgpack.encode(list(replies.values())))
        sums = marshal.dumps(list(sum_replies(replies.values(), self._minutes).items()))
        return (*state, found.folder, session, found.agent, sums, *blobs)

    def _sums(self) -> Sums:
        """All files added up, with what is in several of them counted once."""
        found: Sums = {}
        for (blob,) in self.database.execute("SELECT sums FROM file"):
            for key, numbers in marshal.loads(blob):
                put(found, key, numbers)
        for tellings in self._tellings(self._shared()).values():
            for telling in tellings:
                add_to(found, cell_of(telling.spend, None, {}), -1)
            add_to(found, cell_of(_joined(tellings), None, {}))
        return found

    def every_cell(self, found: list[TranscriptFile], is_whole: bool) -> list[Cell]:
        """As `cells`; a store that proves to be damaged is made again from the files."""
        try:
            return list(self.cells())
        except (*UNUSABLE, *DAMAGE, *UNEXPECTED_ERRORS) as error:
            self.reset(error)
            self.refresh(found, is_whole)
            return list(self.cells())

    def cells(self) -> Iterator[Cell]:
        """Every reply once, with its place: a reply in several files is the best telling of it, in the first of them."""
        shared = self._shared()
        minutes: dict[str, int] = {}
        rows = self.database.execute("SELECT path, folder, session, agent, keys, spends FROM file ORDER BY path")
        for _, folder, session, agent, keys, spends in rows:
            for key, spend in zip(_KEYS.decode(keys), _SPENDS.decode(spends), strict=True):
                if key not in shared:
                    yield cell_of(spend, _place(folder, session, agent, spend), minutes)
        for tellings in self._tellings(shared).values():
            original = min(tellings, key=lambda telling: telling.spend.is_copy)
            yield cell_of(_joined(tellings), original.place, minutes)

    def _tellings(self, shared: Mapping[str, Collection[str]]) -> dict[str, list[_StoredUsage]]:
        """What each of several files says of a reply that is in all of them, in the order of their paths."""
        found: dict[str, list[_StoredUsage]] = {}
        for path in sorted({path for paths in shared.values() for path in paths}):
            row = self.database.execute("SELECT folder, session, agent, keys, spends FROM file WHERE path=?", (path,))
            for folder, session, agent, keys, spends in row:
                for key, spend in zip(_KEYS.decode(keys), _SPENDS.decode(spends), strict=True):
                    if key in shared:
                        found.setdefault(key, []).append(_StoredUsage(spend, _place(folder, session, agent, spend)))
        return found

    def _shared(self) -> dict[str, list[str]]:
        """The replies that are in more than one file, with the paths of those."""
        seen: dict[str, str] = {}
        shared: dict[str, list[str]] = {}
        for path, keys in self.database.execute("SELECT path, keys FROM file"):
            found = dict.fromkeys(_KEYS.decode(keys), path)
            for key in found.keys() & seen.keys():
                shared.setdefault(key, [seen[key]]).append(path)
            seen |= found
        return shared


class _StoredUsage(NamedTuple):
    """What one file says of a reply."""

    spend: Spend
    place: ReplyContext


def _joined(tellings: Sequence[_StoredUsage]) -> Spend:
    return reduce(Spend.merge, (telling.spend for telling in tellings))


def _place(folder: str, session: str, agent: str, spend: Spend) -> ReplyContext:
    return ReplyContext(
        folder, session, agent, spend.branch, " ".join(sorted({_word(name) for name in spend.calls.values()}))
    )


def _word(name: str) -> str:
    """The name of a tool as one word: a space stands between names."""
    return name if name.isalnum() else "·".join(name.split())


class _UsageLines:
    """The lines of a file that have usage in them, how far they were read, and the session that they name.

    A last line without its newline counts if it is whole; but it may yet become another, and the file be read anew.
    """

    def __init__(self, file: BinaryIO, offset: int, session: str) -> None:
        self.file = file
        self.offset = offset
        self.session = session
        self.has_tail = False

    def __iter__(self) -> Iterator[Billed]:
        for piece in scan(self.file, offset=self.offset, finished=True, shape=Billed, holding=USAGE_KEY):
            self.offset = piece.stop
            yield from piece.spoken
            if not self.session and piece.spoken:
                self.session = piece.spoken[0].session_id or ""
        size = self.file.seek(0, os.SEEK_END) - self.offset
        self.file.seek(self.offset)
        tail = self.file.read(size) if size <= MAX_LINE else b""
        for piece in scan(tail, shape=Billed, holding=USAGE_KEY) if tail else ():
            if piece.spoken and not piece.damaged:
                self.has_tail = True
                yield from piece.spoken


def _opened(folder: str | None) -> apsw.Connection:
    path = os.path.join(folder, "replies.db") if folder else ":memory:"
    if folder:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    is_missing = folder is not None and not os.path.exists(path)
    connection = apsw.Connection(path)
    connection.set_busy_timeout(BUSY_MS)
    if is_missing:
        os.chmod(path, 0o600)
    try:
        _prepare(connection)
    except DAMAGE:
        reset_database(connection)
        _prepare(connection)
    connection.execute("PRAGMA synchronous=OFF")  # it can be made again
    return connection


def _prepare(connection: apsw.Connection) -> None:
    """Make the table, unless it is there in this version; one of another version goes."""
    if connection.pragma("user_version") == VERSION:
        return
    connection.execute("PRAGMA journal_mode=DELETE")  # rows are mostly new: a write-ahead log would write them twice
    with WriteTransaction(connection):
        if connection.pragma("user_version") != VERSION:  # another clew may have been faster
            connection.execute(f"DROP TABLE IF EXISTS file; {_TABLE} PRAGMA user_version={VERSION}")
