"""A session as lists show it, from the index or from its file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from clew.conversation.session_listing import Outline
from clew.facts.secrets.mask_secrets import mask
from clew.index.gone_sessions import describe_gone
from clew.index.results import SearchResult, next_command
from clew.index.snippet import Passage
from clew.system import shell_quoting
from clew.system.plural import plural
from clew.view.sanitize import clean, one_line

_FILTER = r'(?i)(?<!\S){}:(?:"[^"]*"|\S*)\s*'
_PLAN = re.compile(r"\s*(?:please\s+)?implement\s+(?:the\s+following|this|the)\s+plan\s*[:.]\s*", re.IGNORECASE)
_PLAN_HEADING = re.compile(r"#+\s+(?:(?:implementation\s+)?plan\s*(?:[:–—-]|for)\s*)?", re.IGNORECASE)
_NEXT_HEADING = re.compile(r"\s#+\s")
ORDERS = {
    "best": "best first",
    "newest": "newest first",
    "oldest": "oldest first",
    "longest": "most messages first",
    "shortest": "fewest messages first",
}


class SessionItem(Struct, frozen=True):
    """A session in a list, with the passages that match the query.

    If its transcript is gone, `gone` says where it is known from and `note` what to do; `path` is then that of an
    archived copy, or empty. `prompts` are its prompts as far as the index or the prompt history has them. `looseness`
    says how it matches the query, if not exactly.
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
    looseness: str = ""

    @property
    def command(self) -> str:
        """The command that resumes the session, or the next step if its transcript is gone; empty if there is none."""
        return (
            next_command(self.session, self.gone) if self.gone else shell_quoting.resume_command(self.session, self.cwd)
        )

    @property
    def project(self) -> str:
        """The last part of the working directory."""
        return os.path.basename(self.cwd.replace("\\", "/").rstrip("/")) or self.folder


def item_from_result(result: SearchResult) -> SessionItem:
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
        result.looseness,
    )


def item_from_outline(outline: Outline) -> SessionItem:
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


def screen_text(text: str, reveal: bool) -> str:
    """Return transcript text on one line: cleaned, and with secrets masked unless `reveal`."""
    return one_line(text if reveal else mask(clean(text))[0])


def display_title(item: SessionItem, reveal: bool) -> str:
    """Return the title of a session for the screen.

    The words with which Claude Code starts the work on a plan are left out: "Implement the following plan: # X" is "X".
    """
    title = screen_text(item.title, reveal)
    if plan := _PLAN.match(title):
        rest = title[plan.end() :]
        heading = _PLAN_HEADING.match(rest)
        rest = _NEXT_HEADING.split(rest[heading.end() if heading else 0 :])[0].strip()
        title = rest or title
    return title or "(no prompt)"


def as_sentence(text: str, reveal: bool) -> str:
    """Return a note for the screen that starts with a capital."""
    note = screen_text(text, reveal)
    return note[:1].upper() + note[1:]


def passage_text(match: Passage, reveal: bool) -> tuple[str, list[tuple[int, int]]]:
    """Return a passage for the screen, and the ranges of its matches; none if cleaning or masking changed the text."""
    text = screen_text(match.text, reveal)
    return text, list(match.marks) if text == match.text else []


def passage_label(match: Passage) -> str:
    """Describe what a passage is, such as "Bash output" or "agent reply"."""
    name = f"{match.tool} {match.field}" if match.tool else match.field
    return one_line(f"agent {name}" if match.agent else name)


def match_pattern(passages: tuple[Passage, ...], reveal: bool) -> re.Pattern[str] | None:
    """Return a pattern for the terms that the passages matched; None without matches."""
    terms = {text[a:b].lower() for one in passages for text, marks in [passage_text(one, reveal)] for a, b in marks}
    pattern = "|".join(re.escape(word) for word in sorted(terms, key=lambda w: (-len(w), w)) if word.strip())
    return re.compile(pattern, re.IGNORECASE) if pattern else None


def count_sessions(hits: Sequence[SessionItem], of_best: bool = False) -> str:
    """Describe how many sessions a list has; those without a transcript are counted separately."""
    missing = sum(bool(hit.gone) for hit in hits)
    present = len(hits) - missing
    if not present and missing:
        return f"{plural(missing, 'session')} without transcript"
    text = plural(present, "best session" if of_best else "session")
    return f"{text} and {missing} without transcript" if missing else text


def describe_unlisted(count: int) -> str:
    """Describe the sessions that only the prompt history knows, which a list without search terms omits."""
    if not count:
        return ""
    return f"{count} more in the prompt history: search to find {'it' if count == 1 else 'them'}"


# -- filters, which are part of the query


def set_filter(query: str, name: str, value: str) -> str:
    """Return the query with one filter set, or without it if the value is empty."""
    others = re.sub(_FILTER.format(name), "", query).strip()
    if not value:
        return others
    quoted = f'"{value}"' if re.search(r"[\s,]", value) else value
    return f"{others} {name}:{quoted} ".lstrip()


def filter_value(query: str, name: str) -> str:
    """Return the value of a filter in a query; "" if it has none."""
    match = re.search(_FILTER.format(name), query)
    return match[0].strip().partition(":")[2].strip('"') if match else ""


def sort_items(items: Sequence[SessionItem], order: str) -> tuple[SessionItem, ...]:
    """Return sessions in one of ORDERS; "best" keeps the order of the search. Those without a time come last."""
    if order in ("newest", "oldest"):
        dated = sorted((item for item in items if item.when), key=_end, reverse=order == "newest")
        return (*dated, *(item for item in items if not item.when))
    if order in ("longest", "shortest"):
        return tuple(sorted(items, key=lambda item: item.messages, reverse=order == "longest"))
    return tuple(items)


def _end(item: SessionItem) -> datetime:
    return item.when or datetime.min.replace(tzinfo=UTC)


def count_projects(items: Sequence[SessionItem]) -> list[tuple[str, str, int]]:
    """Return the projects of sessions as (name, value of the filter, number of sessions), in the order of the sessions.

    The value is the name, or the folder if several projects have that name.
    """
    counts: dict[str, int] = {}
    for item in items:
        folder = item.cwd or item.folder
        counts[folder] = counts.get(folder, 0) + 1
    names = {folder: os.path.basename(folder.replace("\\", "/").rstrip("/")) or folder for folder in counts}
    taken = list(names.values())
    return [
        (names[folder], folder if taken.count(names[folder]) > 1 else names[folder], count)
        for folder, count in counts.items()
        if folder
    ]
