"""Folding: which rows belong to a call or an agent, and which are seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.view.rows import Row

INSIDE = frozenset({"todo", "plan", "diff", "result", "failure"})


def end(rows: Sequence[Row], index: int) -> int:
    """Where what belongs to a call or an agent ends; a row that holds nothing ends behind itself."""
    row, at = rows[index], index + 1
    if row.kind == "call":
        while at < len(rows) and (
            rows[at].depth > row.depth or (rows[at].depth == row.depth and rows[at].kind in INSIDE)
        ):
            at += 1
    elif row.kind == "agent":
        while at < len(rows) and (
            rows[at].depth > row.depth or (rows[at].depth == row.depth and rows[at].kind != "agent")
        ):
            at += 1
    return at


def seen(rows: Sequence[Row], is_open: Callable[[int], bool], first: int = 0) -> list[int]:
    """The indices of the rows that no fold hides, from one that is in no fold on."""
    found: list[int] = []
    at = first
    while at < len(rows):
        found.append(at)
        is_fold = rows[at].kind in ("call", "agent")
        at = end(rows, at) if is_fold and not is_open(at) else at + 1
    return found


def around(rows: Sequence[Row], index: int) -> list[int]:
    """The folds that a row lies in, from the outside."""
    found: list[int] = []
    limit = index
    for at in range(index - 1, -1, -1):
        row = rows[at]
        if row.kind == "prompt" and row.depth == 0:
            break
        if row.kind in ("call", "agent") and end(rows, at) > limit:
            found.append(at)
    return found[::-1]
