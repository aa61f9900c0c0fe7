"""Suggest how a query can go on: operators, and the values that they can take in the sessions at hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from clew.browse.filtered_sessions import ListFilters, ListRow, SessionMarks, count_values
from clew.index.query_pieces import FILTER_NAMES
from clew.index.query_syntax import ROLE_FIELDS, SEARCH_FIELDS

MAX_SHOWN = 8
# Operator, example, meaning; the page explains them in this order.
OPERATORS = (
    ('"…"', '"exact phrase"', "words in sequence"),
    ("project:", "project:bakery", "sessions of a project"),
    ("tool:", "tool:Bash", "calls of a tool, and their results"),
    ("file:", "file:pricing.py", "calls that name a file"),
    ("is:error", "is:error", "calls that failed"),
    ("in:", "in:prompt", "what you wrote; also reply, thinking, input, result, title, todo, plan, summary"),
    ("since:", "since:7d", "also until:; days, weeks, dates, months"),
    ("model:", "model:opus", "sessions with a model"),
    ("branch:", "branch:main", "sessions on a git branch"),
    ("has:agent", "has:agent", "sessions with agents; is:agent finds what agents wrote"),
    ("tag:", "tag:money", "sessions with a tag"),
    ("-", "retry -test", "without a word; OR joins alternatives"),
)
_FIXED = {
    "in": SEARCH_FIELDS,
    "role": tuple(ROLE_FIELDS),
    "is": ("error", "agent"),
    "has": ("agent",),
    "since": ("1d", "7d", "30d", "365d"),
    "until": ("7d", "30d"),
}
_LAST = re.compile(r"(?:^|(?<=\s))-?([a-z]+)(:?)(\S*)$", re.IGNORECASE)


class Suggestion(NamedTuple):
    """A text that continues the query; `query` is the whole query then, `number` counts its sessions if it is known."""

    label: str
    query: str
    number: int = -1


def suggest(
    text: str, rows: Sequence[ListRow], marks: SessionMarks, is_shown: Callable[[str], bool]
) -> list[Suggestion]:
    """Return how the last word of a query can go on. Values for which `is_shown` is false are secret."""
    match = _LAST.search(text)
    if match is None:
        return []
    name, colon, value = match[1].lower(), match[2], match[3].lower().lstrip('"')
    before = text[: match.start(1)]
    if not colon:
        names = [each for each in FILTER_NAMES if each.startswith(name) and len(name) > 1]
        return [Suggestion(f"{each}:", f"{before}{each}:") for each in names]
    if name not in FILTER_NAMES:
        return []
    found = _values(name, rows, marks)
    fitting = [(each, number) for each, number in found if value in each.lower() and each.lower() != value]
    return [
        Suggestion(f"{name}:{each}"[:60], f"{before}{name}:{_quoted(each)} ", number)
        for each, number in fitting[:MAX_SHOWN]
        if '"' not in each and is_shown(each)
    ]


def _values(name: str, rows: Sequence[ListRow], marks: SessionMarks) -> list[tuple[str, int]]:
    if name in _FIXED:
        return [(value, -1) for value in _FIXED[name]]
    if name in ("project", "model", "tool", "tag"):
        return count_values(rows, ListFilters(), marks, 0.0)[name]
    if name == "file":
        files = count_values(rows, ListFilters(), marks, 0.0)["file"]
        return [(path.replace("\\", "/").rpartition("/")[2], number) for path, number in files]
    if name == "branch":
        branches = dict.fromkeys(row.summary.branch for row in rows if row.summary and row.summary.branch)
        return [(branch, -1) for branch in branches]
    return []


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"[\s,]", value) else value
