"""Labels of rows that all printers share; none of them comes from a transcript."""

from __future__ import annotations

from clew.view.rows import Row
from clew.view.sanitize import format_duration, format_tokens

_SIGNS = {"completed": "☒", "in_progress": "◐", "pending": "☐"}


def todo_sign(row: Row) -> str:
    """Return the check box of a todo."""
    return _SIGNS.get(str(row.facts.get("status")), "☐")


def duration_label(row: Row) -> str:
    """Return the duration of a call; "" if it is less than a second."""
    seconds = row.facts.get("seconds")
    return format_duration(seconds) if seconds and seconds >= 1 else ""


def compaction_label(row: Row) -> str:
    """Return the number of tokens before and after a compaction."""
    before, after = row.facts.get("before"), row.facts.get("after")
    label = f", {format_tokens(before)} tokens before" if isinstance(before, int) else ""
    return label + (f", {format_tokens(after)} after" if isinstance(after, int) else "")
