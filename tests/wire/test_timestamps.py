"""Instants: two forms in the files, several in what people write, and one in what is written."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.wire.entry import Entry, read
from clew.wire.timestamps import format_timestamp, parse_timestamp, parse_user_time

NINE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        "2026-01-05T09:00:00.000Z",
        "2026-01-05T09:00:00Z",
        "2026-01-05T09:00:00+00:00",
        "2026-01-05T10:00:00+01:00",
        "2026-01-05T03:30:00.000000-05:30",
        "2026-01-05T09:00:00",
        1767603600000,
        1767603600000.0,
    ],
)
def test_one_instant_in_every_form(written: str | float) -> None:
    found = parse_timestamp(written)
    assert found == NINE
    assert found.tzinfo is not None


@pytest.mark.req("R348")
def test_times_are_compared_as_instants_and_not_as_texts() -> None:
    earlier, later = '{"timestamp":"2026-01-05T10:30:00+02:00"}', '{"timestamp":"2026-01-05T09:00:00.000Z"}'
    first, second = read(f"{earlier}\n{later}\n".encode())
    assert isinstance(first, Entry)
    assert isinstance(second, Entry)
    assert str(first.timestamp) > str(second.timestamp)
    assert first.time is not None
    assert second.time is not None
    assert first.time < second.time


@pytest.mark.parametrize(
    "odd",
    [None, "", "yesterday", "2026-13-01T00:00:00Z", "\ud800", True, 10**30, 10**4000, 1e400, float("nan"), -(10**18)],
)
def test_what_is_no_time_is_none(odd: Any) -> None:
    assert parse_timestamp(odd) is None


@given(st.text() | st.integers() | st.floats() | st.none() | st.booleans())
def test_nothing_makes_it_fail(value: Any) -> None:
    found = parse_timestamp(value)
    assert found is None or found.tzinfo is not None


def test_the_stamp_is_utc_with_milliseconds() -> None:
    assert format_timestamp(NINE) == "2026-01-05T09:00:00.000Z"
    assert (
        format_timestamp(datetime(2026, 1, 5, 10, 0, 0, 123999, timezone(timedelta(hours=1))))
        == "2026-01-05T09:00:00.123Z"
    )


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2999, 1, 1), timezones=st.just(UTC)))
def test_a_stamp_reads_back_to_the_millisecond(when: datetime) -> None:
    assert parse_timestamp(format_timestamp(when)) == when.replace(microsecond=when.microsecond // 1000 * 1000)


@pytest.mark.parametrize(
    ("asked", "ago"),
    [
        ("90m", timedelta(minutes=90)),
        ("90 min", timedelta(minutes=90)),
        ("2h", timedelta(hours=2)),
        ("7d", timedelta(days=7)),
        (" 7D ", timedelta(days=7)),
        ("2w", timedelta(days=14)),
        ("3mo", timedelta(days=90)),
        ("1y", timedelta(days=365)),
        ("now", timedelta()),
    ],
)
def test_a_length_of_time_counts_back_from_now(asked: str, ago: timedelta) -> None:
    assert abs(parse_user_time(asked, NINE) - (NINE - ago)) < timedelta(milliseconds=1)


Zone = Callable[[str], None]


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Any:
    if sys.platform == "win32":
        pytest.skip("the time zone of a process cannot be set there")

    def use(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield use
    monkeypatch.undo()
    time.tzset()


def test_days_are_those_of_the_local_time_zone(zone: Zone) -> None:
    zone("UTC+5")  # five hours behind
    assert parse_user_time("2026-01-31") == datetime(2026, 1, 31, 5, tzinfo=UTC)
    assert parse_user_time("2026-01-31T12:00") == datetime(2026, 1, 31, 17, tzinfo=UTC)
    assert parse_user_time("2026-01-31T12:00Z") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    early = datetime(2026, 1, 5, 3, tzinfo=UTC)  # still the fourth, there
    assert parse_user_time("today", early) == datetime(2026, 1, 4, 5, tzinfo=UTC)
    assert parse_user_time("Yesterday", early) == datetime(2026, 1, 3, 5, tzinfo=UTC)


def test_a_day_begins_at_midnight_also_when_the_clocks_change(zone: Zone) -> None:
    zone("CET-1CEST,M3.5.0,M10.5.0/3")
    noon = datetime(2026, 3, 29, 10, tzinfo=UTC)  # the clocks went forward at one
    assert parse_user_time("today", noon) == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert parse_user_time("today", noon) == parse_user_time("2026-03-29")
    assert parse_user_time("yesterday", noon + timedelta(days=1)) == parse_user_time("2026-03-29")


def test_a_datetime_is_taken_as_it_is(zone: Zone) -> None:
    zone("UTC-2")
    assert parse_user_time(NINE) is NINE
    assert parse_user_time(datetime(2026, 1, 5, 11)) == NINE


@pytest.mark.parametrize(
    "odd", ["", "soon", "7", "d", "-1d", "7q", "2026-31-01", "99999999999d", "9999y", "9" * 5000 + "d"]
)
def test_what_is_no_time_is_refused_in_a_sentence(odd: str) -> None:
    with pytest.raises(ValueError, match="is not a time: write 7d"):
        parse_user_time(odd, NINE)


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999Z", 1e308, 10**30, -(10**18)])
def test_a_time_that_no_zone_could_show_is_none(value: str | float) -> None:
    assert parse_timestamp(value) is None


def test_an_instant_is_in_utc_and_can_be_shifted_by_days() -> None:
    found = parse_timestamp("9998-12-30T23:59:59+14:00")
    assert found is not None and found.tzinfo is UTC
    assert (found + timedelta(days=30)).astimezone(timezone(timedelta(hours=14)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7days", "2026-06-03 15:30"),
        ("2 weeks ago", "2026-05-27 15:30"),
        ("last week", "2026-06-01 00:00"),
        ("this week", "2026-06-08 00:00"),
        ("last month", "2026-05-01 00:00"),
        ("last year", "2025-01-01 00:00"),
        ("monday", "2026-06-08 00:00"),
        ("Thu", "2026-06-04 00:00"),
        ("october", "2025-10-01 00:00"),
        ("may", "2026-05-01 00:00"),
        ("2025-10", "2025-10-01 00:00"),
        ("2025", "2025-01-01 00:00"),
    ],
)
def test_days_weeks_months_and_years_by_name(text: str, expected: str) -> None:
    now = datetime(2026, 6, 10, 15, 30).astimezone()  # a Wednesday
    assert f"{parse_user_time(text, now).astimezone():%Y-%m-%d %H:%M}" == expected
