"""Compute unified diffs in bounded time: with difflib, or as one changed block if that would take long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

Step = tuple[str, int, int, int, int]  # of difflib: what is to do, and the lines of both texts

MAX_PAIRS = 200_000  # pairs of equal lines for difflib to compare: about two seconds (measured)
MAX_STEPS = 10_000_000  # lines and pairs that difflib looks at, most of them again and again: the same


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
    pairs = _count_equal_pairs(removed, added)
    if pairs <= MAX_PAIRS:
        from clew.facts.bounded_matcher import BoundedMatcher, TooManyStepsError

        matcher = BoundedMatcher(old, new, MAX_STEPS // (1 + pairs // max(1, len(removed))))
        try:
            return list(_hunks(list(matcher.get_grouped_opcodes(around)), old, new, names, end))
        except TooManyStepsError:
            pass
    return list(_one_hunk(old, removed, added, (names, start, around, end)))


def _hunks(
    groups: Sequence[Sequence[Step]], old: Sequence[str], new: Sequence[str], names: tuple[str, str], end: str
) -> Iterator[str]:
    if groups:
        yield from (f"--- {names[0]}{end}", f"+++ {names[1]}{end}")
    for steps in groups:
        (_, first, _, new_first, _), (_, _, last, _, new_last) = steps[0], steps[-1]
        yield f"@@ -{_line_range(first, last)} +{_line_range(new_first, new_last)} @@{end}"
        for kind, at, stop, new_at, new_stop in steps:
            if kind == "equal":
                yield from (f" {line}" for line in old[at:stop])
                continue
            yield from (f"-{line}" for line in old[at:stop])
            yield from (f"+{line}" for line in new[new_at:new_stop])


def _line_range(start: int, stop: int) -> str:
    """Return a range of lines as patch reads it: an empty one begins at the line before."""
    count = stop - start
    return f"{start + 1}" if count == 1 else f"{start + 1 if count else start},{count}"


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
