"""Define the fact tables: rows derived from each file, with the same types on every engine.

There are two types, text and 64-bit integers, and only an unknown price is NULL. Booleans are 0 or 1. A time is a
text that sorts (UTC, `''` for none), next to its milliseconds since 1970. The rows of a file are written and
replaced together; `views` builds the queryable views on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

Type = Literal["text", "number", "number or nothing"]
Value = str | int | None


class FactTable(NamedTuple):
    """A table: its columns in order, and its key columns."""

    name: str
    columns: dict[str, Type]
    key: tuple[str, ...]

    @property
    def names(self) -> str:
        return ", ".join(self.columns)


_OWNER: dict[str, Type] = {
    "host": "text",
    "file": "number",
    "path": "text",
    "project": "text",
    "session": "text",
    "agent": "text",
    "developer": "text",
    "machine": "text",
    "team": "text",
}
_TIME: dict[str, Type] = {"time": "text", "time_ms": "number", "day": "text", "week": "text"}

FILE = FactTable(
    "fact_file",
    {
        **_OWNER,
        "seq": "number",
        "title": "text",
        "folder": "text",
        "branch": "text",
        "version": "text",
        "started": "text",
        "started_ms": "number",
        "ended": "text",
        "ended_ms": "number",
        "day": "text",
        "week": "text",
        "lines": "number",
        "bytes": "number",
        "damaged": "number",
        "compactions": "number",
        "branches": "number",
        "rounds": "number",
        "slug": "text",
        "agent_type": "text",
    },
    ("host", "file"),
)
TURN = FactTable(
    "fact_turn",
    {
        **_OWNER,
        "turn": "number",
        **_TIME,
        "kind": "text",
        "state": "text",
        "took_ms": "number",
        "replies": "number",
        "calls": "number",
        "failed": "number",
        "prompt": "text",
        "round": "number",
        "round_kind": "text",
        "input": "text",
        "complexity": "text",
        "command": "text",
    },
    ("host", "file", "turn"),
)
REPLY = FactTable(
    "fact_reply",
    {
        **_OWNER,
        "reply": "text",
        "turn": "number",
        **_TIME,
        "model": "text",
        "stop_reason": "text",
        "input": "number",
        "output": "number",
        "cache_write_5m": "number",
        "cache_write_1h": "number",
        "cache_read": "number",
        "web_searches": "number",
        "web_fetches": "number",
        "cost_micros": "number or nothing",
        "calls": "number",
        "is_final": "number",
        "is_copy": "number",
        "text": "text",
        "command": "text",
        "skill": "text",
    },
    ("host", "file", "reply"),
)
CALL = FactTable(
    "fact_call",
    {
        **_OWNER,
        "call": "text",
        "reply": "text",
        "turn": "number",
        **_TIME,
        "tool": "text",
        "server": "text",
        "subject": "text",
        "took_ms": "number",
        "is_open": "number",
        "failed": "number",
        "error": "text",
        "output_chars": "number",
        "began_agent": "text",
        "is_copy": "number",
        "changed_file": "text",
        "lines_added": "number",
        "lines_removed": "number",
        "user_modified": "number",
        "refused": "number",
        "agent_type": "text",
        "skill": "text",
    },
    ("host", "file", "call"),
)
GIT = FactTable(
    "fact_git",
    {
        **_OWNER,
        "name": "text",
        "kind": "text",
        "turn": "number",
        **_TIME,
        "call": "text",
        "repository": "text",
        "branch": "text",
        "message": "text",
        "is_copy": "number",
    },
    ("host", "file", "name"),
)
TABLES = (FILE, TURN, REPLY, CALL, GIT)


RowKey = tuple[int, Value, str]  # the position of the table in TABLES after FILE, the last key column, and the day


class Continuation(NamedTuple):
    """Says of facts that they have only some rows of a file: all others are those of the facts that were built before."""

    seq: int
    """The number of the last line of the facts before."""
    replaced: frozenset[RowKey]
    """The rows of the facts before that are built again, or do not exist any more."""
    build_all: Callable[[], FileFacts]
    """Returns all rows, for a sink that does not have the facts before."""


class FileFacts(NamedTuple):
    """The rows of one file, by table. `seq` is the number of the last line that they were built from."""

    host: str
    file: int
    seq: int
    rows: dict[str, list[tuple[Value, ...]]]
    damaged: tuple[int, ...] = ()
    """The numbers of lines that are damaged in the archive, and left out."""
    continues: Continuation | None = None
    """What is missing in `rows`; None if they are all rows."""
