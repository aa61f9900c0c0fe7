"""Find out at which characters a regular expression may match.

    tree = parse(re.compile(r"[(){}]+|;"))
    starts = start_set(tree)              # the characters as bits: `starts >> ord("(") & 1` is 1

The answer errs on one side only: at a character of ASCII that is left out the expression cannot match.
"""

from __future__ import annotations

import re
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from clew.view.lexing.regex_tree import Items

Characters = int  # characters of ASCII as bits

ALL: Characters = (1 << 128) - 1
_BREAK: Characters = 1 << 10
_LETTERS: Characters = sum(1 << code for code in range(128) if chr(code).isalpha())
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_SINGLE = (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY)
_CATEGORIES: dict[Any, Characters] = {
    category: sum(1 << code for code in range(128) if re.match(text, chr(code)))
    for category, text in (
        (ops.CATEGORY_DIGIT, r"\d"),
        (ops.CATEGORY_NOT_DIGIT, r"\D"),
        (ops.CATEGORY_SPACE, r"\s"),
        (ops.CATEGORY_NOT_SPACE, r"\S"),
        (ops.CATEGORY_WORD, r"\w"),
        (ops.CATEGORY_NOT_WORD, r"\W"),
    )
}


class Start(NamedTuple):
    """The characters that a part of an expression may read, and those at which it may match without reading anything."""

    reads: Characters
    is_empty: Characters


def start_set(tree: Any) -> Characters:
    """Return the characters at which a parsed expression may match."""
    start = sequence_start(tree, tree.state.flags)
    return start.reads | start.is_empty


def sequence_start(items: Items, flags: int) -> Start:
    """Return the start of items that follow each other."""
    reads, is_empty = 0, ALL
    for operation, argument in items:
        start = _item_start(operation, argument, flags)
        reads |= start.reads & is_empty
        is_empty &= start.is_empty
        if not is_empty:
            break
    return Start(reads, is_empty)


def is_single(operation: Any) -> bool:
    """Return whether an operation reads exactly one character."""
    return operation in _SINGLE


def read_set(operation: Any, argument: Any, flags: int) -> Characters:
    """Return the characters that an operation reads which reads one."""
    if operation is ops.ANY:
        return ALL if flags & re.DOTALL else ALL & ~_BREAK
    if operation is ops.IN:
        found = 0
        for item in argument:
            found |= _set_part(*item)
        is_negated = argument[0][0] is ops.NEGATE
    else:
        found, is_negated = _range(argument, argument), operation is ops.NOT_LITERAL
    found = ALL & ~found if is_negated else found
    return found | _LETTERS if flags & re.IGNORECASE else found


def _item_start(operation: Any, argument: Any, flags: int) -> Start:
    if operation in _SINGLE:
        return Start(read_set(operation, argument, flags), 0)
    if operation in _REPEATS:
        start = sequence_start(argument[2], flags)
        return start if argument[0] else Start(start.reads, ALL)
    if operation is ops.SUBPATTERN:  # flags for a part are rare, and not followed
        return Start(ALL, ALL) if argument[1] or argument[2] else sequence_start(argument[3], flags)
    if operation is ops.BRANCH:
        reads = is_empty = 0
        for branch in argument[1]:
            start = sequence_start(branch, flags)
            reads, is_empty = reads | start.reads, is_empty | start.is_empty
        return Start(reads, is_empty)
    if operation is ops.ATOMIC_GROUP:
        return sequence_start(argument, flags)
    if operation is ops.ASSERT and argument[0] > 0:
        start = sequence_start(argument[1], flags)
        return Start(0, start.reads | start.is_empty)
    if operation in (ops.ASSERT, ops.ASSERT_NOT):
        return Start(0, ALL)
    if operation is ops.AT:  # the end of a text is not at a character, that of a line only at a line break
        return Start(0, 0 if argument is ops.AT_END_STRING else _BREAK if argument is ops.AT_END else ALL)
    return Start(ALL, ALL)


def _set_part(operation: Any, argument: Any) -> Characters:
    if operation is ops.RANGE:
        return _range(*argument)
    if operation is ops.CATEGORY:
        return _CATEGORIES[argument]
    return _range(argument, argument) if operation is ops.LITERAL else 0


def _range(first: int, last: int) -> Characters:
    return (1 << min(last, 127) + 1) - (1 << first) if first < 128 else 0
