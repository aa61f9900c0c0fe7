"""Rows: every printer prints every class, and no text of a row is left out when secrets are masked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest

from clew.console.plain_ui import row_text
from clew.console.render import RowRenderer
from clew.mcp.quoted_text import quoted_rows
from clew.system.terminal_style import TerminalStyle
from clew.tui.row_text import RowState, layout, spans
from clew.tui.row_widget import RowView
from clew.view.mask_rows import mask_rows
from clew.view.row_html import fragments
from clew.view.row_markdown import markdown_pieces
from clew.view.row_terminal import plain_pieces, render_row
from clew.view.row_types import Row, RowPrinter
from tests.view.every_row import ROW_TYPES, fill_row, text_fields

KEY = "sk-ant-api03-" + "aB3dE5fG7hJ9" * 3
NOT_SHOWN = {"id", "status"}  # a page shows an id only if it has the characters of one


def coloured(rows: Iterable[Row]) -> Iterator[str]:
    return (render_row(row, 80, TerminalStyle(256)) for row in rows)


def painted(rows: Iterable[Row]) -> Iterator[str]:
    return map(RowRenderer(80).render, rows)


def quoted(rows: Iterable[Row]) -> Iterator[str]:
    return ("\n".join(quoted_rows([row])) for row in rows)


def drawn(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield "\n".join(text for line in spans(row, layout(row, 80, RowState())) for text, _ in line)


def in_words(rows: Iterable[Row]) -> Iterator[str]:
    return map(row_text, rows)


PRINTERS: dict[str, RowPrinter] = {
    "terminal": plain_pieces,
    "colours": coloured,
    "html": fragments,
    "markdown": markdown_pieces,
    "mcp": quoted,
    "tui": drawn,
    "console": painted,
    "lines": in_words,
}


@pytest.mark.parametrize("printer", PRINTERS.values(), ids=PRINTERS)
@pytest.mark.parametrize("row_type", ROW_TYPES)
def test_every_printer_prints_every_class(printer: RowPrinter, row_type: type[Row]) -> None:
    text = "".join(printer([fill_row(row_type, " beans")]))
    if row_type.kind != "compaction":  # has a sentence of its own
        assert "beans" in text
    else:
        assert re.search("compacted", text, re.IGNORECASE)


@pytest.mark.parametrize("row_type", ROW_TYPES)
def test_a_secret_in_any_text_of_a_row_is_masked(row_type: type[Row]) -> None:
    (row,) = mask_rows([fill_row(row_type, f"key {KEY}")])
    assert {name for name in text_fields(row_type) if KEY in getattr(row, name)} <= NOT_SHOWN


@pytest.mark.parametrize("row_type", ROW_TYPES)
def test_the_browser_has_a_style_for_every_class(row_type: type[Row]) -> None:
    lines = layout(fill_row(row_type, "beans"), 80, RowState())
    assert {f"row--{line.style}" for line in lines} <= RowView.COMPONENT_CLASSES


def test_kinds_are_unique() -> None:
    assert len({row_type.kind for row_type in ROW_TYPES}) == len(ROW_TYPES)
