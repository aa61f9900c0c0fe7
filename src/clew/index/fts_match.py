"""Find the passages that match a query, grouped by file, with the data needed to rank them.

All matching titles and prompts are read, but only the newest replies and tool texts: these weigh less, so an old one
seldom wins. The benchmark measures how seldom.
"""

from __future__ import annotations

from clew.index.index_schema import SPOKEN_FIELDS
from clew.index.query_syntax import SEARCH_FIELDS
from clew.index.ranking import DEFAULT_RELEVANCE, FIELD_WEIGHTS, density, recency
from clew.index.sql_filters import build_conditions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import apsw

    from clew.index.query_syntax import Query

    Hit = tuple[float, tuple[Any, ...]]

# A match is a row. The last four columns are its place: they are the same in a copy of its entry.
_COLUMNS = "p.id, p.file, {relevance}, p.node, p.part, p.field, p.time"
ID, FILE, RELEVANCE, PLACE = 0, 1, 2, slice(3, 7)
FIELD_IN_PLACE = 2
# Limits of the matches that are read from a shard, newest first.
MAX_PROMPTS = 1_500
MAX_REPLIES = 1_000
MAX_TOOL_TEXTS = 1_000
FEW_TOOL_TEXTS = 200  # limit of tool texts if titles, prompts and replies have enough matches
ENOUGH_SPOKEN = 20
MAX_FILES = 120  # files with matches that are ranked, the best
_JSON_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", **{code: f"\\u{code:04x}" for code in range(32)}}
_HALF_WEIGHTS = [FIELD_WEIGHTS[name] / 2 for name in SEARCH_FIELDS]


class FileMatches:
    """The matches in one file as (score, row of `find_matches`); `spoken_hits` counts those outside tools."""

    __slots__ = ("beginning", "best", "file", "hits", "newest", "shard", "spoken_hits")

    def __init__(self, shard: int, file: int) -> None:
        self.shard, self.file = shard, file
        self.best = 0.0
        self.newest = self.spoken_hits = 0
        self.hits: list[Hit] = []
        self.beginning: tuple[int, str] | None = (
            None  # time and text of the first prompt, which copies of the file share
        )

    def scale(self, factor: float) -> None:
        """Multiply all scores by a factor."""
        if factor != 1.0:
            self.best *= factor
            self.hits = [(score * factor, row) for score, row in self.hits]


class MatchList(list[FileMatches]):
    """The matches of a query by file; unless `is_complete`, some were left out."""

    is_complete = True


def match_counts(shards: Sequence[apsw.Connection], match: str, limit: int) -> Iterator[tuple[str, int]]:
    """Yield each full-text table with the number of its passages that match an expression, up to a limit."""
    for shard in shards:
        for table in ("said", "done"):
            statement = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
            yield table, int(shard.execute(statement, (match, limit)).get)


def sessions_with_agents(shards: Sequence[apsw.Connection]) -> Iterator[str]:
    """Yield the ids of the sessions that have agents."""
    for shard in shards:
        for (session,) in shard.execute("SELECT DISTINCT session FROM file WHERE agent<>'' AND messages>0"):
            yield session


