"""Write to the terminal in synchronized updates, so that nothing flickers, and keep the screen in place on a resize."""

from __future__ import annotations

import os
import sys

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.layout.screen import Screen
from prompt_toolkit.output.vt100 import Vt100_Output

from clew.system.environment import rewraps_lines

BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"  # around an update that the terminal shows as one, if it supports that
_ROWS, _COLUMNS = 24, 80


class SynchronizedOutput(Vt100_Output):
    """Standard output that buffers everything between the begin and the end of an update."""

    def __init__(self, term: str) -> None:
        super().__init__(sys.stdout, _size, term=term, enable_cpr=False)
        self._is_updating = False

    def begin_update(self) -> None:
        if not self._is_updating:
            super().flush()
            self._is_updating = True
            self.write_raw(BEGIN)

    def end_update(self) -> None:
        if self._is_updating:
            self._is_updating = False
            self.write_raw(END)
            super().flush()

    def flush(self) -> None:
        if not self._is_updating:
            super().flush()

    def fileno(self) -> int:
        return sys.stdout.fileno()


def _size() -> Size:
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return Size(rows=_ROWS, columns=_COLUMNS)
    return Size(rows=size.lines or _ROWS, columns=size.columns or _COLUMNS)


class ReflowingApplication(Application[int]):
    """An application that finds its first line again after a narrower terminal has wrapped its lines."""

    def _on_resize(self) -> None:
        drawn = self.renderer.last_rendered_screen
        if drawn is not None and rewraps_lines():
            self.output.cursor_up(
                extra_wrapped_lines(drawn, self.layout.current_window, self.output.get_size().columns)
            )
        super()._on_resize()


def extra_wrapped_lines(drawn: Screen, window: object, columns: int) -> int:
    """Return how many more lines are above the cursor after wrapping each of them at `columns`."""
    cursor = next((position for key, position in drawn.cursor_positions.items() if key is window), None)
    if cursor is None:
        return 0
    widths = (
        max((x + 1 for x, cell in drawn.data_buffer[y].items() if cell.char != " "), default=0) for y in range(cursor.y)
    )
    return sum(max(0, -(-width // columns) - 1) for width in widths) + cursor.x // columns
