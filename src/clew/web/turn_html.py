"""Fragments: a page of a session as HTML, with links to what stands on pages of its own.

The words of a transcript become HTML in `clew.view.row_html` alone; what is added here is made of numbers and quoted ids.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from urllib.parse import quote, urlencode

from clew.view.attachments import turn_totals
from clew.view.mask_rows import mask_rows
from clew.view.row_html import fragments
from clew.view.rows import DEPTHS, Row, ViewOptions, ViewScope, entry_rows, turn_rows
from clew.web.paging import Page, PagePart
from clew.web.session_cache import Reading

AGENT_ROWS = 60  # of an agent inside its session; the rest is on its own page
RESULT_LINES = 30
FULL_LINES = 4000


@dataclass(frozen=True, slots=True)
class Wish:
    """What a reader asks for: which branch, how deep, and whether with thinking."""

    branch: int = 0
    depth: str = "calls"
    thinking: bool = False

    @property
    def options(self) -> ViewOptions:
        return ViewOptions(depth=self.depth, thinking=self.thinking, lines=RESULT_LINES, details=True)

    def query(self, **more: object) -> str:
        """The same wish in an address, with `?` in front if there is anything to say."""
        told = {"branch": self.branch, "depth": self.depth if self.depth != "calls" else "", "thinking": self.thinking}
        said = {name: str(int(v) if isinstance(v, bool) else v) for name, v in {**told, **more}.items() if v}
        return f"?{urlencode(said)}" if said else ""


def wish_of(given: Iterable[tuple[str, str]]) -> Wish:
    """The wish in an address; what cannot be understood is left out."""
    told = dict(given)
    number, depth = told.get("branch", ""), told.get("depth", "")
    branch = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
    return Wish(branch, depth if depth in DEPTHS else "calls", told.get("thinking") == "1")


def base(session: str, agent: str = "") -> str:
    """The address of a session, or of an agent in it."""
    own = f"/session/{quote(session, safe='')}"
    return f"{own}/agent/{quote(agent, safe='')}" if agent else own


def page_html(reading: Reading, page: Page, wish: Wish, is_revealed: bool, prefix: str = "") -> str:
    """All of a page."""
    return "".join(piece_html(reading, piece, wish, is_revealed, prefix) for piece in page)


def piece_html(reading: Reading, piece: PagePart, wish: Wish, is_revealed: bool, prefix: str = "") -> str:
    found = piece_rows(reading, piece, wish.options)
    made = "".join(_linked(found if is_revealed else mask_rows(found), reading, wish, prefix))
    if piece.start == 0:
        return made
    head = f'<header><p class="took">Turn {piece.turn.number}, continued</p></header>'
    return f'<section class="turn" aria-label="Turn {piece.turn.number}, continued">\n{head}\n{made}</section>\n'


def piece_rows(reading: Reading, piece: PagePart, options: ViewOptions) -> Iterator[Row]:
    """The rows of a piece, each cut to what a page can bear."""
    scene = ViewScope(reading.session, options, reading.root.agents_for)
    turn, start, stop = piece
    if start or not turn.number:
        found = entry_rows(turn.entries[start:stop], scene)
    else:
        found = turn_rows(replace(turn, entries=turn.entries[:stop]), scene)
        prompt = next(found)
        yield prompt if piece.is_whole else replace(prompt, facts={**prompt.facts, **turn_totals(turn)})
    for row in _without_the_rest(found):
        yield replace(row, limit=FULL_LINES) if row.limit is None else row


def _without_the_rest(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, with no more than the beginning of each agent."""
    count = 0
    for row in rows:
        count = count + 1 if row.depth else 0
        if count <= AGENT_ROWS:
            yield row
        elif count == AGENT_ROWS + 1:
            yield Row("note", "The rest is on the agent's own page.", row.depth)


def _linked(rows: Iterable[Row], reading: Reading, wish: Wish, prefix: str) -> Iterator[str]:
    """The fragments, with links behind the prompt of each turn and in each agent."""
    waiting: deque[Row] = deque()

    def passing() -> Iterator[Row]:
        for row in rows:
            waiting.append(row)
            yield row

    home = base(reading.root.id, reading.agent.id if reading.agent else "")
    for text in fragments(passing(), prefix):
        yield text
        if waiting:
            row = waiting.popleft()
            if row.kind == "agent":
                own = escape(base(reading.root.id, str(row.facts["id"])))
                yield f'<p class="own"><a href="{own}">Open on its own page</a></p>\n'
            elif row.kind == "prompt" and row.depth == 0:
                yield _turn_links(home, int(row.facts["number"]), wish)


def _turn_links(home: str, number: int, wish: Wish) -> str:
    link = escape(f"{home}/turn/{number}")
    query, full = escape(wish.query()), escape(replace(wish, depth="full").query())
    return (
        f'<p class="links"><a href="{link}{query}" aria-label="Link to turn {number}">Link</a> '
        f'<a href="{link}/markdown{query}" data-copy aria-label="Turn {number} as Markdown">Markdown</a> '
        f'<a href="{link}{full}" aria-label="Turn {number} with everything">Everything</a></p>\n'
    )
