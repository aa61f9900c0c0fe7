"""Lines and folds: what must hold for any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from clew.tui import folding
from clew.tui.line_wrap import fit, wrap
from clew.tui.row_text import RowState, height, layout, mark_matches, overlay, spans
from clew.view.row_types import AgentRow, CallRow, PromptRow, ReplyRow, ResultRow, Row
from tests.view.every_row import ROW_TYPES, fill_row

TEXT = st.text(max_size=300) | st.text("ab \n\t`#*-+▸", max_size=200)
STATES = st.sampled_from([RowState(), RowState(is_full=True)])


@given(TEXT, st.integers(4, 60))
def test_wrapped_lines_fit_and_lose_no_letter(text: str, width: int) -> None:
    made = wrap(text, width)
    assert all(cell_len(line) <= width for line in made)
    assert "".join("".join(made).split()) == "".join(text.split())


@given(TEXT, st.integers(0, 40))
def test_what_is_cut_fits(text: str, width: int) -> None:
    assert cell_len(fit(text, width)) <= width


@given(st.sampled_from(ROW_TYPES), TEXT, st.integers(20, 100), STATES, st.sampled_from([None, 0, 3]), st.integers(0, 2))
def test_the_height_is_that_of_the_layout(
    row_type: type[Row], text: str, width: int, state: RowState, limit: int | None, depth: int
) -> None:
    row = fill_row(row_type, text, depth, limit)
    made = layout(row, width, state)
    assert height(row, width, state) == len(made) > 0
    assert len(list(spans(row, made))) == len(made)
    assert all(cell_len(line.front + line.text) <= width for line in made)


@given(TEXT, st.integers(30, 100))
def test_a_closed_fold_is_one_line(text: str, width: int) -> None:
    call, agent = (
        layout(row, width, RowState("closed")) for row in (CallRow(text, failed=True, seconds=75.0), AgentRow(text))
    )
    assert len(call) == len(agent) == 1
    assert all(cell_len(line.front + line.text) <= width for line in (*call, *agent))
    assert call[0].text.endswith("FAILED")


@given(
    st.lists(st.text(max_size=8), max_size=6), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=4)
)
def test_marks_change_no_text(parts: list[str], places: list[tuple[int, int]]) -> None:
    line = [(part, "reply") for part in parts]
    made = overlay(line, sorted(p for p in places if p[0] < p[1]), "match")
    assert "".join(text for text, _ in made) == "".join(parts)
    assert mark_matches(line, None) == line


def test_what_belongs_to_a_call() -> None:
    rows: list[Row] = [
        PromptRow(),
        CallRow("one"),
        ResultRow(),
        CallRow("two"),
        AgentRow(depth=1),
        CallRow(depth=1),
        ResultRow(depth=1),
        AgentRow(depth=1),
        ReplyRow(depth=1),
        ReplyRow(),
    ]
    assert [folding.fold_end(rows, i) for i in (1, 3, 4, 5, 7)] == [3, 9, 7, 7, 9]
    assert folding.visible_rows(rows, lambda _: False) == [0, 1, 3, 9]
    assert folding.visible_rows(rows, lambda i: i == 3) == [0, 1, 3, 4, 7, 9]
    assert folding.enclosing_folds(rows, 6) == [3, 4, 5]
    assert folding.enclosing_folds(rows, 9) == []
