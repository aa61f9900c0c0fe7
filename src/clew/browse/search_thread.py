"""Search in one thread, by meaning in a second one, and refresh the index in a third, each with its own connection."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import apsw
from msgspec import Struct

from clew.browse.session_item import SessionItem, item_from_outline, item_from_result
from clew.collect.archive.archived_sessions import ArchivedSessions
from clew.conversation.session_listing import newest_conversations
from clew.errors import BadQuery, ClewError
from clew.index.gone_sessions import add_gone
from clew.index.query_syntax import Query, parse_query
from clew.index.results import SearchResult
from clew.index.session_index import Index
from clew.system.plural import plural
from clew.wire.layout import Tree, claude_dir

FIRST_OUTLINES = 30  # sessions in the first partial answer while there is no index
PROGRESS_SECONDS = 0.25  # between two reports of progress
EMBED_SECONDS = 20.0  # for embedding new texts before a search by meaning


class SearchLocation(Struct, frozen=True):
    """The Claude folder, and the folder of the index."""

    claude: str | None = None
    cache: str | None = None


class SearchRequest(NamedTuple):
    """A query, which may still be growing, and how many sessions to return.

    `list_limit` applies to a query that only filters sessions, `outline_limit` while there is no index yet. A
    request that `replaces` others drops such requests that wait, and is itself dropped for a newer one. A `semantic`
    request also compares meanings; it takes longer, and other requests do not wait for it.
    """

    text: str
    limit: int
    list_limit: int
    outline_limit: int
    replaces: bool = False
    semantic: bool = False


class SearchAnswer(Struct, frozen=True):
    """The sessions that match. `instead` is the query that was used if the original one matches nothing.

    `unlisted` counts sessions that only the prompt history knows, and that are not among the hits. A search that
    failed has a `reason`, and the position in the query, or -1. More follows a partial answer. `is_semantic` says that
    meanings were compared, except for `unembedded` texts, for which there was no time.
    """

    hits: tuple[SessionItem, ...] = ()
    instead: str = ""
    unlisted: int = 0
    reason: str = ""
    at: int = -1
    is_building: bool = False
    is_partial: bool = False
    is_semantic: bool = False
    unembedded: int = 0

    @property
    def meaning_note(self) -> str:
        """What to say of a search by meaning beside the number of sessions."""
        if not self.is_semantic:
            return ""
        return "by words and meaning" + (f", {plural(self.unembedded, 'text')} not read yet" if self.unembedded else "")


class RefreshProgress(NamedTuple):
    """How many bytes of new lines are in the index. A refresh that failed has a `reason`."""

    done: int = 0
    total: int = 0
    is_done: bool = False
    reason: str = ""


Deliver = Callable[[SearchAnswer], object]


def _is_any(_: str) -> bool:
    return True


class SearchThread:
    """Answers requests in the order in which they come. Nothing is delivered or reported after `stop`.

    `holds` restricts the answers to files for which it returns True. `deliver` and `report` are called in the threads.
    """

    def __init__(
        self,
        location: SearchLocation,
        report: Callable[[RefreshProgress], object] = lambda _: None,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        holds: Callable[[str], bool] = _is_any,
    ) -> None:
        self.is_built = False
        self._location, self._report, self._clock, self._holds = location, report, clock, holds
        self._requests: deque[tuple[SearchRequest, Deliver]] = deque()
        self._semantic_requests: deque[tuple[SearchRequest, Deliver]] = deque()
        self._has_request = threading.Condition()
        self._is_stopped = False
        self._refresh_wanted = threading.Event()
        self._refreshed = -1e9  # time of the last refresh
        self._is_refreshing = False
        self._refreshes = self._done_refreshes = 0  # that have begun, and that have ended
        self._has_opened = threading.Event()
        self._threads = [
            threading.Thread(target=self._answer_requests, args=[self._requests], daemon=True, name="clew-search"),
            threading.Thread(target=self._refresh_index, daemon=True, name="clew-index"),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        with self._has_request:
            self._is_stopped = True
            self._has_request.notify_all()
        self._refresh_wanted.set()
        for thread in self._threads:
            thread.join(0.3)

    def search(self, request: SearchRequest, deliver: Deliver) -> None:
        with self._has_request:
            requests = self._semantic_requests if request.semantic else self._requests
            if request.replaces:
                kept = [waiting for waiting in requests if not waiting[0].replaces]
                requests.clear()
                requests.extend(kept)
            requests.append((request, deliver))
            self._has_request.notify_all()
        if request.semantic and len(self._threads) == 2:
            thread = threading.Thread(target=self._answer_requests, args=[requests], daemon=True, name="clew-semantic")
            self._threads.append(thread)
            thread.start()

    def refresh(self, min_age: float = 0.0) -> None:
        """Look for new lines, unless that is being done or was done less than `min_age` seconds ago."""
        if not self._is_refreshing and time.monotonic() - self._refreshed >= min_age:
            self._refresh_wanted.set()

    def wait_for_refresh(self, seconds: float) -> None:
        """Look for new lines now, and wait for that at most some seconds. It blocks the thread."""
        with self._has_request:
            number = self._refreshes + 1
            self._refresh_wanted.set()
            self._has_request.wait_for(lambda: self._done_refreshes >= number or self._is_stopped, seconds)

    # -- searching

    def _answer_requests(self, requests: deque[tuple[SearchRequest, Deliver]]) -> None:
        index: Index | None = None
        try:
            while True:
                try:
                    index = index or self._open()
                except (ClewError, apsw.Error, OSError) as error:
                    answer = SearchAnswer(reason=f"The index cannot be used: {str(error).rstrip('.')}")
                finally:
                    self._has_opened.set()
                if (pending := self._next_request(requests)) is None:
                    return
                request, deliver = pending
                self._deliver(deliver, self._search(index, request, deliver) if index else answer)
        finally:
            if index is not None:
                index.close()

    def _open(self) -> Index:
        index = Index.open(self._location.claude, self._location.cache)
        self.is_built = self.is_built or not index.is_new
        return index

    def _next_request(self, requests: deque[tuple[SearchRequest, Deliver]]) -> tuple[SearchRequest, Deliver] | None:
        with self._has_request:
            self._has_request.wait_for(lambda: requests or self._is_stopped)
            return None if self._is_stopped else requests.popleft()

    def _deliver(self, deliver: Deliver, answer: SearchAnswer) -> None:
        if not self._is_stopped:
            deliver(answer)

    def _search(self, index: Index, request: SearchRequest, deliver: Deliver) -> SearchAnswer:
        try:
            query = parse_query(request.text, typing=True)
            if not self.is_built and not query.clauses and not query.filters:
                return self._list_outlines(request, deliver)
            return self._search_index(index, query, request)
        except BadQuery as error:
            return SearchAnswer(reason=error.reason, at=error.at)
        except (ValueError, ClewError) as error:
            hint = f". {error.hint}" if isinstance(error, ClewError) and request.semantic and error.hint else ""
            return SearchAnswer(reason=str(error).rstrip(".") + hint.rstrip("."))
        except (apsw.Error, OSError) as error:
            return SearchAnswer(reason=f"The index did not answer: {error}")

    def _search_index(self, index: Index, query: Query, request: SearchRequest) -> SearchAnswer:
        limit = request.limit if query.clauses or query.filters_passages else request.list_limit
        now = self._clock().timestamp()
        semantic = request.semantic and bool(query.positive_clauses)
        left = index.embed(EMBED_SECONDS).left if semantic else 0
        results = index.search(query, limit, now=now, semantic=semantic)
        archive = ArchivedSessions(self._location.claude)
        add_gone(index, query, results, limit, archive=archive, now=now, semantic=semantic, refresh=False)
        hits = tuple(item_from_result(result) for result in results if self._restrict(result))
        return SearchAnswer(
            hits,
            results.instead,
            results.unlisted,
            is_building=not self.is_built,
            is_semantic=semantic,
            unembedded=left,
        )

    def _restrict(self, result: SearchResult) -> bool:
        """Remove passages of files that are not ours. Return whether the session itself is ours."""
        if result.gone:
            return True
        result.passages = [passage for passage in result.passages if self._holds(passage.path)]
        return not result.path or self._holds(result.path)

    def _list_outlines(self, request: SearchRequest, deliver: Deliver) -> SearchAnswer:
        """List the newest sessions by their files, while there is no index yet; the first ones as soon as possible."""
        hits: list[SessionItem] = []
        for hit in self._outlines():
            hits.append(hit)
            if len(hits) in (FIRST_OUTLINES, 4 * FIRST_OUTLINES):
                self._deliver(deliver, SearchAnswer(tuple(hits), is_building=True, is_partial=True))
            is_obsolete = request.replaces and (self._requests or self.is_built)
            if len(hits) >= request.outline_limit or is_obsolete or self._is_stopped:
                break
        return SearchAnswer(tuple(hits), is_building=True)

    def _outlines(self) -> Iterator[SessionItem]:
        projects = Tree(claude_dir(self._location.claude)).projects()
        files = (file for project in projects for file in project.sessions() if self._holds(str(file.path)))
        return map(item_from_outline, newest_conversations(files))

    # -- refreshing

    def _refresh_index(self) -> None:
        self._has_opened.wait()  # otherwise an index that this thread creates would look built to the other
        index: Index | None = None
        while not self._is_stopped:
            self._is_refreshing = True
            self._refresh_wanted.clear()
            with self._has_request:
                self._refreshes += 1
            try:
                index = index or Index.open(self._location.claude, self._location.cache)
                self._refresh(index)
                self.is_built = True
                progress = RefreshProgress(is_done=True)
            except (ClewError, apsw.Error, OSError) as error:
                progress = RefreshProgress(is_done=True, reason=f"The index cannot be used: {error}")
            self._refreshed, self._is_refreshing = time.monotonic(), False
            with self._has_request:
                self._done_refreshes = self._refreshes
                self._has_request.notify_all()
            self._report_progress(progress)
            self._refresh_wanted.wait()
        if index is not None:
            index.close()

    def _refresh(self, index: Index) -> None:
        last = 0.0

        def progress(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= PROGRESS_SECONDS:
                last = time.monotonic()
                self._report_progress(RefreshProgress(done, total))

        index.refresh(progress=progress)
        if folder := ArchivedSessions(self._location.claude).folder:
            with Index.open(folder) as archived:
                archived.refresh(progress=progress)

    def _report_progress(self, progress: RefreshProgress) -> None:
        if not self._is_stopped:
            self._report(progress)


def parse_typed_query(text: str) -> Query | None:
    """Parse a query that is still being typed; None if it is invalid."""
    try:
        return parse_query(text, typing=True)
    except BadQuery:
        return None
