"""Compute the hunks of a unified diff, without marks for a missing final newline.

A hunk without old lines starts at the line before which it is inserted; a written diff usually states one less.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from clew.wire.json_codec import Json

CONTEXT_LINES = 3
_MAX_EDITS = 800  # added plus removed lines beyond which one hunk is returned

Step = tuple[str, int, int, int, int]


def diff_hunks(before: str, after: str) -> list[Json]:
    """Return the hunks that turn one text into the other, with three lines of context."""
    old, new = _split_lines(before), _split_lines(after)
    if old == new:
        return []
    head = _common_prefix(old, new)
    tail = _common_prefix(old[head:][::-1], new[head:][::-1])
    cut, end = max(0, head - CONTEXT_LINES), max(0, tail - CONTEXT_LINES)
    old, new = old[cut : len(old) - end], new[cut : len(new) - end]
    groups = [list(group) for group in _MyersMatcher(old, new).get_grouped_opcodes(CONTEXT_LINES)]
    return [_hunk(group, old, new, cut) for group in groups]


class _MyersMatcher(difflib.SequenceMatcher[str]):
    """Finds a shortest edit script (Myers 1986); difflib is slow for texts with many equal lines."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._texts = (old, new)

    def get_matching_blocks(self) -> list[difflib.Match]:
        old, new = self._texts
        pairs = _common_lines(old, new)
        blocks: list[difflib.Match] = []
        for i, j in pairs:
            last = blocks[-1] if blocks else difflib.Match(-1, -1, 0)
            if (last.a + last.size, last.b + last.size) == (i, j):
                blocks[-1] = difflib.Match(last.a, last.b, last.size + 1)
            else:
                blocks.append(difflib.Match(i, j, 1))
        return [*blocks, difflib.Match(len(old), len(new), 0)]


def _common_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs of equal lines on a shortest edit path; none if the path is too long.

    Diagonal k is old index minus new index; `reached[k]` is the farthest old index on it after `depth` edits.
    """
    reached: dict[int, int] = {1: 0}  # farthest old index by diagonal
    trail: list[dict[int, int]] = []
    for depth in range(_MAX_EDITS + 1):
        trail.append(dict(reached))
        for k in range(-depth, depth + 1, 2):
            is_down = k == -depth or (k != depth and reached[k - 1] < reached[k + 1])
            i = reached[k + 1] if is_down else reached[k - 1] + 1
            while i < len(old) and i - k < len(new) and old[i] == new[i - k]:
                i += 1
            reached[k] = i
            if i >= len(old) and i - k >= len(new):
                return _trace_back(trail, len(old), len(new))
    return []


def _trace_back(trail: list[dict[int, int]], i: int, j: int) -> list[tuple[int, int]]:
    """Walk the recorded depths from the end to the start and collect the diagonal steps, which are the equal lines."""
    pairs: list[tuple[int, int]] = []
    for depth in range(len(trail) - 1, -1, -1):
        reached, k = trail[depth], i - j
        is_down = k == -depth or (k != depth and reached[k - 1] < reached[k + 1])
        above = k + 1 if is_down else k - 1
        begin = reached[above]
        while i > begin and j > begin - above and i > 0 and j > 0:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        if depth:
            i, j = begin, begin - above
    return pairs[::-1]


def _split_lines(text: str) -> list[str]:
    """Split at newlines only, and keep the newlines."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _common_prefix(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of lines that both texts begin with."""
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _hunk(group: list[Step], old: Sequence[str], new: Sequence[str], cut: int) -> Json:
    first, last = group[0], group[-1]
    lines: list[str] = []
    for tag, i, j, k, m in group:
        if tag == "equal":
            lines += [" " + line for line in old[i:j]]
        else:
            lines += ["-" + line for line in old[i:j]] + ["+" + line for line in new[k:m]]
    return {
        "oldStart": cut + first[1] + 1,
        "oldLines": last[2] - first[1],
        "newStart": cut + first[3] + 1,
        "newLines": last[4] - first[3],
        "lines": [line.removesuffix("\n") for line in lines],
    }
