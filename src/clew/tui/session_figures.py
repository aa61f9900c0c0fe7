"""Count the turns and the cost of sessions in a thread, for the rows on the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from textual.message import Message

from clew.conversation.session import Session
from clew.errors import READ_ERRORS
from clew.report.session_cost import cost
from clew.wire.layout import session_at

MAX_FILE = 64 << 20  # bytes; counting a larger session would slow down typing


class SessionFigures(NamedTuple):
    """The turns of a session, and its cost with its agents, such as "$2.23"; empty if no model has a price."""

    turns: int
    cost: str


class FiguresCounted(Message):
    """The figures of a session were counted."""

    def __init__(self, path: str, figures: SessionFigures) -> None:
        super().__init__()
        self.path, self.figures = path, figures


class FigureCounter:
    """Counts sessions one by one, and posts a message for each. A new request replaces those that wait."""

    def __init__(self, post: Callable[[Message], object]) -> None:
        self._post = post
        self._paths: list[str] = []
        self._counted: dict[str, tuple[int, int]] = {}  # size and time of the files that were counted
        self._changed = threading.Condition()
        self._is_stopped = False
        self._thread: threading.Thread | None = None

    def request(self, paths: Sequence[str]) -> None:
        """Count these sessions, unless they are counted and unchanged."""
        with self._changed:
            self._paths = list(paths)
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._count_requested, daemon=True, name="clew-figures")
            self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _count_requested(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._paths or self._is_stopped)
                if self._is_stopped:
                    return
                path = self._paths.pop(0)
            if (figures := self._count(path)) and not self._is_stopped:
                self._post(FiguresCounted(path, figures))

    def _count(self, path: str) -> SessionFigures | None:
        try:
            stat = Path(path).stat()
            state = (stat.st_size, stat.st_mtime_ns)
            if stat.st_size > MAX_FILE or self._counted.get(path) == state:
                return None
            figures = count_figures(path)
        except READ_ERRORS:  # deleted in the meantime, or damaged: the row stays without figures
            return None
        self._counted[path] = state
        return figures


def count_figures(path: str) -> SessionFigures:
    file = session_at(path)
    session = Session(file.path, file=file)
    amount = cost(session)
    return SessionFigures(
        sum(turn.number > 0 for turn in session.turns), str(amount) if amount.micros or not amount.unpriced else ""
    )
