"""Determine which rows contain the following rows, so that printers can open and close elements.

A turn contains everything up to the next prompt, a call its input and output, an agent its conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from clew.view.rows import Row

CALL_CONTENT = frozenset({"input", "todo", "plan", "diff", "result", "failure", "picture"})
EXPANDED_TOOLS = frozenset(
    {"Edit", "Write", "MultiEdit", "NotebookEdit", "TodoWrite", "ExitPlanMode", "Task", "Agent", "Workflow"}
)
_END = Row("end", depth=-1)


class NestingStep(NamedTuple):
    """A row, the containers that end before it (innermost first), and whether it contains the following rows."""

    row: Row
    ended: tuple[Row, ...]
    opens: bool


def nest_rows(rows: Iterable[Row]) -> Iterator[NestingStep]:
    """Yield a step for each row. The last one is of the kind `end` and closes all open containers."""
    opened: list[Row] = []
    for row, following in pairwise(chain(rows, (_END, _END))):
        ended: list[Row] = []
        while opened and (row.kind == "end" or not contains(opened[-1], row)):
            ended.append(opened.pop())
        opens = row.kind == "agent" or (row.kind in ("prompt", "call") and contains(row, following))
        if opens:
            opened.append(row)
        yield NestingStep(row, tuple(ended), opens)
        if row.kind == "end":
            return


def contains(holder: Row, row: Row) -> bool:
    if holder.kind == "prompt":
        return row.kind != "end" and (row.kind != "prompt" or row.depth > 0)
    if row.depth != holder.depth:
        return row.depth > holder.depth
    return row.kind in CALL_CONTENT if holder.kind == "call" else row.kind not in ("agent", "prompt")


def is_expanded(call: Row) -> bool:
    """Return whether a call is expanded by default: edits, todos, plans, agents, and failures."""
    return bool(call.facts.get("failed")) or call.facts.get("tool") in EXPANDED_TOOLS
