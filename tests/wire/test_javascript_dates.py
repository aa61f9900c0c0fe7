"""Dates as JavaScript reads them: the forms of ISO 8601 that it knows, dates of mails, and dates as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.wire.javascript_dates import parse_date
from clew.wire.timestamps import parse_timestamp

TEN = datetime(2026, 1, 3, 10, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-03T10:00:01.000Z",
        "2026-01-03T10:00:01Z",
        "2026-01-03t10:00:01z",
        "2026-01-03T12:00:01+02:00",
        "2026-01-03T12:00:01.0+0200",
        "2026-01-03T04:30:01-05:30",
        "2026-01-03T10:00:01",
        "2026-01-03 10:00:01",
        "2026-01-03 12:00:01 +0200",
        "+002026-01-03T10:00:01Z",
        "Sat, 03 Jan 2026 10:00:01 GMT",
        "Sat, 03 Jan 2026 12:00:01 +0200",
        "3 Jan 26 05:00:01 EST",
        "Saturday, 03-Jan-26 10:00:01 GMT",
        "Sat Jan 03 2026 10:00:01 GMT+0000 (Coordinated Universal Time)",
        "Sat Jan  3 10:00:01 2026",
        "January 3, 2026 10:00:01 AM",
        "2026/01/03 10:00:01",
        "1/3/2026 10:00:01",
    ],
)
def test_one_instant_in_the_forms_that_javascript_reads(text: str) -> None:
    assert parse_date(text) == TEN
    assert parse_timestamp(text) == TEN


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-01-03T10:00:01.123999Z", TEN + timedelta(milliseconds=123)),
        ("2026-01-03T24:00:00Z", datetime(2026, 1, 4, tzinfo=UTC)),
        ("2026-02-30T10:00:01.000Z", datetime(2026, 3, 2, 10, 0, 1, tzinfo=UTC)),
        ("2026-02-30T10:00:01Z", datetime(2026, 3, 2, 10, 0, 1, tzinfo=UTC)),
        ("Sat, 31 Feb 2026 10:00:01 GMT", datetime(2026, 3, 3, 10, 0, 1, tzinfo=UTC)),
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-003", datetime(2026, 3, 1, tzinfo=UTC)),
        ("12:30 AM Jan 3, 2026", datetime(2026, 1, 3, 0, 30, tzinfo=UTC)),
        ("around 3", datetime(2001, 3, 1, tzinfo=UTC)),
    ],
)
def test_dates_that_javascript_reads_in_its_own_way(text: str, meant: datetime) -> None:
    assert parse_date(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "20260103T100001Z",
        "20260103",
        "2026-W01-6",
        "2026-W01-6T10:00:01.000Z",
        "2026-01-03X10:00:01.000Z",
        "2026-01-03T10Z",
        "2026-01-03T10:00:01+02",
        "2026-01-03T10:00:01,5Z",
        "2026-01-03T10:00:01.Z",
        "2026-01-03T24:00:01Z",
        "2026-01-03T10:00:01.000Z ",
        " 2026-01-03T10:00:01.000Z",
        "2026-13-01T00:00:00Z",
        "2026-01-03_10:00:01Z",
        "Sat, 03 Jan 2026 25:00:01 GMT",
        "1767434401000",
        "-000001-01-03 10:00",
    ],
)
def test_what_javascript_does_not_read_is_no_date(text: str) -> None:
    assert parse_date(text) is None


@given(st.text(alphabet="0123456789 :-+./,()TZJanFebAMPMGMT") | st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    found = parse_date(text)
    assert found is None or found.tzinfo is UTC


@pytest.mark.parametrize("text", ["2026-01-31T09:05:07.250Z", "0001-01-01T00:00:00.000Z", "2026-02-30T24:00:00.000Z"])
def test_the_usual_form_is_read_as_every_other(text: str) -> None:
    date = parse_date(text)
    assert parse_timestamp(text) == (date if date and date.year > 1 else None)
