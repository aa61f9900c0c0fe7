"""The terminal that is drawn on: what belongs together reaches it in one piece, so that nothing flickers."""

from __future__ import annotations

import os
import sys

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.layout.screen import Screen
from prompt_toolkit.output.vt100 import Vt100_Output

from clew.system.environment import rewraps_lines

BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"  # of an update that a terminal shows at once, if it knows how
_ROWS, _COLUMNS = 24, 80


class Terminal(Vt100_Output):
    """Standard output; while it is held, nothing is sent."""

    def __init__(self, term: str) -> None:
        super().__init__(sys.stdout, _size, term=term, enable_cpr=False)
        self._is_held = False

    def hold(self) -> None:
        if not self._is_held:
            super().flush()
            self._is_held = True
            self.write_raw(BEGIN)

    def release(self) -> None:
        if self._is_held:
            self._is_held = False
            self.write_raw(END)
            super().flush()

    def flush(self) -> None:
        if not self._is_held:
            super().flush()

    def fileno(self) -> int:
        return sys.stdout.fileno()


def _size() -> Size:
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return Size(rows=_ROWS, columns=_COLUMNS)
    return Size(rows=size.lines or _ROWS, columns=size.columns or _COLUMNS)


class Resized(Application[int]):
    """An application that finds its first line again when a terminal became narrower and broke its lines anew."""

    def _on_resize(self) -> None:
        drawn = self.renderer.last_rendered_screen
        if drawn is not None and rewraps_lines():
            self.output.cursor_up(broken(drawn, self.layout.current_window, self.output.get_size().columns))
        super()._on_resize()


def broken(drawn: Screen, window: object, columns: int) -> int:
    """How many lines more there are above the cursor, once each is broken at so many columns."""
    cursor = next((at for held, at in drawn.cursor_positions.items() if held is window), None)
    if cursor is None:
        return 0
    widths = (
        max((x + 1 for x, cell in drawn.data_buffer[y].items() if cell.char != " "), default=0) for y in range(cursor.y)
    )
    return sum(max(0, -(-width // columns) - 1) for width in widths) + cursor.x // columns
