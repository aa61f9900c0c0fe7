"""Export sessions as a folder of pages with an index page that searches them without a server.

The word index covers what users and the model wrote. It is built from rows on their way to a printer, so it contains
nothing that was masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from itertools import groupby
from typing import NamedTuple
from unicodedata import normalize

from clew.system.plural import plural
from clew.view.header import About
from clew.view.html_page import page_end, page_header, page_start
from clew.view.row_html import time_tag
from clew.view.row_markdown import escape_markdown
from clew.view.row_types import AgentRow, CallRow, PlanRow, PromptRow, QueuedRow, ReplyRow, Row, SummaryRow, TodoRow
from clew.view.sanitize import one_line
from clew.wire.json_codec import encode

MAX_WORD = 40  # letters; longer words are split, and found by their parts
MAX_WORDS = 8000  # per session; with more, it contains almost any word
_INDEXED = (PromptRow, QueuedRow, ReplyRow, PlanRow, SummaryRow, CallRow, AgentRow, TodoRow)
_WORD = re.compile(r"\w{2,}")
_NEVER = datetime.min.replace(tzinfo=UTC)
_NAME = re.compile(r"[^a-z0-9]+")


class Exported(NamedTuple):
    """An exported session, and the name of its file."""

    about: About
    file: str


class WordIndex:
    """The sessions of each word, by their number in the export."""

    def __init__(self) -> None:
        self.index: dict[str, list[int]] = {}

    def add(self, words: Iterable[str], number: int) -> None:
        """Add the words of a session. They should be sorted: the page has them in the order in which they came."""
        for word in words:
            for start in range(0, len(word), MAX_WORD):
                numbers = self.index.setdefault(word[start : start + MAX_WORD], [])
                if numbers[-1:] != [number]:
                    numbers.append(number)


def collect_words(words: set[str], rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows unchanged, and add what is searched of them to the words."""
    for row in rows:
        if isinstance(row, _INDEXED) and len(words) < MAX_WORDS:
            words.update(_WORD.findall(row.text.lower()))
        yield row


def file_name(about: About, suffix: str) -> str:
    """Return a file name of date, title and id in portable ASCII characters."""
    day = f"{about.started.astimezone(UTC):%Y-%m-%d}" if about.started else "undated"
    plain = normalize("NFKD", about.title).encode("ascii", "ignore").decode().lower()
    title = _NAME.sub("-", plain).strip("-")[:48].strip("-")
    number = _NAME.sub("-", about.id.lower())[:8].strip("-")
    return "-".join(part for part in (day, title, number) if part) + suffix


def index_page(title: str, sessions: Iterable[Exported], words: WordIndex) -> Iterator[str]:
    """Yield the index page: the sessions by day, the newest first, and a search over their words."""
    scripts = ("page.js", "search.js")
    yield from page_start(title, scripts)
    yield page_header(title)
    field = '<input type="search" aria-label="Search these sessions" placeholder="Search">'
    yield f'<main class="index">\n<p hidden>{field}</p>\n'
    rows = sorted(enumerate(sessions), key=lambda row: row[1].about.started or _NEVER, reverse=True)
    yield f'<p class="about" id="found" role="status">{plural(len(rows), "session")}</p>\n'
    for day, group in groupby(rows, key=lambda row: _day(row[1].about)):
        yield f'<section class="day">\n<h2>{day}</h2>\n<ul class="sessions">\n'
        yield from (_index_row(number, each) for number, each in group)
        yield "</ul>\n</section>\n"
    yield "</main>\n"
    yield f'<script type="application/json" id="words">{_script_json(words.index)}</script>\n'
    yield from page_end(scripts)


def _index_row(number: int, session: Exported) -> str:
    about = session.about
    details = dict(about.details)
    project = re.split(r"[/\\]", details.get("cwd", "").rstrip("/\\"))[-1]
    branches = f"{len(about.branches)} branches" if about.branches else ""
    names = (details.get("branch"), details.get("model"), details.get("turns"), branches, details.get("tokens"))
    facts = "".join(f"<span>{escape(one_line(each))}</span>" for each in names if each)
    chip = f'<span class="chip">{escape(one_line(project))}</span>' if project else ""
    time = f"<span>{time_tag(about.started).strip()}</span>" if about.started else ""
    link = f'<a href="{escape(session.file)}">{escape(one_line(about.title))}</a>'
    return f'<li data-number="{number}">{link}<p class="facts">{chip}{time}{facts}</p></li>\n'


def _day(about: About) -> str:
    if about.started is None:
        return "Undated"
    day = about.started.astimezone(UTC)
    return f"{day:%A}, {day.day} {day:%B %Y}"


def index_markdown(title: str, sessions: Iterable[Exported]) -> Iterator[str]:
    """Yield the index in Markdown, without search."""
    yield f"# {escape_markdown(title)}\n\n"
    for about, file in sessions:
        day = f"{about.started.astimezone(UTC):%Y-%m-%d}: " if about.started else ""
        yield f"- {day}[{escape_markdown(about.title)}]({file})\n"


def _script_json(index: dict[str, list[int]]) -> str:
    """Return JSON that cannot end a script element."""
    return encode(index).decode().replace("<", "\\u003c").replace("&", "\\u0026")
