"""Convert rows to Markdown for GitHub and Obsidian, in which no text of the transcript becomes HTML.

The model's text is Markdown already and stays so, except for raw HTML, external pictures and unclosed fences. Tool
outputs are in fences that they cannot close, folded in `<details>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from html import escape

from clew.system.plural import plural
from clew.view.attachments import MAX_LABEL, Picture
from clew.view.header import About
from clew.view.nesting import is_expanded, nest_rows
from clew.view.round_labels import round_badge
from clew.view.row_labels import compaction_label, duration_label
from clew.view.rows import Row
from clew.view.sanitize import clean, format_duration, format_size, format_tokens, one_line
from clew.view.truncate import truncate
from clew.wire.json_codec import encode
from clew.wire.timestamps import format_timestamp

HEADING_WIDTH = 72  # columns of the prompt in its heading
_FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>\"']*>)")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&$])")
_TICKS = re.compile(r"`{3,}")


def markdown_document(about: About, rows: Iterable[Row], front_matter: bool = False) -> Iterator[str]:
    """Yield a complete document."""
    if front_matter:
        yield _front_matter(about)
    when = f"{about.started.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if about.started else ""
    facts = " · ".join(escape_markdown(text) for text in (when, *(value for _, value in about.told)) if text)
    yield f"# {escape_markdown(about.title)}\n\n{facts}\n\n"
    yield from markdown_pieces(rows)


def markdown_pieces(rows: Iterable[Row]) -> Iterator[str]:
    """Yield Markdown for each row."""
    is_list = False
    for row, ended, opens in nest_rows(rows):
        closed = "".join("</details>\n\n" for holder in ended if holder.kind != "prompt")
        yield ("\n" if is_list and row.kind != "todo" else "") + closed + _render_row(row, opens)
        is_list = row.kind == "todo"


def _front_matter(about: About) -> str:
    """Return properties as YAML front matter; a JSON string is a YAML string too."""
    properties = {
        "title": about.title,
        "created": format_timestamp(about.started) if about.started else "",
        **dict(about.told),
    }
    lines = "".join(f"{name}: {encode(clean(value)).decode()}\n" for name, value in properties.items() if value)
    return f"---\n{lines}tags: [claude-code]\n---\n\n"


def _render_row(row: Row, opens: bool) -> str:
    if row.kind == "call" and opens:
        return _details_start(_call_label(row), is_open=is_expanded(row))
    if row.kind == "agent":
        return _details_start(_agent_label(row), is_open=False)
    return _RENDERERS.get(row.kind, _render_note)(row)


def _details_start(summary: str, is_open: bool) -> str:
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>\n\n"


# -- text of a transcript


def escape_markdown(text: str) -> str:
    """Return text on one line with all Markdown characters escaped."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def defuse_markdown(text: str) -> str:
    """Return Markdown without raw HTML and without pictures that would be loaded; an open fence is closed."""
    lines: list[str] = []
    paragraph: list[str] = []
    fence = ""
    for line in clean(text).strip("\n").split("\n"):
        fence_match = _FENCE.match(line)
        if fence:
            lines.append(line)
            if fence_match and fence_match[1].startswith(fence) and not fence_match[2].strip():
                fence = ""
        elif fence_match:
            lines += [*_defuse_paragraph(paragraph), line]
            paragraph, fence = [], fence_match[1]
        elif line.strip():
            paragraph.append(line)
        else:
            lines += [*_defuse_paragraph(paragraph), line]
            paragraph = []
    lines += [*_defuse_paragraph(paragraph), *([fence] if fence else [])]
    return "\n".join(lines)


