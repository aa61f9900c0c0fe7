"""Search in grades: exact words first, then looser readings of the same query, ranked by one formula.

Each grade is a query of its own whose clauses have more alternatives, or of which some may be missing. The score of a
passage is multiplied by the factor of its grade, and a session counts with its best grade. An exact match is never
below a looser one in the same place, because the score of a passage is between one half and the whole weight of its
field, and no factor is above one half.

    exact      the words as they were typed
    endings    other endings and irregular forms: rewinding finds rewind; other accents: cafe finds café
    parts      parts of identifiers: gauge finds tideGauge, 1.2.3 finds v1.2.3
    session    some words in the passage, the others in the project, branch, titles or tags of its session
    most       most of the words in one passage, weighed by how rare they are; the result names the missing ones
    scattered  all words in one session, but not in one passage; after every exact match

If no session has all words in any grade above `most`, words that occur nowhere are replaced by the most similar ones
(`SearchResults.instead`).

Most searches are answered by the first grade, so the modules of the others are imported when they are needed.
"""

from __future__ import annotations

from itertools import islice

from clew.index.assemble import (
    SessionMatches,
    best_text,
    describe_sessions,
    fold_repeats,
    group_by_session,
    rank_sessions,
)
from clew.index.fts_match import find_matches
from clew.index.indexed_sessions import count_sessions, recent_sessions
from clew.index.query_syntax import Clause, Query, Term
from clew.index.ranking import sort_by_score
from clew.index.results import SearchResults
from clew.index.session_words import is_id, without_session_words
from clew.index.snippet import find_spans, lower_in_place, smallest_window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.index.index_schema import Shard
    from clew.index.loose_queries import MostWords

FACTORS = {"exact": 1.0, "endings": 0.5, "parts": 0.45, "session": 0.45, "most": 0.4, "scattered": 0.4}
MIN_COVERED = 0.4  # of the words of a query, by weight, that a passage must have
MAX_COUNTED = 100  # sessions; more are not counted
NEAR = 300  # characters that contain all words of a good match
MIN_NEARNESS = 0.25  # factor for words that are far apart, also if there are too many passages to read them
READ_AGAIN = 40  # sessions whose best passage is read, to see which words it has and where


