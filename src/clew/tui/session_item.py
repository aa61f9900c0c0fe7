"""Hits: what a list says of a session, whether the index knows it or only its file does."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from clew.conversation.session_listing import Outline
from clew.facts.secrets.mask_secrets import mask
from clew.index.gone_sessions import describe_gone
from clew.index.results import SearchResult, next_command
from clew.index.snippet import Passage
from clew.system import shell_quoting
from clew.system.plural import plural
from clew.view.sanitize import clean, one_line

_FILTER = r'(?<!\S){}:(?:"[^"]*"|\S*)\s*'
_SINCE = ("7d", "30d", "")


@dataclass(frozen=True, slots=True)
class SessionItem:
    """A session in the list, with the passages that answer the query.

    If its transcript is gone, `gone` says where it is known from and `note` what to do; the path is then that of a copy out
    of the archive, or empty. `prompts` is what the index or history has of its prompts.
    """

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
    gone: str = ""
    note: str = ""
    prompts: str = ""

    @property
    def command(self) -> str:
        """The command that resumes it, or the next step if its transcript is gone; empty if there is none."""
        return (
            next_command(self.session, self.gone) if self.gone else shell_quoting.resume_command(self.session, self.cwd)
        )

    @property
    def project(self) -> str:
        """The last part of the folder that it was worked in."""
        return os.path.basename(self.cwd.replace("\\", "/").rstrip("/")) or self.folder


def of_result(result: SearchResult) -> SessionItem:
    return SessionItem(
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
        result.gone,
        describe_gone(result) if result.gone else "",
        result.prompts,
    )


def of_outline(outline: Outline) -> SessionItem:
    file = outline.file
    return SessionItem(
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


def as_sentence(text: str, reveal: bool) -> str:
    """A note with a capital, fit for the screen."""
    note = shown(text, reveal)
    return note[:1].upper() + note[1:]


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


def count_sessions(hits: Sequence[SessionItem], of_best: bool = False) -> str:
    """How many sessions a list has; those whose transcript is gone are counted apart."""
    gone = sum(bool(hit.gone) for hit in hits)
    there = len(hits) - gone
    if not there and gone:
        return f"{plural(gone, 'session')} without transcript"
    told = plural(there, "best session" if of_best else "session")
    return f"{told} and {gone} without transcript" if gone else told


def describe_unlisted(count: int) -> str:
    """What to say about sessions that only the prompt history knows, which a list without words leaves out."""
    if not count:
        return ""
    return f"{count} more in the prompt history: search to find {'it' if count == 1 else 'them'}"


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
