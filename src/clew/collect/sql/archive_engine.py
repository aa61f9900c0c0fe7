"""The facts of an archive, in SQLite: a cache beside it, brought up to date when it is asked, and read only from then on."""

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
import apsw.ext

from clew.collect.archive.archive_schema import create_private, open_read_only
from clew.collect.masking import Policy
from clew.collect.sql.fact_rows import changed_since, facts_of
from clew.collect.sql.fact_tables import TABLES, FactTable, FileFacts
from clew.collect.sql.query_result import QueryResult, bad_query, result, too_slow
from clew.collect.sql.views import VIEWS
from clew.facts.prices import Prices, load
from clew.system.environment import cache_home
from clew.system.sqlite_file import BUSY_MS, DAMAGE, WriteTransaction
from clew.version import __version__

Progress = Callable[[int, int], None]  # bytes that have been read, and all that are to be
_TYPES = {"text": "TEXT NOT NULL", "number": "INTEGER NOT NULL", "number or nothing": "INTEGER"}
_ALLOWED = {apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE}
_OUTSIDE = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}
_LONGEST = 100_000_000  # bytes of a value
_STEPS = 100_000  # of SQLite's machine between two looks at whether somebody pressed Ctrl-C


def table_text(table: FactTable) -> str:
    columns = ", ".join(f"{name} {_TYPES[type]}" for name, type in table.columns.items())
    return f"CREATE TABLE {table.name}({columns}, PRIMARY KEY({', '.join(table.key)})) STRICT, WITHOUT ROWID"


_TEXT = ";\n".join(
    (
        "CREATE TABLE about(seq INTEGER NOT NULL) STRICT",
        "INSERT INTO about VALUES(0)",
        *map(table_text, TABLES),
        *(f"CREATE VIEW {name} AS {text}" for name, text in VIEWS.items()),
    )
)


def cache_path(archive: str) -> str:
    """Where the facts of an archive lie, whether or not they exist."""
    path = os.path.realpath(archive).encode("utf-8", "surrogateescape")
    return os.path.join(cache_home(), "facts", f"{crc32(path):08x}-{len(path)}.db")


class SqliteEngine:
    """Asks the facts of an archive. The engine itself refuses whatever does not read."""

    def __init__(self, connection: apsw.Connection, timeout: float = inf) -> None:
        self.connection = connection
        self.timeout = timeout
        self._until = inf
        connection.pragma("case_sensitive_like", True)  # as it is everywhere else
        connection.pragma("query_only", True)
        connection.authorizer = _authorize
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LONGEST)
        connection.set_progress_handler(self._is_over, _STEPS)

    def _is_over(self) -> bool:
        """Whether to end the query. While this runs, Python hears of Ctrl-C too."""
        return time.monotonic() > self._until

    @contextmanager
    def run(self, query: str) -> Iterator[QueryResult]:
        try:
            about = apsw.ext.query_info(self.connection, query)
            if about.query_remaining and about.query_remaining.strip().strip(";"):
                raise bad_query(query, len(about.first_query), "Only one statement can be asked at a time")
            if not about.description:
                raise bad_query(query, 0, "Nothing is asked")
            self._until = time.monotonic() + self.timeout
            yield result([name for name, _ in about.description], self._rows(query))
        except apsw.InterruptError:
            raise too_slow(self.timeout) from None
        except apsw.TooBigError:
            raise bad_query(query, 0, f"A value has at most {_LONGEST // 10**6} MB") from None
        except apsw.AuthError:
            raise bad_query(query, 0, "Only reading is possible") from None
        except apsw.SQLError as error:
            said = str(error)
            if "because it is a view" in said:
                raise bad_query(query, 0, "Only reading is possible") from None
            raise bad_query(query, getattr(error, "error_offset", 0), said) from None

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        yield from self.connection.execute(query)


@contextmanager
def archive_engine(archive: str, progress: Progress | None = None, timeout: float = inf) -> Iterator[SqliteEngine]:
    """The facts of an archive, as new as it is. Raises FileNotFoundError if there is none."""
    source = open_read_only(archive)
    try:
        connection = refreshed(source, cache_path(archive), load(), progress)
    finally:
        source.close()
    try:
        yield SqliteEngine(connection, timeout)
    finally:
        connection.close()


def refreshed(source: apsw.Connection, path: str, prices: Prices, progress: Progress | None = None) -> apsw.Connection:
    """The facts at a path, with those of every file that has new lines made anew."""
    host = str(source.execute("SELECT value FROM about WHERE name = 'host'").get)
    connection = _opened(path, f"{__version__} {prices.date} {prices.source} {host}")
    with WriteTransaction(connection):
        files = changed_since(source, int(connection.execute("SELECT seq FROM about").get))
        done, total = 0, sum(file.size for file in files)
        for file in files:
            write_facts(connection, facts_of(source, host, file, Policy(), prices))
            done += file.size
            if progress:
                progress(done, total)
    return connection


def write_facts(connection: apsw.Connection, facts: FileFacts) -> None:
    """The rows of a file in the place of those that it had."""
    for table in TABLES:
        connection.execute(f"DELETE FROM {table.name} WHERE host = ? AND file = ?", (facts.host, facts.file))
        marks = ", ".join("?" * len(table.columns))
        connection.executemany(f"INSERT OR IGNORE INTO {table.name} VALUES({marks})", facts.rows[table.name])
    connection.execute("UPDATE about SET seq = max(seq, ?)", (facts.seq,))


def _opened(path: str, made_by: str) -> apsw.Connection:
    """An empty one if there is none, or one that was made otherwise; in memory where none can be written."""
    mark = crc32(f"{made_by}\n{_TEXT}".encode()) & 0x7FFFFFFF
    try:
        create_private(path)
        return _made(path, mark)
    except DAMAGE:
        Path(path).unlink()
        create_private(path)
        return _made(path, mark)
    except (OSError, apsw.CantOpenError, apsw.ReadOnlyError):
        return _made(":memory:", mark)


def _made(path: str, mark: int) -> apsw.Connection:
    connection = apsw.Connection(path)
    connection.set_busy_timeout(BUSY_MS)
    connection.execute("PRAGMA synchronous=OFF")  # it can be made again
    if connection.pragma("user_version") != mark:
        with WriteTransaction(connection):
            names = connection.execute(
                "SELECT type, name FROM sqlite_schema WHERE type IN ('view', 'table')"
            ).fetchall()
            for type, name in sorted(names, reverse=True):
                connection.execute(f"DROP {type} {name}")
            connection.execute(_TEXT)
            connection.pragma("user_version", mark)
    return connection


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    is_fine = action in _ALLOWED and not (action == apsw.SQLITE_FUNCTION and (second or "").lower() in _OUTSIDE)
    return apsw.SQLITE_OK if is_fine else apsw.SQLITE_DENY
