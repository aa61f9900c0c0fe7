"""Masked rows: they are looked through together, and come out as if each had been alone."""

from __future__ import annotations

from collections.abc import Iterator

from clew.view.header import masked_line, masked_lines
from clew.view.mask_rows import MaskCount, mask_rows
from clew.view.row_types import CallRow, ReplyRow, ResultRow, Row

KEY = "sk-ant-api03-" + "aB3dE5fG7hJ9" * 3


def test_the_first_rows_do_not_wait_for_those_behind_them() -> None:
    asked: list[int] = []

    def rows() -> Iterator[Row]:
        for number in range(100):
            asked.append(number)
            yield ReplyRow("x" * 1024)

    found = mask_rows(rows())
    next(found)
    assert len(asked) == 1
    next(found)
    assert len(asked) == 3


def test_secrets_are_masked_wherever_they_stand_among_many_rows() -> None:
    rows = [ResultRow(f"line {n}\nkey {KEY}" if n % 7 == 0 else f"line {n} " * n) for n in range(300)]
    tally = MaskCount()
    found = list(mask_rows(rows, tally))
    assert tally.secrets == len(range(0, 300, 7))
    assert not any(KEY in row.text for row in found)
    assert [row is given for row, given in zip(found, rows, strict=True)] == [n % 7 != 0 for n in range(300)]


def test_a_secret_that_a_colour_hides_or_a_fact_holds_is_masked() -> None:
    rows: list[Row] = [ResultRow(KEY[:20] + "\x1b[31m" + KEY[20:]), CallRow("run", tool=KEY, failed=True)]
    first, second = mask_rows(rows)
    assert first.text == "[REDACTED:anthropic-key]"
    assert second == CallRow("run", tool="[REDACTED:anthropic-key]", failed=True)


def test_lines_that_are_searched_together_are_masked_as_each_alone() -> None:
    hidden = KEY[:20] + "\x1b[31m" + KEY[20:]
    texts = [f"do {n}\n{KEY if n % 150 == 1 else hidden if n == 300 else 'it'}" for n in range(450)]
    alone, together = MaskCount(), MaskCount()
    assert list(masked_lines(texts, together)) == [masked_line(text, alone) for text in texts]
    assert together.secrets == alone.secrets == 4
    assert list(masked_lines(texts, None)) == [masked_line(text, None) for text in texts]
