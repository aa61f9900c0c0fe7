"""Unified diffs in bounded time: difflib's, or the changed part as one block where that would take long."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

PAIRS = 200_000  # equal lines that difflib may have to compare: about two seconds (measured)


def unified(
    old: Sequence[str], new: Sequence[str], names: tuple[str, str], around: int = 3, end: str = ""
) -> list[str]:
    """The lines of a unified diff; `end` closes the lines of the head, as the given lines are closed."""
    start, size = 0, min(len(old), len(new))
    while start < size and old[start] == new[start]:
        start += 1
    stop = 0
    while stop < size - start and old[-1 - stop] == new[-1 - stop]:
        stop += 1
    removed, added = old[start : len(old) - stop], new[start : len(new) - stop]
    if _pairs(removed, added) <= PAIRS:
        return list(difflib.unified_diff(old, new, *names, n=around, lineterm=end))
    return list(_block(old, removed, added, (names, start, around, end)))


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """How many pairs of equal lines there are, without the popular lines, which difflib leaves out too."""
    counts = Counter(new)
    popular = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    return sum(counts[line] for line in old if counts[line] <= popular)


def _block(
    old: Sequence[str], removed: Sequence[str], added: Sequence[str], how: tuple[tuple[str, str], int, int, str]
) -> Iterator[str]:
    names, start, around, end = how
    before = old[max(0, start - around) : start]
    after = old[start + len(removed) : start + len(removed) + around]
    first, more = start - len(before) + 1, len(before) + len(after)
    yield f"--- {names[0]}{end}"
    yield f"+++ {names[1]}{end}"
    yield f"@@ -{first},{len(removed) + more} +{first},{len(added) + more} @@{end}"
    yield from (f" {line}" for line in before)
    yield from (f"-{line}" for line in removed)
    yield from (f"+{line}" for line in added)
    yield from (f" {line}" for line in after)
