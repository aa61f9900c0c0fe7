"""The list of all sessions: filters, orders, counts for suggestions, and groups by day."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from clew.browse.summary_thread import SummarySnapshot
from clew.report.session_summary import SessionSummary
from clew.wire.content_time import last_used
from clew.wire.layout import SessionFile
from clew.wire.timestamps import parse_user_time
from clew.wire.tree_walk import TranscriptFile

MIN_ID = 4  # letters of an id that select a session
LIVE_SECONDS = 300  # a session that was written to more recently is live
ORDERS = {
    "newest": "newest first",
    "oldest": "oldest first",
    "cost": "most expensive first",
    "longest": "longest first",
    "turns": "most turns first",
    "errors": "most errors first",
}
HAS = {
    "agents": "agents",
    "branches": "several branches",
    "compactions": "a compaction",
    "errors": "errors",
    "edits": "edited files",
}
IS = {"pinned": "pinned", "live": "live", "interrupted": "interrupted", "unpriced": "without a price"}
NAMES = ("project", "model", "tool", "file", "tag", "since", "until", "has", "is")
_IN_TEXT = re.compile(rf'(?<!\S)({"|".join(NAMES)}):("[^"]*"|\S+)\s*', re.IGNORECASE)


class ListFilters(NamedTuple):
    """What the list shows. `q` are words of the title, the first prompt, the project, the branch or the id."""

    q: str = ""
    project: str = ""
    model: str = ""
    tool: str = ""
    file: str = ""
    tag: str = ""
    since: str = ""
    until: str = ""
    has: str = ""
    is_: str = ""
    order: str = ""

    @classmethod
    def parse(cls, values: Mapping[str, str]) -> ListFilters:
        """Read the filters from the parameters of an address. `q` may contain filters too, as in `tag:money`."""
        given = {name: values.get(name, "").strip()[:200] for name in ("q", *NAMES, "order")}
        for match in _IN_TEXT.finditer(given["q"]):
            given[match[1].lower()] = match[2].strip('"')
        given["q"] = " ".join(_IN_TEXT.sub("", given["q"]).split())
        given["order"] = given["order"] if given["order"] in ORDERS else ""
        given["is_"] = given.pop("is")
        return cls(**given)

    def parameters(self, **changed: str) -> dict[str, str]:
        """Return the parameters of the address for these filters with some changed; empty ones are left out."""
        values = {name.rstrip("_"): value for name, value in self._asdict().items()} | changed
        return {name: value for name, value in values.items() if value}

    @property
    def active(self) -> dict[str, str]:
        """The filters that are set, without the words and the order."""
        return {name: value for name, value in self.parameters().items() if name in NAMES}


class ListRow(Struct, frozen=True):
    """A session in the list; `summary` is None if it has not been read yet. `ended` is in seconds since 1970.

    `words` is the text in which the words of a filter are looked for, in lower case.
    """

    session: str
    path: str
    file: SessionFile
    ended: float
    summary: SessionSummary | None
    words: str

    def is_live(self, now: float) -> bool:
        return 0 <= now - self.ended < LIVE_SECONDS

    def has_state(self, found: TranscriptFile) -> bool:
        """Return whether the row was made of a file in this state."""
        return (self.file.size, self.file.mtime_ns) == (found.size, found.mtime_ns)


class SessionMarks(NamedTuple):
    """What the user has noted about sessions: pins, and tags by session."""

    pins: Collection[str] = ()
    tags: Mapping[str, Collection[str]] = {}

    def tags_of(self, row: ListRow) -> list[str]:
        """Return the tags of a session: that of its file, then those of the user."""
        own = [row.summary.tag] if row.summary and row.summary.tag else []
        return list(dict.fromkeys([*own, *self.tags.get(row.session, ())]))


def list_sessions(snapshot: SummarySnapshot, before: Iterable[ListRow] = ()) -> list[ListRow]:
    """Return every session once, newest first by its content; of several files of one id the newest.

    Rows from `before` are taken over if nothing has changed in them.
    """
    made = {row.path: row for row in before}
    newest: dict[str, ListRow] = {}
    for path, found in snapshot.files.items():
        summary = snapshot.summaries.get(path)
        if summary is None and snapshot.is_complete:
            continue  # it contains no conversation
        row = made.get(path)
        if row is None or row.summary is not summary or not row.has_state(found):
            row = _make_row(found, summary)
        known = newest.get(row.session)
        if known is None or known.ended < row.ended:
            newest[row.session] = row
    return sorted(newest.values(), key=lambda row: (-row.ended, row.session))


def _make_row(found: TranscriptFile, summary: SessionSummary | None) -> ListRow:
    path = Path(found.path)
    file = SessionFile(path, path.parent, found.size, found.mtime_ns)
    ended = summary.ended if summary and summary.ended else last_used(file).timestamp()
    return ListRow(found.session, found.path, file, ended, summary, listed_words(summary, path.parent.name))


def listed_words(summary: SessionSummary | None, folder: str) -> str:
    """Return the text of a session in which the words of a filter are looked for."""
    known = (summary.title, summary.first_prompt, summary.cwd, summary.branch) if summary else (folder,)
    return " ".join(known).lower()


def select_sessions(rows: Sequence[ListRow], filters: ListFilters, marks: SessionMarks, now: float) -> list[ListRow]:
    """Return the sessions that pass the filters, in their order. Sessions that are not read yet pass only filters by
    project and time. Raises ValueError for a time that cannot be understood.
    """
    found = list(rows)
    for test in _tests(rows, filters, marks, now):
        found = [row for row in found if test(row)]
    key = _ORDER_KEYS.get(filters.order)
    return sorted(found, key=key) if key else found


def _tests(
    rows: Sequence[ListRow], filters: ListFilters, marks: SessionMarks, now: float
) -> Iterable[Callable[[ListRow], bool]]:
    if filters.since:
        since = parse_user_time(filters.since).timestamp()
        yield lambda row: row.ended >= since
    if filters.until:
        until = parse_user_time(filters.until).timestamp()
        yield lambda row: (row.summary.started if row.summary and row.summary.started else row.ended) < until
    if filters.project:
        yield _project_test(rows, filters.project)
    if filters.tag:
        tag = filters.tag.lower()
        yield lambda row: any(each.lower() == tag for each in marks.tags_of(row))
    for name in filter(None, filters.is_.lower().split(",")):
        yield _state_test(name, marks, now)
    if filters.q:
        yield _word_test(filters.q)
    summary_tests = list(_summary_tests(filters))
    if summary_tests:
        yield lambda row: row.summary is not None and all(test(row.summary) for test in summary_tests)


def _project_test(rows: Sequence[ListRow], value: str) -> Callable[[ListRow], bool]:
    """Match a project by its name or folder, and folders below it; if there is none, by a part of its path."""
    wanted = value.lower().rstrip("/\\")

    def is_in(row: ListRow) -> bool:
        cwd = _cwd(row).lower()
        return wanted in (_project(row).lower(), cwd, _folder(row).lower()) or cwd.startswith(f"{wanted}/")

    if any(map(is_in, rows)):
        return is_in
    return lambda row: wanted in _cwd(row).lower() or wanted in _folder(row).lower()


def _state_test(name: str, marks: SessionMarks, now: float) -> Callable[[ListRow], bool]:
    if name == "pinned":
        return lambda row: row.session in marks.pins
    if name == "live":
        return lambda row: row.is_live(now)
    if name == "interrupted":
        return lambda row: bool(row.summary and row.summary.is_interrupted)
    if name == "unpriced":
        return lambda row: bool(row.summary and row.summary.unpriced)
    return lambda row: False


def _word_test(text: str) -> Callable[[ListRow], bool]:
    words = text.lower().split()

    def has_words(row: ListRow) -> bool:
        whole = row.words
        return all(word in whole or (len(word) >= MIN_ID and row.session.startswith(word)) for word in words)

    return has_words


def _summary_tests(filters: ListFilters) -> Iterable[Callable[[SessionSummary], bool]]:
    model, tool, file = filters.model.lower(), filters.tool.lower(), filters.file.lower()
    if model:
        yield lambda summary: any(model in name.lower() for name in summary.models)
    if tool:
        yield lambda summary: any(tool == name.lower() for name in summary.tools)
    if file:
        yield lambda summary: any(file in path.lower() for path in summary.edited)
    for name in filter(None, filters.has.lower().split(",")):
        yield _HAS_TESTS.get(name, lambda summary: False)


_HAS_TESTS: dict[str, Callable[[SessionSummary], bool]] = {
    "agents": lambda summary: summary.agents > 0,
    "branches": lambda summary: summary.branches > 1,
    "compactions": lambda summary: summary.compactions > 0,
    "errors": lambda summary: summary.errors > 0,
    "edits": lambda summary: bool(summary.edited),
}


def _number(name: str) -> Callable[[ListRow], float]:
    return lambda row: -float(getattr(row.summary, name)) if row.summary else 1.0


_ORDER_KEYS: dict[str, Callable[[ListRow], float]] = {
    "oldest": lambda row: row.ended,
    "cost": _number("cost_micros"),
    "longest": _number("active_seconds"),
    "turns": _number("turns"),
    "errors": _number("errors"),
}


def _cwd(row: ListRow) -> str:
    return row.summary.cwd.replace("\\", "/") if row.summary else ""


def _folder(row: ListRow) -> str:
    return row.file.project_folder.name


def _project(row: ListRow) -> str:
    return row.summary.project if row.summary else ""


def count_values(
    rows: Sequence[ListRow], filters: ListFilters, marks: SessionMarks, now: float
) -> dict[str, list[tuple[str, int]]]:
    """Return the values that each filter can take with the number of sessions, most first.

    They are counted among the sessions that the other filters select.
    """
    states = {name: _state_test(name, marks, now) for name in IS}
    counted: dict[str, Callable[[ListRow], Iterable[str]]] = {
        "project": lambda row: [_project(row)] if _project(row) else [],
        "model": lambda row: row.summary.models if row.summary else (),
        "tool": lambda row: row.summary.tools if row.summary else (),
        "tag": marks.tags_of,
        "file": lambda row: row.summary.edited if row.summary else (),
        "has": lambda row: [name for name, test in _HAS_TESTS.items() if row.summary and test(row.summary)],
        "is": lambda row: [name for name, test in states.items() if test(row)],
    }
    shared = select_sessions(rows, filters._replace(order=""), marks, now)
    values = {}
    for name, values_of in counted.items():
        attribute = "is_" if name == "is" else name
        others = filters._replace(**{attribute: "", "order": ""})
        chosen = shared if not getattr(filters, attribute) else select_sessions(rows, others, marks, now)
        counts = Counter(value for row in chosen for value in values_of(row) if value)
        values[name] = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return values


def group_name(ended: float, now: float, zone: tzinfo | None = None) -> str:
    """Return the group of a session in a list by time: Today, Yesterday, This week, Last week, or its month."""
    day, today = (datetime.fromtimestamp(moment, zone).date() for moment in (ended, now))
    monday = today - timedelta(days=today.weekday())
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day >= monday:
        return "This week"
    if day >= monday - timedelta(days=7):
        return "Last week"
    return f"{day:%B %Y}"
