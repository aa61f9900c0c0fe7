"""The terminal that is drawn on: what belongs together reaches it in one piece, so that nothing flickers."""

from __future__ import annotations

import os
import sys

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

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
