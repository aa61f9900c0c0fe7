"""Nesting: which rows hold the rows that follow them, so that a printer can open and close as they come.

A turn holds all up to the next prompt, a call what it was given and gave back, an agent its own conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from clew.view.rows import Row

INSIDE = frozenset({"input", "todo", "plan", "diff", "result", "failure", "picture"})
SHOWN = frozenset(
    {"Edit", "Write", "MultiEdit", "NotebookEdit", "TodoWrite", "ExitPlanMode", "Task", "Agent", "Workflow"}
)
_END = Row("end", depth=-1)


class NestingStep(NamedTuple):
    """A row, the holders that end before it (the innermost first), and whether it holds what follows."""

    row: Row
    ended: tuple[Row, ...]
    opens: bool


def nested(rows: Iterable[Row]) -> Iterator[NestingStep]:
    """Each row as a step. The last one is of the kind `end`, and ends whatever is open."""
    opened: list[Row] = []
    for row, following in pairwise(chain(rows, (_END, _END))):
        ended: list[Row] = []
        while opened and (row.kind == "end" or not holds(opened[-1], row)):
            ended.append(opened.pop())
        opens = row.kind == "agent" or (row.kind in ("prompt", "call") and holds(row, following))
        if opens:
            opened.append(row)
        yield NestingStep(row, tuple(ended), opens)
        if row.kind == "end":
            return


def holds(holder: Row, row: Row) -> bool:
    if holder.kind == "prompt":
        return row.kind != "end" and (row.kind != "prompt" or row.depth > 0)
    if row.depth != holder.depth:
        return row.depth > holder.depth
    return row.kind in INSIDE if holder.kind == "call" else row.kind not in ("agent", "prompt")


def is_shown(call: Row) -> bool:
    """Whether what a call holds is for everybody to see: edits, todos, plans, agents, and what went wrong."""
    return bool(call.facts.get("failed")) or call.facts.get("tool") in SHOWN
