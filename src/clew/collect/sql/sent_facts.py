"""Remember which facts each sink was sent, as hashes of rows, in a cache beside the archive.

It may be lost, be older than the store, or belong to another copy of the archive: a sink compares it with what the
store has, and sends the facts of a file completely if they differ.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from clew.collect.sql.fact_changes import FactChange, FactState, compare_all, compare_facts, sum_hashes
from clew.collect.sql.fact_tables import Continuation, FileFacts, RowKey
from clew.system.sqlite_file import DAMAGE, UNUSABLE, WriteTransaction, open_cache, reset_database

_NAME = "facts-sent.db"
_MAX_KEPT = 8  # files whose last hashes are kept in memory: as many as are open at a time (`open_files`)
_VERSION = 1
_SCHEMA = """
CREATE TABLE file(
  id INTEGER PRIMARY KEY, sink TEXT NOT NULL, host TEXT NOT NULL, file INTEGER NOT NULL, seq INTEGER NOT NULL,
  digest INTEGER NOT NULL, chain INTEGER NOT NULL, made INTEGER NOT NULL, UNIQUE(sink, host, file)) STRICT;
CREATE TABLE row(
  file INTEGER NOT NULL, kind INTEGER NOT NULL, key ANY NOT NULL, day TEXT NOT NULL, hash INTEGER NOT NULL,
  PRIMARY KEY(file, kind, key, day)) STRICT, WITHOUT ROWID;
CREATE TABLE mark(
  sink TEXT NOT NULL, host TEXT NOT NULL, name TEXT NOT NULL, mark INTEGER NOT NULL,
  PRIMARY KEY(sink, host, name)) STRICT, WITHOUT ROWID;
"""


class SentFacts:
    """What one sink was sent. Without a folder, or if that cannot be used, it is remembered in memory only."""

    def __init__(self, sink: str, folder: str | None = None) -> None:
        self.sink = sink
        self._kept: OrderedDict[tuple[str, int], tuple[FactState, dict[RowKey, int]]] = OrderedDict()
        try:
            self.connection = open_cache(folder, _NAME, _create_tables)
        except UNUSABLE:
            self.connection = open_cache(None, _NAME, _create_tables)

    @classmethod
    def beside(cls, archive: apsw.Connection, sink: str) -> SentFacts:
        """Open the cache that belongs to an archive."""
        return cls(sink, os.path.dirname(archive.filename) or None)

    def compare(self, facts: FileFacts) -> FactChange:
        """Compute what changed since the facts of a file were sent. Without newer lines everything is sent again."""
        try:
            if facts.continues:
                if change := self._compare_continued(facts, facts.continues):
                    return change
                facts = facts.continues.build_all()
            state, sent = self._read(facts)
        except DAMAGE:
            self._reset()
            return compare_all(facts)
        is_usable = state is not None and sum_hashes(sent) == state.digest and state.seq < facts.seq
        return compare_facts(facts, state, sent) if is_usable else compare_all(facts)

    def _compare_continued(self, facts: FileFacts, continued: Continuation) -> FactChange | None:
        """Compute what changed since facts that this process sent; None if others were sent last."""
        found = self._find(facts.host, facts.file)
        state, hashes = self._kept.get((facts.host, facts.file), (None, {}))
        is_usable = state is not None and found is not None and found[1] == state and state.seq == continued.seq
        if not is_usable or not continued.replaced <= hashes.keys():
            return None
        return compare_facts(facts, state, {key: hashes[key] for key in continued.replaced})

    def note(self, changes: Sequence[tuple[FactChange, FactState]], marks: Mapping[tuple[str, str], int]) -> None:
        """Remember what the sink has after changes, and the marks of a lake by host and table."""
        try:
            with WriteTransaction(self.connection):
                for change, state in changes:
                    self._note(change, state)
                    self._keep(change, state)
                values = [(self.sink, *name, mark) for name, mark in marks.items()]
                self.connection.executemany("INSERT OR REPLACE INTO mark VALUES(?, ?, ?, ?)", values)
        except DAMAGE:
            self._reset()
        except UNUSABLE:  # the disk is full: the facts are sent completely the next time
            self.connection = open_cache(None, _NAME, _create_tables)

    def _read(self, facts: FileFacts) -> tuple[FactState | None, dict[RowKey, int]]:
        found = self._find(facts.host, facts.file)
        if found is None:
            return None, {}
        rows: Any = self.connection.execute("SELECT kind, key, day, hash FROM row WHERE file = ?", (found[0],))
        return found[1], {(kind, key, day): hashed for kind, key, day, hashed in rows}

    def _keep(self, change: FactChange, state: FactState) -> None:
        name = (change.facts.host, change.facts.file)
        self._kept.pop(name, None)
        self._kept[name] = state, change.hashes
        if len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)

    def _reset(self) -> None:
        reset_database(self.connection)
        _create_tables(self.connection)

    def _note(self, change: FactChange, state: FactState) -> None:
        facts = change.facts
        if change.base is None:
            self._forget(facts.host, facts.file)
        number: Any = self.connection.execute(
            "INSERT INTO file(sink, host, file, seq, digest, chain, made) VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
            " SET seq = excluded.seq, digest = excluded.digest, chain = excluded.chain, made = excluded.made RETURNING id",
            (self.sink, facts.host, facts.file, *state),
        ).get
        removed = [(number, key, *name) for key, names in enumerate(change.deleted.values()) for name in names]
        self.connection.executemany("DELETE FROM row WHERE file = ? AND kind = ? AND key = ? AND day = ?", removed)
        self.connection.executemany(
            "INSERT OR REPLACE INTO row VALUES(?, ?, ?, ?, ?)",
            [(number, *key, change.hashes[key]) for key in change.changed],
        )

    def _find(self, host: str, file: int) -> tuple[int, FactState] | None:
        query = "SELECT id, seq, digest, chain, made FROM file WHERE sink = ? AND host = ? AND file = ?"
        for number, *state in self.connection.execute(query, (self.sink, host, file)):
            return int(str(number)), FactState(*(int(str(value)) for value in state))
        return None

    def _forget(self, host: str, file: int) -> None:
        if (found := self._find(host, file)) is not None:
            self.connection.execute("DELETE FROM row WHERE file = ?", (found[0],))
            self.connection.execute("DELETE FROM file WHERE id = ?", (found[0],))

    # -- for a lake, whose tables are compared by the mark of the last commit of a host

    def marks(self, host: str) -> dict[str, int]:
        """Return the mark of the last commit to each table."""
        rows = self.connection.execute("SELECT name, mark FROM mark WHERE sink = ? AND host = ?", (self.sink, host))
        return {str(name): int(str(mark)) for name, mark in rows}

    def forget_host(self, host: str) -> None:
        """Forget everything that was sent under a name: the store has something else."""
        with WriteTransaction(self.connection):
            query = "SELECT id FROM file WHERE sink = ? AND host = ?"
            self.connection.execute(f"DELETE FROM row WHERE file IN ({query})", (self.sink, host))
            for table in ("file", "mark"):
                self.connection.execute(f"DELETE FROM {table} WHERE sink = ? AND host = ?", (self.sink, host))


def _create_tables(connection: apsw.Connection) -> None:
    if connection.pragma("user_version") != _VERSION:
        with WriteTransaction(connection):
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                connection.execute(f"DROP TABLE {name}")
            connection.execute(_SCHEMA)
            connection.pragma("user_version", _VERSION)


def compare_with(sent: SentFacts | None, facts: FileFacts) -> FactChange:
    """Compute what changed since the facts of a file were sent; everything if that is not remembered."""
    return sent.compare(facts) if sent else compare_all(facts)
