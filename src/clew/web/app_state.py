"""The desk: what every answer is made from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock

from clew.view.mask_rows import MaskCount
from clew.view.sanitize import one_line
from clew.web.background_search import BackgroundSearch
from clew.web.live_updates import LiveUpdates
from clew.web.session_cache import SessionCache
from clew.web.templates import Renderer

ROOM = 32 << 20  # letters of pages that are kept


class PageCache:
    """Pages that were made, those that were asked for last: fifty readers of a page cost little more than one.

    It is asked by many threads. A page is made by the first that asks for it, and the others wait.
    """

    def __init__(self) -> None:
        self._texts: OrderedDict[Hashable, str] = OrderedDict()
        self._size = 0
        self._lock = Lock()
        self._making: dict[Hashable, Lock] = {}

    def get(self, key: Hashable, make: Callable[[], str]) -> str:
        with self._lock:
            if (found := self._kept(key)) is not None:
                return found
            making = self._making.setdefault(key, Lock())
        with making:
            with self._lock:
                if (found := self._kept(key)) is not None:
                    return found
            try:
                made = make()
                with self._lock:
                    self._keep(key, made)
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return made

    def _kept(self, key: Hashable) -> str | None:
        if key in self._texts:
            self._texts.move_to_end(key)
        return self._texts.get(key)

    def _keep(self, key: Hashable, text: str) -> None:
        self._size += len(text) - len(self._texts.pop(key, ""))
        self._texts[key] = text
        while self._size > ROOM and len(self._texts) > 1:
            self._size -= len(self._texts.popitem(last=False)[1])


@dataclass(frozen=True)
class AppState:
    shelf: SessionCache
    live: LiveUpdates
    seeker: BackgroundSearch
    is_revealed: bool
    renderer: Renderer = field(default_factory=Renderer)
    made: PageCache = field(default_factory=PageCache)

    def words(self, text: str, width: int = 0) -> str:
        """Words of a transcript on one line, without their secrets."""
        return one_line(text if self.is_revealed else MaskCount().mask(text), width)

    @property
    def tally(self) -> MaskCount | None:
        return None if self.is_revealed else MaskCount()
