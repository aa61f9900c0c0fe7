"""Which columns of the facts are contents: what people and models wrote, and names of files and folders.

They are left out of facts that are sent without contents, and readers of numbers cannot read them.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.collect.sql.fact_tables import TABLES, FactTable, FileFacts, Value

CONTENT_COLUMNS = frozenset(
    ("prompt", "text", "error", "title", "slug", "subject", "changed_file", "folder", "message")
)


def number_columns(table: FactTable) -> list[str]:
    """Return the columns of a table that are not contents."""
    return [name for name in table.columns if name not in CONTENT_COLUMNS]


def facts_without_contents(facts: FileFacts) -> FileFacts:
    """Return the facts of a file with empty contents."""
    rows = {table.name: [_blank(table, row) for row in facts.rows[table.name]] for table in TABLES}
    if not (continued := facts.continues):
        return facts._replace(rows=rows)
    build_all = continued.build_all
    continued = continued._replace(build_all=lambda: facts_without_contents(build_all()))
    return facts._replace(rows=rows, continues=continued)


def _blank(table: FactTable, row: Sequence[Value]) -> tuple[Value, ...]:
    return tuple("" if name in CONTENT_COLUMNS else value for name, value in zip(table.columns, row, strict=True))
