"""Finding: from a query to sessions, in two steps.

First the matches of every shard with no more than it takes to rank them; then, for the sessions that won, all the rest.
"""

from __future__ import annotations

from clew.index.passage import Passage, cut, marks, text_at
from clew.index.rank import WEIGHT, passage_score, session_score
from clew.index.result import Result
from clew.index.schema import FIELDS, SAID
from clew.index.sql import conditions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import apsw

    from clew.index.query import Query

WINDOW = 1000  # of the matches in a table of a shard so many are ranked, the newest
PASSAGES = 3
FEWER = 250  # and so many of what tools said, when so much was found in what people and the model said
TOP = 64  # the matches of a session that are looked at for repetitions, and more if all of these are
SPARE = 5  # sessions beyond the limit that are looked at, because some fold into others
_HALVES = [WEIGHT[name] / 2 for name in FIELDS]
_FACTS = (
    "session, agent, path, folder, cwd, branches, models, started, ended, messages,"
    " custom, made, last, summary, first, command"
)


class Match:
    """The matches in one file: (score, number of the piece)."""

    __slots__ = ("best", "file", "hits", "shard")

    def __init__(self, shard: int, file: int, best: float) -> None:
        self.shard, self.file, self.best = shard, file, best
        self.hits: list[tuple[float, int]] = []


class Found:
    """The matches in one session."""

    __slots__ = ("agents", "ended", "matches", "messages", "score", "session", "tier")

    def __init__(self, session: str) -> None:
        self.session = session
        self.matches: list[Match] = []
        self.agents: set[str] = set()
        self.ended: int | None = None
        self.messages = -1
        self.score = 0.0
        self.tier = 0

    @property
    def count(self) -> int:
        return sum(len(match.hits) for match in self.matches)


def parents(shards: Sequence[apsw.Connection]) -> Iterator[str]:
    """The sessions that have agents."""
    for shard in shards:
        for (session,) in shard.execute("SELECT DISTINCT session FROM file WHERE agent<>''"):
            yield session


def matches(shards: Sequence[apsw.Connection], query: Query, window: int = WINDOW) -> list[Match]:
    """The newest matches of a query, by file; of all of them if the window is negative."""
    where, values = conditions(query, lambda: parents(shards)).on_pieces
    tables = _tables(query)
    answer: list[Match] = []
    for number, shard in enumerate(shards):
        found: dict[int, Match] = {}
        count = 0
        for table in tables:
            if count >= window > 0 and query.is_short:
                break
            left = FEWER if count >= FEWER and window > 0 else window
            if table == "piece":
                statement = f"SELECT p.id, p.file, p.field, -1.0 FROM piece p WHERE {where} ORDER BY p.id DESC LIMIT ?"
                rows = shard.execute(statement, (*values, left)).fetchall()
            else:
                relevance = f"bm25({table})" if not count else "-1.0"
                statement = (
                    f"SELECT {table}.rowid, p.file, p.field, {relevance} FROM {table} CROSS JOIN piece p"
                    f" WHERE {table} MATCH ? AND p.id={table}.rowid AND {where} ORDER BY {table}.rowid DESC LIMIT ?"
                )
                rows = shard.execute(statement, (query.match, *values, left)).fetchall()
            _gather(rows, (number, found), 1.0 if not count else 2.0)
            count += len(rows)
        answer += found.values()
    return answer


def _tables(query: Query) -> list[str]:
    if not query.clauses:
        return ["piece"]
    places = query.places
    names = (("said", SAID), ("done", FIELDS[len(SAID) :]))
    return [table for table, fields in names if any(place in fields for place in places)]


def _gather(rows: list[Any], where: tuple[int, dict[int, Match]], part: float) -> None:
    """Put matches to their files; relevance is measured against the best, or against a part of it."""
    shard, found = where
    best = part * min([row[3] for row in rows], default=-1.0)
    for number, file, field, rank in rows:
        score = _HALVES[field] * (1 + rank / best)
        match = found.get(file)
        if match is None:
            found[file] = match = Match(shard, file, score)
        elif score > match.best:
            match.best = score
        match.hits.append((score, number))


