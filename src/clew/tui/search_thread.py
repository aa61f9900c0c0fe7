"""Seeking: searches and the refresh of the index, each in a thread of its own with its own connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import apsw
from textual.message import Message

from clew.collect.archive.archived_sessions import ArchivedSessions
from clew.conversation.session_listing import newest_conversations
from clew.errors import BadQuery, ClewError
from clew.index.gone_sessions import add_gone
from clew.index.query_syntax import Query, parse_query
from clew.index.session_index import Index
from clew.tui.session_item import SessionItem, item_from_outline, item_from_result
from clew.wire.layout import Tree, claude_dir

BEST = 200  # sessions for words; each costs a look into its file
NEWEST = 20_000  # sessions for filters alone
FIRST = 30  # outlines before the first answer while there is no index
MOST = 1000  # outlines at all
STEP = 1.0  # seconds between two looks at an index that is being built


class SearchFound(Message):
    """The answer to a question; `instead` is what was searched for when what was asked for is nowhere.

    `unlisted` counts sessions that only the prompt history knows, and that are not among the hits.
    """

    def __init__(
        self, number: int, hits: list[SessionItem], instead: str = "", is_rough: bool = False, unlisted: int = 0
    ) -> None:
        super().__init__()
        self.number, self.hits, self.instead, self.is_rough, self.unlisted = number, hits, instead, is_rough, unlisted


class SearchFailure(Message):
    """A question that has no answer, and why; `at` is the place in the query, or -1."""

    def __init__(self, number: int, reason: str, at: int = -1) -> None:
        super().__init__()
        self.number, self.reason, self.at = number, reason, at


class IndexProgress(Message):
    """How far the index is; `is_done` when it is up to date."""

    def __init__(self, done: int, total: int, is_done: bool = False, changed: bool = False, reason: str = "") -> None:
        super().__init__()
        self.done, self.total, self.is_done, self.changed, self.reason = done, total, is_done, changed, reason


@dataclass(frozen=True, slots=True)
class SearchLocation:
    """Where the transcripts are and where the index may lie."""

    claude: str | None = None
    cache: str | None = None


class SearchThread:
    """Answers the newest question; older ones that wait are dropped."""

    def __init__(self, place: SearchLocation, post: Callable[[Message], object], clock: Callable[[], datetime]) -> None:
        self._place, self._post, self._clock = place, post, clock
        self._wake = threading.Condition()
        self._asked: tuple[int, str] | None = None
        self._stopped = False
        self.is_built = False
        self._refresh = threading.Event()
        self._opened = threading.Event()
        self._threads = [
            threading.Thread(target=self._answer, daemon=True, name="clew-search"),
            threading.Thread(target=self._build, daemon=True, name="clew-index"),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        with self._wake:
            self._stopped = True
            self._wake.notify_all()
        self._refresh.set()
        for thread in self._threads:
            thread.join(0.3)

    def search(self, number: int, text: str) -> None:
        """Put a question; its answer carries the number."""
        with self._wake:
            self._asked = (number, text)
            self._wake.notify_all()

    def refresh(self) -> None:
        """Look for what is new."""
        self._refresh.set()

    def _tell(self, message: Message) -> None:
        if not self._stopped:
            self._post(message)

    # -- answering

    def _answer(self) -> None:
        try:
            with Index.open(self._place.claude, self._place.cache) as index:
                self.is_built = not index.is_new
                self._opened.set()
                while (question := self._next()) is not None:
                    self._one(index, *question)
        except (ClewError, apsw.Error, OSError) as error:
            self._tell(SearchFailure(-1, f"The index cannot be used: {error}"))
        finally:
            self._opened.set()

    def _next(self) -> tuple[int, str] | None:
        with self._wake:
            self._wake.wait_for(lambda: self._asked or self._stopped)
            question, self._asked = self._asked, None
            return None if self._stopped else question

    def _one(self, index: Index, number: int, text: str) -> None:
        try:
            query = parse_query(text, typing=True)
            if not self.is_built and not query.clauses and not query.filters:
                self._outlines(number)
                return
            limit = BEST if query.clauses or query.filters_passages else NEWEST
            now = self._clock().timestamp()
            results = index.search(query, limit, now=now)
            archive = ArchivedSessions(self._place.claude)
            add_gone(index, query, results, limit, archive=archive, now=now, refresh=False)
            hits = [item_from_result(result) for result in results]
            self._tell(SearchFound(number, hits, results.instead, not self.is_built, results.unlisted))
        except BadQuery as error:
            self._tell(SearchFailure(number, error.reason, error.at))
        except (ValueError, ClewError) as error:
            self._tell(SearchFailure(number, str(error).rstrip(".")))
        except (apsw.Error, OSError) as error:
            self._tell(SearchFailure(number, f"The index did not answer: {error}"))

    def _outlines(self, number: int) -> None:
        """The newest sessions by their files, while there is no index yet."""
        hits: list[SessionItem] = []
        for hit in self._from_files():
            hits.append(hit)
            if len(hits) in (FIRST, 4 * FIRST):
                self._tell(SearchFound(number, list(hits), is_rough=True))
            if len(hits) >= MOST or self._asked or self._stopped or self.is_built:
                break
        if not self.is_built:
            self._tell(SearchFound(number, hits, is_rough=True))

    def _from_files(self) -> Iterator[SessionItem]:
        projects = Tree(claude_dir(self._place.claude)).projects()
        return map(item_from_outline, newest_conversations(file for project in projects for file in project.sessions()))

    # -- building

    def _build(self) -> None:
        self._opened.wait()  # else an index that this thread makes would look built to the other
        try:
            with Index.open(self._place.claude, self._place.cache) as index:
                while not self._stopped:
                    self._bring_up_to_date(index)
                    self._refresh.wait()
                    self._refresh.clear()
        except (ClewError, apsw.Error, OSError) as error:
            self._tell(IndexProgress(0, 0, is_done=True, reason=f"The index cannot be used: {error}"))

    def _bring_up_to_date(self, index: Index) -> None:
        last = 0.0

        def progress(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= STEP / 4:
                last = time.monotonic()
                self._tell(IndexProgress(done, total))

        done = index.refresh(progress=progress)
        if folder := ArchivedSessions(self._place.claude).folder:
            with Index.open(folder) as archived:
                archived.refresh(progress=progress)
        self.is_built = True
        self._tell(IndexProgress(0, 0, is_done=True, changed=bool(done.files)))


def understood(text: str) -> Query | None:
    """A query that is still being typed, if it can be understood."""
    try:
        return parse_query(text, typing=True)
    except BadQuery:
        return None
