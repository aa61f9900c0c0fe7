"""Searching: the index as it is used.

    with Index.open() as index:
        index.refresh(budget=1.0)
        for result in index.search("retry backoff tool:Bash since:30d", limit=5): ...

This path imports nothing heavy, so that a search is answered in the time that Python takes to start; reading what is new
loads the rest.
"""

from __future__ import annotations

import os
import time

import apsw

from clew.errors import BadQuery, ClewError, StoreError
from clew.index.changed_files import are_side_files_current, compare_files
from clew.index.index_schema import MEMORY, SHARDS, index_folder, open_shard, reset, shard_number, temporary_folder
from clew.index.query_syntax import Query, parse
from clew.index.results import Refreshed, SearchResult, SearchResults
from clew.system.environment import cache_home, claude_home
from clew.system.sqlite_file import DAMAGE, UNUSABLE
from clew.wire.clew_config import search_default
from clew.wire.tree_walk import walk, walk_side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from clew.conversation.turns import Turn
    from clew.index.results import Embedded
    from clew.index.semantic.semantic_search import Semantic
    from clew.index.snippet import Passage
    from clew.wire.tree_walk import TranscriptFile

MAPPED = 128 << 20  # bytes of a shard that are not copied to be read, which takes a new process a third of a search


class Index:
    """The index over one folder of Claude Code."""

    def __init__(self, root: str, folder: str, default: str = "") -> None:
        """Open the index in a folder; where that cannot be written, a temporary one, and `unusable` says why.

        `default` are filters of every search for words that does not choose them itself.
        """
        self.default = _filters(default)
        self.root = root
        self.folder = folder
        self.unusable = ""
        self.shards: list[apsw.Connection] = []
        self.reason = ""
        self.is_new = False
        self._semantic: Semantic | None = None
        try:
            self._open()
        except UNUSABLE as error:
            self._move(error)

    def _move(self, error: BaseException) -> None:
        """Go on in a temporary folder, which lasts as long as this process, or else in memory."""
        if self.unusable:
            raise _failure(error) from None
        self.unusable = f"The cache in {self.folder} cannot be used ({_reason(error)})"
        self.close()
        self.folder = temporary_folder(self.root)
        try:
            self._open()
        except UNUSABLE as further:
            raise _failure(further) from None

    def _open(self) -> None:
        """Open the shards; `reason` says why one that was there had to be made again."""
        reasons = []
        for number in range(SHARDS):
            shard, why = open_shard(os.path.join(self.folder, f"{number}.db") if self.folder else MEMORY)
            shard.pragma("mmap_size", MAPPED)
            self.shards.append(shard)
            reasons.append(why)
        self.is_new = self.is_new or any(reasons)
        self.reason = next((why for why in reasons if why not in ("", "missing")), self.reason)

    @classmethod
    def open(
        cls,
        claude: str | os.PathLike[str] | None = None,
        cache: str | os.PathLike[str] | None = None,
        default: str | None = None,
    ) -> Index:
        """The index of a folder of Claude Code. Without a `default` the user's settings decide. Raises ClewError."""
        root = os.path.abspath(claude_home(claude))
        folder = index_folder(root, os.fspath(cache) if cache is not None else cache_home())
        return cls(root, folder, search_default() if default is None else default)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for shard in self.shards:
            shard.close()
        self.shards = []
        if self._semantic is not None:
            self._semantic.close()
            self._semantic = None

    def refresh(self, budget: float | None = None, progress: Callable[[int, int], None] | None = None) -> Refreshed:
        """Read what has changed since the last time, for at most `budget` seconds; `progress` hears (done, all) bytes."""
        try:
            done = self._refresh(budget, progress)
        except DAMAGE:
            self._make_anew()
            done = self._refresh(budget, progress)
        except UNUSABLE as error:
            self._move(error)
            done = self.refresh(budget, progress)
        done.rebuilt, done.reason = bool(self.reason), self.reason
        if done.is_complete:
            self.reason, self.is_new = "", False
        return done

    def _refresh(self, budget: float | None, progress: Callable[[int, int], None] | None) -> Refreshed:
        missed: list[str] = []
        groups: list[list[TranscriptFile]] = [[] for _ in self.shards]
        for file in walk(self.root, missed):
            groups[shard_number(file.session, file.path)].append(file)
        states = [compare_files(shard, group, not missed) for shard, group in zip(self.shards, groups, strict=True)]
        done = Refreshed(is_complete=not missed)
        if any(one.changed or one.deleted for one in states):
            from clew.index.parallel_build import build

            done = build(self, states, budget, progress)
        found = walk_side(self.root)
        if not are_side_files_current(self.shards, found):
            from clew.index.work_items import refresh_side_files

            done.pieces += refresh_side_files(self.shards, self.root, found)
        return done

    def _make_anew(self) -> None:
        """Empty all shards of an index that is damaged."""
        for shard in self.shards:
            reset(shard)
        self.close()
        self._open()
        self.reason = "damaged"

    def embed(self, budget: float | None = None, progress: Callable[[int, int], None] | None = None) -> Embedded:
        """Bring the vectors for searching by meaning up to date; `progress` hears (done, all) texts. Raises ClewError.

        They follow the index, which is to be refreshed before. What is done is kept, however it ends.
        """
        try:
            return self._meanings().embed(budget, progress)
        except UNUSABLE as error:
            raise _failure(error) from None

    def _meanings(self) -> Semantic:
        if self._semantic is None:
            from clew.index.semantic.semantic_search import Semantic

            self._semantic = Semantic(self)
        return self._semantic

    def search(
        self,
        text: str | Query,
        limit: int = 10,
        *,
        without: str | None = None,
        now: float | None = None,
        semantic: bool = False,
    ) -> SearchResults:
        """The best sessions for a query; `without` is one to leave out, as the session that asks.

        With filters alone it is the newest that pass them. `semantic` finds also what was said in other words, in what has
        been embedded. Raises BadQuery, and ClewError where `semantic` is not installed.
        """
        query = parse(text) if isinstance(text, str) else text
        query = query.with_default(self.default) if query.clauses else query
        moment = time.time() if now is None else now
        if semantic:
            try:
                return self._meanings().search(query, limit, without, moment)
            except UNUSABLE as error:
                raise _failure(error) from None
        try:
            return self._search(query, limit, without, moment)
        except DAMAGE:
            self._make_anew()
            self.refresh()
            return self._search(query, limit, without, moment)

    def _search(self, query: Query, limit: int, without: str | None, now: float) -> SearchResults:
        from clew.index import assemble
        from clew.index.fts_match import find_matches

        if not query.clauses and not query.is_about_pieces:
            return SearchResults(assemble.recent_sessions(self.shards, query, limit, without, now))
        found = assemble.group_by_session(self.shards, find_matches(self.shards, query, 10 * limit, now), without)
        ranked = assemble.fold_repeats(self.shards, assemble.rank_sessions(found.values(), now), limit, now)
        if len(ranked) < limit and len(query.wanted) > 1:
            from clew.index.cross_passage import find_scattered

            more = find_scattered(self.shards, query, found, without, now)
            ranked = assemble.fold_repeats(
                self.shards, assemble.rank_sessions([*found.values(), *more], now), limit, now
            )
        answer = SearchResults(assemble.describe_sessions(self.shards, ranked, query))
        if not answer and query.clauses:
            from clew.index.spelling import mended

            instead = mended(self.shards, query)
            if instead is not None:
                answer = self._search(instead, limit, without, now)
                answer.instead = instead.text
        return answer

    def every(self, text: str | Query) -> Iterator[Passage]:
        """Every match of a query that has words, unranked, not folded and without text. Raises BadQuery."""
        from clew.index.assemble import iter_passages

        return iter_passages(self.shards, parse(text) if isinstance(text, str) else text)

    def recent(self, limit: int = 10, filters: str = "", *, without: str | None = None) -> SearchResults:
        """The newest sessions, those that pass some filters such as `project:. since:7d`."""
        return self.search(filters, limit, without=without)

    def session(self, session: str) -> SearchResult | None:
        """What the index knows of a session."""
        from clew.index.assemble import find_session

        return find_session(self.shards, session)

    def grep(
        self, pattern: str, *, regex: bool = False, filters: str | Query = "", without: str | None = None
    ) -> Iterator[SearchResult]:
        """Sessions, newest first, whose text holds a substring or answers a regular expression. Raises BadQuery."""
        from clew.index.byte_scan import grep

        query = (parse(filters) if isinstance(filters, str) else filters).with_default(self.default)
        return grep(self, pattern, regex, query, without)

    def context(self, passage: Passage, turns: int = 1) -> list[Turn]:
        """The turn that a passage stands in, with some on either side."""
        from clew.conversation.load import read
        from clew.index.surrounding_turns import context

        found = context(read(passage.path), passage.offset, turns)
        return [turn for turn in found.turns if turn.number or turn is found.turn] if found else []


def _filters(default: str) -> Query:
    """Filters for every search, as a query. Raises ClewError if they are none."""
    try:
        query = parse(default)
    except BadQuery as error:
        raise ClewError(f"The default of searches, {default!r}, is not valid: {error.reason}.") from None
    if query.clauses:
        raise ClewError(f"The default of searches, {default!r}, may hold filters only, such as in:talk.")
    return query


def _failure(error: BaseException) -> StoreError:
    is_full = isinstance(error, apsw.FullError)
    return StoreError(f"The index cannot be used: {_reason(error)}.", type(error).__name__, retryable=is_full)


def _reason(error: BaseException) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def search(
    text: str, limit: int = 10, *, claude: str | os.PathLike[str] | None = None, semantic: bool = False
) -> SearchResults:
    """Search all sessions: bring the index up to date, then return the best matches. Raises BadQuery.

    For many searches keep an `Index` open.
    """
    with Index.open(claude) as index:
        index.refresh()
        return index.search(text, limit, semantic=semantic)
