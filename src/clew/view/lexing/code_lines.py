"""Split code into lines of tokens. A line that was seen before, in the same state of the lexer, is not read again.

Much of the code in a session is the same lines: the old and the new side of a difference, a file that was read twice.
A piece of text from one line break to the next gives the same tokens wherever it stands, if the lexer starts it in the same
state, ends a token exactly at its end, and no rule that was tried could read past it (see `regex_reach`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

from clew.view.lexing.lexer_rules import RuleScanner, State

Token = tuple[str, str]  # CSS class or "", text without line breaks

_MAX_KEPT = 2_000_000  # characters of pieces
_PIECE = re.compile(r"\s*[^\n]*")
_SPECIAL = re.compile("[&<>\"']").search  # most tokens have none, and escaping them would take five searches


class Line(tuple[Token, ...]):
    """The tokens of a line."""

    @cached_property
    def html(self) -> str:
        return "".join([token_html(kind, text) for kind, text in self])


NO_TOKENS = Line()


class _Piece(NamedTuple):
    """What stands between two line breaks: its lines, and the state at its end."""

    lines: list[Line]
    state: State


def token_html(kind: str, text: str) -> str:
    html = escape(text) if _SPECIAL(text) else text
    return f'<span class="t-{kind}">{html}</span>' if kind else html


class LineReader:
    """Reads code into lines with the rules of a lexer; `css_class` gives the class of a kind of token."""

    def __init__(self, scanner: RuleScanner, css_class: Callable[[Any], str]) -> None:
        self._scanner, self._css_class = scanner, css_class
        self._root, self._kept = scanner.state(), 0

    def read(self, text: str, seconds: float) -> list[Line] | None:
        """Return the lines of a text; None if that takes too long, or if the lexer changes the text."""
        if self._kept > _MAX_KEPT:
            self._root, self._kept = self._scanner.state(), 0
        deadline = time.monotonic() + seconds
        lines: list[Line] = []
        at, state = 0, self._root
        while at < len(text):
            stop = _piece_end(text, at)
            # A rule may look at the characters on both sides. No text has a carriage return, which marks the start.
            key = text[at - 1 : stop + 1] if at else "\r" + text[: stop + 1]
            piece: _Piece | None = state.pieces.get(key)
            if piece is None:
                if time.monotonic() > deadline:
                    return None
                end, piece, is_certain = self._read_piece(text, at, stop, state)
                if piece is None:
                    return None
                if is_certain:
                    state.pieces[key] = piece
                    self._kept += len(key)
                stop = end
            lines += piece.lines
            at, state = stop, piece.state
        return lines or [NO_TOKENS]

    def _read_piece(self, text: str, start: int, stop: int, state: State) -> tuple[int, _Piece | None, bool]:
        """Read tokens until one ends at a line break, from `stop` on. Return where that is, what was read, and whether it
        depends on nothing that follows.
        """
        tokens: list[tuple[Any, str]] = []
        end, state, is_certain = self._scanner.run(text, start, stop, state, tokens)
        while end < len(text) and text[end] != "\n":
            end, state, _ = self._scanner.run(text, end, _piece_end(text, end), state, tokens)
            is_certain = False
        if "".join([value for _, value in tokens]) != text[start:end]:
            return end, None, False
        found = split_lines((self._css_class(kind), value) for kind, value in tokens)
        return end, _Piece(found[1:] if start else found, state), is_certain and end == stop


def _piece_end(text: str, start: int) -> int:
    """Return where the line ends that begins at a place, after blank lines: one rule often reads those and its indent."""
    match = _PIECE.match(text, start)
    return match.end() if match else start


def split_lines(tokens: Iterable[Token]) -> list[Line]:
    """Return tokens by line; those of the same class that follow each other are one."""
    lines: list[Line] = []
    line: list[Token] = []
    for css, value in _merge(tokens):
        first, *others = value.split("\n") if "\n" in value else (value,)
        if first:
            line.append((css, first))
        for other in others:
            lines.append(Line(line))
            line = [(css, other)] if other else []
    lines.append(Line(line))
    return lines


def _merge(tokens: Iterable[Token]) -> Iterator[Token]:
    last: str | None = None
    values: list[str] = []
    for css, value in tokens:
        if css != last:
            if last is not None:
                yield last, "".join(values)
            last, values = css, []
        values.append(value)
    if last is not None:
        yield last, "".join(values)
