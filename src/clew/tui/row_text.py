"""Painting: a row as lines of styled text, laid out for a width. Nothing here knows of widgets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from clew.tui.line_wrap import fit, wrap
from clew.view.round_labels import round_badge
from clew.view.row_terminal import plain_lines
from clew.view.rows import Row
from clew.view.sanitize import one_line

Span = tuple[str, str]
_CODE = re.compile(r"`[^`\n]+`|\*\*[^*\n]+\*\*")
_PLAIN = frozenset({"reply", "plan", "error"})
PROSE = 110  # columns of prose; longer lines are hard to read
_FLOWS = _PLAIN | {"prompt", "queued", "thinking", "summary"}
_SLOW = re.compile(r"[\t\r\x1b]")
_MARK = re.compile(r"^\s*(?:[❯●◆⏹✻⎿·✗] )")


@dataclass(frozen=True, slots=True)
class RowState:
    """How a row is shown: as a fold that is `open` or `closed`, or with its text `whole`."""

    fold: str = ""
    whole: bool = False
    inside: int = 0


class ScreenLine(NamedTuple):
    """One line on the screen: the part in front that stays, the text, and the name of its style."""

    front: str
    text: str
    style: str


def layout(row: Row, width: int, state: RowState) -> list[ScreenLine]:
    """The lines of a row, wrapped; every line fits the width."""
    front = "│ " * row.depth
    room = max(8, width - len(front))
    if row.kind == "prompt":
        return [ScreenLine(front, _rule(row, room), "rule"), *_wrapped(row, front, room, state)]
    if state.fold:
        return list(_fold(row, front, room, state))
    return _wrapped(row, front, room, state)


def height(row: Row, width: int, state: RowState) -> int:
    """How many lines `layout` makes; of plain output, which may be megabytes, without making them."""
    is_plain = row.kind in ("result", "failure", "diff") and (state.whole or row.limit is None)
    if is_plain and row.text.isascii() and not _SLOW.search(row.text):
        made = row.text.strip("\n").split("\n")
        if max(map(len, made)) <= width - 2 * row.depth - 4:
            return len(made)
    return len(layout(row, width, state))


def _wrapped(row: Row, front: str, room: int, state: RowState) -> list[ScreenLine]:
    shown = replace(row, depth=0, limit=None if state.whole else row.limit)
    made = list(plain_lines(shown))
    text = "\n".join(made[1:] if row.kind == "prompt" else made)
    mark = _MARK.match(text)
    hang = mark.end() if mark else 2 if row.kind in _PLAIN else 0
    first = text[:hang] if mark else "• "[:hang]
    room = min(room, PROSE) if row.kind in _FLOWS else room
    body = "\n".join(line[hang:] if mark and line[:hang].isspace() else line for line in _behind(text, mark))
    style = "failed" if row.kind == "call" and row.facts.get("failed") else row.kind
    found = [
        ScreenLine(front + (first if index == 0 else " " * hang), line, style)
        for index, line in enumerate(wrap(body, room - hang))
    ]
    return found or [ScreenLine(front + first, "", style)]


def _behind(text: str, mark: re.Match[str] | None) -> list[str]:
    return (text[mark.end() :] if mark else text).split("\n")


def _fold(row: Row, front: str, room: int, state: RowState) -> Iterator[ScreenLine]:
    """A call or an agent: one line while it is closed, all of its text when it is open."""
    is_open = state.fold == "open"
    style = "failed" if row.facts.get("failed") else row.kind
    text = "\n".join(plain_lines(replace(row, depth=0, limit=None))).strip("\n")[2:]
    if not is_open:
        name = one_line(row.text)
        before, _, behind = one_line(text).rpartition(name) if name else ("", "", one_line(text))
        short = fit(before + name, max(8, room - 4 - len(behind)))
        yield ScreenLine(front + "▸ ", fit(f"{short}  {behind.strip()}".rstrip(), room - 2), style)
        return
    for index, line in enumerate(wrap(text, room - 2)):
        yield ScreenLine(front + ("▾ " if index == 0 else "  "), line, style)


def _rule(row: Row, room: int) -> str:
    when = row.time.astimezone().strftime("%Y-%m-%d %H:%M") if row.time else ""
    told = round_badge(row.facts)
    number = row.facts.get("number")
    parts = " · ".join(part for part in (f"turn {number}" if number else "", told) if part)
    name = f" {parts} " if parts else ""
    rest = room - len(name) - len(when) - 4
    return f"──{name}{'─' * max(1, rest)} {when}".rstrip()[:room]


def spans(row: Row, made: list[ScreenLine]) -> Iterator[list[Span]]:
    """The lines with the styles inside them: headings, code and diffs are told apart."""
    fenced = False
    for line in made:
        if row.kind == "diff":
            yield [(line.front, "guide"), (line.text, _diff(line.text))]
        elif row.kind in _PLAIN and row.kind != "error":
            is_fence = line.text.lstrip().startswith("```")
            yield [(line.front, "guide"), *_prose(line.text, fenced or is_fence)]
            fenced = fenced != is_fence
        elif line.style == "prompt":
            yield [(line.front, "prompt"), (line.text, "prompt")]
        else:
            yield [(line.front, "guide" if line.front.isspace() else line.style), (line.text, line.style)]


def _diff(text: str) -> str:
    bare = text.lstrip()
    return "added" if bare.startswith("+") else "removed" if bare.startswith("-") else "result"


def _prose(text: str, is_code: bool) -> Iterator[Span]:
    if is_code:
        yield text, "code"
    elif text.startswith("#"):
        yield text, "heading"
    else:
        at = 0
        for found in _CODE.finditer(text):
            yield text[at : found.start()], "reply"
            yield found[0], "code" if found[0][0] == "`" else "heading"
            at = found.end()
        yield text[at:], "reply"


def marked(line: list[Span], pattern: re.Pattern[str] | None) -> list[Span]:
    """The spans of a line with every match of a pattern in the style `match`."""
    if pattern is None:
        return line
    text = "".join(part for part, _ in line)
    places = [found.span() for found in pattern.finditer(text) if found[0]]
    return overlaid(line, places, "match") if places else line


def overlaid(line: list[Span], places: list[tuple[int, int]], style: str) -> list[Span]:
    """The spans of a line, with another style at some places of its text."""
    found: list[Span] = []
    at = 0
    for part, own in line:
        stop = at + len(part)
        cut = at
        for start, finish in places:
            first, last = max(start, cut), min(finish, stop)
            if first < last:
                found += [(part[cut - at : first - at], own), (part[first - at : last - at], style)]
                cut = last
        found.append((part[cut - at :], own))
        at = stop
    return [(part, own) for part, own in found if part]
