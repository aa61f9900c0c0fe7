r"""Write a parsed regular expression as text again: the same for text in ASCII, but quicker, and without groups.

    expression_text(parse(re.compile(r"(\w+)(\s*):")))      # [\w]++[\s]*+:

What is repeated gives nothing back where that would be in vain: after `\w+` no colon can stand inside the word. Python's own
expressions try it letter by letter.
"""

from __future__ import annotations

from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any

from clew.view.lexing.regex_start import is_single, read_set, sequence_start
from clew.view.lexing.regex_tree import Items

_CATEGORIES = {
    ops.CATEGORY_DIGIT: r"\d",
    ops.CATEGORY_NOT_DIGIT: r"\D",
    ops.CATEGORY_SPACE: r"\s",
    ops.CATEGORY_NOT_SPACE: r"\S",
    ops.CATEGORY_WORD: r"\w",
    ops.CATEGORY_NOT_WORD: r"\W",
}
_PLACES = {
    ops.AT_BEGINNING: "^",
    ops.AT_BEGINNING_STRING: r"\A",
    ops.AT_BOUNDARY: r"\b",
    ops.AT_NON_BOUNDARY: r"\B",
    ops.AT_END: "$",
}
_WAYS = {ops.MAX_REPEAT: "", ops.MIN_REPEAT: "?", ops.POSSESSIVE_REPEAT: "+"}
_COUNTS = {(0, ops.MAXREPEAT): "*", (1, ops.MAXREPEAT): "+", (0, 1): "?"}


class UnknownExpressionError(ValueError):
    """An expression that refers to groups, has flags for a part, or asks for the end of the text."""


def expression_text(tree: Any) -> str:
    """Return the text of a parsed expression; raises UnknownExpressionError."""
    return _Writer(tree.state.flags).sequence(list(tree), [])


def set_text(item: tuple[Any, Any]) -> str:
    """Return the text of an item of a set."""
    operation, argument = item
    if operation is ops.NEGATE:
        return "^"
    if operation is ops.CATEGORY:
        return _CATEGORIES[argument]
    if operation is ops.RANGE:
        return f"{character_text(argument[0])}-{character_text(argument[1])}"
    return character_text(argument)


def character_text(code: int) -> str:
    character = chr(code)
    return character if character.isascii() and (character.isalnum() or character == "_") else f"\\U{code:08x}"


class _Writer:
    def __init__(self, flags: int) -> None:
        self._flags = flags

    def sequence(self, items: Items, after: Items | None) -> str:
        """Return the text of items. `after` is what follows them in the expression; None if that is not known."""
        return "".join(
            self._item(*item, None if after is None else [*items[index + 1 :], *after])
            for index, item in enumerate(items)
        )

    def _item(self, operation: Any, argument: Any, after: Items | None) -> str:
        if operation is ops.LITERAL:
            return character_text(argument)
        if operation is ops.NOT_LITERAL:
            return f"[^{character_text(argument)}]"
        if operation is ops.IN:
            return _ascii_set(argument)
        if operation is ops.ANY:
            return "."
        if operation in _WAYS:
            return self._repeat(operation, argument, after)
        if operation is ops.SUBPATTERN and not (argument[1] or argument[2]):
            return f"(?:{self.sequence(argument[3], after)})"
        if operation is ops.BRANCH:
            return f"(?:{'|'.join(self.sequence(branch, after) for branch in argument[1])})"
        if operation is ops.ATOMIC_GROUP:
            return f"(?>{self.sequence(argument, None)})"
        if operation is ops.AT and argument in _PLACES:
            return _PLACES[argument]
        if operation in (ops.ASSERT, ops.ASSERT_NOT):
            direction, items = argument
            sign = f"{'' if direction > 0 else '<'}{'=' if operation is ops.ASSERT else '!'}"
            return f"(?{sign}{self.sequence(items, [] if direction > 0 else None)})"
        raise UnknownExpressionError(str(operation))

    def _repeat(self, operation: Any, argument: Any, after: Items | None) -> str:
        least, most, items = argument
        count = _COUNTS.get((least, most)) or f"{{{least},{'' if most is ops.MAXREPEAT else most}}}"
        if operation is ops.MAX_REPEAT and after is not None:
            if len(items) == 1 and is_single(items[0][0]):
                read = read_set(items[0][0], items[0][1], self._flags)
                if self._is_in_vain(read, after):
                    operation = ops.POSSESSIVE_REPEAT
            elif not after and most is ops.MAXREPEAT and (branches := _branches(items)):
                return f"(?:{'|'.join(self._branch(branch, branches) for branch in branches)}){count}"
        text = self.sequence(items, None)
        return f"{text if len(items) == 1 and is_single(items[0][0]) else f'(?:{text})'}{count}{_WAYS[operation]}"

    def _branch(self, branch: Items, branches: list[Items]) -> str:
        """Return one of the ways through repeated items after which nothing follows: a set is read as often as it fits."""
        text = self.sequence(branch, None)
        if len(branch) == 1 and is_single(branch[0][0]):
            others = [other for other in branches if other is not branch]
            read = read_set(branch[0][0], branch[0][1], self._flags)
            if all(self._is_in_vain(read, other) for other in others):
                return f"{text}++"
        return text

    def _is_in_vain(self, read: int, after: Items) -> bool:
        """Return whether what follows cannot match at any of these characters."""
        start = sequence_start(after, self._flags)
        return bool(after) and not read & (start.reads | start.is_empty)


def _ascii_set(items: Items) -> str:
    """Return a set without its characters outside of ASCII, which take long to compile."""
    kept = [
        item
        for item in items
        if item[0] not in (ops.LITERAL, ops.RANGE) or (item[1] if item[0] is ops.LITERAL else item[1][0]) < 128
    ]
    if not kept:
        return "(?!)"
    return r"[\s\S]" if kept == [(ops.NEGATE, None)] else f"[{''.join(map(set_text, kept))}]"


def _branches(items: Items) -> list[Items]:
    """Return the ways through items that are nothing but alternatives; [] if they are more."""
    while len(items) == 1 and items[0][0] is ops.SUBPATTERN and not (items[0][1][1] or items[0][1][2]):
        items = items[0][1][3]
    return list(items[0][1][1]) if len(items) == 1 and items[0][0] is ops.BRANCH else []
