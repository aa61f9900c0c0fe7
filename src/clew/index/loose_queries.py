"""Build looser readings of a query: its clauses get more alternatives, or fewer of them have to match."""

from __future__ import annotations

from math import log2

from clew.index.fts_match import match_counts
from clew.index.query_syntax import Clause, Query, Term
from clew.index.word_forms import ACCENTS, PARTS, endings, fold, humps, identifier_forms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import apsw

MAX_FORMS = 40  # identifiers that contain a word
MAX_REQUIRED = 8  # clauses of a long query that are looked for, the rarest
OTHER_FORM = 0.8  # share of a word that a passage has in another form
ELSEWHERE = 0.5  # share of a word that a passage lacks, but its session has
COMMON = 1000  # matches in a table that are counted


def with_endings(shards: Sequence[apsw.Connection], query: Query) -> Query:
    """Return the query with other endings and accents of each word as alternatives; the same one if there are none."""

    def forms(term: Term) -> list[Term]:
        if len(term.words) != 1 or term.is_prefix:
            return []
        words = [*_known_forms(shards, fold(term.words[0]), ACCENTS), *endings(term.words[0])]
        return [Term(word) for word in dict.fromkeys(words) if word != term.words[0]]

    return _expand(shards, query, query, forms)


def with_parts(shards: Sequence[apsw.Connection], query: Query, original: Query) -> Query:
    """Return the query with identifiers that contain a term of the original one, and other ways to write it."""

    def identifiers(term: Term) -> list[Term]:
        forms = [Term(text, is_prefix) for text, is_prefix in identifier_forms(term.text, term.words)]
        if len(term.words) != 1 or term.is_prefix:
            return forms
        word = term.words[0]
        part = max(humps(term.text), key=len) if term.text.isalnum() else word
        return forms + [Term(name) for name in _known_forms(shards, part, PARTS, word) if name != word]

    return _expand(shards, query, original, identifiers)


def _known_forms(shards: Sequence[apsw.Connection], key: str, kind: int, within: str = "") -> list[str]:
    """Return the words of the index that can be found by another form, and that contain the text `within`."""
    statement = "SELECT word FROM form WHERE key=? AND kind=? AND instr(word, ?) LIMIT ?"
    return [row[0] for shard in shards for row in shard.execute(statement, (key, kind, within, MAX_FORMS))]


def _expand(
    shards: Sequence[apsw.Connection], query: Query, original: Query, alternatives: Callable[[Term], list[Term]]
) -> Query:
    """Return the query with alternatives for each term of the original one; the same query if there are none."""
    clauses, is_changed = [], False
    for clause, typed in zip(query.clauses, original.clauses, strict=True):
        terms = [] if clause.negated else [t for term in typed.terms if not term.is_quoted for t in alternatives(term)]
        more = _occurring(shards, terms)
        is_changed |= bool(more)
        clauses.append(Clause([*clause.terms, *more]) if more else clause)
    return Query(query.text, clauses, query.filters) if is_changed else query


def _occurring(shards: Sequence[apsw.Connection], terms: list[Term]) -> list[Term]:
    """Return the terms that are in the index. Most are not, so halves of the list are looked up together."""
    if not terms or not any(count for _, count in match_counts(shards, " OR ".join(t.match for t in terms), 1)):
        return []
    middle = len(terms) // 2
    return terms if len(terms) == 1 else _occurring(shards, terms[:middle]) + _occurring(shards, terms[middle:])


class MostWords:
    """Readings of a query in which some words may be missing, and how much of the query a text covers.

    A rare word counts for more than a common one. Words that occur nowhere are not looked for, and of a long query only
    the rarest are. A sequence such as `a/b.py(3)` that occurs nowhere is looked for as single words.
    """

    def __init__(self, shards: Sequence[apsw.Connection], query: Query) -> None:
        clauses = []
        for clause in query.positive_clauses:
            is_lost = len(clause.terms[0].words) > 1 and not clause.terms[0].is_quoted and not _count(shards, clause)
            clauses += [Clause([Term(word)]) for word in clause.terms[0].words] if is_lost else [clause]
        self.excluded = [clause for clause in query.clauses if clause.negated]
        self.query = Query(query.text, [*clauses, *self.excluded], query.filters)
        # Example: "the retry zzz" with counts 900, 40 and 0. "retry" weighs more than "the"; "zzz" occurs nowhere,
        # weighs as much as the average of the others, and is not searched, so that no text covers the whole query.
        counts = [_count(shards, clause) for clause in clauses]
        weights = [log2(1 + 8 * COMMON / count) if count else 0.0 for count in counts]
        occurring = [weight for weight in weights if weight]
        average = sum(occurring) / len(occurring) if occurring else 0.0
        self.weights = [weight or average for weight in weights]
        known = sorted((count, number) for number, count in enumerate(counts) if count)[:MAX_REQUIRED]
        self.clauses = [clauses[number] for number in sorted(number for _, number in known)]
        self.is_reduced = len(self.clauses) < len(clauses)

    def readings(self) -> Iterator[Query]:
        """Yield queries in which more and more words may be missing, at most half of them."""
        count = len(self.clauses)
        for lacking in range(0 if self.is_reduced else 1, max(1, count // 2) + 1):
            if lacking < count:
                yield Query(self.query.text, [*self.clauses, *self.excluded], self.query.filters, may_lack=lacking)

    def covered(self, shares: Mapping[int, float]) -> float:
        """Return how much of the query some clauses are, by weight; each counts by its share."""
        total = sum(self.weights)
        return sum(self.weights[number] * share for number, share in shares.items()) / total if total else 0.0

    def score(self, shares: Mapping[int, float]) -> float:
        """Return the factor for a passage with some clauses. The longer the query, the more a difference says."""
        return float(self.covered(shares) ** (1 + len(self.weights) / 2))


def _count(shards: Sequence[apsw.Connection], clause: Clause) -> int:
    """Return how many passages match a clause, up to a limit for each table."""
    return sum(count for _, count in match_counts(shards, clause.match, COMMON))
