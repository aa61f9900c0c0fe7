"""Tables: the same replies by day, model, tool and all the rest, and the sum of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.facts.prices import load
from clew.report.five_hour_blocks import LENGTH, group_into_blocks
from clew.report.text_table import block_lines, short_number, table_lines
from clew.report.timezone import NO_TIME, Zone
from clew.report.usage_bucket import (
    QUARTER,
    ReplyContext,
    UsageBucket,
    add_bucket,
    buckets_from_sums,
    parse_seconds,
)
from clew.report.usage_row import UsageRow, split_bucket, sum_buckets
from clew.report.usage_table import BY, UsageQuery, build_table, needs_replies, select_buckets
from tests.report.build import NOON_SECONDS, bucket

PRICES = load()
HOUR = 3600
UTC = UsageQuery(zone="UTC")


def names(buckets: list[UsageBucket], query: UsageQuery) -> dict[str, int]:
    return {row.name: row.output for row in build_table(buckets, query, PRICES).rows}


@pytest.mark.req("R124")
def test_by_time() -> None:
    buckets = [
        bucket(NOON_SECONDS, output=1),
        bucket(NOON_SECONDS + 12 * HOUR, output=2),
        bucket(NOON_SECONDS + 40 * 24 * HOUR, output=4),
        bucket(-1, output=8),
    ]
    assert names(buckets, UTC) == {"2026-01-05": 1, "2026-01-06": 2, "2026-02-14": 4, NO_TIME: 8}
    assert names(buckets, UTC._replace(by="week")) == {"2026-01-05": 3, "2026-02-09": 4, NO_TIME: 8}
    assert names(buckets, UTC._replace(by="month")) == {"2026-01": 3, "2026-02": 4, NO_TIME: 8}
    assert names(buckets, UTC._replace(by="hour"))["2026-01-06 00:00"] == 2
    assert names(buckets, UTC._replace(zone="Asia/Kathmandu")) == {
        "2026-01-05": 1,
        "2026-01-06": 2,
        "2026-02-14": 4,
        NO_TIME: 8,
    }
    assert "2026-01-06" in names(buckets[:1], UTC._replace(zone="Pacific/Kiritimati"))


def test_a_day_of_the_change_of_clocks_has_25_hours() -> None:
    night = 1792879200  # 2026-10-25T00:00+02:00 in Berlin
    found = names([bucket(night + n * HOUR, output=1) for n in range(-1, 26)], UsageQuery(zone="Europe/Berlin"))
    assert found == {"2026-10-24": 1, "2026-10-25": 25, "2026-10-26": 1}


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")  # in full: a machine need not have the names
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_the_local_zone_is_that_of_the_machine() -> None:
    night = 1792879200
    for when in range(night - 3 * HOUR, night + 30 * HOUR, QUARTER):
        assert Zone().minute(when) == Zone("Europe/Berlin").minute(when)


def test_a_zone_that_there_is_not_is_named() -> None:
    for name in ("Mars/Olympus", "../etc", ""):
        if name:
            with pytest.raises(ValueError, match="is not a time zone"):
                Zone(name)


def placed(output: int, **place: str) -> UsageBucket:
    return bucket(output=output, context=ReplyContext(**place))


def test_by_place() -> None:
    buckets = [
        placed(1, project="-a", session="s1", branch="main", tools="Bash"),
        placed(2, project="-a", session="s2", agent="x", tools="Bash Read"),
        placed(4, project="-b", session="s3", branch="topic"),
    ]
    assert names(buckets, UTC._replace(by="project")) == {"-a": 3, "-b": 4}
    assert names(buckets, UTC._replace(by="session")) == {"s1": 1, "s2": 2, "s3": 4}
    assert names(buckets, UTC._replace(by="agent")) == {"(no agent)": 5, "x": 2}
    assert names(buckets, UTC._replace(by="branch")) == {"main": 1, "(no branch)": 2, "topic": 4}
    assert names(buckets, UTC._replace(by="tool")) == {"Bash": 2, "Read": 1, "(text only)": 4}
    assert names(buckets, UTC._replace(project="-a")) == {"2026-01-05": 3}
    assert names(buckets, UTC._replace(session="s3")) == {"2026-01-05": 4}
    assert names(buckets, UTC._replace(branch="topic")) == {"2026-01-05": 4}
    assert names(buckets, UTC._replace(tool="Read")) == {"2026-01-05": 2}


@given(st.integers(0, 10**6), st.integers(1, 7))
def test_shares_add_up_to_the_whole(output: int, count: int) -> None:
    parts = split_bucket(bucket(output=output, given=output // 3), count)
    assert len(parts) == count
    assert sum(part.output for part in parts) == output
    assert sum(part.input for part in parts) == output // 3


CELLS = st.builds(
    bucket,
    st.integers(-1, 10) | st.integers(NOON_SECONDS, NOON_SECONDS + 10**6),
    st.sampled_from(["claude-opus-5", "claude-haiku-4-5", "unknown-model"]),
    output=st.integers(0, 999),
    given=st.integers(0, 999),
    read=st.integers(0, 999),
    write_5m=st.integers(0, 999),
    mode=st.sampled_from(["", "batch", "fast"]),
    missing=st.integers(0, 9),
    context=st.builds(
        ReplyContext,
        project=st.sampled_from(["-a", "-b"]),
        session=st.sampled_from(["s", "t"]),
        branch=st.sampled_from(["", "main"]),
        tools=st.sampled_from(["", "Bash", "Bash Read Write"]),
    ),
)


def merge_buckets(buckets: list[UsageBucket]) -> list[UsageBucket]:
    """Merge buckets with the same quarter of an hour, model and mode, whatever their context, as a summary does."""
    sums: dict[Any, list[int]] = {}
    for one in buckets:
        add_bucket(sums, one)
    return buckets_from_sums(sums)


@pytest.mark.req("R124")
@given(st.lists(CELLS, max_size=12), st.sampled_from(BY))
def test_whatever_it_is_by_the_rows_add_up_to_the_total(buckets: list[UsageBucket], by: str) -> None:
    found = build_table(buckets, UTC._replace(by=by, by_model=True), PRICES)
    keys = ("input", "output", "write_5m", "read", "cost", "uncached", "missing")
    for key in keys:
        assert sum(getattr(row, key) for row in found.rows) == getattr(found.total, key)
        assert sum(getattr(part, key) for row in found.rows for part in row.models.values()) == getattr(
            found.total, key
        )
    assert found.total.to_json() == sum_buckets(merge_buckets(buckets), PRICES).to_json()


@given(st.lists(CELLS, max_size=12), st.sampled_from(["hour", "day", "week", "month", "model"]))
def test_a_summary_gives_the_same_table(buckets: list[UsageBucket], by: str) -> None:
    for zone in ("UTC", "Asia/Kathmandu", "America/New_York"):
        query = UsageQuery(by=by, zone=zone)
        assert not needs_replies(query)
        mine, theirs = (build_table(each, query, PRICES) for each in (buckets, merge_buckets(buckets)))
        assert [row.to_json() for row in mine.rows] == [row.to_json() for row in theirs.rows]


def test_the_time_asked_for() -> None:
    buckets = [bucket(NOON_SECONDS + n, output=1) for n in range(4)] + [bucket(-1, output=1)]
    assert len(list(select_buckets(buckets, UTC._replace(since=NOON_SECONDS + 1)))) == 3
    assert len(list(select_buckets(buckets, UTC._replace(until=NOON_SECONDS + 1)))) == 1
    assert needs_replies(UTC._replace(since=NOON_SECONDS + 1.0))
    assert not needs_replies(UTC._replace(since=float(NOON_SECONDS)))


def test_the_last_days_and_the_dearest_models() -> None:
    buckets = [bucket(NOON_SECONDS + n * 24 * HOUR, f"claude-{n}", output=n) for n in range(5)]
    buckets.append(bucket(NOON_SECONDS, "claude-opus-5", output=1))
    assert list(names(buckets, UTC._replace(limit=2))) == ["2026-01-08", "2026-01-09"]
    assert next(iter(names(buckets, UTC._replace(by="model", limit=1)))) == "claude-opus-5"
    assert names(buckets, UTC._replace(limit=0)) == {}


def test_estimates_come_on_top_only_if_they_are_asked_for() -> None:
    buckets = [bucket(output=1, missing=99), bucket(output=10)]
    plain, more = (build_table(buckets, UTC._replace(estimate=e), PRICES).total for e in (False, True))
    assert (plain.output, plain.missing, plain.stubs, plain.stub_output) == (11, 99, 1, 1)
    assert (more.output, more.missing, more.stubs) == (110, 0, 1)
    assert more.cost - plain.cost == plain.missing_cost


def test_what_has_no_price_is_named_and_costs_nothing() -> None:
    found = build_table([bucket(model="house-model", output=5), bucket(output=10**6)], UTC, PRICES)
    assert found.total.unpriced == {"house-model": 5}
    text = "\n".join(table_lines(found, "DAY", PRICES))
    assert "$25.00*" in text and "* Without a price, and not in the cost: house-model (5 tokens)." in text


def test_what_the_cache_saved() -> None:
    total = sum_buckets([bucket(read=900_000, write_5m=100_000)], PRICES)
    assert (total.hits, total.cost, total.uncached) == (0.9, 1_075_000 * 10**6, 5 * 10**12)
    assert total.saved == total.uncached - total.cost


# -- blocks of five hours


def test_a_block_begins_with_the_hour_and_lasts_five() -> None:
    base = NOON_SECONDS + 1800
    whens = [base, base + 4 * HOUR, base + 4 * HOUR + 1800, base + 11 * HOUR]
    found = group_into_blocks([bucket(when, output=1) for when in whens], PRICES, base + 11 * HOUR + 60)
    assert [(b.start - NOON_SECONDS, b.row.replies) for b in found] == [(0, 2), (5 * HOUR, 1), (11 * HOUR, 1)]
    assert [b.is_active for b in found] == [False, False, True]


def test_a_pause_of_five_hours_ends_a_block() -> None:
    found = group_into_blocks([bucket(NOON_SECONDS), bucket(NOON_SECONDS + LENGTH)], PRICES, 0)
    assert len(found) == 2


def test_how_fast_a_block_fills_and_where_that_leads() -> None:
    buckets = [bucket(NOON_SECONDS, output=6000), bucket(NOON_SECONDS + HOUR, output=6000)]
    (block,) = group_into_blocks(buckets, PRICES, NOON_SECONDS + 2 * HOUR)
    assert (block.tokens_per_minute, block.left) == (200, 180)
    assert block.projected_tokens == 12_000 + 200 * 180
    assert block.projected_cost == block.row.cost * 4
    text = "\n".join(block_lines([block], Zone("UTC"), 0))
    assert "active" in text and "3h00m left" in text and "48.0k tokens" in text
    (alone,) = group_into_blocks(buckets[:1], PRICES, NOON_SECONDS + HOUR)
    assert (alone.tokens_per_minute, alone.projected_tokens) == (0, 6000)


# -- as text


def test_a_narrow_terminal_gets_a_narrow_table() -> None:
    found = build_table([bucket(model="claude-opus-5", output=1_234_567)], UTC._replace(by="model"), PRICES)
    wide, narrow = (list(table_lines(found, "MODEL", PRICES, width)) for width in (0, 60))
    assert "1,234,567" in wide[1] and "1.2M" in narrow[1]
    assert max(map(len, narrow[:3])) <= 60
    assert list(table_lines(found, "MODEL", PRICES, 0, compact=True))[1] == narrow[1]


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0"), (999, "999"), (1000, "1.0k"), (2_500_000, "2.5M"), (10**10, "10.0G")]
)
def test_numbers_in_few_letters(number: int, shown: str) -> None:
    assert short_number(number) == shown


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2026-01-05T12:00:00.000Z", NOON_SECONDS),
        ("2026-01-05T13:00:00+01:00", NOON_SECONDS),
        ("2026-01-05T12:00:00", NOON_SECONDS),
        ("2026-01-05T12:00:xx.000Z", -1),
        ("2026-13-05T12:00:00.000Z", -1),
        ("soon", -1),
        ("", -1),
    ],
)
def test_times_in_every_form(timestamp: str, expected: int) -> None:
    assert parse_seconds(timestamp, {}) == expected


def test_a_row_begins_empty() -> None:
    row = UsageRow("x")
    assert (row.total, row.hits, row.cost) == (0, 0.0, 0)
