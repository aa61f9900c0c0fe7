"""Find sessions whose transcript is gone but which the archive or Claude Code's own lists still know.

Every search adds them to its results. Heavy modules are imported only if one of the lists may match.
"""

from __future__ import annotations

import os
import time
from itertools import islice

from clew.index.ranking import sort_by_score
from clew.index.results import SearchResults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol

    from clew.index.query_syntax import Query
    from clew.index.results import SearchResult
    from clew.index.session_index import Index

    class ArchiveLookup(Protocol):
        """The archive of one folder of Claude Code; implemented by `clew.collect.archive.archived_sessions`."""

        @property
        def folder(self) -> str:
            """The folder with the transcripts of archived and reconstructed sessions; empty if there is none."""

        def find(self, session: str) -> tuple[str, int | None]:
            """Return how a session is stored ("archive", "reconstructed" or ""), and when its transcript was first
            missing.
            """


BUDGET = 3.0  # seconds for indexing new archived sessions before a search
RANK_OFFSET = 60  # as in a semantic search: 1 / (60 + rank)
_HISTORY = "history.jsonl"
_SOURCES = {
    "archive": "only in the archive",
    "reconstructed": "only reconstructed from what was left",
    "index": "only in the index",
    "history": "only in the prompt history",
}
_NEXT_STEPS = {
    "archive": "bring it back with: {}",
    "reconstructed": "read what is left with: {}",
    "index": "its title and first prompt are all that is left",
    "history": "its prompts are all that is left",
}


def add_gone(
    index: Index,
    query: Query,
    results: SearchResults,
    limit: int,
    *,
    archive: ArchiveLookup | None,
    without: str | None = None,
    now: float | None = None,
    semantic: bool = False,
    refresh: bool = True,
) -> SearchResults:
    """Add matching gone sessions to results, keeping the order of the results.

    A query without words lists the newest sessions of the archive and of the index; `unlisted` counts those that
    only the prompt history knows. `refresh` indexes new archived sessions first.
    """
    moment = time.time() if now is None else now
    candidates = _search_archive(query, limit, archive, refresh, semantic, moment)
    if query.positive_clauses:
        candidates += _search_lists(index, query, without, moment, semantic)
    else:
        from clew.index.metadata_search import list_metadata

        listed, others = list_metadata(index, query, without, moment)
        candidates += listed
        results.unlisted = sum(not _is_in_archive(session, archive) for session in others)
    known = set() if results.instead else {result.session for result in results}
    new = _select_new(index, candidates, known, archive, without)
    if not new:
        return results
    results.total = len(new) + (0 if results.instead else results.total)
    results.is_total_exact = (results.is_total_exact or bool(results.instead)) and len(new) < limit
    merged = [*([] if results.instead else results), *new]
    results.instead = ""
    if query.clauses or query.filters_passages:
        sort_by_score(merged)
    else:
        merged.sort(key=lambda result: -(result.ended or 0))
    results[:] = merged[:limit]
    return results


def add_gone_matches(
    index: Index,
    pattern: str,
    filters: Query,
    results: Sequence[SearchResult],
    limit: int,
    *,
    regex: bool,
    archive: ArchiveLookup | None,
    without: str | None = None,
) -> list[SearchResult]:
    """Add gone sessions that match a substring or a regular expression, newest first. Raises BadQuery."""
    from heapq import merge

    from clew.index.metadata_search import match_metadata

    candidates: list[SearchResult] = []
    if archive is not None and archive.folder:
        from clew.index.session_index import Index

        with Index.open(archive.folder) as archived:
            refresh_archived(archived)
            candidates += islice(archived.grep(pattern, regex=regex, filters=filters, without=without), limit)
            for result in candidates:
                result.gone = "archive"
    candidates += match_metadata(index, pattern, regex, filters.with_default(index.default), without, time.time())
    new = _select_new(index, candidates, {result.session for result in results}, archive, without)
    new.sort(key=lambda result: -(result.ended or 0))
    return list(islice(merge(results, new, key=lambda result: -(result.ended or 0)), limit))


def refresh_archived(archived: Index) -> None:
    """Update the index of archived sessions: completely the first time, later within BUDGET seconds."""
    archived.refresh(None if archived.is_new else BUDGET)


def describe_gone(result: SearchResult) -> str:
    """Describe a result whose transcript is gone: where it is known from, since when, and the next step."""
    since = f" since {time.strftime('%Y-%m-%d', time.localtime(result.gone_since))}" if result.gone_since else ""
    return f"{_SOURCES[result.gone]}: the transcript is gone{since}; {_NEXT_STEPS[result.gone].format(result.command)}"