def find_matches(
    shards: Sequence[apsw.Connection], query: Query, minimum: int = 0, now: float | None = None, *, weighed: bool = True
) -> MatchList:
    """Return the matches of a query that may rank high at the time `now`, at least `minimum` of each kind; without
    `now` all matches.

    Unless `weighed`, every match gets the default relevance.
    """
    conditions = build_conditions(query, lambda: sessions_with_agents(shards))
    tables = query_tables(query)
    results = MatchList()
    for number, shard in enumerate(shards):
        by_file: dict[int, FileMatches] = {}
        spoken = 0
        for table, match, limit in tables:
            # The table `said` has what the user and the model wrote, `done` the inputs and results of tools. If enough
            # was said about a query, only a few of the newest texts of tools are read.
            has_enough = table == "done" and spoken >= ENOUGH_SPOKEN and now is not None
            if has_enough and query.has_prefix:
                results.is_complete = False
                break
            is_weighed = weighed and (table == "said" or (match and not spoken))
            relevance = f"bm25({table})" if is_weighed else "0.0"
            join = (
                f"{table} CROSS JOIN piece p WHERE {table} MATCH ? AND p.id={table}.rowid"
                if match
                else "piece p WHERE 1"
            )
            where, values = conditions.on_spoken if table == "said" else conditions.on_pieces
            row_limit = -1 if now is None else max(minimum, FEW_TOOL_TEXTS if has_enough else limit)
            rows = shard.execute(
                f"SELECT {_COLUMNS.format(relevance=relevance)} FROM {join} AND {where}"
                f" ORDER BY {table if match else 'p'}.rowid DESC LIMIT ?",
                (*match, *values, row_limit),
            ).fetchall()
            results.is_complete &= len(rows) != row_limit
            _add_matches(rows, number, by_file)
            if table == "said":
                spoken += len(rows)
                for file in by_file.values():
                    file.spoken_hits = len(file.hits)
            elif not match:
                for file in by_file.values():
                    file.spoken_hits = sum([row[PLACE][FIELD_IN_PLACE] < len(SPOKEN_FIELDS) for _, row in file.hits])
        best_files = list(by_file.values()) if now is None else _best_files(by_file, max(MAX_FILES, minimum), now)
        results.is_complete &= len(best_files) == len(by_file)
        results += best_files
    return results


def query_tables(query: Query) -> list[tuple[str, tuple[str, ...], int]]:
    """Return (table, match expression, limit) for each kind of piece to search, the weightiest first."""
    if not query.clauses:
        return [("piece", (), MAX_TOOL_TEXTS)]
    fields = query.fields
    prompt_columns, reply_columns = (
        [name for name in names if name in fields] for names in (SPOKEN_FIELDS[:2], SPOKEN_FIELDS[2:])
    )
    if "tool" in query.filters or "error" in query.filters.get("is", ()):
        prompt_columns = reply_columns = []
    spoken_tables: list[tuple[str, tuple[str, ...], int]] = [
        ("said", (f"{{{' '.join(columns)}}} : ({query.match})",), limit)
        for columns, limit in ((prompt_columns, MAX_PROMPTS), (reply_columns, MAX_REPLIES))
        if columns
    ]
    has_tool_fields = any(field not in SPOKEN_FIELDS for field in fields)
    return [*spoken_tables, ("done", (query.match,), MAX_TOOL_TEXTS)] if has_tool_fields else spoken_tables


def _add_matches(rows: list[Any], shard: int, by_file: dict[int, FileMatches]) -> None:
    """Add matches to their files; relevance is relative to the best match of the same kind."""
    best = min([row[RELEVANCE] for row in rows], default=0.0)
    part, base = (1 / best, 1.0) if best else (0.0, 1 + DEFAULT_RELEVANCE)
    weights = _HALF_WEIGHTS
    scores = [weights[field] * (base + relevance * part) for _, _, relevance, _, _, field, _ in rows]
    match = FileMatches(shard, -1)
    current = -1
    for hit in zip(scores, rows, strict=True):
        score, row = hit
        file, when = row[FILE], row[-1]
        if file != current:  # the pieces of a file are mostly adjacent
            current = file
            match = by_file.get(file) or by_file.setdefault(file, FileMatches(shard, file))
        if score > match.best:
            match.best = score
        if when and when > match.newest:
            match.newest = when
        match.hits.append(hit)


def _best_files(by_file: dict[int, FileMatches], limit: int, now: float) -> list[FileMatches]:
    """Return the best files, judged by their passages alone."""
    if len(by_file) <= limit:
        return list(by_file.values())
    return sorted(
        by_file.values(),
        key=lambda match: -match.best * recency(now - match.newest) * density(match.spoken_hits or len(match.hits)),
    )[:limit]


def json_list(numbers: Iterable[int]) -> str:
    """Return numbers as one SQL value for `json_each`."""
    return f"[{','.join(map(str, numbers))}]"


def json_texts(texts: Iterable[str]) -> str:
    """Return texts as one SQL value for `json_each`."""
    return "[" + ",".join([f'"{text.translate(_JSON_ESCAPES)}"' for text in texts]) + "]"
