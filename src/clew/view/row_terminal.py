"""Print rows as text, with colours on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, TextIO, assert_never

from clew.system.control_characters import clean_name
from clew.system.plural import plural
from clew.system.terminal_style import TerminalStyle, stream_style
from clew.view import row_types
from clew.view.row_labels import compaction_label, duration_label, todo_sign
from clew.view.row_types import Row
from clew.view.sanitize import clean, format_tokens, one_line
from clew.view.truncate import truncate

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_MAX_CALL = 160  # characters of a call unless everything is shown; a heredoc is one line here


def print_rows(rows: Iterable[Row], file: TextIO) -> None:
    """Print rows as they are made: the first is visible before the last exists."""
    style = stream_style(file)
    if not style.colours:
        file.writelines(plain_pieces(rows))
        return
    console = _console(file, style)
    for row in rows:
        for part in _renderables(row, style):
            console.print(
                part, soft_wrap=isinstance(row, row_types.DiffRow | row_types.ResultRow | row_types.FailureRow)
            )


def render_row(row: Row, width: int, style: TerminalStyle) -> str:
    """Return a row as it looks on a terminal of a width, with newlines."""
    if not style.colours:
        return "".join(plain_pieces([row]))
    output = StringIO()
    console = _console(output, style, width)
    for part in _renderables(row, style):
        console.print(part)
    return output.getvalue()


def plain_pieces(rows: Iterable[Row]) -> Iterator[str]:
    """Yield rows as plain text, each with a newline at its end."""
    for row in rows:
        yield "".join(f"{line}\n" for line in plain_lines(row))


def plain_lines(row: Row) -> Iterator[str]:
    """Yield a row as plain lines."""
    indent = "  │ " * row.depth
    beyond, is_continued = 0, False
    if isinstance(row, row_types.PromptRow):
        yield ""
    elif isinstance(row, row_types.ResultRow | row_types.FailureRow):
        beyond, is_continued = row.beyond, row.is_continued
    mark, text = _marked_text(row)
    shown, more = truncate(text, row.limit, beyond)
    margin = " " * len(mark)
    for index, line in enumerate(shown.split("\n")):
        yield f"{indent}{mark if index == 0 and not is_continued else margin}{line}".rstrip()
    if more:
        yield f"{indent}{margin}… {plural(more, 'more line')}"


def _marked_text(row: Row) -> tuple[str, str]:
    """Return the mark before the first line of a row, and its text without control characters."""
    match row:
        case row_types.ResultRow() | row_types.FailureRow() | row_types.DoneRow():
            return "  ⎿ ", clean(row.text)
        case row_types.CallRow():
            return "● ", clean_name(_call_text(row))
        case row_types.ReplyRow() | row_types.InputRow() | row_types.PictureRow():
            return "", clean(row.text)
        case row_types.DiffRow():
            return "    ", clean(row.text)
        case row_types.PromptRow():
            return "❯ ", clean(_prompt_text(row))
        case row_types.QueuedRow():
            return "❯ ", clean(row.text)
        case row_types.TodoRow():
            return "", clean_name(f"    {todo_sign(row)} {row.text}")
        case row_types.ThinkingRow():
            return "✻ ", clean(row.text)
        case row_types.AgentRow():
            return "◆ ", clean_name(_agent_text(row))
        case row_types.NoteRow() | row_types.MetaRow():
            return "· ", clean(row.text)
        case row_types.SummaryRow() | row_types.PlanRow():
            return "  ", clean(row.text)
        case row_types.TitleRow() | row_types.AboutRow():
            return "", clean_name(row.text)
        case row_types.CompactionRow():
            return "", clean_name(f"──── compacted ({row.trigger or 'unknown'}{compaction_label(row)}) ────")
        case row_types.InterruptRow():
            return "⏹ ", clean(row.text)
        case row_types.ErrorRow():
            return "✗ ", clean(row.text)
        case row_types.WarningRow():
            return "! ", clean(row.text)
        case row_types.TableRow():
            return "", clean("\n".join(row.lines))
        case _:
            assert_never(row)


def _prompt_text(row: row_types.PromptRow) -> str:
    suffix = f"  [{plural(row.images, 'image')}]" if row.images else ""
    return (row.text or "(no text)") + suffix


def _call_text(row: row_types.CallRow) -> str:
    state = "  FAILED" if row.failed else "  (no result)" if row.is_open else ""
    time = duration_label(row)
    text = one_line(row.text, 0 if row.limit is None else _MAX_CALL)
    return text + (f"  {time}" if time else "") + state


def _agent_text(row: row_types.AgentRow) -> str:
    spent = f"{format_tokens(row.tokens)} tokens" if row.tokens is not None else ""
    parts = [part for part in (row.agent_type, row.model, spent) if part]
    return f"agent {row.text}" + (f"  ({', '.join(parts)})" if parts else "")


# -- colours

_LOOKS: dict[type[Row], str] = {
    row_types.PromptRow: "bold text on prompt",
    row_types.QueuedRow: "bold",
    row_types.TitleRow: "bold",
    row_types.CallRow: "link",
    row_types.AgentRow: "code-keyword",
    row_types.ThinkingRow: "italic quiet",
    **dict.fromkeys((row_types.FailureRow, row_types.ErrorRow), "bad"),
    **dict.fromkeys((row_types.InterruptRow, row_types.CompactionRow, row_types.WarningRow), "warn"),
    **dict.fromkeys((row_types.ResultRow, row_types.DoneRow, row_types.NoteRow, row_types.MetaRow), "quiet"),
    **dict.fromkeys((row_types.SummaryRow, row_types.AboutRow), "quiet"),
}
_MARKDOWN = {
    "markdown.code": "code-number",
    "markdown.code_block": "",
    "markdown.block_quote": "italic quiet",
    "markdown.list": "",
    "markdown.item.number": "bold",
    "markdown.hr": "quiet",
    "markdown.link": "link",
    "markdown.link_url": "underline link",
    "markdown.table.border": "quiet",
    "markdown.table.header": "bold",
}


def _console(file: TextIO, style: TerminalStyle, width: int | None = None) -> Console:
    from rich.console import Console
    from rich.theme import Theme

    return Console(
        file=file,
        width=width,
        force_terminal=True,
        color_system="truecolor" if style.colours > 256 else "256" if style.colours > 16 else "standard",
        no_color=False,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        theme=Theme({name: style.rich_look(look) for name, look in _MARKDOWN.items()}),
    )


def _renderables(row: Row, style: TerminalStyle) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    if isinstance(row, row_types.ReplyRow | row_types.PlanRow) and row.text.strip():
        from clew.view.terminal_markdown import render_markdown

        yield Padding(render_markdown(clean(row.text), style), (0, 0, 0, 2 * row.depth + 2))
        return
    if isinstance(row, row_types.PromptRow):
        yield Text("")
    for number, line in enumerate(plain_lines(row)):
        if line or not isinstance(row, row_types.PromptRow):
            text = Text(line, style=style.rich_look(_line_look(row, line, number)))
            if isinstance(row, row_types.PromptRow):
                text.highlight_regex(r"^(?:  │ )*❯", style.rich_look("accent"))
            yield text


def _line_look(row: Row, line: str, number: int) -> str:
    if isinstance(row, row_types.DiffRow):
        bare = line.strip()
        if number < 2 and bare.startswith(("--- ", "+++ ")):
            return "bold"  # the names of the file
        return "good" if bare.startswith("+") else "bad" if bare.startswith("-") else "quiet"
    return "bad" if isinstance(row, row_types.CallRow) and row.failed else _LOOKS.get(type(row), "")
