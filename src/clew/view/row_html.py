"""Convert rows to HTML fragments, with all text of the transcript escaped.

    from clew.view.mask_rows import mask_rows
    from clew.view.row_html import fragments
    from clew.view.rows import ViewOptions, rows

    options = ViewOptions(details=True, lines=60)    # details: inputs of calls, pictures, totals of turns
    for fragment in fragments(mask_rows(rows(session, session.turns, options))):
        ...                                          # a string; joined, they are well-formed HTML

The rows may be any part of a session's rows: a page of turns, the rest of a growing turn, one call. Open elements are
closed at the end. No fragment contains a script, a style or an event handler, so a page may forbid all three inline;
`asset/session.css` styles the classes, and `clew.view.html_page` wraps fragments in a page.

Elements: section.turn (id `turn-3`) > header + div.prompt, div.reply, details.call (id `call-toolu_…`) > summary +
pre, details.agent > summary + its rows, and so on: the class is the kind of the row. Two sessions on one page need
two prefixes.
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
from clew.view.markdown_html import markdown_to_html
from clew.view.nesting import is_expanded, nest_rows
from clew.view.row_labels import compaction_label, duration_label, todo_sign, totals_labels
from clew.view.row_types import Row
from clew.view.sanitize import clean, format_duration, format_size, format_tokens, one_line
from clew.view.truncate import truncate

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


def fragments(rows: Iterable[Row], prefix: str = "") -> Iterator[str]:
    """Yield a string of HTML for each row. `prefix` is prepended to every id."""
    for row, ended, opens in nest_rows(rows):
        closed = "".join(
            "</section>\n" if isinstance(holder, row_types.PromptRow) else "</details>\n" for holder in ended
        )
        yield closed + (_render_row(row, opens, prefix) if row is not None else "")


def _render_row(row: Row, opens: bool, prefix: str) -> str:
    match row:
        case row_types.CallRow():
            return _render_call(row, opens, prefix)
        case row_types.ResultRow() | row_types.FailureRow():
            return _render_output(row, row.beyond)
        case row_types.InputRow():
            return _render_output(row)
        case row_types.ReplyRow() | row_types.PlanRow():
            return f'<div class="{row.kind}">{markdown_to_html(row.text)}</div>\n'
        case row_types.DiffRow():
            return _render_diff(row)
        case row_types.PromptRow():
            return _render_turn(row, opens, prefix) if row.depth == 0 else _render_prompt(row)
        case row_types.QueuedRow():
            return f'<div class="prompt queued"><div class="said">{escape(clean(row.text).strip())}</div></div>\n'
        case row_types.ThinkingRow():
            return f'<details class="thinking"><summary>Thinking</summary>{markdown_to_html(row.text)}</details>\n'
        case row_types.SummaryRow():
            return f'<details class="summary"><summary>Summary</summary>{markdown_to_html(row.text)}</details>\n'
        case row_types.AgentRow():
            return f'<details class="agent"{_id_attribute(row, prefix)}><summary>{_agent_label(row)}</summary>\n'
        case row_types.TodoRow():
            done = " done" if row.status == "completed" else ""
            return f'<div class="todo{done}">{todo_sign(row)} {escape(one_line(row.text))}</div>\n'
        case row_types.CompactionRow():
            text = f"Compacted ({one_line(row.trigger or 'unknown')}{compaction_label(row)}"
            return f'<div class="compaction">{escape(text)}){time_tag(row.time)}</div>\n'
        case row_types.PictureRow():
            return _render_picture(row)
        case (
            row_types.NoteRow()
            | row_types.MetaRow()
            | row_types.InterruptRow()
            | row_types.ErrorRow()
            | row_types.TitleRow()
            | row_types.AboutRow()
        ):
            return _render_note(row, row.kind)
        case row_types.WarningRow() | row_types.DoneRow():
            return _render_note(row, "note")
        case row_types.TableRow():
            return "".join(f'<div class="about">{escape(one_line(line))}</div>\n' for line in row.lines)
        case _:
            assert_never(row)


def _id_attribute(row: row_types.CallRow | row_types.AgentRow, prefix: str) -> str:
    """Return an id attribute that a link can name; "" if the id has unusual characters."""
    return f' id="{prefix}{row.kind}-{row.id}"' if _NAME.fullmatch(row.id) else ""


def _render_call(row: row_types.CallRow, opens: bool, prefix: str) -> str:
    state = " failed" if row.failed else " waiting" if row.is_open else ""
    if not opens:
        return f'<div class="call{state}">{_call_label(row)}</div>\n'
    attributes = f"{_id_attribute(row, prefix)}{' open' if is_expanded(row) else ''}"
    return f'<details class="call{state}"{attributes}><summary>{_call_label(row)}</summary>\n'


def _render_turn(row: row_types.PromptRow, opens: bool, prefix: str) -> str:
    name = f"{prefix}turn-{row.number}"
    totals = escape(" · ".join(totals_labels(row)))
    details = f' <span class="took">{totals}</span>' if totals else ""
    details += f' <span class="round">{escape(row.round_badge)}</span>' if row.round_badge else ""
    head = f'<h2><a href="#{name}">Turn {row.number}</a></h2>{time_tag(row.time)}{details}'
    start = f'<section class="turn" id="{name}">\n<header>{head}</header>\n{_render_prompt(row)}'
    return start if opens else f"{start}</section>\n"


def time_tag(time: datetime | None) -> str:
    """Return a time in the chosen zone as HTML, after a space."""
    return f" {display_time.time_tag(time)}" if time else ""


def _render_prompt(row: row_types.PromptRow) -> str:
    text = escape(clean(row.text).strip("\n")) or "<em>(no text)</em>"
    return f'<div class="prompt"><div class="said">{text}</div></div>\n'


def _call_label(row: row_types.CallRow) -> str:
    name, _, about = one_line(row.text[: 4 * MAX_LABEL], MAX_LABEL).partition(" ")
    time = duration_label(row)
    timed = f' <span class="took">{time}</span>' if time else ""
    state = "failed" if row.failed else "no result" if row.is_open else ""
    state_html = f' <span class="state">{state}</span>' if state else ""
    return f"<b>{escape(name)}</b> <code>{escape(about)}</code>{timed}{state_html}"


def _agent_label(row: row_types.AgentRow) -> str:
    parts = [one_line(row.agent_type), one_line(row.model)]
    parts.append(f"{format_tokens(row.tokens)} tokens" if row.tokens is not None else "")
    parts.append(format_duration(row.milliseconds / 1000) if row.milliseconds is not None else "")
    about = " · ".join(part for part in parts if part)
    return f'<b>Agent</b> {escape(one_line(row.text))} <span class="took">{escape(about)}</span>'


def _render_output(row: row_types.ResultRow | row_types.FailureRow | row_types.InputRow, beyond: int = 0) -> str:
    text, more = truncate(row.text, row.limit, beyond)
    left = f'<div class="more">… {plural(more, "more line")}</div>' if more else ""
    return f'<pre class="{row.kind}">{ansi_to_html(text)}</pre>{left}\n'


def _render_diff(row: row_types.DiffRow) -> str:
    text, more = truncate(clean(row.text), row.limit)
    left = f'<div class="more">… {plural(more, "more line")}</div>' if more else ""
    return f'<pre class="diff">{"".join(map(_diff_line, escape(text).split(chr(10))))}</pre>{left}\n'


def _diff_line(line: str) -> str:
    kind = _SIGNS.get(line[:1])
    return f"<{kind}>{line}\n</{kind}>" if kind else f"{line}\n"


_SIGNS = {"+": "ins", "-": "del"}


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
