"""What `clew search` finds beside the transcripts: titles in Claude Code's own lists, and sessions that are gone.

Nothing heavy is imported before one of the lists may hold the words.
"""

from __future__ import annotations

import os
import re
import time

from clew.wire.walk import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.index.query import Query
    from clew.index.result import Result, Results
    from clew.index.search import Index

_HISTORY = "history.jsonl"
_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*\\u[0-9a-f]{4}")  # which may stand for any letter
_SESSION = re.compile(rb'"sessionid"\s*:\s*"([^"]+)"')  # in small letters, as the words are


def add_known(index: Index, query: Query, found: Results, limit: int, without: str | None, attic: str) -> Results:
    """The results with those of the lists and of the archive among them, best first.

    `attic` is the folder of archived sessions that are gone from the disk; empty if there is none.
    """
    more: list[Result] = []
    if query.wanted and _may_match(index.root, query):
        from clew.index.metadata import search_metadata

        more += search_metadata(index, query.with_default(index.default), without, time.time())
    if attic and query.wanted:
        more = _archived(query, limit, attic) + more
    known = set() if found.instead else {result.session for result in found}
    new: dict[str, Result] = {}
    for result in more:
        if result.session not in known:
            new.setdefault(result.session, result)
    if not new:
        return found
    merged = [*([] if found.instead else found), *new.values()]
    found.instead = ""
    found[:] = sorted(merged, key=lambda result: (result.is_scattered, -result.score, result.session))[:limit]
    return found


def _archived(query: Query, limit: int, attic: str) -> list[Result]:
    """The sessions in the archive alone that match."""
    from clew.index.search import Index

    with Index.open(attic) as index:
        index.refresh()
        results = index.search(query, limit)
        if results.instead:
            return []
        for result in results:
            result.gone = "archive"
        return list(results)


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


def sentence(result: Result) -> str:
    """The line below a result whose transcript is gone: where it is known from, and the next step if there is one."""
    from clew.index.metadata import WHERE

    about = f"only in {WHERE[result.gone]}: the transcript is gone"
    return f"{about}; bring it back with: {result.command}" if result.command else about
