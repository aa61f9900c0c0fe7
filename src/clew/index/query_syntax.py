"""The query: what a person typed, as a value.

    retry backoff            both words, in one passage or else in one session
    "exact phrase"           words in sequence; code symbols such as foo_bar.baz() are such sequences by themselves
    back*                    words that begin so (the last word always, while it is being typed)
    -word                    not this one          a OR b      either
    project: branch: model: tool: file: role: since: until: in: is: has: id: input: round:
    in:talk                  what people and the model said to each other: no tools, no agents; in:all is everything

Every other character is literal. A query that cannot be understood says where and why. Nothing heavy is imported here.
"""

from __future__ import annotations

from clew.errors import BadQuery
from clew.index.tokenizer import tokens

NAMES = (
    *("project", "branch", "model", "tool", "file", "role", "since", "until", "in", "is", "has", "id"),
    *("input", "round"),
)
PLACES = ("title", "prompt", "reply", "thinking", "input", "result", "todo", "plan")
TALK = ("title", "prompt", "reply")  # what `in:talk` stands for; agents are left out besides
ALL = tuple(place for place in PLACES if place != "thinking")
GROUPS = {"talk": TALK, "all": ALL}
_CHOOSING = frozenset({"in", "role", "tool", "file", "input"})  # filters that say themselves where to look
ROLES = {"user": ("prompt",), "assistant": ("reply", "thinking", "input"), "tool": ("input", "result")}
INPUTS = ("ide_selection", "ide_opened_file", "tool_result", "text")
ROUND_KINDS = ("first", "new", "continue", "resume", "result")
COMPLEXITIES = ("high", "medium", "low")
LONGEST = 2000  # characters of a query
MOST = 100  # words, phrases and filters in one
LONGEST_PHRASE = 400  # words in one phrase; a run of CJK characters is one too
STARS = 4  # of a filter: each multiplies the work
_CLOSED = {
    "in": (*PLACES, *GROUPS),
    "role": tuple(ROLES),
    "is": ("error", "agent"),
    "has": ("agent",),
    "input": INPUTS,
}


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
        given = self.filters.get
        named = set(given("in", ())) or set(PLACES)
        spoken = {place for role in given("role", ()) for place in ROLES[role]}
        unnamed = {place for role in given("-role", ()) for place in ROLES[role]} | set(given("-in", ()))
        if not spoken and "in" not in self.filters:
            unnamed.add("thinking")
        return tuple(place for place in PLACES if place in named & (spoken or named) - unnamed)

    @property
    def is_about_pieces(self) -> bool:
        """Whether the filters ask for passages of a kind, and not only for sessions."""
        return any(name.lstrip("-") in ("tool", "file", "role", "in", "is", "input", "round") for name in self.filters)

    @property
    def is_growing(self) -> bool:
        """Whether the beginning of a word is looked for."""
        return any(term.is_prefix for term in self.terms)

    @property
    def match(self) -> str:
        """All clauses in the language of the full-text engine."""
        positive = " AND ".join(clause.match for clause in self.wanted)
        negative = " OR ".join(clause.match for clause in self.clauses if clause.negated)
        return f"({positive}) NOT ({negative})" if negative and positive else positive

    @property
    def terms(self) -> list[Term]:
        """The terms to mark in a passage."""
        return [term for clause in self.wanted for term in clause.terms]

    def with_default(self, default: Query) -> Query:
        """With the filters of another query where this one does not choose them itself."""
        names = {name.lstrip("-") for name in self.filters}
        is_choosing = bool(names & _CHOOSING) or "error" in self.filters.get("is", ())
        added = {
            name: values
            for name, values in default.filters.items()
            if name.lstrip("-") not in names and not (is_choosing and name.lstrip("-") in ("in", "role", "is"))
        }
        return Query(self.text, self.clauses, {**added, **self.filters}) if added else self


_SHORTER = "search for a part of it"


