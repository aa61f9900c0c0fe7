"""Deliver lines and facts of many hosts to PostgreSQL.

A batch and the position after it are one transaction. Rows have stable keys, so a batch with an unknown outcome is
sent again and changes nothing. Of the facts of a file only what changed is written, if the store has those that the
change was computed from (`fact_file.seq` and `digest`); else they replace all earlier ones, unless newer ones exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.errors import CheckViolation

from clew.collect.sinks.outbox import EPOCH, FACTS
from clew.collect.sinks.postgres.connection import Connection, PostgresConnection
from clew.collect.sinks.postgres.store_version import StoreLayout, pick_columns
from clew.collect.sinks.record import Record
from clew.collect.sinks.store_check import StoreState
from clew.collect.sql.fact_changes import ROW_TABLES, FactChange, compare_all, hash_row, whole_rows
from clew.collect.sql.fact_tables import FILE, FactTable, FileFacts
from clew.collect.sql.line_rows import LINE, build_line_row
from clew.collect.sql.sent_facts import SentFacts, compare_with
from clew.errors import StoreError

_DIGEST = "digest"
_HAS_LINE = "clew.has_line(text,bigint,bigint,bigint,text)"
_FACT_MARK = "fact_mark"
_SAVE_FACT_MARK = f"""
INSERT INTO clew.host AS h (host, seq, {_FACT_MARK}) VALUES (%s, 0, %s)
ON CONFLICT (host) DO UPDATE SET {_FACT_MARK} = excluded.{_FACT_MARK}, seen = now()
"""
_ARRAY_TYPES = {"text": "text[]", "number": "bigint[]", "number or nothing": "bigint[]"}
_DAY = list(LINE.columns).index("day")
_BEGIN_HOST = """
INSERT INTO clew.host AS h (host, seq, mark) VALUES (%s, %s, %s)
ON CONFLICT (host) DO UPDATE SET seq = excluded.seq, mark = excluded.mark, seen = now() WHERE h.mark = 0
"""
_UPSERT_HOST_3 = """
INSERT INTO clew.host AS h (host, seq) VALUES (%s, %s)
ON CONFLICT (host) DO UPDATE SET seq = greatest(h.seq, excluded.seq), seen = now()
"""  # of version 3, which has no marks
_EXTEND_HOST = "UPDATE clew.host SET seq = %s, mark = %s, seen = now() WHERE host = %s AND mark = %s"


def _insert_sql(table: FactTable, extra: str = "") -> str:
    """Return an insertion of whole columns, each an array: one statement for any number of rows."""
    more = ", %b::bytea[]" if extra else ""
    arrays = ", ".join(f"%b::{_ARRAY_TYPES[type]}" for type in table.columns.values())
    names = f"{table.names}, {extra}" if extra else table.names
    return f"INSERT INTO clew.{table.name} ({names}) SELECT * FROM unnest({arrays}{more})"


def _replace_sql(table: FactTable) -> str:
    updates = ", ".join(f"{column} = excluded.{column}" for column in table.columns if column not in table.key)
    return f"ON CONFLICT ({', '.join(table.key)}) DO UPDATE SET {updates}"


def _delete_sql(table: FactTable) -> str:
    key = table.key[-1]
    keys = f"unnest(%b::{_ARRAY_TYPES[table.columns[key]]}, %b::text[]) AS d(key, day)"
    return (
        f"DELETE FROM clew.{table.name} AS t USING {keys} "
        f"WHERE t.host = %b AND t.file = %b AND t.{key} = d.key AND t.day = d.day"
    )


def _keep_sql(table: FactTable) -> str:
    key = table.key[-1]
    type = _ARRAY_TYPES[table.columns[key]]
    return f"DELETE FROM clew.{table.name} WHERE host = %b AND file = %b AND NOT {key} = ANY (%b::{type})"


def _insert_changed_sql(table: FactTable) -> str:
    """Return an insertion that leaves out rows that the store has."""
    same = " AND ".join(f"o.{name} = u.{name}" for name in table.key)
    mine, theirs = (", ".join(f"{alias}.{name}" for name in table.columns) for alias in ("u", "o"))
    has_row = f"SELECT 1 FROM clew.{table.name} AS o WHERE {same} AND ({theirs}) IS NOT DISTINCT FROM ({mine})"
    return f"{_insert_sql(table)} AS u({table.names}) WHERE NOT EXISTS ({has_row}) {_replace_sql(table)}"


def _upsert_file_sql(file: FactTable) -> str:
    values = ", ".join(["%s"] * len(file.columns))
    return f"""
