"""Limits that are missed for a known reason, and the number that is held instead.

A limit stays what it is, and the run says that it is missed. But a number that is worse than the one here is a change for
the worse, and only that makes the run fail. docs/benchmarks.md has the profile and the reason of each. The numbers leave
room for a slow machine and for the noise of a run.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple


class KnownMiss(NamedTuple):
    """A measurement by part and by a pattern of its name, its limit, the worst value, and the paragraph that says why."""

    part: str
    what: str
    limit: str
    worst: float
    reason: str


_START = "The start of other commands."
_SLOW_STARTS = {"check": 9, "compress": 10, "drop": 8, "export": 12, "files": 7.5, "repair": 10, "rewind": 12}
_SLOW_STARTS |= {"show": 9, "sql": 8.5, "trace": 7.5, "trim": 8.5}

KNOWN_MISSES = (
    KnownMiss("bulk", "bulk facts (usage, words, calls): stdlib json ÷ clew", "≥ 3", 1.6, "Bulk facts."),
    KnownMiss("usage", "clew usage, cold ÷ ccusage: CPU", "≤ 0.3", 0.7, "A first report of usage."),
    KnownMiss("usage", "clew usage, cold ÷ ccusage: wall", "≤ 0.4", 0.7, "A first report of usage."),
    KnownMiss("usage", "clew statusline, warm: CPU", "≤ 30", 48, _START),
    KnownMiss("cores", "usage: serial share of the CPU", "≤ 8", 15, "A first report of usage."),
    KnownMiss("cores", "usage: wall ÷ CPU on two cores", "≤ 0.55", 0.65, "A first report of usage."),
    KnownMiss("cores", "search, first index: wall ÷ CPU on two cores", "≤ 0.55", 0.65, "A first index."),
    KnownMiss("cores", "collect, first poll: serial share of the CPU", "≤ 8", 60, "Cores."),
    KnownMiss("cores", "collect, first poll: wall ÷ CPU on two cores", "≤ 0.55", 0.85, "Cores."),
    *(KnownMiss("start-up", f"clew {name}, *", "≤ 3", worst, _START) for name, worst in _SLOW_STARTS.items()),
    KnownMiss("start-up", "clew *, until it reads ÷ python -c pass", "≤ 3", 5, _START),
    KnownMiss("start-up", "clew *, work ÷ python -c pass", "≤ 3", 6, _START),
    KnownMiss("edit", "drop: * MB ÷ reading it", "≤ 4", 4.5, "Edits."),
    KnownMiss("edit", "truncate: * MB ÷ reading it", "≤ 4", 4.5, "Edits."),
    KnownMiss("edit", "repair: * MB ÷ reading it", "≤ 4", 4.5, "Edits."),
    KnownMiss("edit", "redact: * MB ÷ reading it", "≤ 4", 7, "Edits."),
    KnownMiss("export", "a page of * MB ÷ reading it to its turns", "≤ 2", 14, "A page."),
    KnownMiss("export", "a page ÷ reading it in the terminal (show --full)", "≤ 2", 2.8, "A page."),
    KnownMiss("search", "first index: CPU seconds for a GB", "≤ 14", 55, "A first index."),
    KnownMiss("search", "an appended line can be found after", "≤ 50", 95, "The start of a search."),
    KnownMiss("search", "search, all * queries: median", "≤ 3", 14, "A query."),
    KnownMiss("search", "ranking, all kinds: of the first 20 as by all", "≥ 90", 87, "A query."),
    KnownMiss("search", "clew search error, 30 sessions ÷ *", "≤ 3", 5, "The start of a search."),
    KnownMiss("search", "clew search --no-refresh error, all sessions ÷ *", "≤ 3", 7, "The start of a search."),
    KnownMiss("search", "clew search error, all sessions ÷ *", "≤ 3", 12, "The start of a search."),
    KnownMiss("search", "warm search, * files, nothing new: wall", "≤ 0.1", 0.35, "The start of a search."),
    KnownMiss("peers", "agentsview ÷ clew: CPU for a first index", "≥ 8", 2.4, "A first index."),
)


def known_miss(part: str, what: str, value: float) -> KnownMiss | None:
    """Return why a limit is missed, if that is known and the value is no worse than it was."""
    for known in KNOWN_MISSES:
        if known.part == part and fnmatchcase(what, known.what):
            is_worse = value < known.worst if known.limit.startswith("≥") else value > known.worst
            return None if is_worse else known
    return None
