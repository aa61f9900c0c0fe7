"""Await the answers of the search thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from clew.browse.search_thread import RefreshProgress, SearchAnswer, SearchLocation, SearchRequest, SearchThread
from clew.web.session_cache import SessionCache

MIN_AGE = 2.0  # seconds before the files are looked at again
OUTLINES = 60  # sessions that are listed by their files alone, while there is no index yet


class AsyncSearch:
    """Searches the index of one folder. Answers contain only files in it, wherever links lead."""

    def __init__(
        self,
        sessions: SessionCache,
        claude: str | None,
        report: Callable[[RefreshProgress], object] = lambda _: None,
        cache: str | None = None,
    ) -> None:
        self._thread = SearchThread(SearchLocation(claude, cache), report, holds=sessions.holds)
        self._pending: set[asyncio.Future[SearchAnswer]] = set()
        self._is_started = False

    async def search(self, text: str, limit: int, semantic: bool = False) -> SearchAnswer:
        """Return the best sessions for a query that may still be growing, or the newest. New lines are read meanwhile.

        A `semantic` search also compares meanings; other searches do not wait for it.
        """
        if not self._is_started:
            self._is_started = True
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[SearchAnswer] = loop.create_future()

        def settle(answer: SearchAnswer) -> None:
            if not future.done():
                future.set_result(answer)

        def deliver(answer: SearchAnswer) -> None:
            if not answer.is_partial:
                with suppress(RuntimeError):  # the loop was closed meanwhile
                    loop.call_soon_threadsafe(settle, answer)

        self._pending.add(future)
        try:
            self._thread.search(SearchRequest(text, limit, limit, OUTLINES, semantic=semantic), deliver)
            self._thread.refresh(MIN_AGE)
            return await future
        finally:
            self._pending.discard(future)

    def close(self) -> None:
        if self._is_started:
            self._thread.stop()
        for future in self._pending:
            future.cancel()
