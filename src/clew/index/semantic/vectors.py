"""Vectors: what stretches of text mean, in numbers, in a file of its own beside the shards.

It is a cache as they are, but a dear one: it outlives a shard that is made anew. A file is known by its path, its inode, the
bytes consumed and a hash of some before them, by which the index knows it too. A vector is kept in a byte for each number;
its length is lost and not needed. Equal stretches, as forks and resumed sessions have them, are embedded once.
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
from clew.system.sqlite_file import BUSY_MS, DAMAGE, WriteTransaction, run_pragmas

VERSION = 1  # of the tables, of what is embedded, and of the model
TITLE_AT = -1  # the offset of a title, which stands in no single line
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
CREATE INDEX stretch_digest ON stretch(digest);
"""


class EmbeddedFile(NamedTuple):
    """A transcript as far as it has been embedded; all of it up to the offset if it is whole."""

    id: int
    path: str
    inode: int
    offset: int
    mark: bytes
    is_whole: bool


class VectorRow(NamedTuple):
    """A stretch: the offset of its line and the number of its text there, and where in that text it stands."""

    source: int
    offset: int
    part: int
    start: int
    stop: int
    digest: bytes
    vector: bytes


class Vectors:
    """The file of vectors; `reason` says why one that was there had to be made anew."""

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
        run_pragmas(self.base, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
        if self.base.execute("SELECT count(*) FROM sqlite_schema").get:
            reset(self.base)
            self.reason = "another version"
        with WriteTransaction(self.base):
            if self.base.pragma("user_version") != VERSION:  # else another clew was faster
                self.base.execute(_TABLES)
                self.base.pragma("user_version", VERSION)

    def clear(self) -> None:
        """Begin anew, with nothing."""
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
        """(offset, part) of the texts of a source that are embedded."""
        return set(self.base.execute("SELECT DISTINCT offset, part FROM stretch WHERE source=?", (source,)))

    def known(self, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors of stretches that were embedded before, wherever."""
        found = {}
        for digest in digests:
            vector = self.base.execute("SELECT vector FROM stretch WHERE digest=? LIMIT 1", (digest,)).get
            if vector is not None:
                found[digest] = vector
        return found

    def claim(self, path: str, state: tuple[int, int, bytes], was: EmbeddedFile | None) -> int:
        """The number of a source in its new state, which is not whole yet; call it inside a transaction."""
        if was is not None:
            self.base.execute(
                "UPDATE source SET path=?, inode=?, offset=?, mark=?, is_whole=0 WHERE id=?", (path, *state, was.id)
            )
            return was.id
        self.base.execute("INSERT INTO source(path, inode, offset, mark, is_whole) VALUES(?,?,?,?,0)", (path, *state))
        return self.base.last_insert_rowid()

    def drop(self, source: int, texts: Iterable[tuple[int, int]]) -> None:
        self.base.executemany(
            "DELETE FROM stretch WHERE source=? AND offset=? AND part=?", [(source, *text) for text in texts]
        )

    def add(self, rows: Sequence[VectorRow], whole: Iterable[int]) -> None:
        """Keep stretches and say which sources are whole now, together."""
        with WriteTransaction(self.base):
            insert = "INSERT INTO stretch(source, offset, part, start, stop, digest, vector) VALUES(?,?,?,?,?,?,?)"
            self.base.executemany(insert, rows)
            self.base.executemany("UPDATE source SET is_whole=1 WHERE id=?", [(source,) for source in whole])

    def forget(self, sources: Iterable[int]) -> None:
        for source in sources:
            with WriteTransaction(self.base):
                self.base.execute("DELETE FROM stretch WHERE source=?", (source,))
                self.base.execute("DELETE FROM source WHERE id=?", (source,))

    def near(self, asked: Floats) -> tuple[list[Any], Floats]:
        """Every stretch as (source, offset, part, start, stop), and how near each is: 1 is the same, 0 is unrelated."""
        statement = "SELECT source, offset, part, start, stop, vector FROM stretch ORDER BY id"
        rows: list[Any] = self.base.execute(statement).fetchall()
        table = np.frombuffer(b"".join([row[5] for row in rows]), np.int8).reshape(-1, SIZE)
        found = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), 8192):
            some = table[start : start + 8192].astype(np.float32)
            found[start : start + 8192] = (some @ asked) / np.sqrt(np.einsum("ij,ij->i", some, some))
        return rows, found


class Lock:
    """The right to embed, which one process has at a time; a process that dies gives it back."""

    def __init__(self, path: str) -> None:
        is_missing = not os.path.exists(path)
        self.base = apsw.Connection(path)
        if is_missing:
            os.chmod(path, 0o600)

    def take(self) -> bool:
        """Take it if nobody has it."""
        try:
            self.base.execute("BEGIN EXCLUSIVE")
        except apsw.BusyError:
            return False
        return True

    def close(self) -> None:
        self.base.close()


def digest_of(pieces: Sequence[int]) -> bytes:
    """A short name for what a stretch says to the model."""
    return blake2b(np.asarray(pieces, np.uint16).tobytes(), digest_size=8).digest()


def packed(vectors: Floats) -> list[bytes]:
    """Each vector in a byte for each number."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.float32(1e-12))
    small: NDArray[np.int8] = np.rint(vectors * (127 / largest)).astype(np.int8)
    return [row.tobytes() for row in small]
