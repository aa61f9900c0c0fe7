"""Sessions as Claude Code's own lists know them: `sessions-index.json` of each project, and the history of prompts.

Their titles are searched too, and a session whose transcript is gone is still found, marked by where it is known from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from clew.index.assemble import facts
from clew.index.query_syntax import Query
from clew.index.ranking import passage_score, session_score
from clew.index.results import SearchResult
from clew.index.session_index import Index
from clew.index.snippet import Passage, cut
from clew.index.tokenizer import tokens
from clew.system.file_errors import ErrorCollector
from clew.wire.layout import Tree
from clew.wire.prompt_history import HistoryPrompt, prompts, read_history
from clew.wire.side_files import IndexEntry, read_index
from clew.wire.timestamps import moment

INDEX, HISTORY = "index", "history"
WHERE = {INDEX: "the index", HISTORY: "the prompt history", "archive": "the archive"}
_FILTERS = frozenset({"in", "role", "project", "branch", "since", "until", "id"})  # those that a list can answer


class Known(NamedTuple):
    """A session in one of the lists; `has_file` says whether its transcript is there."""

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
        """What a reader is told about a session whose transcript is gone."""
        return f"only in {WHERE[self.source]}: the transcript is gone"


def known_sessions(tree: Tree, fence: ErrorCollector | None = None) -> list[Known]:
    """Every session of the lists; one that the history knows is given only if no file and no index has it.

    A list that cannot be read is skipped, and reported by the fence.
    """
    fence = fence or ErrorCollector()
    files = {file.id.lower() for project in tree.projects() for file in project.sessions()}
    found = {}
    for project in tree.projects():
        with fence.catch(project.folder):
            index = read_index(project.index) if project.index else None
            for entry in index.entries if index else ():
                if not entry.is_sidechain:
                    found[entry.session_id.lower()] = _of_index(entry, entry.session_id.lower() in files)
    typed: dict[str, list[HistoryPrompt]] = {}
    with fence.catch(tree.history):
        for prompt in prompts(read_history(tree.history)):
            id = (prompt.session_id or "").lower()
            if id and id not in files and id not in found:
                typed.setdefault(id, []).append(prompt)
    return [*found.values(), *map(_of_history, typed.values())]


def gone_sessions(tree: Tree, fence: ErrorCollector | None = None) -> list[Known]:
    """The sessions whose transcript is gone, newest first."""
    gone = [known for known in known_sessions(tree, fence) if not known.has_file]
    return sorted(gone, key=lambda known: -known.ended.timestamp() if known.ended else 0.0)


def _of_index(entry: IndexEntry, has_file: bool) -> Known:
    title = entry.custom_title or entry.summary or ""
    names = (title, entry.first_prompt, entry.project_path, entry.git_branch)
    return Known(entry.session_id, INDEX, *names, entry.created, entry.modified, entry.message_count, has_file)


def _of_history(typed: Sequence[HistoryPrompt]) -> Known:
    times = sorted(prompt.time for prompt in typed if prompt.time)
    text = "\n".join(prompt.text for prompt in typed)
    first, last = (times[0], times[-1]) if times else (None, None)
    return Known(
        typed[0].session_id or "", HISTORY, "", text, typed[0].project or "", "", first, last, len(typed), False
    )


Marks = tuple[tuple[int, int], ...]
Match = Callable[[str], tuple[str, Marks] | None]  # a text as a passage of it, if it matches


def search_metadata(index: Index, query: Query, without: str | None, now: float) -> Iterator[SearchResult]:
    """The sessions whose title or prompts in a list hold all words of a query."""
    if query.wanted:
        yield from _search(index, query, without, now, lambda t: cut(t, query.terms) if _matches(t, query) else None)


def match_metadata(
    index: Index, asked: str, regex: bool, filters: Query, without: str | None, now: float
) -> Iterator[SearchResult]:
    """The sessions whose title or prompts in a list hold a substring or answer a regular expression."""
    from clew.index.byte_scan import cut_match, sought

    wanted = sought(asked, regex)

    def match(text: str) -> tuple[str, Marks] | None:
        found = wanted.pattern.search(text)
        return cut_match(text, found.start(), found.end(), wanted) if found else None

    yield from _search(index, filters, without, now, match)


def list_metadata(index: Index, query: Query, without: str | None, now: float) -> tuple[list[SearchResult], list[str]]:
    """The sessions of the index whose transcript is gone and that pass the filters; and those that the history knows."""
    if query.is_about_pieces or not _is_answerable(query):
        return [], []
    known = [one for one in known_sessions(Tree(_root(index))) if not one.has_file and one.session != without]
    passing = [one for one in known if _passes(one, query)]
    listed = [_result(index, one, "title", ("", ()), now) for one in passing if one.source == INDEX]
    for result in listed:
        result.passages, result.matches = [], 0
    return listed, [one.session for one in passing if one.source != INDEX]


def _search(index: Index, query: Query, without: str | None, now: float, match: Match) -> Iterator[SearchResult]:
    if not _is_answerable(query):
        return
    for known in known_sessions(Tree(_root(index))):
        for field, text in (("title", known.title), ("prompt", known.first_prompt)):
            is_new = field == "title" or not known.has_file  # the prompts of a transcript have been searched
            is_wanted = is_new and field in query.places and known.session != without and _passes(known, query)
            if is_wanted and text and (found := match(text)):
                yield _result(index, known, field, found, now)
                break


def _is_answerable(query: Query) -> bool:
    """Whether the lists can answer all filters of a query."""
    return all(name in _FILTERS or name == "-is" for name in query.filters)


def _root(index: Index) -> Path:
    return Path(index.root)


def _matches(text: str, query: Query) -> bool:
    words = tokens(text)
    return all(
        any(_holds(words, term.words, term.is_prefix) for term in clause.terms) != clause.negated
        for clause in query.clauses
    )


def _holds(words: Sequence[str], wanted: Sequence[str], is_prefix: bool) -> bool:
    size = len(wanted)
    for at in range(len(words) - size + 1):
        part = list(words[at : at + size])
        if is_prefix and part[-1].startswith(wanted[-1]):
            part[-1] = wanted[-1]
        if part == list(wanted):
            return True
    return False


def _passes(known: Known, query: Query) -> bool:
    """Whether a session passes the filters on sessions."""
    tests = {
        "project": lambda value: _is_in_project(known.project, value),
        "branch": lambda value: fnmatchcase(
            known.branch.lower(), value.lower().replace("[", "[[]").replace("?", "[?]")
        ),
        "id": lambda value: known.session.lower().startswith(value.lower()),
        "since": lambda value: known.ended is not None and known.ended >= moment(value),
        "until": lambda value: known.started is not None and known.started < moment(value),
    }
    return all(any(map(tests[name], values)) for name, values in query.filters.items() if name in tests)


def _is_in_project(project: str, value: str) -> bool:
    """Whether a project is meant: by its path or one above it, or by a part of it."""
    if not value.startswith((".", "~", "/")) and value[1:2] != ":":
        return value.lower() in project.lower()
    path = value if value[1:2] == ":" else os.path.abspath(os.path.expanduser(value))
    return any(project == one or project.startswith(f"{one.rstrip('/')}/") for one in (path, os.path.realpath(path)))


def _result(index: Index, known: Known, field: str, found: tuple[str, Marks], now: float) -> SearchResult:
    result = (facts(index.shards, known.session) if known.has_file else None) or SearchResult(known.session)
    if not known.has_file:
        result.gone = known.source
        result.cwd, result.branch, result.messages = known.project, known.branch, known.messages
        result.started = int(known.started.timestamp()) if known.started else None
        result.ended = int(known.ended.timestamp()) if known.ended else None
        result.title = known.title or " ".join(known.first_prompt.split())[:200]
        result.prompts = known.first_prompt
    passage = Passage(result.path, -1, field)
    passage.kind = f"{known.source} {'title' if field == 'title' else 'prompt'}"
    passage.text, passage.marks = found
    result.passages, result.matches = [passage], 1
    result.best = passage.score = passage_score(field, 1.0)
    age = now - result.ended if result.ended else 0.0
    result.score = session_score(result.best, age, 1, result.messages, False)
    return result
