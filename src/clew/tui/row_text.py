"""Lay out a row as lines of styled text for a width, independent of widgets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, assert_never

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len

from clew.tui.line_wrap import fit, wrap
from clew.tui.markdown_spans import Span, style_lines
from clew.view import row_types
from clew.view.row_terminal import plain_lines
from clew.view.row_types import Row
from clew.view.sanitize import one_line

_PLAIN = (row_types.ReplyRow, row_types.PlanRow, row_types.ErrorRow)
PROSE = 110  # columns of prose; longer lines are hard to read
_FLOWS = (*_PLAIN, row_types.PromptRow, row_types.QueuedRow, row_types.ThinkingRow, row_types.SummaryRow)
_SLOW = re.compile(r"[\t\r\x1b]")
_MARK = re.compile(r"^\s*(?:[❯●◆⏹✻⎿·✗] )")


class RowState(Struct, frozen=True):
    """How a row is shown: as a fold that is `open` or `closed`, or without a limit on its lines."""

    fold: str = ""
    is_full: bool = False
    inside: int = 0


class ScreenLine(NamedTuple):
    """One line on the screen: a fixed prefix, the text, and the name of its style."""

    front: str
    text: str
    style: str


def layout(row: Row, width: int, state: RowState) -> list[ScreenLine]:
    """Return the wrapped lines of a row; every line fits the width."""
    front = "│ " * row.depth
    room = max(8, width - len(front))
    if isinstance(row, row_types.PromptRow):
        return [ScreenLine(front, _turn_rule(row, room), "rule"), *_text_lines(row, front, room, state)]
    if state.fold:
        return list(_fold_lines(row, front, room, state))
    return _text_lines(row, front, room, state)


def height(row: Row, width: int, state: RowState) -> int:
    """Return the number of lines that `layout` makes. Plain output, which may be megabytes, is counted without
    laying it out.
    """
    is_plain = isinstance(row, row_types.ResultRow | row_types.FailureRow | row_types.DiffRow) and (
        state.is_full or row.limit is None
    )
    if is_plain and row.text.isascii() and not _SLOW.search(row.text):
        lines = row.text.strip("\n").split("\n")
        if max(map(len, lines)) <= width - 2 * row.depth - 4:
            return len(lines)
    return len(layout(row, width, state))


def _text_lines(row: Row, front: str, room: int, state: RowState) -> list[ScreenLine]:
    shown = replace(row, depth=0, limit=None if state.is_full else row.limit)
    lines = list(plain_lines(shown))
    text = "\n".join(lines[1:] if isinstance(row, row_types.PromptRow) else lines)
    mark = _MARK.match(text)
    hang = mark.end() if mark else 2 if isinstance(row, _PLAIN) else 0
    first = text[:hang] if mark else "• "[:hang]
    room = min(room, PROSE) if isinstance(row, _FLOWS) else room
    body = "\n".join(line[hang:] if mark and line[:hang].isspace() else line for line in _split_after_mark(text, mark))
    style = _style(row)
    wrapped = [
        ScreenLine(front + (first if index == 0 else " " * hang), line, style)
        for index, line in enumerate(wrap(body, room - hang))
    ]
    return wrapped or [ScreenLine(front + first, "", style)]


def _style(row: Row) -> str:
    """Return the name of a row's style; `RowView` has a component class for each."""
    match row:
        case row_types.CallRow():
            return "failed" if row.failed else "call"
        case row_types.InputRow() | row_types.DoneRow():
            return "result"
        case row_types.PictureRow():
            return "note"
        case row_types.WarningRow():
            return "interrupt"
        case row_types.TableRow():
            return "about"
        case (
            row_types.PromptRow()
            | row_types.QueuedRow()
            | row_types.ReplyRow()
            | row_types.PlanRow()
            | row_types.ThinkingRow()
            | row_types.SummaryRow()
            | row_types.AgentRow()
        ):
            return row.kind
        case (
            row_types.ResultRow()
            | row_types.FailureRow()
            | row_types.DiffRow()
            | row_types.TodoRow()
            | row_types.CompactionRow()
            | row_types.InterruptRow()
        ):
            return row.kind
        case (
            row_types.NoteRow()
            | row_types.MetaRow()
            | row_types.ErrorRow()
            | row_types.TitleRow()
            | row_types.AboutRow()
        ):
            return row.kind
        case _:
            assert_never(row)


