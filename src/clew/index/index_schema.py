"""The schema: two shards, each a SQLite file that is an index of its own over a part of the transcripts.

Two processes can build them side by side, and a search asks both. Full text is contentless: the words are in the index, the
text stays in the transcripts, and a row says where. A shard that is of another version or damaged is made anew.
"""

from __future__ import annotations

import os
from binascii import crc32  # zlib has the same one, and takes longer to load
from stat import S_ISDIR

import apsw

from clew.index.tokenizer import TOKENIZER
from clew.system.sqlite_file import BUSY_MS, DAMAGE, WriteTransaction, reset_database, run_pragmas

MEMORY = ":memory:"
VERSION = 11
SHARDS = 2
FIELDS = ("title", "prompt", "reply", "thinking", "input", "result", "todo", "plan")
SAID = FIELDS[:4]  # in the table `said`; inputs and results of tools, todo lists and plans are in `done`
SIDE_FIELDS = ("todo", "plan")  # of files beside the transcripts
MIDDLE = 1 << 27  # the first row; newer ones are above it and older ones below, so rows are in the order of time

_TABLES = f"""
CREATE TABLE file(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, folder TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL,
  started INTEGER, ended INTEGER, messages INTEGER NOT NULL DEFAULT 0,
  inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
  offset INTEGER NOT NULL, mark BLOB NOT NULL, open TEXT NOT NULL DEFAULT '', root INTEGER NOT NULL DEFAULT 0, title INTEGER,
  custom TEXT, made TEXT, last TEXT, summary TEXT, first TEXT, command TEXT,
  cwd TEXT, branches TEXT NOT NULL DEFAULT '', models TEXT NOT NULL DEFAULT '', side TEXT NOT NULL DEFAULT '',
  round INTEGER NOT NULL DEFAULT 0, class INTEGER NOT NULL DEFAULT 0, spoken TEXT NOT NULL DEFAULT ''
);
CREATE INDEX file_session ON file(session, agent);
CREATE TABLE tool(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE piece(
  id INTEGER PRIMARY KEY, file INTEGER NOT NULL, offset INTEGER NOT NULL, part INTEGER NOT NULL,
  field INTEGER NOT NULL, tool INTEGER NOT NULL, failed INTEGER NOT NULL, time INTEGER, node INTEGER NOT NULL,
  round INTEGER NOT NULL, class INTEGER NOT NULL, input INTEGER NOT NULL
);
CREATE INDEX piece_file ON piece(file);
CREATE INDEX piece_failed ON piece(id) WHERE failed=1;
CREATE VIRTUAL TABLE said USING fts5(
  reply, prompt, title, thinking, content='', contentless_delete=1, prefix='2 3', tokenize="{TOKENIZER}");
CREATE VIRTUAL TABLE done USING fts5(
  text, content='', contentless_delete=1, tokenize="{TOKENIZER}");
"""
# Merging while inserting stalled a single insert for seconds (measured); it is done in small steps when there is time.
_SETTINGS = (("hashsize", 24 << 20), ("automerge", 0), ("crisismerge", 1000))


_PRAGMAS = "PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000; PRAGMA journal_size_limit=1000000"


def folder_of(root: str, cache: str) -> str:
    """Where the index for a folder of Claude Code lies."""
    path = os.path.realpath(root).encode("utf-8", "surrogateescape")
    return os.path.join(cache, "index", f"{crc32(path):08x}-{len(path)}")


def temporary_folder(root: str) -> str:
    """A folder for the index that only this process and user has, and that goes with the process; empty if none can be made.

    Every index that this process opens over the same root is given the same one.
    """
    import atexit
    import tempfile
    from shutil import rmtree

    user = getattr(os, "getuid", lambda: 0)()  # Windows has no such number, and a folder for each user
    try:
        path = os.path.join(tempfile.gettempdir(), f"clew-{user}-{os.getpid()}")
        os.makedirs(path, mode=0o700, exist_ok=True)
        state = os.lstat(path)
    except OSError:
        return ""
    if not S_ISDIR(state.st_mode) or state.st_uid != user or (os.name != "nt" and state.st_mode & 0o077):
        return ""  # somebody else was faster
    atexit.register(rmtree, path, ignore_errors=True)
    return folder_of(root, path)


def shard_of(session: str, path: str) -> int:
    """Which shard a transcript belongs to; a session stays in its own when its project moves."""
    return crc32((session or os.path.basename(path)).encode("utf-8", "surrogateescape")) % SHARDS


def open_shard(path: str) -> tuple[apsw.Connection, str]:
    """A shard, and why it was made anew: "missing", "damaged", "another version", or nothing."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    is_missing = path != MEMORY and not os.path.exists(path)
    connection = apsw.Connection(path)
    connection.set_busy_timeout(BUSY_MS)
    if is_missing:
        os.chmod(path, 0o600)  # before anything is in it; the files beside it take over its mode
    try:
        is_made = _prepare(connection)
    except DAMAGE:
        reset(connection)
        _prepare(connection)
        return connection, "damaged"
    return connection, "" if not is_made else "missing" if is_missing or path == MEMORY else "another version"


def _prepare(connection: apsw.Connection) -> bool:
    """Make the tables if they are not those of this version; whether that was so."""
    if connection.pragma("user_version") != VERSION:
        return _make(connection)
    run_pragmas(connection, _PRAGMAS)
    return False


def _make(connection: apsw.Connection) -> bool:
    run_pragmas(connection, "PRAGMA journal_mode=WAL;" + _PRAGMAS)
    with WriteTransaction(connection):
        if connection.pragma("user_version") == VERSION:  # another clew was faster
            return False
        is_other = bool(connection.execute("SELECT count(*) FROM sqlite_schema").get)
        if not is_other:
            _create(connection)
            return True
    reset(connection)
    with WriteTransaction(connection):
        if connection.pragma("user_version") != VERSION:
            _create(connection)
    return True


def _create(connection: apsw.Connection) -> None:
    connection.execute(_TABLES)
    for table in ("said", "done"):
        for key, value in _SETTINGS:
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES(?, ?)", (key, value))
    connection.pragma("user_version", VERSION)


def reset(connection: apsw.Connection) -> None:
    """Empty a shard, and set it up anew."""
    reset_database(connection)
    run_pragmas(connection, "PRAGMA journal_mode=WAL;" + _PRAGMAS)
