"""Drop lines and facts of a PostgreSQL store that are older than its retention, as its owner.

The first day that is kept is written before anything is dropped, so that a host that sends meanwhile adds nothing
older: triggers drop such rows. Lines go by whole days; undated ones go with the session that they belong to.
"""

from __future__ import annotations

from datetime import date

from psycopg import Rollback

from clew.collect.retention import RetainedRows, Retention
from clew.collect.sinks.postgres.blocked_rows import sql_hash
from clew.collect.sinks.postgres.connection import Connection, PostgresConnection
from clew.collect.sql.fact_tables import FILE, TABLES
from clew.collect.sql.line_rows import LINE

_SET = "INSERT INTO clew.about VALUES(%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_DAYS = """
SELECT c.relname, translate(substr(c.relname, 6), '_', '-') FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'clew.line'::regclass AND c.relname ~ '^line_[0-9]{4}_[0-9]{2}_[0-9]{2}$' ORDER BY 1
"""
_OLD_FILES = "SELECT host, file FROM clew.fact_file WHERE ended <> '' AND left(ended, 10) < %s"
_PLACE = sql_hash("place", "host", "file", "generation", "start", row="l")
_DROP_UNDATED = f"""
WITH dropped AS (DELETE FROM clew.line_undated l WHERE (l.host, l.file) IN ({_OLD_FILES}) RETURNING {_PLACE} AS hash)
INSERT INTO clew.erased(hash, kind) SELECT hash, 'place' FROM dropped ON CONFLICT DO NOTHING
"""


class PostgresRetention:
    """Applies the retention of one database. The user must own the tables."""

    def __init__(self, link: PostgresConnection) -> None:
        self.link = link
        self.name = link.name

    def read(self) -> Retention:
        """Return the rule in force."""
        with self.link.use() as connection:
            self.link.layout(connection)
            rows = connection.execute("SELECT name, value FROM clew.about").fetchall()
        return Retention.read({str(name): str(value) for name, value in rows})

    def apply(self, rule: Retention, today: date, *, dry_run: bool) -> list[RetainedRows]:
        """Remember the rule and drop what is older. With `dry_run` nothing is changed."""
        first = rule.first_days(today)
        with self.link.use() as connection:
            if not dry_run:
                with connection.transaction():
                    for name, value in rule.values(today).items():
                        connection.execute(_SET, (name, value))
            rows = self._drop_days(connection, first["lines"], dry_run) if first["lines"] else []
            with connection.transaction():
                if first["lines"]:
                    undated = connection.execute(_DROP_UNDATED, (first["lines"],)).rowcount
                    rows.append(RetainedRows("line_undated", undated))
                if first["facts"]:
                    rows += self._drop_facts(connection, first["facts"])
                if dry_run:
                    raise Rollback
        return [each for each in rows if each.dropped or each.days]

    def _drop_days(self, connection: Connection, first: str, dry_run: bool) -> list[RetainedRows]:
        days = dropped = 0
        for name, day in connection.execute(_DAYS).fetchall():
            if day >= first:
                continue
            [count] = connection.execute(f"SELECT count(*) FROM clew.{name}".encode()).fetchone() or (0,)
            if not dry_run:
                connection.execute(f"DROP TABLE clew.{name}".encode())
            days, dropped = days + 1, dropped + int(count)
        return [RetainedRows(LINE.name, dropped, days)]

    def _drop_facts(self, connection: Connection, first: str) -> list[RetainedRows]:
        rows = []
        for table in TABLES:
            if table is FILE:
                continue
            where = f"(day <> '' AND day < %s) OR (host, file) IN ({_OLD_FILES})"
            count = connection.execute(f"DELETE FROM clew.{table.name} WHERE {where}".encode(), (first, first)).rowcount
            rows.append(RetainedRows(table.name, count))
        delete = f"DELETE FROM clew.fact_file WHERE (host, file) IN ({_OLD_FILES})"
        return [*rows, RetainedRows(FILE.name, connection.execute(delete.encode(), (first,)).rowcount)]

    def close(self) -> None:
        self.link.close()
