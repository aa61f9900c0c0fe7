"""Blocks: windows of five hours, as the limits of subscriptions count them, with how fast they fill.

A block begins with the full hour of its first reply and ends five hours later, or when nothing came for five hours.
"""

from __future__ import annotations

from clew.report.usage_row import UsageRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from clew.facts.prices import Prices
    from clew.report.usage_bucket import Cell

HOURS = 5
LENGTH = HOURS * 3600


class FiveHourBlock:
    """`start` and `end` in seconds since 1970; rates are for a minute, over the time from the first reply to the last."""

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
    def tokens_a_minute(self) -> float:
        return self.row.total / self.minutes if self.minutes else 0.0

    @property
    def cost_a_minute(self) -> float:
        return self.row.cost / self.minutes if self.minutes else 0.0

    @property
    def left(self) -> float:
        """Minutes until its end, if it is active."""
        return (self.end - self.now) / 60 if self.is_active else 0.0

    @property
    def projected_tokens(self) -> int:
        return self.row.total + round(self.tokens_a_minute * self.left)

    @property
    def projected_cost(self) -> int:
        return self.row.cost + round(self.cost_a_minute * self.left)

    def told(self) -> dict[str, Any]:
        from clew.facts.prices import micros

        return {
            **self.row.told(),
            "start": self.start,
            "end": self.end,
            "active": self.is_active,
            "tokens_per_minute": round(self.tokens_a_minute, 1),
            "micros_per_hour": micros(round(self.cost_a_minute * 60)),
            "minutes_left": round(self.left),
            "projected_total": self.projected_tokens,
            "projected_cost_micros": micros(self.projected_cost),
        }


def blocks(cells: Iterable[Cell], prices: Prices, now: float) -> list[FiveHourBlock]:
    """The blocks of some cells, oldest first; what has no time is in none."""
    found: list[tuple[int, UsageRow]] = []
    for cell in sorted((cell for cell in cells if cell.when >= 0), key=lambda cell: cell.when):
        if not found or cell.when >= found[-1][0] + LENGTH or cell.when - found[-1][1].last >= LENGTH:
            found.append((cell.when // 3600 * 3600, UsageRow("")))
        found[-1][1].add(cell, prices.rate(cell.model, cell.mode, cell.steps))
    return [FiveHourBlock(start, row, now) for start, row in found]
