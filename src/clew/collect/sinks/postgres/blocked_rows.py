"""Keep a PostgreSQL store from taking again what was erased, or is older than its retention.

Triggers drop such rows without an error, so hosts of every version continue after them. `clew.erased` has hashes only
(see `erasure`). Of a row from which a text was erased the contents stay erased when it is sent again.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.collect.retention import FIRST_DAYS
from clew.collect.sinks.erasure import ERASED_TEXT, ROW_NAMES
from clew.collect.sinks.postgres.roles import READER, TEAM_READER, WRITER
from clew.collect.sql.content_columns import CONTENT_COLUMNS
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable
from clew.collect.sql.line_rows import LINE

_FUNCTION = """CREATE OR REPLACE FUNCTION clew.keep_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF {day} <> '' AND {day} < (SELECT value FROM clew.about WHERE name = '{first}') THEN
    RETURN NULL;
  END IF;
  IF NOT EXISTS (SELECT FROM clew.erased) THEN
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
    yield _FUNCTION.format(table=table, day=day, first=first, hashes=listed, erase=erase)
    yield f"""CREATE OR REPLACE TRIGGER keep BEFORE INSERT ON clew.{table}
  FOR EACH ROW EXECUTE FUNCTION clew.keep_{table}()"""
