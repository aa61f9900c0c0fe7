"""Keep a PostgreSQL store from taking again what was erased, or is older than its retention.

Triggers drop such rows without an error, so hosts of every version continue after them. `clew.erased` has hashes only
(see `erasure`). Of a row from which a text was erased the contents stay erased when it is sent again. The rules are
read once for a statement: while there are none, no row is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.collect.retention import FIRST_DAYS
from clew.collect.sinks.erasure import ERASED_TEXT, ROW_NAMES
from clew.collect.sinks.postgres.roles import READER, TEAM_READER, WRITER
from clew.collect.sql.content_columns import CONTENT_COLUMNS
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable
from clew.collect.sql.line_rows import LINE

_READ_RULES = """CREATE OR REPLACE FUNCTION clew.read_rules() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  first text := coalesce((SELECT value FROM clew.about WHERE name = TG_ARGV[0]), '');
  erased text := CASE WHEN EXISTS (SELECT FROM clew.erased) THEN 'yes' ELSE '' END;
BEGIN
  PERFORM set_config('clew.first_day', first, true), set_config('clew.erased', erased, true);
  RETURN NULL;
END $$"""
_HAS_RULES = "current_setting('clew.first_day', true) <> '' OR current_setting('clew.erased', true) <> ''"
_FUNCTION = """CREATE OR REPLACE FUNCTION clew.keep_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF {day} <> '' AND {day} < current_setting('clew.first_day') THEN
    RETURN NULL;
  END IF;
  IF current_setting('clew.erased') = '' THEN
    RETURN NEW;
  END IF;
  IF EXISTS (SELECT FROM clew.erased WHERE hash IN ({hashes})) THEN
    RETURN NULL;
  END IF;{erase}
  RETURN NEW;
END $$"""
_ERASE = """
  IF EXISTS (SELECT FROM clew.erased WHERE hash = {hash}) THEN
    {values}
  END IF;"""


def blocking_statements() -> Iterator[str]:
    """Yield the table of hashes, and the triggers of lines and facts."""
    yield (
        "CREATE TABLE IF NOT EXISTS clew.erased("
        'hash text COLLATE "C" PRIMARY KEY, kind text NOT NULL, time timestamptz NOT NULL DEFAULT now())'
    )
    yield f"GRANT SELECT ON clew.erased TO {WRITER}, {READER}, {TEAM_READER}"  # a reader's copy is compared with it
    yield _READ_RULES
    hashes = [sql_hash("host", "host"), sql_hash("project", "project"), sql_hash("session", "session")]
    line_hashes = [sql_hash("line", "hash"), sql_hash("place", "host", "file", "generation", "start")]
    yield from _trigger(LINE.name, "NEW.day", FIRST_DAYS["lines"], [*hashes, *line_hashes], "")
    for table in TABLES:
        day = "left(NEW.ended, 10)" if table is FILE else "NEW.day"
        yield from _trigger(
            table.name, day, FIRST_DAYS["facts"], [*hashes, sql_hash("developer", "developer")], _erase_contents(table)
        )


def sql_hash(kind: str, *columns: str, row: str = "NEW") -> str:
    """Return the SQL of `remembered_hash` for the columns of a row."""
    names = " || '/' || ".join(f"{row}.{column}" for column in columns)
    return f"encode(sha256(convert_to('{kind}:' || {names}, 'UTF8')), 'hex')"


def _erase_contents(table: FactTable) -> str:
    values = " ".join(f"NEW.{name} := '{ERASED_TEXT}';" for name in table.columns if name in CONTENT_COLUMNS)
    return _ERASE.format(hash=sql_hash(table.name, *ROW_NAMES[table.name]), values=values)


def _trigger(table: str, day: str, first: str, hashes: list[str], erase: str) -> Iterator[str]:
    listed = ",\n    ".join(hashes)
    yield _FUNCTION.format(table=table, day=day, hashes=listed, erase=erase)
    yield f"""CREATE OR REPLACE TRIGGER read_rules BEFORE INSERT ON clew.{table}
  FOR EACH STATEMENT EXECUTE FUNCTION clew.read_rules('{first}')"""
    yield f"""CREATE OR REPLACE TRIGGER keep BEFORE INSERT ON clew.{table}
  FOR EACH ROW WHEN ({_HAS_RULES}) EXECUTE FUNCTION clew.keep_{table}()"""
