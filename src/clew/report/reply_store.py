"""Cache the replies of every transcript, so that only new lines are read. The cache can be deleted at any time.

A file is identified by its path, its inode, the bytes consumed and a hash of them. A file that has grown is read
from there, a file that was rewritten is read again, and a missing file is removed, but only after a complete walk.
"""

from __future__ import annotations

import marshal
import os
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, Any

import apsw

from clew.errors import READ_ERRORS, UNEXPECTED_ERRORS
from clew.facts.token_usage import Spend
from clew.report.reply_copies import find_repeated_replies, merge_copies, original_of, read_copies
from clew.report.reply_rows import (
    NewReplies,
    UnreadLines,
    decode_spends,
    prepare_reading,
    read_replies,
)
from clew.report.usage_bucket import (
    DamagedReplies,
    ReplyContext,
    UsageBucket,
    add_bucket,
    add_numbers,
    bucket_for_reply,
    buckets_from_sums,
    sum_replies,
    sums_from_buckets,
)
from clew.report.usage_summary import (
    UsageSummary,
    cache_folder,
    delete_summary,
    file_states,
    load_summary,
    save_summary,
)
from clew.system.sqlite_file import DAMAGE, UNUSABLE, WriteTransaction, open_cache, reset_database
from clew.system.worker_processes import map_in_workers
from clew.wire.tree_walk import TranscriptFile

if TYPE_CHECKING:
    from clew.report.usage_bucket import Key, Sums

VERSION = 3
_TABLE = """
CREATE TABLE file(
  path TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
  offset INTEGER NOT NULL, mark BLOB NOT NULL, folder TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL,
  sums BLOB NOT NULL, hashes BLOB NOT NULL, keys BLOB NOT NULL, spends BLOB NOT NULL
);
"""
_INSERT = "INSERT OR REPLACE INTO file VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"
_SELECT_STATE = "SELECT inode, offset, mark, session FROM file WHERE path=?"
_SELECT_REPLIES = "SELECT sums, hashes, keys, spends FROM file WHERE path=?"
MAX_CHANGED = 256 << 20  # bytes of changed files up to which the sums of the others are kept
MIN_BYTES = 192 << 20  # bytes of new lines from which several processes pay off


Values = tuple[str | int | bytes, ...]
_SUMS = 9  # the place of the sums in a row
States = dict[str, tuple[int, int, int]]
Progress = Callable[[int, int], None]  # bytes read so far, and in total


def _no_progress(done: int, total: int) -> None:
    return


