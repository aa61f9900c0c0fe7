"""Count sessions, messages, tool calls and hours in transcripts, and compare them with stats-cache.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta

from msgspec import Struct, field

from clew.conversation.session import Session
from clew.report.reconcile import CountDifference
from clew.report.timezone import Zone
from clew.wire.side_files import Stats

TOTALS = "stats-cache.json totals"


class Activity(Struct):
    """Counts over some sessions; `hours` counts sessions by the hour in which they began."""

    sessions: int = 0
    messages: int = 0
    tool_calls: int = 0
    hours: Counter[int] = field(default_factory=Counter)


def count_activity(sessions: Iterable[Session], zone: Zone, until: str | None = None) -> Activity:
    """Count the activity of sessions before the day `until`. Messages are user and assistant lines."""
    total = Activity()
    for session in sessions:
        counted = [entry for entry in session.entries if entry.type in ("user", "assistant") and not entry.is_sidechain]
        days = [(entry, zone.day(int(entry.time.timestamp()))) for entry in counted if entry.time]
        query = [entry for entry, day in days if until is None or day < until]
        if not query:
            continue
        total.sessions += 1
        total.messages += len(query)
        lines = {entry.offset for entry in query}
        total.tool_calls += sum(call.entry.offset in lines for call in session.calls)
        first = min(entry.time for entry in query if entry.time)
        total.hours[int(zone.hour(int(first.timestamp()))[11:13])] += 1
    return total


def compare_activity(stats: Stats, sessions: Iterable[Session], zone: Zone) -> Iterator[CountDifference]:
    """Yield the totals of stats-cache.json and our own, up to the day on which the file was computed."""
    until = (stats.last_computed + timedelta(days=1)).isoformat() if stats.last_computed else None
    ours = count_activity(sessions, zone, until)
    pairs = (
        ("sessions", stats.total_sessions, ours.sessions),
        ("messages", stats.total_messages, ours.messages),
        ("tool calls", stats.total_tool_calls, ours.tool_calls),
    )
    for what, theirs, mine in pairs:
        yield CountDifference(
            TOTALS, what, f"{theirs:,}", f"{mine:,}", "" if theirs == mine else _explain(theirs, mine)
        )
    theirs_by_hour, ours_by_hour = _format_hours(stats.hours), _format_hours(ours.hours)
    why = "" if theirs_by_hour == ours_by_hour else _explain(sum(stats.hours.values()), sum(ours.hours.values()))
    yield CountDifference(TOTALS, "sessions by hour", theirs_by_hour, ours_by_hour, why)


def _format_hours(counts: dict[int, int] | Counter[int]) -> str:
    return " ".join(f"{hour:02d}h:{counts[hour]}" for hour in sorted(counts) if counts[hour]) or "none"


def _explain(theirs: int, ours: int) -> str:
    if theirs > ours:
        return "it includes sessions that have been deleted"
    if theirs < ours:
        return "it does not include lines written after it was computed, or sessions that it has not seen"
    return "it uses the clock of the machine at the time it was computed"
