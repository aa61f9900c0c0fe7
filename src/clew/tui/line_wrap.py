"""Wrap and truncate text to a width in terminal columns."""

from __future__ import annotations

import re

from rich.cells import cell_len, chop_cells

_WORDS = re.compile(r"\s*\S+|\s+$")


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text, broken at words; continuation lines keep the indent of their line."""
    lines: list[str] = []
    room = max(width, 4)
    for line in text.expandtabs(4).split("\n"):
        if (len(line) <= room and line.isascii()) or cell_len(line) <= room:
            lines.append(line)
        else:
            lines += _wrap_line(line, room)
    return lines


def _wrap_line(line: str, width: int) -> list[str]:
    indent = " " * min(len(line) - len(line.lstrip()), width // 2)
    lines: list[str] = []
    current, used = "", 0
    for word in _WORDS.findall(line):
        size = len(word) if word.isascii() else cell_len(word)
        if used + size <= width:
            current, used = current + word, used + size
            continue
        if size > width // 2 and width - used > 8:  # a long word is split anyway, so start it on this line
            head = _chop(word, width - used)[0]
            current, word = current + head, word[len(head) :]
        if current.strip():
            lines.append(current.rstrip())
        *full, current = _chop(indent + word.lstrip(), width)
        lines += full
        used = cell_len(current)
    return [*lines, current.rstrip()] if current.strip() or not lines else lines


def _chop(text: str, width: int) -> list[str]:
    """Cut a word that is wider than the screen into pieces; ASCII is cut without counting cells."""
    if text.isascii():
        return [text[at : at + width] for at in range(0, len(text), width)] or [""]
    return chop_cells(text, width) or [""]


def fit(text: str, width: int) -> str:
    """Truncate a line to a width; a truncated line ends in "…"."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return (chop_cells(text, width - 1)[0] if width > 1 else "") + "…"
