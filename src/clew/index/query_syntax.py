"""Parse a search query into terms, clauses and filters.

retry backoff            both words, in one passage or else in one session
    "exact phrase"           words in sequence; code symbols such as foo_bar.baz() are such sequences by themselves
    back*                    words with this prefix (always the last word while it is being typed)
    -word, NOT word          not this word
    a OR b                   either; OR binds more tightly than a space or AND: `a b OR c` is `a AND (b OR c)`
    (a b) OR c               round brackets group words; inside a word, as in foo(), they mean nothing
    project: branch: model: tool: file: role: since: until: in: is: has: id: input: round: tag:
    in:talk                  the conversation of user and model: no tools, no agents; in:all is everything
    in:summary in:meta       summaries of compactions; what the program added (command output, notifications, files)

Every other character is literal. An invalid query raises BadQuery with position and reason. This module must stay
fast to import.
"""

from __future__ import annotations

from clew.errors import BadQuery, quote_input
from clew.index.query_pieces import Piece, split_query
from clew.index.tokenizer import tokenize

# The index stores the position of a field in this list: append new fields, and increase VERSION of the schema otherwise.
SEARCH_FIELDS = ("title", "prompt", "reply", "thinking", "input", "result", "todo", "plan", "summary", "meta")
TALK_FIELDS = ("title", "prompt", "reply")  # what `in:talk` stands for; it also excludes agents
ALL_FIELDS = tuple(place for place in SEARCH_FIELDS if place != "thinking")
HIDDEN_FIELDS = frozenset({"thinking", "meta"})  # fields that are searched only if they are named
FIELD_GROUPS = {"talk": TALK_FIELDS, "all": ALL_FIELDS}
_FIELD_FILTERS = frozenset(
    {"in", "role", "tool", "file", "input"}
)  # filters that choose fields, and so replace a default choice
ROLE_FIELDS = {"user": ("prompt",), "assistant": ("reply", "thinking", "input"), "tool": ("input", "result")}
INPUTS = ("ide_selection", "ide_opened_file", "tool_result", "text")
ROUND_KINDS = ("first", "new", "continue", "resume", "result")
COMPLEXITIES = ("high", "medium", "low")
MAX_QUERY = 2000  # characters
MAX_TERMS = 100  # words, phrases and filters in one
MAX_PHRASE = 400  # words; a run of CJK characters is a phrase too
MAX_STARS = 4  # in one filter; each multiplies the work
_ALLOWED_VALUES = {
    "in": (*SEARCH_FIELDS, *FIELD_GROUPS),
    "role": tuple(ROLE_FIELDS),
    "is": ("error", "agent"),
    "has": ("agent",),
    "input": INPUTS,
}
_EXAMPLES = {
    "project": "bakery",
    "branch": "main",
    "model": "opus",
    "tool": "Bash",
    "file": "README.md",
    "role": "user",
    "since": "7d",
    "until": "2026-01-31",
    "in": "prompt",
    "is": "error",
    "has": "agent",
    "id": "3f2a9c1e",
    "input": "text",
    "round": "1-3",
    "tag": "money",
}


class Term:
    """Words in sequence; the last one may be a prefix. A quoted term has no other forms."""

    __slots__ = ("is_prefix", "is_quoted", "text", "words")

    def __init__(self, text: str, is_prefix: bool = False, is_quoted: bool = False) -> None:
        self.text = text
        self.words = tuple(tokenize(text))
        self.is_prefix = is_prefix
        self.is_quoted = is_quoted

    @property
    def match(self) -> str:
        """The term in the FTS5 query language; tokenized words contain none of its special characters."""
        return f'"{" ".join(self.words)}"' + ("*" if self.is_prefix else "")


class Clause:
    """Alternative terms of which one must match, or none if the clause is `negated`."""

    __slots__ = ("negated", "terms")

    def __init__(self, terms: list[Term], negated: bool = False) -> None:
        self.terms = terms
        self.negated = negated

    @property
    def match(self) -> str:
        return "(" + " OR ".join(term.match for term in self.terms) + ")"


