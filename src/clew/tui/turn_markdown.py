"""Render the rows of a turn as Markdown, to copy them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from clew.view.row_types import (
    AboutRow,
    AgentRow,
    CallRow,
    CompactionRow,
    DiffRow,
    DoneRow,
    ErrorRow,
    FailureRow,
    InputRow,
    InterruptRow,
    MetaRow,
    NoteRow,
    PictureRow,
    PlanRow,
    PromptRow,
    QueuedRow,
    ReplyRow,
    ResultRow,
    Row,
    SummaryRow,
    TableRow,
    ThinkingRow,
    TitleRow,
    TodoRow,
    WarningRow,
)
from clew.view.sanitize import clean


def turn_markdown(rows: Sequence[Row]) -> str:
    """Render a turn as Markdown."""
    return "\n\n".join(part for row in rows if (part := _row_markdown(row))) + "\n"


def _row_markdown(row: Row) -> str:
    text = clean(row.text).strip()
    fence = "````" if "```" in text else "```"
    match row:
        case PromptRow():
            return "\n".join(f"> {line}" for line in text.split("\n"))
        case ResultRow() | FailureRow():
            return f"{fence}\n{text}\n{fence}"
        case DiffRow():
            return f"{fence}diff\n{text}\n{fence}"
        case CallRow():
            return f"- `{text.splitlines()[0] if text else ''}`"
        case TableRow():
            return clean("\n".join(row.lines)).strip()
        case ReplyRow() | PlanRow() | ThinkingRow() | SummaryRow() | QueuedRow() | AgentRow() | InputRow() | TodoRow():
            return text
        case PictureRow() | CompactionRow() | InterruptRow() | NoteRow() | MetaRow() | DoneRow():
            return text
        case ErrorRow() | WarningRow() | TitleRow() | AboutRow():
            return text
        case _:
            assert_never(row)
