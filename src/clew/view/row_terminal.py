"""Print rows as text, with colours on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from clew.system.control_characters import clean_name
from clew.system.plural import plural
from clew.view.row_labels import compaction_label, duration_label, todo_sign
from clew.view.rows import Row
from clew.view.sanitize import clean, format_tokens, one_line
from clew.view.truncate import truncate

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_STYLE = {
    "title": "bold",
    "about": "dim",
    "reply": "",
    "error": "red",
    "thinking": "italic dim",
    "call": "cyan",
    "result": "dim",
    "failure": "red",
    "note": "dim",
    "meta": "dim",
    "summary": "dim",
    "queued": "bold",
    "interrupt": "yellow",
    "agent": "magenta",
    "compaction": "yellow",
    "plan": "",
    "todo": "",
}
_MARK = {
    "prompt": "❯ ",
    "queued": "❯ ",
    "call": "● ",
    "agent": "◆ ",
    "interrupt": "⏹ ",
    "thinking": "✻ ",
    "result": "  ⎿ ",
    "failure": "  ⎿ ",
    "diff": "    ",
    "note": "· ",
    "meta": "· ",
    "error": "✗ ",
    "summary": "  ",
    "plan": "  ",
}
_ONE_LINE = ("title", "about", "agent", "compaction", "todo", "call")  # kinds of rows on one line
_MAX_CALL = 160  # characters of a call unless everything is shown; a heredoc is one line here


def print_rows(rows: Iterable[Row], file: TextIO, colour: bool) -> None:
    """Print rows as they are made: the first is visible before the last exists."""
    if not colour:
        for row in rows:
            file.writelines(f"{line}\n" for line in plain_lines(row))
        return
    console = _console(file)
    for row in rows:
        for part in _renderables(row):
            console.print(part, soft_wrap=row.kind in ("diff", "result", "failure"))


def render_row(row: Row, width: int, colour: bool) -> str:
    """Return a row as it looks on a terminal of a width, with newlines."""
    if not colour:
        return "".join(f"{line}\n" for line in plain_lines(row))
    from rich.console import Console

    output = StringIO()
    console = Console(
        file=output,
        width=width,
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for part in _renderables(row):
        console.print(part)
    return output.getvalue()


def plain_lines(row: Row) -> Iterator[str]:
    """Yield a row as plain lines."""
    indent = "  │ " * row.depth
    if row.kind == "prompt":
        yield ""
    mark = _MARK.get(row.kind, "")
    lead = " " * len(mark) if row.facts.get("is_continued") else mark
    shown, more = truncate(_row_text(row), row.limit, row.facts.get("beyond", 0))
    for index, line in enumerate(shown.split("\n")):
        yield f"{indent}{lead if index == 0 else ' ' * len(mark)}{line}".rstrip()
    if more:
        yield f"{indent}{' ' * len(mark)}… {plural(more, 'more line')}"


def _row_text(row: Row) -> str:
    head = _FORMATTERS.get(row.kind)
    text = head(row) if head else row.text
    return clean_name(text) if row.kind in _ONE_LINE else clean(text)


def _prompt_text(row: Row) -> str:
    images = row.facts.get("images") or 0
    suffix = f"  [{plural(images, 'image')}]" if images else ""
    return (row.text or "(no text)") + suffix


def _call_text(row: Row) -> str:
    state = "  FAILED" if row.facts.get("failed") else "  (no result)" if row.facts.get("open") else ""
    time = duration_label(row)
    text = one_line(row.text, 0 if row.limit is None else _MAX_CALL)
    return text + (f"  {time}" if time else "") + state


def _agent_text(row: Row) -> str:
    kind, model = row.facts.get("kind"), row.facts.get("model")
    used = row.facts.get("totalTokens")
    spent = f"{format_tokens(used)} tokens" if isinstance(used, int) else ""
    parts = [p for p in (str(kind or ""), str(model or ""), spent) if p]
    return f"agent {row.text}" + (f"  ({', '.join(parts)})" if parts else "")


def _compaction_text(row: Row) -> str:
    return f"──── compacted ({row.facts.get('trigger') or 'unknown'}{compaction_label(row)}) ────"


def _todo_text(row: Row) -> str:
    return f"    {todo_sign(row)} {row.text}"


_FORMATTERS: dict[str, Callable[[Row], str]] = {
    "prompt": _prompt_text,
    "call": _call_text,
    "agent": _agent_text,
    "compaction": _compaction_text,
    "todo": _todo_text,
}


# -- colours


def _console(file: TextIO) -> Console:
    from rich.console import Console

    return Console(file=file, highlight=False, markup=False, emoji=False)


def _renderables(row: Row) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    indent = 2 * row.depth
    if row.kind in ("reply", "plan") and row.text.strip():
        yield Padding(_markdown(row.text), (0, 0, 0, indent + 2))
        return
    if row.kind == "prompt":
        yield Text("")
    for line in plain_lines(row):
        if row.kind == "prompt" and not line:
            continue
        yield _styled_line(row, line)


def _markdown(text: str) -> RenderableType:
    from rich.markdown import Markdown

    return Markdown(clean(text), code_theme="ansi_dark", hyperlinks=False)


def _styled_line(row: Row, line: str) -> Text:
    from rich.text import Text

    if row.kind == "prompt":
        return Text(line, style="bold bright_white on grey23")
    if row.kind == "diff":
        bare = line.strip()
        style = "green" if bare.startswith("+") else "red" if bare.startswith("-") else "dim"
        return Text(line, style=style)
    if row.kind == "call" and row.facts.get("failed"):
        return Text(line, style="red")
    return Text(line, style=_STYLE.get(row.kind, ""))
