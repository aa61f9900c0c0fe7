"""Sum up the usage of all sessions by day: for the start page, whose charts and numbers all come from these sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from typing import NamedTuple

from clew.facts.prices import Prices
from clew.report.plots import add_hour, no_hours
from clew.report.timezone import DAY, Zone
from clew.report.usage_bucket import UsageBucket
from clew.report.usage_row import UsageRow, model_name

_EPOCH = date(1970, 1, 1)


class Period(NamedTuple):
    """Some days up to the last one, and the same number of days before."""

    name: str
    since: date
    until: date  # the day after the last one
    row: UsageRow
    sessions: int
    before: UsageRow

    @property
    def change(self) -> int | None:
        """How much more it cost than the days before, in per cent; None if there is nothing to compare with."""
        return round(100 * (self.row.cost - self.before.cost) / self.before.cost) if self.before.cost else None


class Overview:
    """The usage by day; costs are in the unit of `facts.prices`."""

    def __init__(self, buckets: Iterable[UsageBucket], prices: Prices, zone: Zone, today: date) -> None:
        self.today = today
        self.days: dict[date, UsageRow] = {}
        self.sessions: dict[date, set[str]] = {}
        self.projects: dict[date, Counter[str]] = {}
        self.models: dict[date, Counter[str]] = {}
        self.hours = no_hours()
        for bucket in buckets:
            if bucket.when >= 0:
                day = _EPOCH + timedelta(days=zone.local(bucket.when) // DAY)
                self._add(day, bucket, prices)
                add_hour(self.hours, bucket, zone)
        self.is_priced = any(row.cost for row in self.days.values())

    def _add(self, day: date, bucket: UsageBucket, prices: Prices) -> None:
        if day not in self.days:
            self.days[day], self.sessions[day] = UsageRow(""), set()
            self.projects[day], self.models[day] = Counter(), Counter()
        row = self.days[day]
        before = row.cost
        row.add(bucket, prices.rate(bucket.model, bucket.mode, bucket.steps))
        self.models[day][model_name(bucket)] += row.cost - before
        if bucket.context:
            self.sessions[day].add(bucket.context.session)
            self.projects[day][bucket.context.project] += row.cost - before

    def period(self, name: str, days: int) -> Period:
        """Return the last days with the ones before."""
        since, until = self.today - timedelta(days=days - 1), self.today + timedelta(days=1)
        sessions = {each for day, found in self.sessions.items() if since <= day < until for each in found}
        before = self._sum(since - timedelta(days=days), since)
        return Period(name, since, until, self._sum(since, until), len(sessions), before)

    def _sum(self, since: date, until: date) -> UsageRow:
        total = UsageRow("")
        for day, row in self.days.items():
            if since <= day < until:
                total.add_row(row)
        return total

    def top_projects(self, since: date) -> list[tuple[str, int]]:
        """Return the projects and their costs since a day, the most expensive first."""
        totals = sum((found for day, found in self.projects.items() if day >= since), Counter())
        return totals.most_common()