def _select_new(
    index: Index,
    candidates: Iterable[SearchResult],
    known: set[str],
    archive: ArchiveLookup | None,
    without: str | None,
) -> list[SearchResult]:
    """Return the candidates that are not known yet and really gone, each once, with their state in the archive."""
    new: dict[str, SearchResult] = {}
    for result in candidates:
        if result.session in known or result.session in new or result.session == without:
            continue
        if result.gone:
            on_disk = index.session(result.session)
            if on_disk is not None and not on_disk.agents:  # restored in the meantime
                continue
            state, result.gone_since = archive.find(result.session) if archive is not None else ("", None)
            result.gone = state or result.gone
        new[result.session] = result
    return list(new.values())


def _search_archive(
    query: Query, limit: int, archive: ArchiveLookup | None, refresh: bool, semantic: bool, now: float
) -> list[SearchResult]:
    """Return the archived and reconstructed sessions that match."""
    if archive is None or not archive.folder:
        return []
    from clew.index.session_index import Index

    with Index.open(archive.folder) as index:
        if refresh:
            refresh_archived(index)
        results = index.search(query, limit, now=now, semantic=semantic)
        if results.instead:
            return []
        for result in results:
            result.gone = "archive"
        return list(results)


def _is_in_archive(session: str, archive: ArchiveLookup | None) -> bool:
    """Return whether the archive has a transcript of a session, so that it is listed already."""
    state, since = archive.find(session) if archive is not None else ("", None)
    return state == "reconstructed" or since is not None


def _search_lists(index: Index, query: Query, without: str | None, now: float, semantic: bool) -> list[SearchResult]:
    """Return the matching sessions of Claude Code's own lists."""
    if not _may_match(index, query):
        return []
    from clew.index.metadata_search import search_metadata

    results = list(search_metadata(index, query.with_default(index.default), without, now))
    if semantic:
        results.sort(key=lambda result: -result.score)
        for rank, result in enumerate(results, 1):
            result.score = 1 / (RANK_OFFSET + rank)
    return results


def _may_match(index: Index, query: Query) -> bool:
    """Return whether a list may contain a word of each clause, by its bytes: parsing the lists takes longer."""
    needles = [[term.words[0].encode() for term in clause.terms if term.words] for clause in query.positive_clauses]
    for path in _list_files(index.root):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            continue
        folded = _fold_lines(_lines_of_gone_sessions(index, data) if path.endswith(_HISTORY) else data)
        if _has_escape(folded) or all(any(needle in folded for needle in clause) for clause in needles):
            return True
    return False


def _lines_of_gone_sessions(index: Index, data: bytes) -> bytes:
    """Return the lines of the history that belong to a session without a transcript."""
    sql = "SELECT session FROM file WHERE agent = ''"
    gone = set(_session_ids(data))
    gone.difference_update(session.encode() for shard in index.shards for (session,) in shard.execute(sql))
    if not gone:
        return b""
    return b"\n".join([line for line in data.split(b"\n") if next(_session_ids(line), b"") in gone])


def _session_ids(data: bytes) -> Iterator[bytes]:
    """Yield the values of `sessionId`, without `re`: to load it takes longer than to split 10,000 lines."""
    for after in data.split(b'"sessionId"')[1:]:
        parts = after.split(b'"', 2)
        if len(parts) == 3 and parts[1] and parts[0].strip() == b":":
            yield parts[1]


def _has_escape(data: bytes) -> bool:
    """Return whether a letter may be written as `\\u00e9`; after another backslash `\\u` is none."""
    before, *others = data.split(b"\\u")
    for after in others:
        slashes = len(before) - len(before.rstrip(b"\\"))
        if slashes % 2 == 0 and len(after) >= 4 and not after[:4].strip(b"0123456789abcdef"):
            return True
        before = after
    return False


def _fold_lines(data: bytes) -> bytes:
    """Return the bytes in lower case and without accents, like the words of a query."""
    if data.isascii():
        return data.lower()
    from unicodedata import combining, normalize

    lines = data.lower().split(b"\n")
    for number, line in enumerate(lines):
        if not line.isascii():
            text = normalize("NFKD", line.decode("utf-8", "replace")).lower()
            lines[number] = "".join([letter for letter in text if not combining(letter)]).encode("utf-8", "replace")
    return b"\n".join(lines)


def _list_files(root: str) -> list[str]:
    paths = [os.path.join(root, _HISTORY)]
    try:
        with os.scandir(os.path.join(root, "projects")) as projects:
            paths += [os.path.join(project.path, "sessions-index.json") for project in projects]
    except OSError:
        pass
    return [path for path in paths if os.path.isfile(path)]  # reading a pipe would block
