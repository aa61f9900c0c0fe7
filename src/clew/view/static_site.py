"""Export sessions as a folder of pages with an index page that searches them without a server.

The word index covers what users and the model wrote. It is built from rows on their way to a printer, so it contains
nothing that was masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from html import escape
from typing import NamedTuple
from unicodedata import normalize

from clew.view.header import About
from clew.view.html_page import heading, page_end, page_start
from clew.view.row_html import time_tag
from clew.view.row_markdown import escape_markdown
from clew.view.row_types import AgentRow, CallRow, PlanRow, PromptRow, QueuedRow, ReplyRow, Row, SummaryRow, TodoRow
from clew.view.sanitize import one_line
from clew.wire.json_codec import encode

MAX_WORD = 40  # letters; longer words are split, and found by their parts
MAX_WORDS = 8000  # per session; with more, it contains almost any word
_INDEXED = (PromptRow, QueuedRow, ReplyRow, PlanRow, SummaryRow, CallRow, AgentRow, TodoRow)
_WORD = re.compile(r"\w{2,}")
_NAME = re.compile(r"[^a-z0-9]+")


class Exported(NamedTuple):
    """An exported session, and the name of its file."""

    about: About
    file: str


class WordIndex:
    """The sessions of each word, by their number in the export."""

    def __init__(self) -> None:
        self.index: dict[str, list[int]] = {}

    def index_rows(self, rows: Iterable[Row], number: int) -> Iterator[Row]:
        """Yield the rows unchanged, and add their words to the index after the last one."""
        words: set[str] = set()
        for row in rows:
            if isinstance(row, _INDEXED) and len(words) < MAX_WORDS:
                words.update(_WORD.findall(row.text.lower()))
            yield row
        for word in words:
            for start in range(0, len(word), MAX_WORD):
                numbers = self.index.setdefault(word[start : start + MAX_WORD], [])
                if numbers[-1:] != [number]:
                    numbers.append(number)


def file_name(about: About, suffix: str) -> str:
    """Return a file name of date, title and id in portable ASCII characters."""
    day = f"{about.started.astimezone(UTC):%Y-%m-%d}" if about.started else "undated"
    plain = normalize("NFKD", about.title).encode("ascii", "ignore").decode().lower()
    title = _NAME.sub("-", plain).strip("-")[:48].strip("-")
    number = _NAME.sub("-", about.id.lower())[:8].strip("-")
    return "-".join(part for part in (day, title, number) if part) + suffix


def index_page(title: str, sessions: Iterable[Exported], words: WordIndex) -> Iterator[str]:
    """Yield the index page."""
    scripts = ("page.js", "search.js")
    yield from page_start(title, scripts)
    yield heading(title, ("theme",))
    yield '<main>\n<div hidden><input type="search" aria-label="Search these sessions" placeholder="Search"></div>\n'
    yield '<p class="about" id="found" role="status"></p>\n<ul class="sessions">\n'
    for about, file in sessions:
        facts = " · ".join(escape(one_line(value)) for name, value in about.details if name != "id")
        link = f'<a href="{escape(file)}">{escape(one_line(about.title))}</a>'
        yield f'<li>{link}{time_tag(about.started)}<br><span class="about">{facts}</span></li>\n'
    yield "</ul>\n</main>\n"
    yield f'<script type="application/json" id="words">{_script_json(words.index)}</script>\n'
    yield from page_end(scripts)


def index_markdown(title: str, sessions: Iterable[Exported]) -> Iterator[str]:
    """Yield the index in Markdown, without search."""
    yield f"# {escape_markdown(title)}\n\n"
    for about, file in sessions:
        day = f"{about.started.astimezone(UTC):%Y-%m-%d}: " if about.started else ""
        yield f"- {day}[{escape_markdown(about.title)}]({file})\n"


def _script_json(index: dict[str, list[int]]) -> str:
    """Return JSON that cannot end a script element."""
    return encode(index).decode().replace("<", "\\u003c").replace("&", "\\u0026")
