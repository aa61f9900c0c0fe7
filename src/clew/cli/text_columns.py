"""Print tables with columns as wide as their longest cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from clew.cli.output import is_terminal, one_line
from clew.system.environment import terminal_columns
from clew.system.table_layout import column_widths, join_cells
from clew.system.terminal_style import HEADING, stdout_style
from clew.view.sanitize import columns as cell_width

Column = tuple[str, Callable[[Mapping[str, Any]], str]]
_LOOKS = {  # of the cells of a column, by its heading
    **dict.fromkeys(("ID", "SESSION", "PID"), "link"),
    **dict.fromkeys(
        ("WHEN", "SINCE", "SIZE", "BRANCH", "TERMINAL", "FOLDER", "TIME", "TOOK", "FILES", "FREES"), "quiet"
    ),
}
_STATES = {"waiting": "bold warn", "busy": "good", "running": "good", "shell": "good"}


def print_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column]) -> int:
    """Print a heading and one line per row, and return the number of rows; nothing if there are none.

    A column is its heading and a function that reads the cell of a row. The last one is cut at the edge of the terminal.
    """
    heads = [head for head, _ in columns]
    cells: list[tuple[list[str], bool]] = []  # of a row, which is not kept: its values take several times the memory
    widths = list(map(cell_width, heads))
    for row in rows:
        line = [one_line(read(row)) for _, read in columns]
        widths = list(map(max, widths, map(cell_width, line)))
        cells.append((line, bool(row.get("kept"))))
    if not cells:
        return 0
    width = terminal_columns(100) if is_terminal() else 0
    before = sum(w + 2 for w in widths[:-1])
    room = max(20, width - before) if width else 0
    style = stdout_style()
    for line, looks in chain([(heads, [HEADING] * len(heads))], ((c, _looks(heads, c, k)) for c, k in cells)):
        line[-1] = one_line(line[-1], room)
        painted = list(map(style, line, looks))
        print(join_cells(line, [*widths[:-1], 0], measure=cell_width, painted=painted))
    return len(cells)


def _looks(heads: Sequence[str], cells: Sequence[str], is_quiet: bool) -> list[str]:
    """Return the look of each cell of a row. A session that is not on the disk is quiet."""
    return [
        _STATES.get(cell.partition(":")[0], "quiet")
        if head == "STATUS"
        else "quiet"
        if is_quiet
        else _LOOKS.get(head, "")
        for head, cell in zip(heads, cells, strict=True)
    ]


def print_folded(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> None:
    """Print a table that is never wider than the terminal, or 80 columns if there is none.

    Columns that do not fit continue in a further block below, which repeats the first column. A cell that is wider
    than the terminal continues on the next line, at a comma.
    """
    width = max(40, terminal_columns(80))
    cells = [[one_line(head) for head, _ in columns], *([one_line(read(row)) for _, read in columns] for row in rows)]
    widths = column_widths(cells, cell_width)
    room = width - widths[0] - 2
    for number, block in enumerate(_blocks(widths, room)):
        if number:
            print()
        for line in cells:
            look = HEADING if line is cells[0] else ""
            _print_wrapped(line[0], [line[i] for i in block], [min(widths[i], room) for i in block], widths[0], look)


def _blocks(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Yield the indexes of the columns after the first, as many per block as fit."""
    block: list[int] = []
    used = 0
    for index, width in enumerate(widths[1:], 1):
        if block and used + width > room:
            yield block
            block, used = [], 0
        block.append(index)
        used += width + 2
    yield block


def _print_wrapped(first: str, cells: Sequence[str], widths: Sequence[int], indent: int, look: str) -> None:
    style = stdout_style()
    folded = [list(_wrap(cell, room)) for cell, room in zip(cells, widths, strict=True)]
    for at in range(max(map(len, folded), default=1)):
        line = [first if at == 0 else "", *(part[at] if at < len(part) else "" for part in folded)]
        print(style(join_cells(line, [indent, *widths], measure=cell_width).rstrip(), look))


def _wrap(cell: str, room: int) -> Iterator[str]:
    """Yield the lines of a cell, divided at commas."""
    if cell_width(cell) <= room:
        yield cell
        return
    line = ""
    for part in cell.split(", "):
        joined = f"{line}, {part}" if line else part
        if line and cell_width(joined) >= room:
            yield f"{line},"
            joined = part
        line = one_line(joined, room)
    yield line
