"""Finding: from matches to sessions; for those that won, all that is told of them."""

from __future__ import annotations

from clew.index.fts_match import listed, matches, parents
from clew.index.index_schema import FIELDS, SAID, SIDE_FIELDS, shard_of
from clew.index.query_syntax import INPUTS
from clew.index.ranking import passage_score, session_score
from clew.index.results import SearchResult
from clew.index.snippet import Passage, cut, marks, text_at
from clew.index.sql_filters import conditions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import apsw

    from clew.index.fts_match import Match
    from clew.index.query_syntax import Query

PASSAGES = 3
TOP = 64  # the matches of a session that are looked at for repetitions, and more if all of these are
SPARE = 5  # sessions beyond the limit that are looked at, because some fold into others
_FACTS = (
    "session, agent, path, folder, cwd, branches, models, started, ended, messages,"
    " custom, made, last, summary, first, command"
)


class SessionMatches:
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
        return sum([len(match.hits) for match in self.matches])

    @property
    def said(self) -> int:
        """The matches that count for density."""
        return sum([match.said for match in self.matches]) or self.count


def sessions(
    shards: Sequence[apsw.Connection], found: Sequence[Match], without: str | None
) -> dict[str, SessionMatches]:
    """Matches by session; an agent's are those of its parent."""
    by_file = {(match.shard, match.file): match for match in found}
    answer: dict[str, SessionMatches] = {}
    for number, shard in enumerate(shards):
        ids = listed([file for place, file in by_file if place == number])
        for file, session, agent, ended, count, side in shard.execute(
            "SELECT id, session, agent, ended, messages, side FROM file WHERE id IN (SELECT value FROM json_each(?))",
            (ids,),
        ):
            if session == without:
                continue
            one = answer.get(session)
            if one is None:
                one = answer[session] = SessionMatches(session)
            one.matches.append(by_file[number, file])
            if agent:
                one.agents.add(agent)
            elif not side:
                one.ended, one.messages = ended, count
    orphans = [one for one in answer.values() if one.messages < 0]
    if orphans:
        _adopt(shards, orphans)
    return answer


def _adopt(shards: Sequence[apsw.Connection], orphans: Sequence[SessionMatches]) -> None:
    """The facts of sessions of which only agents have matched: those of their own files, else of the agents."""
    waiting = {one.session: one for one in orphans}
    names = "[" + ",".join(f'"{session}"' for session in waiting if session.replace("-", "").isalnum()) + "]"
    statement = (
        "SELECT session, ended, messages FROM file"
        " WHERE agent='' AND side='' AND session IN (SELECT value FROM json_each(?))"
    )
    for shard in shards:
        for session, ended, count in shard.execute(statement, (names,)):
            waiting[session].ended, waiting[session].messages = ended, count
    for one in orphans:
        if one.messages < 0:
            agent = one.matches[0]
            row = shards[agent.shard].execute("SELECT ended, messages FROM file WHERE id=?", (agent.file,)).fetchone()
            one.ended, one.messages = row or (None, 0)


def rank(found: Iterable[SessionMatches], now: float) -> list[SessionMatches]:
    """Best first, by the formula; a session that has all words in one passage before one that has them apart."""
    answer = list(found)
    for one in answer:
        age = now - one.ended if one.ended else 0.0
        best = max([match.best for match in one.matches])
        in_agents_only = len(one.agents) == len(one.matches)
        one.score = session_score(best, age, one.said, one.messages, in_agents_only)
    answer.sort(key=lambda one: (one.tier, -one.score, one.session))
    return answer


def fold(
    shards: Sequence[apsw.Connection], ranked: list[SessionMatches], limit: int, now: float
) -> list[SessionMatches]:
    """Leave out what a better session has already shown: files that were resumed or forked repeat their entries."""
    seen: set[tuple[int, int, int]] = set()
    answer: list[SessionMatches] = []
    step = limit + SPARE
    for start in range(0, len(ranked), step):
        several = ranked[start : start + step]
        nodes = _nodes(shards, several, TOP)
        for one in several:
            if not _leave_unseen(one, nodes, seen, TOP):
                more = _nodes(shards, [one], None)
                _leave_unseen(one, more, seen, None)
            if any(match.hits for match in one.matches):
                one.matches = [match for match in one.matches if match.hits]
                answer.append(one)
        if len(answer) >= limit:
            break
    return rank(answer, now)[:limit]


def _nodes(
    shards: Sequence[apsw.Connection], several: Sequence[SessionMatches], top: int | None
) -> list[dict[int, Any]]:
    """The entry that each of the best matches stands in, by its number, for each shard."""
    numbers: list[list[int]] = [[] for _ in shards]
    for one in several:
        for match in one.matches:
            match.hits.sort(reverse=True)
            numbers[match.shard] += [number for _, number in match.hits[:top]]
    statement = "SELECT id, node, part, field FROM piece WHERE id IN (SELECT value FROM json_each(?))"
    return [
        {row[0]: row[1:] for row in shard.execute(statement, (listed(mine),))}
        for shard, mine in zip(shards, numbers, strict=True)
    ]