INSERT INTO clew.fact_file AS f ({file.names}) VALUES ({values})
{_replace_sql(file)} WHERE f.seq <= excluded.seq RETURNING 1
"""


class PostgresLines:
    """Accepts records. `link` is shared with the facts, and closed here."""

    leaves = True

    def __init__(self, link: PostgresConnection) -> None:
        self.name = link.name
        self.link = link
        self._days: set[str] = {""}
        self._undated: set[str] = set()
        self._expected: int | None = None

    @property
    def retention(self) -> str:
        return self.link.retention

    def write(self, records: Sequence[Record]) -> None:
        rows = [(*build_line_row(record), record.raw) for record in records]
        with self.link.use() as connection:
            self.link.layout(connection)
            try:
                self._insert(connection, records, rows)
            except CheckViolation:  # the owner dropped the partition of a day meanwhile
                self._days = {""}
                self._insert(connection, records, rows)

    def _insert(self, connection: Connection, records: Sequence[Record], rows: list[tuple[Any, ...]]) -> None:
        days = sorted({str(row[_DAY]) for row in rows} - self._days)
        if days:
            refused = connection.execute("SELECT clew.make_days(%s)", (days,)).fetchone()
            self._undated |= set(refused[0] if refused else ())  # far off: the clock of the host was wrong
            self._days |= set(days)
        rows = [(*row[:_DAY], "", *row[_DAY + 1 :]) if row[_DAY] in self._undated else row for row in rows]
        with connection.transaction():
            table = self.link.layout(connection).fit(LINE)
            insert = f"{_insert_sql(table, 'raw')} ON CONFLICT DO NOTHING"
            connection.execute(insert, pick_columns(rows, LINE, table))
            self._extend(connection, records[-1])

    # -- what the store has, for `store_check`

    def store_id(self) -> str:
        with self.link.use() as connection:
            row = connection.execute("SELECT value FROM clew.about WHERE name = 'id'").fetchone()
        return str(row[0]) if row else ""

    def state(self, host: str) -> StoreState | None:
        with self.link.use() as connection:
            return self._state(connection, host)

    def _state(self, connection: Connection, host: str) -> StoreState | None:
        mark = "mark" if self.link.layout(connection).has("host", "mark") else "0"
        row = connection.execute(f"SELECT seq, {mark} FROM clew.host WHERE host = %s", (host,)).fetchone()
        return StoreState(*row) if row else None

    def has_line(self, host: str, file: int, generation: int, offset: int, hash: str) -> bool:
        """Ask the store, which tells a writer no more than whether it has a line; tables of an earlier version cannot."""
        with self.link.use() as connection:
            [is_known] = connection.execute(f"SELECT to_regprocedure('{_HAS_LINE}') IS NOT NULL").fetchone() or (False,)
            if not is_known:
                return False
            values = (host, file, generation, offset, hash)
            row = connection.execute("SELECT clew.has_line(%s, %s, %s, %s, %s)", values).fetchone()
        return bool(row and row[0])

    def expect(self, mark: int) -> None:
        self._expected = mark

    def advance(self, record: Record) -> None:
        with self.link.use() as connection:
            self._extend(connection, record)

    @property
    def last_mark(self) -> int:
        return self._expected or 0

    def _extend(self, connection: Connection, record: Record) -> None:
        """Note the last record of a batch in its transaction, if the store has what this archive sent before."""
        if record.mark is None:
            return
        if not self.link.layout(connection).has("host", "mark"):
            connection.execute(_UPSERT_HOST_3, (record.host, record.seq))
            return
        if self._expected is None:
            state = self._state(connection, record.host)
            self._expected = state.mark if state else 0
        if self._expected:
            values: tuple[Any, ...] = (record.seq, record.mark, record.host, self._expected)
            changed = connection.execute(_EXTEND_HOST, values).rowcount
        else:
            changed = connection.execute(_BEGIN_HOST, (record.host, record.seq, record.mark)).rowcount
        if not changed:
            self._expected = None
            raise StoreError(f"{self.name} has other records of this archive.", EPOCH, False)
        self._expected = record.mark

    def close(self) -> None:
        self.link.close()


class PostgresFacts:
    """Accepts facts of files, over the connection of the lines. `sent` remembers what the store has."""

    leaves = True

    def __init__(self, link: PostgresConnection, sent: SentFacts | None = None) -> None:
        self.name = f"{link.name}{FACTS}"
        self.link = link
        self.sent = sent
        self.next_mark = 0

    def write(self, batch: Sequence[FileFacts]) -> None:
        changes = [compare_with(self.sent, facts) for facts in batch]
        with self.link.use() as connection:
            layout = self.link.layout(connection)
            with connection.transaction():
                applied = [self._apply(connection, change, layout) for change in changes]
                if not layout.has("host", _FACT_MARK):
                    self.next_mark = 0
                if self.next_mark:
                    connection.execute(_SAVE_FACT_MARK, (batch[0].host, self.next_mark))
        if self.sent:
            self.sent.note([(change, change.state) for change in applied if change], {})

    def fact_mark(self, host: str) -> int | None:
        """Return the mark of the last facts of a host, for `fact_check`."""
        with self.link.use() as connection:
            if not self.link.layout(connection).has("host", _FACT_MARK):
                return None
            row = connection.execute(f"SELECT {_FACT_MARK} FROM clew.host WHERE host = %s", (host,)).fetchone()
        return int(row[0]) if row else 0

    def newer_files(self, host: str, seq: int) -> list[int]:
        """Return the files of a host whose facts were built from later lines, for `fact_check`."""
        with self.link.use() as connection:
            query = "SELECT file FROM clew.fact_file WHERE host = %s AND seq > %s"
            return [int(row[0]) for row in connection.execute(query, (host, seq))]

    def _apply(self, connection: Connection, change: FactChange, layout: StoreLayout) -> FactChange | None:
        """Write a change, or all facts if the store does not have what it was computed from. Returns what was written;
        None if the store has newer facts. The row of the file comes first: it locks out other writers and shows what
        the store has.
        """
        has_base = self._has_base(connection, change, layout)
        if not has_base and change.facts.continues:
            change = compare_all(change.facts)
        if not self._write_file(connection, change, layout):
            return None
        facts = change.facts
        for table in ROW_TABLES:
            fitted = layout.fit(table)
            if not fitted.columns:  # tables of an earlier version
                continue
            if not has_base:
                self._replace_rows(connection, facts, table, fitted)
                continue
            if deleted := change.deleted[table.name]:
                keys, days = zip(*deleted, strict=True)
                connection.execute(_delete_sql(table), (list(keys), list(days), facts.host, facts.file))
            if rows := change.rows[table.name]:
                connection.execute(f"{_insert_sql(fitted)} {_replace_sql(fitted)}", pick_columns(rows, table, fitted))
        return change

    def _replace_rows(self, connection: Connection, facts: FileFacts, table: FactTable, fitted: FactTable) -> None:
        """Bring the rows of a table to those of a file. Rows that are the same in the store are not written again."""
        rows = whole_rows(facts, table.name)
        key = list(table.columns).index(table.key[-1])
        connection.execute(_keep_sql(table), (facts.host, facts.file, [row[key] for row in rows]))
        if rows:
            connection.execute(_insert_changed_sql(fitted), pick_columns(rows, table, fitted))

    def _has_base(self, connection: Connection, change: FactChange, layout: StoreLayout) -> bool:
        """Return whether the store has the facts that a change was computed from, with the columns that it has now."""
        if not layout.has(FILE.name, _DIGEST):
            return False
        query = f"SELECT seq, {_DIGEST} FROM clew.fact_file WHERE host = %s AND file = %s FOR UPDATE"
        found = connection.execute(query, (change.facts.host, change.facts.file)).fetchone()
        base = change.base
        return base is not None and found == (base.seq, base.digest ^ _layout_hash(layout))

    def _write_file(self, connection: Connection, change: FactChange, layout: StoreLayout) -> bool:
        file = layout.fit(FILE)
        [values] = zip(*pick_columns(change.facts.rows[FILE.name], FILE, file), strict=True)
        if layout.has(FILE.name, _DIGEST):
            file = file._replace(columns={**file.columns, _DIGEST: "number"})
            values = (*values, change.digest ^ _layout_hash(layout))
        return connection.execute(_upsert_file_sql(file), values).fetchone() is not None

    def close(self) -> None:
        pass


def _layout_hash(layout: StoreLayout) -> int:
    """Return a hash of the columns of the store: after new ones were added, facts are sent completely again."""
    return hash_row(tuple(f"{table.name}.{column}" for table in ROW_TABLES for column in layout.fit(table).columns))
