r"""Find where the next token with a colour may begin: one expression reads all plain tokens up to there.

Half of the tokens of code are plain: spaces, names, brackets. Each takes a step of Python that tries some rules. The
expression of a state tries the same rules in the same order for one token after the other:

    (?: (?!rule that colours) (?>plain rule) | … )*

It stops before anything that is not plain, may depend on what follows the line, or leads to another state, unless that
state only reads plain tokens and then ends. The rules then go on from there. It is for text in ASCII, up to the end of a
line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any, NamedTuple, TypeAlias, cast

from clew.view.lexing.lexer_rule import ParsedRule
from clew.view.lexing.regex_start import Characters
from clew.view.lexing.regex_text import UnknownExpressionError, expression_text
from clew.view.lexing.regex_tree import Items

Run: TypeAlias = "Callable[[str, int, int], re.Match[str]]"  # always matches, if only nothing

MIN_VISITS = 2000  # of a state before it gets such an expression, which takes some 10 ms to prepare
_MAX_WORDS = 500
_WORDS: Characters = sum(1 << code for code in range(128) if chr(code).isalpha() or code == ord("_"))
_SPACES: Characters = sum(1 << ord(character) for character in "\t\n ")
_SIGNS = "()[]{}.,:;=<>+-*/%&|!?^~@#$\\'\"`"


class _PlainRule(NamedTuple):
    """A rule as text. `kind` is "stay" for a plain token, "push" for one that leads to the state `next`, "pop" for the end
    of a state without a token, and "other".
    """

    kind: str
    text: str
    words: Sequence[str]
    rule: ParsedRule
    next: str


class PlainRuns(dict[str, "Run | None"]):
    """By state: what matches plain tokens from a place to the end of a line; None if there are none."""

    def __init__(self, rules: Callable[[str], Sequence[ParsedRule]], plain: Any) -> None:
        super().__init__()
        self._rules, self._plain = rules, plain
        self._visits: dict[str, int] = {}

    def __missing__(self, name: str) -> Run | None:
        visits = self._visits[name] = self._visits.get(name, 0) + 1
        if visits <= MIN_VISITS:
            return None
        found = self[name] = self._compile(name)
        return found

    def _compile(self, name: str) -> Run | None:
        flags = self._flags(name)
        try:
            text = "|".join(self._steps(name)) if len(flags) == 1 else ""
        except UnknownExpressionError:
            return None
        return cast("Run", re.compile(f"(?:{text})*", flags.pop() & ~re.UNICODE).match) if text else None

    def _flags(self, name: str) -> set[int]:
        return {rule.expression.flags & ~re.VERBOSE for rule in self._rules(name) if rule.expression.pattern}

    def _state(self, name: str) -> list[_PlainRule]:
        """Return the rules of a state; raises UnknownExpressionError if one of them cannot be part of another expression."""
        return [self._rule(rule) for rule in self._rules(name)]

    def _rule(self, rule: ParsedRule) -> _PlainRule:
        _, action, label, new = rule.step
        text = expression_text(rule.tree)
        if rule.expression.flags & re.IGNORECASE and not rule.expression.pattern.isascii():
            raise UnknownExpressionError("a letter of ASCII may be another one in lower case")
        kind, following = "other", ""
        if label == self._plain and rule.tree.getwidth()[0]:
            if new is None:
                kind = "stay"
            elif isinstance(new, tuple) and len(new) == 1 and not new[0].startswith("#"):
                kind, following = "push", new[0]
        elif action is None and not text and new == -1:
            kind = "pop"
        return _PlainRule(kind, text, _words(rule.tree), rule, following)

    def _steps(self, name: str, is_nested: bool = False) -> list[str]:
        """Return the ways to read a plain token in a state, by what it starts with. Few words lead to another state."""
        rules = self._state(name)
        ways = [("A-Za-z_", self._step([each for each in rules if each.rule.starts & _WORDS], is_nested=True))]
        ways.append((r"\t\n ", self._step([each for each in rules if each.rule.starts & _SPACES], is_nested)))
        signs: dict[tuple[_PlainRule, ...], list[str]] = {}
        for sign in _SIGNS:
            fitting = tuple(each for each in rules if each.rule.starts >> ord(sign) & 1)
            signs.setdefault(fitting, []).append(f"\\{sign}")
        ways += [("".join(some), self._step(fitting, is_nested)) for fitting, some in signs.items()]
        return [f"(?=[{some}]){step}" for some, step in ways if step]

    def _step(self, rules: Sequence[_PlainRule], is_nested: bool) -> str:
        """Return the text that reads what the first of these rules reads that fits, if that is plain."""
        text = ""
        before: list[_PlainRule] = []  # rules that must not fit, in front of the text
        for each in reversed(rules):
            inner: str | None = "" if each.kind == "stay" else None
            if each.kind == "push" and not is_nested:
                inner = self._inner(each)
            if inner is None:
                before.insert(0, each)
                continue
            rest = _none_of(before, ()) + text if text else ""
            before = []
            text = f"(?>{each.text}){inner}"
            if rest:
                text = f"(?:{text}|{f'(?!{each.text})' if inner else ''}{rest})"
            text = _none_of((), [each]) + text
        return _none_of(before, ()) + text if text else ""

    def _inner(self, push: _PlainRule) -> str | None:
        """Return the text that reads the next state to its end, if its tokens are plain; None if it has no such end."""
        if self._flags(push.next) != {push.rule.expression.flags & ~re.VERBOSE}:
            return None
        rules = self._state(push.next)
        kinds = [each.kind for each in rules]
        if "pop" not in kinds:
            return None
        steps = self._steps(push.next, is_nested=True)
        loop = f"(?>{'|'.join(steps)})*" if steps else ""
        return rf"{loop}(?!\Z){_none_of(rules[: kinds.index('pop')], ())}"


def _none_of(others: Iterable[_PlainRule], reaching: Iterable[_PlainRule]) -> str:
    """Return what says that none of some rules fits, and that none of these and others may read past the line."""
    others = list(others)
    words = [word for each in others for word in each.words]
    texts = [_words_text(words)] if words else []
    texts += [each.text for each in others if not each.words]
    texts += [each.rule.reach for each in (*others, *reaching) if each.rule.reach is not None]
    return f"(?!{'|'.join(dict.fromkeys(texts))})" if texts else ""


def _words_text(words: Iterable[str]) -> str:
    """Return what matches one of some words, first by their first letters."""
    ends: dict[str, list[str]] = {}
    for word in sorted(set(words)):
        ends.setdefault(word[0], []).append(word[1:])
    ways = [f"{first}(?:{'|'.join(some)})" for first, some in ends.items()]
    return rf"(?:{'|'.join(ways)})\b"


def _words(tree: Any) -> Sequence[str]:
    r"""Return the words of an expression that is a list of words, such as `\b(if|else)\b`; () if it is anything else."""
    items = list(tree)
    if items[:1] == [(ops.AT, ops.AT_BOUNDARY)]:
        items = items[1:]
    if not items or items[-1] != (ops.AT, ops.AT_BOUNDARY):
        return ()
    words = _expand(items[:-1])
    return words if all(re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) for word in words) else ()


def _expand(items: Items) -> Sequence[str]:
    """Return all texts that items match; () if they match anything else, or too many."""
    found = [""]
    for operation, argument in items:
        more: Sequence[str] = ()
        if operation is ops.LITERAL:
            more = (chr(argument),)
        elif operation is ops.SUBPATTERN and not (argument[1] or argument[2]):
            more = _expand(argument[3])
        elif operation is ops.BRANCH:
            ways = [_expand(branch) for branch in argument[1]]
            more = [word for way in ways for word in way] if all(ways) else ()
        if not more or len(found) * len(more) > _MAX_WORDS:
            return ()
        found = [start + end for start in found for end in more]
    return found
