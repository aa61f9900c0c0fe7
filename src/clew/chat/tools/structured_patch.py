"""Patches: what a change did, as the hunks of a unified diff without marks for a missing last newline.

A hunk without old lines starts at the line that it stands before; in a written diff that is one more than is usual.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from clew.wire.json_codec import Json

AROUND = 3
_DEEPEST = 800  # lines added and removed, up to which a change is taken apart

Step = tuple[str, int, int, int, int]


def hunks(before: str, after: str) -> list[Json]:
    """The hunks that turn one text into the other, with three lines around each."""
    old, new = _lines(before), _lines(after)
    if old == new:
        return []
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    cut, end = max(0, head - AROUND), max(0, tail - AROUND)
    old, new = old[cut : len(old) - end], new[cut : len(new) - end]
    groups = [list(group) for group in _Shortest(old, new).get_grouped_opcodes(AROUND)]
    return [_hunk(group, old, new, cut) for group in groups]


class _Shortest(difflib.SequenceMatcher[str]):
    """The shortest way from one text to the other (Myers 1986), where difflib would take long for many equal lines."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._texts = (old, new)

    def get_matching_blocks(self) -> list[difflib.Match]:
        old, new = self._texts
        pairs = _shortest(old, new)
        blocks: list[difflib.Match] = []
        for i, j in pairs:
            last = blocks[-1] if blocks else difflib.Match(-1, -1, 0)
            if (last.a + last.size, last.b + last.size) == (i, j):
                blocks[-1] = difflib.Match(last.a, last.b, last.size + 1)
            else:
                blocks.append(difflib.Match(i, j, 1))
        return [*blocks, difflib.Match(len(old), len(new), 0)]


def _shortest(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The lines that both share on the shortest way; none if it is too long."""
    reached: dict[int, int] = {1: 0}  # by diagonal, how far into the old text
    trail: list[dict[int, int]] = []
    for depth in range(_DEEPEST + 1):
        trail.append(dict(reached))
        for k in range(-depth, depth + 1, 2):
            is_down = k == -depth or (k != depth and reached[k - 1] < reached[k + 1])
            i = reached[k + 1] if is_down else reached[k - 1] + 1
            while i < len(old) and i - k < len(new) and old[i] == new[i - k]:
                i += 1
            reached[k] = i
            if i >= len(old) and i - k >= len(new):
                return _back(trail, len(old), len(new))
    return []


def _back(trail: list[dict[int, int]], i: int, j: int) -> list[tuple[int, int]]:
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


def _lines(text: str) -> list[str]:
    """The lines with their newlines: cut at newlines alone."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines both begin with."""
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
