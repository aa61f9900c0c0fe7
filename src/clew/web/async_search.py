"""Await the answers of the search thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import apsw

from clew.browse.search_thread import (
    RefreshProgress,
    SearchAnswer,
    SearchLocation,
    SearchRequest,
    SearchThread,
    parse_typed_query,
)
from clew.errors import ClewError
from clew.index.facets import Facets
from clew.index.session_index import Index
from clew.web.session_cache import SessionCache

MIN_AGE = 1.0  # seconds before the files are looked at again while the user types
FRESH_SECONDS = 0.1  # to wait for new lines before an answer
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
        self._thread = SearchThread(SearchLocation(claude, cache), self._keep_progress, holds=sessions.holds)
        self._location = claude, cache
        self._report = report
        self.progress = RefreshProgress()
        self._pending: set[asyncio.Future[SearchAnswer]] = set()
        self._is_started = False

    def _keep_progress(self, progress: RefreshProgress) -> None:
        self.progress = progress
        self._report(progress)

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._thread.start()

    async def search(self, text: str, limit: int, semantic: bool = False, *, is_fresh: bool = False) -> SearchAnswer:
        """Return the best sessions for a query that may still be growing, or the newest.

        With `is_fresh` new lines are read first, unless that takes long; otherwise meanwhile. A `semantic` search also
        compares meanings; other searches do not wait for it.
        """
        self._start()
        if is_fresh:
            await asyncio.to_thread(self._thread.wait_for_refresh, FRESH_SECONDS)
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

    async def count(self, text: str) -> Facets | None:
        """Count everything that a query matches; None if the query is invalid, or there is no index."""
        return await asyncio.to_thread(self._count, text) if self._thread.is_built else None

    def _count(self, text: str) -> Facets | None:
        query = parse_typed_query(text)
        if query is None or not (query.clauses or query.filters):
            return None
        try:
            with Index.open(*self._location) as index:
                return index.count(query)
        except (ClewError, ValueError, apsw.Error, OSError):
            return None

    def close(self) -> None:
        if self._is_started:
            self._thread.stop()
        for future in self._pending:
            future.cancel()
