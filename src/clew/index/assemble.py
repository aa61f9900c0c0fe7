"""Turn full-text matches into ranked sessions with their facts and snippets."""

from __future__ import annotations

from itertools import compress

from clew.index.entry_text import read_text
from clew.index.fts_match import find_matches, is_spoken, json_list, json_texts
from clew.index.index_schema import SIDE_FIELDS
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

    from clew.index.fts_match import FileMatches, Hit
    from clew.index.index_schema import Shard
    from clew.index.query_syntax import Query

    _PieceKey = tuple[Any, ...]

MAX_PASSAGES = 3
FOLD_DEPTH = 64  # best matches of a session that are compared with other sessions; all of them if these are repetitions
SPARE_SESSIONS = 5  # candidates beyond the limit, because some consist of repetitions only
_MAX_WORD = 100  # characters; a snippet with longer words may show base64, which is not searchable


class SessionMatches:
    """The matches in one session; `grade` is the tightest reading of the query that it matches, `query` the best one."""

    agents: frozenset[str] = frozenset()
    ended: int | None = None
    messages = -1
    score = 0.0
    grade = "exact"
    query: Query | None = None
    missing: Sequence[str] = ()  # words that its best passage lacks
    covered = 1.0  # how much of the query its best passage has, by the weight of the words
    copies: Sequence[str] = ()  # sessions whose matches are all shown by this one
    copy_of: SessionMatches | None = None  # a session that shows some of its matches

    def __init__(self, session: str) -> None:
        self.session = session
        self.matches: list[FileMatches] = []

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
    shards: Sequence[Shard], matches: Sequence[FileMatches], without: str | None
) -> dict[str, SessionMatches]:
    """Group matches by session; the matches of an agent count for its parent session."""
    by_session: dict[str, SessionMatches] = {}
    for number, shard in enumerate(shards):
        by_file = {match.file: match for match in matches if match.shard == number}
        rows = shard.find_files(list(by_file))
        for file in sorted(by_file):
            if file not in rows:  # deleted in the meantime
                continue
            _, session, agent, ended, count, side, started, first = rows[file]
            if session == without:
                continue
            candidate = by_session.get(session)
            if candidate is None:
                candidate = by_session[session] = SessionMatches(session)
            match = by_file[file]
            candidate.matches.append(match)
            if started is not None:
                match.beginning = started, first
            if agent:
                candidate.agents |= {agent}
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
        candidates = ranked[start : start + step]
        for candidate in candidates:
            for match in candidate.matches:
                match.hits.sort(reverse=True)
        places = _load_places(shards, candidates, FOLD_DEPTH)
        for candidate in candidates:
            if not _drop_repeats(candidate, places, shown, FOLD_DEPTH):
                _drop_repeats(candidate, _load_places(shards, [candidate], None), shown, None)
            if any(match.hits for match in candidate.matches):
                candidate.matches = [match for match in candidate.matches if match.hits]
                remaining.append(candidate)
            elif candidate.copy_of is not None:
                candidate.copy_of.copies = [*candidate.copy_of.copies, candidate.session]
        if len(remaining) >= page_size:
            pages += rank_sessions(remaining, now)
            remaining = []
        if len(pages) >= limit:
            break
    return [*pages, *rank_sessions(remaining, now)][:limit]


def _load_places(
    shards: Sequence[apsw.Connection], candidates: Sequence[SessionMatches], top: int | None
) -> list[dict[int, _PieceKey]]:
    """Return the places of the top matches of some sessions, for each shard by piece id: node, part, field and time.
    They are the same in a copy of an entry.
    """
    statement = "SELECT p.id, p.node, p.part, p.field, p.time FROM json_each(?) j CROSS JOIN piece p ON p.id=j.value"
    places: list[dict[int, _PieceKey]] = []
    for number, shard in enumerate(shards):
        matches = [match for candidate in candidates for match in candidate.matches if match.shard == number]
        ids = json_list([piece for match in matches for _, piece in match.hits[:top]])
        places.append({row[0]: row[1:] for row in shard.execute(statement, (ids,))})
    return places


