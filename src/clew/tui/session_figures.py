"""Count the turns and the cost of sessions in a thread, for the rows on the screen.

They are taken from the stored summaries of the sessions. One that has changed is summarized again, at the cost of what was
added to it (`report.summary_store`). The store is opened, used and closed in the thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from textual.message import Message

from clew.browse.search_thread import SearchLocation
from clew.report.session_cost import Cost
from clew.report.session_summary import SessionSummary
from clew.report.summary_store import SummaryStore, session_states
from clew.system.environment import cache_home, claude_home
from clew.wire.tree_walk import TranscriptFile, list_project

MAX_EFFORT = 64 << 20  # bytes to be read; counting more would slow down typing


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

    def __init__(self, location: SearchLocation, post: Callable[[Message], object]) -> None:
        self._location, self._post = location, post
        self._paths: list[str] = []
        self._counted: dict[str, str] = {}  # states of the sessions that were counted, by path; only the thread uses it
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
        if self._thread is not None:
            self._thread.join(0.3)

    def _count_requested(self) -> None:
        store = SummaryStore(claude_home(self._location.claude), self._location.cache or cache_home())
        try:
            while paths := self._take():
                self._count_all(store, paths)
        finally:
            store.close()

    def _take(self) -> list[str]:
        """Wait for a request, and return its paths; none if the counter was stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._paths or self._is_stopped)
            paths, self._paths = self._paths, []
            return [] if self._is_stopped else paths

    def _count_all(self, store: SummaryStore, paths: Sequence[str]) -> None:
        """Count sessions until all are counted, or others are requested."""
        folders: dict[str, _Folder] = {}
        for path in paths:
            if self._paths or self._is_stopped:
                return
            place = Path(path).absolute()
            folder = str(place.parent)
            if folder not in folders:
                folders[folder] = _Folder(folder)
            figures = self._count(store, folders[folder], str(place))
            if figures and not self._is_stopped:
                self._post(FiguresCounted(path, figures))

    def _count(self, store: SummaryStore, folder: _Folder, path: str) -> SessionFigures | None:
        state = folder.states.get(path)
        if state is None or self._counted.get(path) == state:
            return None
        file = folder.files[path]
        if store.effort([file]) > MAX_EFFORT:
            return None
        summary = store.summarize(file, list(folder.files.values()), state)
        if summary is None:  # deleted in the meantime, or damaged: the row stays without figures
            return None
        self._counted[path] = state
        return make_figures(summary)


class _Folder:
    """The transcripts of a project and the states of its sessions, by path."""

    def __init__(self, path: str) -> None:
        self.files: dict[str, TranscriptFile] = {file.path: file for file in list_project(path)}
        self.states = session_states(list(self.files.values()))


def make_figures(summary: SessionSummary) -> SessionFigures:
    cost = Cost(summary.cost_micros, summary.unpriced)
    return SessionFigures(summary.turns, str(cost) if cost.micros or not cost.unpriced else "")
