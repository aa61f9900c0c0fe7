"""The SQLite schema of the index: two shards, each a separate index over some of the transcripts.

Two processes can build them in parallel, and a search queries both. The full-text tables are contentless: they
contain the words, while the text stays in the transcripts and a row of `piece` says where. A shard that is damaged
or of another version is rebuilt.
"""

from __future__ import annotations

import os
from binascii import crc32  # the same as zlib's, but loads faster
from stat import S_ISDIR

import apsw

from clew.index.query_syntax import SEARCH_FIELDS
from clew.index.tokenizer import TOKENIZER
from clew.system.sqlite_file import BUSY_MS, DAMAGE, WriteTransaction, enable_wal, reset_database, run_pragmas

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MEMORY = ":memory:"
VERSION = 17
SHARDS = 2
LONG_OUTPUT = 1 << 20  # `part` of a piece from here on: a piece of a long-output file
SPOKEN_FIELDS = SEARCH_FIELDS[:4]  # in the table `said`; the others are in `done`
SIDE_FIELDS = ("todo", "plan")  # fields of side files
FIRST_NUMBER = 1 << 26  # numbers grow upwards for newer files, downwards for older ones: they are in order of time
# The id of a piece ends with a code for its field and the size of its text, so that a match can be ranked by its id alone.
# A size is given by its binary digits: a reply of 700 characters, which has 10 of them, gets the code of ("reply", 10).
CODE_BITS = 5  # each makes the index larger
SIZES = {"title": (6,), "prompt": range(5, 13), "reply": range(5, 13), "thinking": (8, 10, 12)}
SIZES |= {
    "input": (6, 8, 10, 12),
    "result": (7, 9, 11, 13),
    "todo": (9,),
    "plan": (12,),
    "summary": (12,),
    "meta": (11,),
}
CODES = [(field, digits) for field in SEARCH_FIELDS for digits in SIZES[field]]

_TABLES = f"""
CREATE TABLE file(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, folder TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL,
  started INTEGER, ended INTEGER, messages INTEGER NOT NULL DEFAULT 0,
  inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL DEFAULT 0,
  offset INTEGER NOT NULL, mark BLOB NOT NULL, open TEXT NOT NULL DEFAULT '', root INTEGER NOT NULL DEFAULT 0, title INTEGER,
  custom TEXT, made TEXT, last TEXT, summary TEXT, first TEXT, command TEXT,
  cwd TEXT, branches TEXT NOT NULL DEFAULT '', models TEXT NOT NULL DEFAULT '', side TEXT NOT NULL DEFAULT '',
  round INTEGER NOT NULL DEFAULT 0, class INTEGER NOT NULL DEFAULT 0, spoken TEXT NOT NULL DEFAULT '',
  labels TEXT NOT NULL DEFAULT '', tag TEXT NOT NULL DEFAULT '', shown TEXT
);
CREATE INDEX file_session ON file(session, agent);
CREATE TABLE output(folder TEXT PRIMARY KEY, hash INTEGER NOT NULL, files TEXT NOT NULL);
CREATE TABLE tool(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE piece(
  id INTEGER PRIMARY KEY, file INTEGER NOT NULL, offset INTEGER NOT NULL, part INTEGER NOT NULL,
  field INTEGER NOT NULL, tool INTEGER NOT NULL, failed INTEGER NOT NULL, time INTEGER, node INTEGER NOT NULL,
  round INTEGER NOT NULL, class INTEGER NOT NULL, input INTEGER NOT NULL
);
CREATE INDEX piece_file ON piece(file);
CREATE TABLE run(first INTEGER PRIMARY KEY, file INTEGER NOT NULL, time INTEGER NOT NULL);
CREATE INDEX piece_failed ON piece(id) WHERE failed=1;
CREATE TABLE form(key TEXT NOT NULL, kind INTEGER NOT NULL, word TEXT NOT NULL, PRIMARY KEY(key, kind, word)) WITHOUT ROWID;
CREATE VIRTUAL TABLE said USING fts5(
  reply, prompt, title, thinking, content='', contentless_delete=1, prefix='2 3', tokenize="{TOKENIZER}");
CREATE VIRTUAL TABLE done USING fts5(
  text, content='', contentless_delete=1, tokenize="{TOKENIZER}");
"""
# Merging while inserting stalled single inserts for seconds (measured), so `merge_segments` does it in steps.
_FTS_SETTINGS = (("hashsize", 6 << 20), ("automerge", 0), ("crisismerge", 1000))


_PRAGMAS = "PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000; PRAGMA journal_size_limit=1000000"


MAX_KEPT_ROWS = 10_000
_FILES = (
    "SELECT id, session, agent, ended, messages, side, iif(first<>'' AND started<ended, started, NULL), first FROM file"
    " WHERE id IN (SELECT value FROM json_each(?))"
)


