"""Query the facts of an archive in a SQLite cache, which is updated before each query."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any
from zlib import crc32

import apsw

from clew.collect.archive.archive_schema import create_private, open_read_only
from clew.collect.identity import read_owner
from clew.collect.masking import Policy
from clew.collect.sql.fact_rows import changed_since
from clew.collect.sql.fact_tables import TABLES, FactTable, FileFacts
from clew.collect.sql.open_files import build_facts, read_repairs
from clew.collect.sql.query_result import QueryResult, build_result, query_error, timeout_error
from clew.collect.sql.views import MOVED, VIEWS, moved_sql
from clew.facts.prices import Prices, load
from clew.system.environment import cache_home
from clew.system.sqlite_file import BUSY_MS, DAMAGE, WriteTransaction
from clew.version import __version__

Progress = Callable[[int, int], None]  # bytes read so far, and in total
_TYPES = {"text": "TEXT NOT NULL", "number": "INTEGER NOT NULL", "number or nothing": "INTEGER"}
_ALLOWED = {apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE}
_FORBIDDEN_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}
_MAX_VALUE_BYTES = 100_000_000  # bytes of one value
_PROGRESS_STEPS = 100_000  # virtual machine steps between two checks for Ctrl-C and the time limit


def create_table_sql(table: FactTable) -> str:
    columns = ", ".join(f"{name} {_TYPES[type]}" for name, type in table.columns.items())
    return f"CREATE TABLE {table.name}({columns}, PRIMARY KEY({', '.join(table.key)})) STRICT, WITHOUT ROWID"


_SCHEMA = ";\n".join(
    (
        "CREATE TABLE about(seq INTEGER NOT NULL) STRICT",
        "CREATE TABLE damage(file INTEGER NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL) STRICT",
        "INSERT INTO about VALUES(0)",
        *map(create_table_sql, TABLES),
        *(f"CREATE INDEX {table}_key ON {table}({', '.join(key)}, day)" for table, key in MOVED.values()),
        *(f"CREATE TABLE {name} AS {moved_sql(name)}" for name in MOVED),
        *(f"CREATE VIEW {name} AS {text}" for name, text in VIEWS.items()),
    )
)


def cache_path(archive: str) -> str:
    """Return the path of the facts of an archive, whether or not they exist."""
    path = os.path.realpath(archive).encode("utf-8", "surrogateescape")
    return os.path.join(cache_home(), "facts", f"{crc32(path):08x}-{len(path)}.db")


class SqliteEngine:
    """Queries the facts of an archive. SQLite itself refuses everything that does not read."""

    def __init__(self, connection: apsw.Connection, timeout: float = inf) -> None:
        self.connection = connection
        self.timeout = timeout
        self._deadline = inf
        connection.pragma("case_sensitive_like", True)  # as on the other engines
        connection.pragma("query_only", True)
        connection.authorizer = _authorize
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        connection.set_progress_handler(self._is_expired, _PROGRESS_STEPS)

    def damaged_lines(self) -> list[tuple[str, int]]:
        """Return the path and number of each line that is damaged in the archive, and missing from the facts."""
        return [(str(path), int(str(line))) for path, line in self.connection.execute("SELECT path, line FROM damage")]

    def _is_expired(self) -> bool:
        """Return whether to end the query. Calling this also lets Python handle Ctrl-C."""
        return time.monotonic() > self._deadline

    @contextmanager
    def run(self, query: str) -> Iterator[QueryResult]:
        from apsw.ext import query_info  # loads more than all else here

        try:
            info = query_info(self.connection, query)
            if info.query_remaining and info.query_remaining.strip().strip(";"):
                raise query_error(query, len(info.first_query), "Only one statement is allowed")
            if not info.description:
                raise query_error(query, 0, "The query is empty")
            self._deadline = time.monotonic() + self.timeout
            yield build_result([name for name, _ in info.description], self._rows(query))
        except apsw.InterruptError:
            raise timeout_error(self.timeout) from None
        except apsw.TooBigError:
            raise query_error(query, 0, f"A value has at most {_MAX_VALUE_BYTES // 10**6} MB") from None
        except apsw.AuthError:
            raise query_error(query, 0, "Only read-only queries are allowed") from None
        except apsw.SQLError as error:
            message = str(error)
            if "because it is a view" in message:
                raise query_error(query, 0, "Only read-only queries are allowed") from None
            raise query_error(query, getattr(error, "error_offset", 0), message) from None

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        yield from self.connection.execute(query)


@contextmanager
def open_archive_engine(archive: str, progress: Progress | None = None, timeout: float = inf) -> Iterator[SqliteEngine]:
    """Open the facts of an archive, up to date. Raises FileNotFoundError if there is no archive."""
    source = open_read_only(archive)
    try:
        connection = refresh_facts(source, cache_path(archive), load(), progress)
    finally:
        source.close()
    try:
        yield SqliteEngine(connection, timeout)
    finally:
        connection.close()


def refresh_facts(
    source: apsw.Connection, path: str, prices: Prices, progress: Progress | None = None
) -> apsw.Connection:
    """Open the facts at a path and rebuild those of every file with new lines."""
    host = str(source.execute("SELECT value FROM about WHERE name = 'host'").get)
    repairs = read_repairs(source)
    connection = _open_cache(path, f"{__version__} {prices.date} {prices.source} {host} {read_owner(source)} {repairs}")
    with WriteTransaction(connection):
        files = changed_since(source, int(connection.execute("SELECT seq FROM about").get))
        done, total = 0, sum(file.size for file in files)
        for file in files:
            facts = build_facts(source, host, file, Policy(), prices)
            write_facts(connection, facts)
            connection.execute("DELETE FROM damage WHERE file = ?", (file.file,))
            connection.executemany(
                "INSERT INTO damage VALUES(?, ?, ?)", [(file.file, file.path, line) for line in facts.damaged]
            )
            done += file.size
            if progress:
                progress(done, total)
        for name in MOVED if files else ():
            connection.execute(f"DELETE FROM {name}; INSERT INTO {name} {moved_sql(name)}")
    return connection


def write_facts(connection: apsw.Connection, facts: FileFacts) -> None:
    """Replace the rows of a file."""
    for table in TABLES:
        connection.execute(f"DELETE FROM {table.name} WHERE host = ? AND file = ?", (facts.host, facts.file))
        placeholders = ", ".join("?" * len(table.columns))
        connection.executemany(f"INSERT OR IGNORE INTO {table.name} VALUES({placeholders})", facts.rows[table.name])
    connection.execute("UPDATE about SET seq = max(seq, ?)", (facts.seq,))


def _open_cache(path: str, inputs: str) -> apsw.Connection:
    """Open the cache; an empty one if it is missing, damaged or outdated, in memory if none can be written."""
    mark = crc32(f"{inputs}\n{_SCHEMA}".encode()) & 0x7FFFFFFF
    try:
        create_private(path)
        return _create_cache(path, mark)
    except DAMAGE:
        Path(path).unlink()
        create_private(path)
        return _create_cache(path, mark)
    except (OSError, apsw.CantOpenError, apsw.ReadOnlyError):
        return _create_cache(":memory:", mark)


def _create_cache(path: str, mark: int) -> apsw.Connection:
    connection = apsw.Connection(path)
    connection.set_busy_timeout(BUSY_MS)
    connection.execute("PRAGMA synchronous=OFF")  # it can be rebuilt
    if connection.pragma("user_version") != mark:
        with WriteTransaction(connection):
            names = connection.execute(
                "SELECT type, name FROM sqlite_schema WHERE type IN ('view', 'table')"
            ).fetchall()
            for type, name in sorted(names, reverse=True):
                connection.execute(f"DROP {type} {name}")
            connection.execute(_SCHEMA)
            connection.pragma("user_version", mark)
    return connection


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    is_allowed = action in _ALLOWED and not (
        action == apsw.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN_FUNCTIONS
    )
    return apsw.SQLITE_OK if is_allowed else apsw.SQLITE_DENY
