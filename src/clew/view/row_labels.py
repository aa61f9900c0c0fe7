"""What the facts of a row tell, in the words that all printers use; none of it comes out of a transcript."""

from __future__ import annotations

from clew.view.rows import Row
from clew.view.sanitize import duration, tokens

_SIGNS = {"completed": "☒", "in_progress": "◐", "pending": "☐"}


def sign(row: Row) -> str:
    """How far a todo is."""
    return _SIGNS.get(str(row.facts.get("status")), "☐")


def took(row: Row) -> str:
    """How long a call took; nothing if that was less than a second."""
    seconds = row.facts.get("seconds")
    return duration(seconds) if seconds and seconds >= 1 else ""


def shrunk(row: Row) -> str:
    """How many tokens a compaction began with, and how many it left."""
    before, after = row.facts.get("before"), row.facts.get("after")
    said = f", {tokens(before)} tokens before" if isinstance(before, int) else ""
    return said + (f", {tokens(after)} after" if isinstance(after, int) else "")
