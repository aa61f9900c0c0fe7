"""Count the sessions that match a query by project, model, tool, month and kind of passage.

Every match of the words as they were typed is counted, not only those that a result list shows.
"""

from __future__ import annotations

import os
import time

from clew.index.fts_match import query_tables, sessions_with_agents
from clew.index.indexed_sessions import count_sessions
from clew.index.query_syntax import SEARCH_FIELDS
from clew.index.sql_filters import build_conditions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from clew.index.query_syntax import Query

NAMES = ("project", "model", "tool", "month", "in")
_DAY = 86_400


class Facets:
    """`sessions` and `passages` count all matches; `values` has (value, sessions) of each name, most first."""

    __slots__ = ("passages", "sessions", "values")

    def __init__(self, sessions: int, passages: int, values: dict[str, list[tuple[str, int]]]) -> None:
        self.sessions, self.passages, self.values = sessions, passages, values


def count_facets(shards: Sequence[apsw.Connection], query: Query) -> Facets:
    """Count what a query matches. A query that only selects sessions has no passages."""
    found: dict[str, dict[str, set[str]]] = {name: {} for name in NAMES}
    sessions: set[str] = set()
    passages = 0
    if not query.clauses and not query.filters_passages:
        return Facets(count_sessions(shards, query, None), 0, {name: [] for name in NAMES})
    where, values = build_conditions(query, lambda: sessions_with_agents(shards)).on_pieces
    for shard in shards:
        files = _load_files(shard)
        tools = dict(shard.execute("SELECT id, name FROM tool"))
        for table, match, _ in query_tables(query):
            join = (
                f"{table} CROSS JOIN piece p WHERE {table} MATCH ? AND p.id={table}.rowid"
                if match
                else "piece p WHERE 1"
            )
            rows = shard.execute(
                f"SELECT p.file, p.field, p.tool, coalesce(p.time, 0) / {_DAY}, count(*) FROM {join} AND {where}"
                " GROUP BY 1, 2, 3, 4",
                (*match, *values),
            )
            for file, field, tool, day, number in rows:
                session, project, models, ended = files.get(file, ("", "", (), 0))
                sessions.add(session)
                passages += number
                month = time.strftime("%Y-%m", time.gmtime(day * _DAY or ended))
                marks = {"project": [project], "model": models, "tool": [tools.get(tool, "")]}
                for name, items in {**marks, "month": [month], "in": [SEARCH_FIELDS[field]]}.items():
                    for item in items:
                        found[name].setdefault(item, set()).add(session)
    counts = {
        name: sorted(((value, len(each)) for value, each in by_value.items() if value), key=_most_first)
        for name, by_value in found.items()
    }
    counts["month"].sort(reverse=True)
    return Facets(len(sessions), passages, counts)


def _most_first(pair: tuple[str, int]) -> tuple[int, str]:
    return -pair[1], pair[0]


def _load_files(shard: apsw.Connection) -> dict[int, tuple[str, str, Sequence[str], int]]:
    """Return (session, project, models, end) of each file; the project of an agent is that of its session."""
    rows = list(
        shard.execute("SELECT id, session, agent, coalesce(cwd, ''), folder, models, coalesce(ended, 0) FROM file")
    )
    own = {session: cwd or folder for _, session, agent, cwd, folder, _, _ in rows if not agent}
    return {
        file: (session, _project_name(own.get(session) or cwd or folder), models.split("\n"), ended)
        for file, session, _, cwd, folder, models, ended in rows
    }


def _project_name(folder: str) -> str:
    return os.path.basename(folder.replace("\\", "/").rstrip("/")) or folder