class ReplyStore:
    """The replies of a tree. `refresh` updates it; `buckets` yields each reply once, with its context."""

    def __init__(
        self,
        root: str,
        cache: str | None,
        readers: Mapping[str, Callable[[], bytes]] | None = None,
        jobs: int | None = None,
    ) -> None:
        """Open the cache in a folder; without one, or if it cannot be written, use memory.

        `readers` return the content of files that do not exist at their path. `jobs` is the number of processes.
        """
        self.jobs = jobs
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
            summary = self._update_and_sum(kept, states, files, is_whole, progress or _no_progress)
            if self.folder:
                save_summary(self.folder, summary)
        except (*UNUSABLE, *DAMAGE, *UNEXPECTED_ERRORS) as error:
            self.reset(error)
            summary = self._update_and_sum(None, states, files, is_whole, progress or _no_progress)
        return summary

    def reset(self, error: BaseException) -> None:
        """Empty a damaged store, or continue in memory if it cannot be used. The next refresh reads everything again."""
        self.failed.clear()
        try:
            if isinstance(error, UNUSABLE) or not self.folder:
                raise error
            self.database.close(True)  # with the statements that were not read to their end
            self.database = open_cache(self.folder, "replies.db", _create_table)
            reset_database(self.database)
            _create_table(self.database)
        except (*UNUSABLE, *DAMAGE, *UNEXPECTED_ERRORS):
            self.close()
            self._use_memory()

    def _update_and_sum(
        self, kept: UsageSummary | None, states: States, files: list[TranscriptFile], is_whole: bool, progress: Progress
    ) -> UsageSummary:
        sums: Sums = {}
        try:
            is_complete = self._update(kept, sums, files, is_whole, progress)
        except apsw.BusyError:  # another process is updating it: use what is there
            is_complete, self.is_busy = False, True
            sums.clear()
            self._add_others(sums, ())
            self._add_copies(sums, None)
        return UsageSummary(states, buckets_from_sums(sums), is_whole and is_complete)

    def _update(
        self, kept: UsageSummary | None, sums: Sums, files: list[TranscriptFile], is_whole: bool, progress: Progress
    ) -> bool:
        """Read what has changed, and put the sums of all files into `sums`. Return whether every file could be read.

        If the summary that was `kept` is of the stored state and little has changed, only the share of the changed files
        is taken out of its sums and put in again.
        """
        self.database.execute("BEGIN IMMEDIATE")
        try:
            known: States = {
                row[0]: row[1:] for row in self.database.execute("SELECT path, inode, size, mtime FROM file")
            }
            changed = [file for file in files if known.get(file.path) != (file.inode, file.size, file.mtime_ns)]
            gone = known.keys() - {file.path for file in files} if is_whole else set()
            rows: Iterable[tuple[Values, NewReplies]] = self._read_rows(changed, known, progress)
            hashes = None
            is_little = sum(file.size for file in changed) <= MAX_CHANGED
            is_kept = kept is not None and kept.is_whole and kept.states == known and is_little
            if kept and is_kept:
                rows = list(rows)
                paths = {str(row[0]) for row, _ in rows} | gone
                rewritten = {str(row[0]) for row, new in rows if not new.is_continued} | gone
                hashes = self._hashes_of(rewritten).union(*(array("I", new.hashes) for _, new in rows))
                _add_sums(sums, sums_from_buckets(kept.buckets).items())
                for (blob,) in self._select("sums", paths):
                    _add_sums(sums, marshal.loads(blob), -1)
                self._add_copies(sums, hashes, -1)
            read: set[str] = set()
            self.database.executemany(_INSERT, _tally_rows(rows, sums, read))
            self.database.executemany("DELETE FROM file WHERE path=?", ((path,) for path in gone))
            if not is_kept:
                self._add_others(sums, read)
            self._add_copies(sums, hashes)
            self.database.execute("COMMIT")
        finally:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
        return not any(os.path.exists(path) for path in self.failed)

    def _read_rows(
        self, changed: list[TranscriptFile], known: Container[str], progress: Progress
    ) -> Iterator[tuple[Values, NewReplies]]:
        """Yield the rows of changed files, and what is new in each; files that cannot be read are added to `failed`."""
        done, total = 0, sum(file.size for file in changed)
        for file, new in chain(self._read_tree(changed, known), self._read_elsewhere(changed)):
            if new is None:
                self.failed.append(file.path)
            else:
                yield self._row(file, new), new
            done += file.size
            progress(done, total)

    def _read_tree(
        self, changed: list[TranscriptFile], known: Container[str]
    ) -> Iterator[tuple[TranscriptFile, NewReplies | None]]:
        """Read what is new in the files of the tree, in several processes if there is much."""
        files = [file for file in changed if file.path not in self._readers]
        unread = [self._unread(file, file.path in known) for file in files]
        sizes = [max(0, each.size - each.read_offset) for each in unread]
        items: list[tuple[Any, ...]] = list(map(tuple, unread))
        results = map_in_workers(prepare_reading, None, items, sizes, jobs=self.jobs, min_bytes=MIN_BYTES)
        for file, result in zip(files, results, strict=True):
            yield file, NewReplies(*result) if result else None

    def _unread(self, file: TranscriptFile, is_known: bool) -> UnreadLines:
        row = self.database.execute(_SELECT_STATE, (file.path,)).fetchone() if is_known else None
        path = file.path if os.path.isabs(file.path) else os.path.abspath(file.path)
        return UnreadLines(path, file.inode, file.size, file.session, *(row or ()))

    def _read_elsewhere(self, changed: list[TranscriptFile]) -> Iterator[tuple[TranscriptFile, NewReplies | None]]:
        """Read the transcripts that do not exist at their path, all of each."""
        for file in changed:
            if read := self._readers.get(file.path):
                unread = UnreadLines(file.path, file.inode, file.size, file.session)
                try:
                    yield file, read_replies(BytesIO(read()), unread, self._hours)
                except READ_ERRORS:
                    yield file, None

    def _row(self, file: TranscriptFile, new: NewReplies) -> Values:
        """Return the row of a file: its new replies, joined with those that were read before."""
        if new.is_continued:
            stored: list[Any] = self.database.execute(_SELECT_REPLIES, (file.path,)).fetchall()
            new = new.after(self._hours, *stored[0])
        state = (file.path, file.inode, file.size, file.mtime_ns, new.offset, new.mark)
        return (*state, file.folder, new.session, file.agent, new.sums, new.hashes, new.keys, new.spends)

    def _add_others(self, sums: Sums, read: Container[str]) -> None:
        """Add the stored sums of all files that were not `read` now."""
        for path, blob in self.database.execute("SELECT path, sums FROM file"):
            if path not in read:
                _add_sums(sums, marshal.loads(blob))

    def _add_copies(self, sums: Sums, hashes: set[int] | None, sign: int = 1) -> None:
        """Add what is due to replies in several files, which count once: of those with these hashes, or of all.

        If the hashes are those of the replies that changed, what is due to their copies in other files is added with them.
        If `sign` is -1, all of it is subtracted.
        """
        repeated = find_repeated_replies(self.database, hashes)
        for copies in read_copies(self.database, repeated):
            several = [each for each in copies if len(each) > 1]
            self._add_replies(sums, (copy.spend for each in several for copy in each), -sign)
            self._add_replies(sums, map(merge_copies, several), sign)

    def _add_replies(self, sums: Sums, spends: Iterable[Spend], sign: int) -> None:
        _add_sums(sums, sum_replies(spends, self._hours).items(), sign)

    def _select(self, column: str, paths: Set[str]) -> Iterator[tuple[bytes]]:
        """Yield a column of the rows of some files."""
        for path in paths:
            yield from self.database.execute(f"SELECT {column} FROM file WHERE path=?", (path,))

    def _hashes_of(self, paths: Set[str]) -> set[int]:
        return set[int]().union(*(array("I", blob) for (blob,) in self._select("hashes", paths)))

    def buckets(self) -> Iterator[UsageBucket]:
        """Yield every reply once, with its context. Raises `DamagedReplies` if they cannot be read."""
        try:
            yield from self._read_buckets()
        except (*UNUSABLE, *DAMAGE, *UNEXPECTED_ERRORS) as error:
            raise DamagedReplies from error

    def _read_buckets(self) -> Iterator[UsageBucket]:
        """Yield the replies of each file in turn, then those in several files, in the context of the original."""
        repeated = find_repeated_replies(self.database)
        hours: dict[str, int] = {}
        rows = self.database.execute("SELECT folder, session, agent, hashes, spends FROM file ORDER BY path")
        for folder, session, agent, hashes, spends in rows:
            contexts: dict[tuple[str, ...], ReplyContext] = {}  # most replies of a file have the same
            for number, spend in zip(array("I", hashes), decode_spends(spends), strict=True):
                if number not in repeated:
                    kind = (spend.branch, *spend.calls.values())
                    if kind not in contexts:
                        contexts[kind] = _reply_context(folder, session, agent, spend)
                    yield bucket_for_reply(spend, contexts[kind], hours)
        for copies in chain.from_iterable(read_copies(self.database, repeated)):
            original = original_of(copies)
            folder, session, agent = original.place
            yield bucket_for_reply(merge_copies(copies), _reply_context(folder, session, agent, original.spend), hours)

    def place_buckets(self) -> Iterator[UsageBucket]:
        """Yield the sums of each file with its place; a reply in several files counts once, in the place of the original.
        Raises `DamagedReplies` if they cannot be read.
        """
        try:
            copies = self._sum_copies()
            for *place, blob in self.database.execute("SELECT folder, session, agent, sums FROM file ORDER BY path"):
                sums: Sums = dict(marshal.loads(blob))
                for key, numbers in copies.pop(tuple(place), {}).items():
                    add_numbers(sums, key, numbers)
                context = ReplyContext(*place)
                yield from (UsageBucket._make((*key, *each, context)) for key, each in sums.items() if any(each))
        except (*UNUSABLE, *DAMAGE, *UNEXPECTED_ERRORS) as error:
            raise DamagedReplies from error

    def _sum_copies(self) -> dict[tuple[str, ...], Sums]:
        """Return what replies in several files add to the sums of each place, or take away from them."""
        changes: dict[tuple[str, ...], Sums] = {}
        for copies in chain.from_iterable(read_copies(self.database, find_repeated_replies(self.database))):
            if len(copies) > 1:
                for copy in copies:
                    _add_copy(changes, copy.place, copy.spend, self._hours, -1)
                _add_copy(changes, original_of(copies).place, merge_copies(copies), self._hours)
        return changes


