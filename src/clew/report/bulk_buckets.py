"""Tallies: the replies of a file added up as they are read. What `cell` says of one reply, for many at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from clew.facts.prices import STEP, mode_of
from clew.facts.token_usage import Spend
from clew.report.usage_bucket import QUARTER, seconds

if TYPE_CHECKING:
    from clew.report.usage_bucket import Sums


class BucketCounter:
    """Remembers the hours and the modes that it has met: there are few of them, and many replies."""

    def __init__(self) -> None:
        self._hours: dict[str, int] = {}
        self._modes: dict[tuple[str, str, str], str] = {}

    def sums(self, spends: Iterable[Spend]) -> Sums:
        """The numbers of the replies, by quarter of an hour, model and mode."""
        found: Sums = {}
        modes = self._modes
        for spend in spends:
            given, output, write_5m, write_1h, read, searches, fetches = astuple(spend.count)
            quarter = self._quarter(spend.timestamp)
            kind = (spend.tier, spend.speed, spend.region)
            mode = modes.get(kind)
            if mode is None:
                mode = modes[kind] = mode_of(spend)
            is_final = spend.has_ended or spend.is_final
            missing = 0 if is_final else spend.estimate - output
            key = (quarter, spend.model, mode, -(-(given + write_5m + write_1h + read) // STEP), is_final)
            sums = found.get(key)
            if sums is None:
                found[key] = [1, given, output, write_5m, write_1h, read, searches, fetches, missing]
            else:
                sums[0] += 1
                sums[1] += given
                sums[2] += output
                sums[3] += write_5m
                sums[4] += write_1h
                sums[5] += read
                sums[6] += searches
                sums[7] += fetches
                sums[8] += missing
        return found

    def _quarter(self, time: str) -> int:
        """The beginning of its quarter of an hour; the usual form of a time is read by its digits."""
        minute = time[14:16]
        if len(time) == 24 and time[16] == ":" and time[23] == "Z" and minute < "60" and minute.isdigit():
            hour = self._hours.get(time[:13])
            if hour is None:
                hour = self._hours[time[:13]] = seconds(f"{time[:13]}:00:00.000Z", {})
            if hour >= 0 and time[17:19].isdigit() and time[17] < "6":
                return hour + int(minute) // 15 * QUARTER
        when = seconds(time, {})
        return when - when % QUARTER if when >= 0 else when
