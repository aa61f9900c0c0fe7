"""Split code into lines of tokens. A line that was seen before, in the same state of the lexer, is not read again.

Much of the code in a session is the same lines: the old and the new side of a difference, a file that was read twice.
A piece of text from one line break to the next gives the same tokens wherever it stands, if the lexer starts it in the same
state, ends a token exactly at its end, and no rule that was tried could read past it (see `regex_reach`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from html import escape
from typing import TypeAlias, cast

from clew.view.lexing.lexer_rules import RuleScanner, Span, State, TextChangedError

Token = tuple[str, str]  # CSS class or "", text without line breaks

_MAX_KEPT = 2_000_000  # characters of pieces
_match_piece = cast("Callable[[str, int], re.Match[str]]", re.compile(r"\s*[^\n]*").match)  # always matches
_SPECIAL = re.compile("[&<>\"']").search  # most tokens have none, and escaping them would take five searches


class Line(tuple[Token, ...]):
    """The tokens of a line."""

    @cached_property
    def html(self) -> str:
        return "".join([token_html(kind, text) for kind, text in self])


NO_TOKENS = Line()
Piece: TypeAlias = (
    "tuple[list[Line], State]"  # what stands between two line breaks: its lines, and the state at its end
)


def token_html(kind: str, text: str) -> str:
    html = escape(text) if _SPECIAL(text) else text
    return f'<span class="t-{kind}">{html}</span>' if kind else html


class LineReader:
    """Reads code into lines with the rules of a lexer, whose labels are CSS classes."""

    def __init__(self, scanner: RuleScanner) -> None:
        self._scanner = scanner
        self._root, self._kept = scanner.state(), 0

    def read(self, text: str, seconds: float) -> list[Line] | None:
        """Return the lines of a text; None if that takes too long, or if the lexer changes the text."""
        if self._kept > _MAX_KEPT:
            self._root.forget()
            self._root, self._kept = self._scanner.state(), 0
        deadline = time.thread_time() + seconds
        lines: list[Line] = []
        at, state = 0, self._root
        while at < len(text):
            stop = _match_piece(text, at).end()  # a line, after blank lines: one rule often reads those and its indent
            # A rule may look at the characters on both sides. No text has a carriage return, which marks the start.
            key = text[at - 1 : stop + 1] if at else "\r" + text[: stop + 1]
            piece: Piece | None = state.pieces.get(key)
            if piece is None:
                if time.thread_time() > deadline:
                    return None
                try:
                    end, piece, is_certain = self._read_piece(text, at, stop, state)
                except TextChangedError:
                    return None
                if is_certain:
                    state.pieces[key] = piece
                    self._kept += len(key)
                stop = end
            lines += piece[0]
            at, state = stop, piece[1]
        return lines or [NO_TOKENS]

    def _read_piece(self, text: str, start: int, stop: int, state: State) -> tuple[int, Piece, bool]:
        """Read tokens until one ends at a line break, from `stop` on. Return where that is, what was read, and whether it
        depends on nothing that follows.
        """
        spans: list[Span] = []
        end, state, is_certain = self._scanner.run(text, start, stop, state, spans)
        while end < len(text) and text[end] != "\n":
            end, state, _ = self._scanner.run(text, end, _match_piece(text, end).end(), state, spans)
            is_certain = False
        found = split_lines(text, start, spans)
        return end, (found[1:] if start else found, state), is_certain and end == stop


def split_lines(text: str, at: int, spans: Iterable[Span]) -> list[Line]:
    """Return the text from a place on as tokens by line."""
    lines: list[Line] = []
    line: list[Token] = []
    for css, end in spans:
        value = text[at:end]
        at = end
        if "\n" in value:
            value, *others = value.split("\n")
            if value:
                line.append((css, value))
            for other in others:
                lines.append(Line(line))
                line = [(css, other)] if other else []
        elif value:
            line.append((css, value))
    lines.append(Line(line))
    return lines
