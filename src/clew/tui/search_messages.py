"""Pass the answers of the search thread to the application as messages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from textual.message import Message

from clew.browse.search_thread import RefreshProgress, SearchAnswer, SearchLocation, SearchRequest, SearchThread

MAX_RESULTS = 200  # sessions for a query with words; each costs a look into its file
MAX_LISTED = 20_000  # sessions for filters alone
MAX_OUTLINES = 1000  # sessions that are listed by their files while there is no index


class SearchAnswered(Message):
    """The answer to the search with a number."""

    def __init__(self, number: int, answer: SearchAnswer) -> None:
        super().__init__()
        self.number, self.answer = number, answer


class SessionsListed(Message):
    """All sessions, for the list of projects."""

    def __init__(self, answer: SearchAnswer) -> None:
        super().__init__()
        self.answer = answer


class IndexProgress(Message):
    def __init__(self, progress: RefreshProgress) -> None:
        super().__init__()
        self.progress = progress


class TuiSearch:
    """Searches for the text in the search box. A new search replaces the one that waits."""

    def __init__(
        self, location: SearchLocation, post: Callable[[Message], object], clock: Callable[[], datetime]
    ) -> None:
        self._post = post
        self._thread = SearchThread(location, lambda progress: post(IndexProgress(progress)), clock=clock)
        self.start, self.stop = self._thread.start, self._thread.stop

    @property
    def is_built(self) -> bool:
        return self._thread.is_built

    def refresh(self) -> None:
        self._thread.refresh()

    def search(self, number: int, text: str, semantic: bool) -> None:
        """Search; the answer carries the number. A `semantic` search answers twice: by words, then by meaning too."""
        request = SearchRequest(text, MAX_RESULTS, MAX_LISTED, MAX_OUTLINES, replaces=True)
        for each in (request, request._replace(semantic=True)) if semantic else (request,):
            self._thread.search(each, lambda answer: self._post(SearchAnswered(number, answer)))

    def list_sessions(self) -> None:
        """List all sessions; they are posted in one or several messages."""
        request = SearchRequest("", MAX_RESULTS, MAX_LISTED, MAX_OUTLINES)
        self._thread.search(request, lambda answer: self._post(SessionsListed(answer)))
