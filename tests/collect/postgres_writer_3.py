"""The statements of a host of the first release (version 3 of the tables), as it sent them. This code is frozen: of the
package it uses nothing but the rows, of which it sends the columns that it knew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

VERSION = "3"
_OWNER = "host file path project session agent"
_TIME = "time time_ms day"
COLUMNS = {
    "line": (
        "host file generation start day seq number length path kind project session agent type uuid time time_ms hash "
        "masked withheld raw"
    ),
    "fact_file": (
        f"{_OWNER} seq title folder branch version started started_ms ended ended_ms day lines bytes damaged compactions "
        "branches rounds slug"
    ),
    "fact_turn": (
        f"{_OWNER} turn {_TIME} kind state took_ms replies calls failed prompt round round_kind input complexity"
    ),
    "fact_reply": (
        f"{_OWNER} reply turn {_TIME} model stop_reason input output cache_write_5m cache_write_1h cache_read "
        "web_searches web_fetches cost_micros calls is_final is_copy text"
    ),
    "fact_call": (
        f"{_OWNER} call reply turn {_TIME} tool server subject took_ms is_open failed error output_chars began_agent "
        "is_copy changed_file lines_added lines_removed user_modified"
    ),
}
_NUMBER_NAMES = (
    "file generation start seq number length time_ms masked started_ms ended_ms lines bytes damaged compactions "
    "branches rounds took_ms replies calls failed round output cache_write_5m cache_write_1h cache_read "
    "web_searches web_fetches cost_micros is_final is_copy is_open output_chars lines_added lines_removed "
    "user_modified turn "
)
_UPSERT_HOST = """
INSERT INTO clew.host AS h (host, seq) VALUES (%s, %s)
ON CONFLICT (host) DO UPDATE SET seq = greatest(h.seq, excluded.seq), seen = now()
"""
Rows = Sequence[Mapping[str, Any]]


class RefusedVersion(Exception):
    """The store has another version than this writer, which compares for equality."""


def write_lines(connection: psycopg.Connection[Any], rows: Rows) -> None:
    row = connection.execute("SELECT value FROM clew.about WHERE name = 'version'").fetchone()
    if row != (VERSION,):
        raise RefusedVersion(row)
    days = sorted({str(row["day"]) for row in rows} - {""})
    connection.execute("SELECT clew.make_days(%s)", (days,))
    with connection.transaction():
        _insert(connection, "line", rows)
        connection.execute(_UPSERT_HOST, (rows[0]["host"], rows[-1]["seq"]))


def write_facts(connection: psycopg.Connection[Any], tables: Mapping[str, Rows]) -> bool:
    """Replace the facts of a file; whether the store took them."""
    with connection.transaction():
        names = COLUMNS["fact_file"].split()
        updates = ", ".join(f"{name} = excluded.{name}" for name in names if name not in ("host", "file"))
        [file] = tables["fact_file"]
        upsert = (
            f"INSERT INTO clew.fact_file AS f ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))}) "
            f"ON CONFLICT (host, file) DO UPDATE SET {updates} WHERE f.seq <= excluded.seq RETURNING 1"
        )
        if connection.execute(upsert.encode(), [file[name] for name in names]).fetchone() is None:
            return False
        for table in ("fact_turn", "fact_reply", "fact_call"):
            delete = f"DELETE FROM clew.{table} WHERE host = %s AND file = %s"
            connection.execute(delete.encode(), (file["host"], file["file"]))
            if tables[table]:
                _insert(connection, table, tables[table])
    return True


def _insert(connection: psycopg.Connection[Any], table: str, rows: Rows) -> None:
    names = COLUMNS[table].split()
    arrays = ", ".join(f"%b::{_type(table, name)}[]" for name in names)
    insert = f"INSERT INTO clew.{table} ({', '.join(names)}) SELECT * FROM unnest({arrays}) ON CONFLICT DO NOTHING"
    connection.execute(insert.encode(), [[row[name] for row in rows] for name in names])


def is_number(table: str, name: str) -> bool:
    return name in _NUMBER_NAMES.split() or (table, name) == ("fact_reply", "input")


def _type(table: str, name: str) -> str:
    return "bytea" if name == "raw" else "bigint" if is_number(table, name) else "text"
