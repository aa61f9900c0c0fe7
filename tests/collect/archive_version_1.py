"""Build an archive of version 1 as the first release wrote it. This code is frozen: it does not use the package."""

from __future__ import annotations

import hmac
import zlib
from hashlib import sha256
from pathlib import Path

import apsw

HOST = "0123456789abcdef0123456789abcdef"
_WINDOW = 4096
_TABLES = """
CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE root(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE file(
  id INTEGER PRIMARY KEY, root INTEGER NOT NULL REFERENCES root, path TEXT NOT NULL,
  kind TEXT NOT NULL, project TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL,
  generation INTEGER REFERENCES generation,
  dev INTEGER NOT NULL DEFAULT 0, ino INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT -1,
  mtime INTEGER NOT NULL DEFAULT 0, ctime INTEGER NOT NULL DEFAULT 0, trust INTEGER NOT NULL DEFAULT 0,
  first_seen INTEGER NOT NULL, scrubbed INTEGER NOT NULL, gone INTEGER,
  UNIQUE(root, path)
) STRICT;
CREATE INDEX file_session ON file(session);
CREATE TABLE alias(file INTEGER NOT NULL REFERENCES file, path TEXT NOT NULL, until INTEGER NOT NULL) STRICT;
CREATE TABLE generation(
  id INTEGER PRIMARY KEY, file INTEGER NOT NULL REFERENCES file, number INTEGER NOT NULL,
  reason TEXT NOT NULL, began INTEGER NOT NULL,
  offset INTEGER NOT NULL DEFAULT 0, lines INTEGER NOT NULL DEFAULT 0,
  chain BLOB NOT NULL, head BLOB NOT NULL DEFAULT x'', tail BLOB NOT NULL DEFAULT x'',
  rest BLOB NOT NULL DEFAULT x'', is_stub INTEGER NOT NULL DEFAULT 0, mtime INTEGER NOT NULL DEFAULT 0,
  UNIQUE(file, number)
) STRICT;
CREATE TABLE content(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, packing INTEGER NOT NULL,
  rules INTEGER NOT NULL, masked INTEGER NOT NULL, data BLOB
) STRICT;
CREATE TABLE occurrence(
  seq INTEGER PRIMARY KEY, generation INTEGER NOT NULL REFERENCES generation, offset INTEGER NOT NULL,
  number INTEGER NOT NULL, length INTEGER NOT NULL, content INTEGER NOT NULL REFERENCES content,
  UNIQUE(generation, offset)
) STRICT;
CREATE TABLE quarantine(
  generation INTEGER NOT NULL REFERENCES generation, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  kind TEXT NOT NULL, reason TEXT NOT NULL, salvaged TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY(generation, offset)
) STRICT, WITHOUT ROWID;
CREATE TABLE sink(name TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
CREATE TABLE rejected(
  sink TEXT NOT NULL, seq INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY(sink, seq)) STRICT, WITHOUT ROWID;
"""


def build(path: str, key: bytes, root: str, files: dict[str, bytes], sinks: dict[str, int] | None = None) -> None:
    """Write an archive with sessions, given by their paths below the root."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(path)
    with connection:
        connection.execute(_TABLES)
        connection.execute("INSERT INTO about VALUES('host', ?)", (HOST,))
        connection.execute("INSERT INTO root VALUES(1, ?)", (root,))
        for id, (name, data) in enumerate(files.items(), 1):
            session = Path(name).stem
            names = (id, name, Path(name).parent.name, session, id)
            connection.execute(
                "INSERT INTO file(id, root, path, kind, project, session, agent, generation, first_seen, scrubbed)"
                " VALUES(?, 1, ?, 'session', ?, ?, '', ?, 1, 1)",
                names,
            )
            _add_generation(connection, key, id, data)
        connection.executemany("INSERT INTO sink VALUES(?, ?)", list((sinks or {}).items()))
    connection.pragma("application_id", int.from_bytes(b"clew"))
    connection.pragma("user_version", 1)
    connection.pragma("journal_mode", "WAL")
    connection.close()


def _add_generation(connection: apsw.Connection, key: bytes, id: int, data: bytes) -> None:
    whole = data[: data.rfind(b"\n") + 1]
    chain, at = key, 0
    ends = [hmac.digest(key, part, "sha256") for part in (whole[:_WINDOW], whole[-_WINDOW:])]
    lines = whole.split(b"\n")[:-1]
    connection.execute(
        "INSERT INTO generation(id, file, number, reason, began, chain) VALUES(?, ?, 1, 'new', 1, x'')", (id, id)
    )
    for number, line in enumerate(lines, 1):
        hash = sha256(line).digest()
        chain = sha256(chain + hash).digest()
        packed = zlib.compress(line, 1) if len(line) >= 256 else line
        row = (hash, len(line), int(packed is not line), packed)
        connection.execute(
            "INSERT INTO content(hash, size, packing, rules, masked, data) VALUES(?, ?, ?, 0, 0, ?) ON CONFLICT DO NOTHING",
            row,
        )
        content = connection.execute("SELECT id FROM content WHERE hash = ?", (hash,)).get
        connection.execute(
            "INSERT INTO occurrence(generation, offset, number, length, content) VALUES(?, ?, ?, ?, ?)",
            (id, at, number, len(line) + 1, content),
        )
        at += len(line) + 1
    connection.execute(
        "UPDATE generation SET offset = ?, lines = ?, chain = ?, head = ?, tail = ?, rest = ? WHERE id = ?",
        (at, len(lines), chain, *ends, data[at:], id),
    )
