"""Render a page of a session as HTML, with links to its turns and agents.

Transcript text becomes HTML in `clew.view.row_html` alone; this module adds only numbers and quoted ids.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from urllib.parse import quote, urlencode

from msgspec import structs

from clew.view.attachments import turn_totals
from clew.view.mask_rows import mask_rows
from clew.view.row_html import fragments
from clew.view.row_types import AgentRow, NoteRow, PromptRow, Row
from clew.view.rows import DEPTHS, ViewOptions, ViewScope, entry_rows, turn_rows
from clew.web.paging import Page, PagePart
from clew.web.session_cache import Reading

AGENT_ROWS = 60  # rows of an agent inside its session; its own page has all
RESULT_LINES = 30
FULL_LINES = 4000


@dataclass(frozen=True, slots=True)
class ReaderChoice:
    """What a reader chose: the branch, the depth, and whether thinking is shown."""

    branch: int = 0
    depth: str = "calls"
    thinking: bool = False

    @property
    def options(self) -> ViewOptions:
        return ViewOptions(depth=self.depth, thinking=self.thinking, lines=RESULT_LINES, details=True)

    def query(self, **more: object) -> str:
        """Return the choice as a URL query with a leading `?`; empty if every value is the default."""
        values = {
            "branch": self.branch,
            "depth": self.depth if self.depth != "calls" else "",
            "thinking": self.thinking,
        }
        parameters = {name: str(int(v) if isinstance(v, bool) else v) for name, v in {**values, **more}.items() if v}
        return f"?{urlencode(parameters)}" if parameters else ""


def parse_choice(parameters: Iterable[tuple[str, str]]) -> ReaderChoice:
    """Parse the choice from the parameters of a URL; invalid values are ignored."""
    values = dict(parameters)
    number, depth = values.get("branch", ""), values.get("depth", "")
    branch = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
    return ReaderChoice(branch, depth if depth in DEPTHS else "calls", values.get("thinking") == "1")


def session_url(session: str, agent: str = "") -> str:
    """Return the URL of a session, or of an agent in it."""
    url = f"/session/{quote(session, safe='')}"
    return f"{url}/agent/{quote(agent, safe='')}" if agent else url


def page_html(reading: Reading, page: Page, choice: ReaderChoice, is_revealed: bool, prefix: str = "") -> str:
    """Render all parts of a page."""
    return "".join(part_html(reading, piece, choice, is_revealed, prefix) for piece in page)


def part_html(reading: Reading, piece: PagePart, choice: ReaderChoice, is_revealed: bool, prefix: str = "") -> str:
    rows = part_rows(reading, piece, choice.options)
    html = "".join(_with_links(rows if is_revealed else mask_rows(rows), reading, choice, prefix))
    if piece.start == 0:
        return html
    head = f'<header><p class="took">Turn {piece.turn.number}, continued</p></header>'
    return f'<section class="turn" aria-label="Turn {piece.turn.number}, continued">\n{head}\n{html}</section>\n'


def part_rows(reading: Reading, piece: PagePart, options: ViewOptions) -> Iterator[Row]:
    """Yield the rows of a part; each is limited to FULL_LINES lines."""
    scope = ViewScope(reading.session, options, reading.root.agents_for)
    turn, start, stop = piece
    if start or not turn.number:
        rows = entry_rows(turn.entries[start:stop], scope)
    else:
        rows = turn_rows(structs.replace(turn, entries=turn.entries[:stop]), scope)
        prompt = next(rows)
        if isinstance(prompt, PromptRow) and not piece.is_whole:
            prompt = structs.replace(prompt, totals=turn_totals(turn))
        yield prompt
    for row in _limit_agents(rows):
        yield structs.replace(row, limit=FULL_LINES) if row.limit is None else row


def _limit_agents(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows, with only the first AGENT_ROWS rows of each agent."""
    count = 0
    for row in rows:
        count = count + 1 if row.depth else 0
        if count <= AGENT_ROWS:
            yield row
        elif count == AGENT_ROWS + 1:
            yield NoteRow("More is on the agent's own page.", row.depth)


def _with_links(rows: Iterable[Row], reading: Reading, choice: ReaderChoice, prefix: str) -> Iterator[str]:
    """Yield the fragments, with links after the prompt of each turn and in each agent."""
    waiting: deque[Row] = deque()

    def passing() -> Iterator[Row]:
        for row in rows:
            waiting.append(row)
            yield row

    home = session_url(reading.root.id, reading.agent.id if reading.agent else "")
    for text in fragments(passing(), prefix):
        yield text
        if waiting:
            row = waiting.popleft()
            if isinstance(row, AgentRow):
                url = escape(session_url(reading.root.id, row.id))
                yield f'<p class="own"><a href="{url}">Open on its own page</a></p>\n'
            elif isinstance(row, PromptRow) and row.depth == 0:
                yield _turn_links(home, row.number, choice)


def _turn_links(home: str, number: int, choice: ReaderChoice) -> str:
    link = escape(f"{home}/turn/{number}")
    query, full = escape(choice.query()), escape(replace(choice, depth="full").query())
    return (
        f'<p class="links"><a href="{link}{query}" aria-label="Link to turn {number}">Link</a> '
        f'<a href="{link}/markdown{query}" data-copy="The turn was copied." '
        f'aria-label="Turn {number} as Markdown">Markdown</a> '
        f'<a href="{link}{full}" aria-label="Turn {number} with everything">Everything</a></p>\n'
    )
