"""Sessions whose transcript is gone: those that Claude Code's own lists or the archive still know and that match a query.

Every search adds them to its results. Nothing heavy is imported before one of the lists may hold the words.
"""

from __future__ import annotations

import os
import re
import time
from itertools import islice

from clew.index.results import SearchResults
from clew.wire.tree_walk import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from clew.index.query_syntax import Query
    from clew.index.results import SearchResult
    from clew.index.session_index import Index

    class Archive(Protocol):
        """What the archive keeps of one folder of Claude Code; `clew.collect.archive.archived_sessions` has it."""

        @property
        def folder(self) -> str:
            """The folder with the transcripts of archived and reconstructed sessions; empty if there is none."""

        def find(self, session: str) -> tuple[str, int | None]:
            """How a session is kept ("archive", "reconstructed" or ""), and when its transcript was first missing."""


BUDGET = 3.0  # seconds for reading what is new in the archive before the answer
SMOOTH = 60  # as in a search by meaning: 1 / (60 + rank)
_HISTORY = "history.jsonl"
_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*\\u[0-9a-f]{4}")  # which may stand for any letter
_SESSION = re.compile(rb'"sessionid"\s*:\s*"([^"]+)"')  # in small letters, as the words are
_WHERE = {
    "archive": "only in the archive",
    "reconstructed": "only reconstructed from what was left",
    "index": "only in the index",
    "history": "only in the prompt history",
}
_NEXT = {
    "archive": "bring it back with: {}",
    "reconstructed": "read what is left with: {}",
    "index": "its title and first prompt are all that is left",
    "history": "its prompts are all that is left",
}


def add_gone(
    index: Index,
    query: Query,
    found: SearchResults,
    limit: int,
    *,
    archive: Archive | None,
    without: str | None = None,
    now: float | None = None,
    semantic: bool = False,
    refresh: bool = True,
) -> SearchResults:
    """The results with those of the lists and of the archive among them, in the same order.

    Without words these are the newest sessions of the archive and of the index; `unlisted` counts those that only the
    prompt history knows. `refresh` reads what is new in the archive first.
    """
    moment = time.time() if now is None else now
    more = _archived(query, limit, archive, refresh, semantic, moment)
    if query.wanted:
        more += _listed(index, query, without, moment, semantic)
    else:
        from clew.index.known_sessions import list_metadata

        listed, others = list_metadata(index, query, without, moment)
        more += listed
        found.unlisted = sum(not _is_laid_out(session, archive) for session in others)
    known = set() if found.instead else {result.session for result in found}
    new = _new_ones(index, more, known, archive, without)
    if not new:
        return found
    merged = [*([] if found.instead else found), *new]
    found.instead = ""
    if query.clauses or query.is_about_pieces:
        merged.sort(key=lambda result: (result.is_scattered, -result.score, result.session))
    else:
        merged.sort(key=lambda result: -(result.ended or 0))
    found[:] = merged[:limit]
    return found


def add_gone_matches(
    index: Index,
    asked: str,
    filters: Query,
    found: Sequence[SearchResult],
    limit: int,
    *,
    regex: bool,
    archive: Archive | None,
    without: str | None = None,
) -> list[SearchResult]:
    """The same for a substring or a regular expression: newest first. Raises BadQuery."""
    from heapq import merge

    from clew.index.known_sessions import match_metadata

    more: list[SearchResult] = []
    if archive is not None and archive.folder:
        from clew.index.session_index import Index

        with Index.open(archive.folder) as archived:
            refresh_archived(archived)
            more += islice(archived.grep(asked, regex=regex, filters=filters, without=without), limit)
            for result in more:
                result.gone = "archive"
    more += match_metadata(index, asked, regex, filters.with_default(index.default), without, time.time())
    new = _new_ones(index, more, {result.session for result in found}, archive, without)
    new.sort(key=lambda result: -(result.ended or 0))
    return list(islice(merge(found, new, key=lambda result: -(result.ended or 0)), limit))


