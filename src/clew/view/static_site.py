"""Archives: a folder of pages with an index that searches them, without a server and from a file too.

The index holds which words stand in which session, of what people and the model said; it is made from rows as they pass on
their way to a printer, so it knows nothing that was masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from html import escape
from typing import NamedTuple
from unicodedata import normalize

from clew.view.header import About
from clew.view.html_page import closed, heading, opened
from clew.view.row_html import moment
from clew.view.row_markdown import escaped
from clew.view.rows import Row
from clew.view.sanitize import one_line
from clew.wire.json_codec import encode

LONGEST = 40  # letters of a word; longer runs are cut, and found by their parts
MOST = 8000  # words of one session, beyond which it holds every word anyway
_SPOKEN = frozenset({"prompt", "queued", "reply", "plan", "summary", "call", "agent", "todo"})
_WORD = re.compile(r"\w{2,}")
_NAME = re.compile(r"[^a-z0-9]+")


class Exported(NamedTuple):
    """A session in the archive, and the name of its file."""

    about: About
    file: str


class WordIndex:
    """Which words stand in which session, by its number in the archive."""

    def __init__(self) -> None:
        self.index: dict[str, list[int]] = {}

    def passing(self, rows: Iterable[Row], number: int) -> Iterator[Row]:
        """The rows as they are, with their words taken down when the last has passed."""
        found: set[str] = set()
        for row in rows:
            if row.kind in _SPOKEN and len(found) < MOST:
                found.update(_WORD.findall(row.text.lower()))
            yield row
        for word in found:
            for at in range(0, len(word), LONGEST):
                places = self.index.setdefault(word[at : at + LONGEST], [])
                if places[-1:] != [number]:
                    places.append(number)


def file_name(about: About, suffix: str) -> str:
    """A name that tells when and what, in letters that every system takes."""
    day = f"{about.started.astimezone(UTC):%Y-%m-%d}" if about.started else "undated"
    plain = normalize("NFKD", about.title).encode("ascii", "ignore").decode().lower()
    title = _NAME.sub("-", plain).strip("-")[:48].strip("-")
    number = _NAME.sub("-", about.id.lower())[:8].strip("-")
    return "-".join(part for part in (day, title, number) if part) + suffix


def index_page(title: str, sessions: Iterable[Exported], words: WordIndex) -> Iterator[str]:
    """The page that leads to the others."""
    scripts = ("page.js", "search.js")
    yield from opened(title, scripts)
    yield heading(title, ("theme",))
    yield '<main>\n<div hidden><input type="search" aria-label="Search these sessions" placeholder="Search"></div>\n'
    yield '<p class="about" id="found" role="status"></p>\n<ul class="sessions">\n'
    for about, file in sessions:
        told = " · ".join(escape(one_line(value)) for name, value in about.told if name != "id")
        link = f'<a href="{escape(file)}">{escape(one_line(about.title))}</a>'
        yield f'<li>{link}{moment(about.started)}<br><span class="about">{told}</span></li>\n'
    yield "</ul>\n</main>\n"
    yield f'<script type="application/json" id="words">{_data(words.index)}</script>\n'
    yield from closed(scripts)


def index_text(title: str, sessions: Iterable[Exported]) -> Iterator[str]:
    """The same in Markdown, without the search."""
    yield f"# {escaped(title)}\n\n"
    for about, file in sessions:
        day = f"{about.started.astimezone(UTC):%Y-%m-%d}: " if about.started else ""
        yield f"- {day}[{escaped(about.title)}]({file})\n"


def _data(index: dict[str, list[int]]) -> str:
    """JSON that no parser of HTML finds an end in."""
    return encode(index).decode().replace("<", "\\u003c").replace("&", "\\u0026")
