"""The objects that all request handlers share, and the cache of rendered pages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

from clew.browse.summary_thread import SummaryThread
from clew.view.display_time import current_zone
from clew.view.mask_rows import MaskCount
from clew.view.sanitize import one_line
from clew.web.async_search import AsyncSearch
from clew.web.live_updates import LiveUpdates
from clew.web.preferences import Preferences
from clew.web.session_cache import SessionCache
from clew.web.templates import Renderer

MAX_SHORT = 1000  # characters of a text whose masked form is kept
CACHE_SIZE = 32 << 20  # bytes of cached pages


class PageCache:
    """The most recently used pages: fifty readers of a page cost little more than one.

    Thread-safe. The first thread that needs a page renders it, and the others wait.
    """

    def __init__(self) -> None:
        self._texts: OrderedDict[Hashable, bytes] = (
            OrderedDict()
        )  # UTF-8: as text, one emoji makes it four times larger
        self._size = 0
        self._lock = Lock()
        self._page_locks: dict[Hashable, Lock] = {}

    def get(self, key: Hashable, make: Callable[[], str]) -> str:
        with self._lock:
            if (cached := self._lookup(key)) is not None:
                return cached
            lock = self._page_locks.setdefault(key, Lock())
        with lock:
            with self._lock:
                if (cached := self._lookup(key)) is not None:
                    return cached
            try:
                text = make()
                with self._lock:
                    self._store(key, text)
            finally:
                with self._lock:
                    self._page_locks.pop(key, None)
        return text

    def _lookup(self, key: Hashable) -> str | None:
        if key in self._texts:
            self._texts.move_to_end(key)
        data = self._texts.get(key)
        return None if data is None else data.decode("utf-8", "surrogatepass")

    def _store(self, key: Hashable, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        self._size += len(data) - len(self._texts.pop(key, b""))
        self._texts[key] = data
        while self._size > CACHE_SIZE and len(self._texts) > 1:
            self._size -= len(self._texts.popitem(last=False)[1])


@lru_cache(maxsize=1 << 13)
def _mask_short(text: str, width: int) -> str:
    """Mask a title, a name or a prompt: lists show the same ones again and again."""
    return one_line(MaskCount().mask(text), width)


@dataclass(frozen=True)
class AppState:
    """Everything that the request handlers need."""

    shelf: SessionCache
    live: LiveUpdates
    searcher: AsyncSearch
    preferences: Preferences
    summaries: SummaryThread
    renderer: Renderer
    always_reveals: bool = False
    store: str = ""
    """The store that the sessions were fetched from; empty for a folder of this machine."""
    pages: PageCache = field(default_factory=PageCache)

    @property
    def is_revealed(self) -> bool:
        """Whether secrets are shown: the command line or the settings say so."""
        return self.always_reveals or self.preferences.settings.masking == "off"

    def cached_page(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return a rendered page for the current settings, from the cache if it is there."""
        return self.pages.get((key, current_zone(), self.is_revealed), make)

    def clean_text(self, text: str, width: int = 0) -> str:
        """Return transcript text on one line, with secrets masked."""
        if self.is_revealed:
            return one_line(text, width)
        return _mask_short(text, width) if len(text) <= MAX_SHORT else one_line(MaskCount().mask(text), width)

    @property
    def mask_count(self) -> MaskCount | None:
        return None if self.is_revealed else MaskCount()

    def is_shown(self, text: str) -> bool:
        """Return whether a text may appear as it is: it contains neither secrets nor control characters."""
        return self.clean_text(text) == text
