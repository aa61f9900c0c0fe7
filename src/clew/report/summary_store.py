"""Cache the summary of every session, so that only changed ones are read again. The cache can be deleted at any time.

A summary is valid for one state (path, size, time and inode) of the session's file and of those of its agents.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

import apsw
from msgspec import msgpack
from msgspec.structs import replace

from clew.conversation.session import Session
from clew.errors import READ_ERRORS, UNEXPECTED_ERRORS
from clew.facts.prices import Prices, micros
from clew.report.collect_buckets import ArchivedTranscript, collect_buckets
from clew.report.custom_prices import load_prices, price_file
from clew.report.session_summary import SessionSummary, summarize
from clew.report.timezone import Zone
from clew.report.usage_row import group_buckets
from clew.report.usage_summary import cache_folder
from clew.report.usage_table import bucket_names
from clew.system.sqlite_file import UNUSABLE, WriteTransaction, enable_wal, open_cache, reset_database
from clew.version import __version__
from clew.wire.layout import AgentFile, SessionFile
from clew.wire.tree_walk import TranscriptFile, list_transcripts

VERSION = 1
COMMIT_SECONDS = 1.0  # between two commits of a long refresh
_TABLES = """
DROP TABLE IF EXISTS summary; DROP TABLE IF EXISTS cost;
CREATE TABLE summary(path TEXT PRIMARY KEY, state TEXT NOT NULL, crc INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE cost(prices TEXT NOT NULL, crc INTEGER NOT NULL, data BLOB NOT NULL);
"""
_INSERT = "INSERT OR REPLACE INTO summary VALUES(?,?,?,?)"
_DECODE = msgpack.Decoder(SessionSummary).decode
_COSTS = msgpack.Decoder(dict[str, tuple[int, tuple[str, ...]]]).decode

Progress = Callable[[int, int], object]  # bytes read so far, and in total


class SummaryStore:
    """The summaries of a tree. `refresh` updates it, `load` returns them by path."""

    def __init__(self, root: str, cache: str | None) -> None:
        """Open the store in a cache folder; without one, or if it cannot be used, keep it in memory."""
        self.root = os.path.abspath(root)
        self.cache = cache
        self.folder = cache_folder(root, cache) if cache else None
        try:
            self._database = open_cache(self.folder, "summaries.db", _create_tables)
        except UNUSABLE:
            self.folder = None
            self._database = open_cache(None, "summaries.db", _create_tables)

    def close(self) -> None:
        self._database.close()

    def load(self) -> dict[str, SessionSummary]:
        """Return the stored summaries of all conversations by path, as of the last refresh."""
        try:
            return self._load()
        except apsw.BusyError:  # the next look finds it
            return {}
        except (*UNUSABLE, *UNEXPECTED_ERRORS, apsw.Error) as error:
            self._reset(error)
            return {}

    def _load(self) -> dict[str, SessionSummary]:
        row = self._database.execute("SELECT crc, data FROM cost").fetchone()
        costs = _COSTS(row[1]) if row and crc32(row[1]) == row[0] else {}
        summaries: dict[str, SessionSummary] = {}
        damaged: list[str] = []
        for path, check, data in self._database.execute("SELECT path, crc, data FROM summary"):
            if crc32(data) != check:
                damaged.append(path)
                continue
            summary = _DECODE(data)
            if summary.session in costs:
                amount, unpriced = costs[summary.session]
                summary = replace(summary, cost_micros=amount, unpriced=unpriced)
            if summary.is_conversation:
                summaries[path] = summary
        self._write([("DELETE FROM summary WHERE path=?", (path,)) for path in damaged])  # the next refresh reads them
        return summaries

    def get_many(self, files: Iterable[TranscriptFile]) -> dict[str, SessionSummary]:
        """Return the summaries that fit the present state of some files by path; files without one are missing."""
        states = session_states(list(files))
        rows = self._database.execute("SELECT path, state FROM summary")
        current = {path for path, state in rows if states.get(path) == state}
        return {path: summary for path, summary in self.load().items() if path in current}

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
        fresh = _read_summaries(changed, states, load_prices(), progress)
        try:
            gone = [path for (path,) in self._database.execute("SELECT path FROM summary") if path not in states]
            if gone and is_whole:
                self._write([("DELETE FROM summary WHERE path=?", (path,)) for path in gone])
            return self._insert(fresh, states)
        except apsw.BusyError:  # another process refreshes it
            return {}
        except (OSError, apsw.Error) as error:
            self._reset(error)
            return self._insert(_read_summaries(changed, states, load_prices(), progress), states)

    def _insert(self, fresh: Iterator[SessionSummary], states: dict[str, str]) -> dict[str, SessionSummary]:
        """Store summaries, and commit them now and then: others see them, and an interrupted refresh continues."""
        found: dict[str, SessionSummary] = {}
        rows: list[tuple[str, tuple[str | int | bytes, ...]]] = []
        start = time.monotonic()
        for summary in fresh:
            found[summary.path] = summary
            data = msgpack.encode(summary)
            rows.append((_INSERT, (summary.path, states[summary.path], crc32(data), data)))
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
            collected = collect_buckets(self.root, self.cache, per_reply=True, kept=kept)
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


def _read_summaries(
    changed: list[TranscriptFile], states: dict[str, str], prices: Prices, progress: Progress | None
) -> Iterator[SessionSummary]:
    """Yield the summaries of sessions, newest files first. An unreadable one is skipped, and tried again next time."""
    done, total = 0, sum(file.size for file in changed)
    for file in sorted(changed, key=lambda each: -each.mtime_ns):
        path = Path(file.path)
        try:
            yield summarize(Session(path, file=SessionFile(path, path.parent, file.size, file.mtime_ns)), prices)
        except (*READ_ERRORS, *UNEXPECTED_ERRORS):
            pass
        done += file.size
        if progress:
            progress(done, total)


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
