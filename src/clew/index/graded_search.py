"""Search in grades: exact words first, then looser readings of the same query, ranked by one formula.

Each grade is a query of its own whose clauses have more alternatives, or of which some may be missing. The score of a
passage is multiplied by the factor of its grade, and a session counts with its best grade. An exact match is never
below a looser one in the same place, because the score of a passage is between one half and the whole weight of its
field, and no factor is above one half.

    exact      the words as they were typed
    endings    other endings and irregular forms: rewinding finds rewind; without accents: cafe finds café
    parts      parts of identifiers: gauge finds tideGauge, 1.2.3 finds v1.2.3
    session    the words in one passage, or in the project, branch, titles, tags and pull requests of its session
    most       most of the words in one passage; the result says which are missing
    scattered  all words in one session, but not in one passage; always after the others
    spelling   a word that occurs nowhere is replaced by the most similar one
"""

from __future__ import annotations

from clew.index.assemble import (
    SessionMatches,
    describe_sessions,
    fold_repeats,
    group_by_session,
    rank_sessions,
    recent_sessions,
)
from clew.index.cross_passage import find_scattered
from clew.index.fts_match import find_matches
from clew.index.query_syntax import Clause, Query, Term
from clew.index.results import SearchResults
from clew.index.session_words import is_id, without_session_words
from clew.index.word_forms import ACCENTS, PARTS, endings, fold, identifier_forms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import apsw

FACTORS = {"exact": 1.0, "session": 0.5, "endings": 0.5, "parts": 0.45, "most": 0.4, "spelling": 0.4, "scattered": 0.25}
MAX_PARTS = 40  # identifiers that contain a word
MAX_MOST = 8  # clauses of a query of which some may be missing; the longest words of a longer query
MIN_MOST = 3


def search_graded(
    shards: Sequence[apsw.Connection], query: Query, limit: int, without: str | None, now: float
) -> SearchResults:
    """Return the best sessions for a query in all grades."""
    if is_id(query):
        listed = recent_sessions(shards, _with_id(query), limit, without, now)
        if listed:
            return SearchResults(listed)
    best = _find_in_passages(shards, query, limit, without, now)
    complete = {session: candidate for session, candidate in best.items() if candidate.grade != "most"}
    corrected = None if complete or not query.clauses else _correct_spelling(shards, query, best, (limit, without, now))
    ranked = fold_repeats(shards, rank_sessions(best.values(), now), limit, now)
    if len(ranked) < limit and len(query.positive_clauses) > 1:
        looser = with_endings(shards, query)
        more = find_scattered(shards, looser, best, without, now)
        for candidate in more:
            candidate.query = looser
        if not more and not best:
            _add_grade(shards, best, ("most", _most_words(looser)), (limit, without, now))
        ranked = fold_repeats(shards, rank_sessions([*best.values(), *more], now), limit, now)
    results = SearchResults()
    for candidate in ranked:
        results.extend(describe_sessions(shards, [candidate], candidate.query or query))
    if corrected and not results:  # the corrected words are not in one passage
        results = search_graded(shards, corrected, limit, without, now)
        results.instead = corrected.text
    elif corrected and results[0].grade == "spelling":
        results.instead = corrected.text
    return results


def _with_id(query: Query) -> Query:
    return Query(query.text, [], {**query.filters, "id": [query.clauses[0].terms[0].text.lower()]})


def _find_in_passages(
    shards: Sequence[apsw.Connection], query: Query, limit: int, without: str | None, now: float
) -> dict[str, SessionMatches]:
    """Return the sessions with passages that match a query in any grade, each with its best one."""
    best: dict[str, SessionMatches] = {}
    for grade in _grades(shards, query):
        _add_grade(shards, best, grade, (limit, without, now))
        if grade[0] == "exact" and _is_enough(best, query, limit):
            break
    return best


def _add_grade(
    shards: Sequence[apsw.Connection],
    best: dict[str, SessionMatches],
    grade: tuple[str, Query],
    request: tuple[int, str | None, float],
) -> None:
    """Add the sessions of a grade, given as (name, query). A known session keeps its grade, and the better score."""
    name, query = grade
    limit, without, now = request
    matches = find_matches(shards, query, 10 * limit, now)
    for match in matches:
        match.hits = [(score * FACTORS[name], number) for score, number in match.hits]
        match.best *= FACTORS[name]
    by_session = group_by_session(shards, matches, without)
    rank_sessions(by_session.values(), now)
    for session, candidate in by_session.items():
        tighter = best.get(session)
        candidate.grade, candidate.query = tighter.grade if tighter else name, query
        if tighter is None or candidate.score > tighter.score:
            best[session] = candidate