class GradedSearch:
    """One search in all grades; `best` has each session that matches in one passage, with its best grade.

    With a `page_size` the results are the first pages of that size, up to `limit` sessions, and are counted. How deep to
    search depends on the size of a page alone, so that a further page continues the same list.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        query: Query,
        limit: int,
        without: str | None,
        now: float,
        page_size: int | None = None,
    ) -> None:
        self.shards, self.query, self.limit, self.without, self.now = shards, query, limit, without, now
        self.page_size, self.is_counting = page_size or limit, page_size is not None
        self.is_complete = True
        self.best: dict[str, SessionMatches] = {}
        self._folded: Query | None = None
        self._parts: Query | None = None

    def run(self) -> SearchResults:
        """Return the best sessions."""
        if is_id(self.query) and (listed := self._find_by_id()):
            return listed
        for grade, query in self._grades():
            self._add_grade(grade, query)
            if grade == "exact" and self._is_enough():
                break
        if not self.best and self.query.clauses and (corrected := self._search_corrected()):
            return corrected
        ranked = self._rank()
        if not ranked and len(self.query.positive_clauses) == 2:  # one of two words is better than nothing
            from clew.index.loose_queries import MostWords

            self._add_most_words(MostWords(self.shards, self.parts))
            ranked = self._rank()
        if not ranked and (separate := self._search_separate_words()):
            return separate
        results = SearchResults()
        results.total = len(ranked)
        results.is_total_exact = self.is_complete and len(ranked) < self._depth
        results.extend(describe_sessions(self.shards, ranked[: self.limit], self.query))
        return results

    def _find_by_id(self) -> SearchResults:
        asked = self.query.clauses[0].terms[0].text.lower()
        query = Query(self.query.text, [], {**self.query.filters, "id": [asked]})
        results = SearchResults(recent_sessions(self.shards, query, self.limit, self.without, self.now))
        results.total, results.is_total_exact = count_sessions(self.shards, query, self.without), True
        return results

    def _grades(self) -> Iterator[tuple[str, Query]]:
        """Yield the grades in which all words have to match, each with the query that finds it."""
        yield "exact", self.query
        if self.folded is not self.query:
            yield "endings", self.folded
        if self.parts is not self.folded:
            yield "parts", self.parts
        if len(self.query.positive_clauses) > 1:
            inside = without_session_words(self.shards, self.folded)
            if inside is not None:
                yield "session", inside

    def _is_enough(self) -> bool:
        """Return whether enough sessions have all words in one passage of what the user and the model wrote."""
        spoken = (candidate for candidate in self.best.values() if has_spoken(candidate))
        return any(islice(spoken, self.page_size - 1, None)) or not self.query.positive_clauses

    def _add_grade(self, grade: str, query: Query) -> None:
        """Add the sessions of a grade. A known session keeps its grade, and the better score."""
        matches = find_matches(self.shards, query, 10 * self.page_size, self.now)
        self.is_complete &= matches.is_complete
        if grade != "exact":
            for match in matches:
                match.scale(FACTORS[grade])
        by_session = group_by_session(self.shards, matches, self.without)
        for session, candidate in by_session.items():
            candidate.update_score(self.now)
            tighter = self.best.get(session)
            if grade == "most" and tighter is not None and tighter.grade != grade:
                continue  # it has all words
            candidate.grade, candidate.query = tighter.grade if tighter else grade, query
            if tighter is None or candidate.score > tighter.score:
                self.best[session] = candidate

    def _weigh_distances(self) -> None:
        """Lower the score of looser matches whose words are far apart: a long text has many words."""
        candidates = [one for one in self.best.values() if one.grade in ("endings", "parts")]
        for number, candidate in enumerate(rank_sessions(candidates, self.now)):
            nearness = MIN_NEARNESS
            if number < READ_AGAIN:
                query = candidate.query or self.query
                nearness = weigh_distance(best_text(self.shards, candidate, query), query)
            for match in candidate.matches:
                match.scale(nearness)

    def _add_scattered(self, most: MostWords) -> None:
        """Add sessions that have all words in several passages. A known session keeps its grade, and the better score."""
        from clew.index.cross_passage import find_scattered

        scattered, is_complete = find_scattered(self.shards, self.folded, self.query, self.without, self.now)
        self.is_complete &= is_complete
        for found in scattered:
            candidate = found.score(most, FACTORS["scattered"])
            candidate.query = self.folded
            candidate.update_score(self.now)
            tighter = self.best.get(candidate.session)
            if tighter is None or candidate.score > tighter.score:
                candidate.grade = tighter.grade if tighter else candidate.grade
                self.best[candidate.session] = candidate

    def _add_most_words(self, most: MostWords) -> None:
        """Add sessions that lack some words, until there are enough; their score falls with what they lack."""
        candidates: list[SessionMatches] = []
        for query in most.readings():
            before = set(self.best)
            self._add_grade("most", query)
            new = [candidate for session, candidate in self.best.items() if session not in before]
            for candidate in rank_sessions(new, self.now):
                if len(candidates) < READ_AGAIN:
                    candidates.append(candidate)
                else:
                    del self.best[candidate.session]
            if len(candidates) >= READ_AGAIN // 2:
                self.is_complete = False  # other sessions may lack more words
                break
        for candidate in candidates:
            candidate = self.best[candidate.session]  # a looser reading may have found a better passage
            text = best_text(self.shards, candidate, most.query)
            shares = clause_shares(text, most.query)
            candidate.missing = [
                clause.terms[0].text
                for number, clause in enumerate(most.query.positive_clauses)
                if number not in shares
            ]
            candidate.covered = most.covered(dict.fromkeys(shares, 1.0))
            if candidate.covered < MIN_COVERED:
                del self.best[candidate.session]
                continue
            clauses = most.query.positive_clauses
            nearness = weigh_distance(text, Query("", [clauses[number] for number in shares], {}))
            for match in candidate.matches:
                match.scale(most.score(shares) * nearness)
            candidate.update_score(self.now)

    def _search_corrected(self) -> SearchResults | None:
        """Return the results for the query with corrected spelling; None if no word is mistyped or it does not help."""
        from clew.index.spelling import correct_query

        corrected = correct_query(self.shards, self.query)
        results = self._search_instead(corrected) if corrected else SearchResults()
        return None if all(result.grade == "most" for result in results) else results

    def _search_separate_words(self) -> SearchResults | None:
        """Return the results for the single words of sequences such as `rounding,cent`; None if that does not help."""
        clauses = []
        for clause in self.query.clauses:
            is_single = clause.negated or len(clause.terms) > 1 or clause.terms[0].is_quoted
            clauses += [clause] if is_single else [Clause([Term(word)]) for word in clause.terms[0].words]
        if len(clauses) == len(self.query.clauses):
            return None
        text = " ".join(f"{'-' if clause.negated else ''}{clause.terms[0].text}" for clause in clauses)
        return self._search_instead(Query(text, clauses, self.query.filters)) or None

    def _search_instead(self, query: Query) -> SearchResults:
        """Return the results for another query, which they name."""
        page_size = self.page_size if self.is_counting else None
        results = GradedSearch(self.shards, query, self.limit, self.without, self.now, page_size).run()
        results.instead = results.instead or query.text
        return results

    def _rank(self) -> list[SessionMatches]:
        """Return the best sessions. Too few are filled up with those that lack words, or have them in several passages."""
        count = len(self.query.positive_clauses)
        exact = sum(candidate.grade == "exact" for candidate in self.best.values())
        if count > 1 and exact < self.page_size and not self._is_enough():
            from clew.index.loose_queries import MostWords

            self._weigh_distances()
            most = MostWords(self.shards, self.parts)
            self._add_scattered(most)
            if count > 2:
                self._add_most_words(most)
            for candidate in self.best.values():
                candidate.update_score(self.now)
        ranked = list(self.best.values())
        sort_by_score(ranked)
        return fold_repeats(self.shards, ranked, self._depth, self.now, self.page_size)

    @property
    def _depth(self) -> int:
        """How many sessions to rank."""
        return max(self.limit, MAX_COUNTED) + 1 if self.is_counting else self.limit

    @property
    def folded(self) -> Query:
        """The query with other endings and accents."""
        if self._folded is None:
            from clew.index.loose_queries import with_endings

            self._folded = with_endings(self.shards, self.query)
        return self._folded

    @property
    def parts(self) -> Query:
        """The query with other endings, accents and parts of identifiers."""
        if self._parts is None:
            from clew.index.loose_queries import with_parts

            self._parts = with_parts(self.shards, self.folded, self.query)
        return self._parts


def has_spoken(candidate: SessionMatches) -> bool:
    """Return whether a session matches in what the user and the model wrote."""
    return any(match.spoken_hits for match in candidate.matches)


def weigh_distance(text: str, query: Query) -> float:
    """Return the factor for the distance of the words of a query in a text."""
    window = smallest_window(text, query)
    return max(MIN_NEARNESS, (NEAR / window) ** 0.5) if window > NEAR else 1.0


def clause_shares(text: str, query: Query) -> dict[int, float]:
    """Return which positive clauses a text has: 1 for the words as typed, less for other forms."""
    from clew.index.loose_queries import OTHER_FORM

    lowered = lower_in_place(text)
    shares = {}
    for number, clause in enumerate(query.positive_clauses):
        if any(find_spans(lowered, clause.terms[0])):
            shares[number] = 1.0
        elif any(any(find_spans(lowered, term)) for term in clause.terms):
            shares[number] = OTHER_FORM
    return shares
