"""Split turns into pages of bounded size; appended entries do not change earlier pages.

A page ends between two turns, or inside a long turn before a reply. Appended entries change the last page and add
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clew.conversation.reply_ids import reply_key
from clew.conversation.turns import Turn

PAGE_ENTRIES = (
    100  # entries; some 100 kB of HTML in a session of 48 MB, which a browser inserts within 100 ms (measured)
)
PART_ENTRIES = 60  # entries of one turn that stay together


class PagePart(NamedTuple):
    """Entries of a turn, from `start` up to `stop`."""

    turn: Turn
    start: int
    stop: int

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.stop == len(self.turn.entries)


Page = tuple[PagePart, ...]


def split_pages(turns: Iterable[Turn]) -> tuple[Page, ...]:
    """Return the pages of some turns: at least one, which may be empty."""
    pages: list[Page] = []
    page: list[PagePart] = []
    size = 0
    for turn in turns:
        for piece in _turn_parts(turn):
            page.append(piece)
            size += piece.stop - piece.start
            if size >= PAGE_ENTRIES:
                pages.append(tuple(page))
                page, size = [], 0
    return (*pages, tuple(page)) if page or not pages else tuple(pages)


def _turn_parts(turn: Turn) -> Iterator[PagePart]:
    count, start = len(turn.entries), 0
    if count > PART_ENTRIES:
        begun: set[str | None] = set()  # the replies so far
        for index, entry in enumerate(turn.entries):
            if entry.type == "assistant":
                key = reply_key(entry)
                if index - start >= PART_ENTRIES and (key is None or key not in begun):
                    yield PagePart(turn, start, index)
                    start = index
                begun.add(key)
    yield PagePart(turn, start, count)


def page_of_turn(pages: Iterable[Page], number: int) -> int:
    """Return the number of the page on which a turn begins, from 1; the last page if there is no such turn."""
    at = 1
    for at, page in enumerate(pages, 1):
        if any(piece.turn.number == number and piece.start == 0 for piece in page):
            return at
    return at
