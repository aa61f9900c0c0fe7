"""Convert rows to HTML fragments, with all text of the transcript escaped.

    from clew.view.mask_rows import mask_rows
    from clew.view.row_html import fragments
    from clew.view.rows import ViewOptions, rows

    options = ViewOptions(details=True, lines=60)    # details: inputs of calls, pictures, totals of turns
    for fragment in fragments(mask_rows(rows(session, session.turns, options))):
        ...                                          # a string; joined, they are well-formed HTML

The rows may be any part of a session's rows: a page of turns, the rest of a growing turn, one call. Open elements are
closed at the end. No fragment contains a script, a style or an event handler, so a page may forbid all three inline;
`asset/session.css` styles the classes, and `clew.view.html_page` wraps fragments in a page. `asset/session.js` adds
finding, folding and filtering, and needs nothing else.

Elements: section.turn (id `turn-3`) > header + div.prompt, div.reply, details.call (id `call-toolu_…`, data-tool) >
summary + pre, details.calls around a run of calls, details.agent > summary + its rows, div.decision, and so on: the
class is the kind of the row. Two sessions on one page need two prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from html import escape
from typing import assert_never

from clew.system.plural import plural
from clew.view import display_time, row_types
from clew.view.ansi_html import ansi_to_html
from clew.view.attachments import MAX_LABEL
from clew.view.call_groups import CallGroup, group_calls
from clew.view.diff_html import diff_html
from clew.view.markdown_html import is_markdown, markdown_to_html
from clew.view.nesting import NestingStep, is_expanded, nest_rows
from clew.view.row_labels import compaction_label, duration_label, todo_sign, totals_labels
from clew.view.row_types import Row
from clew.view.sanitize import clean, format_duration, format_size, format_tokens, one_line
from clew.view.syntax import colour, file_language, file_name, token_lines
from clew.view.truncate import truncate

LONG_LINES, LONG_CHARACTERS = 30, 3000  # a longer prompt is folded
_SHOWN_LINES, _SHOWN_CHARACTERS = 8, 700  # of a folded prompt
NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")  # of a call or agent that an id contains
_INTERRUPTED = re.compile(r"Request interrupted by user(?: for tool use)?")  # what Claude Code writes
_NUMBERED = re.compile(r"^ {0,8}(\d{1,7})(?:→|\t)(.*)$", re.MULTILINE)


class RowLinks:
    """The links of a page that has more than the rows: "" where there is none. A page of its own has none at all."""

    def turn(self, row: row_types.PromptRow) -> str:
        """Return HTML for the header of a turn."""
        return ""

    def agent(self, row: row_types.AgentRow) -> str:
        """Return HTML for the start of an agent."""
        return ""

    def whole(self, call: str) -> str:
        """Return the URL of the complete output of a call."""
        return ""


def fragments(rows: Iterable[Row], prefix: str = "", links: RowLinks | None = None) -> Iterator[str]:
    """Yield a string of HTML for each row. `prefix` is prepended to every id."""
    page = _Page(prefix, links or RowLinks())
    for step, group, ends in group_calls(nest_rows(rows)):
        yield page.step(step, group, ends)


class _Page:
    """The state of a page while its rows are rendered: open elements, the current call, and the last todo list."""

    def __init__(self, prefix: str, links: RowLinks) -> None:
        self._prefix, self._links = prefix, links
        self._open: list[str] = []  # "turn", "call" (or agent) and "group"
        self._call = ""
        self._todos: list[row_types.TodoRow] = []
        self._last_todos: dict[str, str] = {}

    def step(self, step: NestingStep, group: CallGroup | None, ends: bool) -> str:
        parts = [self._flush_todos()] if not isinstance(step.row, row_types.TodoRow) else []
        for _ in step.ended:
            if self._open[-1] == "group":
                parts.append(self._close())
            parts.append(self._close())
        if ends and self._open[-1:] == ["group"]:
            parts.append(self._close())
        if group is not None:
            parts.append(self._group(group))
            self._open.append("group")
        if step.row is not None:
            parts.append(self._row(step.row, step.opens))
            if step.opens:
                self._open.append("turn" if isinstance(step.row, row_types.PromptRow) else "call")
        return "".join(parts)

    def _close(self) -> str:
        return "</section>\n" if self._open.pop() == "turn" else "</details>\n"

    def _row(self, row: Row, opens: bool) -> str:
        match row:
            case row_types.CallRow():
                self._call = row.id
                return self._render_call(row, opens)
            case row_types.ResultRow() | row_types.FailureRow():
                return self._render_output(row, row.beyond)
            case row_types.InputRow():
                return self._render_output(row)
            case row_types.DiffRow():
                text, more = truncate(clean(row.text), row.limit)
                return f'<pre class="diff">{diff_html(text, row.path)}</pre>{self._more(more)}\n'
            case row_types.PromptRow():
                return self._render_turn(row, opens) if row.depth == 0 else _render_prompt(row)
            case row_types.AgentRow():
                head = f'<details class="agent"{self._id(row)}><summary>{_agent_label(row)}</summary>\n'
                return head + self._links.agent(row)
            case row_types.TodoRow():
                self._todos.append(row)
                return ""
            case _:
                return _render_text(row)

    def _id(self, row: row_types.CallRow | row_types.AgentRow, kind: str = "") -> str:
        """Return an id attribute that a link can name; "" if the id has unusual characters."""
        return f' id="{self._prefix}{kind or row.kind}-{row.id}"' if NAME.fullmatch(row.id) else ""

    def _group(self, group: CallGroup) -> str:
        files = "".join(
            f' <span class="file">{escape(one_line(file_name(path), 40))}{_changes(counts)}</span>'
            for path, counts in group.changes.items()
        )
        took = f' <span class="took">{format_duration(group.seconds)}</span>' if group.seconds >= 1 else ""
        failed = f' <span class="state">{group.failures} failed</span>' if group.failures else ""
        style = "calls failed" if group.failures else "calls"
        head = f'<details class="{style}"{self._id(group.calls[0], "calls")}><summary>'
        return f"{head}{escape(one_line(group.label))}{took}{failed}{files}</summary>\n"

    def _render_call(self, row: row_types.CallRow, opens: bool) -> str:
        decision = _render_decision(row.decision) if row.decision else ""
        state = " failed" if row.failed else " waiting" if row.is_open else ""
        tool = f' data-tool="{escape(one_line(row.tool, 60))}"' if row.tool else ""
        if not opens:
            return f'{decision}<div class="call{state}"{tool}>{_call_label(row)}</div>\n'
        is_open = is_expanded(row) and (not row.decision or row.tool == "ExitPlanMode")
        attributes = f"{self._id(row)}{tool}{' open' if is_open else ''}"
        return f'{decision}<details class="call{state}"{attributes}><summary>{_call_label(row)}</summary>\n'

    def _render_turn(self, row: row_types.PromptRow, opens: bool) -> str:
        name = f"{self._prefix}turn-{row.number}"
        totals = escape(" · ".join(totals_labels(row)))
        details = f' <span class="took">{totals}</span>' if totals else ""
        details += f' <span class="round">{escape(row.round_badge)}</span>' if row.round_badge else ""
        head = f'<h2><a href="#{name}">Turn {row.number}</a></h2>{time_tag(row.time)}{details}{self._links.turn(row)}'
        start = f'<section class="turn" id="{name}">\n<header>{head}</header>\n{_render_prompt(row)}'
        return start if opens else f"{start}</section>\n"

    def _render_output(
        self, row: row_types.ResultRow | row_types.FailureRow | row_types.InputRow, beyond: int = 0
    ) -> str:
        text, more = truncate(row.text, row.limit, beyond)
        body = ""
        if isinstance(row, row_types.ResultRow) and row.path:
            body = _file_html(clean(text), file_language(row.path))
        elif isinstance(row, row_types.InputRow) and row.language:
            body = colour(clean(text), row.language)
        style = f"{row.kind} file" if isinstance(row, row_types.ResultRow) and body else row.kind
        return f'<pre class="{style}">{body or ansi_to_html(text)}</pre>{self._more(more)}\n'

    def _more(self, lines: int) -> str:
        if not lines:
            return ""
        text, url = f"… {plural(lines, 'more line')}", self._links.whole(self._call)
        return f'<div class="more">{f"""<a href="{escape(url)}">{text}</a>""" if url else text}</div>'

    def _flush_todos(self) -> str:
        """Return the items of a todo list: of a repeated list only those that changed, with the others folded."""
        todos, self._todos = self._todos, []
        if not todos:
            return ""
        before, self._last_todos = self._last_todos, {row.text: row.status for row in todos}
        same = [row for row in todos if before.get(row.text) == row.status]
        if len(same) < 2:
            return "".join(map(_todo_html, todos))
        changed = "".join(_todo_html(row) for row in todos if before.get(row.text) != row.status)
        return (
            f'{changed}<details class="unchanged"><summary>{plural(len(same), "item")} unchanged</summary>\n'
            f"{''.join(map(_todo_html, same))}</details>\n"
        )


def _render_text(row: Row) -> str:
    """Render a row that neither contains others nor needs the state of the page."""
    match row:
        case row_types.ReplyRow() | row_types.PlanRow():
            return f'<div class="{row.kind}">{markdown_to_html(row.text)}</div>\n'
        case row_types.QueuedRow():
            return f'<div class="prompt queued">{_said(row.text)}</div>\n'
        case row_types.ThinkingRow():
            return f'<details class="thinking"><summary>Thinking</summary>{markdown_to_html(row.text)}</details>\n'
        case row_types.SummaryRow():
            return f'<details class="summary"><summary>Summary</summary>{markdown_to_html(row.text)}</details>\n'
        case row_types.CompactionRow():
            text = f"Compacted ({one_line(row.trigger or 'unknown')}{compaction_label(row)}"
            return f'<div class="compaction">{escape(text)}){time_tag(row.time)}</div>\n'
        case row_types.InterruptRow():
            return _render_decision(f"The user interrupted: {_INTERRUPTED.sub('', row.text)}", " interrupt")
        case row_types.PictureRow():
            return _render_picture(row)
        case (
            row_types.NoteRow()
            | row_types.MetaRow()
            | row_types.ErrorRow()
            | row_types.TitleRow()
            | row_types.AboutRow()
        ):
            return _render_note(row, row.kind)
        case row_types.WarningRow() | row_types.DoneRow():
            return _render_note(row, "note")
        case row_types.TableRow():
            return "".join(f'<div class="about">{escape(one_line(line))}</div>\n' for line in row.lines)
        case (
            row_types.PromptRow()
            | row_types.CallRow()
            | row_types.AgentRow()
            | row_types.InputRow()
            | row_types.ResultRow()
            | row_types.FailureRow()
            | row_types.DiffRow()
            | row_types.TodoRow()
        ):
            raise TypeError(f"{row.kind} rows are rendered with their page")
        case _:
            assert_never(row)


def time_tag(time: datetime | None) -> str:
    """Return a time in the chosen zone as HTML, after a space."""
    return f" {display_time.time_tag(time)}" if time else ""


def _render_prompt(row: row_types.PromptRow) -> str:
    return f'<div class="prompt">{_said(row.text)}</div>\n'


def _said(text: str) -> str:
    """Return the words of a person: as Markdown if they are, and folded to their first lines if they are long."""
    text = clean(text).strip("\n")
    body = _said_html(text)
    lines = text.count("\n") + 1
    if lines <= LONG_LINES and len(text) <= LONG_CHARACTERS:
        return body
    first = "\n".join(text.split("\n", _SHOWN_LINES)[:_SHOWN_LINES])[:_SHOWN_CHARACTERS]
    more = lines - first.count("\n") - 1
    rest = plural(more, "more line") if more else f"{len(text) - len(first):,} more characters"
    start = f'<span class="said">{escape(first)}</span>'
    return f'<details class="long"><summary>{start} <span class="more">… {rest}</span></summary>\n{body}</details>'


def _said_html(text: str) -> str:
    if not text.strip():
        return '<div class="said"><em>(no text)</em></div>'
    if is_markdown(text):
        return f'<div class="said formatted">{markdown_to_html(text)}</div>'
    return f'<div class="said">{escape(text)}</div>'


def _render_decision(text: str, style: str = "") -> str:
    """Return what a person or a rule decided: the words before the first colon say who decided what."""
    who, _, words = clean(text).strip().partition(":")
    said = f'<div class="said">{escape(words.strip())}</div>' if words.strip() else ""
    return f'<div class="decision{style}"><b>{escape(who)}</b>{said}</div>\n'


def _call_label(row: row_types.CallRow) -> str:
    name, _, about = one_line(row.text[: 4 * MAX_LABEL], MAX_LABEL).partition(" ")
    time = duration_label(row)
    timed = f' <span class="took">{time}</span>' if time else ""
    state = "failed" if row.failed else "no result" if row.is_open else ""
    state_html = f' <span class="state">{state}</span>' if state else ""
    changes = _changes(row.changes) if row.changes else ""
    return f"<b>{escape(name)}</b> <code>{escape(about)}</code>{changes}{timed}{state_html}"


def _changes(counts: tuple[int, int]) -> str:
    added, removed = counts
    return f' <span class="changes"><ins>+{added}</ins> <del>−{removed}</del></span>'


def _agent_label(row: row_types.AgentRow) -> str:
    parts = [one_line(row.agent_type), one_line(row.model)]
    parts.append(f"{format_tokens(row.tokens)} tokens" if row.tokens is not None else "")
    parts.append(format_duration(row.milliseconds / 1000) if row.milliseconds is not None else "")
    about = " · ".join(part for part in parts if part)
    return f'<b>Agent</b> {escape(one_line(row.text))} <span class="took">{escape(about)}</span>'


def _todo_html(row: row_types.TodoRow) -> str:
    done = " done" if row.status == "completed" else ""
    return f'<div class="todo{done}">{todo_sign(row)} {escape(one_line(row.text))}</div>\n'


def _file_html(text: str, language: str) -> str:
    """Return the lines of a file with the numbers that the Read tool gave them; "" if it is not numbered throughout."""
    lines: list[tuple[str, str]] = _NUMBERED.findall(text)
    if len(lines) <= text.count("\n"):
        return ""
    tokens = token_lines("\n".join([line for _, line in lines]), language)
    bodies = [escape(line) for _, line in lines] if tokens is None else [line.html for line in tokens]
    return "".join(
        [f'<span data-n="{number:>4}">{body}\n</span>' for (number, _), body in zip(lines, bodies, strict=True)]
    )


def _render_picture(row: row_types.PictureRow) -> str:
    picture = row.picture
    if (uri := picture.uri) is None:
        about = one_line(f"{picture.kind} {picture.media_type}, {format_size(picture.size)}")
        return f'<div class="note">[{escape(about)}]</div>\n'
    return f'<div class="picture"><img src="{uri}" alt="{escape(one_line(row.text))}" loading="lazy"></div>\n'


def _render_note(row: Row, style: str) -> str:
    text, more = truncate(row.text, row.limit)
    left = f" … {plural(more, 'more line')}" if more else ""
    return f'<div class="{style}">{ansi_to_html(text)}{left}</div>\n'
