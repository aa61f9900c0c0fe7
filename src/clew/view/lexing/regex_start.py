"""Find out which regular expressions may match at a character.

    trees = [parse(re.compile(text)) for text in (r"\\s+", "[(){}]", r"\\w+")]
    fitting(trees, "(")      # [1]: the others cannot match there, so they need not be tried

The answer errs on one side only: an expression that is left out cannot match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from clew.view.lexing.regex_tree import Items

_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_CATEGORIES = {
    ops.CATEGORY_DIGIT: re.compile(r"\d"),
    ops.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    ops.CATEGORY_SPACE: re.compile(r"\s"),
    ops.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    ops.CATEGORY_WORD: re.compile(r"\w"),
    ops.CATEGORY_NOT_WORD: re.compile(r"\W"),
}


def fitting(trees: Sequence[Any], character: str) -> list[int]:
    """Return the numbers of the parsed expressions that may match at a printable ASCII character or line break."""
    return [number for number, tree in enumerate(trees) if any(_Character(character, tree).sequence(tree))]


class _Start(NamedTuple):
    """Whether a part of an expression may read the character, and whether it may match without reading anything."""

    reads: bool
    is_empty: bool


class _Character:
    """A character at which an expression is tried."""

    def __init__(self, character: str, tree: Any) -> None:
        flags = tree.state.flags
        self._text, self._code = character, ord(character)
        self._ignores_case, self._dot_is_all = bool(flags & re.IGNORECASE), bool(flags & re.DOTALL)

    def sequence(self, items: Items) -> _Start:
        reads = False
        for item in items:
            start = self._item(*item)
            reads = reads or start.reads
            if not start.is_empty:
                return _Start(reads, False)
        return _Start(reads, True)

    def _item(self, operation: Any, argument: Any) -> _Start:
        if operation in _REPEATS:
            reads, is_empty = self.sequence(argument[2])
            return _Start(reads, is_empty or not argument[0])
        if operation is ops.SUBPATTERN:  # flags for a part are rare, and not followed
            return _Start(True, True) if argument[1] or argument[2] else self.sequence(argument[3])
        if operation is ops.BRANCH:
            starts = [self.sequence(branch) for branch in argument[1]]
            return _Start(any(start.reads for start in starts), any(start.is_empty for start in starts))
        if operation is ops.ATOMIC_GROUP:
            return self.sequence(argument)
        if operation is ops.ASSERT and argument[0] > 0:
            return _Start(False, any(self.sequence(argument[1])))
        if operation in (ops.ASSERT, ops.ASSERT_NOT):
            return _Start(False, True)
        if operation is ops.AT:  # the end of a text is not at a character, that of a line only at a line break
            is_end = argument is ops.AT_END_STRING or (argument is ops.AT_END and self._text != "\n")
            return _Start(False, not is_end)
        if operation in (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY):
            return _Start(self._is_read(operation, argument), False)
        return _Start(True, True)

    def _is_read(self, operation: Any, argument: Any) -> bool:
        if operation is ops.ANY:
            return self._dot_is_all or self._text != "\n"
        if self._ignores_case and self._text.isalpha():
            return True
        if operation is ops.LITERAL:
            return bool(argument == self._code)
        if operation is ops.NOT_LITERAL:
            return bool(argument != self._code)
        is_negated = argument[0][0] is ops.NEGATE
        return any(self._is_in(*item) for item in argument) is not is_negated

    def _is_in(self, operation: Any, argument: Any) -> bool:
        if operation is ops.RANGE:
            return bool(argument[0] <= self._code <= argument[1])
        if operation is ops.CATEGORY:
            return _CATEGORIES[argument].match(self._text) is not None
        return operation is ops.LITERAL and bool(argument == self._code)
