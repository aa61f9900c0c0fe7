"""Compute unified diffs in bounded time: with difflib, or as one changed block if that would take long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

MAX_PAIRS = 200_000  # pairs of equal lines for difflib to compare: about two seconds (measured)


def unified(
    old: Sequence[str], new: Sequence[str], names: tuple[str, str], around: int = 3, end: str = ""
) -> list[str]:
    """Return the lines of a unified diff; `end` terminates the header lines, like the input lines."""
    start, size = 0, min(len(old), len(new))
    while start < size and old[start] == new[start]:
        start += 1
    stop = 0
    while stop < size - start and old[-1 - stop] == new[-1 - stop]:
        stop += 1
    removed, added = old[start : len(old) - stop], new[start : len(new) - stop]
    if _count_equal_pairs(removed, added) <= MAX_PAIRS:
        from difflib import unified_diff

        return list(unified_diff(old, new, *names, n=around, lineterm=end))
    return list(_one_hunk(old, removed, added, (names, start, around, end)))


def _count_equal_pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the pairs of equal lines, without popular lines, which difflib ignores too."""
    counts = Counter(new)
    popular = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    return sum(counts[line] for line in old if counts[line] <= popular)


def _one_hunk(
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
