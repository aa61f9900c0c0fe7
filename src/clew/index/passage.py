"""Passages: the place in a transcript where a match is, cut out of its line without decoding it.

The line is JSON; the match stands inside one of its strings. The cut stays inside that string, and its escapes are undone.
"""

from __future__ import annotations

WIDTH = 240
_ESCAPES = {"n": " ", "t": " ", "r": " ", "b": "", "f": " ", '"': '"', "\\": "\\", "/": "/"}


class Passage:
    """Text around a match; `marks` are where in it the words that were asked for stand."""

    __slots__ = ("agent", "failed", "field", "marks", "offset", "path", "score", "text", "time", "tool")

    def __init__(
        self,
        path: str,
        offset: int,
        field: str,
        *,
        text: str = "",
        marks: tuple[tuple[int, int], ...] = (),
        tool: str = "",
        failed: bool = False,
        time: int | None = None,
        agent: str = "",
        score: float = 0.0,
    ) -> None:
        self.path, self.offset, self.field = path, offset, field
        self.text, self.marks = text, marks
        self.tool, self.failed, self.time, self.agent, self.score = tool, failed, time, agent, score


def line_at(path: str, offset: int) -> str:
    """The line that begins at an offset; empty if the file has gone or has been cut."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.readline().decode("utf-8", "replace")
    except OSError:
        return ""


def cut(line: str, words: list[tuple[str, ...]], width: int = WIDTH) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The best stretch of a line around some words, as plain text, and where the words stand in it."""
    lowered = line.lower()
    at = _place(lowered, words)
    start, stop = _string(line, at, width)
    text = " ".join(unescaped(line[start:stop]).split())
    return text, marks(text, words)


def _place(lowered: str, words: list[tuple[str, ...]]) -> int:
    """Where to cut: at the first place that holds a whole sequence, else at its longest word."""
    for sequence in words:
        joined = sequence[0].lower() if len(sequence) == 1 else ""
        for gap in (" ", "", "_", ".", "-", "/", "\\n"):
            candidate = joined or gap.join(word.lower() for word in sequence)
            found = lowered.find(candidate)
            if found >= 0:
                return found
    longest = max((word for sequence in words for word in sequence), key=len, default="")
    return max(0, lowered.find(longest.lower()))


def _string(line: str, at: int, width: int) -> tuple[int, int]:
    """The part of the JSON string around a place, at most `width` wide, cut at words."""
    start, stop = max(0, at - width // 3), min(len(line), at + width)
    for position in range(at, start, -1):
        if _is_quote(line, position - 1):
            start = position
            break
    for position in range(at, stop):
        if _is_quote(line, position):
            stop = position
            break
    while start < at and start > 0 and line[start - 1] == "\\":
        start += 1
    return start, stop


def _is_quote(line: str, position: int) -> bool:
    """Whether a quotation mark ends or begins a string: one behind an odd number of backslashes is a part of it."""
    if line[position] != '"':
        return False
    slashes = 0
    while position - slashes > 0 and line[position - slashes - 1] == "\\":
        slashes += 1
    return slashes % 2 == 0


def unescaped(text: str) -> str:
    """JSON escapes undone, and an escape that the cut went through left out."""
    if "\\" not in text:
        return text
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\":
            following = text.find("\\", at)
            following = len(text) if following < 0 else following
            found.append(text[at:following])
            at = following
            continue
        kind = text[at + 1 : at + 2]
        if kind == "u":
            digits = text[at + 2 : at + 6]
            if len(digits) == 4 and not set(digits.lower()) - set("0123456789abcdef"):
                found.append(chr(int(digits, 16)))
            at += 6
        else:
            found.append(_ESCAPES.get(kind, ""))
            at += 2
    return "".join(found).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def marks(text: str, words: list[tuple[str, ...]]) -> tuple[tuple[int, int], ...]:
    """Where words stand in a text, without overlaps."""
    lowered = text.lower()
    found: list[tuple[int, int]] = []
    for word in {w.lower() for sequence in words for w in sequence}:
        at = lowered.find(word)
        while at >= 0 and len(found) < 50:
            is_start = at == 0 or not lowered[at - 1].isalnum() or not word.isascii()
            if is_start:
                found.append((at, at + len(word)))
            at = lowered.find(word, at + 1)
    kept: list[tuple[int, int]] = []
    for start, stop in sorted(found):
        if kept and start < kept[-1][1]:
            continue
        if kept and start == kept[-1][1]:
            kept[-1] = (kept[-1][0], stop)
        else:
            kept.append((start, stop))
    return tuple(kept)
