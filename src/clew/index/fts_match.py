"""Find the passages that match a query, grouped by file, with the data needed to rank them.

All matching titles and prompts are read, but only the newest replies and tool texts: these weigh less, so an old one
seldom wins. The benchmark measures how seldom.
"""

from __future__ import annotations

from bisect import bisect_right

from clew.index.index_schema import CODE_BITS, CODES, SPOKEN_FIELDS
from clew.index.ranking import DEFAULT_RELEVANCE, density, passage_score, recency, relevance
from clew.index.sql_filters import build_conditions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import apsw

    from clew.index.index_schema import Shard
    from clew.index.query_syntax import Query
    from clew.index.sql_filters import Conditions

    Hit = tuple[float, int]  # score, id of the piece

# Limits of the matches that are read from a shard, newest first.
MAX_PROMPTS = 1_500
MAX_REPLIES = 1_000
MAX_TOOL_TEXTS = 1_000
FEW_TOOL_TEXTS = 200  # limit of tool texts if titles, prompts and replies have enough matches
ENOUGH_SPOKEN = 20
MAX_FILES = 120  # files with matches that are ranked, the best
_JSON_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", **{code: f"\\u{code:04x}" for code in range(32)}}
_CODE_MASK = (1 << CODE_BITS) - 1
_SCORES = [passage_score(field, relevance(digits)) for field, digits in CODES]
_EQUAL_SCORES = [passage_score(field, DEFAULT_RELEVANCE) for field, _ in CODES]  # of matches that are not weighed
_IS_SPOKEN = [field in SPOKEN_FIELDS for field, _ in CODES]


class FileMatches:
    """The matches in one file as (score, id of the piece); `spoken_hits` counts those outside tools."""

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
            self.hits = [(score * factor, piece) for score, piece in self.hits]


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
    shards: Sequence[Shard], query: Query, minimum: int = 0, now: float | None = None, *, weighed: bool = True
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
            row_limit = -1 if now is None else max(minimum, FEW_TOOL_TEXTS if has_enough else limit)
            ids = _find_ids(shard, conditions, table, match, row_limit)
            results.is_complete &= len(ids) != row_limit
            is_weighed = weighed and (table == "said" or (match and not spoken))
            _add_matches(ids, _SCORES if is_weighed else _EQUAL_SCORES, number, shard, by_file)
            if table == "said":
                spoken += len(ids)
                for file in by_file.values():
                    file.spoken_hits = len(file.hits)
            elif not match:
                for file in by_file.values():
                    file.spoken_hits = sum([is_spoken(piece) for _, piece in file.hits])
        best_files = list(by_file.values()) if now is None else _best_files(by_file, max(MAX_FILES, minimum), now)
        results.is_complete &= len(best_files) == len(by_file)
        results += best_files
    return results


def _find_ids(shard: Shard, conditions: Conditions, table: str, match: tuple[str, ...], limit: int) -> list[int]:
    """Return the ids of the newest pieces that match, newest first. The table `piece` is read only for filters."""
    where, values = conditions.on_spoken if table == "said" else conditions.on_pieces
    source, ordered = f"{table} p WHERE p.{table} MATCH ?", "p"
    if not match:
        source = "piece p WHERE 1"
    elif not conditions.are_on_ids:
        source, ordered = f"{table} CROSS JOIN piece p WHERE {table} MATCH ? AND p.id={table}.rowid", table
    statement = f"SELECT {ordered}.rowid FROM {source} AND {where} ORDER BY {ordered}.rowid DESC LIMIT ?"
    return [piece for (piece,) in shard.execute(statement, (*match, *values, limit))]


def is_spoken(piece: int) -> bool:
    """Return whether a piece, given by its id, is of the table `said`."""
    return _IS_SPOKEN[piece & _CODE_MASK]


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


def _add_matches(
    ids: list[int], scores: Sequence[float], number: int, shard: Shard, by_file: dict[int, FileMatches]
) -> None:
    """Add matches, given by ids in falling order, to their files."""
    firsts, files, times = shard.find_runs()
    match = FileMatches(number, -1)
    first = ids[0] + 1 if ids else 0
    for piece in ids:
        if piece < first:  # the run below
            position = bisect_right(firsts, piece) - 1
            first, file = firsts[position], files[position]
            match = by_file.get(file) or by_file.setdefault(file, FileMatches(number, file))
            match.newest = max(match.newest, times[position])
        score = scores[piece & _CODE_MASK]
        if score > match.best:
            match.best = score
        match.hits.append((score, piece))


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
