"""Build usage tables: select buckets, group them by name and sort the rows."""

from __future__ import annotations

from clew.report.timezone import Zone
from clew.report.usage_bucket import QUARTER, BucketView
from clew.report.usage_row import UsageRow, group_buckets, model_name, split_bucket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, NamedTuple

    from clew.facts.prices import Prices
    from clew.report.usage_bucket import UsageBucket

    class UsageQuery(NamedTuple):
        """The options of a usage report: grouping, filters, limit and time zone."""

        by: str = "day"
        since: float | None = None
        until: float | None = None
        project: str = ""
        session: str = ""
        branch: str = ""
        model: str = ""
        tool: str = ""
        limit: int | None = None
        zone: str = ""
        by_model: bool = False
        estimate: bool = False
else:
    from collections import namedtuple

    UsageQuery = namedtuple(
        "UsageQuery",
        "by since until project session branch model tool limit zone by_model estimate",
        defaults=("day", None, None, "", "", "", "", "", None, "", False, False),
    )

TIMES = ("hour", "day", "week", "month")
PLACES = ("project", "session", "agent", "branch", "tool")
BY = (*TIMES, "model", *PLACES)


class UsageTable:
    """Rows and their total. A reply counts once in the total, even if rows share it."""

    __slots__ = ("by", "rows", "total")

    def __init__(self, by: str, rows: list[UsageRow], total: UsageRow) -> None:
        self.by = by
        self.rows = rows
        self.total = total


def needs_replies(query: UsageQuery) -> bool:
    """Return True if sums are not sufficient, because they have neither branches and tools nor minutes."""
    times = (query.since, query.until)
    return (
        query.by in ("branch", "tool")
        or bool(query.branch or query.tool)
        or any(time is not None and time % QUARTER for time in times)
    )


def needs_places(query: UsageQuery) -> bool:
    """Return True if the summary is not sufficient, because it does not say where replies were made."""
    return query.by in PLACES or bool(query.project or query.session)


def build_table(buckets: Iterable[UsageBucket], query: UsageQuery, prices: Prices) -> UsageTable:
    """Add up the buckets that match a query. They are read once and not kept."""
    chosen: Iterable[UsageBucket] = select_buckets(buckets, query)
    sum_of_all = UsageRow("Total")
    if query.by == "tool":  # whose rows share replies
        chosen = _add_each(chosen, sum_of_all, prices)
    rows = group_buckets(chosen, bucket_names(query.by, Zone(query.zone)), prices, by_model=query.by_model)
    total = sum_of_all if query.by == "tool" else _total(rows)
    if query.by not in TIMES:
        rows.sort(key=lambda row: (-row.cost, -row.total, row.name))
    if query.limit is not None:
        rows = (rows[-query.limit :] if query.limit else []) if query.by in TIMES else rows[: query.limit]
    return UsageTable(query.by, rows, total)


def table_json(table: UsageTable, prices: Prices, labels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the rows and the total as JSON objects; `labels` are names that people know."""
    for row in table.rows:
        label = {"label": labels[row.name]} if row.name in labels else {}
        models = {"models": [part.to_json() for part in row.models.values()]} if row.models else {}
        yield {"kind": "usage", "by": table.by, **row.to_json(), **label, **models}
    yield {"kind": "total", **table.total.to_json(), "price_date": prices.date, "price_source": prices.source}


def _total(rows: list[UsageRow]) -> UsageRow:
    total = UsageRow("Total")
    for row in rows:
        total.add_row(row)
    return total


def _add_each(buckets: Iterable[UsageBucket], row: UsageRow, prices: Prices) -> Iterator[UsageBucket]:
    """Pass buckets on, and add each to a row."""
    for bucket in buckets:
        row.add(bucket, prices.rate(bucket.model, bucket.mode, bucket.steps))
        yield bucket


def select_buckets(buckets: Iterable[UsageBucket], query: UsageQuery) -> BucketView:
    """Return the buckets that match a query; with `estimate`, the missing output of placeholders is added."""
    return BucketView(lambda: _select(buckets, query))


def _select(buckets: Iterable[UsageBucket], query: UsageQuery) -> Iterator[UsageBucket]:
    for bucket in buckets:
        if _matches(bucket, query):
            if query.estimate and bucket.missing:
                yield bucket._replace(output=bucket.output + bucket.missing, missing=0)
            else:
                yield bucket


def _matches(bucket: UsageBucket, query: UsageQuery) -> bool:
    if query.since is not None and bucket.when < query.since:
        return False
    if query.until is not None and (bucket.when >= query.until or bucket.when < 0):
        return False
    if query.model and query.model not in bucket.model:
        return False
    context = bucket.context
    if context is None:
        return True
    return (
        (not query.project or context.project == query.project)
        and (not query.session or context.session == query.session)
        and (not query.branch or context.branch == query.branch)
        and (not query.tool or query.tool in context.tools.split())
    )


def bucket_names(by: str, zone: Zone) -> Callable[[UsageBucket], list[tuple[str, UsageBucket]]]:
    """Return the function that names a bucket. A reply that called several tools is split among them."""
    if by in TIMES:
        name: Callable[[int], str] = getattr(zone, by)
        return lambda bucket: [(name(bucket.when), bucket)]
    if by == "model":
        return lambda bucket: [(model_name(bucket), bucket)]
    if by == "tool":
        return _by_tool
    return lambda bucket: [(getattr(bucket.context, by) or f"(no {by})", bucket)]


def _by_tool(bucket: UsageBucket) -> list[tuple[str, UsageBucket]]:
    tools = bucket.context.tools.split() if bucket.context else []
    if not tools:
        return [("(text only)", bucket)]
    return list(zip(tools, split_bucket(bucket, len(tools)), strict=True)) if len(tools) > 1 else [(tools[0], bucket)]
