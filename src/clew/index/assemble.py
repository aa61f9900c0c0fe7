"""Turn full-text matches into ranked sessions with their facts and snippets."""

from __future__ import annotations

from clew.index.entry_text import read_text
from clew.index.fts_match import find_matches, json_list, json_texts
from clew.index.index_schema import SIDE_FIELDS, SPOKEN_FIELDS
from clew.index.indexed_sessions import find_session, find_sessions
from clew.index.query_syntax import INPUTS, SEARCH_FIELDS
from clew.index.ranking import session_score, sort_by_score
from clew.index.results import SearchResult
from clew.index.snippet import Passage, cut, find_marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import apsw

    from clew.index.fts_match import FileMatches
    from clew.index.query_syntax import Query

    _PieceKey = tuple[Any, ...]

MAX_PASSAGES = 3
FOLD_DEPTH = 64  # best matches of a session that are compared with other sessions; all of them if these are repetitions
SPARE_SESSIONS = 5  # candidates beyond the limit, because some consist of repetitions only
_MAX_WORD = 100  # characters; a snippet with longer words may show base64, which is not searchable
_OWNERS = "SELECT id, session, agent, ended, messages, side FROM file WHERE id IN (SELECT value FROM json_each(?))"
_BEGINNINGS = (
    "SELECT id, started, first FROM file WHERE first<>'' AND started<ended AND id IN (SELECT value FROM json_each(?))"
)


class SessionMatches:
    """The matches in one session; `grade` is the tightest reading of the query that it matches, `query` the best one."""

    __slots__ = (
        *("agents", "copies", "copy_of", "covered", "ended", "grade", "matches", "messages", "missing", "query"),
        *("score", "session"),
    )

    def __init__(self, session: str) -> None:
        self.session = session
        self.matches: list[FileMatches] = []
        self.agents: set[str] = set()
        self.ended: int | None = None
        self.messages = -1
        self.score = 0.0
        self.grade = "exact"
        self.query: Query | None = None
        self.missing: list[str] = []  # words that its best passage lacks
        self.covered = 1.0  # how much of the query its best passage has, by the weight of the words
        self.copies: list[str] = []  # sessions whose matches are all shown by this one
        self.copy_of: SessionMatches | None = None  # a session that shows some of its matches

    @property
    def count(self) -> int:
        return sum([len(match.hits) for match in self.matches])

    def update_score(self, now: float) -> None:
        """Compute the score from the matches. For density those outside tools count, or all if there are no others."""
        best, spoken_hits = 0.0, 0
        for match in self.matches:
            spoken_hits += match.spoken_hits
            if match.best > best:
                best = match.best
        age = now - self.ended if self.ended else 0.0
        in_agents_only = len(self.agents) == len(self.matches)
        self.score = session_score(best, age, spoken_hits or self.count, self.messages, in_agents_only)


def group_by_session(
    shards: Sequence[apsw.Connection], matches: Sequence[FileMatches], without: str | None
) -> dict[str, SessionMatches]:
    """Group matches by session; the matches of an agent count for its parent session."""
    by_session: dict[str, SessionMatches] = {}
    for number, shard in enumerate(shards):
        by_file = {match.file: match for match in matches if match.shard == number}
        for file, session, agent, ended, count, side in shard.execute(_OWNERS, (json_list(by_file),)):
            if session == without:
                continue
            candidate = by_session.get(session)
            if candidate is None:
                candidate = by_session[session] = SessionMatches(session)
            candidate.matches.append(by_file[file])
            if agent:
                candidate.agents.add(agent)
            elif not side:
                candidate.ended, candidate.messages = ended, count
    orphans = [candidate for candidate in by_session.values() if candidate.messages < 0]
    if orphans:
        _fill_missing_facts(shards, orphans)
    return by_session


def _fill_missing_facts(shards: Sequence[apsw.Connection], orphans: Sequence[SessionMatches]) -> None:
    """Set end and message count of sessions of which only agents matched: from their own file, else from the
    agent's.
    """
    by_session = {candidate.session: candidate for candidate in orphans}
    ids = json_texts(by_session)
    statement = (
        "SELECT session, ended, messages FROM file"
        " WHERE agent='' AND side='' AND session IN (SELECT value FROM json_each(?))"
    )
    for shard in shards:
        for session, ended, count in shard.execute(statement, (ids,)):
            by_session[session].ended, by_session[session].messages = ended, count
    for candidate in orphans:
        if candidate.messages < 0:
            agent = candidate.matches[0]
            row = shards[agent.shard].execute("SELECT ended, messages FROM file WHERE id=?", (agent.file,)).fetchone()
            candidate.ended, candidate.messages = row or (None, 0)


def rank_sessions(candidates: Iterable[SessionMatches], now: float) -> list[SessionMatches]:
    """Score and sort sessions, best first."""
    ranked = list(candidates)
    for candidate in ranked:
        candidate.update_score(now)
    sort_by_score(ranked)
    return ranked


