"""Watch the sessions that readers follow, and report their changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from clew.errors import NotFound
from clew.web.session_cache import SessionCache, file_state

INTERVAL = 0.5  # seconds between two checks of a file
MAX_FOLLOWERS = 64  # pages that may follow sessions at the same time
KEEP_ALIVE = 15.0  # seconds after which a silent connection gets a keep-alive


class SessionWatch:
    """The state of one session, shared by all readers that follow it."""

    def __init__(self) -> None:
        self.state = ""
        self.listeners = 0
        self.changed = asyncio.Condition()
        self.task: asyncio.Task[None] | None = None


class LiveUpdates:
    """One watch for each followed session. All end when `is_ending` says that the server stops."""

    def __init__(self, sessions: SessionCache, is_ending: Callable[[], bool]) -> None:
        self._sessions, self._is_ending = sessions, is_ending
        self._watches: dict[str, SessionWatch] = {}

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of followers is reached."""
        return sum(watch.listeners for watch in self._watches.values()) >= MAX_FOLLOWERS

    async def states(self, session: str) -> AsyncIterator[str]:
        """Yield the state of a session now and after each change, and "" as a keep-alive. Raises NotFound."""
        if self.is_full:
            return
        watch = self._watches.setdefault(session, SessionWatch())
        watch.listeners += 1
        try:
            if watch.task is None:
                watch.state = file_state(await asyncio.to_thread(self._sessions.find, session))
                watch.task = watch.task or asyncio.create_task(self._poll(session, watch))
            last_state = ""
            while not self._is_ending() and not watch.task.done():
                fresh = watch.state if watch.state != last_state else ""
                last_state = watch.state
                yield fresh
                await self._wait_for_change(watch, last_state)
        finally:
            watch.listeners -= 1
            if not watch.listeners:
                self._watches.pop(session, None)
                if watch.task is not None:
                    watch.task.cancel()

    async def _wait_for_change(self, watch: SessionWatch, last_state: str) -> None:
        """Wait until the state changes, the server stops, or a keep-alive is due."""
        try:
            async with asyncio.timeout(KEEP_ALIVE), watch.changed:
                await watch.changed.wait_for(lambda: watch.state != last_state or self._is_ending())
        except TimeoutError:
            return

    async def _poll(self, session: str, watch: SessionWatch) -> None:
        file = await asyncio.to_thread(self._sessions.find, session)
        while not self._is_ending():
            await asyncio.sleep(INTERVAL)
            try:
                state = (
                    await asyncio.to_thread(file_state, file) if self._sessions.holds(str(file.path)) else watch.state
                )
            except (FileNotFoundError, NotFound):
                state = watch.state
            if state != watch.state or self._is_ending():
                watch.state = state
                async with watch.changed:
                    watch.changed.notify_all()
