"""Render the rows of a turn as Markdown, to copy them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from clew.view import row_types
from clew.view.row_types import Row
from clew.view.sanitize import clean


def turn_markdown(rows: Sequence[Row]) -> str:
    """Render a turn as Markdown."""
    return "\n\n".join(part for row in rows if (part := _row_markdown(row))) + "\n"


def _row_markdown(row: Row) -> str:
    text = clean(row.text).strip()
    fence = "````" if "```" in text else "```"
    match row:
        case row_types.PromptRow():
            return "\n".join(f"> {line}" for line in text.split("\n"))
        case row_types.ResultRow() | row_types.FailureRow():
            return f"{fence}\n{text}\n{fence}"
        case row_types.DiffRow():
            return f"{fence}diff\n{text}\n{fence}"
        case row_types.CallRow():
            return f"- `{text.splitlines()[0] if text else ''}`"
        case row_types.TableRow():
            return clean("\n".join(row.lines)).strip()
        case (
            row_types.ReplyRow()
            | row_types.PlanRow()
            | row_types.ThinkingRow()
            | row_types.SummaryRow()
            | row_types.QueuedRow()
            | row_types.AgentRow()
            | row_types.InputRow()
            | row_types.TodoRow()
            | row_types.PictureRow()
            | row_types.CompactionRow()
            | row_types.InterruptRow()
            | row_types.NoteRow()
            | row_types.MetaRow()
            | row_types.DoneRow()
            | row_types.ErrorRow()
            | row_types.WarningRow()
            | row_types.TitleRow()
            | row_types.AboutRow()
        ):
            return text
        case _:
            assert_never(row)
