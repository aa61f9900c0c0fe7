"""Collect the facts of a session (titles, times, models, rounds) from its entries, incrementally."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from zlib import crc32

from msgspec import field as renamed

from clew.conversation.rounds import Divider, Features, features_of, marks_of
from clew.conversation.session_listing import Outline
from clew.conversation.speaker import input_kind, prompt_text, speaker, starts_turn
from clew.conversation.titles import WINDOW
from clew.errors import READ_ERRORS
from clew.index.base64_filter import strip_base64
from clew.index.query_syntax import COMPLEXITIES, INPUTS, ROUND_KINDS
from clew.wire.entry import BaseEntry
from clew.wire.layout import session_at
from clew.wire.timestamps import LATEST, parse_timestamp

MAX_PROMPT = 200  # characters of the first prompt
MAX_OPEN_CALLS = 64  # calls without a result that are remembered, the newest
_INPUT_NUMBERS = {kind: number for number, kind in enumerate(INPUTS, 1)}
_LATEST = int(LATEST.timestamp())
_SECONDS = {f"{second:02}.": second for second in range(60)}
_MILLISECONDS = frozenset(f"{number:03}Z" for number in range(1000))


class IndexedEntry(BaseEntry, frozen=True, gc=False, eq=False):
    """The fields of an entry that are indexed in addition to its text."""

    cwd: str | None = None
    branch: str | None = renamed(default=None, name="gitBranch")
    session_id: str | None = renamed(default=None, name="sessionId")
    custom_title: str | None = renamed(default=None, name="customTitle")
    ai_title: str | None = renamed(default=None, name="aiTitle")
    last: str | None = renamed(default=None, name="lastPrompt")
    summary: str | None = None
    leaf: str | None = renamed(default=None, name="leafUuid")
    parent: str | None = renamed(default=None, name="parentUuid")
    permission_mode: str | None = renamed(default=None, name="permissionMode")
    tag: str | None = None
    pr_number: int | None = renamed(default=None, name="prNumber")
    pr_repository: str | None = renamed(default=None, name="prRepository")


@dataclass
class SessionFacts:
    """The columns of a row of `file` that come from the entries, in the order of `COLUMNS`."""

    session: str
    custom_title: str | None = None
    ai_title: str | None = None
    last: str | None = None
    summary: str | None = None
    first: str | None = None
    command: str | None = None
    cwd: str | None = None
    branches: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    started: int | None = None
    ended: int | None = None
    messages: int = 0
    open: dict[str, tuple[str, int]] = field(default_factory=dict)
    root: int = 0
    round: int = 0
    round_class: int = 0
    spoken: str = ""  # the time of the last message
    labels: list[str] = field(default_factory=list)  # tags and pull requests
    tag: str = ""
    shown: str | None = None  # the title in lists, if it needs another look at the file

    @property
    def titles(self) -> str:
        """The titles that are searchable as titles. Prompts used as a title are found as prompts."""
        return "\n".join(title for title in dict.fromkeys((self.custom_title, self.ai_title, self.summary)) if title)

    def row(self) -> tuple[str | int | None, ...]:
        return (
            *(
                self.session,
                self.custom_title,
                self.ai_title,
                self.last,
                self.summary,
                self.first,
                self.command,
                self.cwd,
            ),
            *("\n".join(self.branches), "\n".join(self.models), self.started, self.ended, self.messages),
            "\n".join(f"{call}\t{tool}\t{at}" for call, (tool, at) in self.open.items()),
            *(
                self.root,
                self.round,
                self.round_class,
                _row_text(self.spoken),
                "\n".join(self.labels),
                self.tag,
                self.shown,
            ),
        )


COLUMNS = (
    *("session", "custom", "made", "last", "summary", "first", "command", "cwd"),
    *(
        "branches",
        "models",
        "started",
        "ended",
        "messages",
        "open",
        "root",
        "round",
        "class",
        "spoken",
        "labels",
        "tag",
        "shown",
    ),
)


def facts_from_row(row: tuple[object, ...]) -> SessionFacts:
    """Return the facts stored in a row."""
    facts = SessionFacts(*row)  # type: ignore[arg-type]
    branches, models, waiting, labels = (
        str(value) for value in (facts.branches, facts.models, facts.open, facts.labels)
    )
    facts.branches = branches.split("\n") if branches else []
    facts.models = models.split("\n") if models else []
    facts.labels = labels.split("\n") if labels else []
    calls = [line.split("\t") for line in waiting.split("\n")] if waiting else []
    facts.open = {call: (tool, int(at)) for call, tool, at in calls}
    return facts


def update_facts(entry: IndexedEntry, facts: SessionFacts, when: int | None, is_agent: bool) -> None:
    """Add the facts of one entry. Summaries are handled elsewhere: most of those in a file belong to another
    session.
    """
    kind = entry.type
    if kind == "assistant":
        facts.messages += 1
        model = entry.message.model if entry.message else None
        if model and model not in facts.models and model != "<synthetic>":
            facts.models.append(_row_text(model))
    elif kind == "user":
        facts.messages += 1
        if facts.first is None and starts_turn(entry, is_agent):
            _set_first_prompt(entry, facts)
    elif entry.custom_title or entry.ai_title or entry.last:
        facts.custom_title = _single_line(entry.custom_title) or facts.custom_title
        facts.ai_title = _single_line(entry.ai_title) or facts.ai_title
        facts.last = _single_line(entry.last) or facts.last
    elif kind == "tag" or entry.pr_number:
        facts.tag = _single_line(entry.tag) if kind == "tag" else facts.tag
        pull_request = f"{entry.pr_repository or ''} pr {entry.pr_number} #{entry.pr_number}" if entry.pr_number else ""
        label = _single_line(entry.tag or pull_request)
        if label and label not in facts.labels:
            facts.labels.append(label)
    if when is not None and entry.uuid:
        if facts.started is None or when < facts.started:
            facts.started = when
        if facts.ended is None or when > facts.ended:
            facts.ended = when
    if entry.branch and entry.branch not in facts.branches:
        facts.branches.append(_row_text(entry.branch))
    if facts.cwd is None and entry.cwd:
        facts.cwd = entry.cwd.encode("utf-8", "replace").decode().replace("\0", "")  # not shortened: printed after `cd`
    if not facts.session and entry.session_id:
        facts.session = _row_text(entry.session_id)


def set_shown_title(facts: SessionFacts, path: str, size: int) -> None:
    """Set the title that lists show for a large file, of which they only read the two ends."""
    facts.shown = None
    if size > 2 * WINDOW:
        with suppress(*READ_ERRORS):
            facts.shown = _row_text(Outline(session_at(path)).title)


def update_round(entry: IndexedEntry, facts: SessionFacts, when: int | None, is_agent: bool) -> None:
    """Set the round that an entry belongs to, counted like `session.rounds`; `when` are the seconds of its time."""
    kind = entry.type
    if kind not in ("user", "assistant", "attachment") or (entry.is_sidechain and not is_agent):
        return
    marks = None
    if kind != "assistant" and (entry.permission_mode is not None or not facts.round or not entry.has_results):
        marks = marks_of(entry, entry.parent, entry.permission_mode, is_agent)
        divider = Divider(facts.round)
        if marks is not None and divider.add(marks):
            facts.round = divider.number
            features = features_of(entry, marks, facts.round)
            before = parse_timestamp(facts.spoken or None)
            facts.round_class = _round_class(features, features.kind(marks.pause(before)))
    if when is not None and (marks is not None or kind != "attachment") and isinstance(entry.timestamp, str):
        facts.spoken = entry.timestamp


def _round_class(features: Features, kind: str) -> int:
    """Return kind and complexity of a round as one number: 4 × kind + complexity, each counted from 1, 0 for none."""
    complexity = COMPLEXITIES.index(features.complexity) + 1 if features.complexity else 0
    return 4 * (ROUND_KINDS.index(kind) + 1) + complexity


def input_number(entry: IndexedEntry) -> int:
    """Return the kind of input of a user message, counted from 1; 0 for other entries."""
    kind = entry.type
    is_input = kind == "user" or (kind == "attachment" and speaker(entry) == "prompt")
    return _INPUT_NUMBERS[input_kind(entry)] if is_input else 0


def _set_first_prompt(entry: IndexedEntry, facts: SessionFacts) -> None:
    """Set the first prompt; a command counts only if there is no prompt."""
    text = _single_line(strip_base64(prompt_text(entry)))
    if not text:
        return
    if len(text) > MAX_PROMPT:
        text = text[:MAX_PROMPT].rstrip() + "…"
    if speaker(entry) == "prompt":
        facts.first = text
    elif facts.command is None:
        facts.command = text


def match_results(entry: IndexedEntry, facts: SessionFacts, offset: int) -> list[tuple[str, int]]:
    """Return (tool, offset of the call) for each result with text in an entry, in order.

    Calls are remembered in `facts.open` until their result arrives; `offset` is that of the entry.
    """
    content = entry.message.content if entry.message else None
    if not isinstance(content, list):
        return []
    tools = []
    for block in content:
        kind = block.type
        if kind == "tool_use" and block.id and block.name:
            facts.open[_row_text(block.id)] = (_row_text(block.name), offset)
            while len(facts.open) > MAX_OPEN_CALLS:
                del facts.open[next(iter(facts.open))]
        elif kind == "tool_result" and (block.content if isinstance(block.content, str) else block.result_text):
            tools.append(facts.open.pop(_row_text(block.tool_use_id or ""), ("", -1)))
    return tools


def _single_line(text: str | None) -> str:
    return _row_text(" ".join(text.split())) if text else ""


def _row_text(text: str) -> str:
    """Return text that a row can store: no lone surrogates and no separators of lists in a column."""
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("utf-8", "replace").decode()
    return text.replace("\n", " ").replace("\t", " ").replace("\0", "")


def epoch_seconds(timestamp: str | int | float | None) -> int | None:
    """Return a time in whole seconds since 1970; None if it is not a date."""
    if isinstance(timestamp, str) and timestamp[20:] in _MILLISECONDS:  # the form that Claude Code writes
        second = _SECONDS.get(timestamp[17:20])
        if second is not None and (minute := _minute(timestamp[:17])) is not None:
            return minute + second
    moment = parse_timestamp(timestamp)
    return int(moment.timestamp()) if moment else None


@lru_cache(64)  # messages follow each other within seconds
def _minute(text: str) -> int | None:
    """Return the start of a minute such as `2026-01-31T12:30:` since 1970; None if it is written in another way."""
    if text[4::3] != "--T::" or text[11:13] > "23":
        return None
    try:
        start = int(datetime.fromisoformat(f"{text}00+00:00").timestamp())
    except ValueError:
        return None
    return start if 0 <= start < _LATEST else None


def node_id(uuid: str | None) -> int:
    """Return a number for a uuid, by which entries repeated in forks are recognized."""
    if not uuid:
        return 0
    try:
        return int(uuid[-12:], 16)
    except ValueError:
        return crc32(uuid.encode("utf-8", "replace"))
