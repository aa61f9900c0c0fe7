"""Build the row that a store keeps for each line, in addition to its bytes."""

from __future__ import annotations

from clew.collect.discovery import is_replaced_kind
from clew.collect.sinks.record import Record
from clew.collect.sql.fact_tables import FactTable
from clew.collect.sql.sql_values import sql_name, sql_text, sql_times
from clew.wire.entry import Entry, parse_line
from clew.wire.line import Line

_FIRST_DAY, _LAST_DAY = "2000-01-01", "2099-12-31"  # other days count as undated

LINE = FactTable(
    "line",
    {
        "host": "text",
        "file": "number",
        "generation": "number",
        "start": "number",
        "day": "text",
        "seq": "number",
        "number": "number",
        "length": "number",
        "path": "text",
        "kind": "text",
        "project": "text",
        "session": "text",
        "agent": "text",
        "type": "text",
        "uuid": "text",
        "time": "text",
        "time_ms": "number",
        "hash": "text",
        "masked": "number",
        "withheld": "text",
    },
    ("host", "file", "generation", "start", "day"),
)
"""Stores add a column `raw`: the line without its newline, as bytes; NULL if it was too long to be stored."""


def build_line_row(record: Record) -> tuple[str | int, ...]:
    """Return a record as a row of the table. Its day depends only on its own timestamp, so that it never changes."""
    entry = None
    if record.raw is not None and not is_replaced_kind(record.kind):
        item = parse_line(Line(record.line, 0, record.raw, 0, len(record.raw)))
        entry = item if isinstance(item, Entry) else None
    time, time_ms, day = sql_times(entry.time if entry else None)
    return (
        record.host,
        record.file,
        record.generation,
        record.offset,
        day if _FIRST_DAY <= day <= _LAST_DAY else "",
        record.seq,
        record.line,
        record.length,
        sql_text(record.path),
        record.kind,
        sql_text(record.project),
        sql_name(record.session),
        sql_name(record.agent),
        sql_name(entry.type if entry else ""),
        sql_name(entry.uuid if entry else ""),
        time,
        time_ms,
        record.hash,
        record.masked,
        sql_text(record.withheld),
    )
