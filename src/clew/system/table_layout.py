"""Lay out tables of text: the only code that pads cells to the width of their column."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def column_widths(rows: Sequence[Sequence[str]], measure: Callable[[str], int] = len) -> list[int]:
    """Return the width of the widest cell of each column; `measure` returns the columns that a text occupies."""
    return [max(map(measure, column)) for column in zip(*rows, strict=True)]


def join_cells(
    cells: Sequence[str],
    widths: Sequence[int],
    right: Sequence[bool] = (),
    measure: Callable[[str], int] = len,
    painted: Sequence[str] = (),
) -> str:
    """Join the cells of one row, padded to the widths of their columns; numbers can be aligned to the right.

    `join_cells(["ls", "7"], [4, 3], [False, True])` is `"ls      7"`. `painted` are the same cells with colours.
    """
    padded = []
    for cell, width, is_right, shown in zip(
        cells, widths, right or [False] * len(cells), painted or cells, strict=True
    ):
        room = " " * (width - measure(cell))
        padded.append(room + shown if is_right else shown + room)
    return "  ".join(padded)


def table_lines(
    rows: Sequence[Sequence[str]], right: Sequence[bool] = (), measure: Callable[[str], int] = len
) -> Iterator[str]:
    """Yield a line for each row, with columns as wide as their widest cell."""
    widths = column_widths(rows, measure)
    for row in rows:
        yield join_cells(row, widths, right, measure).rstrip()