def _split_after_mark(text: str, mark: re.Match[str] | None) -> list[str]:
    return (text[mark.end() :] if mark else text).split("\n")


def _fold_lines(row: Row, front: str, room: int, state: RowState) -> Iterator[ScreenLine]:
    """Yield the lines of a call or an agent: one while it is closed, its full text when it is open."""
    is_open = state.fold == "open"
    style = _style(row)
    text = "\n".join(plain_lines(replace(row, depth=0, limit=None))).strip("\n")[2:]
    if not is_open:
        name = one_line(row.text)
        before, _, suffix = one_line(text).rpartition(name) if name else ("", "", one_line(text))
        short = fit(before + name, max(8, room - 4 - len(suffix)))
        yield ScreenLine(front + "▸ ", fit(f"{short}  {suffix.strip()}".rstrip(), room - 2), style)
        return
    for index, line in enumerate(wrap(text, room - 2)):
        yield ScreenLine(front + ("▾ " if index == 0 else "  "), line, style)


def _turn_rule(row: row_types.PromptRow, room: int) -> str:
    when = row.time.astimezone().strftime("%Y-%m-%d %H:%M") if row.time else ""
    parts = " · ".join(part for part in (f"turn {row.number}" if row.number else "", row.round_badge) if part)
    name = f" {parts} " if parts else ""
    fill = room - len(name) - len(when) - 4
    return f"──{name}{'─' * max(1, fill)} {when}".rstrip()[:room]


def spans(row: Row, lines: list[ScreenLine], width: int = 0) -> Iterator[list[Span]]:
    """Yield the lines as styled spans: replies and plans as Markdown, changed lines in their colours."""
    if isinstance(row, row_types.ReplyRow | row_types.PlanRow):
        room = min(PROSE, width) - max((cell_len(line.front) for line in lines), default=0)
        for line, styled in zip(lines, style_lines([line.text for line in lines], room), strict=True):
            yield [(line.front, "guide"), *styled]
        return
    for line in lines:
        if isinstance(row, row_types.DiffRow):
            yield [(line.front, "guide"), (line.text, _diff_style(line.text))]
        elif line.style == "prompt":
            yield [(line.front, "knot"), (line.text, "prompt")]
        else:
            yield [(line.front, "guide" if line.front.isspace() else line.style), (line.text, line.style)]


def _diff_style(text: str) -> str:
    bare = text.lstrip()
    return "added" if bare.startswith("+") else "removed" if bare.startswith("-") else "result"


def mark_matches(line: list[Span], pattern: re.Pattern[str] | None) -> list[Span]:
    """Style every match of a pattern in a line as `match`."""
    if pattern is None:
        return line
    text = "".join(part for part, _ in line)
    ranges = [match.span() for match in pattern.finditer(text) if match[0]]
    return overlay(line, ranges, "match") if ranges else line


def overlay(line: list[Span], ranges: list[tuple[int, int]], style: str) -> list[Span]:
    """Apply a style to ranges of a line's text."""
    result: list[Span] = []
    at = 0
    for part, base in line:
        stop = at + len(part)
        cut = at
        for start, finish in ranges:
            first, last = max(start, cut), min(finish, stop)
            if first < last:
                result += [(part[cut - at : first - at], base), (part[first - at : last - at], style)]
                cut = last
        result.append((part[cut - at :], base))
        at = stop
    return [(part, base) for part, base in result if part]
