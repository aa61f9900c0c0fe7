"""Find words in all turns of a session, loaded by the browser or not."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from clew.facts.searchable_text import words
from clew.facts.secrets.mask_secrets import mask
from clew.view.sanitize import clean
from clew.web.app_state import AppState
from clew.web.page_target import page_target
from clew.web.session_cache import Reading

MAX_WORDS = 200  # characters that are looked for
MAX_HITS = 2000  # entries with matches
_AROUND = 60  # characters of a snippet before and after a match
_KEY = re.compile(rb"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Found:
    """The matches in one entry: where it is, how many there are, and the text around the first."""

    turn: int
    page: int
    offset: int
    count: int
    before: str
    match: str
    after: str


def find_words(reading: Reading, wanted: str, is_revealed: bool) -> Iterator[Found]:
    """Yield the entries that contain the words, ignoring case, in the order of the turns."""
    needle = clean(wanted[:MAX_WORDS]).strip().lower()
    if not needle:
        return
    # JSON escapes quotes and line breaks, but never letters and digits of ASCII.
    key = max(_KEY.findall(needle.encode("utf-8", "replace")), key=len, default=b"")
    hits = 0
    for number, page in enumerate(reading.pages, 1):
        for turn, start, stop in page:
            for entry in turn.entries[start:stop]:
                if key not in entry.raw.lower():
                    continue
                found = _match(" \n".join(piece.text for piece in words(entry)), needle, is_revealed)
                if found is not None:
                    yield Found(turn.number, number, entry.offset, *found)
                    hits += 1
                    if hits >= MAX_HITS:
                        return


def _match(text: str, needle: str, is_revealed: bool) -> tuple[int, str, str, str] | None:
    shown = clean(text if is_revealed else mask(clean(text))[0])
    lower = shown.lower()
    at = lower.find(needle)
    if at < 0:
        return None
    if len(lower) != len(shown):  # a letter that grows in lower case moves the places
        return lower.count(needle), "", needle, ""
    stop = at + len(needle)
    return lower.count(needle), shown[max(0, at - _AROUND) : at], shown[at:stop], shown[stop : stop + _AROUND]


class FindPage:
    """The request handler that finds words in one session."""

    def __init__(self, state: AppState) -> None:
        self._state = state

    async def find(self, request: Request) -> Response:
        """List the places of some words: as JSON for the script of the reader, else as a page of links."""
        target = await page_target(self._state, request)
        words = request.query_params.get("q", "")[:MAX_WORDS]
        found = await asyncio.to_thread(lambda: list(find_words(target.reading, words, self._state.is_revealed)))
        hits = [
            {
                "turn": hit.turn,
                "page": hit.page,
                "offset": hit.offset,
                "count": hit.count,
                "text": [self._state.clean_text(part) for part in (hit.before, hit.match, hit.after)],
            }
            for hit in found
        ]
        total = sum(hit.count for hit in found)
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"total": total, "hits": hits})
        title = f"Find {words}" if words else "Find"
        return self._state.renderer.page(
            request,
            "find",
            self._state.clean_text(title),
            base=target.base,
            wish=target.choice,
            hits=hits,
            words=words,
            total=total,
        )
