"""Markdown: rows as text that reads well on GitHub and in Obsidian, where no word of a transcript becomes HTML.

What the model wrote is Markdown already and stays so, but for raw HTML, pictures from elsewhere and fences that were never
closed. What tools gave back stands in fences that it cannot close, folded in `<details>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from html import escape

from clew.system.plural import plural
from clew.view.attachments import LONG, Picture
from clew.view.header import About
from clew.view.nesting import is_shown, nested
from clew.view.round_labels import badge
from clew.view.row_labels import shrunk, took
from clew.view.rows import Row
from clew.view.sanitize import clean, duration, one_line, size, tokens
from clew.view.truncate import cut
from clew.wire.json_codec import encode
from clew.wire.timestamps import stamp

HEADING = 72  # columns of a prompt that stand in its heading
_FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$")
_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>\"']*>)")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&$])")
_RUN = re.compile(r"`{3,}")


def markdown(about: About, rows: Iterable[Row], front_matter: bool = False) -> Iterator[str]:
    """A whole document."""
    if front_matter:
        yield _front(about)
    when = f"{about.started.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if about.started else ""
    told = " · ".join(escaped(text) for text in (when, *(value for _, value in about.told)) if text)
    yield f"# {escaped(about.title)}\n\n{told}\n\n"
    yield from pieces(rows)


def pieces(rows: Iterable[Row]) -> Iterator[str]:
    """Rows as Markdown, a piece for each as it comes."""
    is_list = False
    for row, ended, opens in nested(rows):
        closed = "".join("</details>\n\n" for holder in ended if holder.kind != "prompt")
        yield ("\n" if is_list and row.kind != "todo" else "") + closed + _made(row, opens)
        is_list = row.kind == "todo"


def _front(about: About) -> str:
    """Properties, for programs that read them; a JSON string is a YAML string too."""
    told = {"title": about.title, "created": stamp(about.started) if about.started else "", **dict(about.told)}
    lines = "".join(f"{name}: {encode(clean(value)).decode()}\n" for name, value in told.items() if value)
    return f"---\n{lines}tags: [claude-code]\n---\n\n"


def _made(row: Row, opens: bool) -> str:
    if row.kind == "call" and opens:
        return _folded(_call(row), is_open=is_shown(row))
    if row.kind == "agent":
        return _folded(_agent(row), is_open=False)
    return _KINDS.get(row.kind, _note)(row)


def _folded(summary: str, is_open: bool) -> str:
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>\n\n"


# -- words of a transcript


def escaped(text: str) -> str:
    """Words on one line that mean nothing to Markdown."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def harmless(text: str) -> str:
    """Markdown without raw HTML and without pictures that would be loaded; a fence that was left open is closed."""
    made: list[str] = []
    chunk: list[str] = []
    fence = ""
    for line in clean(text).strip("\n").split("\n"):
        found = _FENCE.match(line)
        if fence:
            made.append(line)
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found:
            made += [*_defused(chunk), line]
            chunk, fence = [], found[1]
        elif line.strip():
            chunk.append(line)
        else:
            made += [*_defused(chunk), line]
            chunk = []
    made += [*_defused(chunk), *([fence] if fence else [])]
    return "\n".join(made)


def _defused(lines: list[str]) -> Iterator[str]:
    """The lines of a paragraph. Code keeps its signs only if every line closes what it opens, so that none is mistaken."""
    has_code = all("`" not in _SPAN.sub("", line) and "\\`" not in line for line in lines)
    for line in lines:
        if not has_code:
            yield _without_tags(line)
            continue
        at, parts = 0, []
        for span in _SPAN.finditer(line):
            parts += [_without_tags(line[at : span.start()]), span[0]]
            at = span.end()
        yield "".join((*parts, _without_tags(line[at:])))


def _without_tags(text: str) -> str:
    return _TAG.sub("&lt;", text).replace("![", "\\![")


def _quoted(text: str) -> str:
    """A quotation that keeps its line breaks."""
    lines = harmless(text).split("\n")
    return "".join(f"> {line}  \n" if line and not _FENCE.match(line) else f"> {line}\n" for line in lines) + "\n"


