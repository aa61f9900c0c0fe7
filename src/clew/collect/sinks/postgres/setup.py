"""Create the tables and roles of a PostgreSQL store, and bring those of an earlier version up to date.

Lines lie in one partition per day, so that old ones can be dropped quickly; a line without a time, or with one that is
far off, is in `line_undated`.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.collect.sinks.postgres.blocked_rows import blocking_statements
from clew.collect.sinks.postgres.connection import PostgresConnection
from clew.collect.sinks.postgres.moved_rows import POSTGRES_DATE, moved_statements
from clew.collect.sinks.postgres.roles import (
    READER,
    ROLES,
    TEAM_READER,
    WRITER,
    fact_rights_statements,
    line_rights_statements,
    number_view_statements,
    role_statements,
    row_security_statements,
)
from clew.collect.sinks.postgres.store_version import OLDEST_WRITER, SCHEMA_VERSION
from clew.collect.sql.fact_tables import TABLES, FactTable
from clew.collect.sql.line_rows import LINE
from clew.collect.sql.views import build_views
from clew.errors import StoreError

_TYPES = {
    "text": "text COLLATE \"C\" NOT NULL DEFAULT ''",
    "number": "bigint NOT NULL DEFAULT 0",
    "number or nothing": "bigint",
}  # hosts of earlier versions leave out columns that they do not know
_MIN_SERVER_VERSION = 15  # the first with `security_invoker` views
_WRITER_COLUMN = "writer name NOT NULL DEFAULT session_user"

_HAS_LINE = """CREATE OR REPLACE FUNCTION clew.has_line(text, bigint, bigint, bigint, text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (SELECT FROM clew.line WHERE host = $1 AND file = $2 AND generation = $3 AND start = $4
    AND hash = $5 AND writer = session_user)
$$"""

_MAKE_DAYS = """CREATE FUNCTION clew.make_days(days text[]) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  one text;
  made text;
  refused text[] := '{}';
BEGIN
  FOREACH one IN ARRAY days LOOP
    IF one !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' THEN
      RAISE EXCEPTION 'no day: %', left(one, 20) USING ERRCODE = '22007';
    END IF;
    IF one::date NOT BETWEEN date '2020-01-01' AND current_date + 31 THEN
      refused := refused || one;
      CONTINUE;
    END IF;
    made := 'line_' || replace(one, '-', '_');
    CONTINUE WHEN to_regclass('clew.' || made) IS NOT NULL;
    LOCK TABLE clew.line IN SHARE UPDATE EXCLUSIVE MODE;
    CONTINUE WHEN to_regclass('clew.' || made) IS NOT NULL;
    EXECUTE format('CREATE TABLE clew.%I (LIKE clew.line INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', made);
    EXECUTE format('ALTER TABLE clew.line ATTACH PARTITION clew.%I FOR VALUES IN (%L)', made, one);
  END LOOP;
  RETURN refused;
END $$"""  # returns the days that get no partition, so that no host can fill the store with partitions


def setup_sql() -> str:
    """Return the whole setup as SQL, for the owner of the database. It can be run repeatedly."""
    return "".join(f"{statement};\n\n" for statement in ("BEGIN", *_statements(), "COMMIT"))


def set_up_store(link: PostgresConnection) -> None:
    """Create what does not exist. Raises StoreError, also for a server that is too old."""
    with link.use() as connection, connection.transaction():
        if connection.info.server_version < _MIN_SERVER_VERSION * 10_000:
            version = connection.info.server_version // 10_000
            raise StoreError(
                f"{link.name} is PostgreSQL {version}; {_MIN_SERVER_VERSION} or newer is needed.", "version", False
            )
        for statement in _statements():
            connection.execute(statement)


def _statements() -> Iterator[str]:
    yield "SELECT pg_advisory_xact_lock(hashtext('clew.setup'))"
    yield from role_statements()
    yield "CREATE TABLE IF NOT EXISTS clew.about(name text PRIMARY KEY, value text NOT NULL)"
    for name, version in (("version", OLDEST_WRITER), ("oldest_writer", OLDEST_WRITER), ("schema", SCHEMA_VERSION)):
        yield (
            f"INSERT INTO clew.about VALUES('{name}', '{version}') "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
    yield "INSERT INTO clew.about VALUES('id', gen_random_uuid()::text) ON CONFLICT (name) DO NOTHING"
    yield f"GRANT SELECT ON clew.about TO {', '.join(ROLES)}"
    yield f"""CREATE TABLE IF NOT EXISTS clew.host(
  host text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL, seen timestamptz NOT NULL DEFAULT now(), {_WRITER_COLUMN})"""
    for column in ("mark", "fact_mark"):
        yield f"ALTER TABLE clew.host ADD COLUMN IF NOT EXISTS {column} bigint NOT NULL DEFAULT 0"
    yield from row_security_statements("host", "SELECT, INSERT, UPDATE")
    yield from _line_table_statements()
    for table in TABLES:
        columns = f"{_column_definitions(table)},\n  {_WRITER_COLUMN},\n  {_primary_key(table)}"
        yield f"CREATE TABLE IF NOT EXISTS clew.{table.name}(\n  {columns})"
        yield from _missing_column_statements(table)
        yield f"DROP INDEX IF EXISTS clew.{table.name}_name"  # of earlier versions
        yield f"CREATE INDEX IF NOT EXISTS {table.name}_day ON clew.{table.name}(day, project)"
        yield from row_security_statements(table.name, "SELECT, INSERT, UPDATE, DELETE")
        yield from fact_rights_statements(table)
    yield "ALTER TABLE clew.fact_file ADD COLUMN IF NOT EXISTS digest bigint NOT NULL DEFAULT 0"
    yield from line_rights_statements()
    yield from blocking_statements()
    yield from moved_statements()
    views = build_views(POSTGRES_DATE)
    for name, text in views.items():
        yield f"CREATE OR REPLACE VIEW clew.{name} WITH (security_invoker = true) AS\n{text}"
        yield f"GRANT SELECT ON clew.{name} TO {WRITER}, {READER}, {TEAM_READER}"
    yield from number_view_statements(views)


def _line_table_statements() -> Iterator[str]:
    yield f"""CREATE TABLE IF NOT EXISTS clew.line(
  {_column_definitions(LINE)},
  raw bytea, {_WRITER_COLUMN},
  {_primary_key(LINE)}) PARTITION BY LIST (day)"""
    yield from _missing_column_statements(LINE)
    yield "CREATE TABLE IF NOT EXISTS clew.line_undated PARTITION OF clew.line FOR VALUES IN ('')"
    yield "CREATE INDEX IF NOT EXISTS line_host_seq ON clew.line(host, seq)"  # readers ask for what is new of a host
    yield "CREATE INDEX IF NOT EXISTS line_session ON clew.line(session, time_ms)"
    yield "CREATE INDEX IF NOT EXISTS line_time ON clew.line USING brin(time_ms)"
    yield from row_security_statements("line", "INSERT")
    yield "DROP FUNCTION IF EXISTS clew.make_days(text[])"
    yield _MAKE_DAYS
    yield "REVOKE ALL ON FUNCTION clew.make_days(text[]) FROM PUBLIC"
    yield "GRANT EXECUTE ON FUNCTION clew.make_days(text[]) TO clew_writer"
    yield _HAS_LINE
    yield "REVOKE ALL ON FUNCTION clew.has_line(text, bigint, bigint, bigint, text) FROM PUBLIC"
    yield "GRANT EXECUTE ON FUNCTION clew.has_line(text, bigint, bigint, bigint, text) TO clew_writer"


def _missing_column_statements(table: FactTable) -> Iterator[str]:
    """Yield the columns and defaults that tables of an earlier version lack; the columns are filled when facts are
    written again.
    """
    for name, type in table.columns.items():
        yield f"ALTER TABLE clew.{table.name} ADD COLUMN IF NOT EXISTS {name} {_TYPES[type]}"
        if type != "number or nothing":
            default = "''" if type == "text" else "0"
            yield f"ALTER TABLE clew.{table.name} ALTER COLUMN {name} SET DEFAULT {default}"


def _column_definitions(table: FactTable) -> str:
    return ",\n  ".join(f"{name} {_TYPES[type]}" for name, type in table.columns.items())


def _primary_key(table: FactTable) -> str:
    return f"PRIMARY KEY({', '.join(table.key)})"
