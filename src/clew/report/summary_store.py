"""Cache the summary of every session, so that only changed ones are read again. The cache can be deleted at any time.

A summary is valid for one state (path, size, time and inode) of the session's file and of those of its agents. Of a file
that has grown since, only the new lines are read (`report.growing_summary`).
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import apsw
from msgspec import msgpack
from msgspec.structs import replace

from clew.errors import READ_ERRORS, UNEXPECTED_ERRORS
from clew.facts.prices import micros
from clew.report.collect_buckets import ArchivedTranscript, collect_buckets
from clew.report.custom_prices import load_prices, price_file
from clew.report.growing_summary import SummaryRequest, summarize_growing
from clew.report.session_summary import SessionSummary
from clew.report.timezone import Zone
from clew.report.usage_row import group_buckets
from clew.report.usage_summary import cache_folder
from clew.report.usage_table import bucket_names
from clew.system.sqlite_file import UNUSABLE, WriteTransaction, enable_wal, open_cache, reset_database
from clew.system.worker_processes import map_in_workers
from clew.version import __version__
from clew.wire.layout import AgentFile
from clew.wire.tree_walk import TranscriptFile, list_transcripts

VERSION = 2
COMMIT_SECONDS = 1.0  # between two commits of a long refresh
EACH = 24 << 10  # bytes that take as long to read as what a session takes beside its bytes
MIN_BYTES = 24 << 20  # of sessions, each with EACH, from which several processes pay off
# A summary that is written again gets a new id, which is larger than all before it. `epoch` has a random number: another
# one says that the tables were created again.
_TABLES = """
DROP TABLE IF EXISTS summary; DROP TABLE IF EXISTS cost; DROP TABLE IF EXISTS epoch;
CREATE TABLE summary(
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, state TEXT NOT NULL, crc INTEGER NOT NULL,
  data BLOB NOT NULL, offset INTEGER NOT NULL, kept_crc INTEGER NOT NULL, kept BLOB NOT NULL
);
CREATE TABLE cost(prices TEXT NOT NULL, crc INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE epoch(number INTEGER NOT NULL);
"""
_INSERT = "INSERT OR REPLACE INTO summary(path, state, crc, data, offset, kept_crc, kept) VALUES(?,?,?,?,?,?,?)"
_DECODE = msgpack.Decoder(SessionSummary).decode
_COSTS = msgpack.Decoder(dict[str, tuple[int, tuple[str, ...]]]).decode

Costs = dict[str, tuple[int, tuple[str, ...]]]  # micros and the models without a price, by session
Progress = Callable[[int, int], object]  # bytes read so far, and in total


class SummaryStore:
    """The summaries of a tree. `refresh` updates it, `load` returns them by path."""

    def __init__(self, root: str, cache: str | None) -> None:
        """Open the store in a cache folder; without one, or if it cannot be used, keep it in memory."""
        self.root = os.path.abspath(root)
        self.cache = cache
        self.folder = cache_folder(root, cache) if cache else None
        self._loaded = _Loaded(0)
        try:
            self._database = open_cache(self.folder, "summaries.db", _create_tables)
        except UNUSABLE:
            self.folder = None
            self._database = open_cache(None, "summaries.db", _create_tables)

    def close(self) -> None:
        self._database.close()

    def load(self) -> dict[str, SessionSummary]:
        """Return the stored summaries of all conversations by path, as of the last refresh. Only those that were written
        since the last call are decoded; the others are the same objects.
        """
        try:
            return self._load()
        except apsw.BusyError:  # the next look finds it
            return {}
        except (*UNUSABLE, *UNEXPECTED_ERRORS, apsw.Error) as error:
            self._reset(error)
            return {}

    def _load(self) -> dict[str, SessionSummary]:
        row: Any = self._database.execute("SELECT (SELECT number FROM epoch), count(*) FROM summary").fetchone()
        epoch, count = row
        if epoch != self._loaded.epoch:
            self._loaded = _Loaded(epoch)
        loaded = self._loaded
        damaged: list[str] = []
        self._load_costs()
        rows = self._database.execute("SELECT id, path, crc, data FROM summary WHERE id>? ORDER BY id", (loaded.last,))
        for number, path, check, data in rows:
            loaded.last = number
            if crc32(data) == check:
                loaded.add(path, _DECODE(data))
            else:
                damaged.append(path)
        if len(loaded.summaries) != count - len(damaged):
            loaded.keep({path for (path,) in self._database.execute("SELECT path FROM summary")})
        self._write([("DELETE FROM summary WHERE path=?", (path,)) for path in damaged])  # the next refresh reads them
        return {path: summary for path, summary in loaded.summaries.items() if summary.is_conversation}

    def _load_costs(self) -> None:
        """Decode the stored costs if they have changed, and put them into the summaries."""
        row = self._database.execute("SELECT crc FROM cost").fetchone()
        if row and row[0] != self._loaded.cost_check:
            costs: Any = self._database.execute("SELECT crc, data FROM cost").fetchone()
            check, data = costs
            self._loaded.set_costs(check, _COSTS(data) if crc32(data) == check else {})

    def get_many(self, files: Iterable[TranscriptFile]) -> dict[str, SessionSummary]:
        """Return the summaries that fit the present state of some files by path; files without one are missing."""
        states = session_states(list(files))
        rows = self._database.execute("SELECT path, state FROM summary")
        current = {path for path, state in rows if states.get(path) == state}
        return {path: summary for path, summary in self.load().items() if path in current}

    def summarize(self, file: TranscriptFile, files: list[TranscriptFile], state: str) -> SessionSummary | None:
        """Return the summary of a session, which is read if it has changed; None if that fails or it is no conversation.

        `files` are those of its folder, and `state` is its state among them. The cost is that of its own replies.
        """
        try:
            rows = self._database.execute("SELECT state, crc, data FROM summary WHERE path=?", (file.path,))
            row: Any = rows.fetchone()
            if row and row[0] == state and row[1] == crc32(row[2]):
                summary = _DECODE(row[2])
                return summary if summary.is_conversation else None
        except apsw.BusyError:
            return None
        except (*UNUSABLE, *UNEXPECTED_ERRORS, apsw.Error) as error:
            self._reset(error)
        return self.update(files, [file], is_whole=False).get(file.path)

    def changed(self, files: list[TranscriptFile]) -> list[TranscriptFile]:
        """Return the sessions among files that were not summarized in their present state."""
        try:
            return self._changed(files)
        except (*UNUSABLE, *UNEXPECTED_ERRORS, apsw.Error) as error:
            self._reset(error)
            return self._changed(files)

    def _changed(self, files: list[TranscriptFile]) -> list[TranscriptFile]:
        states = session_states(files)
        known = dict(self._database.execute("SELECT path, state FROM summary"))
        return [file for file in files if not file.agent and known.get(file.path) != states[file.path]]

    def refresh(self, progress: Progress | None = None, kept: Sequence[ArchivedTranscript] = ()) -> bool:
        """Read the sessions that have changed; return whether anything has. `kept` are archived transcripts, which
        count for the costs as in usage reports.
        """
        missed: list[str] = []
        files = list_transcripts(self.root, missed)
        changed = self.changed(files)
        self.update(files, changed, is_whole=not missed, progress=progress)
        return self.update_costs(kept) or bool(changed)

    def update(
        self,
        files: list[TranscriptFile],
        changed: list[TranscriptFile],
        *,
        is_whole: bool = True,
        progress: Progress | None = None,
    ) -> dict[str, SessionSummary]:
        """Summarize the `changed` sessions among all `files`, and return the new summaries by path.

        The cost of a new summary is that of its own replies until the costs are updated. If `is_whole`, sessions that
        are not among the files are removed.
        """
        states = session_states(files)
        fresh = self._read(changed, progress)
        try:
            gone = [path for (path,) in self._database.execute("SELECT path FROM summary") if path not in states]
            if gone and is_whole:
                self._write([("DELETE FROM summary WHERE path=?", (path,)) for path in gone])
            return self._insert(fresh, states)
        except apsw.BusyError:  # another process refreshes it
            return {}
        except (OSError, apsw.Error) as error:
            self._reset(error)
            return self._insert(self._read(changed, progress), states)

    def _read(self, changed: list[TranscriptFile], progress: Progress | None) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield the summaries of sessions with the sums that are kept, newest files first, read by several processes if that
        pays off. An unreadable one is skipped, and tried again next time.
        """
        done, total = 0, sum(file.size for file in changed)
        files = sorted(changed, key=lambda each: -each.mtime_ns)
        prices = _price_state()
        items = [
            (os.path.abspath(file.path), file.inode, file.size, file.mtime_ns, prices, self._kept(file.path))
            for file in files
        ]
        sizes = self._efforts(files)
        results = map_in_workers(prepare_summaries, None, items, sizes, min_bytes=MIN_BYTES)
        for file, result in zip(files, results, strict=True):
            if result is not None:
                yield result
            done += file.size
            if progress:
                progress(done, total)

    def _kept(self, path: str) -> bytes:
        """Return the sums that were kept of a session; empty if there are none, or they are damaged."""
        row = self._database.execute("SELECT kept_crc, kept FROM summary WHERE path=?", (path,)).fetchone()
        return row[1] if row and crc32(row[1]) == row[0] else b""

    def effort(self, changed: Sequence[TranscriptFile]) -> int:
        """Return how much work it is to summarize sessions, in bytes of long ones."""
        return sum(self._efforts(changed))

    def _efforts(self, changed: Sequence[TranscriptFile]) -> list[int]:
        offsets = dict(self._database.execute("SELECT path, offset FROM summary WHERE offset>0"))
        return [EACH + max(0, file.size - offsets.get(file.path, 0)) for file in changed]

    def _insert(self, fresh: Iterator[tuple[bytes, int, bytes]], states: dict[str, str]) -> dict[str, SessionSummary]:
        """Store summaries, and commit them now and then: others see them, and an interrupted refresh continues."""
        found: dict[str, SessionSummary] = {}
        rows: list[tuple[str, tuple[str | int | bytes, ...]]] = []
        start = time.monotonic()
        for data, offset, kept in fresh:
            summary = _DECODE(data)
            found[summary.path] = summary
            row = (summary.path, states[summary.path], crc32(data), data, offset, crc32(kept), kept)
            rows.append((_INSERT, row))
            if time.monotonic() - start >= COMMIT_SECONDS:
                self._write(rows)
                rows, start = [], time.monotonic()
        self._write(rows)
        return {path: summary for path, summary in found.items() if summary.is_conversation}

    def _write(self, statements: list[tuple[str, tuple[str | int | bytes, ...]]]) -> None:
        """Change the summaries in one transaction; the costs have to be updated then."""
        if statements:
            with WriteTransaction(self._database):
                for statement, values in statements:
                    self._database.execute(statement, values)
                self._database.execute("UPDATE cost SET prices=''")

    def _has_costs(self) -> bool:
        """Return whether the stored costs belong to the stored summaries and to the present prices."""
        row = self._database.execute("SELECT prices, crc, data FROM cost").fetchone()
        return row is not None and row[0] == _price_state() and row[1] == crc32(row[2])

    def update_costs(self, kept: Sequence[ArchivedTranscript] = ()) -> bool:
        """Store the cost of each session as usage reports state it, if it may have changed: each reply counts once over
        all sessions. Return whether it was done.
        """
        try:
            if self._has_costs():
                return False
            names = bucket_names("session", Zone(""))
            collected = collect_buckets(self.root, self.cache, per_reply=False, per_place=True, kept=kept)
            rows = collected.read(lambda buckets: group_buckets(buckets, names, load_prices()))
            data = msgpack.encode({row.name: (micros(row.cost), sorted(row.unpriced)) for row in rows})
            with WriteTransaction(self._database):
                self._database.execute("DELETE FROM cost")
                self._database.execute("INSERT INTO cost VALUES(?,?,?)", (_price_state(), crc32(data), data))
        except (OSError, apsw.Error):  # the next refresh tries again
            return False
        return True

    def _reset(self, error: BaseException) -> None:
        """Empty a damaged store, or continue in memory if it cannot be used."""
        try:
            if isinstance(error, UNUSABLE) or not self.folder:
                raise error
            reset_database(self._database)
            _create_tables(self._database)
        except (*UNUSABLE, *UNEXPECTED_ERRORS, apsw.Error):
            self.close()
            self.folder = None
            self._database = open_cache(None, "summaries.db", _create_tables)


def _price_state() -> str:
    """Return a text that differs if the prices do: those of the package, or those of the user."""
    try:
        changed = os.stat(price_file()).st_mtime_ns
    except OSError:
        changed = 0
    return f"{__version__} {changed}"


class _Loaded:
    """The summaries that were decoded: those up to the id `last` of an epoch, each with its cost."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.last = 0
        self.cost_check = -1
        self.summaries: dict[str, SessionSummary] = {}
        self._own: Costs = {}  # of the session's own replies, by path
        self._costs: Costs = {}

    def add(self, path: str, summary: SessionSummary) -> None:
        self._own[path] = summary.cost_micros, summary.unpriced
        self.summaries[path] = self._with_cost(path, summary)

    def set_costs(self, check: int, costs: Costs) -> None:
        self.cost_check, self._costs = check, costs
        self.summaries = {path: self._with_cost(path, summary) for path, summary in self.summaries.items()}

    def _with_cost(self, path: str, summary: SessionSummary) -> SessionSummary:
        amount, unpriced = self._costs.get(summary.session) or self._own[path]
        if (amount, unpriced) == (summary.cost_micros, summary.unpriced):
            return summary
        return replace(summary, cost_micros=amount, unpriced=unpriced)

    def keep(self, paths: set[str]) -> None:
        """Forget the summaries of other paths."""
        self.summaries = {path: summary for path, summary in self.summaries.items() if path in paths}


def prepare_summaries(settings: None = None) -> Callable[[tuple[Any, ...]], tuple[bytes, int, bytes] | None]:
    """Return the function that summarizes a session, for a worker process; None for one that cannot be read."""
    prices = load_prices()

    def read_item(item: tuple[Any, ...]) -> tuple[bytes, int, bytes] | None:
        try:
            grown = summarize_growing(SummaryRequest(*item), prices)
        except (*READ_ERRORS, *UNEXPECTED_ERRORS):
            return None
        return msgpack.encode(grown.summary), grown.offset, grown.kept

    return read_item


def session_states(files: list[TranscriptFile]) -> dict[str, str]:
    """Return a string for each session that changes with its file and those of its agents, by path."""
    sessions = {(file.folder, file.session.lower()): [_state(file)] for file in files if not file.agent}
    for file in files:
        if file.agent:
            owner = file.session or _owner(file)
            sessions.get((file.folder, owner.lower()), []).append(_state(file))
    texts = {
        file.path: "/".join(sorted(sessions[file.folder, file.session.lower()])) for file in files if not file.agent
    }
    return {path: hashlib.blake2b(text.encode(), digest_size=12).hexdigest() for path, text in texts.items()}


def _state(file: TranscriptFile) -> str:
    return f"{file.agent}.{file.inode}.{file.size}.{file.mtime_ns}"


def _owner(file: TranscriptFile) -> str:
    """Return the session that a loose agent file names."""
    path = Path(file.path)
    return AgentFile(path, "flat", path.parent, file.size, file.mtime_ns).session_id or ""


def _create_tables(connection: apsw.Connection) -> None:
    """Create the tables unless they exist in this version."""
    if connection.pragma("user_version") == VERSION:
        return
    enable_wal(connection)
    with WriteTransaction(connection):
        if connection.pragma("user_version") != VERSION:
            connection.execute(f"{_TABLES} PRAGMA user_version={VERSION}")
            connection.execute("INSERT INTO epoch VALUES(?)", (secrets.randbits(62) + 1,))
