"""The query: what a person typed, as a value.

    retry backoff            both words, in one passage or else in one session
    "exact phrase"           words in sequence; code symbols such as foo_bar.baz() are such sequences by themselves
    back*                    words that begin so (the last word always, while it is being typed)
    -word                    not this one          a OR b      either
    project: branch: model: tool: file: role: since: until: in: is: has: id:

Every other character is literal. A query that cannot be understood says where and why. Nothing heavy is imported here.
"""

from __future__ import annotations

from clew.errors import BadQuery
from clew.index.text import tokens

NAMES = ("project", "branch", "model", "tool", "file", "role", "since", "until", "in", "is", "has", "id")
PLACES = ("title", "prompt", "reply", "thinking", "input", "result")
ROLES = {"user": ("prompt",), "assistant": ("reply", "thinking", "input"), "tool": ("input", "result")}
_CLOSED = {"in": PLACES, "role": tuple(ROLES), "is": ("error", "agent"), "has": ("agent",)}


class Term:
    """Words in sequence; the last may be a beginning."""

    __slots__ = ("is_prefix", "text", "words")

    def __init__(self, text: str, is_prefix: bool = False) -> None:
        self.text = text
        self.words = tuple(tokens(text))
        self.is_prefix = is_prefix

    @property
    def match(self) -> str:
        """The term in the language of the full-text engine; words hold no character that it would read."""
        return f'"{" ".join(self.words)}"' + ("*" if self.is_prefix else "")


class Clause:
    """Terms of which one must be there, or none if it is `negated`."""

    __slots__ = ("negated", "terms")

    def __init__(self, terms: list[Term], negated: bool = False) -> None:
        self.terms = terms
        self.negated = negated

    @property
    def match(self) -> str:
        return "(" + " OR ".join(term.match for term in self.terms) + ")"


class Query:
    """A query: clauses that must all hold, and filters by name."""

    __slots__ = ("clauses", "filters", "text")

    def __init__(self, text: str, clauses: list[Clause], filters: dict[str, list[str]]) -> None:
        self.text = text
        self.clauses = clauses
        self.filters = filters

    @property
    def wanted(self) -> list[Clause]:
        return [clause for clause in self.clauses if not clause.negated]

    @property
    def places(self) -> tuple[str, ...]:
        """The fields that are searched: those named by in: and role:, else all but thinking."""
        named = list(self.filters.get("in", ()))
        named += [place for role in self.filters.get("role", ()) for place in ROLES[role]]
        return tuple(dict.fromkeys(named)) or tuple(place for place in PLACES if place != "thinking")

    @property
    def is_about_pieces(self) -> bool:
        """Whether the filters ask for passages of a kind, and not only for sessions."""
        return any(name.lstrip("-") in ("tool", "file", "role", "in", "is") for name in self.filters)

    @property
    def match(self) -> str:
        """All clauses in the language of the full-text engine."""
        positive = " AND ".join(clause.match for clause in self.wanted)
        negative = " OR ".join(clause.match for clause in self.clauses if clause.negated)
        return f"({positive}) NOT ({negative})" if negative and positive else positive

    @property
    def words(self) -> list[tuple[str, ...]]:
        """The sequences of words to mark in a passage."""
        return [term.words for clause in self.wanted for term in clause.terms]


def parse(text: str, *, typing: bool = False) -> Query:
    """Understand a query. With `typing` its last word may still be a beginning. Raises BadQuery."""
    clauses: list[Clause] = []
    filters: dict[str, list[str]] = {}
    joins = False
    pieces = _cut(text)
    for index, (at, negated, name, value, quoted) in enumerate(pieces):
        if name:
            _filter(filters, text, at, name, value, negated)
            continue
        if value == "OR" and not quoted:
            if not clauses or index + 1 == len(pieces) or pieces[index + 1][2]:
                raise BadQuery(text, at, "OR needs a word on both sides")
            joins = True
            continue
        is_last = typing and index + 1 == len(pieces) and not quoted and not text[-1:].isspace()
        term = Term(value.rstrip("*"), is_last or (not quoted and value.endswith("*")))
        if not term.words:
            if quoted or not value.strip("*-"):
                continue
            raise BadQuery(text, at, "There is no letter or digit to look for; try --substring or --regex")
        if joins and not negated and not clauses[-1].negated:
            clauses[-1].terms.append(term)
        else:
            clauses.append(Clause([term], negated))
        joins = False
    if clauses and all(clause.negated for clause in clauses):
        raise BadQuery(text, 0, "A query needs a word that is to be found, besides those that are not")
    return Query(text, clauses, filters)


def _cut(text: str) -> list[tuple[int, bool, str, str, bool]]:
    """(where, negated, filter's name, value, quoted) for each part of a query."""
    found = []
    at, size = 0, len(text)
    while at < size:
        if text[at].isspace():
            at += 1
            continue
        start = at
        negated = text[at] == "-" and at + 1 < size and not text[at + 1].isspace()
        at += negated
        name = _name(text, at)
        at += len(name) + 1 if name else 0
        value, at, quoted = _value(text, at)
        found.append((start, negated, name, value, quoted))
    return found


def _name(text: str, at: int) -> str:
    return next((name for name in NAMES if text.startswith(name + ":", at)), "")


def _value(text: str, at: int) -> tuple[str, int, bool]:
    if text.startswith('"', at):
        end = text.find('"', at + 1)
        if end < 0:
            raise BadQuery(text, at, "The quotation mark is not closed")
        return text[at + 1 : end], end + 1, True
    end = at
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[at:end], end, False


def _filter(filters: dict[str, list[str]], text: str, at: int, name: str, value: str, negated: bool) -> None:
    if not value:
        raise BadQuery(text, at, f"{name}: needs a value")
    if negated and name in ("since", "until"):
        raise BadQuery(text, at, f"{name}: cannot be turned round; use the other one")
    values = value.strip("()").replace("|", ",").split(",") if name in _CLOSED else [value]
    for each in values:
        if name in _CLOSED and each not in _CLOSED[name]:
            raise BadQuery(text, at, f"{name}: takes {', '.join(_CLOSED[name])}")
        filters.setdefault(f"-{name}" if negated else name, []).append(each)
