"""Convert rows to HTML fragments, with all text of the transcript escaped.

from clew.view.rows import ViewOptions, rows
    from clew.view.row_html import fragments
    from clew.view.mask_rows import mask_rows

options = ViewOptions(details=True, lines=60)    # details: inputs of calls, pictures, totals of turns
    for fragment in fragments(mask_rows(rows(session, session.turns, options))):
        ...                                          # a string; joined, they are well-formed HTML

The rows may be any part of a session's rows: a page of turns, the rest of a growing turn, one call. Open elements are
closed at the end. No fragment contains a script, a style or an event handler, so a page may forbid all three inline;
`asset/style.css` styles the classes, and `clew.view.html_page` wraps fragments in a page.

Elements: section.turn (id `turn-3`) > header + div.prompt, div.reply, details.call (id `call-toolu_…`) > summary +
pre, details.agent > summary + its rows, and so on: the class is the kind of the row. Two sessions on one page need
two prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from html import escape

from clew.system.plural import plural
from clew.view.ansi_html import ansi_to_html
from clew.view.attachments import MAX_LABEL, Picture
from clew.view.markdown_html import markdown_to_html
from clew.view.nesting import is_expanded, nest_rows
from clew.view.round_labels import round_badge
from clew.view.row_labels import compaction_label, duration_label, todo_sign
from clew.view.rows import Row
from clew.view.sanitize import clean, format_duration, format_size, format_tokens, one_line
from clew.view.truncate import truncate
from clew.wire.timestamps import format_timestamp

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


def fragments(rows: Iterable[Row], prefix: str = "") -> Iterator[str]:
    """Yield a string of HTML for each row. `prefix` is prepended to every id."""
    for row, ended, opens in nest_rows(rows):
        closed = "".join("</section>\n" if holder.kind == "prompt" else "</details>\n" for holder in ended)
        yield closed + _render_row(row, opens, prefix)


def _render_row(row: Row, opens: bool, prefix: str) -> str:
    if row.kind == "prompt" and row.depth == 0:
        return _render_turn(row, prefix) + ("" if opens else "</section>\n")
    if row.kind == "call" and opens:
        attributes = f"{_id_attribute(row, 'call', prefix)}{' open' if is_expanded(row) else ''}"
        return f'<details class="call{_state_class(row)}"{attributes}><summary>{_call_label(row)}</summary>\n'
    if row.kind == "agent":
        return f'<details class="agent"{_id_attribute(row, "agent", prefix)}><summary>{_agent_label(row)}</summary>\n'
    return _RENDERERS.get(row.kind, _render_note)(row)


def _id_attribute(row: Row, kind: str, prefix: str) -> str:
    """Return an id attribute that a link can name; "" if the id has unusual characters."""
    name = str(row.facts.get("id") or "")
    return f' id="{prefix}{kind}-{name}"' if _NAME.fullmatch(name) else ""


def _state_class(row: Row) -> str:
    return " failed" if row.facts.get("failed") else " waiting" if row.facts.get("open") else ""


def _render_turn(row: Row, prefix: str) -> str:
    number = int(row.facts.get("number") or 0)
    name = f"{prefix}turn-{number}"
    head = f'<h2><a href="#{name}">Turn {number}</a></h2>{time_tag(row.time)}{_totals_span(row)}{_round_span(row)}'
    return f'<section class="turn" id="{name}">\n<header>{head}</header>\n{_render_prompt(row)}'


def _round_span(row: Row) -> str:
    text = round_badge(row.facts)
    return f' <span class="round">{escape(text)}</span>' if text else ""


def _totals_span(row: Row) -> str:
    seconds, output, context = (row.facts.get(name) for name in ("seconds", "output", "context"))
    parts = [format_duration(seconds)] if seconds and seconds >= 1 else []
    parts += [f"{format_tokens(output)} tokens written"] if output else []
    parts += [f"{format_tokens(context)} in context"] if context else []
    return f' <span class="took">{escape(" · ".join(parts))}</span>' if parts else ""


def time_tag(time: datetime | None) -> str:
    """Return a time in UTC as HTML."""
    if time is None:
        return ""
    return f' <time datetime="{format_timestamp(time)}">{time.astimezone(UTC):%Y-%m-%d %H:%M}</time>'


def _render_prompt(row: Row) -> str:
    text = escape(clean(row.text).strip("\n")) or "<em>(no text)</em>"
    return f'<div class="prompt"><div class="said">{text}</div></div>\n'


def _render_queued(row: Row) -> str:
    return f'<div class="prompt queued"><div class="said">{escape(clean(row.text).strip())}</div></div>\n'


def _render_markdown(row: Row) -> str:
    return f'<div class="{row.kind}">{markdown_to_html(row.text)}</div>\n'


def _render_thinking(row: Row) -> str:
    return f'<details class="thinking"><summary>Thinking</summary>{markdown_to_html(row.text)}</details>\n'


def _render_summary(row: Row) -> str:
    return f'<details class="summary"><summary>Summary</summary>{markdown_to_html(row.text)}</details>\n'


def _call_label(row: Row) -> str:
    name, _, about = one_line(row.text[: 4 * MAX_LABEL], MAX_LABEL).partition(" ")
    time = duration_label(row)
    timed = f' <span class="took">{time}</span>' if time else ""
    state = "failed" if row.facts.get("failed") else "no result" if row.facts.get("open") else ""
    state_html = f' <span class="state">{state}</span>' if state else ""
    return f"<b>{escape(name)}</b> <code>{escape(about)}</code>{timed}{state_html}"


def _render_call(row: Row) -> str:
    return f'<div class="call{_state_class(row)}">{_call_label(row)}</div>\n'


def _agent_label(row: Row) -> str:
    used, spent = row.facts.get("totalTokens"), row.facts.get("totalDurationMs")
    parts = [one_line(str(row.facts.get(name) or "")) for name in ("kind", "model")]
    parts.append(f"{format_tokens(used)} tokens" if isinstance(used, int) else "")
    parts.append(format_duration(spent / 1000) if isinstance(spent, int | float) else "")
    about = " · ".join(part for part in parts if part)
    return f'<b>Agent</b> {escape(one_line(row.text))} <span class="took">{escape(about)}</span>'


def _render_output(row: Row) -> str:
    text, more = truncate(row.text, row.limit, row.facts.get("beyond", 0))
    left = f'<div class="more">… {plural(more, "more line")}</div>' if more else ""
    return f'<pre class="{row.kind}">{ansi_to_html(text)}</pre>{left}\n'


def _render_diff(row: Row) -> str:
    text, more = truncate(clean(row.text), row.limit)
    left = f'<div class="more">… {plural(more, "more line")}</div>' if more else ""
    return f'<pre class="diff">{"".join(map(_diff_line, escape(text).split(chr(10))))}</pre>{left}\n'


def _diff_line(line: str) -> str:
    kind = _SIGNS.get(line[:1])
    return f"<{kind}>{line}\n</{kind}>" if kind else f"{line}\n"


_SIGNS = {"+": "ins", "-": "del"}


def _render_todo(row: Row) -> str:
    status = str(row.facts.get("status"))
    done = " done" if status == "completed" else ""
    return f'<div class="todo{done}">{todo_sign(row)} {escape(one_line(row.text))}</div>\n'


def _render_compaction(row: Row) -> str:
    text = f"Compacted ({one_line(str(row.facts.get('trigger') or 'unknown'))}{compaction_label(row)}"
    return f'<div class="compaction">{escape(text)}){time_tag(row.time)}</div>\n'


def _render_picture(row: Row) -> str:
    picture = row.facts.get("picture")
    if not isinstance(picture, Picture):
        return ""
    if (uri := picture.uri) is None:
        about = one_line(f"{picture.kind} {picture.media_type}, {format_size(picture.size)}")
        return f'<div class="note">[{escape(about)}]</div>\n'
    return f'<div class="picture"><img src="{uri}" alt="{escape(one_line(row.text))}" loading="lazy"></div>\n'


def _render_note(row: Row) -> str:
    text, more = truncate(row.text, row.limit)
    left = f" … {plural(more, 'more line')}" if more else ""
    kind = row.kind if row.kind in ("note", "meta", "interrupt", "error", "title", "about") else "note"
    return f'<div class="{kind}">{ansi_to_html(text)}{left}</div>\n'


_RENDERERS: dict[str, Callable[[Row], str]] = {
    "prompt": _render_prompt,
    "queued": _render_queued,
    "reply": _render_markdown,
    "plan": _render_markdown,
    "thinking": _render_thinking,
    "summary": _render_summary,
    "call": _render_call,
    "input": _render_output,
    "result": _render_output,
    "failure": _render_output,
    "diff": _render_diff,
    "todo": _render_todo,
    "compaction": _render_compaction,
    "picture": _render_picture,
    "end": lambda _: "",
}
