"""Which rows a call or an agent contains, and which rows closed folds hide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.view.nesting import contains
from clew.view.row_types import AgentRow, CallRow, PromptRow, Row

FOLDS = (CallRow, AgentRow)


def fold_end(rows: Sequence[Row], index: int) -> int:
    """Return the index after the last row that a call or an agent contains; `index + 1` for other rows."""
    row, stop = rows[index], index + 1
    if isinstance(row, FOLDS):
        while stop < len(rows) and contains(row, rows[stop]):
            stop += 1
    return stop


def visible_rows(rows: Sequence[Row], is_open: Callable[[int], bool], first: int = 0) -> list[int]:
    """Return the indices of the rows that no closed fold hides, starting at a row outside every fold."""
    visible: list[int] = []
    at = first
    while at < len(rows):
        visible.append(at)
        is_fold = isinstance(rows[at], FOLDS)
        at = fold_end(rows, at) if is_fold and not is_open(at) else at + 1
    return visible


def enclosing_folds(rows: Sequence[Row], index: int) -> list[int]:
    """Return the folds that contain a row, outermost first."""
    folds: list[int] = []
    limit = index
    for at in range(index - 1, -1, -1):
        row = rows[at]
        if isinstance(row, PromptRow) and row.depth == 0:
            break
        if isinstance(row, FOLDS) and fold_end(rows, at) > limit:
            folds.append(at)
    return folds[::-1]
