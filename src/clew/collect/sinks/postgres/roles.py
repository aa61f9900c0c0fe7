"""Roles of a PostgreSQL store, and which rows and columns each may read.

| role | may |
|---|---|
| clew_writer | add lines and facts, replace and read its own facts |
| clew_reader | read everything |
| clew_numbers | read facts without contents |
| clew_team_reader, clew_team_numbers | the same, for the teams that `clew.member` names |

Rights on rows are policies, and rights on columns are grants, so they also apply to the tables below the views. The views
of the schema `clew_numbers` have the names and columns of those in `clew`, with empty contents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clew.collect.sql.content_columns import CONTENT_COLUMNS, number_columns
from clew.collect.sql.fact_tables import TABLES, FactTable
from clew.collect.sql.line_rows import LINE

WRITER = "clew_writer"
READER, TEAM_READER = "clew_reader", "clew_team_reader"
NUMBERS, TEAM_NUMBERS = "clew_numbers", "clew_team_numbers"
ROLES = (WRITER, READER, NUMBERS, TEAM_READER, TEAM_NUMBERS)
NUMBERS_SCHEMA = "clew_numbers"
_CREATE_ROLE = """DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{0}') THEN CREATE ROLE {0} NOLOGIN; END IF;
END $$"""
_MY_TEAMS = "team = ANY (ARRAY(SELECT m.team FROM clew.member m WHERE m.role = session_user))"
_MY_FILES = "(host, file) IN (SELECT f.host, f.file FROM clew.fact_file f)"  # the policy of fact_file applies to it


def role_statements() -> Iterator[str]:
    """Yield the roles, the schemas, and the table of team members, which only the owner changes."""
    for role in ROLES:
        yield _CREATE_ROLE.format(role)
    yield "CREATE SCHEMA IF NOT EXISTS clew"
    yield f"CREATE SCHEMA IF NOT EXISTS {NUMBERS_SCHEMA}"
    yield f"GRANT USAGE ON SCHEMA clew, {NUMBERS_SCHEMA} TO {', '.join(ROLES)}"
    yield 'CREATE TABLE IF NOT EXISTS clew.member(role name, team text COLLATE "C", PRIMARY KEY(role, team))'
    yield "ALTER TABLE clew.member ENABLE ROW LEVEL SECURITY"
    yield from _policy("member", "own", f"FOR SELECT TO {TEAM_READER}, {TEAM_NUMBERS} USING (role = session_user)")
    yield f"GRANT SELECT ON clew.member TO {TEAM_READER}, {TEAM_NUMBERS}"


def row_security_statements(table: str, rights: str) -> Iterator[str]:
    """Yield the rights of writers, who see their own rows, and of readers, who see all or those of their teams."""
    yield f"ALTER TABLE clew.{table} ENABLE ROW LEVEL SECURITY"
    own = "USING (writer = session_user) WITH CHECK (writer = session_user)"
    yield from _policy(table, "own", f"TO {WRITER} {own}")
    yield f"GRANT {rights} ON clew.{table} TO {WRITER}"
    yield from _policy(table, "seen", f"FOR SELECT TO {READER} USING (true)")
    yield f"GRANT SELECT ON clew.{table} TO {READER}"


def fact_rights_statements(table: FactTable) -> Iterator[str]:
    """Yield the rights of readers of teams and of numbers to a table of facts."""
    yield from _policy(table.name, "counted", f"FOR SELECT TO {NUMBERS} USING (true)")
    yield from _policy(table.name, "team", f"FOR SELECT TO {TEAM_READER}, {TEAM_NUMBERS} USING ({_MY_TEAMS})")
    yield f"GRANT SELECT ON clew.{table.name} TO {TEAM_READER}"
    yield f"REVOKE ALL ON clew.{table.name} FROM {NUMBERS}, {TEAM_NUMBERS}"
    yield f"GRANT SELECT ({', '.join(number_columns(table))}) ON clew.{table.name} TO {NUMBERS}, {TEAM_NUMBERS}"


def line_rights_statements() -> Iterator[str]:
    """Yield the rights of team readers to lines: those of the sessions whose facts they see."""
    yield from _policy(LINE.name, "team", f"FOR SELECT TO {TEAM_READER} USING ({_MY_FILES})")
    yield f"GRANT SELECT ON clew.{LINE.name} TO {TEAM_READER}"


def number_view_statements(views: Mapping[str, str]) -> Iterator[str]:
    """Yield the views without contents: of each table of facts, and on these the same views as in `clew`."""
    names = [*(table.name for table in TABLES), *views]
    for name in reversed(names):
        yield f"DROP VIEW IF EXISTS {NUMBERS_SCHEMA}.{name}"
    for table in TABLES:
        columns = ", ".join(
            f"''::text COLLATE \"C\" AS {name}" if name in CONTENT_COLUMNS else name for name in table.columns
        )
        yield _view(table.name, f"SELECT {columns} FROM clew.{table.name}")
    yield f"SET LOCAL search_path TO {NUMBERS_SCHEMA}, clew"
    for name, text in views.items():
        yield _view(name, text)
    for name in names:
        yield f"GRANT SELECT ON {NUMBERS_SCHEMA}.{name} TO {NUMBERS}, {TEAM_NUMBERS}"


def _view(name: str, text: str) -> str:
    return f"CREATE VIEW {NUMBERS_SCHEMA}.{name} WITH (security_invoker = true) AS\n{text}"


def _policy(table: str, name: str, text: str) -> Iterator[str]:
    yield f"DROP POLICY IF EXISTS {name} ON clew.{table}"
    yield f"CREATE POLICY {name} ON clew.{table} {text}"
