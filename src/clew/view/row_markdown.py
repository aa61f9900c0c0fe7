"""Convert rows to Markdown for GitHub and Obsidian, in which no text of the transcript becomes HTML.

The model's text is Markdown already and stays so, except for raw HTML, external pictures, unclosed fences and the
level of its headings, which are below those of the turns. Tool outputs are in fences that they cannot close, with the
language of the file or command, folded in `<details>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from html import escape
from typing import assert_never

from clew.system.plural import plural
from clew.view import row_types
from clew.view.attachments import MAX_LABEL
from clew.view.fence_language import PLAIN, input_language, strip_line_numbers, text_language
from clew.view.header import About, BranchNote
from clew.view.markdown_headings import lower_headings
from clew.view.nesting import is_expanded, nest_rows
from clew.view.row_labels import compaction_label, duration_label, totals_labels
from clew.view.row_types import Row
from clew.view.sanitize import clean, format_size, format_tokens, one_line
from clew.view.syntax import file_language
from clew.view.truncate import truncate
from clew.wire.json_codec import encode
from clew.wire.timestamps import format_timestamp

HEADING_WIDTH = 72  # columns of the prompt in its heading
MAX_PICTURE = 2 << 20  # characters of an embedded picture
_FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>\"']*>)")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&$])")
_TICKS = re.compile(r"`{3,}")


def markdown_document(about: About, rows: Iterable[Row], front_matter: bool = False) -> Iterator[str]:
    """Yield a complete document, with its pictures embedded."""
    if front_matter:
        yield _front_matter(about)
    when = f"{about.started.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if about.started else ""
    facts = " · ".join(escape_markdown(text) for text in (when, *(value for _, value in about.details)) if text)
    yield f"# {escape_markdown(about.title)}\n\n{facts}\n\n{_branch_list(about)}"
    yield from markdown_pieces(rows, pictures=True)


def markdown_branch(note: BranchNote, rows: Iterable[Row]) -> Iterator[str]:
    """Yield the turns of another branch, below a heading."""
    yield f"---\n\n## Branch {note.number} ({note.origin})\n\n"
    yield from markdown_pieces(rows, pictures=True)


def _branch_list(about: About) -> str:
    if not about.branches:
        return ""
    items = "".join(
        f"- Branch {note.number} ({note.summary}): {escape_markdown(note.text) or '(no text)'}\n"
        for note in about.branches
    )
    command = f" The others: `{about.branch_command}`" if about.branch_command else ""
    return f"{about.branch_sentence}{command}\n\n{items}\n"


def markdown_pieces(rows: Iterable[Row], pictures: bool = False) -> Iterator[str]:
    """Yield Markdown for each row; `pictures` embeds the pictures instead of naming them."""
    is_list = False
    call: row_types.CallRow | None = None
    for row, ended, opens in nest_rows(rows):
        closed = "".join("</details>\n\n" for holder in ended if not isinstance(holder, row_types.PromptRow))
        call = row if isinstance(row, row_types.CallRow) else call if row is not None else None
        is_item = isinstance(row, row_types.TodoRow)
        text = _render_row(row, opens, call, pictures) if row is not None else ""
        yield ("\n" if is_list and not is_item else "") + closed + text
        is_list = is_item


def _front_matter(about: About) -> str:
    """Return properties as YAML front matter; a JSON string is a YAML string too."""
    properties = {
        "title": about.title,
        "created": format_timestamp(about.started) if about.started else "",
        **dict(about.details),
    }
    lines = "".join(f"{name}: {encode(clean(value)).decode()}\n" for name, value in properties.items() if value)
    return f"---\n{lines}tags: [claude-code]\n---\n\n"


def _render_row(row: Row, opens: bool, call: row_types.CallRow | None, pictures: bool) -> str:
    """Return a row as Markdown; `call` is the last call, whose output it may be."""
    match row:
        case row_types.CallRow():
            label = _call_label(row, opens)
            return _details_start(label, is_open=is_expanded(row)) if opens else f"<p>{label}</p>\n\n"
        case row_types.ResultRow() | row_types.FailureRow():
            is_file = bool(call and call.tool == "Read")
            text, first = strip_line_numbers(row.text) if is_file else (row.text, 0)
            start = f"*from line {first}*\n\n" if first > 1 else ""
            language = (file_language(call.path or call.text) or PLAIN) if call and first else text_language(text)
            return start + _render_output(row, text, language, row.beyond)
        case row_types.InputRow():
            return _render_output(row, row.text, input_language(call, row.text))
        case row_types.DiffRow():
            return _render_output(row, row.text, "diff")
        case row_types.ReplyRow():
            return f"{defuse_markdown(row.text)}\n\n"
        case row_types.PlanRow():
            return f"**Plan**\n\n{defuse_markdown(row.text)}\n\n"
        case row_types.PromptRow():
            return _render_prompt(row)
        case row_types.QueuedRow():
            return f"**Queued:**\n\n{_block_quote(row.text)}"
        case row_types.ThinkingRow() | row_types.SummaryRow():
            start = _details_start(row.kind.capitalize(), is_open=False)
            return f"{start}{defuse_markdown(row.text)}\n\n</details>\n\n"
        case row_types.AgentRow():
            return _details_start(_agent_label(row), is_open=False)
        case row_types.TodoRow():
            state = " *(in progress)*" if row.status == "in_progress" else ""
            return f"- [{'x' if row.status == 'completed' else ' '}] {escape_markdown(row.text)}{state}\n"
        case row_types.CompactionRow():
            return f"---\n\n**Compacted** ({escape_markdown(row.trigger or 'unknown')}{compaction_label(row)})\n\n"
        case row_types.PictureRow():
            return _render_picture(row, pictures)
        case row_types.ErrorRow():
            return _render_note(row, "**Error:** ")
        case row_types.WarningRow():
            return _render_note(row, "**Warning:** ")
        case (
            row_types.NoteRow()
            | row_types.MetaRow()
            | row_types.InterruptRow()
            | row_types.TitleRow()
            | row_types.AboutRow()
            | row_types.DoneRow()
        ):
            return _render_note(row, "· ")
        case row_types.TableRow():
            return "".join(f"{escape_markdown(line)}  \n" for line in row.lines) + "\n"
        case _:
            assert_never(row)


def _details_start(summary: str, is_open: bool) -> str:
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>\n\n"


# -- text of a transcript


def escape_markdown(text: str) -> str:
    """Return text on one line with all Markdown characters escaped."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def defuse_markdown(text: str) -> str:
    """Return Markdown without raw HTML and pictures that would be loaded; a fence is closed, headings are lowered."""
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
    return lower_headings("\n".join(lines))


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