def refresh_archived(archived: Index) -> None:
    """Bring the index of the archived sessions up to date: all of it the first time, later for a moment."""
    archived.refresh(None if archived.is_new else BUDGET)


def describe_gone(result: SearchResult) -> str:
    """What to say about a result whose transcript is gone: where it is known from, since when, and the next step."""
    since = f" since {time.strftime('%Y-%m-%d', time.localtime(result.gone_since))}" if result.gone_since else ""
    return f"{_WHERE[result.gone]}: the transcript is gone{since}; {_NEXT[result.gone].format(result.command)}"


def _new_ones(
    index: Index, more: Iterable[SearchResult], known: set[str], archive: Archive | None, without: str | None
) -> list[SearchResult]:
    """Those that are not among the results already and are gone indeed, each once, with what the archive says of them."""
    new: dict[str, SearchResult] = {}
    for result in more:
        if result.session in known or result.session in new or result.session == without:
            continue
        if result.gone:
            on_disk = index.session(result.session)
            if on_disk is not None and not on_disk.agents:  # it has come back since
                continue
            how, result.gone_since = archive.find(result.session) if archive is not None else ("", None)
            result.gone = how or result.gone
        new[result.session] = result
    return list(new.values())


def _archived(
    query: Query, limit: int, archive: Archive | None, refresh: bool, semantic: bool, now: float
) -> list[SearchResult]:
    """The archived and reconstructed sessions that match."""
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


def _is_laid_out(session: str, archive: Archive | None) -> bool:
    """Whether a session is one of those that the archive has laid out again, and so is listed already."""
    how, since = archive.find(session) if archive is not None else ("", None)
    return how == "reconstructed" or since is not None


def _listed(index: Index, query: Query, without: str | None, now: float, semantic: bool) -> list[SearchResult]:
    """The sessions of Claude Code's own lists that hold the words."""
    if not _may_match(index.root, query):
        return []
    from clew.index.known_sessions import search_metadata

    results = list(search_metadata(index, query.with_default(index.default), without, now))
    if semantic:
        results.sort(key=lambda result: -result.score)
        for rank, result in enumerate(results, 1):
            result.score = 1 / (SMOOTH + rank)
    return results


def _may_match(root: str, query: Query) -> bool:
    """Whether one of the lists may hold a word of each clause, as far as their bytes tell."""
    needles = [[term.words[0].encode() for term in clause.terms if term.words] for clause in query.wanted]
    for path in _lists(root):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            continue
        data = _folded(data)
        if path.endswith(_HISTORY):
            data = _of_gone_sessions(root, data, needles)
        if _ESCAPE.search(data) or all(any(needle in data for needle in clause) for clause in needles):
            return True
    return False


def _of_gone_sessions(root: str, data: bytes, needles: list[list[bytes]]) -> bytes:
    """The lines of the history that hold a word and belong to a session without a transcript."""
    words = [needle for clause in needles for needle in clause]
    lines = [line for line in data.split(b"\n") if _ESCAPE.search(line) or any(word in line for word in words)]
    files = {file.session.lower().encode("utf-8", "replace") for file in walk(root)} if lines else set()
    return b"\n".join(line for line in lines if (id := _SESSION.search(line)) and id[1] not in files)


def _folded(data: bytes) -> bytes:
    """Small letters without accents, as the words of a query are."""
    if data.isascii():
        return data.lower()
    from unicodedata import combining, normalize

    text = normalize("NFKD", data.decode("utf-8", "replace")).lower()
    return "".join(letter for letter in text if not combining(letter)).encode("utf-8", "replace")


def _lists(root: str) -> list[str]:
    found = [os.path.join(root, _HISTORY)]
    try:
        with os.scandir(os.path.join(root, "projects")) as projects:
            found += [os.path.join(project.path, "sessions-index.json") for project in projects]
    except OSError:
        pass
    return [path for path in found if os.path.isfile(path)]  # reading a pipe would wait
