"""Lines as rows: what a store keeps of each line beside its bytes."""

from __future__ import annotations

from clew.collect.discovery import is_replaced_kind
from clew.collect.sinks.record import Record
from clew.collect.sql.fact_rows import name, text, times
from clew.collect.sql.fact_tables import FactTable
from clew.wire.entry import Entry, parse_line
from clew.wire.line import Line

_FIRST_DAY, _LAST_DAY = "2000-01-01", "2099-12-31"  # a line of another day counts as undated

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
"""And `raw`: the line without its newline, as bytes; NULL if it was too long to be kept."""


def line_row(record: Record) -> tuple[str | int, ...]:
    """A record in the columns of the table. Its day is told by its own time alone, so that it is the same for ever."""
    entry = None
    if record.raw is not None and not is_replaced_kind(record.kind):
        item = parse_line(Line(record.line, 0, record.raw, 0, len(record.raw)))
        entry = item if isinstance(item, Entry) else None
    time, time_ms, day = times(entry.time if entry else None)
    return (
        record.host,
        record.file,
        record.generation,
        record.offset,
        day if _FIRST_DAY <= day <= _LAST_DAY else "",
        record.seq,
        record.line,
        record.length,
        text(record.path),
        record.kind,
        text(record.project),
        name(record.session),
        name(record.agent),
        name(entry.type if entry else ""),
        name(entry.uuid if entry else ""),
        time,
        time_ms,
        record.hash,
        record.masked,
        text(record.withheld),
    )
