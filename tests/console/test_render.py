"""Rows on a terminal: as wide as it is, without a colour where none is wanted, and never able to drive it."""

from __future__ import annotations

import re

import pytest

from clew.chat.tools.tool import CallResult
from clew.console.call_result import result_rows
from clew.console.plain_ui import row_text
from clew.console.render import RowRenderer
from clew.console.status_bar import Status, status_fragments
from clew.console.transcript import Transcript
from clew.view.row_types import CallRow, DiffRow, ResultRow, Row, TableRow, TodoRow
from clew.view.sanitize import columns
from tests.view.every_row import ROW_TYPES, fill_row

HOSTILE = "a\x1b]0;title\x07b\x1b[2Jc\x9b31md\x00e\u202ef"


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("row_type", ROW_TYPES)
def test_no_words_of_others_reach_the_terminal_as_codes(row_type: type[Row]) -> None:
    for colour in (True, False):
        made = RowRenderer(60, colour).render(fill_row(row_type, HOSTILE))
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", plain(made).replace("\n", ""))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", row_text(fill_row(row_type, HOSTILE)))


@pytest.mark.parametrize("width", [20, 37, 80, 200])
@pytest.mark.parametrize("row_type", ROW_TYPES)
def test_nothing_is_wider_than_the_terminal(row_type: type[Row], width: int) -> None:
    text = "word " * 40 + "\n" + "x" * 300 + "\n" + "字" * 90
    for line in plain(RowRenderer(width).render(fill_row(row_type, text))).split("\n"):
        assert columns(line) <= width


def test_a_diff_has_the_numbers_of_its_lines() -> None:
    made = plain(
        RowRenderer(60).render(DiffRow("--- a\n+++ a\n@@ -9,3 +9,3 @@\n same\n-old\n+new\n@@ -40,1 +40,1 @@\n-x\n+y"))
    )
    assert [line.split() for line in made.splitlines()] == [
        ["9", "same"],
        ["10", "-", "old"],
        ["10", "+", "new"],
        ["⋮"],
        ["40", "-", "x"],
        ["40", "+", "y"],
    ]


def test_results_are_short_unless_everything_is_wanted() -> None:
    long = CallResult("\n".join(map(str, range(50))), {"stdout": "", "stderr": "", "interrupted": False})
    (row,) = result_rows("Bash", {}, long, "/p")
    assert "+44 lines" in plain(RowRenderer(60).render(row))
    (row,) = result_rows("Bash", {}, long, "/p", is_verbose=True)
    assert "49" in plain(RowRenderer(60).render(row))


def test_the_status_fits_in_its_line() -> None:
    status = Status("acceptEdits", "claude-sonnet-5-5", 0.123, 1.5)
    for width in range(20, 140, 7):
        assert sum(len(text) for _, text in status_fragments(status, width)) < width
    assert "12% context · $1.50" in "".join(text for _, text in status_fragments(status, 100))
    assert "$" not in "".join(text for _, text in status_fragments(Status("default", "m", 0, None), 100))


def test_live_lines_are_bounded() -> None:
    rows: list[Row] = []
    transcript = Transcript(rows.append, clock=lambda: 0.0)
    transcript.begin()
    for number in range(12):
        transcript.call(f"c{number}", "Bash", {"command": f"run {number}"})
    assert len(transcript.live_lines(lambda: RowRenderer(80), 10)) <= 10
    transcript.end()
    assert transcript.live_lines(lambda: RowRenderer(80), 10) == []


def test_plain_lines_say_in_words_what_signs_say_elsewhere() -> None:
    assert row_text(TodoRow("mend it", status="in_progress")) == "Todo, in progress: mend it"
    assert row_text(CallRow("Bash ls", failed=True)) == "Call: Bash ls (failed)"
    assert row_text(ResultRow("a\nb\nc", limit=1)) == "Result: a\n2 more lines"
    assert row_text(TableRow("Cost", pairs=(("total", "$1"),))) == "Cost\ntotal: $1"
