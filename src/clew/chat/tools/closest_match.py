"""The place that was likely meant, when a text to replace is not found: which lines, and how they differ."""

from __future__ import annotations

import difflib
import heapq
import re

_MOST_LINES = 20_000
_LONGEST = 200  # lines of the text that is looked for
_WIDEST = 1000  # characters of a line that is compared
_ALIKE = 0.6
_SHOWN = 30
_WHITE = re.compile(r"\s+")
_WORDS = re.compile(r"\w+")


def nearest(lines: list[str], wanted: str) -> str:
    """A few words on the nearest place; empty if nothing is near."""
    asked = wanted.strip("\n").split("\n")
    if len(lines) > _MOST_LINES or len(asked) > _LONGEST or not wanted.strip():
        return ""
    at = _same_but_for_space(lines, asked)
    if at is None:
        at = _most_alike(lines, asked)
    if at is None:
        return ""
    part = lines[at : at + len(asked)]
    where = f"line {at + 1}" if len(part) == 1 else f"lines {at + 1}-{at + len(part)}"
    shown = [f"{at + 1 + i:6d}→{line}" for i, line in enumerate(part[:_SHOWN])]
    return "\n".join([f"The nearest text is at {where} of the file:", *shown, *_differences(part, asked, at)])


def _bare(line: str) -> str:
    return _WHITE.sub("", line)


def _same_but_for_space(lines: list[str], asked: list[str]) -> int | None:
    bare, wanted = [_bare(line) for line in lines], [_bare(line) for line in asked]
    starts = (i for i, line in enumerate(bare) if line == wanted[0])
    return next((i for i in starts if bare[i : i + len(wanted)] == wanted), None)


def _most_alike(lines: list[str], asked: list[str]) -> int | None:
    """The lines that are most like the asked ones, found by the longest of them."""
    longest = max(range(len(asked)), key=lambda i: len(asked[i].strip()))
    if len(asked[longest]) > _WIDEST:
        return None
    words = set(_WORDS.findall(asked[longest]))

    def shared(at: int) -> float:
        found = set(_WORDS.findall(lines[at])) if len(lines[at]) <= _WIDEST else set()
        return len(words & found) / (len(words | found) or 1)

    anchors = heapq.nlargest(_SHOWN, range(len(lines)), key=shared)
    starts = {max(0, at - longest) for at in anchors if shared(at)}
    wanted = "\n".join(asked)

    def likeness(start: int) -> float:
        part = "\n".join(lines[start : start + len(asked)])
        return difflib.SequenceMatcher(None, part, wanted, autojunk=False).quick_ratio()

    best = max(sorted(starts), key=likeness, default=None)
    return best if best is not None and likeness(best) >= _ALIKE else None


def _differences(part: list[str], asked: list[str], at: int) -> list[str]:
    """How the lines differ; where it is white space alone, it is made visible."""
    found = []
    for number, (is_there, given) in enumerate(zip(part, asked, strict=False)):
        if is_there != given:
            visible = _visible if _bare(is_there) == _bare(given) else str
            found += [f"- file, line {at + 1 + number}: {visible(is_there)}", f"+ old_string: {visible(given)}"]
    if len(found) > 2 * _SHOWN:
        found = [*found[: 2 * _SHOWN], "and so on"]
    return ["It differs in:", *found] if found else []


def _visible(line: str) -> str:
    """A line whose white space can be told apart: a dot for a space, an arrow for a tab."""
    marks = {" ": "·", "\t": "⇥", "\r": "␍"}
    return "".join(marks.get(c, f"<U+{ord(c):04X}>" if c.isspace() else c) for c in line)
