"""Find the text that was probably meant when a text to replace does not occur in a file."""

from __future__ import annotations

import difflib
import heapq
import re

_MAX_LINES = 20_000
_MAX_OLD_LINES = 200  # lines of the text to find
_MAX_LINE_LENGTH = 1000  # longer lines are not compared
_MIN_SIMILARITY = 0.6
_MAX_SHOWN = 30
_WHITE = re.compile(r"\s+")
_WORDS = re.compile(r"\w+")


def describe_closest_match(lines: list[str], old_text: str) -> str:
    """Describe the most similar lines and how they differ; empty if nothing is similar."""
    old_lines = old_text.strip("\n").split("\n")
    if len(lines) > _MAX_LINES or len(old_lines) > _MAX_OLD_LINES or not old_text.strip():
        return ""
    start = _find_ignoring_whitespace(lines, old_lines)
    if start is None:
        start = _find_most_similar(lines, old_lines)
    if start is None:
        return ""
    part = lines[start : start + len(old_lines)]
    where = f"line {start + 1}" if len(part) == 1 else f"lines {start + 1}-{start + len(part)}"
    shown = [f"{start + 1 + i:6d}→{line}" for i, line in enumerate(part[:_MAX_SHOWN])]
    return "\n".join([f"The nearest text is at {where} of the file:", *shown, *_differences(part, old_lines, start)])


def _without_whitespace(line: str) -> str:
    return _WHITE.sub("", line)


def _find_ignoring_whitespace(lines: list[str], old_lines: list[str]) -> int | None:
    bare, bare_old = [_without_whitespace(line) for line in lines], [_without_whitespace(line) for line in old_lines]
    starts = (i for i, line in enumerate(bare) if line == bare_old[0])
    return next((i for i in starts if bare[i : i + len(bare_old)] == bare_old), None)


def _find_most_similar(lines: list[str], old_lines: list[str]) -> int | None:
    """Return the start of the most similar lines; candidates share words with the longest line of the text."""
    longest = max(range(len(old_lines)), key=lambda i: len(old_lines[i].strip()))
    if len(old_lines[longest]) > _MAX_LINE_LENGTH:
        return None
    words = set(_WORDS.findall(old_lines[longest]))

    def shared(at: int) -> float:
        line_words = set(_WORDS.findall(lines[at])) if len(lines[at]) <= _MAX_LINE_LENGTH else set()
        return len(words & line_words) / (len(words | line_words) or 1)

    anchors = heapq.nlargest(_MAX_SHOWN, range(len(lines)), key=shared)
    starts = {max(0, at - longest) for at in anchors if shared(at)}
    old_text = "\n".join(old_lines)

    def likeness(start: int) -> float:
        part = "\n".join(lines[start : start + len(old_lines)])
        return difflib.SequenceMatcher(None, part, old_text, autojunk=False).quick_ratio()

    best = max(sorted(starts), key=likeness, default=None)
    return best if best is not None and likeness(best) >= _MIN_SIMILARITY else None


def _differences(part: list[str], old_lines: list[str], at: int) -> list[str]:
    """List the lines that differ; a difference in white space alone is made visible."""
    lines = []
    for number, (actual, expected) in enumerate(zip(part, old_lines, strict=False)):
        if actual != expected:
            visible = _show_whitespace if _without_whitespace(actual) == _without_whitespace(expected) else str
            lines += [f"- file, line {at + 1 + number}: {visible(actual)}", f"+ old_string: {visible(expected)}"]
    if len(lines) > 2 * _MAX_SHOWN:
        lines = [*lines[: 2 * _MAX_SHOWN], "and so on"]
    return ["It differs in:", *lines] if lines else []


def _show_whitespace(line: str) -> str:
    """Return a line with visible white space: a dot for a space, an arrow for a tab."""
    marks = {" ": "·", "\t": "⇥", "\r": "␍"}
    return "".join(marks.get(c, f"<U+{ord(c):04X}>" if c.isspace() else c) for c in line)
