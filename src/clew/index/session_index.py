"""The search index: open, refresh and query it.

with Index.open() as index:
        index.refresh(budget=1.0)
        for result in index.search("retry backoff tool:Bash since:30d", limit=5): ...

Searching imports nothing heavy, so that it takes little more than the start of Python; refreshing imports the rest.
"""

from __future__ import annotations

import os
import time

import apsw

from clew.errors import BadQuery, ClewError, StoreError
from clew.index.changed_files import are_outputs_current, are_side_files_current, find_changed_files
from clew.index.index_files import IndexFiles
from clew.index.index_schema import MEMORY, SHARDS, index_folder, open_shard, reset, temporary_folder
from clew.index.query_syntax import Query, parse_query
from clew.index.results import Refreshed, SearchResult, SearchResults
from clew.system.environment import cache_home, claude_home
from clew.system.sqlite_file import DAMAGE, UNUSABLE, ReadTransaction
from clew.wire.clew_config import search_default
from clew.wire.tree_walk import list_side_files, list_transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from clew.conversation.turns import Turn
    from clew.index.facets import Facets
    from clew.index.results import Embedded
    from clew.index.semantic.semantic_search import Semantic
    from clew.index.snippet import Passage

MMAP_BYTES = 128 << 20  # of a shard; copying instead takes a third of the search in a new process


