"""Searching: the index as it is used.

    with Index.open() as index:
        for result in index.search("retry backoff tool:Bash since:30d", limit=5): ...

Every search first brings the index up to date, within a time budget, and says if it could not. This path imports nothing
heavy, so that a search is answered in the time that Python takes to start; reading what is new loads the rest.
"""

from __future__ import annotations

import os
import time

import apsw

from clew.index.passage import Passage, cut, line_at, marks
from clew.index.query import Query, parse
from clew.index.rank import passage_score, session_score
from clew.index.schema import FIELDS, SAID, SHARDS, folder_of, open_shard, shard_of
from clew.index.state import stale
from clew.wire.home import cache_home, claude_home
from clew.wire.walk import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any

WINDOW = 2000  # of the matches in a table so many are ranked, the newest
PASSAGES = 3


class Refreshed:
    """What a refresh did: files read, passages added, and whether everything is in the index now."""

    __slots__ = ("files", "is_complete", "left", "pieces", "rebuilt")

    def __init__(self, files: int = 0, pieces: int = 0, is_complete: bool = True, left: int = 0) -> None:
        self.files, self.pieces, self.is_complete, self.left = files, pieces, is_complete, left
        self.rebuilt = False


class Result:
    """A session that answers a query, with its best passages first."""

    __slots__ = (
        *("agents", "best", "branch", "cwd", "ended", "folder", "in_agents_only", "matches", "messages"),
        *("passages", "path", "score", "session", "title"),
    )

    def __init__(self, session: str) -> None:
        self.session = session
        self.title = self.cwd = self.branch = self.folder = self.path = ""
        self.ended: int | None = None
        self.messages = self.matches = 0
        self.best = self.score = 0.0
        self.in_agents_only = True
        self.agents: set[str] = set()
        self.passages: list[Passage] = []

    @property
    def command(self) -> str:
        """How to go on with it, from the folder `cwd`."""
        return f"claude -r {self.session}"


class Index:
    """The index over one folder of Claude Code."""

    def __init__(self, root: str, folder: str) -> None:
        self.root = root
        self.folder = folder
        opened = [open_shard(os.path.join(folder, f"{number}.db")) for number in range(SHARDS)]
        self.shards = [shard for shard, _ in opened]
        self.is_new = any(made for _, made in opened)

    @classmethod
    def open(cls, claude: str | os.PathLike[str] | None = None, cache: str | None = None) -> Index:
        root = claude_home(claude)
        return cls(root, folder_of(root, cache or cache_home()))

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for shard in self.shards:
            shard.close()

    def refresh(self, budget: float | None = None, progress: Callable[[int, int], None] | None = None) -> Refreshed:
        """Read what has changed since the last time, for at most `budget` seconds; `progress` hears (done, all) bytes."""
        files = list(walk(self.root))
        groups = [[f for f in files if shard_of(f.session, f.path) == number] for number in range(SHARDS)]
        waiting = [stale(shard, group) for shard, group in zip(self.shards, groups, strict=True)]
        if not any(changed or gone for changed, gone, _ in waiting):
            return Refreshed()
        from clew.index.build import build

        return build(self, groups, [changed for changed, _, _ in waiting], budget, progress)

    def search(
        self, text: str | Query, limit: int = 10, *, without: str | None = None, now: float | None = None
    ) -> list[Result]:
        """The best sessions for a query; `without` is one to leave out, as the session that asks."""
        query = parse(text) if isinstance(text, str) else text
        moment = time.time() if now is None else now
        found = self._found(query, without)
        for result in found:
            age = moment - result.ended if result.ended else 0.0
            result.score = session_score(result.best, age, result.matches, result.messages, result.in_agents_only)
        found.sort(key=lambda r: (-r.score, r.session))
        for result in found[:limit]:
            _cut_out(result, query)
        return found[:limit]

    def _found(self, query: Query, without: str | None) -> list[Result]:
        sessions: dict[str, Result] = {}
        seen: dict[tuple[int, int, int], str] = {}
        for shard in self.shards:
            names = dict(shard.execute("SELECT id, name FROM tool"))
            for row in _rows(shard, query):
                if row[0] != without:
                    _collect(row, sessions, seen, names)
        return [result for result in sessions.values() if result.matches]


def _rows(shard: apsw.Connection, query: Query) -> Iterable[tuple[Any, ...]]:
    """Matches with what is known of their session; without words every session that passes the filters."""
    from clew.index.sql import conditions

    where, values = conditions(query)
    if not query.clauses:
        only = "" if query.is_about_pieces else " AND p.field=0"
        statement = f"SELECT {_ROW}, 0.0 FROM piece p JOIN file f ON f.id=p.file WHERE {where}{only}"
        yield from shard.execute(f"{statement} ORDER BY p.time DESC LIMIT {WINDOW}", values)
        return
    cold = shard.execute("SELECT value FROM note WHERE key='cold'").get or 0
    for table in ("said", "done"):
        if not any((place in SAID) == (table == "said") for place in query.places):
            continue
        left = WINDOW
        for span, order in (("> ?", "DESC"), ("<= ?", "ASC")):
            statement = (
                f"SELECT {_ROW}, bm25({table}) FROM {table} JOIN piece p ON p.id={table}.rowid JOIN file f ON f.id=p.file"
                f" WHERE {table} MATCH ? AND {table}.rowid {span} AND {where} ORDER BY {table}.rowid {order} LIMIT ?"
            )
            for row in shard.execute(statement, (query.match, cold, *values, left)):
                left -= 1
                yield row


_ROW = """f.session, f.path, f.agent, f.folder, coalesce(f.custom, f.made, f.last, f.summary, f.first, ''), f.cwd, f.branches,
 f.ended, f.messages, p.offset, p.part, p.field, p.tool, p.failed, p.time, p.node"""


def _collect(
    row: tuple[Any, ...], sessions: dict[str, Result], seen: dict[tuple[int, int, int], str], tools: dict[int, str]
) -> None:
    """Put a match to its session; an entry that several files repeat counts in the first that was found."""
    session, path, agent, folder, title, cwd, branches, ended, messages = row[:9]
    offset, part, field, tool, failed, when, node, rank = row[9:]
    if node and seen.setdefault((node, part, field), path) != path:
        return
    result = sessions.get(session)
    if result is None:
        result = sessions[session] = Result(session)
    if not agent or not result.path:
        result.path, result.folder, result.cwd, result.title = path, folder, cwd or "", title
        result.branch, result.messages = branches.split("\n")[-1], messages
    if not agent:
        result.in_agents_only = False
    else:
        result.agents.add(agent)
    result.ended = max(result.ended or 0, ended or 0) or None
    result.matches += 1
    name = FIELDS[field]
    score = passage_score(name, -rank) if rank else passage_score(name, 1.0)
    result.best = max(result.best, score)
    passage = Passage(
        path, offset, name, tool=tools.get(tool, ""), failed=bool(failed), time=when, agent=agent, score=score
    )
    result.passages.append(passage)


def _cut_out(result: Result, query: Query) -> None:
    """The best passages of a result, cut out of the transcripts."""
    result.passages.sort(key=lambda p: (-p.score, -(p.time or 0), p.offset))
    del result.passages[PASSAGES:]
    for passage in result.passages:
        if passage.offset < 0:
            passage.text, passage.marks = result.title, marks(result.title, query.words)
        else:
            passage.text, passage.marks = cut(line_at(passage.path, passage.offset), query.words)
