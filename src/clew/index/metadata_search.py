"""Search the titles and prompts in Claude Code's own lists; sessions whose transcript is gone are found there too."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from clew.index.index_files import IndexFiles
from clew.index.indexed_sessions import find_session
from clew.index.query_syntax import Query
from clew.index.ranking import passage_score, session_score
from clew.index.results import SearchResult
from clew.index.snippet import Passage, cut
from clew.index.tokenizer import tokenize
from clew.wire.known_sessions import INDEX, ListedSession, list_known_sessions
from clew.wire.layout import Tree
from clew.wire.timestamps import parse_user_time

_FILTERS = frozenset({"in", "role", "project", "branch", "since", "until", "id"})  # filters that the lists can answer
Marks = tuple[tuple[int, int], ...]
TextMatcher = Callable[[str], tuple[str, Marks] | None]  # returns a snippet and its marks if a text matches


def search_metadata(index: IndexFiles, query: Query, without: str | None, now: float) -> Iterator[SearchResult]:
    """Yield the sessions whose title or prompts in a list contain all words of a query."""
    if query.positive_clauses:
        yield from _search(
            index, query, without, now, lambda t: cut(t, query.terms) if _matches_query(t, query) else None
        )


def match_metadata(
    index: IndexFiles, pattern_text: str, regex: bool, filters: Query, without: str | None, now: float
) -> Iterator[SearchResult]:
    """Yield the sessions whose title or prompts in a list match a substring or a regular expression."""
    from clew.index.byte_scan import compile_pattern, cut_match

    pattern = compile_pattern(pattern_text, regex)

    def match(text: str) -> tuple[str, Marks] | None:
        hit = pattern.pattern.search(text)
        return cut_match(text, hit.start(), hit.end(), pattern) if hit else None

    yield from _search(index, filters, without, now, match)


def list_metadata(
    index: IndexFiles, query: Query, without: str | None, now: float
) -> tuple[list[SearchResult], list[str]]:
    """Return the gone sessions of the index that pass the filters, and the ids of those in the history."""
    if query.filters_passages or not _is_answerable(query):
        return [], []
    known = [
        session
        for session in list_known_sessions(Tree(_root(index)))
        if not session.has_file and session.session != without
    ]
    passing = [session for session in known if _passes_filters(session, query)]
    results = [_result(index, session, "title", ("", ()), now) for session in passing if session.source == INDEX]
    for result in results:
        result.passages, result.matches = [], 0
    return results, [session.session for session in passing if session.source != INDEX]


def _search(
    index: IndexFiles, query: Query, without: str | None, now: float, match: TextMatcher
) -> Iterator[SearchResult]:
    if not _is_answerable(query):
        return
    for known in list_known_sessions(Tree(_root(index))):
        for field, text in (("title", known.title), ("prompt", known.first_prompt)):
            is_new = field == "title" or not known.has_file  # prompts of existing transcripts are in the index
            is_candidate = (
                is_new and field in query.fields and known.session != without and _passes_filters(known, query)
            )
            if is_candidate and text and (snippet := match(text)):
                yield _result(index, known, field, snippet, now)
                break


def _is_answerable(query: Query) -> bool:
    """Return whether the lists can answer all filters of a query."""
    return all(name in _FILTERS or name == "-is" for name in query.filters)


def _root(index: IndexFiles) -> Path:
    return Path(index.root)


def _matches_query(text: str, query: Query) -> bool:
    words = tokenize(text)
    return all(
        any(_contains_phrase(words, term.words, term.is_prefix) for term in clause.terms) != clause.negated
        for clause in query.clauses
    )


def _contains_phrase(words: Sequence[str], phrase: Sequence[str], is_prefix: bool) -> bool:
    size = len(phrase)
    for start in range(len(words) - size + 1):
        part = list(words[start : start + size])
        if is_prefix and part[-1].startswith(phrase[-1]):
            part[-1] = phrase[-1]
        if part == list(phrase):
            return True
    return False


def _passes_filters(known: ListedSession, query: Query) -> bool:
    """Return whether a session passes the filters on sessions."""
    tests = {
        "project": lambda value: _is_in_project(known.project, value),
        "branch": lambda value: fnmatchcase(
            known.branch.lower(), value.lower().replace("[", "[[]").replace("?", "[?]")
        ),
        "id": lambda value: known.session.lower().startswith(value.lower()),
        "since": lambda value: known.ended is not None and known.ended >= parse_user_time(value),
        "until": lambda value: known.started is not None and known.started < parse_user_time(value),
    }
    return all(any(map(tests[name], values)) for name, values in query.filters.items() if name in tests)


def _is_in_project(project: str, value: str) -> bool:
    """Return whether a project matches a path (or lies below it) or contains a part of a name."""
    if not value.startswith((".", "~", "/")) and value[1:2] != ":":
        return value.lower() in project.lower()
    path = value if value[1:2] == ":" else os.path.abspath(os.path.expanduser(value))
    return any(
        project == folder or project.startswith(f"{folder.rstrip('/')}/") for folder in (path, os.path.realpath(path))
    )


def _result(
    index: IndexFiles, known: ListedSession, field: str, snippet: tuple[str, Marks], now: float
) -> SearchResult:
    result = (find_session(index.shards, known.session) if known.has_file else None) or SearchResult(known.session)
    if not known.has_file:
        result.gone = known.source
        result.cwd, result.branch, result.messages = known.project, known.branch, known.messages
        result.started = int(known.started.timestamp()) if known.started else None
        result.ended = int(known.ended.timestamp()) if known.ended else None
        result.title = known.title or " ".join(known.first_prompt.split())[:200]
        result.prompts = known.first_prompt
    passage = Passage(result.path, -1, field)
    passage.kind = f"{known.source} {'title' if field == 'title' else 'prompt'}"
    passage.text, passage.marks = snippet
    result.passages, result.matches = [passage], 1
    result.best = passage.score = passage_score(field, 1.0)
    age = now - result.ended if result.ended else 0.0
    result.score = session_score(result.best, age, 1, result.messages, False)
    return result