def sessions(shards: Sequence[apsw.Connection], found: Sequence[Match], without: str | None) -> dict[str, Found]:
    """Matches by session; an agent's are those of its parent."""
    by_file = {(match.shard, match.file): match for match in found}
    answer: dict[str, Found] = {}
    for number, shard in enumerate(shards):
        ids = ",".join(str(file) for place, file in by_file if place == number)
        for file, session, agent, ended, count in shard.execute(
            f"SELECT id, session, agent, ended, messages FROM file WHERE id IN ({ids})"
        ):
            if session == without:
                continue
            one = answer.get(session)
            if one is None:
                one = answer[session] = Found(session)
            one.matches.append(by_file[number, file])
            if agent:
                one.agents.add(agent)
            else:
                one.ended, one.messages = ended, count
    orphans = [one for one in answer.values() if one.messages < 0]
    if orphans:
        _adopt(shards, orphans)
    return answer


def _adopt(shards: Sequence[apsw.Connection], orphans: Sequence[Found]) -> None:
    """The facts of sessions of which only agents have matched."""
    for one in orphans:
        for shard in shards:
            row = shard.execute(
                "SELECT max(ended), sum(messages) FROM file WHERE session=? AND agent=''", (one.session,)
            ).fetchone()
            if row and row[1] is not None:
                one.ended, one.messages = row
        if one.messages < 0:
            agent = one.matches[0]
            statement = "SELECT ended, messages FROM file WHERE id=?"
            one.ended, one.messages = shards[agent.shard].execute(statement, (agent.file,)).fetchone() or (None, 0)


def rank(found: Iterable[Found], now: float) -> list[Found]:
    """Best first, by the formula; a session that has all words in one passage before one that has them apart."""
    answer = list(found)
    for one in answer:
        age = now - one.ended if one.ended else 0.0
        best = max(match.best for match in one.matches)
        in_agents_only = len(one.agents) == len(one.matches)
        one.score = session_score(best, age, one.count, one.messages, in_agents_only)
    answer.sort(key=lambda one: (one.tier, -one.score, one.session))
    return answer


def fold(shards: Sequence[apsw.Connection], ranked: list[Found], limit: int, now: float) -> list[Found]:
    """Leave out what a better session has already shown: files that were resumed or forked repeat their entries."""
    seen: set[tuple[int, int, int]] = set()
    answer: list[Found] = []
    for one in ranked:
        if len(answer) >= limit + SPARE:
            break
        for match in one.matches:
            match.hits.sort(reverse=True)
            top = _unseen(shards[match.shard], match.hits[:TOP], seen)
            rest = match.hits[TOP:]
            match.hits = top + (rest if top else _unseen(shards[match.shard], rest, seen))
            match.best = match.hits[0][0] if match.hits else 0.0
        one.matches = [match for match in one.matches if match.hits]
        if one.matches:
            answer.append(one)
    return rank(answer, now)[:limit]


def _unseen(
    shard: apsw.Connection, hits: list[tuple[float, int]], seen: set[tuple[int, int, int]]
) -> list[tuple[float, int]]:
    """The hits that no session before this one had."""
    ids = ",".join([str(number) for _, number in hits])
    nodes = {row[0]: row[1:] for row in shard.execute(f"SELECT id, node, part, field FROM piece WHERE id IN ({ids})")}
    kept = []
    for hit in hits:
        node = nodes.get(hit[1])
        if node is not None and (node[0] == 0 or node not in seen):
            kept.append(hit)
    seen.update(nodes.values())
    return kept


def every(shards: Sequence[apsw.Connection], query: Query) -> Iterator[Passage]:
    """Every match there is, unranked and without its text."""
    for match in matches(shards, query, -1):
        for score, number in match.hits:
            if passage := _passage(shards[match.shard], number, score):
                yield passage