def _drop_repeats(
    candidate: SessionMatches,
    all_places: list[dict[int, _PieceKey]],
    shown: dict[_PieceKey, SessionMatches],
    top: int | None,
) -> bool:
    """Remove matches that were shown before. Return False if the top matches do not suffice to decide.

    Two matches are the same if their entries have the same uuid (their `node`), or, since clones have new uuids, the same
    time in files with the same beginning.
    """
    new_keys: list[_PieceKey] = []
    remaining: list[tuple[list[Hit], int]] = []
    for match in candidate.matches:
        beginning = match.beginning
        known = all_places[match.shard]
        hits = [hit for hit in match.hits[:top] if hit[1] in known]
        places = [known[piece] for _, piece in hits]
        in_copies = [(beginning, *place[1:]) for place in places] if beginning else []
        repeated = 0
        owners = _find_owners(places, in_copies, shown)
        if any(owners):
            repeated = sum(is_spoken(piece) for (_, piece), owner in zip(hits, owners, strict=True) if owner)
            candidate.copy_of = candidate.copy_of or next(filter(None, owners))
            is_new = [owner is None for owner in owners]
            hits, places, in_copies = (list(compress(column, is_new)) for column in (hits, places, in_copies))
        new_keys += places
        new_keys += in_copies
        remaining.append((hits if top is None else hits + match.hits[top:], repeated))
    if not new_keys and any(hits for hits, _ in remaining):
        return False
    for match, (hits, repeated) in zip(candidate.matches, remaining, strict=True):
        match.hits, match.best = hits, hits[0][0] if hits else 0.0
        match.spoken_hits -= repeated
    shown.update(dict.fromkeys(new_keys, candidate))
    return True


def _find_owners(
    places: Sequence[_PieceKey], in_copies: Sequence[_PieceKey], shown: dict[_PieceKey, SessionMatches]
) -> list[SessionMatches | None]:
    """Return the session that shows each place, or the same place of a copy; [] if none of them is shown."""
    if shown.keys().isdisjoint(places) and shown.keys().isdisjoint(in_copies):
        return []
    owners = [shown.get(place) if place[0] else None for place in places]
    if in_copies:
        owners = [owner or shown.get(place) for owner, place in zip(owners, in_copies, strict=True)]
    return owners


def iter_passages(shards: Sequence[Shard], query: Query) -> Iterator[Passage]:
    """Yield every match, unranked and without its text."""
    hits = [(match.shard, piece) for match in find_matches(shards, query) for _, piece in match.hits]
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
        result.score, result.matches, result.agents = candidate.score, candidate.count, set(candidate.agents)
        result.in_agents_only = len(candidate.agents) == len(candidate.matches)
        result.grade, result.missing, result.copies = candidate.grade, list(candidate.missing), list(candidate.copies)
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
    hits = [(score, piece, match) for match in candidate.matches for score, piece in match.hits[:MAX_PASSAGES]]
    hits.sort(key=lambda hit: (-hit[0], -hit[1]))
    return hits[:MAX_PASSAGES]


def best_text(shards: Sequence[apsw.Connection], candidate: SessionMatches, query: Query) -> str:
    """Return the text of the best passage of a session."""
    _, number, match = max((score, piece, match) for match in candidate.matches for score, piece in match.hits)
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
    if passage.field == "prompt":
        first = dict(result.titles).get("first prompt", "").rstrip("…")
        if first and " ".join(text.split(None, first.count(" ") + 1)).startswith(first):
            passage.kind = "first prompt"


def _best_title(result: SearchResult, query: Query) -> tuple[str, str, tuple[tuple[int, int], ...]]:
    """Return the kind, text and marks of the title with the most matches."""
    titles = [(kind, text, find_marks(text, query.terms)) for kind, text in result.titles]
    return max(titles, key=lambda title: len(title[2]), default=("", result.title, ()))
