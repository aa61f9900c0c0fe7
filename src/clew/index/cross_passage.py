"""Find sessions that contain every word of a query, but not in one passage."""

from __future__ import annotations

from clew.index.assemble import SessionMatches, group_by_session
from clew.index.fts_match import find_matches
from clew.index.query_syntax import Clause, Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

MATCHES_PER_WORD = 2000  # matches of each word to load, for each kind of text in a shard


def find_scattered(
    shards: Sequence[apsw.Connection], query: Query, without: str | None, now: float
) -> tuple[list[SessionMatches], bool]:
    """Return the sessions in which each clause matches somewhere, and whether all matches were read."""
    is_complete = True
    excluded = [clause for clause in query.clauses if clause.negated]
    common: dict[str, SessionMatches] | None = None
    for clause in query.positive_clauses:
        clause_query = _query_with_clause(query, clause, excluded)
        matches = find_matches(shards, clause_query, MATCHES_PER_WORD, now, weighed=False)
        is_complete &= matches.is_complete
        by_session = group_by_session(shards, matches, without)
        if common is None:
            common = by_session
        else:
            common = {
                session: _merge_matches(candidate, by_session[session])
                for session, candidate in common.items()
                if session in by_session
            }
        if not common:
            break
    return list((common or {}).values()), is_complete


def _query_with_clause(query: Query, clause: Clause, excluded: list[Clause]) -> Query:
    return Query(query.text, [clause, *excluded], query.filters)


def _merge_matches(one: SessionMatches, other: SessionMatches) -> SessionMatches:
    """Merge the matches of two clauses in one session. Its best passage scores as much as the weaker of the two."""
    known = {(match.shard, match.file): match for match in one.matches}
    weakest = min(max(m.best for m in side.matches) for side in (one, other))
    for match in other.matches:
        existing = known.get((match.shard, match.file))
        if existing is None:
            one.matches.append(match)
        else:
            numbers = {number for _, number in existing.hits}
            existing.hits += [hit for hit in match.hits if hit[1] not in numbers]
            existing.spoken_hits = min(existing.spoken_hits + match.spoken_hits, len(existing.hits))
    for match in one.matches:
        match.best = min(match.best, weakest)
    one.agents |= other.agents
    one.grade = "scattered"
    return one
