"""Times of entries are the same as by the parser of timestamps, whatever they look like."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.index.session_facts import epoch_seconds
from clew.wire.timestamps import format_timestamp, parse_timestamp

MOMENTS = st.datetimes(datetime(1960, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC))
DIGITS = st.text("0123456789T:.-Z ", min_size=24, max_size=24)


def seconds(value: str | int | float | None) -> int | None:
    moment = parse_timestamp(value)
    return int(moment.timestamp()) if moment else None


@given(MOMENTS.map(format_timestamp) | DIGITS)
def test_seconds_are_those_of_the_parsed_time(text: str) -> None:
    assert epoch_seconds(text) == seconds(text)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "2026-02-30T10:00:07.500Z",
            "2026-01-31T24:00:07.000Z",
            "2026-01-31T24:00:00.000Z",
            "2026-01-31T23:59:60.000Z",
        ),
        *(
            "1969-12-31T23:59:59.500Z",
            "9998-12-31T00:00:00.001Z",
            "9999-12-31T00:00:00.001Z",
            "0001-06-01T00:00:00.001Z",
        ),
        *(
            "2026-01-31 10:00:07.500Z",
            "2026-01-31T10:00:07.500+",
            "2026-01-31T10:00:07Z",
            "",
            None,
            1_790_000_000_123,
            True,
        ),
    ],
)
def test_seconds_of_unusual_times(value: str | int | None) -> None:
    assert epoch_seconds(value) == seconds(value)
