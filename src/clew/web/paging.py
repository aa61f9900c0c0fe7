"""Paging: turns cut into pages of bounded size, the same pages however often it is done.

A page ends between two turns, or inside a long one before a reply. What is appended to a session changes its last page and
adds others; those before stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clew.conversation.replies import merge_replies
from clew.conversation.turns import Turn

PAGE = 150  # entries; some 120 kB of HTML in a session of 48 MB (measured)
PART = 60  # entries of one turn that are not parted


class PagePart(NamedTuple):
    """Some entries of a turn, from `start` up to `stop`."""

    turn: Turn
    start: int
    stop: int

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.stop == len(self.turn.entries)


Page = tuple[PagePart, ...]


def paged(turns: Iterable[Turn]) -> tuple[Page, ...]:
    """The pages of some turns; at least one, which may be empty."""
    found: list[Page] = []
    page: list[PagePart] = []
    size = 0
    for turn in turns:
        for piece in _pieces(turn):
            page.append(piece)
            size += piece.stop - piece.start
            if size >= PAGE:
                found.append(tuple(page))
                page, size = [], 0
    return (*found, tuple(page)) if page or not found else tuple(found)


def _pieces(turn: Turn) -> Iterator[PagePart]:
    count, start = len(turn.entries), 0
    if count > PART:
        firsts = {reply.entries[0].offset for reply in merge_replies(turn.entries)}
        for index, entry in enumerate(turn.entries):
            if index - start >= PART and entry.offset in firsts:
                yield PagePart(turn, start, index)
                start = index
    yield PagePart(turn, start, count)


def page_of(pages: Iterable[Page], number: int) -> int:
    """The page on which a turn begins, counted from 1; the last one if there is no such turn."""
    at = 1
    for at, page in enumerate(pages, 1):
        if any(piece.turn.number == number and piece.start == 0 for piece in page):
            return at
    return at