def fenced(text: str, language: str = "") -> str:
    """Text in a fence that is longer than any in it."""
    ticks = "`" * max(3, 1 + max((len(run) for run in _RUN.findall(text)), default=0))
    return f"{ticks}{language}\n{text}\n{ticks}\n\n"


# -- rows


def _prompt(row: Row) -> str:
    number, first = row.facts.get("number"), one_line(row.text, HEADING) or "(no text)"
    head = f"## {number} · {escaped(first)}\n\n" if row.depth == 0 else ""
    parts = [f"{row.time.astimezone(UTC):%Y-%m-%d %H:%M}"] if row.time else []
    seconds, output, context = (row.facts.get(name) for name in ("seconds", "output", "context"))
    parts += [duration(seconds)] if seconds and seconds >= 1 else []
    parts += [f"{tokens(output)} tokens written"] if output else []
    parts += [f"{tokens(context)} in context"] if context else []
    parts += [found] if (found := badge(row.facts)) and row.depth == 0 else []
    about = f"*{' · '.join(parts)}*\n\n" if parts else ""
    return head + about + ("" if first == row.text.strip() else _quoted(row.text))


def _queued(row: Row) -> str:
    return f"**Queued:**\n\n{_quoted(row.text)}"


def _words(row: Row) -> str:
    return f"{harmless(row.text)}\n\n"


def _plan(row: Row) -> str:
    return f"**Plan**\n\n{harmless(row.text)}\n\n"


def _aside(row: Row) -> str:
    return f"{_folded(row.kind.capitalize(), is_open=False)}{harmless(row.text)}\n\n</details>\n\n"


def _call(row: Row) -> str:
    name, _, about = one_line(row.text[: 4 * LONG], LONG).partition(" ")
    time = took(row)
    state = " · <b>failed</b>" if row.facts.get("failed") else " · no result" if row.facts.get("open") else ""
    return f"<b>{escape(name)}</b> <code>{escape(about)}</code>{f' · {time}' if time else ''}{state}"


def _lone_call(row: Row) -> str:
    return f"<p>{_call(row)}</p>\n\n"


def _agent(row: Row) -> str:
    used = row.facts.get("totalTokens")
    parts = [one_line(str(row.facts.get(name) or "")) for name in ("kind", "model")]
    parts.append(f"{tokens(used)} tokens" if isinstance(used, int) else "")
    about = " · ".join(part for part in parts if part)
    return f"<b>Agent</b> {escape(one_line(row.text))}{f' · {escape(about)}' if about else ''}"


def _output(row: Row) -> str:
    text, more = cut(clean(row.text), row.limit, row.facts.get("beyond", 0))
    left = f"… {plural(more, 'more line')}\n\n" if more else ""
    return fenced(text, "diff" if row.kind == "diff" else "") + left


def _todo(row: Row) -> str:
    status = row.facts.get("status")
    state = " *(in progress)*" if status == "in_progress" else ""
    return f"- [{'x' if status == 'completed' else ' '}] {escaped(row.text)}{state}\n"


def _compaction(row: Row) -> str:
    return f"---\n\n**Compacted** ({escaped(str(row.facts.get('trigger') or 'unknown'))}{shrunk(row)})\n\n"


def _picture(row: Row) -> str:
    found = row.facts.get("picture")
    about = f"{found.kind} {found.media_type}, {size(found.size)}" if isinstance(found, Picture) else row.text
    return f"*\\[{escaped(about)}\\]*\n\n"


def _note(row: Row) -> str:
    text, more = cut(clean(row.text), row.limit)
    left = f" … {plural(more, 'more line')}" if more else ""
    mark = "**Error:** " if row.kind == "error" else "· "
    return f"{mark}{escaped(text)}{left}\n\n" if "\n" not in text else fenced(text + left)


_KINDS: dict[str, Callable[[Row], str]] = {
    "prompt": _prompt,
    "queued": _queued,
    "reply": _words,
    "plan": _plan,
    "thinking": _aside,
    "summary": _aside,
    "call": _lone_call,
    "input": _output,
    "result": _output,
    "failure": _output,
    "diff": _output,
    "todo": _todo,
    "compaction": _compaction,
    "picture": _picture,
    "end": lambda _: "",
}
