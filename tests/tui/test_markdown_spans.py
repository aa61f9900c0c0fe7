"""Markdown in the terminal browser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from clew.tui.markdown_spans import style_lines


def plain(line: str) -> str:
    (spans,) = style_lines([line])
    return "".join(text for text, _ in spans)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("## The *drip* valve", "The drip valve"),
        ("- one **bold** word", "• one bold word"),
        ("  * nested", "  • nested"),
        ("> quoted", "▎ quoted"),
        ("---", "───"),
        ("see [the guide](docs/guide.md) and `a_b`", "see the guide and a_b"),
        ("| a | **b** |", "│ a │ b │"),
        ("|---|:-:|", "┼───┼───┼"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("``a ` b`` __init__", "a ` b init"),
        ("#hashtag", "#hashtag"),
    ],
)
def test_marks_are_not_shown(source: str, shown: str) -> None:
    assert plain(source) == shown


def test_code_is_coloured_by_its_language() -> None:
    block = ["```python", "def drip(n):  # slowly", '    return "x" + 1', "```", "done"]
    fence, first, second, end, after = style_lines(block)
    assert fence == [("python", "fence")] and end == [("", "fence")] and after == [("done", "reply")]
    assert {("def", "keyword"), ("drip", "name"), ("# slowly", "comment")} <= set(first)
    assert ("1", "number") in second and any(style == "string" for _, style in second)
    assert list(style_lines(["```nosuchlanguage", "x = 1"]))[1] == [("x = 1", "code")]


def test_columns_of_a_table_are_aligned_if_there_is_room() -> None:
    table = ["| part | state |", "|---|---|", "| **valve** | closed \\| open |", "| 水 |"]
    shown = ["".join(text for text, _ in line) for line in style_lines(table, 60)]
    assert shown == [
        "│ part  │ state         │",
        "├───────┼───────────────┤",
        "│ valve │ closed | open │",
        "│ 水    │               │",
    ]
    assert "".join(text for text, _ in next(style_lines(table, 20))) == "│ part │ state │"


@given(
    st.lists(st.text("ab#*_`~|>-[]() \n:python", max_size=30).map(lambda text: text.replace("\n", " ")), max_size=12)
)
def test_each_line_stays_one_line_and_does_not_grow(lines: list[str]) -> None:
    styled = list(style_lines(lines))
    assert len(styled) == len(lines)
    for spans, line in zip(styled, lines, strict=True):
        text = "".join(part for part, _ in spans)
        assert "\n" not in text
        assert cell_len(text) <= max(cell_len(line), 4)