class Index(IndexFiles):
    """The index over one folder of Claude Code."""

    def __init__(self, root: str, folder: str, default: str = "") -> None:
        """Open the index in a folder; if it is not writable, use a temporary one, and `unusable` says why.

        `default` are filters for searches with words that do not set them.
        """
        super().__init__(root, folder)
        self.default = _parse_default(default)
        self.unusable = ""
        self.reason = ""
        self.is_new = False
        self._semantic: Semantic | None = None
        try:
            self._open()
        except UNUSABLE as error:
            self._use_temporary_folder(error)

    def _use_temporary_folder(self, error: BaseException) -> None:
        """Continue in a temporary folder, which lasts as long as this process, or else in memory."""
        if self.unusable:
            raise _store_error(error) from None
        self.unusable = f"The cache in {self.folder} cannot be used ({_reason(error)})"
        self.close()
        self.folder = temporary_folder(self.root)
        try:
            self._open()
        except UNUSABLE as second_error:
            raise _store_error(second_error) from None

    def _open(self) -> None:
        """Open the shards; `reason` says why an existing one was rebuilt."""
        reasons = []
        for number in range(SHARDS):
            shard, why = open_shard(os.path.join(self.folder, f"{number}.db") if self.folder else MEMORY)
            shard.pragma("mmap_size", MMAP_BYTES)
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
        """Open the index of a folder of Claude Code. Without `default` the user's settings apply. Raises ClewError."""
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

    def refresh(
        self,
        budget: float | None = None,
        progress: Callable[[int, int], None] | None = None,
        *,
        jobs: int | None = None,
    ) -> Refreshed:
        """Read changes since the last refresh, for at most `budget` seconds; `progress` receives (done, all) bytes.

        Much that is new is read by two processes, unless there is one core or `jobs` is 1; the index is the same.
        """
        try:
            done = self._refresh(budget, progress, jobs)
        except DAMAGE:
            self._rebuild()
            done = self._refresh(budget, progress, jobs)
        except UNUSABLE as error:
            self._use_temporary_folder(error)
            done = self.refresh(budget, progress, jobs=jobs)
        done.rebuilt, done.reason = bool(self.reason), self.reason
        if done.is_complete:
            self.reason, self.is_new = "", False
        return done

    def _refresh(
        self, budget: float | None, progress: Callable[[int, int], None] | None, jobs: int | None
    ) -> Refreshed:
        missed: list[str] = []
        outputs: dict[str, int] = {}
        shards = dict(enumerate(self.shards))
        changes = find_changed_files(shards, self.root, missed, outputs)
        if not missed and not are_outputs_current(self.shards, outputs):
            from clew.index.changed_outputs import forget_changed_outputs

            paths = {file.path for file in list_transcripts(self.root)}
            for shard in self.shards:
                forget_changed_outputs(shard, outputs, paths)
            changes = find_changed_files(shards, self.root, missed)
        states = list(changes.values())
        done = Refreshed(is_complete=not missed)
        if any(state.changed or state.deleted for state in states):
            from clew.index.parallel_build import build

            done = build(self, states, budget, progress, jobs)
            done.is_complete = done.is_complete and not missed
        side_files = list_side_files(self.root)
        if not are_side_files_current(self.shards, side_files):
            from clew.index.work_items import refresh_side_files

            done.pieces += refresh_side_files(self.shards, self.root, side_files)
        return done

    def _rebuild(self) -> None:
        """Empty and reopen all shards of a damaged index."""
        for shard in self.shards:
            reset(shard)
        self.close()
        self._open()
        self.reason = "damaged"

    def embed(self, budget: float | None = None, progress: Callable[[int, int], None] | None = None) -> Embedded:
        """Update the vectors for semantic search; `progress` receives (done, all) texts. Raises ClewError.

        Refresh the index first, since they are based on it. Finished batches are kept if it is interrupted.
        """
        try:
            return self._load_semantic().embed(budget, progress)
        except UNUSABLE as error:
            raise _store_error(error) from None

    def _load_semantic(self) -> Semantic:
        if self._semantic is None:
            from clew.index.semantic.semantic_search import Semantic

            self._semantic = Semantic(self, self._search_repairing)
        return self._semantic

    def search(
        self,
        text: str | Query,
        limit: int = 10,
        *,
        without: str | None = None,
        now: float | None = None,
        semantic: bool = False,
        page_size: int | None = None,
    ) -> SearchResults:
        """Return the best sessions for a query; `without` is a session to leave out, such as the one that searches.

        A query of filters alone returns the newest sessions. `semantic` also finds passages with the same meaning in
        other words, if they are embedded. With a `page_size` the results are the first pages of one list, up to `limit`
        sessions, and are counted. Raises BadQuery, and ClewError if `semantic` is not installed.
        """
        query = parse_query(text) if isinstance(text, str) else text
        query = query.with_default(self.default) if query.clauses else query
        moment = time.time() if now is None else now
        if semantic:
            try:
                return self._load_semantic().search(query, limit, without, moment)
            except UNUSABLE as error:
                raise _store_error(error) from None
        return self._search_repairing(query, limit, without, moment, page_size)

    def _search_repairing(
        self, query: Query, limit: int, without: str | None, now: float, page_size: int | None = None
    ) -> SearchResults:
        """Search by words; a damaged index is rebuilt first."""
        try:
            return self._search(query, limit, without, now, page_size)
        except DAMAGE:
            self._rebuild()
            self.refresh()
            return self._search(query, limit, without, now, page_size)

    def _search(
        self, query: Query, limit: int, without: str | None, now: float, page_size: int | None
    ) -> SearchResults:
        if not query.clauses and not query.filters_passages:
            from clew.index.indexed_sessions import count_sessions, recent_sessions

            results = SearchResults(recent_sessions(self.shards, query, limit, without, now))
            if page_size:
                results.total, results.is_total_exact = count_sessions(self.shards, query, without), True
            return results
        from clew.index.graded_search import GradedSearch

        with ReadTransaction(self.shards):
            return GradedSearch(self.shards, query, limit, without, now, page_size).run()

    def iter_passages(self, text: str | Query) -> Iterator[Passage]:
        """Yield every match of a query with words, unranked, including repetitions, without text. Raises BadQuery."""
        from clew.index.assemble import iter_passages

        return iter_passages(self.shards, parse_query(text) if isinstance(text, str) else text)

    def count(self, text: str | Query) -> Facets:
        """Count all sessions and passages that match a query, by project, model, tool, month and kind. Raises
        BadQuery.
        """
        from clew.index.facets import count_facets

        query = parse_query(text) if isinstance(text, str) else text
        return count_facets(self.shards, query.with_default(self.default) if query.clauses else query)

    def recent(self, limit: int = 10, filters: str = "", *, without: str | None = None) -> SearchResults:
        """Return the newest sessions that pass filters such as `project:. since:7d`."""
        return self.search(filters, limit, without=without)

    def session(self, session: str) -> SearchResult | None:
        """Return what the index knows about a session."""
        from clew.index.indexed_sessions import find_session

        return find_session(self.shards, session)

    def grep(
        self,
        pattern: str,
        *,
        regex: bool = False,
        filters: str | Query = "",
        without: str | None = None,
        budget: float | None = None,
    ) -> Iterator[SearchResult]:
        """Yield sessions, newest first, that match a substring or a regular expression, for at most `budget` seconds.

        Raises BadQuery.
        """
        from clew.index.byte_scan import grep

        query = (parse_query(filters) if isinstance(filters, str) else filters).with_default(self.default)
        return grep(self, pattern, regex, query, without, budget)

    def context(self, passage: Passage, turns: int = 1) -> list[Turn]:
        """Return the turn of a passage, with some turns before and after."""
        from clew.conversation.load import read
        from clew.index.surrounding_turns import turns_around

        window = turns_around(read(passage.path), passage.offset, turns)
        return [turn for turn in window.turns if turn.number or turn is window.turn] if window else []


def _parse_default(default: str) -> Query:
    """Parse the default filters. Raises ClewError if they are not filters."""
    try:
        query = parse_query(default)
    except BadQuery as error:
        raise ClewError(f"The default search filters {default!r} are not valid: {error.reason}.") from None
    if query.clauses:
        raise ClewError(f"The default search filters {default!r} contain words; use filters only, such as in:talk.")
    return query


def _store_error(error: BaseException) -> StoreError:
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
