"""Text that cannot drive a terminal, and numbers in few letters."""

from __future__ import annotations

import io
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.view.mask_rows import mask_rows
from clew.view.row_terminal import plain_lines, print_rows
from clew.view.row_types import CallRow, ResultRow, Row
from clew.view.sanitize import clean, columns, format_age, format_duration, format_size, format_tokens, one_line
from clew.view.truncate import MAX_LINE, truncate
from tests.view.every_row import ROW_TYPES, fill_row

TOKEN = "ghp_" + "Ab3dEf6hIj" * 3 + "KLMNOP"
ALLOWED = {"\n", "\t"}
HOSTILE = st.text(
    st.sampled_from("\x1b\x9b\x9d\x07\x08\r\n\t\x00\x7f\x85[];P_^X\\0;31mHab\u202e\u2066\u2028\ud800\ufeffé日")
)


def is_harmless(text: str) -> bool:
    return not any((c < " " and c not in ALLOWED) or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" for c in text)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]52;c;ZXZpbA==\x1b\\text", "text"),
        ("\x1b]8;;https://evil.test\x1b\\click\x1b]8;;\x1b\\", "click"),
        ("\x1bPq#0\x1b\\pixels", "pixels"),
        ("\x1b]0;never ended\nthe next line", "\nthe next line"),
        ("\x1b_never ended\nthe next line", "\nthe next line"),
        ("\x1b\x1b[31m[32m", "[32m"),
        ("\x9b31mC1", "·31mC1"),
        ("a\x00b\x08c\x7fd\x85e", "a·b·c·d·e"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("\u202egnp.exe\u202c \u2066x\u2069", "·gnp.exe· ·x·"),
        ("half \ud83d of a pair", "half · of a pair"),
        ("tabs\tand lines\n日本語 é 👍 stay", "tabs\tand lines\n日本語 é 👍 stay"),
    ],
)
def test_controls_do_not_get_through(given: str, shown: str) -> None:
    assert clean(given) == shown


@given(HOSTILE)
def test_nothing_that_drives_a_terminal_is_left_and_cleaning_again_changes_nothing(text: str) -> None:
    once = clean(text)
    assert is_harmless(once) and clean(once) == once
    assert is_harmless(one_line(text)) and "\n" not in one_line(text)


@given(HOSTILE, st.sampled_from(ROW_TYPES))
def test_no_row_drives_a_terminal(text: str, row_type: type[Row]) -> None:
    assert all(is_harmless(line) for line in plain_lines(fill_row(row_type, text, 1, limit=3)))


def test_a_megabyte_of_openings_is_cleaned_in_no_time() -> None:
    begun = time.perf_counter()
    for opening in ("\x1b]", "\x1bP", "\x1b[", "\x1b"):
        clean(opening * (1_000_000 // len(opening)))
    assert time.perf_counter() - begun < 5  # measured 0.1 s


@given(st.text(), st.integers(4, 60))
def test_one_line_is_no_wider_than_asked(text: str, width: int) -> None:
    assert columns(one_line(text, width)) <= width


def test_letters_of_the_east_are_two_columns_wide() -> None:
    assert (columns("日本語"), columns("abc"), columns("e\u0301")) == (6, 3, 1)
    assert one_line("日本語・中文", 7) == "日本語…"
    assert one_line("abcdefg", 6) == "abcde…" and one_line("abcdef", 6) == "abcdef"


@pytest.mark.req("R235")
def test_a_colour_in_the_middle_of_a_secret_does_not_hide_it() -> None:
    torn = f"{TOKEN[:9]}\x1b[0m{TOKEN[9:]}"
    (row,) = mask_rows([ResultRow(f"found {torn} here")])
    assert row.text == "found [REDACTED:github-token] here"


@pytest.mark.req("R235")
def test_a_secret_is_masked_before_the_text_is_cut() -> None:
    wide = "x" * (MAX_LINE - 20) + " " + TOKEN
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAx7Ab3Qz9Lm\n" * 20 + "-----END RSA PRIVATE KEY-----"
    for text, limit in ((wide, 3), (key, 2), (f"+{key}".replace("\n", "\n+"), 2)):
        out = io.StringIO()
        print_rows(mask_rows([ResultRow(text, limit=limit)]), out)
        assert "ghp_" not in out.getvalue() and "MIIE" not in out.getvalue()
    call = CallRow("Bash " + "y" * 140 + " " + TOKEN, limit=6)
    assert not any("ghp_" in line for row in mask_rows([call]) for line in plain_lines(row))


def test_a_text_is_cut_to_lines_of_bearable_length() -> None:
    assert truncate("\na\nb\nc\n", 2) == ("a\nb", 1)
    assert truncate("a\nb", None) == ("a\nb", 0)
    assert truncate("x" * (MAX_LINE + 1), 1).text == "x" * MAX_LINE + "…"
    assert truncate("", 3) == ("", 0)


@pytest.mark.parametrize(
    ("gap", "shown"),
    [
        (timedelta(seconds=59), "now"),
        (timedelta(minutes=59), "59m"),
        (timedelta(hours=23), "23h"),
        (timedelta(days=13), "13d"),
        (timedelta(days=14), "2w"),
        (timedelta(days=59), "8w"),
        (timedelta(days=60), "2mo"),
        (timedelta(days=400), "1y"),
        (timedelta(days=-1), "now"),
    ],
)
def test_times_in_few_letters(gap: timedelta, shown: str) -> None:
    now = datetime(2026, 6, 1, tzinfo=UTC)
    assert format_age(now - gap, now) == shown


def test_numbers_in_few_letters() -> None:
    assert [format_size(n) for n in (0, 999, 1000, 9_950, 13_600_000, 2_000_000_000)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "9.9 kB",
        "14 MB",
        "2.0 GB",
    ]
    assert [format_tokens(n) for n in (999, 1000, 155_000, 1_200_000)] == ["999", "1.0k", "155.0k", "1.2M"]
    assert [format_duration(s) for s in (1.4, 59, 60, 61, 3600, 7322)] == [
        "1s",
        "59s",
        "1m00s",
        "1m01s",
        "1h00m",
        "2h02m",
    ]
    assert format_age(None) == "?"
