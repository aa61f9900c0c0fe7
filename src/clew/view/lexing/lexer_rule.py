"""The rules of a Pygments lexer, with what their regular expressions tell: see `regex_start` and `regex_reach`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from clew.view.lexing.regex_reach import reach_text
from clew.view.lexing.regex_start import Characters, start_set
from clew.view.lexing.regex_tree import parse

Match: TypeAlias = "re.Match[str]"
Matcher: TypeAlias = "Callable[..., Match | None]"  # `match` of an expression
Rule: TypeAlias = "tuple[Callable[[str, int], Match | None], Any, Any]"  # of Pygments: how to match, action, next state
Step: TypeAlias = "tuple[Callable[[str, int], Match | None], Any, Any, Any]"  # a rule: match, action, label, next state
Label: TypeAlias = "Callable[[Any], Any]"  # of a kind of token


class ParsedRule(NamedTuple):
    """A rule, its parsed expression, where that may start, and where it may read past a line (None: nowhere)."""

    expression: re.Pattern[str]
    step: Step
    tree: Any
    starts: Characters
    reach: str | None


def parse_rules(rules: Sequence[Rule], label: Label) -> list[ParsedRule]:
    """Return the rules of a state in their order."""
    return [_parse_rule(rule, label) for rule in rules]


def _parse_rule(rule: Rule, label: Label) -> ParsedRule:
    from pygments.token import _TokenType

    match, action, new_state = rule
    expression: re.Pattern[str] = match.__self__  # type: ignore[attr-defined]
    tree = parse(expression)
    step = match, action, label(action) if type(action) is _TokenType else None, new_state
    return ParsedRule(expression, step, tree, start_set(tree), reach_text(tree))
