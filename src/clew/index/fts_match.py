"""Matching: the passages that hold a query, by file, with no more than it takes to rank them.

All titles and prompts that match are looked at, and the newest of what the model said and of what tools were asked and said:
these weigh less, so that an old one seldom wins. The benchmark tells how seldom.
"""

from __future__ import annotations

from clew.index.index_schema import FIELDS, SAID
from clew.index.ranking import UNWEIGHED, WEIGHT, density, recency
from clew.index.sql_filters import conditions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import apsw

    from clew.index.query_syntax import Query

# Of the matches in a shard so many are looked at, the newest.
ASKED = 1_500
REPLIED = 1_000
DONE = 1_000
FEWER = 200  # of what tools were asked and said, if there is enough in what people and the model said
ENOUGH = 20
FILES = 120  # and of the files with matches so many, the best
_HALVES = [WEIGHT[name] / 2 for name in FIELDS]


class Match:
    """The matches in one file: (score, number of the piece); `said` counts those that are not of tools."""

    __slots__ = ("best", "file", "hits", "newest", "said", "shard")

    def __init__(self, shard: int, file: int) -> None:
        self.shard, self.file = shard, file
        self.best = 0.0
        self.newest = self.said = 0
        self.hits: list[tuple[float, int]] = []


def parents(shards: Sequence[apsw.Connection]) -> Iterator[str]:
    """The sessions that have agents."""
    for shard in shards:
        for (session,) in shard.execute("SELECT DISTINCT session FROM file WHERE agent<>'' AND messages>0"):
            yield session


def matches(
    shards: Sequence[apsw.Connection], query: Query, least: int = 0, now: float | None = None, *, weighed: bool = True
) -> list[Match]:
    """The matches of a query that may win at a moment, at least so many of each kind; without a moment all there are.

    If they are not `weighed`, all are as relevant as what is not weighed is.
    """
    where, values = conditions(query, lambda: parents(shards)).on_pieces
    sources = _sources(query)
    answer: list[Match] = []
    for number, shard in enumerate(shards):
        found: dict[int, Match] = {}
        said = 0
        for table, match, most in sources:
            has_enough = table == "done" and said >= ENOUGH and now is not None
            if has_enough and query.is_growing:
                break
            is_weighed = weighed and (table == "said" or (match and not said))
            relevance = f"bm25({table})" if is_weighed else "0.0"
            join = (
                f"{table} CROSS JOIN piece p WHERE {table} MATCH ? AND p.id={table}.rowid"
                if match
                else "piece p WHERE 1"
            )
            rows = shard.execute(
                f"SELECT p.id, p.file, p.field, p.time, {relevance} FROM {join} AND {where}"
                f" ORDER BY {table if match else 'p'}.rowid DESC LIMIT ?",
                (*match, *values, -1 if now is None else max(least, FEWER if has_enough else most)),
            ).fetchall()
            _gather(rows, number, found)
            said += len(rows) if table == "said" else 0
        answer += found.values() if now is None else _best(found, max(FILES, least), now)
    return answer


def _sources(query: Query) -> list[tuple[str, tuple[str, ...], int]]:
    """(table, what to match in it, how many) for each kind of piece that is searched, the weightiest first."""
    if not query.clauses:
        return [("piece", (), DONE)]
    places = query.places
    asked, replied = ([name for name in names if name in places] for names in (SAID[:2], SAID[2:]))
    if "tool" in query.filters or "error" in query.filters.get("is", ()):
        asked = replied = []
    made: list[tuple[str, tuple[str, ...], int]] = [
        ("said", (f"{{{' '.join(columns)}}} : ({query.match})",), most)
        for columns, most in ((asked, ASKED), (replied, REPLIED))
        if columns
    ]
    is_done = any(place not in SAID for place in places)
    return [*made, ("done", (query.match,), DONE)] if is_done else made


def _gather(rows: list[Any], shard: int, found: dict[int, Match]) -> None:
    """Put matches to their files; relevance is measured against the best of the same kind."""
    best = min([row[4] for row in rows], default=0.0)
    part, base = (1 / best, 1.0) if best else (0.0, 1 + UNWEIGHED)
    is_said = len(SAID)
    match = Match(shard, -1)
    for number, file, field, when, relevance in rows:
        if file != match.file:  # most of a file's pieces stand in a row
            match = found.get(file) or found.setdefault(file, Match(shard, file))
        score = _HALVES[field] * (base + relevance * part)
        if score > match.best:
            match.best = score
        if when and when > match.newest:
            match.newest = when
        if field < is_said:
            match.said += 1
        match.hits.append((score, number))


def _best(found: dict[int, Match], most: int, now: float) -> list[Match]:
    """The best files, as far as their passages tell."""
    if len(found) <= most:
        return list(found.values())
    return sorted(
        found.values(),
        key=lambda match: -match.best * recency(now - match.newest) * density(match.said or len(match.hits)),
    )[:most]


def listed(numbers: Sequence[int]) -> str:
    """Numbers as one value of a statement."""
    return f"[{','.join(map(str, numbers))}]"
