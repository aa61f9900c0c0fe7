"""Scattered words: sessions that hold every word of a query, though no single passage does."""

from __future__ import annotations

from clew.index.assemble import SessionMatches, sessions
from clew.index.fts_match import matches
from clew.index.query_syntax import Clause, Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

LEAST = 2000  # matches of each word that are looked at, of each kind in a shard


def scattered(
    shards: Sequence[apsw.Connection], query: Query, found: dict[str, SessionMatches], without: str | None, now: float
) -> list[SessionMatches]:
    """The sessions in which each clause matches somewhere, those left out that were found already."""
    unwanted = [clause for clause in query.clauses if clause.negated]
    common: dict[str, SessionMatches] | None = None
    for clause in query.wanted:
        here = sessions(shards, matches(shards, _alone(query, clause, unwanted), LEAST, now, weighed=False), without)
        if common is None:
            common = {session: one for session, one in here.items() if session not in found}
        else:
            common = {session: _joined(one, here[session]) for session, one in common.items() if session in here}
        if not common:
            return []
    return list((common or {}).values())


def _alone(query: Query, clause: Clause, unwanted: list[Clause]) -> Query:
    return Query(query.text, [clause, *unwanted], query.filters)


def _joined(one: SessionMatches, other: SessionMatches) -> SessionMatches:
    """The matches of two clauses in one session. Its best passage counts as much as the weaker of the two."""
    known = {(match.shard, match.file): match for match in one.matches}
    weakest = min(max(m.best for m in each.matches) for each in (one, other))
    for match in other.matches:
        mine = known.get((match.shard, match.file))
        if mine is None:
            one.matches.append(match)
        else:
            numbers = {number for _, number in mine.hits}
            mine.hits += [hit for hit in match.hits if hit[1] not in numbers]
            mine.said = min(mine.said + match.said, len(mine.hits))
    for match in one.matches:
        match.best = min(match.best, weakest)
    one.agents |= other.agents
    one.tier = 1
    return one
