"""Labels of rows that all printers share; none of them comes from a transcript."""

from __future__ import annotations

from clew.view.row_types import CallRow, CompactionRow, PromptRow, TodoRow
from clew.view.sanitize import format_duration, format_tokens

_SIGNS = {"completed": "☒", "in_progress": "◐", "pending": "☐"}


def todo_sign(row: TodoRow) -> str:
    """Return the check box of a todo."""
    return _SIGNS.get(row.status, "☐")


def duration_label(row: CallRow) -> str:
    """Return the duration of a call; "" if it is less than a second."""
    return format_duration(row.seconds) if row.seconds and row.seconds >= 1 else ""


def compaction_label(row: CompactionRow) -> str:
    """Return the number of tokens before and after a compaction."""
    label = f", {format_tokens(row.before)} tokens before" if row.before is not None else ""
    return label + (f", {format_tokens(row.after)} after" if row.after is not None else "")


def totals_labels(row: PromptRow) -> list[str]:
    """Return the totals of a turn: its duration, the output tokens, and the size of the context."""
    if row.totals is None:
        return []
    seconds, output, context = row.totals
    labels = [format_duration(seconds)] if seconds and seconds >= 1 else []
    labels += [f"{format_tokens(output)} output tokens"] if output else []
    labels += [f"{format_tokens(context)} in context"] if context else []
    return labels
