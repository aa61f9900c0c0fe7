"""Store the vectors of text stretches in a separate SQLite file next to the shards.

It is a cache like the shards, but an expensive one, so it survives when a shard is rebuilt. A file is identified as
in the index: path, inode, bytes read, and a hash of some bytes. A vector is stored with one byte per number; its
length is lost and not needed. Beside the vector of every stretch (see `word_table`) it holds those that the model made
of stretches that were compared with a query; equal stretches, as in forks and resumed sessions, share one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from clew.index.index_schema import reset
from clew.index.semantic.minilm import SIZE, Floats
from clew.system.sqlite_file import BUSY_MS, DAMAGE, WriteTransaction, enable_wal, run_pragmas

VERSION = 2  # of the tables, the choice of texts, and the model
TITLE_OFFSET = -1  # titles belong to no single line
_TABLES = """
CREATE TABLE source(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL, offset INTEGER NOT NULL, mark BLOB NOT NULL,
  is_whole INTEGER NOT NULL
);
CREATE TABLE stretch(
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, offset INTEGER NOT NULL, part INTEGER NOT NULL,
  start INTEGER NOT NULL, stop INTEGER NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL
);
CREATE INDEX stretch_source ON stretch(source, offset, part);
CREATE TABLE meaning(digest BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""


class EmbeddedFile(NamedTuple):
    """A transcript up to the embedded offset; `is_whole` if all its texts before that are embedded."""

    id: int
    path: str
    inode: int
    offset: int
    mark: bytes
    is_whole: bool


class VectorRow(NamedTuple):
    """A stretch: offset of its line, number of the text in the line, and start and stop within the text."""

    source: int
    offset: int
    part: int
    start: int
    stop: int
    digest: bytes
    vector: bytes


class Vectors:
    """The vector file; `reason` says why an existing one was cleared."""

    def __init__(self, path: str) -> None:
        self.reason = ""
        is_missing = not os.path.exists(path)
        self.base = apsw.Connection(path)
        self.base.set_busy_timeout(BUSY_MS)
        if is_missing:
            os.chmod(path, 0o600)  # before anything is in it; the files beside it take over its mode
        try:
            self._prepare()
        except DAMAGE:
            self.clear()

    def _prepare(self) -> None:
        if self.base.pragma("user_version") == VERSION:
            return
        enable_wal(self.base)
        run_pragmas(self.base, "PRAGMA synchronous=NORMAL")
        if self.base.execute("SELECT count(*) FROM sqlite_schema").get:
            reset(self.base)
            self.reason = "another version"
        with WriteTransaction(self.base):
            if self.base.pragma("user_version") != VERSION:  # else another clew was faster
                self.base.execute(_TABLES)
                self.base.pragma("user_version", VERSION)

    def clear(self) -> None:
        """Delete everything and create the tables again."""
        reset(self.base)
        self._prepare()
        self.reason = "damaged"

    def close(self) -> None:
        self.base.close()

    def sources(self) -> dict[str, EmbeddedFile]:
        rows = self.base.execute("SELECT id, path, inode, offset, mark, is_whole FROM source")
        return {
            path: EmbeddedFile(i, path, inode, offset, mark, bool(whole))
            for i, path, inode, offset, mark, whole in rows
        }

    def texts(self, source: int) -> set[tuple[int, int]]:
        """Return (offset, part) of the embedded texts of a source."""
        return set(self.base.execute("SELECT DISTINCT offset, part FROM stretch WHERE source=?", (source,)))

    def meanings(self, digests: Iterable[bytes]) -> dict[bytes, Floats]:
        """Return the vectors that the model made of some stretches before."""
        vectors = {}
        for digest in digests:
            vector = self.base.execute("SELECT vector FROM meaning WHERE digest=?", (digest,)).get
            if vector is not None:
                vectors[digest] = np.frombuffer(vector, np.int8).astype(np.float32)
        return vectors

    def add_meanings(self, vectors: Iterable[tuple[bytes, bytes]]) -> None:
        """Store vectors that the model made, unless another process is writing: they can be made again."""
        try:
            with WriteTransaction(self.base):
                self.base.executemany("INSERT OR IGNORE INTO meaning(digest, vector) VALUES(?,?)", list(vectors))
        except (apsw.BusyError, apsw.ReadOnlyError, apsw.FullError):
            return

    def claim(self, path: str, state: tuple[int, int, bytes], previous: EmbeddedFile | None) -> int:
        """Return the id of a source in its new state, marked as incomplete; call it inside a transaction."""
        if previous is not None:
            self.base.execute(
                "UPDATE source SET path=?, inode=?, offset=?, mark=?, is_whole=0 WHERE id=?",
                (path, *state, previous.id),
            )
            return previous.id
        self.base.execute("INSERT INTO source(path, inode, offset, mark, is_whole) VALUES(?,?,?,?,0)", (path, *state))
        return self.base.last_insert_rowid()

    def drop(self, source: int, texts: Iterable[tuple[int, int]]) -> None:
        self.base.executemany(
            "DELETE FROM stretch WHERE source=? AND offset=? AND part=?", [(source, *text) for text in texts]
        )

    def add(self, rows: Sequence[VectorRow], complete_sources: Iterable[int]) -> None:
        """Add stretches and mark sources as complete, in one transaction."""
        with WriteTransaction(self.base):
            insert = "INSERT INTO stretch(source, offset, part, start, stop, digest, vector) VALUES(?,?,?,?,?,?,?)"
            self.base.executemany(insert, rows)
            self.base.executemany("UPDATE source SET is_whole=1 WHERE id=?", [(source,) for source in complete_sources])

    def forget(self, sources: Iterable[int]) -> None:
        for source in sources:
            with WriteTransaction(self.base):
                self.base.execute("DELETE FROM stretch WHERE source=?", (source,))
                self.base.execute("DELETE FROM source WHERE id=?", (source,))

    def similarities(self, query: Floats) -> tuple[list[Any], Floats]:
        """Return every stretch as (source, offset, part, start, stop, digest), and its similarity to a vector.

        It is the cosine of what distinguishes each from the mean of all: texts of one person are all alike.
        """
        statement = "SELECT source, offset, part, start, stop, digest, vector FROM stretch ORDER BY id"
        rows: list[Any] = self.base.execute(statement).fetchall()
        table = np.frombuffer(b"".join([row[6] for row in rows]), np.int8).reshape(-1, SIZE)
        chunks = [table[start : start + 8192] for start in range(0, len(rows), 8192)]
        total = sum((_unit(chunk).sum(axis=0) for chunk in chunks), np.zeros(SIZE, np.float32))
        mean = total / max(1, len(rows))
        asked = _unit(_unit(query[None]) - mean)[0]
        parts = [_unit(_unit(chunk) - mean) @ asked for chunk in chunks]
        return rows, np.concatenate(parts) if parts else np.empty(0, np.float32)


def _unit(vectors: NDArray[Any]) -> Floats:
    """Return each vector with length 1; one without length stays as it is."""
    table: Floats = vectors.astype(np.float32)
    table /= np.maximum(np.sqrt(np.einsum("ij,ij->i", table, table)), np.float32(1e-6))[:, None]
    return table


class Lock:
    """A lock for embedding, held by one process at a time and released when the process ends."""

    def __init__(self, path: str) -> None:
        is_missing = not os.path.exists(path)
        self.base = apsw.Connection(path)
        if is_missing:
            os.chmod(path, 0o600)

    def take(self) -> bool:
        """Acquire the lock if it is free. Return whether it was."""
        try:
            self.base.execute("BEGIN EXCLUSIVE")
        except apsw.BusyError:
            return False
        return True

    def close(self) -> None:
        self.base.close()


def digest_of(pieces: Sequence[int]) -> bytes:
    """Return a short hash of the word pieces of a stretch."""
    return blake2b(np.asarray(pieces, np.uint16).tobytes(), digest_size=8).digest()


def quantize(vectors: Floats) -> list[bytes]:
    """Return each vector with one byte per number."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.float32(1e-12))
    small: NDArray[np.int8] = np.rint(vectors * (127 / largest)).astype(np.int8)
    return [row.tobytes() for row in small]