def fold_repeats(
    shards: Sequence[apsw.Connection],
    ranked: list[SessionMatches],
    limit: int,
    now: float,
    page_size: int | None = None,
) -> list[SessionMatches]:
    """Drop matches that a better session shows already, since resumed, forked and cloned files repeat their entries.
    A session without further matches is listed as a copy of that one.

    The order within a page does not depend on how many pages there are: dropping lowers scores, so each page is sorted
    by itself.
    """
    page_size = page_size or limit
    shown: dict[_PieceKey, SessionMatches] = {}
    pages: list[SessionMatches] = []
    remaining: list[SessionMatches] = []
    step = page_size + SPARE_SESSIONS
    for start in range(0, len(ranked), step):
        batch = ranked[start : start + step]
        nodes, beginnings = _load_nodes(shards, batch, FOLD_DEPTH), _load_beginnings(shards, batch)
        for candidate in batch:
            if not _drop_repeats(candidate, nodes, beginnings, shown, FOLD_DEPTH):
                _drop_repeats(candidate, _load_nodes(shards, [candidate], None), beginnings, shown, None)
            if any(match.hits for match in candidate.matches):
                candidate.matches = [match for match in candidate.matches if match.hits]
                remaining.append(candidate)
            elif candidate.copy_of is not None:
                candidate.copy_of.copies.append(candidate.session)
        if len(remaining) >= page_size:
            pages += rank_sessions(remaining, now)
            remaining = []
        if len(pages) >= limit:
            break
    return [*pages, *rank_sessions(remaining, now)][:limit]


def _load_beginnings(
    shards: Sequence[apsw.Connection], candidates: Sequence[SessionMatches]
) -> dict[tuple[int, int], _PieceKey]:
    """Return the time and text of the first prompt of each (shard, file): copies of a conversation share them."""
    beginnings = {}
    for number, shard in enumerate(shards):
        ids = [match.file for candidate in candidates for match in candidate.matches if match.shard == number]
        for file, *beginning in shard.execute(_BEGINNINGS, (json_list(ids),)):
            beginnings[number, file] = tuple(beginning)
    return beginnings


def _load_nodes(
    shards: Sequence[apsw.Connection], candidates: Sequence[SessionMatches], top: int | None
) -> list[dict[int, Any]]:
    """Return for each shard {piece id: (node, part, field, time)} of the best matches of some sessions."""
    ids: list[list[int]] = [[] for _ in shards]
    for candidate in candidates:
        for match in candidate.matches:
            match.hits.sort(reverse=True)
            ids[match.shard] += [number for _, number in match.hits[:top]]
    statement = "SELECT id, node, part, field, time FROM piece WHERE id IN (SELECT value FROM json_each(?))"
    return [
        {row[0]: row[1:] for row in shard.execute(statement, (json_list(shard_ids),))}
        for shard, shard_ids in zip(shards, ids, strict=True)
    ]


def _drop_repeats(
    candidate: SessionMatches,
    nodes: list[dict[int, Any]],
    beginnings: dict[tuple[int, int], _PieceKey],
    shown: dict[_PieceKey, SessionMatches],
    top: int | None,
) -> bool:
    """Remove matches that were shown before. Return False if the top matches do not suffice to decide.

    Two matches are the same if their entries have the same uuid (their `node`), or, since clones have new uuids, the same
    time in files with the same beginning.
    """
    new_keys: list[_PieceKey] = []
    is_new = False
    remaining: list[tuple[list[tuple[float, int]], int]] = []
    for match in candidate.matches:
        shard_nodes, beginning = nodes[match.shard], beginnings.get((match.shard, match.file))
        hits = []
        repeated = 0
        for hit in match.hits[:top]:
            node = shard_nodes.get(hit[1])
            if node is None:  # deleted in the meantime
                hits.append(hit)
                continue
            in_copy = (beginning, *node[1:]) if beginning else node
            owner = (shown.get(node) if node[0] else None) or (shown.get(in_copy) if beginning else None)
            if owner is not None:
                repeated += node[2] < len(SPOKEN_FIELDS)
                candidate.copy_of = candidate.copy_of or owner
                continue
            hits.append(hit)
            is_new = True
            new_keys.append(node)
            if beginning:
                new_keys.append(in_copy)
        remaining.append((hits if top is None else hits + match.hits[top:], repeated))
    if not is_new and any(hits for hits, _ in remaining):
        return False
    for match, (hits, repeated) in zip(candidate.matches, remaining, strict=True):
        match.hits, match.best = hits, hits[0][0] if hits else 0.0
        match.spoken_hits -= repeated
    for key in new_keys:
        shown[key] = candidate
    return True


