"""Wrapping: text as lines that fit a width in columns."""

from __future__ import annotations

import re

from rich.cells import cell_len, chop_cells

_WORDS = re.compile(r"\s*\S+|\s+$")


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text, broken at words; what follows a break keeps the indent of its line."""
    found: list[str] = []
    room = max(width, 4)
    for line in text.expandtabs(4).split("\n"):
        if (len(line) <= room and line.isascii()) or cell_len(line) <= room:
            found.append(line)
        else:
            found += _broken(line, room)
    return found


def _broken(line: str, width: int) -> list[str]:
    indent = " " * min(len(line) - len(line.lstrip()), width // 2)
    found: list[str] = []
    current, used = "", 0
    for word in _WORDS.findall(line):
        size = len(word) if word.isascii() else cell_len(word)
        if used + size <= width:
            current, used = current + word, used + size
            continue
        if size > width // 2 and width - used > 8:  # a word that is long anyway begins where there is room
            head = _pieces(word, width - used)[0]
            current, word = current + head, word[len(head) :]
        if current.strip():
            found.append(current.rstrip())
        *whole, current = _pieces(indent + word.lstrip(), width)
        found += whole
        used = cell_len(current)
    return [*found, current.rstrip()] if current.strip() or not found else found


def _pieces(text: str, width: int) -> list[str]:
    """A word that is wider than the screen, in pieces; ASCII is cut without counting cells."""
    if text.isascii():
        return [text[at : at + width] for at in range(0, len(text), width)] or [""]
    return chop_cells(text, width) or [""]


def fit(text: str, width: int) -> str:
    """One line cut to a width, with a sign that it was."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return (chop_cells(text, width - 1)[0] if width > 1 else "") + "…"
