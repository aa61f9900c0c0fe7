"""The sessions that the list, the search and the palette show, with the marks of the user."""

from __future__ import annotations

import asyncio
import time

from clew.browse.filtered_sessions import ListRow, SessionMarks, list_sessions
from clew.browse.summary_thread import SummarySnapshot
from clew.web.app_state import AppState
from clew.web.user_marks import read_marks

FRESH_SECONDS = 0.1  # to wait for changes before an answer
TYPING_AGE = 3.0  # seconds for which a look at the files is good enough while the user types


class SessionRows:
    """All sessions, newest first. Those of one state of the folder are listed once."""

    def __init__(self, state: AppState) -> None:
        self._state = state
        self.snapshot = SummarySnapshot()
        self._rows: list[ListRow] = []
        self._listed = -1e9  # when they were listed
        self._by_id: dict[str, ListRow] = {}

    async def listed(self, max_age: float = 0.0) -> list[ListRow]:
        """Return all sessions; what changed until `max_age` seconds ago is included, unless that takes too long.

        While processes read summaries, these arrive all the time; a list that is new enough is not made again for them.
        """
        started = time.monotonic()
        if started - self._listed < max_age:
            return self._rows
        summaries = self._state.summaries
        patience = 0.0 if summaries.is_in_process else FRESH_SECONDS
        snapshot = await asyncio.to_thread(summaries.current, patience, max_age)
        if snapshot is not self.snapshot:
            rows = await asyncio.to_thread(list_sessions, snapshot, self._rows)
            self.snapshot, self._rows, self._by_id = snapshot, rows, {row.session: row for row in rows}
        self._listed = started
        return self._rows

    def find(self, session: str) -> ListRow | None:
        """Return a session as of the last listing."""
        return self._by_id.get(session)

    def marks(self) -> SessionMarks:
        marks = read_marks(self._state.preferences)
        return SessionMarks(frozenset(marks.pins), marks.tags)
