"""Run the rules of a Pygments lexer with one regular expression for each state instead of one for each rule.

Pygments tries the rules of a state one after the other, about twenty for each token. Alternatives of one expression are
tried in the same order and inside the regex engine, so the tokens are the same and come several times as fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from clew.view.lexing.regex_reach import reach_text
from clew.view.lexing.regex_start import fitting
from clew.view.lexing.regex_tree import parse

if TYPE_CHECKING:
    from pygments.lexer import Lexer, RegexLexer

Match: TypeAlias = "re.Match[str]"
Matcher: TypeAlias = "Callable[..., Match | None]"  # `match` of an expression
Rule: TypeAlias = "tuple[Callable[[str, int], Match | None], Any, Any]"  # of Pygments: how to match, action, next state
Group: TypeAlias = "tuple[Callable[[str, int], Match | None], dict[int, Rule]]"  # several rules, by their mark
Tried: TypeAlias = "tuple[list[Group], Matcher | None]"

_MAX_SINGLE = 6  # rules that are tried one by one sooner than all of a state together
_MAX_CHARACTERS = 1000  # per state
_SEPARATE = re.compile(r"\\[1-9]|\(\?P|\(\?\(|\(\?[aiLmsux]+\)")  # what refers to groups or flags of its own expression


def combine_rules(lexer: Lexer) -> RuleScanner | None:
    """Make a lexer use combined rules, and return what runs them; None if it does more than follow its rules."""
    from pygments.lexer import RegexLexer

    if not isinstance(lexer, RegexLexer) or type(lexer).get_tokens_unprocessed is not RegexLexer.get_tokens_unprocessed:
        return None
    scanner = RuleScanner(lexer)
    lexer.get_tokens_unprocessed = scanner.scan
    return scanner


class RuleScanner:
    """The combined rules of a lexer by state; a state is combined when it is first reached."""

    def __init__(self, lexer: RegexLexer) -> None:
        from pygments.token import Error, Whitespace, _TokenType

        self._error, self._space, self._token_type = Error, Whitespace, _TokenType
        self._lexer = lexer
        self._rules: dict[str, Sequence[Rule]] = lexer._tokens
        self._compiled: dict[str, _RulesByStart] = {}

    def scan(self, text: str, stack: Sequence[str] = ("root",)) -> Iterator[tuple[int, Any, str]]:
        """Yield the tokens of a text with their positions, as the lexer itself does."""
        tokens: list[tuple[Any, str]] = []
        self.run(text, 0, len(text) + 1, self.state(stack), tokens)
        at = 0
        for kind, value in tokens:
            yield at, kind, value
            at += len(value)

    def run(
        self, text: str, at: int, stop: int, state: State, tokens: list[tuple[Any, str]]
    ) -> tuple[int, State, bool]:
        """Append tokens up to the first that ends at `stop` or after it; return its end, the state, and whether all of them
        depend only on the text up to the line break at `stop`.
        """
        is_certain = True
        add = tokens.append
        while at < stop:
            groups, reach = state.rules[text[at : at + 1]]
            if is_certain and reach is not None and reach(text, at, stop):
                is_certain = False
            for match_rules, rules in groups:
                if match := match_rules(text, at):
                    single, action, new_state = rules[match.lastindex or 0]
                    if type(action) is self._token_type:
                        add((action, match[0]))
                    elif action is not None:
                        tokens += [(kind, value) for _, kind, value in action(self._lexer, single(text, at))]
                    at = match.end()
                    if new_state is not None:
                        state = state.moves.get(new_state) or self._move(state, new_state)
                    break
            else:
                if at >= len(text):
                    break
                if text[at] == "\n":
                    state = state.root
                    add((self._space, "\n"))
                else:
                    add((self._error, text[at]))
                at += 1
        return at, state, is_certain

    def state(self, names: Sequence[str] = ("root",)) -> State:
        """Return a new stack of states. Those that are reached from it stay known as long as it does."""
        state = self._state(names[0], None)
        if names[0] != "root":
            state.root = self._state("root", None)
        for name in names[1:]:
            state = self._state(name, state)
        return state

    def _state(self, name: str, below: State | None) -> State:
        if name not in self._compiled:
            self._compiled[name] = _RulesByStart(self._rules[name])
        return State(name, below, self._compiled[name])

    def _move(self, state: State, new: Any) -> State:
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


class State:
    """A state on the stack of a scan, the states that its rules lead to, and what was found at line breaks in it."""

    __slots__ = ("below", "moves", "name", "pieces", "root", "rules")

    def __init__(self, name: str, below: State | None, rules: _RulesByStart) -> None:
        self.name, self.below, self.rules = name, below, rules
        self.root: State = below.root if below else self
        self.moves: dict[Any, State] = {}
        self.pieces: dict[str, Any] = {}  # for whoever runs the rules: results by text


class _RulesByStart(dict[str, Tried]):
    """What to try at a character: the rules of a state that may match there, and what says that one may read too far."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__()
        self._rules, self._all = rules, list(_combine(rules))
        self._trees = [parse(_expression(rule)) for rule in rules]
        self._reaches = [reach_text(tree) for tree in self._trees]

    def __missing__(self, character: str) -> Tried:
        is_usual = character == "\n" or (character.isascii() and character.isprintable())
        numbers = fitting(self._trees, character) if character and is_usual else range(len(self._rules))
        groups = [_join([self._rules[number]]) for number in numbers] if len(numbers) <= _MAX_SINGLE else self._all
        reaches = dict.fromkeys(reach for number in numbers if (reach := self._reaches[number]) is not None)
        tried = groups, _compile("|".join(reaches)).match if reaches else None
        if len(self) < _MAX_CHARACTERS:
            self[character] = tried
        return tried


@cache
def _compile(text: str) -> re.Pattern[str]:
    return re.compile(text)


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