def iter_passages(shards: Sequence[apsw.Connection], query: Query) -> Iterator[Passage]:
    """Yield every match, unranked and without its text."""
    hits = [(match.shard, number) for match in find_matches(shards, query) for _, number in match.hits]
    yield from _load_passages(shards, hits).values()


def describe_sessions(
    shards: Sequence[apsw.Connection], winners: Sequence[SessionMatches], query: Query
) -> Iterator[SearchResult]:
    """Yield a result for each session, with its facts and its best snippets for its own reading of the query."""
    best = [_best_hits(candidate) for candidate in winners]
    passages = _load_passages(shards, [(match.shard, number) for hits in best for _, number, match in hits])
    known = find_sessions(shards, [candidate.session for candidate in winners])
    for candidate, hits in zip(winners, best, strict=True):
        result = known.get(candidate.session) or SearchResult(candidate.session)
        result.score, result.matches, result.agents = candidate.score, candidate.count, candidate.agents
        result.in_agents_only = len(candidate.agents) == len(candidate.matches)
        result.grade, result.missing, result.copies = candidate.grade, candidate.missing, candidate.copies
        result.covered = candidate.covered
        result.best = hits[0][0]
        for score, number, match in hits:
            passage = passages.get((match.shard, number))
            if passage:
                passage.score = score
                _set_snippet(passage, result, candidate.query or query)
                result.passages.append(passage)
        yield result


def _best_hits(candidate: SessionMatches) -> list[tuple[float, int, FileMatches]]:
    hits = [(score, number, match) for match in candidate.matches for score, number in match.hits[:MAX_PASSAGES]]
    hits.sort(key=lambda hit: (-hit[0], -hit[1]))
    return hits[:MAX_PASSAGES]


def best_text(shards: Sequence[apsw.Connection], candidate: SessionMatches, query: Query) -> str:
    """Return the text of the best passage of a session."""
    _, number, match = max((score, number, match) for match in candidate.matches for score, number in match.hits)
    passage = _load_passages(shards, [(match.shard, number)]).get((match.shard, number))
    if passage is None:  # deleted in the meantime
        return ""
    if passage.offset < 0:
        result = find_session(shards, candidate.session)
        return "\n".join(text for _, text in result.titles) if result else ""
    if passage.field in SIDE_FIELDS:
        from clew.index.work_items import read_side_text

        return read_side_text(passage.path, passage.field)
    return read_text(passage.path, passage.offset, passage.field, passage.part, query.terms)


def _load_passages(
    shards: Sequence[apsw.Connection], hits: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Passage]:
    """Load the positions of matches, keyed by (shard, piece id). Pieces deleted in the meantime are missing."""
    passages = {}
    for shard_index, shard in enumerate(shards):
        rows = shard.execute(
            "SELECT p.id, f.path, p.offset, p.field, t.name, p.failed, coalesce(p.time, f.ended), f.agent, p.part,"
            " p.round, p.input"
            " FROM json_each(?) j CROSS JOIN piece p ON p.id=j.value CROSS JOIN file f ON f.id=p.file"
            " LEFT JOIN tool t ON t.id=p.tool",
            (json_list([number for hit_shard, number in hits if hit_shard == shard_index]),),
        )
        for number, path, offset, field, tool, failed, when, agent, part, round_number, input_number in rows:
            passage = Passage(path, offset, SEARCH_FIELDS[field], tool=tool or "", failed=bool(failed), time=when)
            passage.agent, passage.part, passage.round = agent, part, round_number
            passage.input = INPUTS[input_number - 1] if input_number else ""
            passages[shard_index, number] = passage
    return passages


def _set_snippet(passage: Passage, result: SearchResult, query: Query) -> None:
    if passage.field in SIDE_FIELDS:
        from clew.index.work_items import read_side_text

        passage.text, passage.marks = cut(read_side_text(passage.path, passage.field), query.terms)
        return
    if passage.offset < 0:
        passage.kind, passage.text, passage.marks = _best_title(result, query)
        return
    text = read_text(passage.path, passage.offset, passage.field, passage.part, query.terms)
    passage.text, passage.marks = cut(text, query.terms)
    if max(map(len, passage.text.split()), default=0) > _MAX_WORD:
        from clew.index.base64_filter import strip_base64

        passage.text, passage.marks = cut(strip_base64(text), query.terms)
    first = dict(result.titles).get("first prompt", "").rstrip("…")
    if passage.field == "prompt" and first and " ".join(text.split(None, first.count(" ") + 1)).startswith(first):
        passage.kind = "first prompt"


def _best_title(result: SearchResult, query: Query) -> tuple[str, str, tuple[tuple[int, int], ...]]:
    """Return the kind, text and marks of the title with the most matches."""
    titles = [(kind, text, find_marks(text, query.terms)) for kind, text in result.titles]
    return max(titles, key=lambda title: len(title[2]), default=("", result.title, ()))