class Shard(apsw.Connection):
    """An open shard. It keeps the rows of the files that were found: searches find the same files again and again."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._rows: dict[int, Sequence[Any]] = {}
        self._runs: tuple[Sequence[int], ...] | None = None
        self._version = -1

    def find_runs(self) -> tuple[Sequence[int], ...]:
        """Return the first ids, the files and the last times of all runs, which are pieces of one file in a row."""
        self._forget_old_rows()
        if self._runs is None:
            rows = self.execute("SELECT first, file, time FROM run ORDER BY first").fetchall()
            self._runs = tuple(zip(*rows, strict=True)) or ((), (), ())
        return self._runs

    def find_files(self, ids: Sequence[int]) -> dict[int, Sequence[Any]]:
        """Return (id, session, agent, end, messages, side, start, first prompt) of some files, and of others, by id.

        The start is None unless it and the prompt tell whether another file is a copy.
        """
        self._forget_old_rows()
        missing = [str(number) for number in ids if number not in self._rows]
        if missing:
            self._rows.update({row[0]: row for row in self.execute(_FILES, (f"[{','.join(missing)}]",))})
        return self._rows

    def _forget_old_rows(self) -> None:
        """Forget the rows that were kept if the shard changed."""
        version = self.data_version()
        if version != self._version or len(self._rows) > MAX_KEPT_ROWS:
            self._rows, self._runs, self._version = {}, None, version


def index_folder(root: str, cache: str) -> str:
    """Return the folder of the index for a folder of Claude Code."""
    path = os.path.realpath(root).encode("utf-8", "surrogateescape")
    return os.path.join(cache, "index", f"{crc32(path):08x}-{len(path)}")


def temporary_folder(root: str) -> str:
    """Create an index folder that only this process and user can use and that is removed at exit; "" on failure.

    All indexes of this process over the same root share it.
    """
    import atexit
    import tempfile
    from shutil import rmtree

    user = getattr(os, "getuid", lambda: 0)()  # Windows has no user ids, but a temporary folder for each user
    try:
        path = os.path.join(tempfile.gettempdir(), f"clew-{user}-{os.getpid()}")
        os.makedirs(path, mode=0o700, exist_ok=True)
        status = os.lstat(path)
    except OSError:
        return ""
    if not S_ISDIR(status.st_mode) or status.st_uid != user or (os.name != "nt" and status.st_mode & 0o077):
        return ""  # created by someone else
    atexit.register(rmtree, path, ignore_errors=True)
    return index_folder(root, path)


def shard_number(session: str, path: str) -> int:
    """Return the shard of a transcript. It depends on the session, so a session keeps its shard when its project
    moves.
    """
    return crc32((session or os.path.basename(path)).encode("utf-8", "surrogateescape")) % SHARDS


def open_shard(path: str) -> tuple[Shard, str]:
    """Open a shard. Return it and why it was rebuilt: "missing", "damaged", "another version", or ""."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    is_missing = path != MEMORY and not os.path.exists(path)
    connection = Shard(path)
    connection.set_busy_timeout(BUSY_MS)
    if is_missing:
        os.chmod(path, 0o600)  # before anything is in it; SQLite gives the WAL files the same mode
    try:
        is_created = _prepare(connection)
    except DAMAGE:
        reset(connection)
        _prepare(connection)
        return connection, "damaged"
    return connection, "" if not is_created else "missing" if is_missing or path == MEMORY else "another version"


def _prepare(connection: apsw.Connection) -> bool:
    """Create the tables unless they are of this version. Return whether they were created."""
    if connection.pragma("user_version") != VERSION:
        return _rebuild(connection)
    run_pragmas(connection, _PRAGMAS)
    return False


def _rebuild(connection: apsw.Connection) -> bool:
    enable_wal(connection)
    run_pragmas(connection, _PRAGMAS)
    with WriteTransaction(connection):
        if connection.pragma("user_version") == VERSION:  # another process was faster
            return False
        is_other = bool(connection.execute("SELECT count(*) FROM sqlite_schema").get)
        if not is_other:
            _create_tables(connection)
            return True
    reset(connection)
    with WriteTransaction(connection):
        if connection.pragma("user_version") != VERSION:
            _create_tables(connection)
    return True


def _create_tables(connection: apsw.Connection) -> None:
    connection.execute(_TABLES)
    for table in ("said", "done"):
        for key, value in _FTS_SETTINGS:
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES(?, ?)", (key, value))
    connection.pragma("user_version", VERSION)


def reset(connection: apsw.Connection) -> None:
    """Empty a shard and set its pragmas again."""
    reset_database(connection)
    enable_wal(connection)
    run_pragmas(connection, _PRAGMAS)
