"""Budgets: the first lines of a long text, with a count of what was left out."""

from __future__ import annotations

from typing import NamedTuple

WIDEST = 2000  # characters of one line; minified code has lines of megabytes


class Truncated(NamedTuple):
    text: str
    more: int


def cut(text: str, lines: int | None, beyond: int = 0) -> Truncated:
    """At most `lines` lines of limited length, or all for None; `beyond` is how many lines follow the text elsewhere."""
    text = text.strip("\n")
    if lines is None:
        return Truncated(text, beyond)
    found = text.split("\n", lines)
    more = found.pop().count("\n") + 1 if len(found) > lines else 0
    return Truncated("\n".join([line if len(line) <= WIDEST else line[:WIDEST] + "…" for line in found]), more + beyond)
