"""Live: one watch over each session that somebody follows, however many they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from clew.errors import NotFound
from clew.web.session_cache import SessionCache, state_of

INTERVAL = 0.5  # seconds between two looks at the files
MOST = 64  # who may follow at a time
ALIVE = 15.0  # seconds after which a silent connection is given a sign of life


class SessionWatch:
    """The state of one session, told to all who wait for it to change."""

    def __init__(self) -> None:
        self.state = ""
        self.listeners = 0
        self.changed = asyncio.Condition()
        self.task: asyncio.Task[None] | None = None


class LiveUpdates:
    """Watches by session. `is_ending` says that the server is about to stop, and all of them end."""

    def __init__(self, shelf: SessionCache, is_ending: Callable[[], bool]) -> None:
        self._shelf, self._is_ending = shelf, is_ending
        self._watches: dict[str, SessionWatch] = {}

    @property
    def is_full(self) -> bool:
        """Whether as many follow as may."""
        return sum(watch.listeners for watch in self._watches.values()) >= MOST

    async def states(self, session: str) -> AsyncIterator[str]:
        """The state of a session now, and each one that it comes to; empty for a sign of life. Raises NotFound."""
        if self.is_full:
            return
        watch = self._watches.setdefault(session, SessionWatch())
        watch.listeners += 1
        try:
            if watch.task is None:
                watch.state = state_of(await asyncio.to_thread(self._shelf.find, session))
                watch.task = watch.task or asyncio.create_task(self._look(session, watch))
            told = ""
            while not self._is_ending() and not watch.task.done():
                fresh = watch.state if watch.state != told else ""
                told = watch.state
                yield fresh
                await self._next(watch, told)
        finally:
            watch.listeners -= 1
            if not watch.listeners:
                self._watches.pop(session, None)
                if watch.task is not None:
                    watch.task.cancel()

    async def _next(self, watch: SessionWatch, told: str) -> None:
        """Until the state is another, the server ends, or a sign of life is due."""
        try:
            async with asyncio.timeout(ALIVE), watch.changed:
                await watch.changed.wait_for(lambda: watch.state != told or self._is_ending())
        except TimeoutError:
            return

    async def _look(self, session: str, watch: SessionWatch) -> None:
        file = await asyncio.to_thread(self._shelf.find, session)
        while not self._is_ending():
            await asyncio.sleep(INTERVAL)
            try:
                state = await asyncio.to_thread(state_of, file) if self._shelf.holds(str(file.path)) else watch.state
            except (FileNotFoundError, NotFound):
                state = watch.state
            if state != watch.state or self._is_ending():
                watch.state = state
                async with watch.changed:
                    watch.changed.notify_all()