def parse(text: str, *, typing: bool = False) -> Query:
    """Understand a query. With `typing` it may still be growing: its last word is a beginning. Raises BadQuery."""
    if len(text) > LONGEST:
        raise BadQuery(text, LONGEST, f"A query has at most {LONGEST} characters, and this one {len(text)}; {_SHORTER}")
    clauses: list[Clause] = []
    filters: dict[str, list[str]] = {}
    joins = False
    empty = None
    pieces = _cut(text, typing)
    if len(pieces) > MOST:
        raise BadQuery(
            text, pieces[MOST][0], f"A query has at most {MOST} words, and this one {len(pieces)}; {_SHORTER}"
        )
    for index, (at, negated, name, value, quoted) in enumerate(pieces):
        is_last = index + 1 == len(pieces)
        if name:
            if value or not (typing and is_last):
                _filter(filters, text, at, name, value, negated)
            continue
        if value == "OR" and not quoted and not negated:
            if (not clauses or is_last or pieces[index + 1][2]) and not (typing and is_last):
                raise BadQuery(text, at, "OR needs a word on both sides")
            joins = True
            continue
        grows = typing and is_last and not text[-1:].isspace() and not (quoted and text.endswith('"'))
        term = Term(value.rstrip("*"), grows or (not quoted and value.endswith("*")))
        if len(term.words) > LONGEST_PHRASE:
            raise BadQuery(text, at, f"A phrase has at most {LONGEST_PHRASE} words; {_SHORTER}")
        if not term.words:
            empty = at if empty is None else empty
        elif joins and not negated and clauses and not clauses[-1].negated:
            clauses[-1].terms.append(term)
        else:
            clauses.append(Clause([term], negated))
        joins = False
    _check(text, clauses, filters, empty)
    return Query(text, clauses, filters)


def _check(text: str, clauses: list[Clause], filters: dict[str, list[str]], empty: int | None) -> None:
    if clauses and all(clause.negated for clause in clauses):
        raise BadQuery(text, 0, "A query needs a word that is to be found, besides those that are not")
    if empty is not None and not clauses and not filters:
        raise BadQuery(text, empty, "There is no letter or digit to look for; try --substring or --regex")


def _cut(text: str, typing: bool) -> list[tuple[int, bool, str, str, bool]]:
    """(where, negated, filter's name, value, quoted) for each part of a query."""
    found = []
    at, size = 0, len(text)
    while at < size:
        if text[at].isspace():
            at += 1
            continue
        start = at
        negated = text[at] == "-" and at + 1 < size and not text[at + 1].isspace() and text[at + 1] != "-"
        at += negated
        name = _name(text, at)
        at += len(name) + 1 if name else 0
        value, at, quoted = _value(text, at, typing)
        found.append((start, negated, name, value, quoted))
    return found


def _name(text: str, at: int) -> str:
    return next((name for name in NAMES if text.startswith(name + ":", at)), "")


def _value(text: str, at: int, typing: bool) -> tuple[str, int, bool]:
    if text.startswith('"', at):
        end = text.find('"', at + 1)
        if end < 0 and not typing:
            raise BadQuery(text, at, "The quotation mark is not closed")
        end = len(text) if end < 0 else end
        return text[at + 1 : end], end + 1, True
    end = at
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[at:end], end, False


def _filter(filters: dict[str, list[str]], text: str, at: int, name: str, value: str, negated: bool) -> None:
    if not value:
        raise BadQuery(text, at, f"{name}: needs a value")
    if value.count("*") > STARS:
        raise BadQuery(text, at, f"{name}: takes at most {STARS} stars")
    if name in ("since", "until"):
        _check_time(text, at, name, value, negated)
    is_list = name in _CLOSED or name == "round"
    values = value.strip("()").replace("|", ",").split(",") if is_list else [value]
    for each in values:
        if name == "round" and not is_round(each):
            words = ", ".join((*ROUND_KINDS, *COMPLEXITIES))
            raise BadQuery(text, at, f"round: takes a number, a range such as 3-7, or one of {words}")
        if name in _CLOSED and each not in _CLOSED[name]:
            raise BadQuery(text, at, f"{name}: takes {', '.join(_CLOSED[name])}")
        filters.setdefault(f"-{name}" if negated else name, []).extend(GROUPS.get(each, (each,)))
        if each == "talk" and not negated:
            filters.setdefault("-is", []).append("agent")


def _check_time(text: str, at: int, name: str, value: str, negated: bool) -> None:
    from clew.wire.timestamps import moment

    if negated:
        raise BadQuery(text, at, f"{name}: cannot be turned round; use the other one")
    try:
        moment(value).timestamp()
    except (ValueError, OverflowError, OSError):
        raise BadQuery(text, at, f"{name}: takes 7d, 2h, yesterday, 2026-01-31 or 2026-01-31T12:00") from None


def is_round(value: str) -> bool:
    """Whether a value of `round:` is a kind, a complexity, a number or a range."""
    return value in ROUND_KINDS or value in COMPLEXITIES or round_range(value) is not None


def round_range(value: str) -> tuple[int, int] | None:
    """The first and the last round of `3`, `3-7`, `3-` or `-7`; None if it is something else."""
    first, dash, last = value.partition("-")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in (first, last) if part):
        return None
    if not first and not last:
        return None
    start = int(first or 1)
    return start, int(last) if last else 2**31 if dash else start
