"""Find sessions that contain every word of a query, but not in one passage."""

from __future__ import annotations

from clew.index.assemble import SessionMatches, group_by_session
from clew.index.fts_match import find_matches, match_counts
from clew.index.loose_queries import ELSEWHERE, OTHER_FORM
from clew.index.query_syntax import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.index.fts_match import MatchList
    from clew.index.index_schema import Shard
    from clew.index.loose_queries import MostWords
    from clew.index.query_syntax import Clause

MATCHES_PER_WORD = 2000  # matches of each word to load, for each kind of text in a shard


class ScatteredMatches:
    """The matches of each clause in one session.

    `shares` says for each piece (shard, id) which clauses it has: 1 for the words as typed, less for other forms.
    `best` has the best score of each clause.
    """

    __slots__ = ("best", "candidate", "shares")

    def __init__(self, session: str) -> None:
        self.candidate = SessionMatches(session)
        self.candidate.grade = "scattered"
        self.shares: dict[tuple[int, int], dict[int, float]] = {}
        self.best: list[float] = []

    def add(self, clause: int, other: SessionMatches, typed: set[tuple[int, int]] | None) -> None:
        """Add the matches of a clause; `typed` are the pieces with the words as typed, None if all are."""
        candidate = self.candidate
        known = {(match.shard, match.file): match for match in candidate.matches}
        best = 0.0
        for match in other.matches:
            existing = known.get((match.shard, match.file))
            new = [hit for hit in match.hits if (match.shard, hit[1]) not in self.shares]
            for score, number in match.hits:
                piece = (match.shard, number)
                share = 1.0 if typed is None or piece in typed else OTHER_FORM
                self.shares.setdefault(piece, {})[clause] = share
                best = max(best, score * share)
            if existing is None:
                candidate.matches.append(match)
            else:
                existing.hits += new
                existing.spoken_hits = min(existing.spoken_hits + match.spoken_hits, len(existing.hits))
        self.best.append(best)
        candidate.agents |= other.agents
        candidate.ended, candidate.messages = other.ended, other.messages

    def score(self, most: MostWords, factor: float) -> SessionMatches:
        """Return the session with the best passage of each word.

        A passage is scored by the words in it and, for half as much, by those elsewhere.
        """
        known: dict[tuple[float, tuple[tuple[int, float], ...]], float] = {}
        best: dict[int, tuple[float, int, int]] = {}
        for match in self.candidate.matches:
            for score, number in match.hits:
                shares = self.shares[match.shard, number]
                key = (score, tuple(shares.items()))
                if key not in known:
                    known[key] = score * factor * most.score(self._with_elsewhere(shares, score))
                hit = (known[key], number, match.shard)
                for clause in shares:
                    best[clause] = max(best.get(clause, hit), hit)
        scores = {(shard, number): score for score, number, shard in best.values()}
        for match in self.candidate.matches:
            match.hits = [
                (scores[match.shard, number], number) for _, number in match.hits if (match.shard, number) in scores
            ]
            match.best = max([score for score, _ in match.hits], default=0.0)
            match.spoken_hits = min(match.spoken_hits, len(match.hits))
        self.candidate.matches = [match for match in self.candidate.matches if match.hits]
        return self.candidate

    def _with_elsewhere(self, shares: dict[int, float], score: float) -> dict[int, float]:
        elsewhere = {number: ELSEWHERE * min(1.0, best / score) for number, best in enumerate(self.best)}
        return {**elsewhere, **shares}


def find_scattered(
    shards: Sequence[Shard], query: Query, typed: Query, without: str | None, now: float
) -> tuple[list[ScatteredMatches], bool]:
    """Return the sessions in which each clause matches somewhere, and whether all matches were read.

    `typed` is the query without other forms.
    """
    excluded = [clause for clause in query.clauses if clause.negated]

    def find(clause: Clause) -> MatchList:
        single = Query(query.text, [clause, *excluded], query.filters)
        return find_matches(shards, single, MATCHES_PER_WORD, now, weighed=False)

    if not all(any(count for _, count in match_counts(shards, clause.match, 1)) for clause in query.positive_clauses):
        return [], True
    is_complete = True
    common: list[str] | None = None  # sessions with all clauses so far
    found: list[tuple[dict[str, SessionMatches], set[tuple[int, int]] | None]] = []
    for clause, exact in zip(query.positive_clauses, typed.positive_clauses, strict=True):
        matches = find(clause)
        is_complete &= matches.is_complete
        by_session = group_by_session(shards, matches, without)
        common = list(by_session) if common is None else [session for session in common if session in by_session]
        if not common:
            return [], is_complete
        pieces = (
            None if clause is exact else {(match.shard, number) for match in find(exact) for _, number in match.hits}
        )
        found.append((by_session, pieces))
    results = []
    for session in common or ():
        scattered = ScatteredMatches(session)
        for number, (by_session, pieces) in enumerate(found):
            scattered.add(number, by_session[session], pieces)
        results.append(scattered)
    return results, is_complete