def _correct_spelling(
    shards: Sequence[apsw.Connection],
    query: Query,
    best: dict[str, SessionMatches],
    request: tuple[int, str | None, float],
) -> Query | None:
    """Add the sessions for the corrected query; return it, or None if no word is mistyped."""
    from clew.index.spelling import correct_query

    corrected = correct_query(shards, query)
    if corrected is not None:
        _add_grade(shards, best, ("spelling", corrected), request)
    return corrected


def _is_enough(exact: dict[str, SessionMatches], query: Query, limit: int) -> bool:
    """Return whether looser grades are not needed: enough sessions have the words in what the user and the model wrote."""
    if not query.positive_clauses:
        return True
    spoken = sum(any(match.spoken_hits for match in candidate.matches) for candidate in exact.values())
    return spoken >= limit


def _grades(shards: Sequence[apsw.Connection], query: Query) -> Iterator[tuple[str, Query]]:
    """Yield the grades of a query, exact first, each with the query that finds it."""
    yield "exact", query
    folded = with_endings(shards, query)
    if folded is not query:
        yield "endings", folded
    with_parts = _expand(folded, query, lambda term: _identifiers(shards, term))
    if with_parts is not folded:
        yield "parts", with_parts
    if len(query.positive_clauses) > 1 and (inside := without_session_words(shards, folded)) is not None:
        yield "session", inside
    if len(query.positive_clauses) >= MIN_MOST:
        yield "most", _most_words(with_parts)


def with_endings(shards: Sequence[apsw.Connection], query: Query) -> Query:
    """Return the query with other endings and accents of each word as alternatives; the same one if there are none."""

    def forms(term: Term) -> list[Term]:
        if len(term.words) != 1 or term.is_prefix:
            return []
        words = [*_known_forms(shards, term.words[0], ACCENTS), *endings(term.words[0])]
        return [Term(word) for word in dict.fromkeys(words) if word != term.words[0]]

    return _expand(query, query, forms)


def _identifiers(shards: Sequence[apsw.Connection], term: Term) -> list[Term]:
    """Return identifiers that contain a term, and other ways to write it."""
    forms = [Term(text, is_prefix) for text, is_prefix in identifier_forms(term.text, term.words)]
    is_word = len(term.words) == 1 and not term.is_prefix
    return forms + [Term(word) for word in (_known_forms(shards, term.words[0], PARTS) if is_word else ())]


def _known_forms(shards: Sequence[apsw.Connection], word: str, kind: int) -> list[str]:
    """Return the words of the index that can be found by another form."""
    statement = "SELECT word FROM form WHERE key=? AND kind=? LIMIT ?"
    return [row[0] for shard in shards for row in shard.execute(statement, (fold(word), kind, MAX_PARTS))]


def _expand(query: Query, original: Query, alternatives: Callable[[Term], list[Term]]) -> Query:
    """Return the query with alternatives for each term of the original one; the same query if there are none."""
    clauses, is_changed = [], False
    for clause, typed in zip(query.clauses, original.clauses, strict=True):
        more = [] if clause.negated else [t for term in typed.terms if not term.is_quoted for t in alternatives(term)]
        is_changed |= bool(more)
        clauses.append(Clause([*clause.terms, *more]) if more else clause)
    return Query(query.text, clauses, query.filters) if is_changed else query


def _most_words(query: Query) -> Query:
    """Return the query with some clauses optional: one of three to five, two of six or seven, three of more."""
    clauses = query.positive_clauses
    if len(clauses) > MAX_MOST:
        clauses = sorted(clauses, key=lambda clause: -len(clause.terms[0].text))[:MAX_MOST]
    excluded = [clause for clause in query.clauses if clause.negated]
    return Query(
        query.text, [*clauses, *excluded], query.filters, may_lack=max(1, len(clauses) // 3 + (len(clauses) > 7))
    )