def _leave_unseen(
    one: SessionMatches, nodes: list[dict[int, Any]], seen: set[tuple[int, int, int]], top: int | None
) -> bool:
    """Take out the matches that were seen before; false if more than the top have to be looked at to tell."""
    mine: list[tuple[int, int, int]] = []
    kept: list[tuple[list[tuple[float, int]], int]] = []
    for match in one.matches:
        known = nodes[match.shard]
        hits = []
        repeated = 0
        for hit in match.hits[:top]:
            node = known.get(hit[1])
            if node is None:  # it has gone since
                hits.append(hit)
            elif node[0] == 0 or node not in seen:
                hits.append(hit)
                mine.append(node)
            else:
                repeated += node[2] < len(SAID)
        kept.append((hits if top is None else hits + match.hits[top:], repeated))
    if not mine and any(hits for hits, _ in kept):
        return False
    for match, (hits, repeated) in zip(one.matches, kept, strict=True):
        match.hits, match.best = hits, hits[0][0] if hits else 0.0
        match.said -= repeated
    seen.update(mine)
    return True


def every(shards: Sequence[apsw.Connection], query: Query) -> Iterator[Passage]:
    """Every match there is, unranked and without its text."""
    hits = [(match.shard, number) for match in matches(shards, query) for _, number in match.hits]
    yield from _passages(shards, hits).values()


def describe(
    shards: Sequence[apsw.Connection], winners: Sequence[SessionMatches], query: Query
) -> Iterator[SearchResult]:
    """Sessions with all that is told of them, and their best passages cut out of the transcripts."""
    best = {one.session: _best(one) for one in winners}
    passages = _passages(shards, [(match.shard, number) for hits in best.values() for _, number, match in hits])
    for one in winners:
        result = facts(shards, one.session) or SearchResult(one.session)
        result.score, result.matches, result.agents = one.score, one.count, one.agents
        result.in_agents_only = len(one.agents) == len(one.matches)
        result.is_scattered = bool(one.tier)
        result.best = best[one.session][0][0]
        for score, number, match in best[one.session]:
            passage = passages.get((match.shard, number))
            if passage:
                passage.score = score
                _cut(passage, result, query)
                result.passages.append(passage)
        yield result


def _best(one: SessionMatches) -> list[tuple[float, int, Match]]:
    hits = [(score, number, match) for match in one.matches for score, number in match.hits[:PASSAGES]]
    hits.sort(key=lambda hit: (-hit[0], -hit[1]))
    return hits[:PASSAGES]


def _passages(shards: Sequence[apsw.Connection], hits: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Passage]:
    """Where matches stand, by shard and number; those that have gone since are left out."""
    found = {}
    for place, shard in enumerate(shards):
        rows = shard.execute(
            "SELECT p.id, f.path, p.offset, p.field, t.name, p.failed, coalesce(p.time, f.ended), f.agent, p.part,"
            " p.round, p.input"
            " FROM json_each(?) j CROSS JOIN piece p ON p.id=j.value CROSS JOIN file f ON f.id=p.file"
            " LEFT JOIN tool t ON t.id=p.tool",
            (listed([number for where, number in hits if where == place]),),
        )
        for number, path, offset, field, tool, failed, when, agent, part, asked, kind in rows:
            passage = Passage(path, offset, FIELDS[field], tool=tool or "", failed=bool(failed), time=when)
            passage.agent, passage.part, passage.round = agent, part, asked
            passage.input = INPUTS[kind - 1] if kind else ""
            found[place, number] = passage
    return found


def _cut(passage: Passage, result: SearchResult, query: Query) -> None:
    if passage.field in SIDE_FIELDS:
        from clew.index.work_items import side_text

        passage.text, passage.marks = cut(side_text(passage.path, passage.field), query.terms)
        return
    if passage.offset < 0:
        passage.kind, passage.text, passage.marks = _title(result, query)
        return
    text = text_at(passage.path, passage.offset, passage.field, passage.part, query.terms)
    passage.text, passage.marks = cut(text, query.terms)
    first = dict(result.titles).get("first prompt", "").rstrip("…")
    if passage.field == "prompt" and first and " ".join(text.split()).startswith(first):
        passage.kind = "first prompt"


def _title(result: SearchResult, query: Query) -> tuple[str, str, tuple[tuple[int, int], ...]]:
    """Which of the titles matched, and where."""
    found = [(kind, text, marks(text, query.terms)) for kind, text in result.titles]
    return max(found, key=lambda title: len(title[2]), default=("", result.title, ()))


def facts(shards: Sequence[apsw.Connection], session: str) -> SearchResult | None:
    """What is known of a session; of one whose own file is missing, what its agents tell."""
    home = shard_of(session, "")
    for whose in ("agent=''", "agent>''"):
        statement = f"SELECT {_FACTS} FROM file WHERE session=? AND side='' AND {whose} ORDER BY ended DESC LIMIT 1"
        for number in (home, *(n for n in range(len(shards)) if n != home)):
            row = shards[number].execute(statement, (session,)).fetchone()
            if row:
                return told(row)
    return None


def told(row: Sequence[Any]) -> SearchResult:
    """The facts of a row as a result without passages."""
    session, agent, path, folder, cwd, branches, models, started, ended, messages, *titles = row
    result = SearchResult(session)
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
) -> list[SearchResult]:
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
