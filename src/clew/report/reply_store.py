"""Cache the replies of every transcript, so that only new lines are read. The cache can be deleted at any time.

A file is identified by its path, its inode, the bytes consumed and a hash of some of them. A file that has grown is read
from there, a file that was rewritten is read again, and a missing file is removed, but only after a complete walk.
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
from clew.report.usage_bucket import (
    ReplyContext,
    UsageBucket,
    add_bucket,
    add_numbers,
    bucket_for_reply,
    buckets_from_sums,
    sum_replies,
)
from clew.report.usage_summary import UsageSummary, cache_folder, file_states, load_summary, save_summary
from clew.system.sqlite_file import DAMAGE, UNUSABLE, WriteTransaction, open_cache, reset_database
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
Progress = Callable[[int, int], None]  # bytes read so far, and in total


def _no_progress(done: int, total: int) -> None:
    return


class ReplyStore:
    """The replies of a tree. `refresh` updates it; `buckets` yields each reply once, with its context."""

    def __init__(self, root: str, cache: str | None, readers: Mapping[str, Callable[[], bytes]] | None = None) -> None:
        """Open the cache in a folder; without one, or if it cannot be written, use memory.

        `readers` return the content of files that do not exist at their path.
        """
        self._readers = readers or {}
        self.folder = cache_folder(root, cache) if cache else None
        try:
            self.database = open_cache(self.folder, "replies.db", _create_table)
        except UNUSABLE:
            self._use_memory()
        self._hours: dict[str, int] = {}
        self.failed: list[str] = []
        self.is_busy = False  # whether another process was updating it

    def _use_memory(self) -> None:
        """Continue in memory, because the cache cannot be read or written."""
        self.folder = None
        self.database = open_cache(None, "replies.db", _create_table)

    def close(self) -> None:
        self.database.close()

    def refresh(
        self, files: list[TranscriptFile], is_whole: bool = True, progress: Progress | None = None
    ) -> UsageSummary:
        """Read what has changed in these files, and sum up. If `is_whole`, files that are not listed are removed."""
        states = file_states(files)
        kept = load_summary(self.folder) if self.folder else None
        if kept is not None and kept.states == states and kept.is_whole:
            return kept
        try:
            summary = self._update_and_sum(states, files, is_whole, progress or _no_progress)
            if self.folder:
                save_summary(self.folder, summary)
        except (*UNUSABLE, *DAMAGE, *UNEXPECTED_ERRORS) as error:
            self.reset(error)
            summary = self._update_and_sum(states, files, is_whole, progress or _no_progress)
        return summary

    def reset(self, error: BaseException) -> None:
        """Empty a damaged store, or continue in memory if it cannot be used. The next refresh reads everything again."""
        self.failed.clear()
        try:
            if isinstance(error, UNUSABLE) or not self.folder:
                raise error
            Path(self.folder, "summary").unlink(missing_ok=True)
            reset_database(self.database)
            _create_table(self.database)
        except (*UNUSABLE, *DAMAGE, *UNEXPECTED_ERRORS):
            self.close()
            self._use_memory()

    def _update_and_sum(
        self, states: dict[str, tuple[int, int, int]], files: list[TranscriptFile], is_whole: bool, progress: Progress
    ) -> UsageSummary:
        try:
            is_complete = self._update(files, is_whole, progress)
        except apsw.BusyError:  # another process is updating it: use what is there
            is_complete, self.is_busy = False, True
        return UsageSummary(states, buckets_from_sums(self._sum_all()), is_whole and is_complete)

    def _update(self, files: list[TranscriptFile], is_whole: bool, progress: Progress) -> bool:
        self.database.execute("BEGIN IMMEDIATE")
        try:
            rows = self.database.execute("SELECT path, inode, size, mtime FROM file")
            known = {path: (inode, size, mtime) for path, inode, size, mtime in rows}
            changed = [file for file in files if known.get(file.path) != (file.inode, file.size, file.mtime_ns)]
            self.database.executemany(_INSERT, self._read_rows(changed, known, progress))
            if is_whole:
                gone = known.keys() - {file.path for file in files}
                self.database.executemany("DELETE FROM file WHERE path=?", ((path,) for path in gone))
            self.database.execute("COMMIT")
        finally:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
        return not any(os.path.exists(path) for path in self.failed)

    def _read_rows(self, changed: list[TranscriptFile], known: Container[str], progress: Progress) -> Iterator[Values]:
        """Yield the rows of changed files; files that cannot be read are added to `failed`."""
        done, total = 0, sum(file.size for file in changed)
        for file in changed:
            row = self._read(file, file.path in known)
            if row is None:
                self.failed.append(file.path)
            else:
                yield row
            done += file.size
            progress(done, total)

    def _read(self, transcript: TranscriptFile, is_known: bool) -> Values | None:
        """Read the new lines of a file, or all of it. Return its row; None if it cannot be read."""
        try:
            if transcript.path in self._readers:
                return self._row(transcript, BytesIO(self._readers[transcript.path]()), False)
            with open(transcript.path, "rb") as file:
                return self._row(transcript, file, is_known)
        except READ_ERRORS:
            return None

    def _row(self, transcript: TranscriptFile, file: BinaryIO, is_known: bool) -> Values:
        offset, session = 0, transcript.session
        replies: dict[str, Spend] = {}
        if is_known:
            row = self.database.execute(_SELECT, (transcript.path,)).fetchone()
            if row and row[1] and has_only_grown(file, ReadState(*row[:3]), transcript.inode, transcript.size):
                offset, session = row[1], row[3]
                replies = dict(zip(_KEYS.decode(row[4]), _SPENDS.decode(row[5]), strict=True))
        reader = _UsageLines(file, offset, session)
        spent = usage(reader).own
        for key, spend in spent.items():
            replies[key] = spend.merge(replies[key]) if key in replies else spend
        offset, session = 0 if reader.has_tail else reader.offset, reader.session
        state = (
            transcript.path,
            transcript.inode,
            transcript.size,
            transcript.mtime_ns,
            offset,
            fingerprint(file, offset),
        )
        blobs = (msgpack.encode(list(replies)), msgpack.encode(list(replies.values())))
        sums = marshal.dumps(list(sum_replies(replies.values(), self._hours).items()))
        return (*state, transcript.folder, session, transcript.agent, sums, *blobs)

    def _sum_all(self) -> Sums:
        """Sum up all files; a reply in several files counts once."""
        sums: Sums = {}
        for (blob,) in self.database.execute("SELECT sums FROM file"):
            for key, numbers in marshal.loads(blob):
                add_numbers(sums, key, numbers)
        for copies in self._stored_copies(self._find_shared()).values():
            for copy in copies:
                add_bucket(sums, bucket_for_reply(copy.spend, None, {}), -1)
            add_bucket(sums, bucket_for_reply(_merge_copies(copies), None, {}))
        return sums

    def load_buckets(self, files: list[TranscriptFile], is_whole: bool) -> list[UsageBucket]:
        """Return `buckets` as a list; if the store is damaged, rebuild it from the files first."""
        try:
            return list(self.buckets())
        except (*UNUSABLE, *DAMAGE, *UNEXPECTED_ERRORS) as error:
            self.reset(error)
            self.refresh(files, is_whole)
            return list(self.buckets())

    def buckets(self) -> Iterator[UsageBucket]:
        """Yield every reply once, with its context. Copies in several files are merged, in the context of the original."""
        shared = self._find_shared()
        hours: dict[str, int] = {}
        rows = self.database.execute("SELECT path, folder, session, agent, keys, spends FROM file ORDER BY path")
        for _, folder, session, agent, keys, spends in rows:
            for key, spend in zip(_KEYS.decode(keys), _SPENDS.decode(spends), strict=True):
                if key not in shared:
                    yield bucket_for_reply(spend, _reply_context(folder, session, agent, spend), hours)
        for copies in self._stored_copies(shared).values():
            original = min(copies, key=lambda copy: copy.spend.is_copy)
            yield bucket_for_reply(_merge_copies(copies), original.context, hours)

    def _stored_copies(self, shared: Mapping[str, Collection[str]]) -> dict[str, list[_StoredUsage]]:
        """Return the copies of replies that are in several files, in the order of their paths."""
        copies: dict[str, list[_StoredUsage]] = {}
        for path in sorted({path for paths in shared.values() for path in paths}):
            row = self.database.execute("SELECT folder, session, agent, keys, spends FROM file WHERE path=?", (path,))
            for folder, session, agent, keys, spends in row:
                for key, spend in zip(_KEYS.decode(keys), _SPENDS.decode(spends), strict=True):
                    if key in shared:
                        context = _reply_context(folder, session, agent, spend)
                        copies.setdefault(key, []).append(_StoredUsage(spend, context))
        return copies

    def _find_shared(self) -> dict[str, list[str]]:
        """Return the paths of replies that are in more than one file, by reply."""
        seen: dict[str, str] = {}
        shared: dict[str, list[str]] = {}
        for path, keys in self.database.execute("SELECT path, keys FROM file"):
            here = dict.fromkeys(_KEYS.decode(keys), path)
            for key in here.keys() & seen.keys():
                shared.setdefault(key, [seen[key]]).append(path)
            seen |= here
        return shared


class _StoredUsage(NamedTuple):
    """The usage of a reply as one file records it."""

    spend: Spend
    context: ReplyContext


def _merge_copies(copies: Sequence[_StoredUsage]) -> Spend:
    return reduce(Spend.merge, (copy.spend for copy in copies))


def _reply_context(folder: str, session: str, agent: str, spend: Spend) -> ReplyContext:
    return ReplyContext(
        folder, session, agent, spend.branch, " ".join(sorted({_one_word(name) for name in spend.calls.values()}))
    )


def _one_word(name: str) -> str:
    """Return the name of a tool as one word, because names are separated by spaces."""
    return name if name.isalnum() else "·".join(name.split())


class _UsageLines:
    """The lines of a file that contain usage, how far they were read, and the session that they name.

    A last line without a newline counts if it is complete; as it may still change, the next refresh reads the file again.
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


def _create_table(connection: apsw.Connection) -> None:
    """Create the table unless it exists in this version; drop the one of another version."""
    if connection.pragma("user_version") == VERSION:
        return
    connection.execute("PRAGMA journal_mode=DELETE")  # rows are mostly new: a write-ahead log would write them twice
    with WriteTransaction(connection):
        if connection.pragma("user_version") != VERSION:  # another process may have created it meanwhile
            connection.execute(f"DROP TABLE IF EXISTS file; {_TABLE} PRAGMA user_version={VERSION}")
