"""Run the rules of a Pygments lexer with one regular expression for each state instead of one for each rule.

Pygments tries the rules of a state one after the other, about twenty for each token. Alternatives of one expression are
tried in the same order and inside the regex engine, so the tokens are the same and come several times as fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pygments.lexer import Lexer, RegexLexer

Match: TypeAlias = "re.Match[str]"
Rule: TypeAlias = "tuple[Callable[[str, int], Match | None], Any, Any]"  # of Pygments: how to match, action, next state
Group: TypeAlias = "tuple[Callable[[str, int], Match | None], dict[int, Rule]]"  # several rules, by their mark

_SEPARATE = re.compile(r"\\[1-9]|\(\?P|\(\?\(|\(\?[aiLmsux]+\)")  # what refers to groups or flags of its own expression


def combine_rules(lexer: Lexer) -> Lexer:
    """Make a lexer use combined rules, if it is one that only follows the rules of its class; return it."""
    from pygments.lexer import RegexLexer

    if isinstance(lexer, RegexLexer) and type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed:
        scanner = _Scanner(lexer)
        lexer.get_tokens_unprocessed = scanner.scan
    return lexer


class _Scanner:
    """The combined rules of a lexer by state; a state is combined when it is first reached."""

    def __init__(self, lexer: RegexLexer) -> None:
        self._lexer = lexer
        self._rules: dict[str, Sequence[Rule]] = lexer._tokens
        self._groups: dict[str, list[Group]] = {}

    def scan(self, text: str, stack: Sequence[str] = ("root",)) -> Iterator[tuple[int, Any, str]]:
        """Yield the tokens of a text with their positions, as the lexer itself does."""
        from pygments.token import Error, Whitespace, _TokenType

        state, at = self._stack(stack), 0
        while True:
            for match_rules, rules in state.groups:
                if match := match_rules(text, at):
                    single, action, new_state = rules[match.lastindex or 0]
                    if type(action) is _TokenType:
                        yield at, action, match[0]
                    elif action is not None:
                        yield from action(self._lexer, single(text, at))
                    at = match.end()
                    if new_state is not None:
                        state = state.moves.get(new_state) or self._move(state, new_state)
                    break
            else:
                if at >= len(text):
                    return
                if text[at] == "\n":
                    state = self._stack(("root",))
                    yield at, Whitespace, "\n"
                else:
                    yield at, Error, text[at]
                at += 1

    def _stack(self, names: Sequence[str]) -> _State:
        state = self._state(names[0], None)
        for name in names[1:]:
            state = self._state(name, state)
        return state

    def _state(self, name: str, below: _State | None) -> _State:
        if name not in self._groups:
            self._groups[name] = list(_combine(self._rules[name]))
        return _State(name, below, self._groups[name])

    def _move(self, state: _State, new: Any) -> _State:
        """Return the state that a rule leads to: by names, `#push`, `#pop` or a negative number. The lowest one stays."""
        start = state
        if isinstance(new, int):
            for _ in range(abs(new)):
                state = state.below or state
        else:
            for name in new if isinstance(new, tuple) else (new,):
                if name == "#pop":
                    state = state.below or state
                else:
                    state = self._state(state.name if name == "#push" else name, state)
        start.moves[new] = state
        return state


class _State:
    """A state on the stack of a scan, and the states that its rules lead to."""

    __slots__ = ("below", "groups", "moves", "name")

    def __init__(self, name: str, below: _State | None, groups: list[Group]) -> None:
        self.name, self.below, self.groups = name, below, groups
        self.moves: dict[Any, _State] = {}


def _combine(rules: Sequence[Rule]) -> Iterator[Group]:
    """Yield the rules of a state in groups that one expression matches, in their order.

    An empty group at the end of each alternative says which one matched.
    """
    waiting: list[Rule] = []
    for rule in rules:
        if waiting and not _fit_together(waiting[-1], rule):
            yield _join(waiting)
            waiting = []
        waiting.append(rule)
    if waiting:
        yield _join(waiting)


def _fit_together(one: Rule, other: Rule) -> bool:
    first, second = _expression(one), _expression(other)
    is_separate = _SEPARATE.search(first.pattern) or _SEPARATE.search(second.pattern)
    return first.flags == second.flags and not first.flags & re.VERBOSE and not is_separate


def _join(rules: list[Rule]) -> Group:
    if len(rules) == 1:
        expression = _expression(rules[0])
        return expression.match, dict.fromkeys(range(expression.groups + 1), rules[0])
    marks: dict[int, Rule] = {}
    total = 0
    for rule in rules:
        total += _expression(rule).groups + 1
        marks[total] = rule
    parts = (f"(?:{_expression(rule).pattern})()" for rule in rules)
    return re.compile("|".join(parts), _expression(rules[0]).flags & ~re.UNICODE).match, marks


def _expression(rule: Rule) -> re.Pattern[str]:
    expression: re.Pattern[str] = rule[0].__self__  # type: ignore[attr-defined]
    return expression
