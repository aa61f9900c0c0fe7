"""The terminal: rows as text, with colour where there is a terminal and without where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from clew.system.control_characters import clean_name
from clew.system.plural import plural
from clew.view.row_labels import shrunk, sign, took
from clew.view.rows import Row
from clew.view.sanitize import clean, one_line, tokens
from clew.view.truncate import cut

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
_ONE_LINE = ("title", "about", "agent", "compaction", "todo", "call")  # rows that no text may break
_LONGEST_CALL = 160  # characters of a call, unless all of it is asked for; a heredoc is a line here


def print_rows(rows: Iterable[Row], file: TextIO, colour: bool) -> None:
    """Print rows as they come: the first is on the screen before the last is made."""
    if not colour:
        for row in rows:
            file.writelines(f"{line}\n" for line in lines(row))
        return
    console = _console(file)
    for row in rows:
        for part in _renderables(row):
            console.print(part, soft_wrap=row.kind in ("diff", "result", "failure"))


def painted(row: Row, width: int, colour: bool) -> str:
    """A row as it looks on a terminal of a width, with its newlines."""
    if not colour:
        return "".join(f"{line}\n" for line in lines(row))
    from rich.console import Console

    drawn = StringIO()
    console = Console(
        file=drawn,
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
    return drawn.getvalue()


def lines(row: Row) -> Iterator[str]:
    """A row as plain lines."""
    indent = "  │ " * row.depth
    if row.kind == "prompt":
        yield ""
    mark = _MARK.get(row.kind, "")
    lead = " " * len(mark) if row.facts.get("is_continued") else mark
    shown, more = cut(_text(row), row.limit, row.facts.get("beyond", 0))
    for index, line in enumerate(shown.split("\n")):
        yield f"{indent}{lead if index == 0 else ' ' * len(mark)}{line}".rstrip()
    if more:
        yield f"{indent}{' ' * len(mark)}… {plural(more, 'more line')}"


def _text(row: Row) -> str:
    head = _HEADS.get(row.kind)
    text = head(row) if head else row.text
    return clean_name(text) if row.kind in _ONE_LINE else clean(text)


def _prompt(row: Row) -> str:
    images = row.facts.get("images") or 0
    seen = f"  [{plural(images, 'image')}]" if images else ""
    return (row.text or "(no text)") + seen


def _call(row: Row) -> str:
    state = "  FAILED" if row.facts.get("failed") else "  (no result)" if row.facts.get("open") else ""
    time = took(row)
    text = one_line(row.text, 0 if row.limit is None else _LONGEST_CALL)
    return text + (f"  {time}" if time else "") + state


def _agent(row: Row) -> str:
    kind, model = row.facts.get("kind"), row.facts.get("model")
    used = row.facts.get("totalTokens")
    spent = f"{tokens(used)} tokens" if isinstance(used, int) else ""
    parts = [p for p in (str(kind or ""), str(model or ""), spent) if p]
    return f"agent {row.text}" + (f"  ({', '.join(parts)})" if parts else "")


def _compaction(row: Row) -> str:
    return f"──── compacted ({row.facts.get('trigger') or 'unknown'}{shrunk(row)}) ────"


def _todo(row: Row) -> str:
    return f"    {sign(row)} {row.text}"


_HEADS: dict[str, Callable[[Row], str]] = {
    "prompt": _prompt,
    "call": _call,
    "agent": _agent,
    "compaction": _compaction,
    "todo": _todo,
}


# -- with colour


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
    for line in lines(row):
        if row.kind == "prompt" and not line:
            continue
        yield _styled(row, line)


def _markdown(text: str) -> RenderableType:
    from rich.markdown import Markdown

    return Markdown(clean(text), code_theme="ansi_dark", hyperlinks=False)


def _styled(row: Row, line: str) -> Text:
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
