"""Erase people, projects, sessions and texts from a PostgreSQL store, as its owner.

Rows go in one transaction with the hashes that block them. What the server still has in its files is described by
`PostgresEraser.scrub`; its write-ahead log and backups are the owner's to delete.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import Rollback

from clew.collect.archive.erase import owns_prompt, text_variants
from clew.collect.sinks.erasure import (
    LABEL_COLUMNS,
    ROW_NAMES,
    ErasedRows,
    Erasure,
    ErasureResult,
    choose_names,
    erase_bytes,
    erase_text,
    remembered_hash,
)
from clew.collect.sinks.postgres.connection import Connection, PostgresConnection
from clew.collect.sql.content_columns import CONTENT_COLUMNS
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable
from clew.collect.sql.line_rows import LINE

OWNER_DEADLINE = 6 * 3600.0  # seconds; a large table takes long to search and to rewrite
_LINE_KEY = ("host", "file", "generation", "start", "day")
_HOSTS_OF = """
SELECT host FROM (SELECT DISTINCT ON (host) host, developer FROM clew.fact_file ORDER BY host, seq DESC) AS newest
WHERE developer = ANY(%s)
"""
_FETCH_ROWS = 500


class PostgresEraser:
    """Erases from one database. The user must own the tables."""

    def __init__(self, link: PostgresConnection) -> None:
        self.link = link
        self.name = link.name
        self._touched: set[str] = set()

    def find(self, developer: str, host: str, project: str, session: str, text: str) -> Erasure:
        with self.link.use() as connection:
            self.link.layout(connection)
            developers = choose_names(developer, self._names(connection, "developer"), "developer", exact=True)
            hosts = choose_names(host, self._names(connection, "host"), "archive", exact=True)
            if developers:
                rows = connection.execute(_HOSTS_OF, (list(developers),)).fetchall()
                hosts = (*hosts, *(str(row[0]) for row in rows))
            projects = choose_names(project, self._names(connection, "project"), "project")
            sessions = choose_names(session, self._names(connection, "session"), "session", prefix=True)
        return Erasure(developers, hosts, projects, sessions, text)

    def _names(self, connection: Connection, column: str) -> set[str]:
        tables = [FILE.name] if column == "developer" else [FILE.name, LINE.name]
        query = " UNION ".join(f"SELECT {column} FROM clew.{table}" for table in tables)
        return {str(row[0]) for row in connection.execute(query.encode()).fetchall() if row[0]}

    def erase(self, erasure: Erasure, *, dry_run: bool) -> ErasureResult:
        """Erase in one transaction, which is rolled back with `dry_run`."""
        rows: list[ErasedRows] = []
        labels = 0
        with self.link.use() as connection, connection.transaction():
            self._remember(connection, "name", erasure.hashes)
            for table in (LINE, *TABLES):
                deleted = self._delete(connection, table, erasure)
                changed = 0
                if erasure.text:
                    is_line = table.name == LINE.name
                    changed = (self._erase_lines if is_line else self._erase_facts)(connection, table, erasure.text)
                    labels += self._count_labels(connection, table, erasure.text)
                rows.append(ErasedRows(table.name, deleted, changed))
            if dry_run:
                raise Rollback
        return ErasureResult([each for each in rows if each.deleted or each.changed], labels)

    def _delete(self, connection: Connection, table: FactTable, erasure: Erasure) -> int:
        """Delete the rows of everything that is named. Files of a developer are found by their facts, so lines come
        first.
        """
        conditions = {"host": erasure.hosts, "project": erasure.projects, "session": erasure.sessions}
        where = [f"{name} = ANY(%s)" for name, values in conditions.items() if values]
        given: list[Any] = [list(values) for values in conditions.values() if values]
        if erasure.developers:
            is_line = table.name == LINE.name
            files = "(host, file) IN (SELECT host, file FROM clew.fact_file WHERE developer = ANY(%s))"
            where.append(files if is_line else "developer = ANY(%s)")
            given.append(list(erasure.developers))
        if not where:
            return 0
        delete = f"DELETE FROM clew.{table.name} WHERE {' OR '.join(where)} RETURNING tableoid::regclass::text AS place"
        query = f"WITH gone AS ({delete}) SELECT place, count(*) FROM gone GROUP BY place"
        places = dict(connection.execute(query.encode(), given).fetchall())
        self._touched |= set(places)
        count = int(sum(places.values()))
        if table.name == LINE.name and (erasure.projects or erasure.sessions):
            count += self._delete_prompts(connection, erasure)
        return count

    def _delete_prompts(self, connection: Connection, erasure: Erasure) -> int:
        """Delete the lines of the history of prompts that belong to sessions or projects."""
        query = (
            f"SELECT {', '.join(_LINE_KEY)}, tableoid::regclass::text, hash, raw FROM clew.line WHERE kind = 'history'"
        )
        owned = [row for row in connection.execute(query) if owns_prompt(row[-1], erasure.sessions, erasure.projects)]
        self._remember(connection, "line", (remembered_hash("line", row[-2]) for row in owned))
        self._touched |= {row[-3] for row in owned}
        for row in owned:
            connection.execute(f"DELETE FROM clew.line WHERE {_equal(_LINE_KEY)}", row[: len(_LINE_KEY)])
        return len(owned)

    def _erase_lines(self, connection: Connection, table: FactTable, text: str) -> int:
        variants = text_variants(text)
        where = " OR ".join(["position(%b::bytea IN raw) > 0"] * len(variants))
        query = (
            f"SELECT {', '.join(_LINE_KEY)}, tableoid::regclass::text, hash, raw FROM clew.{table.name} WHERE {where}"
        )
        update = f"UPDATE clew.{table.name} SET raw = %s WHERE {_equal(_LINE_KEY)}"
        with connection.cursor("erased_lines") as cursor:
            cursor.itersize = _FETCH_ROWS
            rows = [(*row[:-1], erase_bytes(row[-1], variants)) for row in cursor.execute(query.encode(), variants)]
        self._remember(connection, "line", (remembered_hash("line", row[-2]) for row in rows))
        self._touched |= {row[-3] for row in rows}
        for *key, _, _, raw in rows:
            connection.execute(update.encode(), (raw, *key))
        return len(rows)

    def _erase_facts(self, connection: Connection, table: FactTable, text: str) -> int:
        columns = [name for name in table.columns if name in CONTENT_COLUMNS]
        names = ROW_NAMES[table.name]
        query = f"SELECT {', '.join((*table.key, *names, *columns))} FROM clew.{table.name} WHERE "
        rows = connection.execute(*_containing(query, columns, text)).fetchall()
        at, end = len(table.key), len(table.key) + len(names)
        self._remember(connection, "row", (remembered_hash(table.name, *row[at:end]) for row in rows))
        update = (
            f"UPDATE clew.{table.name} SET {', '.join(f'{name} = %s' for name in columns)} WHERE {_equal(table.key)}"
        )
        self._touched |= {f"clew.{table.name}" for _ in rows}
        for row in rows:
            values = [erase_text(value, text) for value in row[end:]]
            connection.execute(update.encode(), (*values, *row[:at]))
        return len(rows)

    def _count_labels(self, connection: Connection, table: FactTable, text: str) -> int:
        columns = [name for name in LABEL_COLUMNS if name in table.columns]
        row = connection.execute(
            *_containing(f"SELECT count(*) FROM clew.{table.name} WHERE ", columns, text)
        ).fetchone()
        return int(row[0]) if row else 0

    def _remember(self, connection: Connection, kind: str, hashes: Iterable[str]) -> None:
        insert = "INSERT INTO clew.erased(hash, kind) SELECT unnest(%s::text[]), %s ON CONFLICT DO NOTHING"
        connection.execute(insert, (list(hashes), kind))

    def scrub(self, *, now: bool) -> str:
        """Make the space of deleted rows reusable; with `now` write the tables again."""
        with self.link.use() as connection:
            for table in sorted(self._touched):
                connection.execute(f"VACUUM {'(FULL, ANALYZE)' if now else '(ANALYZE)'} {table}".encode())
        if now:
            return "The tables were written again. The write-ahead log of the server and its backups keep their copies."
        return (
            "The files of the server keep the bytes until their space is used again; --now writes the tables again. "
            "Its write-ahead log and its backups keep their copies."
        )

    def close(self) -> None:
        self.link.close()


def _equal(columns: Sequence[str]) -> str:
    return " AND ".join(f"{column} = %s" for column in columns)


def _containing(query: str, columns: Sequence[str], text: str) -> tuple[bytes, list[str]]:
    """Return a query for rows with a text in one of the columns, and its values."""
    variants = [variant.decode("utf-8", "replace") for variant in text_variants(text)]
    conditions = [f"position(%s IN {column}) > 0" for column in columns for _ in variants]
    return f"{query}{' OR '.join(conditions)}".encode(), [variant for _ in columns for variant in variants]
