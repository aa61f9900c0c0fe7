"""Activity: sessions, messages, tool calls and hours, as stats-cache.json totals them, counted from the transcripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from clew.conversation.session import Session
from clew.report.reconcile import CountDifference
from clew.report.timezone import Zone
from clew.wire.side_files import Stats

TOTALS = "stats-cache.json totals"


@dataclass
class Activity:
    """Counts over some sessions; `hours` are sessions by the hour that they began in."""

    sessions: int = 0
    messages: int = 0
    tool_calls: int = 0
    hours: Counter[int] = field(default_factory=Counter)


def activity(sessions: Iterable[Session], zone: Zone, until: str | None = None) -> Activity:
    """What the sessions hold up to a day, which is not included: messages are user and assistant lines."""
    found = Activity()
    for session in sessions:
        counted = [entry for entry in session.entries if entry.type in ("user", "assistant") and not entry.is_sidechain]
        days = [(entry, zone.day(int(entry.time.timestamp()))) for entry in counted if entry.time]
        wanted = [entry for entry, day in days if until is None or day < until]
        if not wanted:
            continue
        found.sessions += 1
        found.messages += len(wanted)
        lines = {entry.offset for entry in wanted}
        found.tool_calls += sum(call.entry.offset in lines for call in session.calls)
        first = min(entry.time for entry in wanted if entry.time)
        found.hours[int(zone.hour(int(first.timestamp()))[11:13])] += 1
    return found


def with_activity(stats: Stats, sessions: Iterable[Session], zone: Zone) -> Iterator[CountDifference]:
    """The totals of stats-cache.json beside our own, up to the day that it was last computed."""
    until = (stats.last_computed + timedelta(days=1)).isoformat() if stats.last_computed else None
    ours = activity(sessions, zone, until)
    pairs = (
        ("sessions", stats.total_sessions, ours.sessions),
        ("messages", stats.total_messages, ours.messages),
        ("tool calls", stats.total_tool_calls, ours.tool_calls),
    )
    for what, theirs, mine in pairs:
        yield CountDifference(TOTALS, what, f"{theirs:,}", f"{mine:,}", "" if theirs == mine else _why(theirs, mine))
    theirs_by_hour, ours_by_hour = _hours(stats.hours), _hours(ours.hours)
    why = "" if theirs_by_hour == ours_by_hour else _why(sum(stats.hours.values()), sum(ours.hours.values()))
    yield CountDifference(TOTALS, "sessions by hour", theirs_by_hour, ours_by_hour, why)


def _hours(counts: dict[int, int] | Counter[int]) -> str:
    return " ".join(f"{hour:02d}h:{counts[hour]}" for hour in sorted(counts) if counts[hour]) or "none"


def _why(theirs: int, ours: int) -> str:
    if theirs > ours:
        return "it keeps sessions that are deleted by now"
    if theirs < ours:
        return "it leaves out what was written after it was computed, or sessions that it has not seen"
    return "it counts by the clock of the machine and the time that it was computed"