class Query:
    """Clauses that must all match, except for `may_lack` of them, and filters by name."""

    __slots__ = ("clauses", "filters", "may_lack", "text", "unknown")

    def __init__(self, text: str, clauses: list[Clause], filters: dict[str, list[str]], may_lack: int = 0) -> None:
        self.text = text
        self.clauses = clauses
        self.filters = filters
        self.may_lack = may_lack
        self.unknown: list[str] = []  # names before a colon that look like filters and are not

    @property
    def positive_clauses(self) -> list[Clause]:
        return [clause for clause in self.clauses if not clause.negated]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields to search: those named by in: and role:, else all but thinking and meta."""
        values_of = self.filters.get
        named = set(values_of("in", ())) or set(SEARCH_FIELDS)
        by_role = {field for role in values_of("role", ()) for field in ROLE_FIELDS[role]}
        excluded = {field for role in values_of("-role", ()) for field in ROLE_FIELDS[role]} | set(values_of("-in", ()))
        if not by_role and "in" not in self.filters:
            excluded |= HIDDEN_FIELDS
        return tuple(field for field in SEARCH_FIELDS if field in named & (by_role or named) - excluded)

    @property
    def filters_passages(self) -> bool:
        """Whether the filters select passages, and not only sessions."""
        return any(name.lstrip("-") in ("tool", "file", "role", "in", "is", "input", "round") for name in self.filters)

    @property
    def has_prefix(self) -> bool:
        """Whether a term is a prefix."""
        return any(term.is_prefix for term in self.terms)

    @property
    def match(self) -> str:
        """All clauses in the FTS5 query language."""
        positive = _match_most([clause.match for clause in self.positive_clauses], self.may_lack)
        negative = " OR ".join(clause.match for clause in self.clauses if clause.negated)
        return f"({positive}) NOT ({negative})" if negative and positive else positive

    @property
    def terms(self) -> list[Term]:
        """The terms to mark in a snippet."""
        return [term for clause in self.positive_clauses for term in clause.terms]

    def with_default(self, default: Query) -> Query:
        """Return this query with the filters of a default query that it does not set itself."""
        names = {name.lstrip("-") for name in self.filters}
        is_choosing = bool(names & _FIELD_FILTERS) or "error" in self.filters.get("is", ())
        added = {
            name: values
            for name, values in default.filters.items()
            if name.lstrip("-") not in names and not (is_choosing and name.lstrip("-") in ("in", "role", "is"))
        }
        return Query(self.text, self.clauses, {**added, **self.filters}) if added else self


def _match_most(clauses: list[str], may_lack: int) -> str:
    """Return an expression for all clauses but `may_lack`; "" if none has to match.

    It splits the clauses in two halves and shares what may be lacking among them, so it grows slowly:
    one of a, b, c, d may be missing: (a AND b AND (c OR d)) OR ((a OR b) AND c AND d).
    """
    if may_lack <= 0:
        return " AND ".join(clauses)
    if may_lack >= len(clauses):
        return ""
    if may_lack == len(clauses) - 1:
        return "(" + " OR ".join(clauses) + ")"
    middle = len(clauses) // 2
    alternatives = []
    for left in range(may_lack + 1):
        halves = (_match_most(clauses[:middle], left), _match_most(clauses[middle:], may_lack - left))
        alternatives.append(" AND ".join(half for half in halves if half))
    return "((" + ") OR (".join(alternatives) + "))"


_SHORTER = "search for a part of it"


def parse_query(text: str, *, typing: bool = False) -> Query:
    """Parse a query. With `typing` it may be incomplete, and its last word is a prefix. Raises BadQuery."""
    if len(text) > MAX_QUERY:
        raise BadQuery(
            text, MAX_QUERY, f"A query has at most {MAX_QUERY} characters, and this one {len(text)}; {_SHORTER}"
        )
    pieces = split_query(text, typing)
    if len(pieces) > MAX_TERMS:
        raise BadQuery(
            text,
            pieces[MAX_TERMS].position,
            f"A query has at most {MAX_TERMS} words, and this one {len(pieces)}; {_SHORTER}",
        )
    parser = _QueryParser(text, pieces, typing)
    clauses = parser.clauses()
    _check_words(text, clauses, parser.filters, parser.empty_position)
    query = Query(text, clauses, parser.filters)
    query.unknown = parser.unknown
    return query


_JOINED_BY_AND = ("since", "until", "is")  # filters of which all values must hold
Alternatives = list[tuple[Term, bool]]  # terms of which one must match, each with whether it is excluded
# Names that people try as filters but that are not, and what they mean
OTHER_NAMES = {
    **dict.fromkeys(("after", "from", "date", "day", "month", "year"), "since:"),
    **dict.fromkeys(("before", "to"), "until:"),
    **dict.fromkeys(("cwd", "dir", "directory", "folder", "repo"), "project:"),
    **dict.fromkeys(("message", "text"), "in:talk"),
    **dict.fromkeys(("author", "type"), "role:"),
    **dict.fromkeys(("pr", "sort"), ""),
    "path": "file:",
    "session": "id:",
    "title": "in:title",
    "prompt": "in:prompt",
    "user": "role:user",
    "agent": "is:agent",
}


class _QueryParser:
    """Turns the parts of a query into clauses.

    An expression is a list of alternatives that must all match, each a list of (term, whether it is excluded):
    `(a b) OR c` is `(a OR c) AND (b OR c)`, so [[a, c], [b, c]].
    """

    def __init__(self, text: str, pieces: list[Piece], typing: bool) -> None:
        self.text, self.pieces, self.typing = text, pieces, typing
        self.at = 0
        self.is_inverted = False  # inside of NOT
        self.filters: dict[str, list[str]] = {}
        self.unknown: list[str] = []
        self.empty_position: int | None = None

    def clauses(self) -> list[Clause]:
        clauses = []
        for alternatives in self._sequence():
            excluded = [is_excluded for _, is_excluded in alternatives]
            if len(alternatives) > 1 and any(excluded):
                raise BadQuery(self.text, 0, "OR takes no excluded words; search for them separately")
            clauses.append(Clause([term for term, _ in alternatives], excluded[0]))
        return clauses

    def _sequence(self) -> list[Alternatives]:
        """Read expressions up to a closing bracket or the end: all of them must match."""
        together: list[Alternatives] = []
        last = 0  # where the expression before an OR begins
        while self.at < len(self.pieces) and self.pieces[self.at].operator != ")":
            operator = self.pieces[self.at].operator
            if operator in ("OR", "AND"):
                self._check_sides()
                self.at += 1
            following = self._factor()
            if operator == "OR" and together and following:
                together[last:] = [one + other for one in together[last:] for other in following]
                if len(together) > MAX_TERMS:
                    raise BadQuery(self.text, 0, f"The brackets stand for too many combinations; {_SHORTER}")
            else:
                last = len(together)
                together += following
        return together

    def _check_sides(self) -> None:
        """Raise BadQuery unless AND or OR stands between two things that it can join."""
        piece = self.pieces[self.at]
        left = self.pieces[self.at - 1] if self.at else None
        right = self.pieces[self.at + 1] if self.at + 1 < len(self.pieces) else None
        if right is None and self.typing:
            return
        if left is None or left.operator not in ("", ")") or right is None or right.operator not in ("", "(", "NOT"):
            raise BadQuery(self.text, piece.position, f"{piece.operator} needs a word on both sides")
        is_same = left.name == right.name and not left.negated and not right.negated and left.name not in _JOINED_BY_AND
        if piece.operator == "OR" and (left.name or right.name) and not is_same:
            reason = (
                "OR joins words, or values of one filter such as project:a OR project:b; search for them separately"
            )
            raise BadQuery(self.text, piece.position, reason)

    def _factor(self) -> list[Alternatives]:
        """Read one word, phrase, filter or group, which may be excluded."""
        if self.at >= len(self.pieces):
            return []
        piece = self.pieces[self.at]
        self.at += 1
        if piece.operator == "NOT":
            if self.at >= len(self.pieces) and not self.typing:
                raise BadQuery(self.text, piece.position, "NOT needs a word after it")
            self.is_inverted = not self.is_inverted
            inverted = self._exclude(self._factor(), piece.position)
            self.is_inverted = not self.is_inverted
            return inverted
        if piece.operator == "(":
            self.is_inverted ^= piece.negated
            group = self._sequence()
            self.is_inverted ^= piece.negated
            self.at += 1  # the closing bracket
            if not group and self.empty_position is None:
                self.empty_position = piece.position
            return self._exclude(group, piece.position) if piece.negated else group
        is_last = self.at == len(self.pieces)
        if piece.name:
            if piece.value or not (self.typing and is_last):
                _add_filter(self.filters, self.text, piece, piece.negated != self.is_inverted)
            return []
        return self._term(piece, is_last)

    def _term(self, piece: Piece, is_last: bool) -> list[Alternatives]:
        value, quoted = piece.value, piece.quoted
        is_growing = (
            self.typing and is_last and not self.text[-1:].isspace() and not (quoted and self.text.endswith('"'))
        )
        term = Term(value.rstrip("*"), is_growing or (not quoted and value.endswith("*")), quoted)
        if len(term.words) > MAX_PHRASE:
            raise BadQuery(self.text, piece.position, f"A phrase has at most {MAX_PHRASE} words; {_SHORTER}")
        name, colon, rest = value.partition(":")
        if not quoted and colon and rest and name.lower() in OTHER_NAMES:
            self.unknown.append(name.lower())
        if not term.words:
            self.empty_position = piece.position if self.empty_position is None else self.empty_position
            return []
        return [[(term, piece.negated)]]

    def _exclude(self, group: list[Alternatives], position: int) -> list[Alternatives]:
        """Negate a group: NOT (a OR b) is NOT a AND NOT b."""
        if len(group) > 1:
            raise BadQuery(self.text, position, "NOT takes one word or words joined by OR")
        return [[(term, not is_excluded)] for alternatives in group for term, is_excluded in alternatives]


def _check_words(text: str, clauses: list[Clause], filters: dict[str, list[str]], empty_position: int | None) -> None:
    if clauses and all(clause.negated for clause in clauses):
        raise BadQuery(text, 0, "A query needs at least one word that is not excluded")
    if empty_position is not None and not clauses and not filters:
        raise BadQuery(text, empty_position, "The query has no letters or digits", hint="Try --substring or --regex.")


def _add_filter(filters: dict[str, list[str]], text: str, piece: Piece, negated: bool) -> None:
    position, name, value = piece.position, piece.name, piece.value
    if not value.strip(",|()"):
        raise BadQuery(text, position, f"{name}: needs a value, such as {name}:{_EXAMPLES[name]}; or leave it out")
    if value.count("*") > MAX_STARS:
        raise BadQuery(text, position, f"{name}: takes at most {MAX_STARS} stars")
    if name in ("since", "until"):
        _check_time(text, position, name, value, negated)
    is_choice = name in _ALLOWED_VALUES or name == "round"
    values = [value]
    if is_choice:
        values = value.lower().strip("()").replace("|", ",").split(",")
    elif not piece.quoted and name not in ("since", "until"):
        values = value.split(",")
    for item in filter(None, values):
        if name == "round" and not is_round_value(item):
            choices = ", ".join((*ROUND_KINDS, *COMPLEXITIES))
            raise BadQuery(text, position, f"round: takes a number, a range such as 3-7, or one of {choices}")
        if name in _ALLOWED_VALUES and item not in _ALLOWED_VALUES[name]:
            raise BadQuery(text, position, f"{name}: takes {', '.join(_ALLOWED_VALUES[name])}")
        filters.setdefault(f"-{name}" if negated else name, []).extend(FIELD_GROUPS.get(item, (item,)))
        if item == "talk" and not negated:
            filters.setdefault("-is", []).append("agent")


def _check_time(text: str, position: int, name: str, value: str, negated: bool) -> None:
    from clew.wire.timestamps import parse_user_time

    if negated:
        raise BadQuery(text, position, f"{name}: cannot be negated; use the other one")
    try:
        parse_user_time(value).timestamp()
    except (ValueError, OverflowError, OSError):
        raise BadQuery(
            text,
            position,
            f'{name}: takes 7d, 2w, yesterday, "last week", october, 2026-01-31 or 2026-01-31T12:00,'
            f" not {quote_input(value, 40)}",
        ) from None


def is_round_value(value: str) -> bool:
    """Return whether a value of `round:` is a kind, a complexity, a number or a range."""
    return value in ROUND_KINDS or value in COMPLEXITIES or round_range(value) is not None


def round_range(value: str) -> tuple[int, int] | None:
    """Return the first and the last round of `3`, `3-7`, `3-` or `-7`; None for other values."""
    first, dash, last = value.partition("-")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in (first, last) if part):
        return None
    if not first and not last:
        return None
    start = int(first or 1)
    return start, int(last) if last else 2**31 if dash else start
