"""Truncate long texts to their first lines, and count the lines left out."""

from __future__ import annotations

from typing import NamedTuple

MAX_LINE = 2000  # characters; minified code has lines of megabytes


class Truncated(NamedTuple):
    text: str
    more: int


def truncate(text: str, lines: int | None, beyond: int = 0) -> Truncated:
    """Return at most `lines` lines of limited length, or all for None; `beyond` lines follow outside the text."""
    text = text.strip("\n")
    if lines is None:
        return Truncated(text, beyond)
    first_lines = text.split("\n", lines)
    more = first_lines.pop().count("\n") + 1 if len(first_lines) > lines else 0
    return Truncated(
        "\n".join([line if len(line) <= MAX_LINE else line[:MAX_LINE] + "…" for line in first_lines]), more + beyond
    )
