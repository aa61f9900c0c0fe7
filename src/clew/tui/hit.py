"""Hits: what a list says of a session, whether the index knows it or only its file does."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from clew.conversation.outline import Outline
from clew.facts.secret import mask
from clew.index.passage import Passage
from clew.index.result import Result
from clew.view.plain import clean, one_line

_FILTER = r'(?<!\S){}:(?:"[^"]*"|\S*)\s*'
_SINCE = ("7d", "30d", "")


@dataclass(frozen=True, slots=True)
class Hit:
    """A session in the list, with the passages that answer the query."""

    session: str
    path: str
    title: str = ""
    cwd: str = ""
    folder: str = ""
    branch: str = ""
    when: datetime | None = None
    messages: int = 0
    matches: int = 0
    passages: tuple[Passage, ...] = ()

    @property
    def project(self) -> str:
        """The last part of the folder that it was worked in."""
        return os.path.basename(self.cwd.replace("\\", "/").rstrip("/")) or self.folder


def of_result(result: Result) -> Hit:
    return Hit(
        result.session,
        result.path,
        result.title,
        result.cwd,
        result.folder,
        result.branch,
        datetime.fromtimestamp(result.ended, UTC) if result.ended else None,
        result.messages,
        result.matches,
        tuple(result.passages),
    )


def of_outline(outline: Outline) -> Hit:
    file = outline.file
    return Hit(
        outline.id,
        str(file.path),
        outline.title,
        outline.cwd or "",
        file.project_folder.name,
        outline.branch_name or "",
        outline.when,
    )


def shown(text: str, reveal: bool) -> str:
    """Text of a transcript on one line, fit for the screen: cleaned, and without its secrets."""
    return one_line(text if reveal else mask(clean(text))[0])


def passage(found: Passage, reveal: bool) -> tuple[str, list[tuple[int, int]]]:
    """A passage fit for the screen, and where its matches are; where it changes its marks would be wrong and go."""
    text = shown(found.text, reveal)
    return text, list(found.marks) if text == found.text else []


def kind(found: Passage) -> str:
    """What a passage is, in a word or two."""
    name = f"{found.tool} {found.field}" if found.tool else found.field
    return one_line(f"agent {name}" if found.agent else name)


def words(passages: tuple[Passage, ...], reveal: bool) -> re.Pattern[str] | None:
    """A pattern for the words that the passages of a hit were found by."""
    found = {text[a:b].lower() for one in passages for text, marks in [passage(one, reveal)] for a, b in marks}
    whole = "|".join(re.escape(word) for word in sorted(found, key=lambda w: (-len(w), w)) if word.strip())
    return re.compile(whole, re.IGNORECASE) if whole else None


# -- filters, which are part of the query


def filtered(query: str, name: str, value: str) -> str:
    """The query with one filter set, or without it if the value is empty."""
    rest = re.sub(_FILTER.format(name), "", query).strip()
    if not value:
        return rest
    quoted = f'"{value}"' if re.search(r"\s", value) else value
    return f"{rest} {name}:{quoted} ".lstrip()


def has_filter(query: str, name: str) -> bool:
    return re.search(_FILTER.format(name), query) is not None


def next_since(query: str) -> str:
    """The query with the next span of time: seven days, thirty days, all of it."""
    found = re.search(r"(?<!\S)since:(\S*)", query)
    at = _SINCE.index(found[1]) + 1 if found and found[1] in _SINCE else 0
    return filtered(query, "since", _SINCE[at % len(_SINCE)])
