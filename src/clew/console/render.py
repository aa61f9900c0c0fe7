"""Render rows as text for a terminal of a given width, with or without colours. Control characters are removed here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from itertools import chain
from typing import TYPE_CHECKING, assert_never

from clew.console.colours import TRANSCRIPT_STYLES
from clew.facts.tool_catalog import tool_name
from clew.system.environment import terminal_ground
from clew.system.plural import plural
from clew.system.terminal_style import TerminalStyle
from clew.view import row_types
from clew.view.lexing.code_lines import Line
from clew.view.row_labels import compaction_label, duration_label, todo_sign
from clew.view.row_types import Row
from clew.view.sanitize import clean, one_line
from clew.view.syntax import file_language, token_lines
from clew.view.truncate import truncate

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

WIDEST = 110  # columns of running text
NARROWEST = 20
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class RowRenderer:
    """Renders rows for one width."""

    def __init__(self, width: int, colour: bool = True) -> None:
        from rich.console import Console
        from rich.theme import Theme

        self.width = max(width, NARROWEST)
        self._style = TerminalStyle(256, terminal_ground())
        self._file = StringIO()
        self._console: Console = Console(
            file=self._file,
            force_terminal=True,
            color_system="auto" if colour else None,
            no_color=not colour,
            width=self.width,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
            theme=Theme(TRANSCRIPT_STYLES),
        )

    def render(self, row: Row) -> str:
        """Return a row as lines, including the empty line that separates it from the one before."""
        indent = "  │ " * row.depth
        return "".join(f"{indent}{line}\n" for line in _row_lines(self, row))

    def lines(
        self, renderable: RenderableType, first: str = "", rest: str | None = None, width: int = 0
    ) -> Iterator[str]:
        """Yield something that rich can print, line by line: after a mark on the first line, indented on the others."""
        from rich.cells import cell_len
        from rich.text import Text

        mark = Text.from_ansi(first).plain
        indent = " " * cell_len(mark) if rest is None else rest
        room = max((width or self.width) - cell_len(mark), NARROWEST // 3)
        self._file.seek(0)
        self._file.truncate()
        self._console.print(renderable, width=room, no_wrap=False, overflow="fold")
        lines = self._file.getvalue().rstrip("\n").split("\n")
        while len(lines) > 1 and not _without_colour(lines[0]):
            del lines[0]
        while len(lines) > 1 and not _without_colour(lines[-1]):
            del lines[-1]
        for index, line in enumerate(lines):
            yield (first if index == 0 else indent) + line.rstrip(" ")

    def styled(self, text: str, style: str) -> str:
        """Return a short text in a style, on one line."""
        from rich.text import Text

        self._file.seek(0)
        self._file.truncate()
        self._console.print(Text(text, style=style), end="", soft_wrap=True)
        return self._file.getvalue()

    def code_look(self, token: str) -> str:
        """Return the style of a token of code on the background of the terminal."""
        return self._style.rich_look(f"code-{token}") if token else ""

    def markdown(self, text: str, first: str, rest: str | None = None) -> Iterator[str]:
        from clew.view.terminal_markdown import render_markdown

        return self.lines(render_markdown(clean(text), self._style), first, rest, width=min(self.width, WIDEST))


def _without_colour(line: str) -> str:
    return _COLOUR.sub("", line).strip()


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(clean(text).expandtabs(4), style=style, overflow="fold")


def _row_lines(renderer: RowRenderer, row: Row) -> Iterator[str]:
    match row:
        case row_types.PromptRow():
            return _prompt(renderer, row, row.images)
        case row_types.QueuedRow():
            return _prompt(renderer, row)
        case row_types.ReplyRow():
            return _reply(renderer, row)
        case row_types.PlanRow():
            return _plan(renderer, row)
        case row_types.ThinkingRow():
            return _thinking(renderer, row)
        case row_types.CallRow():
            return _call(renderer, row)
        case row_types.ResultRow():
            return _result(renderer, row, "sign")
        case row_types.FailureRow():
            return _result(renderer, row, "sign.failed")
        case row_types.DiffRow():
            return _diff(renderer, row)
        case row_types.TodoRow():
            return _todo(renderer, row)
        case row_types.CompactionRow():
            return _compaction(renderer, row)
        case row_types.AgentRow():
            return renderer.lines(_text(row.text), renderer.styled("◆ ", "sign.agent"))
        case row_types.TableRow():
            return _table(renderer, row)
        case row_types.TitleRow():
            return _marked(renderer, row, "", "", "strong")
        case row_types.AboutRow() | row_types.SummaryRow():
            return _marked(renderer, row, "  ", "")
        case row_types.ErrorRow():
            return chain([""], _marked(renderer, row, "✗ ", "sign.error"))
        case row_types.WarningRow():
            return _marked(renderer, row, "! ", "sign.warning")
        case row_types.InterruptRow():
            return _marked(renderer, row, "  ⎿  ", "sign.warning")
        case row_types.DoneRow():
            return _marked(renderer, row, "  ⎿  ", "")
        case row_types.NoteRow() | row_types.MetaRow() | row_types.InputRow() | row_types.PictureRow():
            return _marked(renderer, row, "· ", "sign")
        case _:
            assert_never(row)


def _prompt(renderer: RowRenderer, row: row_types.PromptRow | row_types.QueuedRow, images: int = 0) -> Iterator[str]:
    yield ""
    image_note = f"  [{plural(images, 'image')}]" if images else ""
    mark = renderer.styled("❯ ", "sign.prompt")
    yield from renderer.lines(_text((row.text or "(no text)") + image_note, "strong"), mark)


def _reply(renderer: RowRenderer, row: row_types.ReplyRow) -> Iterator[str]:
    """Yield a part of a reply. The first has a mark; a continued part follows without an empty line."""
    if row.part != "continued":
        yield ""
    yield from renderer.markdown(row.text, "● " if row.part == "first" else "  ")


def _plan(renderer: RowRenderer, row: row_types.PlanRow) -> Iterator[str]:
    bar = renderer.styled("  │ ", "sign.plan")
    yield from renderer.markdown(row.text, bar, bar)


def _thinking(renderer: RowRenderer, row: row_types.ThinkingRow) -> Iterator[str]:
    yield ""
    shown, more = truncate(clean(row.text), row.limit)
    yield from renderer.lines(_text(shown, "thought"), renderer.styled("✻ ", "sign"))
    if more:
        yield renderer.styled(f"  … {plural(more, 'more line')}", "hint")


def call_title(renderer: RowRenderer, name: str, about: str, dot: str) -> Iterator[str]:
    """Yield a call in a line or two: its tool, and its subject in brackets."""
    from rich.text import Text

    words = Text.assemble((clean(name), "strong"), (f"({one_line(about, 3 * renderer.width)})" if about else "", ""))
    yield from renderer.lines(words, renderer.styled("● ", f"sign.{dot}"))


def _call(renderer: RowRenderer, row: row_types.CallRow) -> Iterator[str]:
    yield ""
    label = one_line(row.text)
    known = one_line(tool_name(row.tool)) if row.tool else ""
    name = known if known and f"{label} ".startswith(f"{known} ") else label.partition(" ")[0]
    about = label[len(name) :].strip()
    dot = "failed" if row.failed else "open" if row.is_open else "done"
    yield from call_title(renderer, name, about, dot)
    if time := duration_label(row):
        yield renderer.styled(f"  took {time}", "hint")


def _result(renderer: RowRenderer, row: row_types.ResultRow | row_types.FailureRow, sign_style: str) -> Iterator[str]:
    shown, more = truncate(clean(row.text), row.limit)
    yield from renderer.lines(_text(shown or "(no output)"), renderer.styled("  ⎿  ", sign_style))
    if more:
        yield renderer.styled(f"     … +{plural(more, 'line')}", "hint")


def _diff(renderer: RowRenderer, row: row_types.DiffRow) -> Iterator[str]:
    """Yield a diff with line numbers; changed lines have a background, and code has colours."""
    shown, more = truncate(clean(row.text), row.limit)
    lines = shown.split("\n")
    coloured = _code_lines(lines, row.path)
    old = new = 0
    for index, line in enumerate(lines):
        if hunk := _HUNK.match(line):
            if new:
                yield renderer.styled("     ⋮", "sign")
            old, new = int(hunk[1]), int(hunk[2])
            continue
        if line.startswith(("---", "+++")) and not new:
            continue
        number = old if line.startswith("-") else new
        style = {"+": "added", "-": "removed"}.get(line[:1], "")
        mark = renderer.styled(f"     {number or 1:>4} {line[:1] or ' '} ", style or "quiet")
        yield from renderer.lines(_code_text(renderer, coloured.get(index) or Line((("", line[1:]),)), style), mark)
        old += not line.startswith("+")
        new += not line.startswith("-")
    if more:
        yield renderer.styled(f"     … +{plural(more, 'line')}", "hint")


def _code_lines(lines: list[str], path: str) -> dict[int, Line]:
    """Return the tokens of the lines of a diff by their index: of the old and the new text, each read as a whole."""
    tokens: dict[int, Line] = {}
    language = file_language(path)
    for left_out in ("-", "+") if language else ():
        indices = [i for i, line in enumerate(lines) if not line.startswith((left_out, "@@", "---", "+++"))]
        if not indices:
            continue
        read = token_lines("\n".join(lines[i][1:].expandtabs(4) for i in indices), language)
        tokens |= dict(zip(indices, read, strict=True)) if read is not None else {}
    return tokens


def _code_text(renderer: RowRenderer, line: Line, style: str) -> Text:
    """Return a line of code. Without a background of its own it has the colours that suit the terminal."""
    from rich.text import Text

    text = Text(overflow="fold")
    for token, part in line:
        look = f"{style}.{token}" if style and token else style or renderer.code_look(token)
        text.append(part.expandtabs(4), look)
    return text


def _todo(renderer: RowRenderer, row: row_types.TodoRow) -> Iterator[str]:
    style = f"todo.{row.status}" if row.status in ("completed", "in_progress") else ""
    yield from renderer.lines(_text(row.text, style), f"     {todo_sign(row)} ")


def _compaction(renderer: RowRenderer, row: row_types.CompactionRow) -> Iterator[str]:
    yield ""
    text = f"Compacted ({row.trigger or 'unknown'}{compaction_label(row)})"
    yield from renderer.lines(_text(text), renderer.styled("✻ ", "sign.warning"))


def _marked(renderer: RowRenderer, row: Row, mark: str, style: str, text_style: str = "") -> Iterator[str]:
    """Yield the text of a row after a mark, which leaves as much room on the other lines."""
    shown, more = truncate(clean(row.text), row.limit)
    yield from renderer.lines(_text(shown, text_style), renderer.styled(mark, style) if mark.strip() else mark)
    if more:
        yield renderer.styled(f"{' ' * len(mark)}… +{plural(more, 'line')}", "hint")


def _table(renderer: RowRenderer, row: row_types.TableRow) -> Iterator[str]:
    """Yield names and values in two columns, as slash commands show them."""
    from rich.table import Table

    yield ""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="strong", overflow="fold", max_width=max(renderer.width // 2, 12))
    table.add_column(overflow="fold")
    for name, value in row.pairs:
        table.add_row(_text(name), _text(value))
    if row.text:
        yield from renderer.lines(_text(row.text, "strong"), "  ")
    if row.pairs:
        yield from renderer.lines(table, "  ")