def describe(shards: Sequence[apsw.Connection], one: Found, query: Query) -> Result:
    """A session with all that is told of it, and its best passages cut out of the transcripts."""
    result = facts(shards, one.session) or Result(one.session)
    result.score, result.matches, result.agents = one.score, one.count, one.agents
    result.in_agents_only = len(one.agents) == len(one.matches)
    result.is_scattered = bool(one.tier)
    hits = [(score, number, match) for match in one.matches for score, number in match.hits[:PASSAGES]]
    hits.sort(key=lambda hit: (-hit[0], -hit[1]))
    result.best = hits[0][0]
    for score, number, match in hits[:PASSAGES]:
        passage = _passage(shards[match.shard], number, score)
        if passage:
            _cut(passage, result, query)
            result.passages.append(passage)
    return result


def _passage(shard: apsw.Connection, number: int, score: float) -> Passage | None:
    row = shard.execute(
        "SELECT f.path, p.offset, p.field, t.name, p.failed, coalesce(p.time, f.ended), f.agent, p.part"
        " FROM piece p JOIN file f ON f.id=p.file LEFT JOIN tool t ON t.id=p.tool WHERE p.id=?",
        (number,),
    ).fetchone()
    if row is None:  # it has gone since
        return None
    path, offset, field, tool, failed, when, agent, part = row
    return Passage(
        path,
        offset,
        FIELDS[field],
        tool=tool or "",
        failed=bool(failed),
        time=when,
        agent=agent,
        part=part,
        score=score,
    )


def _cut(passage: Passage, result: Result, query: Query) -> None:
    if passage.offset < 0:
        passage.kind, passage.text, passage.marks = _title(result, query)
        return
    text = text_at(passage.path, passage.offset, passage.field, passage.part, query.terms)
    passage.text, passage.marks = cut(text, query.terms)


def _title(result: Result, query: Query) -> tuple[str, str, tuple[tuple[int, int], ...]]:
    """Which of the titles matched, and where."""
    found = [(kind, text, marks(text, query.terms)) for kind, text in result.titles]
    return max(found, key=lambda title: len(title[2]), default=("", result.title, ()))


def facts(shards: Sequence[apsw.Connection], session: str) -> Result | None:
    """What is known of a session; of one whose own file is missing, what its agents tell."""
    rows = [
        row
        for shard in shards
        for row in shard.execute(f"SELECT {_FACTS} FROM file WHERE session=? ORDER BY agent, ended DESC", (session,))
    ]
    return told(min(rows, key=lambda row: (row[1] != "", -(row[8] or 0)))) if rows else None


def told(row: Sequence[Any]) -> Result:
    """The facts of a row as a result without passages."""
    session, agent, path, folder, cwd, branches, models, started, ended, messages, *titles = row
    result = Result(session)
    result.path, result.folder, result.cwd = path, folder, cwd or ""
    result.branch, result.model = branches.split("\n")[-1], models.split("\n")[-1]
    result.started, result.ended = started, ended
    result.messages = messages
    result.agents = {agent} if agent else set()
    kinds = ("custom title", "title", "last prompt", "summary", "first prompt", "first command")
    result.titles = [(kind, text) for kind, text in zip(kinds, titles, strict=True) if text]
    result.title = result.titles[0][1] if result.titles else ""
    return result


def recent(
    shards: Sequence[apsw.Connection], query: Query, limit: int, without: str | None, now: float
) -> list[Result]:
    """The newest sessions that pass the filters; those in which nothing was said are none."""
    wanted = conditions(query, lambda: parents(shards))
    statement = (
        f"SELECT {_FACTS} FROM file f WHERE f.agent='' AND f.messages>0 AND f.session<>? AND {wanted.on_files}"
        " ORDER BY f.ended DESC LIMIT ?"
    )
    rows = [row for shard in shards for row in shard.execute(statement, (without or "", *wanted.file_values, limit))]
    rows.sort(key=lambda row: -(row[8] or 0))
    answer = []
    for row in rows[:limit]:
        result = told(row)
        age = now - result.ended if result.ended else 0.0
        result.best = passage_score("title", 1.0)
        result.score = session_score(result.best, age, 0, result.messages, False)
        answer.append(result)
    return answer
