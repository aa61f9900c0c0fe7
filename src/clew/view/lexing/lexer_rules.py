"""Run the rules of a Pygments lexer: only those that may match at a character, and many of them as one expression.

Pygments tries the rules of a state one after the other, about twenty for each token; few of them may match at a
given character. Alternatives of one expression are tried in the same order and inside the regex engine, so the tokens are
the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from clew.view.lexing.lexer_rule import Label, Match, Matcher, ParsedRule, Rule, Step, parse_rules
from clew.view.lexing.plain_runs import PlainRuns

if TYPE_CHECKING:
    from pygments.lexer import Lexer, RegexLexer

Group: TypeAlias = "tuple[Callable[[str, int], Match | None], dict[int, Step]]"  # several rules, by their mark
Tried: TypeAlias = "tuple[list[Group], Matcher | None]"
Span: TypeAlias = "tuple[Any, int]"  # label and end

_MAX_SINGLE = 10  # rules that are tried one by one sooner than all of a state together
_MAX_CHARACTERS = 1000  # per state
MIN_PIECES = (
    300  # read with single rules before plain tokens are read at once, because that takes some 20 ms to prepare
)
_SEPARATE = re.compile(r"\\[1-9]|\(\?P|\(\?\(|\(\?[aiLmsux]+\)")  # what refers to groups or flags of its own expression
# A set, or something without its characters, repeated at the end of an expression: names in JavaScript.
_REPEATED_SET = re.compile(r"(\(\?:\(\?:\[(?!\^)(?:\\.|[^\]\\])+\])(\|\\\\[^()|]*\)\)\*\Z)")


class TextChangedError(ValueError):
    """A lexer that leaves out or changes text."""


def combine_rules(lexer: Lexer, label: Label, plain: Any = None) -> RuleScanner | None:
    """Make a lexer use combined rules, and return what runs them; None if it does more than follow its rules.

    Most tokens have the label `plain`, if there is such a one.
    """
    from pygments.lexer import RegexLexer

    if not isinstance(lexer, RegexLexer) or type(lexer).get_tokens_unprocessed is not RegexLexer.get_tokens_unprocessed:
        return None
    lexer.get_tokens_unprocessed = RuleScanner(lexer, lambda kind: kind).scan  # for rules that read a part once more
    return RuleScanner(lexer, label, plain)


class RuleScanner:
    """The combined rules of a lexer by state; a state is combined when it is first reached."""

    def __init__(self, lexer: RegexLexer, label: Label, plain: Any = None) -> None:
        from pygments.token import Error, Whitespace

        self._error, self._space = label(Error), label(Whitespace)
        self._lexer, self._label = lexer, label
        self._rules: dict[str, Sequence[Rule]] = lexer._tokens
        self._parsed: dict[str, list[ParsedRule]] = {}
        self._compiled: dict[str, _RulesByStart] = {}
        self._plain, self._runs = plain, None if plain is None else PlainRuns(self._parse, plain)

    def scan(self, text: str, stack: Sequence[str] = ("root",)) -> Iterator[tuple[int, Any, str]]:
        """Yield the tokens of a text with their positions, as the lexer itself does; those of a kind that meet are one."""
        spans: list[Span] = []
        self.run(text, 0, len(text) + 1, self.state(stack), spans)
        at = 0
        for kind, end in spans:
            yield at, kind, text[at:end]
            at = end

    def run(self, text: str, at: int, stop: int, state: State, spans: list[Span]) -> tuple[int, State, bool]:
        """Append spans up to the first token that ends at `stop` or after it; return its end, the state, and whether all of
        them depend only on the text up to the line break at `stop`. Tokens with the same label that meet are one span.
        """
        is_certain = True
        last: Any = spans.pop()[0] if spans else None  # the label of what ends at `at`
        runs = self._runs if text.isascii() or text[at:stop].isascii() else None
        while at < stop:
            if runs is not None and (match_run := runs[state.name]) and (end := match_run(text, at, stop).end()) > at:
                if last != self._plain:
                    if last is not None:
                        spans.append((last, at))
                    last = self._plain
                at = end
                if at == stop:
                    break
            groups, reach = state.rules[text[at : at + 1]]
            if is_certain and reach is not None and reach(text, at, stop):
                is_certain = False
            for match_rules, steps in groups:
                if match := match_rules(text, at):
                    single, action, label, new_state = steps[match.lastindex or 0]
                    if label is None:
                        if action is not None:
                            last = self._act(text, at, action, single, last, spans)
                    elif label != last:
                        if last is not None:
                            spans.append((last, at))
                        last = label
                    at = match.end()
                    if new_state is not None:
                        state = state.moves.get(new_state) or self._move(state, new_state)
                    break
            else:
                if at >= len(text):
                    break
                label = self._error
                if text[at] == "\n":
                    state, label = state.root, self._space
                if label != last:
                    if last is not None:
                        spans.append((last, at))
                    last = label
                at += 1
        if last is not None:
            spans.append((last, at))
        return at, state, is_certain

    def _parse(self, name: str) -> list[ParsedRule]:
        if name not in self._parsed:
            self._parsed[name] = parse_rules(self._rules[name], self._label)
        return self._parsed[name]

    def _act(self, text: str, at: int, action: Any, single: Matcher, last: Any, spans: list[Span]) -> Any:
        """Append the spans of the tokens that a rule finds in its match, but for the last; return the label of that."""
        match = single(text, at)
        for _, kind, value in action(self._lexer, match):
            if not text.startswith(value, at):
                raise TextChangedError
            label = self._label(kind)
            if label != last:
                if last is not None:
                    spans.append((last, at))
                last = label
            at += len(value)
        if match is None or at != match.end():
            raise TextChangedError
        return last

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
            self._compiled[name] = _RulesByStart(self._parse(name))
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

    def forget(self) -> None:
        """Drop what was found in this state and in those that it leads to.

        They refer to each other in cycles, so they would stay in memory where no garbage is collected, as in an export.
        """
        found, pending = {id(self): self}, [self]
        while pending:
            state = pending.pop()
            for other in (*state.moves.values(), state.below):
                if other is not None and id(other) not in found:
                    found[id(other)] = other
                    pending.append(other)
            state.moves, state.pieces = {}, {}


class _RulesByStart(dict[str, Tried]):
    """What to try at a character: the rules of a state that may match there, and what says that one may read too far."""

    def __init__(self, rules: Sequence[ParsedRule]) -> None:
        super().__init__()
        self._rules = rules

    @cached_property
    def _all(self) -> list[Group]:
        return list(_combine(self._rules))

    def __missing__(self, character: str) -> Tried:
        is_usual = character in "\n\t" or (character.isascii() and character.isprintable())
        bit = 1 << ord(character) if character and is_usual else 0
        rules = [rule for rule in self._rules if rule.starts & bit] if bit else self._rules
        groups = [_join([rule]) for rule in rules] if len(rules) <= _MAX_SINGLE else self._all
        reaches = dict.fromkeys(rule.reach for rule in rules if rule.reach is not None)
        tried = groups, _compile("|".join(reaches)).match if reaches else None
        if len(self) < _MAX_CHARACTERS:
            self[character] = tried
        return tried


@cache
def _compile(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _combine(rules: Sequence[ParsedRule]) -> Iterator[Group]:
    """Yield the rules of a state in groups that one expression matches, in their order.

    An empty group at the end of each alternative says which one matched.
    """
    waiting: list[ParsedRule] = []
    for rule in rules:
        if waiting and not _fit_together(waiting[-1].expression, rule.expression):
            yield _join(waiting)
            waiting = []
        waiting.append(rule)
    if waiting:
        yield _join(waiting)


def _fit_together(first: re.Pattern[str], second: re.Pattern[str]) -> bool:
    is_separate = _SEPARATE.search(first.pattern) or _SEPARATE.search(second.pattern)
    return first.flags == second.flags and not first.flags & re.VERBOSE and not is_separate


def _join(rules: Sequence[ParsedRule]) -> Group:
    if len(rules) == 1:
        expression, step = rules[0].expression, rules[0].step
        text = _read_sets_at_once(expression.pattern)
        quick = expression if text == expression.pattern else re.compile(text, expression.flags)
        return quick.match, dict.fromkeys(range(expression.groups + 1), step)
    marks: dict[int, Step] = {}
    total = 0
    for rule in rules:
        total += rule.expression.groups + 1
        marks[total] = rule.step
    parts = (f"(?:{_read_sets_at_once(rule.expression.pattern)})()" for rule in rules)
    return re.compile("|".join(parts), rules[0].expression.flags & ~re.UNICODE).match, marks


def _read_sets_at_once(pattern: str) -> str:
    """Return an expression that reads the same: by `(?:[a-z]|-)*` each letter is a step, by `(?:[a-z]++|-)*` all are one.

    Nothing may follow: what is read at once is never given back.
    """
    return _REPEATED_SET.sub(r"\1++\2", pattern)
