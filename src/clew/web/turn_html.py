"""Render a page of a session as HTML, with links to its turns and agents.

Transcript text becomes HTML in `clew.view.row_html` alone; this module adds only numbers and quoted ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape, unescape
from urllib.parse import quote, urlencode

from msgspec import structs

from clew.conversation.agent_sessions import AGENT_TOOLS
from clew.facts.file_changes import WRITING_TOOLS
from clew.view.attachments import turn_totals
from clew.view.depths import DEPTHS
from clew.view.mask_rows import mask_rows
from clew.view.nesting import CALL_CONTENT
from clew.view.row_html import RowLinks, fragments
from clew.view.row_types import AgentRow, CallRow, ErrorRow, NoteRow, PromptRow, Row, ThinkingRow
from clew.view.rows import ViewOptions, ViewScope, entry_rows, turn_rows
from clew.web.paging import Page, PagePart
from clew.web.session_cache import Reading

AGENT_ROWS = 60  # rows of an agent inside its session; its own page has all
RESULT_LINES = 30
FULL_LINES = 4000
ONLY = ("errors", "edits", "agents", "thinking")  # what a filter shows; "tool:NAME" is another
MAX_TOOL = 120  # characters of the filter
_SVG = '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="{}"/></svg>'
_ICONS = {
    "link": _SVG.format("M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1"),
    "copy": _SVG.format("M8 8h12v12H8zM16 8V4H4v12h4"),
    "prompt": _SVG.format("M4 5h16v11H10l-5 4v-4H4z"),
    "all": _SVG.format("M4 6h16M4 12h16M4 18h16"),
}


@dataclass(frozen=True, slots=True)
class ReaderChoice:
    """What a reader chose: the branch, the depth, thinking, which calls alone are shown, and diffs side by side."""

    branch: int = 0
    depth: str = "calls"
    thinking: bool = False
    only: str = ""
    split: bool = False

    @property
    def options(self) -> ViewOptions:
        thinking = self.thinking or self.only == "thinking"
        return ViewOptions(depth=self.depth, thinking=thinking, lines=RESULT_LINES, details=True)

    def query(self, **more: object) -> str:
        """Return the choice as a URL query with a leading `?`; empty if every value is the default."""
        values = {
            "branch": self.branch,
            "depth": self.depth if self.depth != "calls" else "",
            "thinking": self.thinking,
            "only": self.only,
            "split": self.split,
        }
        parameters = {name: str(int(v) if isinstance(v, bool) else v) for name, v in {**values, **more}.items() if v}
        return f"?{urlencode(parameters)}" if parameters else ""


def parse_choice(parameters: Iterable[tuple[str, str]]) -> ReaderChoice:
    """Parse the choice from the parameters of a URL; invalid values are ignored."""
    values = dict(parameters)
    number, depth, only = values.get("branch", ""), values.get("depth", ""), values.get("only", "")
    branch = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
    return ReaderChoice(
        branch,
        depth if depth in DEPTHS else "calls",
        values.get("thinking") == "1",
        only if only in ONLY or (only.startswith("tool:") and len(only) < MAX_TOOL) else "",
        values.get("split") == "1",
    )


def session_url(session: str, agent: str = "") -> str:
    """Return the URL of a session, or of an agent in it."""
    url = f"/session/{quote(session, safe='')}"
    return f"{url}/agent/{quote(agent, safe='')}" if agent else url


def page_html(reading: Reading, page: Page, choice: ReaderChoice, is_revealed: bool, links: RowLinks) -> str:
    """Render all parts of a page."""
    return "".join(part_html(reading, piece, choice, is_revealed, "", links) for piece in page)


def part_html(
    reading: Reading,
    piece: PagePart,
    choice: ReaderChoice,
    is_revealed: bool,
    prefix: str = "",
    links: RowLinks | None = None,
) -> str:
    """Render a part of a turn; a part that continues a turn is a section of its own, with the id `part-5-60`."""
    rows = part_rows(reading, piece, choice.options)
    rows = rows if is_revealed else mask_rows(rows)
    html = "".join(fragments(filter_rows(rows, choice.only) if choice.only else rows, prefix, links))
    if piece.start == 0:
        return html
    name = f"Turn {piece.turn.number}, continued"
    start = f'<section class="turn" id="{prefix}{part_name(piece)}" aria-label="{name}">\n'
    return f'{start}<header><p class="took">{name}</p></header>\n{html}</section>\n'


def part_name(piece: PagePart) -> str:
    """Return the id of the element that contains a part."""
    return f"part-{piece.turn.number}-{piece.start}" if piece.start else f"turn-{piece.turn.number}"


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


def filter_rows(rows: Iterable[Row], only: str) -> Iterator[Row]:
    """Yield the prompts, and of the other rows those of one kind, with what they contain."""
    is_kept = False
    for row in rows:
        if isinstance(row, CallRow) and row.depth == 0:
            is_kept = shows_call(row.tool, row.failed, only)
        elif row.depth == 0 and not isinstance(row, CALL_CONTENT):
            is_kept = False
        is_other = (
            isinstance(row, ThinkingRow) if only == "thinking" else isinstance(row, ErrorRow) and only == "errors"
        )
        if is_kept or (row.depth == 0 and (is_other or isinstance(row, PromptRow))):
            yield row


def shows_call(tool: str, failed: bool, only: str) -> bool:
    """Return whether a filter keeps a call."""
    kinds = {"errors": failed, "edits": tool in WRITING_TOOLS, "agents": tool in AGENT_TOOLS}
    return kinds.get(only, False) or only == f"tool:{tool}"


class ReaderLinks(RowLinks):
    """The links of a reader page: actions of turns, pages of agents, complete outputs, and other branches."""

    def __init__(self, reading: Reading, choice: ReaderChoice, costs: dict[int, str], forks: Forks) -> None:
        self._root, self._choice, self._costs, self._forks = reading.root.id, choice, costs, forks
        self._home = session_url(reading.root.id, reading.agent.id if reading.agent else "")

    def turn(self, row: PromptRow) -> str:
        number = row.number
        link = escape(f"{self._home}/turn/{number}")
        query, full = escape(self._choice.query()), escape(replace(self._choice, depth="full").query())
        cost = f' <span class="cost">{escape(self._costs[number])}</span>' if self._costs.get(number) else ""
        forks = "".join(
            f' <a class="fork" href="{escape(self._home)}?branch={branch}">branch {branch}: {escape(text)}</a>'
            for branch, text in self._forks.get(number, ())
        )
        return (
            f'{cost} <span class="links">'
            f'<a href="{link}{query}" aria-label="Link to turn {number}" title="Link">{_ICONS["link"]}</a> '
            f'<a href="{link}/markdown{query}" data-copy="The turn was copied." '
            f'aria-label="Turn {number} as Markdown" title="Copy as Markdown">{_ICONS["copy"]}</a> '
            f'<a href="{link}/prompt{query}" data-copy="The prompt was copied." '
            f'aria-label="Prompt of turn {number}" title="Copy the prompt">{_ICONS["prompt"]}</a> '
            f'<a href="{link}{full}" aria-label="Turn {number} with everything" title="Everything">'
            f"{_ICONS['all']}</a></span>{forks}"
        )

    def agent(self, row: AgentRow) -> str:
        return f'<p class="own"><a href="{escape(session_url(self._root, row.id))}">Open on its own page</a></p>\n'

    def whole(self, call: str) -> str:
        return f"{self._home}/call/{quote(call, safe='')}{replace(self._choice, depth='full').query()}" if call else ""


Forks = dict[int, list[tuple[int, str]]]  # (number, last prompt) of the branches that leave before a turn


def mark_words(html: str, words: str) -> str:
    """Mark words, ignoring case, in HTML that `fragments` made, and open the elements that contain them."""
    pattern = re.compile(re.escape(words.strip()), re.IGNORECASE)
    parts = _TAG.split(html)  # text and tags in turn
    opened: list[int] = []  # places of the details around
    skipped = 0
    for index, part in enumerate(parts):
        if index % 2:
            skipped += (part == "<header>") - (part == "</header>")
            if part.startswith("<details"):
                opened.append(index)
            elif part == "</details>":
                opened.pop()
        elif not skipped and words.strip() and (found := list(pattern.finditer(unescape(part)))):
            parts[index] = _marked(unescape(part), found)
            for place in opened:
                parts[place] = parts[place] if parts[place].endswith(" open>") else f"{parts[place][:-1]} open>"
    return "".join(parts)


def _marked(text: str, found: Sequence[re.Match[str]]) -> str:
    html, at = "", 0
    for match in found:
        html += f"{escape(text[at : match.start()])}<mark>{escape(match[0])}</mark>"
        at = match.end()
    return html + escape(text[at:])


_TAG = re.compile(r"(<[^>]*>)")
