"""Group usage into windows of five hours, as subscription limits do, with rates and projections.

A block begins at the full hour of its first reply and ends five hours later, or after five hours without a reply.
"""

from __future__ import annotations

from clew.report.usage_row import UsageRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from clew.facts.prices import Prices
    from clew.report.usage_bucket import UsageBucket

HOURS = 5
LENGTH = HOURS * 3600


class FiveHourBlock:
    """`start` and `end` are seconds since 1970; rates are per minute, measured from the first reply to the last."""

    __slots__ = ("is_active", "now", "row", "start")

    def __init__(self, start: int, row: UsageRow, now: float) -> None:
        self.start = start
        self.row = row
        self.now = now
        self.is_active = start <= now < self.end and now - row.last < LENGTH

    @property
    def end(self) -> int:
        return self.start + LENGTH

    @property
    def minutes(self) -> float:
        return (self.row.last - self.row.first) / 60

    @property
    def tokens_per_minute(self) -> float:
        return self.row.total / self.minutes if self.minutes else 0.0

    @property
    def cost_per_minute(self) -> float:
        return self.row.cost / self.minutes if self.minutes else 0.0

    @property
    def left(self) -> float:
        """Minutes until its end; 0 if it is not active."""
        return (self.end - self.now) / 60 if self.is_active else 0.0

    @property
    def projected_tokens(self) -> int:
        return self.row.total + round(self.tokens_per_minute * self.left)

    @property
    def projected_cost(self) -> int:
        return self.row.cost + round(self.cost_per_minute * self.left)

    def to_json(self) -> dict[str, Any]:
        from clew.facts.prices import micros

        return {
            **self.row.to_json(),
            "start": self.start,
            "end": self.end,
            "active": self.is_active,
            "tokens_per_minute": round(self.tokens_per_minute, 1),
            "micros_per_hour": micros(round(self.cost_per_minute * 60)),
            "minutes_left": round(self.left),
            "projected_total": self.projected_tokens,
            "projected_cost_micros": micros(self.projected_cost),
        }


def group_into_blocks(buckets: Iterable[UsageBucket], prices: Prices, now: float) -> list[FiveHourBlock]:
    """Return the blocks of some buckets, oldest first. Buckets without a time are left out.

    No block begins within an hour that another one has a part of, so the buckets are added up by hour first.
    """
    hours: dict[int, UsageRow] = {}
    for bucket in buckets:
        if bucket.when >= 0:
            hour = bucket.when // 3600 * 3600
            row = hours.get(hour)
            if row is None:
                row = hours[hour] = UsageRow("")
            row.add(bucket, prices.rate(bucket.model, bucket.mode, bucket.steps))
    # Example: usage at 9:40, 13:10 and 14:20. The first block begins at 9:00 and ends at 14:00, so 14:20 begins the
    # next one; a pause of five hours also ends a block.
    blocks: list[tuple[int, UsageRow]] = []
    for hour, row in sorted(hours.items()):
        if not blocks or hour >= blocks[-1][0] + LENGTH or row.first - blocks[-1][1].last >= LENGTH:
            blocks.append((hour, row))
        else:
            blocks[-1][1].add_row(row)
    return [FiveHourBlock(start, row, now) for start, row in blocks]