def _tally_rows(rows: Iterable[tuple[Values, NewReplies]], sums: Sums, read: set[str]) -> Iterator[Values]:
    """Pass on rows, and add them to the sums and to the paths that were read, while workers read the next."""
    for row, _ in rows:
        path, blob = row[0], row[_SUMS]
        read.add(str(path))
        if isinstance(blob, bytes):
            _add_sums(sums, marshal.loads(blob))
        yield row


def _add_sums(sums: Sums, added: Iterable[tuple[Key, list[int]]], sign: int = 1) -> None:
    for key, numbers in added:
        add_numbers(sums, key, numbers, sign)


def _add_copy(
    changes: dict[tuple[str, ...], Sums], place: Sequence[str], spend: Spend, hours: dict[str, int], sign: int = 1
) -> None:
    add_bucket(changes.setdefault(tuple(place), {}), bucket_for_reply(spend, None, hours), sign)


def _reply_context(folder: str, session: str, agent: str, spend: Spend) -> ReplyContext:
    return ReplyContext(
        folder, session, agent, spend.branch, " ".join(sorted({_one_word(name) for name in spend.calls.values()}))
    )


def _one_word(name: str) -> str:
    """Return the name of a tool as one word, because names are separated by spaces."""
    return name if name.isalnum() else "·".join(name.split())


def _create_table(connection: apsw.Connection) -> None:
    """Create the table unless it exists in this version; drop the one of another version.

    The summary that was made from the replies of that one is deleted first: it would say that every file has been read.
    """
    if connection.pragma("user_version") == VERSION:
        return
    connection.execute("PRAGMA page_size=32768")  # a new file of 30 MB takes half the time that it takes with 4 KB
    connection.execute("PRAGMA journal_mode=DELETE")  # rows are mostly new: a write-ahead log would write them twice
    with WriteTransaction(connection):
        if connection.pragma("user_version") != VERSION:  # another process may have created it meanwhile
            if connection.filename:
                delete_summary(os.path.dirname(connection.filename))
            connection.execute(f"DROP TABLE IF EXISTS file; {_TABLE} PRAGMA user_version={VERSION}")
