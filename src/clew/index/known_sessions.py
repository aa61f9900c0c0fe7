"""Sessions in Claude Code's own lists: `sessions-index.json` of each project and the prompt history.

Their titles are searched too, and a session whose transcript is gone is still found, labelled with its source.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from clew.index.assemble import find_session
from clew.index.index_files import IndexFiles
from clew.index.query_syntax import Query
from clew.index.ranking import passage_score, session_score
from clew.index.results import SearchResult
from clew.index.snippet import Passage, cut
from clew.index.tokenizer import tokenize
from clew.system.file_errors import ErrorCollector
from clew.wire.layout import Tree
from clew.wire.prompt_history import HistoryPrompt, prompts, read_history
from clew.wire.side_files import IndexEntry, read_index
from clew.wire.timestamps import parse_user_time

INDEX, HISTORY = "index", "history"
SOURCE_NAMES = {INDEX: "the index", HISTORY: "the prompt history", "archive": "the archive"}
_FILTERS = frozenset({"in", "role", "project", "branch", "since", "until", "id"})  # filters that the lists can answer


class ListedSession(NamedTuple):
    """A session in one of the lists; `has_file` says whether its transcript exists."""

    session: str
    source: str
    title: str
    first_prompt: str
    project: str
    branch: str
    started: datetime | None
    ended: datetime | None
    messages: int
    has_file: bool

    @property
    def sentence(self) -> str:
        """Describe a session whose transcript is gone."""
        return f"only in {SOURCE_NAMES[self.source]}: the transcript is gone"


def list_known_sessions(tree: Tree, fence: ErrorCollector | None = None) -> list[ListedSession]:
    """Return every session of the lists; those of the history only if neither a file nor an index has them.

    Lists that cannot be read are skipped and reported by the fence.
    """
    fence = fence or ErrorCollector()
    files = {id for project in tree.projects() for id in project.session_ids()}
    indexed = {}
    for project in tree.projects():
        with fence.catch(project.folder):
            index = read_index(project.index) if project.index else None
            for entry in index.entries if index else ():
                if not entry.is_sidechain:
                    indexed[entry.session_id.lower()] = _from_index(entry, entry.session_id.lower() in files)
    history: dict[str, list[HistoryPrompt]] = {}
    with fence.catch(tree.history):
        skip = files | indexed.keys()
        for prompt in prompts(read_history(tree.history, skip)):
            id = (prompt.session_id or "").lower()
            if id and id not in skip:
                history.setdefault(id, []).append(prompt)
    return [*indexed.values(), *map(_from_history, history.values())]


def list_gone_sessions(tree: Tree, fence: ErrorCollector | None = None) -> list[ListedSession]:
    """Return the sessions whose transcript is gone, newest first."""
    missing = [known for known in list_known_sessions(tree, fence) if not known.has_file]
    return sorted(missing, key=lambda known: -known.ended.timestamp() if known.ended else 0.0)


def _from_index(entry: IndexEntry, has_file: bool) -> ListedSession:
    title = entry.custom_title or entry.summary or ""
    names = (title, entry.first_prompt, entry.project_path, entry.git_branch)
    return ListedSession(entry.session_id, INDEX, *names, entry.created, entry.modified, entry.message_count, has_file)


def _from_history(history: Sequence[HistoryPrompt]) -> ListedSession:
    times = sorted(prompt.time for prompt in history if prompt.time)
    text = "\n".join(prompt.text for prompt in history)
    first, last = (times[0], times[-1]) if times else (None, None)
    return ListedSession(
        history[0].session_id or "", HISTORY, "", text, history[0].project or "", "", first, last, len(history), False
    )


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
