"""Render a unified diff as HTML: line numbers from its hunks, marks on changed words, colours of the language.

The numbers are attributes that the style sheet shows, so that copied text is code alone. Each run of changed lines is
one element (`span.change`), which a page may lay out side by side (class `split` on any element around it).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from html import escape
from itertools import accumulate

from msgspec import Struct

from clew.view.lexing.code_lines import NO_TOKENS, Line
from clew.view.syntax import Span, file_language, plain_lines, render_line, token_lines

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_WORDS, _MAX_LINES = 400, 100  # words of a line, and lines of a block, that are compared word by word
_NAMES = {"+": "ins", "-": "del", " ": "span"}  # elements of lines by sign
_MIN_RATIO = 0.4  # lines that share less are not marked word by word


class DiffLine(Struct):
    """A line of a diff: `sign` is "+", "-", " ", "@" for the start of a hunk, or "f" for a file header."""

    sign: str
    text: str
    old: int = 0
    new: int = 0
    tokens: Line = NO_TOKENS
    changed: Sequence[Span] = ()


def diff_html(text: str, path: str = "") -> str:
    """Return the lines of a diff as HTML, for a `pre`. `text` must be sanitized."""
    lines = parse_diff(text.split("\n"))
    header = next((line.text for line in lines if line.sign == "f" and line.text.startswith("+++ ")), "")
    _add_tokens(lines, file_language(path or header.split("\t")[0]))
    return "".join(_blocks_html(lines))


def parse_diff(texts: Sequence[str]) -> list[DiffLine]:
    """Return the lines. Headers of files are those outside of hunks: `--- x` inside one is a removed line."""
    return [DiffLine(sign, text, old, new) for sign, text, old, new in _parsed_lines(texts)]


def _parsed_lines(texts: Sequence[str]) -> Iterator[tuple[str, str, int, int]]:
    old = new = old_left = new_left = 0
    has_hunks = any(text[:2] == "@@" and _HUNK.match(text) for text in texts)
    for index, text in enumerate(texts):
        sign = text[:1]
        if sign == "@" and old_left <= 0 and new_left <= 0 and (match := _HUNK.match(text)):
            old, new = int(match[1]), int(match[3])
            old_left, new_left = int(match[2] or 1), int(match[4] or 1)
            yield "@", text, 0, 0
        elif old_left <= 0 and new_left <= 0 and sign != "\\" if has_hunks else _is_header(texts, index):
            yield "f", text, 0, 0
        elif sign == "+":
            yield "+", text[1:], 0, new
            new, new_left = new + 1, new_left - 1
        elif sign == "-":
            yield "-", text[1:], old, 0
            old, old_left = old + 1, old_left - 1
        elif sign == "\\":
            yield "@", text, 0, 0
        else:
            yield " ", text[1:] if sign == " " else text, old, new
            old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1


def _is_header(texts: Sequence[str], index: int) -> bool:
    """Return whether a line of a diff without hunks is one of a pair of `--- ` and `+++ ` lines."""
    pair = (texts[index : index + 2], texts[max(0, index - 1) : index + 1])
    return any(len(two) == 2 and two[0].startswith("--- ") and two[1].startswith("+++ ") for two in pair)


def count_changes(lines: Sequence[str]) -> tuple[int, int]:
    """Return the numbers of added and removed lines of a unified diff."""
    signs = [sign for sign, _, _, _ in _parsed_lines(lines)]
    return signs.count("+"), signs.count("-")


def _add_tokens(lines: list[DiffLine], language: str) -> None:
    """Set the tokens of all lines: each side is coloured as one text, so that strings may span lines."""
    for sign in "-+":
        side = [line for line in lines if line.sign in (sign, " ")]
        text = "\n".join(line.text for line in side)
        lines_of_side = (token_lines(text, language) or plain_lines(text)) if side else []
        for line, tokens in zip(side, lines_of_side, strict=True):
            line.tokens = tokens


def _blocks_html(lines: Sequence[DiffLine]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        stop = at
        while stop < len(lines) and lines[stop].sign == "-":
            stop += 1
        middle = stop
        while stop < len(lines) and lines[stop].sign == "+":
            stop += 1
        if stop > at:
            _mark_words(lines[at:middle], lines[middle:stop])
            yield f'<span class="change">{"".join(map(_line_html, lines[at:stop]))}</span>'
        else:
            yield _line_html(lines[at])
            stop = at + 1
        at = stop


def _line_html(line: DiffLine) -> str:
    if line.sign in "@f":
        return f'<span class="{"hunk" if line.sign == "@" else "file"}">{escape(line.text)}\n</span>'
    code = render_line(line.tokens, line.changed) if line.changed else line.tokens.html
    old, new, name = line.old, line.new, _NAMES[line.sign]
    numbers = f' data-n="{old or "":>4} {new or "":>4}"' if old or new else ""
    return f"<{name}{numbers}>{line.sign}{code}\n</{name}>"


def _mark_words(removed: Sequence[DiffLine], added: Sequence[DiffLine]) -> None:
    """Mark the words that differ between lines that were replaced by similar ones."""
    if len(removed) != len(added) or len(added) > _MAX_LINES:
        return
    for old, new in zip(removed, added, strict=True):
        old.changed, new.changed = changed_words(old.text, new.text)


def changed_words(old: str, new: str, max_words: int = _MAX_WORDS) -> tuple[list[Span], list[Span]]:
    """Return the spans of the words that differ between two similar texts; none if the texts share too little."""
    old_words, new_words = ([match[0] for match in _WORD.finditer(text)] for text in (old, new))
    if max(len(old_words), len(new_words)) > max_words:
        return [], []
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    if matcher.quick_ratio() < _MIN_RATIO or matcher.ratio() < _MIN_RATIO:  # the first is never less, and quicker
        return [], []
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    return (
        _spans(old_words, [(first, last) for _, first, last, _, _ in steps]),
        _spans(new_words, [(first, last) for _, _, _, first, last in steps]),
    )


def _spans(words: Sequence[str], ranges: Sequence[Span]) -> list[Span]:
    """Return ranges of words as spans of characters."""
    starts = list(accumulate(map(len, words), initial=0))
    return [(starts[first], starts[last]) for first, last in ranges if first < last]