def _defuse_paragraph(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a paragraph. Code spans stay only if every line closes what it opens, so none is misread."""
    has_code = all("`" not in _CODE_SPAN.sub("", line) and "\\`" not in line for line in lines)
    for line in lines:
        if not has_code:
            yield _escape_tags(line)
            continue
        position, parts = 0, []
        for span in _CODE_SPAN.finditer(line):
            parts += [_escape_tags(line[position : span.start()]), span[0]]
            position = span.end()
        yield "".join((*parts, _escape_tags(line[position:])))


def _escape_tags(text: str) -> str:
    return _TAG.sub("&lt;", text).replace("![", "\\![")


def _block_quote(text: str) -> str:
    """Return a block quote that keeps its line breaks."""
    lines = defuse_markdown(text).split("\n")
    return "".join(f"> {line}  \n" if line and not _FENCE.match(line) else f"> {line}\n" for line in lines) + "\n"


def fence_text(text: str, language: str = "") -> str:
    """Return text in a fence longer than any inside."""
    ticks = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    return f"{ticks}{language}\n{text}\n{ticks}\n\n"


# -- rows


def _render_prompt(row: Row) -> str:
    number, first = row.facts.get("number"), one_line(row.text, HEADING_WIDTH) or "(no text)"
    head = f"## {number} · {escape_markdown(first)}\n\n" if row.depth == 0 else ""
    parts = [f"{row.time.astimezone(UTC):%Y-%m-%d %H:%M}"] if row.time else []
    seconds, output, context = (row.facts.get(name) for name in ("seconds", "output", "context"))
    parts += [format_duration(seconds)] if seconds and seconds >= 1 else []
    parts += [f"{format_tokens(output)} tokens written"] if output else []
    parts += [f"{format_tokens(context)} in context"] if context else []
    parts += [round_text] if (round_text := round_badge(row.facts)) and row.depth == 0 else []
    about = f"*{' · '.join(parts)}*\n\n" if parts else ""
    return head + about + ("" if first == row.text.strip() else _block_quote(row.text))


def _render_queued(row: Row) -> str:
    return f"**Queued:**\n\n{_block_quote(row.text)}"


def _render_reply(row: Row) -> str:
    return f"{defuse_markdown(row.text)}\n\n"


def _render_plan(row: Row) -> str:
    return f"**Plan**\n\n{defuse_markdown(row.text)}\n\n"


def _render_folded(row: Row) -> str:
    return f"{_details_start(row.kind.capitalize(), is_open=False)}{defuse_markdown(row.text)}\n\n</details>\n\n"


def _call_label(row: Row) -> str:
    name, _, about = one_line(row.text[: 4 * MAX_LABEL], MAX_LABEL).partition(" ")
    time = duration_label(row)
    state = " · <b>failed</b>" if row.facts.get("failed") else " · no result" if row.facts.get("open") else ""
    return f"<b>{escape(name)}</b> <code>{escape(about)}</code>{f' · {time}' if time else ''}{state}"


def _render_call(row: Row) -> str:
    return f"<p>{_call_label(row)}</p>\n\n"


def _agent_label(row: Row) -> str:
    used = row.facts.get("totalTokens")
    parts = [one_line(str(row.facts.get(name) or "")) for name in ("kind", "model")]
    parts.append(f"{format_tokens(used)} tokens" if isinstance(used, int) else "")
    about = " · ".join(part for part in parts if part)
    return f"<b>Agent</b> {escape(one_line(row.text))}{f' · {escape(about)}' if about else ''}"


def _render_output(row: Row) -> str:
    text, more = truncate(clean(row.text), row.limit, row.facts.get("beyond", 0))
    left = f"… {plural(more, 'more line')}\n\n" if more else ""
    return fence_text(text, "diff" if row.kind == "diff" else "") + left


def _render_todo(row: Row) -> str:
    status = row.facts.get("status")
    state = " *(in progress)*" if status == "in_progress" else ""
    return f"- [{'x' if status == 'completed' else ' '}] {escape_markdown(row.text)}{state}\n"


def _render_compaction(row: Row) -> str:
    return f"---\n\n**Compacted** ({escape_markdown(str(row.facts.get('trigger') or 'unknown'))}{compaction_label(row)})\n\n"


def _render_picture(row: Row) -> str:
    picture = row.facts.get("picture")
    about = (
        f"{picture.kind} {picture.media_type}, {format_size(picture.size)}"
        if isinstance(picture, Picture)
        else row.text
    )
    return f"*\\[{escape_markdown(about)}\\]*\n\n"


def _render_note(row: Row) -> str:
    text, more = truncate(clean(row.text), row.limit)
    left = f" … {plural(more, 'more line')}" if more else ""
    mark = "**Error:** " if row.kind == "error" else "· "
    return f"{mark}{escape_markdown(text)}{left}\n\n" if "\n" not in text else fence_text(text + left)


_RENDERERS: dict[str, Callable[[Row], str]] = {
    "prompt": _render_prompt,
    "queued": _render_queued,
    "reply": _render_reply,
    "plan": _render_plan,
    "thinking": _render_folded,
    "summary": _render_folded,
    "call": _render_call,
    "input": _render_output,
    "result": _render_output,
    "failure": _render_output,
    "diff": _render_output,
    "todo": _render_todo,
    "compaction": _render_compaction,
    "picture": _render_picture,
    "end": lambda _: "",
}
