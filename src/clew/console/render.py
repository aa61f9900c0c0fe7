"""Paint: rows as text for a terminal of some width, with colours if they are welcome. All words are cleaned here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from itertools import chain
from typing import TYPE_CHECKING, assert_never

from clew.console.colours import PAINT
from clew.system.plural import plural
from clew.view.row_labels import compaction_label, duration_label, todo_sign
from clew.view.row_types import (
    AboutRow,
    AgentRow,
    CallRow,
    CompactionRow,
    DiffRow,
    DoneRow,
    ErrorRow,
    FailureRow,
    InputRow,
    InterruptRow,
    MetaRow,
    NoteRow,
    PictureRow,
    PlanRow,
    PromptRow,
    QueuedRow,
    ReplyRow,
    ResultRow,
    Row,
    SummaryRow,
    TableRow,
    ThinkingRow,
    TitleRow,
    TodoRow,
    WarningRow,
)
from clew.view.sanitize import clean, one_line
from clew.view.truncate import truncate

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

WIDEST = 110  # columns of running text
NARROWEST = 20
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Painter:
    """Paints for one width."""

    def __init__(self, width: int, colour: bool = True) -> None:
        from rich.console import Console
        from rich.theme import Theme

        self.width = max(width, NARROWEST)
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
            theme=Theme(PAINT),
        )

    def paint(self, row: Row) -> str:
        """A row, with the empty line before it that sets it off."""
        indent = "  │ " * row.depth
        return "".join(f"{indent}{line}\n" for line in _row_lines(self, row))

    def lines(self, what: RenderableType, first: str = "", rest: str | None = None, width: int = 0) -> Iterator[str]:
        """Anything, line by line, behind a mark on the first line and as much room on the others."""
        from rich.cells import cell_len
        from rich.text import Text

        mark = Text.from_ansi(first).plain
        behind = " " * cell_len(mark) if rest is None else rest
        room = max((width or self.width) - cell_len(mark), NARROWEST // 3)
        self._file.seek(0)
        self._file.truncate()
        self._console.print(what, width=room, no_wrap=False, overflow="fold")
        found = self._file.getvalue().rstrip("\n").split("\n")
        while len(found) > 1 and not _bare(found[0]):
            del found[0]
        while len(found) > 1 and not _bare(found[-1]):
            del found[-1]
        for index, line in enumerate(found):
            yield (first if index == 0 else behind) + line.rstrip(" ")

    def styled(self, text: str, style: str) -> str:
        """A few words in a style, on one line."""
        from rich.text import Text

        self._file.seek(0)
        self._file.truncate()
        self._console.print(Text(text, style=style), end="", soft_wrap=True)
        return self._file.getvalue()

    def markdown(self, text: str, first: str, rest: str | None = None) -> Iterator[str]:
        from clew.console.terminal_markdown import prose

        return self.lines(prose(clean(text)), first, rest, width=min(self.width, WIDEST))


def _bare(line: str) -> str:
    return _COLOUR.sub("", line).strip()


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(clean(text).expandtabs(4), style=style, overflow="fold")


def _row_lines(painter: Painter, row: Row) -> Iterator[str]:
    match row:
        case PromptRow():
            return _prompt(painter, row, row.images)
        case QueuedRow():
            return _prompt(painter, row)
        case ReplyRow():
            return _reply(painter, row)
        case PlanRow():
            return _plan(painter, row)
        case ThinkingRow():
            return _thinking(painter, row)
        case CallRow():
            return _call(painter, row)
        case ResultRow():
            return _result(painter, row, "sign")
        case FailureRow():
            return _result(painter, row, "sign.failed")
        case DiffRow():
            return _diff(painter, row)
        case TodoRow():
            return _todo(painter, row)
        case CompactionRow():
            return _compaction(painter, row)
        case AgentRow():
            return painter.lines(_text(row.text), painter.styled("◆ ", "sign.agent"))
        case TableRow():
            return _table(painter, row)
        case TitleRow():
            return _marked(painter, row, "", "", "strong")
        case AboutRow() | SummaryRow():
            return _marked(painter, row, "  ", "")
        case ErrorRow():
            return chain([""], _marked(painter, row, "✗ ", "sign.error"))
        case WarningRow():
            return _marked(painter, row, "! ", "sign.warning")
        case InterruptRow():
            return _marked(painter, row, "  ⎿  ", "sign.warning")
        case DoneRow():
            return _marked(painter, row, "  ⎿  ", "")
        case NoteRow() | MetaRow() | InputRow() | PictureRow():
            return _marked(painter, row, "· ", "sign")
        case _:
            assert_never(row)


def _prompt(painter: Painter, row: PromptRow | QueuedRow, images: int = 0) -> Iterator[str]:
    yield ""
    seen = f"  [{plural(images, 'image')}]" if images else ""
    mark = painter.styled("❯ ", "sign.prompt")
    yield from painter.lines(_text((row.text or "(no text)") + seen, "strong"), mark)


def _reply(painter: Painter, row: ReplyRow) -> Iterator[str]:
    """A reply, or a part of it: the first has a mark, one that goes on stands close below the one before."""
    if row.part != "on":
        yield ""
    yield from painter.markdown(row.text, "● " if row.part == "first" else "  ")


def _plan(painter: Painter, row: PlanRow) -> Iterator[str]:
    bar = painter.styled("  │ ", "sign.plan")
    yield from painter.markdown(row.text, bar, bar)


def _thinking(painter: Painter, row: ThinkingRow) -> Iterator[str]:
    yield ""
    shown, more = truncate(clean(row.text), row.limit)
    yield from painter.lines(_text(shown, "thought"), painter.styled("✻ ", "sign"))
    if more:
        yield painter.styled(f"  … {plural(more, 'more line')}", "hint")


def call_title(painter: Painter, name: str, about: str, dot: str) -> Iterator[str]:
    """A call in a line or two: its tool, and what it is about in brackets."""
    from rich.text import Text

    words = Text.assemble((clean(name), "strong"), (f"({one_line(about, 3 * painter.width)})" if about else "", ""))
    yield from painter.lines(words, painter.styled("● ", f"sign.{dot}"))


def _call(painter: Painter, row: CallRow) -> Iterator[str]:
    yield ""
    name, _, about = one_line(row.text).partition(" ")
    dot = "failed" if row.failed else "open" if row.is_open else "done"
    yield from call_title(painter, name, about, dot)
    if time := duration_label(row):
        yield painter.styled(f"  took {time}", "hint")


def _result(painter: Painter, row: ResultRow | FailureRow, sign_style: str) -> Iterator[str]:
    shown, more = truncate(clean(row.text), row.limit)
    yield from painter.lines(_text(shown or "(no output)"), painter.styled("  ⎿  ", sign_style))
    if more:
        yield painter.styled(f"     … +{plural(more, 'line')}", "hint")


def _diff(painter: Painter, row: DiffRow) -> Iterator[str]:
    """A diff with the numbers of its lines."""
    shown, more = truncate(clean(row.text), row.limit)
    old = new = 0
    for line in shown.split("\n"):
        if found := _HUNK.match(line):
            if new:
                yield painter.styled("     ⋮", "sign")
            old, new = int(found[1]), int(found[2])
            continue
        if line.startswith(("---", "+++")) and not new:
            continue
        number = old if line.startswith("-") else new
        style = {"+": "added", "-": "removed"}.get(line[:1], "quiet")
        mark = painter.styled(f"     {number or 1:>4} {line[:1] or ' '} ", style)
        yield from painter.lines(_text(line[1:]), mark)
        old += not line.startswith("+")
        new += not line.startswith("-")
    if more:
        yield painter.styled(f"     … +{plural(more, 'line')}", "hint")


def _todo(painter: Painter, row: TodoRow) -> Iterator[str]:
    style = f"todo.{row.status}" if row.status in ("completed", "in_progress") else ""
    yield from painter.lines(_text(row.text, style), f"     {todo_sign(row)} ")


def _compaction(painter: Painter, row: CompactionRow) -> Iterator[str]:
    yield ""
    text = f"Compacted ({row.trigger or 'unknown'}{compaction_label(row)})"
    yield from painter.lines(_text(text), painter.styled("✻ ", "sign.warning"))


def _marked(painter: Painter, row: Row, mark: str, style: str, text_style: str = "") -> Iterator[str]:
    """Yield the text of a row after a mark, which leaves as much room on the other lines."""
    shown, more = truncate(clean(row.text), row.limit)
    yield from painter.lines(_text(shown, text_style), painter.styled(mark, style) if mark.strip() else mark)
    if more:
        yield painter.styled(f"{' ' * len(mark)}… +{plural(more, 'line')}", "hint")


def _table(painter: Painter, row: TableRow) -> Iterator[str]:
    """Pairs in two columns: what a command tells."""
    from rich.table import Table

    yield ""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="strong", overflow="fold", max_width=max(painter.width // 2, 12))
    table.add_column(overflow="fold")
    for name, value in row.pairs:
        table.add_row(_text(name), _text(value))
    if row.text:
        yield from painter.lines(_text(row.text, "strong"), "  ")
    if row.pairs:
        yield from painter.lines(table, "  ")
