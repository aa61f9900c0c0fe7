"""Which rows a call or an agent contains, and which rows closed folds hide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.view.rows import Row

INSIDE = frozenset({"todo", "plan", "diff", "result", "failure"})


def fold_end(rows: Sequence[Row], index: int) -> int:
    """Return the index after the last row that a call or an agent contains; `index + 1` for other rows."""
    row, stop = rows[index], index + 1
    if row.kind == "call":
        while stop < len(rows) and (
            rows[stop].depth > row.depth or (rows[stop].depth == row.depth and rows[stop].kind in INSIDE)
        ):
            stop += 1
    elif row.kind == "agent":
        while stop < len(rows) and (
            rows[stop].depth > row.depth or (rows[stop].depth == row.depth and rows[stop].kind != "agent")
        ):
            stop += 1
    return stop


def visible_rows(rows: Sequence[Row], is_open: Callable[[int], bool], first: int = 0) -> list[int]:
    """Return the indices of the rows that no closed fold hides, starting at a row outside every fold."""
    visible: list[int] = []
    at = first
    while at < len(rows):
        visible.append(at)
        is_fold = rows[at].kind in ("call", "agent")
        at = fold_end(rows, at) if is_fold and not is_open(at) else at + 1
    return visible


def enclosing_folds(rows: Sequence[Row], index: int) -> list[int]:
    """Return the folds that contain a row, outermost first."""
    folds: list[int] = []
    limit = index
    for at in range(index - 1, -1, -1):
        row = rows[at]
        if row.kind == "prompt" and row.depth == 0:
            break
        if row.kind in ("call", "agent") and fold_end(rows, at) > limit:
            folds.append(at)
    return folds[::-1]
