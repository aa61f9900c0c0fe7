"""Tables for people: columns as wide as their longest cell; the last one takes what is left of the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clew.cli.output import is_terminal, one_line
from clew.view.plain import columns as cell_width

Column = tuple[str, Callable[[Mapping[str, Any]], str]]


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> None:
    """Print a heading and a line for each row. A column is its heading and a function that reads the cell of a row."""
    cells = [[one_line(read(row)) for _, read in columns] for row in rows]
    widths = [max(len(head), *(cell_width(line[i]) for line in cells)) for i, (head, _) in enumerate(columns)]
    width = shutil.get_terminal_size((100, 24)).columns if is_terminal() else 0
    before = sum(w + 2 for w in widths[:-1])
    room = max(20, width - before) if width else 0
    for line in ([head for head, _ in columns], *cells):
        start = "".join(cell + " " * (w + 2 - cell_width(cell)) for cell, w in zip(line[:-1], widths, strict=False))
        print(start + one_line(line[-1], room))
