"""Seeking: searches and the refresh of the index, each in a thread of its own with its own connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import apsw

from clew.collect.archive.archived_sessions import ArchivedSessions
from clew.conversation.session_listing import newest_conversations
from clew.errors import BadQuery, ClewError
from clew.index.gone_sessions import add_gone
from clew.index.query_syntax import parse_query
from clew.index.results import SearchResult
from clew.index.session_index import Index
from clew.tui.session_item import SessionItem, item_from_outline, item_from_result
from clew.web.session_cache import SessionCache

STEP = 2.0  # seconds of reading after which it is asked whether to go on
AGAIN = 2.0  # seconds before the files are looked at again
OUTLINES = 60  # sessions that are listed by their files alone, while there is no index yet


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What a search found. `instead` is what was searched for when what was asked for is nowhere.

    `unlisted` counts sessions that only the prompt history knows, and that are not among the hits.
    """

    hits: tuple[SessionItem, ...] = ()
    instead: str = ""
    unlisted: int = 0
    reason: str = ""
    is_building: bool = False


class BackgroundSearch:
    """Asks the index of one folder. Only files in it are told of, wherever links lead."""

    def __init__(self, sessions: SessionCache, claude: str | None, cache: str | None = None) -> None:
        self._sessions, self._place = sessions, (claude, cache)
        self._asking = ThreadPoolExecutor(1, "clew-search")
        self._building = ThreadPoolExecutor(1, "clew-refresh")
        self._index: Index | None = None
        self._builder: Index | None = None
        self._is_built = False
        self._refresh: asyncio.Task[None] | None = None
        self._looked = 0.0
        self._is_closed = False

    async def search(self, text: str, limit: int) -> SearchAnswer:
        """The best sessions for a query that may still be growing, or the newest. What is new is read meanwhile."""
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(
                self._asking, self._open
            )  # before the other thread makes an index that looks built
        except (ClewError, apsw.Error, OSError) as error:
            return SearchAnswer(reason=f"The index cannot be used: {error}")
        self._bring_up_to_date()
        return await loop.run_in_executor(self._asking, self._search, text, limit)

    def close(self) -> None:
        self._is_closed = True
        for executor, index in ((self._asking, self._index), (self._building, self._builder)):
            if index is not None:
                executor.submit(index.close)
            executor.shutdown(wait=False)

    # -- answering

    def _open(self) -> Index:
        if self._index is None:
            self._index = Index.open(*self._place)
            self._is_built = not self._index.is_new
        return self._index

    def _search(self, text: str, limit: int) -> SearchAnswer:
        try:
            query = parse_query(text, typing=True)
            if not self._is_built and not query.clauses and not query.filters:
                return SearchAnswer(tuple(islice(self._outlines(), OUTLINES)), is_building=True)
            index = self._open()
            found = index.search(query, limit)
            add_gone(index, query, found, limit, archive=ArchivedSessions(self._place[0]), refresh=False)
        except BadQuery as error:
            return SearchAnswer(reason=f"{error.reason}.")
        except (ClewError, ValueError) as error:
            return SearchAnswer(reason=str(error))
        except (apsw.Error, OSError) as error:
            return SearchAnswer(reason=f"The index did not answer: {error}.")
        hits = tuple(item_from_result(self._visible(one)) for one in found if one.gone or self._is_ours(one))
        return SearchAnswer(hits, found.instead, found.unlisted, is_building=not self._is_built)

    def _is_ours(self, result: SearchResult) -> bool:
        return not result.path or self._sessions.holds(result.path)

    def _visible(self, result: SearchResult) -> SearchResult:
        if not result.gone:
            result.passages = [one for one in result.passages if self._sessions.holds(one.path)]
        return result

    def _outlines(self) -> Iterator[SessionItem]:
        """The newest sessions by their files."""
        files = (file for project in self._sessions.tree.projects() for file in project.sessions())
        return map(
            item_from_outline, newest_conversations(file for file in files if self._sessions.holds(str(file.path)))
        )

    # -- building

    def _bring_up_to_date(self) -> None:
        """Begin to read what is new, unless that is being done or has just been."""
        is_running = self._refresh is not None and not self._refresh.done()
        if not is_running and time.monotonic() - self._looked >= AGAIN:
            self._refresh = asyncio.create_task(self._build())

    async def _build(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._building, self._build_now)
        self._looked = time.monotonic()

    def _build_now(self) -> None:
        try:
            if self._builder is None:
                self._builder = Index.open(*self._place)
            done = self._builder.refresh(STEP)
            while done.left and not self._is_closed:
                done = self._builder.refresh(STEP)
            if folder := ArchivedSessions(self._place[0]).folder:
                with Index.open(folder) as archived:
                    while archived.refresh(STEP).left and not self._is_closed:
                        pass
        except (ClewError, apsw.Error, OSError):  # the search says what is wrong with the index
            return
        self._is_built = not done.left
