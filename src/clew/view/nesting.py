"""Determine which rows contain the following rows, so that printers can open and close elements.

A turn contains everything up to the next prompt, a call its input and output, an agent its conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from clew.view.row_types import (
    AgentRow,
    CallRow,
    DiffRow,
    DoneRow,
    FailureRow,
    InputRow,
    PictureRow,
    PlanRow,
    PromptRow,
    ResultRow,
    Row,
    TodoRow,
)

CALL_CONTENT = (ResultRow, FailureRow, DiffRow, InputRow, TodoRow, PlanRow, PictureRow, DoneRow)
EXPANDED_TOOLS = frozenset(
    {"Edit", "Write", "MultiEdit", "NotebookEdit", "TodoWrite", "ExitPlanMode", "Task", "Agent", "Workflow"}
)
Container = PromptRow | CallRow | AgentRow
_CONTAINERS = (PromptRow, CallRow, AgentRow)
_OUTER_ROWS = (AgentRow, PromptRow)  # which no agent contains


class NestingStep(NamedTuple):
    """A row, the containers that end before it (innermost first), and whether it contains the following rows.

    The row is None in the last step, which closes all open containers.
    """

    row: Row | None
    ended: tuple[Container, ...]
    opens: bool


def nest_rows(rows: Iterable[Row]) -> Iterator[NestingStep]:
    """Yield a step for each row, and one after the last."""
    # Example: prompt, call, result, reply. The call opens because the result is inside it, and ends before the reply;
    # the prompt ends after the last row.
    opened: list[Container] = []
    for row, following in pairwise(chain(rows, (None, None))):
        ended: list[Container] = []
        while opened and not contains(opened[-1], row):
            ended.append(opened.pop())
        opens = False
        if isinstance(row, _CONTAINERS):
            opens = isinstance(row, AgentRow) or contains(row, following)
            if opens:
                opened.append(row)
        yield NestingStep(row, tuple(ended), opens)


def contains(holder: Container, row: Row | None) -> bool:
    """Return whether a row that follows a container is inside it."""
    if row is None:
        return False
    if isinstance(holder, PromptRow):
        return row.depth > 0 or not isinstance(row, PromptRow)
    if row.depth != holder.depth:
        return row.depth > holder.depth
    return isinstance(row, CALL_CONTENT) if isinstance(holder, CallRow) else not isinstance(row, _OUTER_ROWS)


def is_expanded(call: CallRow) -> bool:
    """Return whether a call is expanded by default: edits, todos, plans, agents, and failures."""
    return call.failed or call.tool in EXPANDED_TOOLS
