"""Read what the index knows about sessions from the rows of `file`."""

from __future__ import annotations

from clew.index.fts_match import json_texts, sessions_with_agents
from clew.index.index_schema import shard_number
from clew.index.ranking import passage_score, session_score
from clew.index.results import SearchResult
from clew.index.sql_filters import build_conditions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from clew.index.query_syntax import Query

_FACT_COLUMNS = (
    "session, agent, path, folder, cwd, branches, models, started, ended, messages,"
    " tag, shown, custom, made, last, summary, first, command"
)
_FACTS = (
    f"SELECT {_FACT_COLUMNS} FROM file WHERE session IN (SELECT value FROM json_each(?)) AND side='' AND {{}}"
    " ORDER BY ended DESC"
)
_LISTED = "f.agent='' AND f.messages>0 AND f.session<>?"


def find_session(shards: Sequence[apsw.Connection], session: str) -> SearchResult | None:
    """Return the facts of a session; None if it is unknown."""
    return find_sessions(shards, [session]).get(session)


def find_sessions(shards: Sequence[apsw.Connection], sessions: Sequence[str]) -> dict[str, SearchResult]:
    """Return the facts of sessions by id; if the file of one is missing, those of one of its agents."""
    results: dict[str, SearchResult] = {}
    own_shards = [shard_number(session, "") for session in sessions]
    for condition in ("agent=''", "agent>''"):
        for is_own in (True, False):
            for number, shard in enumerate(shards):
                missing = [
                    session
                    for session, own_shard in zip(sessions, own_shards, strict=True)
                    if (own_shard == number) is is_own and session not in results
                ]
                rows = shard.execute(_FACTS.format(condition), (json_texts(missing),)) if missing else ()
                for row in rows:
                    if row[0] not in results:
                        results[row[0]] = result_from_row(row)
    return results


def result_from_row(row: Sequence[Any]) -> SearchResult:
    """Return a result without passages from a row of `file`."""
    session, agent, path, folder, cwd, branches, models, started, ended, messages, tag, shown, *titles = row
    result = SearchResult(session)
    result.path, result.folder, result.cwd = path, folder, cwd or ""
    result.branch, result.model = branches.split("\n")[-1], models.split("\n")[-1]
    result.started, result.ended = started, ended
    result.messages = messages
    result.tag = tag
    result.agents = {agent} if agent else set()
    kinds = ("custom title", "title", "last prompt", "summary", "first prompt", "first command")
    result.titles = [(kind, text) for kind, text in zip(kinds, titles, strict=True) if text]
    result.title = shown if shown is not None else result.titles[0][1] if result.titles else ""
    return result


def count_sessions(shards: Sequence[apsw.Connection], query: Query, without: str | None) -> int:
    """Return how many sessions pass the filters and contain at least one message."""
    filters = build_conditions(query, lambda: sessions_with_agents(shards))
    statement = f"SELECT count(*) FROM file f WHERE {_LISTED} AND {filters.on_files}"
    return sum(shard.execute(statement, (without or "", *filters.file_values)).get for shard in shards)


def recent_sessions(
    shards: Sequence[apsw.Connection], query: Query, limit: int, without: str | None, now: float
) -> list[SearchResult]:
    """Return the newest sessions that pass the filters and contain at least one message."""
    filters = build_conditions(query, lambda: sessions_with_agents(shards))
    statement = (
        f"SELECT {_FACT_COLUMNS} FROM file f WHERE {_LISTED} AND {filters.on_files} ORDER BY f.ended DESC LIMIT ?"
    )
    rows = [row for shard in shards for row in shard.execute(statement, (without or "", *filters.file_values, limit))]
    rows.sort(key=lambda row: -(row[8] or 0))
    results = []
    for row in rows[:limit]:
        result = result_from_row(row)
        age = now - result.ended if result.ended else 0.0
        result.best = passage_score("title", 1.0)
        result.score = session_score(result.best, age, 0, result.messages, False)
        results.append(result)
    return results