def _render_prompt(row: row_types.PromptRow) -> str:
    first = one_line(row.text, HEADING_WIDTH) or "(no text)"
    head = f"## {row.number} · {escape_markdown(first)}\n\n" if row.depth == 0 else ""
    parts = [f"{row.time.astimezone(UTC):%Y-%m-%d %H:%M}"] if row.time else []
    parts += totals_labels(row)
    parts += [row.round_badge] if row.round_badge and row.depth == 0 else []
    about = f"*{' · '.join(parts)}*\n\n" if parts else ""
    return head + about + ("" if first == row.text.strip() else _block_quote(row.text))


def _call_label(row: row_types.CallRow, opens: bool) -> str:
    name, _, about = one_line(row.text[: 4 * MAX_LABEL], MAX_LABEL).partition(" ")
    subject = f" <code>{escape(about)}</code>" if about and not (opens and row.tool == "ExitPlanMode") else ""
    time = duration_label(row)
    state = " · <b>failed</b>" if row.failed else " · no result" if row.is_open else ""
    return f"<b>{escape(name)}</b>{subject}{f' · {time}' if time else ''}{state}"


def _agent_label(row: row_types.AgentRow) -> str:
    parts = [one_line(row.agent_type), one_line(row.model)]
    parts.append(f"{format_tokens(row.tokens)} tokens" if row.tokens is not None else "")
    about = " · ".join(part for part in parts if part)
    return f"<b>Agent</b> {escape(one_line(row.text))}{f' · {escape(about)}' if about else ''}"


def _render_output(row: Row, text: str, language: str, beyond: int = 0) -> str:
    text, more = truncate(clean(text), row.limit, beyond)
    left = f"… {plural(more, 'more line')}\n\n" if more else ""
    return fence_text(text, language) + left


def _render_picture(row: row_types.PictureRow, embeds: bool) -> str:
    """Return a picture as a `data:` URI, or its name and why it is not here."""
    picture = row.picture
    uri = picture.uri if embeds else None
    if uri is not None and len(uri) <= MAX_PICTURE:
        return f"![{escape_markdown(row.text)}]({uri})\n\n"
    about = f"{picture.kind} {picture.media_type}, {format_size(picture.size)}"
    reason = "; too large to embed, an HTML export has it" if uri else "; not a picture that can be shown"
    return f"*\\[{escape_markdown(about + reason if embeds else about)}\\]*\n\n"


def _render_note(row: Row, mark: str) -> str:
    text, more = truncate(clean(row.text), row.limit)
    left = f" … {plural(more, 'more line')}" if more else ""
    return f"{mark}{escape_markdown(text)}{left}\n\n" if "\n" not in text else fence_text(text + left)
