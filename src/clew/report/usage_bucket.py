"""Buckets of usage: sums over replies with the same quarter of an hour, model and mode, or over a single reply.

All tables are built from buckets, whether these come from the summary of a tree or from single replies.
"""

from __future__ import annotations

from operator import add
from sys import intern

from clew.facts.prices import STEP, mode_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import NamedTuple

    from clew.facts.token_usage import Spend

    class ReplyContext(NamedTuple):
        """Where a reply was made: `tools` are the names of the tools that it called, separated by spaces."""

        project: str = ""
        session: str = ""
        agent: str = ""
        branch: str = ""
        tools: str = ""

    Kind = tuple[str, str, int, bool]  # model, mode, steps, is_final
    Key = tuple[int, str, str, int, bool]  # quarter of an hour, and the kind
    Sums = dict[Key, list[int]]  # the numbers of buckets

    class UsageBucket(NamedTuple):
        """`when` is in seconds since 1970, or -1; `missing` is the estimated output that placeholders do not report."""

        when: int
        model: str
        mode: str
        steps: int
        is_final: bool
        replies: int
        input: int
        output: int
        write_5m: int
        write_1h: int
        read: int
        searches: int
        fetches: int
        missing: int
        context: ReplyContext | None = None
else:
    from collections import namedtuple

    ReplyContext = namedtuple("ReplyContext", "project session agent branch tools", defaults=("",) * 5)
    UsageBucket = namedtuple(
        "UsageBucket",
        "when model mode steps is_final replies input output write_5m write_1h read searches fetches missing context",
        defaults=(None,),
    )

QUARTER = 900  # seconds: the offsets of all time zones are multiples of it


def bucket_for_reply(spend: Spend, context: ReplyContext | None, hours: dict[str, int]) -> UsageBucket:
    """Return one reply as a bucket; `hours` caches parsed timestamps."""
    kind, numbers = _measure(spend)
    return UsageBucket._make((parse_seconds(spend.timestamp, hours), *kind, *numbers, context))


def _measure(spend: Spend) -> tuple[Kind, list[int]]:
    """Return what a reply is counted as, and its numbers."""
    count = spend.count
    written_5m, written_1h, read = count.cache_write_5m, count.cache_write_1h, count.cache_read
    is_final = spend.has_ended or spend.is_final
    steps = -(-(count.input + written_5m + written_1h + read) // STEP)
    missing = 0 if is_final else spend.estimate - count.output
    tools = count.web_searches, count.web_fetches
    numbers = [1, count.input, count.output, written_5m, written_1h, read, *tools, missing]
    return (intern(spend.model), mode_of(spend), steps, is_final), numbers


def parse_seconds(timestamp: str, hours: dict[str, int]) -> int:
    """Return the seconds since 1970 of a timestamp; -1 if it cannot be parsed. `hours` caches the usual format:
    "2026-01-02T03:04:05.678Z" is looked up as "2026-01-02T03".
    """
    is_usual = len(timestamp) == 24 and timestamp[13] == timestamp[16] == ":" and timestamp[23] == "Z"
    digits = timestamp[14:16] + timestamp[17:19] if is_usual else ""
    if not (digits.isdecimal() and digits.isascii() and digits[0] < "6" and digits[2] < "6"):
        return _parse_any_time(timestamp)
    hour = hours.get(timestamp[:13])
    if hour is None:
        hour = hours[timestamp[:13]] = _parse_any_time(timestamp[:13])
    return hour + int(digits[:2]) * 60 + int(digits[2:]) if hour >= 0 else hour


def _parse_any_time(timestamp: str) -> int:
    from datetime import UTC, datetime

    from clew.wire.timestamps import LATEST

    try:
        time = datetime.fromisoformat(timestamp)
    except ValueError:
        return -1
    seconds = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return int(seconds) if seconds <= LATEST.timestamp() else -1  # days cannot be added to a later time


def add_bucket(sums: Sums, bucket: UsageBucket, sign: int = 1) -> None:
    """Add the numbers of a bucket to its quarter of an hour; subtract them if `sign` is -1."""
    add_numbers(sums, (_quarter(bucket.when), *bucket[1:5]), list(bucket[5:14]), sign)


def _quarter(when: int) -> int:
    return when - when % QUARTER if when >= 0 else when


def sum_replies(spends: Iterable[Spend], hours: dict[str, int]) -> Sums:
    """Sum up replies by quarter of an hour, model and mode. A first report spends its time here, so it is one loop."""
    groups: dict[Key, list[tuple[int, ...]]] = {}
    for spend in spends:
        count, time = spend.count, spend.timestamp
        hour, quarter = hours.get(time[:13]), _QUARTERS.get(time[13:17])
        if hour is None or hour < 0 or quarter is None or time[17:19] not in _SECONDS or time[23:] != "Z":
            when = _quarter(parse_seconds(time, hours))
        else:
            when = hour + quarter
        given, output, write_5m, write_1h, read = (
            count.input,
            count.output,
            count.cache_write_5m,
            count.cache_write_1h,
            count.cache_read,
        )
        is_final, missing = True, 0
        if not spend.has_ended and 2 * output < (estimate := spend.estimate):  # as `Spend.is_final`
            is_final, missing = False, estimate - output
        steps = -(-(given + write_5m + write_1h + read) // STEP)
        key = when, spend.model, mode_of(spend), steps, is_final
        group = groups.get(key)
        if group is None:
            group = groups[key] = []
        group.append((1, given, output, write_5m, write_1h, read, count.web_searches, count.web_fetches, missing))
    return {
        key: list(map(sum, zip(*group, strict=True))) if len(group) > 1 else list(group[0])
        for key, group in groups.items()
    }


_QUARTERS = {f":{minute:02}:": 60 * minute // QUARTER * QUARTER for minute in range(60)}
_SECONDS = frozenset(f"{second:02}" for second in range(60))


def add_numbers(sums: Sums, key: Key, numbers: list[int], sign: int = 1) -> None:
    """Add numbers to those of a key; subtract them if `sign` is -1."""
    present = sums.get(key)
    if sign < 0:
        numbers = [-number for number in numbers]
    sums[key] = list(map(add, present, numbers)) if present else numbers


def buckets_from_sums(sums: Sums) -> list[UsageBucket]:
    return [UsageBucket._make((*key, *numbers, None)) for key, numbers in sums.items() if any(numbers)]


def sums_from_buckets(buckets: Iterable[UsageBucket]) -> Sums:
    return {bucket[:5]: list(bucket[5:14]) for bucket in buckets}


class DamagedReplies(Exception):
    """The stored replies could not be read; the cause says why."""


class BucketView:
    """Buckets that are made again at each iteration, so that a report over many replies keeps none of them."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], Iterator[UsageBucket]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[UsageBucket]:
        return self._make()
