"""Find out whether a regular expression may read past the end of a piece of text that a line break follows.

    reach = re.compile(reach_text(parse(re.compile(r"/[*](.|\\n)*?[*]/"))))
    reach.match("x /* y", 2, 6)         # a match: a comment that starts at 2 may go on after the line
    reach.match("x /* y */", 2, 9)      # None: whatever follows the line break, the expression does not read it
    reach_text(parse(re.compile(r"//.*")))      # None: it never does

None is certain; a match is not. Every way through an expression is followed to where it would read the line break, and
what an expression demands without reading on, such as the start of a word, is taken as given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any

from clew.view.lexing.regex_text import character_text, set_text
from clew.view.lexing.regex_tree import Items

_ALWAYS = ""
_END = r"\Z"  # of the piece, since a match is told to stop there
_ANYTHING = r"[\s\S]*"
_WITH_BREAK = (ops.CATEGORY_NOT_DIGIT, ops.CATEGORY_SPACE, ops.CATEGORY_NOT_WORD)
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_LETTERS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}


def reach_text(tree: Any) -> str | None:
    """Return the text of an expression that matches from where a parsed one may read past the end; None if it never does."""
    text = _Reach(tree.state.flags).sequence(tree)
    if text is None:
        return None
    read = _characters(tree)  # one other character up to the end, and there is no way: said sooner than by trying all
    guard = "" if not read else f"(?=[{''.join(dict.fromkeys(read))}]*+{_END})"
    first = _first_literals(tree)
    return f"(?{_letters(tree.state.flags)}:{f'(?={first})' if first and guard else ''}{guard}{text})"


def _first_literals(items: Items) -> str:
    """Return the characters that everything begins with that an expression matches. None of them is a line break."""
    found = ""
    for operation, argument in items:
        if operation is ops.SUBPATTERN and not (argument[1] or argument[2]):
            return found + _first_literals(argument[3])
        if operation is ops.LITERAL and argument != 10:
            found += character_text(argument)
        elif operation is not ops.AT:
            break
    return found


def _letters(flags: int) -> str:
    return "".join(letter for flag, letter in _LETTERS.items() if flags & flag)


class _Reach:
    """Writes, for a parsed expression, the expression of the ways that lead to the end of the piece."""

    def __init__(self, flags: int) -> None:
        self._flags = flags

    def sequence(self, items: Items, is_last: bool = True) -> str | None:
        """Return the ways to the end through any of these items; None if there is none.

        `is_last` means that the expression has matched when these items have.
        """
        ways: str | None = None
        for index in reversed(range(len(items))):
            rest = items[index + 1 :]
            later = None if ways is None else _text(items[index]) + ways
            ways = _any((self._item(*items[index], rest, is_last), later))
        return ways

    def _item(self, operation: Any, argument: Any, rest: Items, is_last: bool) -> str | None:
        if operation in _REPEATS:
            return self._repeat(operation, argument[2], rest if is_last else None)
        is_last = is_last and not rest
        if operation is ops.SUBPATTERN:  # flags for a part are rare, and not followed
            return _ALWAYS if argument[1] or argument[2] else self.sequence(argument[3], is_last)
        if operation is ops.BRANCH:
            return _any(self.sequence(branch, is_last) for branch in argument[1])
        if operation is ops.ATOMIC_GROUP:
            return self.sequence(argument, is_last)
        if operation in (ops.ASSERT, ops.ASSERT_NOT):
            direction, demanded = argument
            if direction < 0:
                return _ALWAYS if demanded.getwidth()[1] > 1 else None
            return self.sequence(demanded)
        if operation in (ops.GROUPREF, ops.GROUPREF_EXISTS):
            return _ALWAYS if operation is ops.GROUPREF_EXISTS else _ANYTHING + _END
        if operation is ops.AT:  # `$` without MULTILINE reads what follows the line break
            return _END if argument is ops.AT_END and not self._flags & re.MULTILINE else None
        return _END if self._reads_break(operation, argument) else None

    def _repeat(self, operation: Any, items: Items, rest: Items | None) -> str | None:
        """Return the ways through repeated items. Reluctant ones end where the rest of the expression first fits."""
        inner = self.sequence(items, is_last=False)
        if inner is None:
            return None
        stop = ""
        if operation is ops.MIN_REPEAT and rest and all(self._is_plain(*item) for item in rest):
            stop = f"(?!{''.join('$' if item[0] is ops.AT else _text(item) for item in rest)})"
        return f"(?:{stop}{_texts(items)})*{stop}{inner}"

    def _is_plain(self, operation: Any, argument: Any) -> bool:
        """Return whether an item fits what it reads, whatever follows."""
        if operation is ops.AT:
            return argument is ops.AT_END and bool(self._flags & re.MULTILINE)
        return operation in (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY)

    def _reads_break(self, operation: Any, argument: Any) -> bool:
        if operation is ops.LITERAL:
            return bool(argument == 10)
        if operation is ops.NOT_LITERAL:
            return bool(argument != 10)
        if operation is ops.IN:
            return _set_has_break(argument)
        return operation is not ops.ANY or bool(self._flags & re.DOTALL)


def _set_has_break(items: Items) -> bool:
    is_negated = items[0][0] is ops.NEGATE
    has_break = any(
        (operation is ops.LITERAL and argument == 10)
        or (operation is ops.RANGE and argument[0] <= 10 <= argument[1])
        or (operation is ops.CATEGORY and argument in _WITH_BREAK)
        for operation, argument in items
    )
    return has_break is not is_negated


def _characters(items: Items) -> list[str] | None:
    """Return the parts of a set of all characters that items read; None if that may be any, or if it is not known."""
    found: list[str] = []
    for operation, argument in items:
        read: list[str] | None = None
        if operation is ops.LITERAL:
            read = [character_text(argument)]
        elif operation is ops.IN and argument[0][0] is not ops.NEGATE:
            read = [set_text(item) for item in argument]
        elif operation in _REPEATS:
            read = _characters(argument[2])
        elif operation is ops.SUBPATTERN and not (argument[1] or argument[2]):
            read = _characters(argument[3])
        elif operation is ops.BRANCH:
            read = _characters([item for branch in argument[1] for item in branch])
        elif operation is ops.AT:
            read = []
        elif operation in (ops.ASSERT, ops.ASSERT_NOT) and argument[0] > 0:
            read = _characters(argument[1])
        if read is None:
            return None
        found += read
    return found


def _any(ways: Iterable[str | None]) -> str | None:
    found = [way for way in ways if way is not None]
    if not found:
        return None
    return _ALWAYS if _ALWAYS in found else found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"


# -- an expression as text again, without what it only demands


def _texts(items: Items) -> str:
    return "".join(map(_text, items))


def _text(item: tuple[Any, Any]) -> str:
    operation, argument = item
    if operation is ops.LITERAL:
        return character_text(argument)
    if operation is ops.NOT_LITERAL:
        return f"[^{character_text(argument)}]"
    if operation is ops.IN:
        return f"[{''.join(map(set_text, argument))}]"
    if operation is ops.ANY:
        return "."
    if operation in _REPEATS:
        least, most, items = argument
        return f"(?:{_texts(items)}){{{least},{'' if most is ops.MAXREPEAT else most}}}"
    if operation is ops.SUBPATTERN:
        return f"(?:{_texts(argument[3])})" if not (argument[1] or argument[2]) else _ANYTHING
    if operation is ops.BRANCH:
        return f"(?:{'|'.join(map(_texts, argument[1]))})"
    if operation is ops.ATOMIC_GROUP:
        return f"(?:{_texts(argument)})"
    return "" if operation in (ops.AT, ops.ASSERT, ops.ASSERT_NOT) else _ANYTHING
