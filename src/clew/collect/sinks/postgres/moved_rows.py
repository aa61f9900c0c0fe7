"""Note in PostgreSQL which turns, replies and calls occur on several days, when they are written.

Views compare the occurrences of a reply within its day, so that a query of one day reads nothing else. The exceptions
are in the tables of `MOVED`. Triggers fill them with the rights of the owner, because a writer sees only its own rows.
Two copies that are written at the same moment may both be missed until one of them is written again, or until the
next `clew collect setup`.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.collect.sinks.postgres.roles import ROLES
from clew.collect.sql.fact_tables import TABLES
from clew.collect.sql.views import MOVED, moved_sql

_TYPES = {"text": 'text COLLATE "C"', "number": "bigint"}
POSTGRES_DATE = (
    "CASE WHEN {0} ~ '^(?!0000)[0-9]{{4}}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$' THEN make_date("
    "CAST(substr({0}, 1, 4) AS integer), CAST(substr({0}, 6, 2) AS integer), 1) + CAST(substr({0}, 9, 2) AS integer) - 1 END"
)
"""A date that no text makes fail: what one host sends must not break the queries of others."""


def moved_statements() -> Iterator[str]:
    """Yield the tables, their triggers and their rows. The tables of facts exist."""
    yield "SET LOCAL search_path TO clew"
    for name, (table, key) in MOVED.items():
        [columns] = [each.columns for each in TABLES if each.name == table]
        types = ", ".join(f"{each} {_TYPES[columns[each]]}" for each in key)
        yield f"CREATE TABLE IF NOT EXISTS clew.{name}({types}, PRIMARY KEY({', '.join(key)}))"
        yield f"GRANT SELECT ON clew.{name} TO {', '.join(ROLES)}"
        yield f"CREATE INDEX IF NOT EXISTS {table}_copies ON clew.{table}({', '.join(key)}, day)"
        yield f"INSERT INTO clew.{name} {moved_sql(name)} ON CONFLICT DO NOTHING"
        yield f"ANALYZE clew.{name}"  # else it would be taken for a large table, and facts be read completely
        yield _function(name, table, key)
        yield f"REVOKE ALL ON FUNCTION clew.note_{name}() FROM PUBLIC"
        for event in ("INSERT", "UPDATE"):
            yield f"""CREATE OR REPLACE TRIGGER note_{name}_{event.lower()} AFTER {event} ON clew.{table}
REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION clew.note_{name}()"""


def _function(name: str, table: str, key: tuple[str, ...]) -> str:
    same = " AND ".join(f"o.{each} = w.{each}" for each in key)
    return f"""CREATE OR REPLACE FUNCTION clew.note_{name}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO clew.{name} SELECT DISTINCT {", ".join(f"w.{each}" for each in key)}
  FROM written AS w JOIN clew.{table} AS o ON {same} AND o.day <> w.day ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$"""
