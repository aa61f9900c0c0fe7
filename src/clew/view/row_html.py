"""HTML: rows as fragments of a page, every word of a transcript escaped.

    from clew.view.rows import Options, rows
    from clew.view.row_html import fragments
    from clew.view.mask_rows import masked

    options = Options(details=True, lines=60)        # details: inputs of calls, pictures, what a turn took
    for fragment in fragments(masked(rows(session, session.turns, options))):
        ...                                          # a string; in their order they are one well-formed piece of HTML

The rows may be any run of a session's rows: a page of turns, the rest of a turn that grew, one call. What is open at the end
is closed. No fragment holds a script, a style or an event handler, so a page may forbid all three inline; `asset/style.css`
styles the classes (`html_page.asset("style.css")`), and `clew.view.html_page` wraps them in a page.

Elements: section.turn (id `turn-3`) > header + div.prompt, div.reply, details.call (id `call-toolu_…`) > summary + pre,
details.agent > summary + its rows, and so on: the class is the kind of the row. Two sessions on one page need two prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from html import escape

from clew.system.plural import plural
from clew.view.ansi_html import coloured
from clew.view.attachments import LONG, Picture
from clew.view.markdown_html import prose
from clew.view.nesting import is_shown, nested
from clew.view.round_labels import badge
from clew.view.row_labels import shrunk, sign, took
from clew.view.rows import Row
from clew.view.sanitize import clean, duration, one_line, size, tokens
from clew.view.truncate import cut
from clew.wire.timestamps import stamp

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


def fragments(rows: Iterable[Row], prefix: str = "") -> Iterator[str]:
    """Rows as HTML, a piece for each as it comes. `prefix` stands in front of every id."""
    for row, ended, opens in nested(rows):
        closed = "".join("</section>\n" if holder.kind == "prompt" else "</details>\n" for holder in ended)
        yield closed + _made(row, opens, prefix)


def _made(row: Row, opens: bool, prefix: str) -> str:
    if row.kind == "prompt" and row.depth == 0:
        return _turn(row, prefix) + ("" if opens else "</section>\n")
    if row.kind == "call" and opens:
        start = f'<details class="call{_failed(row)}"{_id(row, "call", prefix)}{" open" if is_shown(row) else ""}>'
        return f"{start}<summary>{_call(row)}</summary>\n"
    if row.kind == "agent":
        return f'<details class="agent"{_id(row, "agent", prefix)}><summary>{_agent(row)}</summary>\n'
    return _KINDS.get(row.kind, _text)(row)


def _id(row: Row, kind: str, prefix: str) -> str:
    """An id that a link can name; what is no plain word cannot be one."""
    name = str(row.facts.get("id") or "")
    return f' id="{prefix}{kind}-{name}"' if _NAME.fullmatch(name) else ""


def _failed(row: Row) -> str:
    return " failed" if row.facts.get("failed") else " waiting" if row.facts.get("open") else ""


def _turn(row: Row, prefix: str) -> str:
    number = int(row.facts.get("number") or 0)
    name = f"{prefix}turn-{number}"
    head = f'<h2><a href="#{name}">Turn {number}</a></h2>{moment(row.time)}{_took(row)}{_round(row)}'
    return f'<section class="turn" id="{name}">\n<header>{head}</header>\n{_prompt(row)}'


def _round(row: Row) -> str:
    text = badge(row.facts)
    return f' <span class="round">{escape(text)}</span>' if text else ""


def _took(row: Row) -> str:
    seconds, output, context = (row.facts.get(name) for name in ("seconds", "output", "context"))
    parts = [duration(seconds)] if seconds and seconds >= 1 else []
    parts += [f"{tokens(output)} tokens written"] if output else []
    parts += [f"{tokens(context)} in context"] if context else []
    return f' <span class="took">{escape(" · ".join(parts))}</span>' if parts else ""


def moment(time: datetime | None) -> str:
    """A time, in UTC."""
    if time is None:
        return ""
    return f' <time datetime="{stamp(time)}">{time.astimezone(UTC):%Y-%m-%d %H:%M}</time>'


def _prompt(row: Row) -> str:
    said = escape(clean(row.text).strip("\n")) or "<em>(no text)</em>"
    return f'<div class="prompt"><div class="said">{said}</div></div>\n'


def _queued(row: Row) -> str:
    return f'<div class="prompt queued"><div class="said">{escape(clean(row.text).strip())}</div></div>\n'


def _markdown(row: Row) -> str:
    return f'<div class="{row.kind}">{prose(row.text)}</div>\n'


def _thinking(row: Row) -> str:
    return f'<details class="thinking"><summary>Thinking</summary>{prose(row.text)}</details>\n'


def _summary(row: Row) -> str:
    return f'<details class="summary"><summary>Summary</summary>{prose(row.text)}</details>\n'


def _call(row: Row) -> str:
    name, _, about = one_line(row.text[: 4 * LONG], LONG).partition(" ")
    time = took(row)
    timed = f' <span class="took">{time}</span>' if time else ""
    state = "failed" if row.facts.get("failed") else "no result" if row.facts.get("open") else ""
    said = f' <span class="state">{state}</span>' if state else ""
    return f"<b>{escape(name)}</b> <code>{escape(about)}</code>{timed}{said}"


def _lone_call(row: Row) -> str:
    return f'<div class="call{_failed(row)}">{_call(row)}</div>\n'


def _agent(row: Row) -> str:
    used, spent = row.facts.get("totalTokens"), row.facts.get("totalDurationMs")
    parts = [one_line(str(row.facts.get(name) or "")) for name in ("kind", "model")]
    parts.append(f"{tokens(used)} tokens" if isinstance(used, int) else "")
    parts.append(duration(spent / 1000) if isinstance(spent, int | float) else "")
    about = " · ".join(part for part in parts if part)
    return f'<b>Agent</b> {escape(one_line(row.text))} <span class="took">{escape(about)}</span>'


def _output(row: Row) -> str:
    text, more = cut(row.text, row.limit, row.facts.get("beyond", 0))
    left = f'<div class="more">… {plural(more, "more line")}</div>' if more else ""
    return f'<pre class="{row.kind}">{coloured(text)}</pre>{left}\n'


def _diff(row: Row) -> str:
    text, more = cut(clean(row.text), row.limit)
    left = f'<div class="more">… {plural(more, "more line")}</div>' if more else ""
    return f'<pre class="diff">{"".join(map(_diff_line, escape(text).split(chr(10))))}</pre>{left}\n'


def _diff_line(line: str) -> str:
    kind = _SIGNS.get(line[:1])
    return f"<{kind}>{line}\n</{kind}>" if kind else f"{line}\n"


_SIGNS = {"+": "ins", "-": "del"}


def _todo(row: Row) -> str:
    status = str(row.facts.get("status"))
    done = " done" if status == "completed" else ""
    return f'<div class="todo{done}">{sign(row)} {escape(one_line(row.text))}</div>\n'


def _compaction(row: Row) -> str:
    said = f"Compacted ({one_line(str(row.facts.get('trigger') or 'unknown'))}{shrunk(row)}"
    return f'<div class="compaction">{escape(said)}){moment(row.time)}</div>\n'


def _picture(row: Row) -> str:
    found = row.facts.get("picture")
    if not isinstance(found, Picture):
        return ""
    if (uri := found.uri) is None:
        about = one_line(f"{found.kind} {found.media_type}, {size(found.size)}")
        return f'<div class="note">[{escape(about)}]</div>\n'
    return f'<div class="picture"><img src="{uri}" alt="{escape(one_line(row.text))}" loading="lazy"></div>\n'


def _text(row: Row) -> str:
    text, more = cut(row.text, row.limit)
    left = f" … {plural(more, 'more line')}" if more else ""
    kind = row.kind if row.kind in ("note", "meta", "interrupt", "error", "title", "about") else "note"
    return f'<div class="{kind}">{coloured(text)}{left}</div>\n'


_KINDS: dict[str, Callable[[Row], str]] = {
    "prompt": _prompt,
    "queued": _queued,
    "reply": _markdown,
    "plan": _markdown,
    "thinking": _thinking,
    "summary": _summary,
    "call": _lone_call,
    "input": _output,
    "result": _output,
    "failure": _output,
    "diff": _diff,
    "todo": _todo,
    "compaction": _compaction,
    "picture": _picture,
    "end": lambda _: "",
}
