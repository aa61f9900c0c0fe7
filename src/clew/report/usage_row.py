"""Rows of a usage report: buckets added up by name, with their cost."""

from __future__ import annotations

from clew.facts.prices import micros

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from clew.facts.prices import Prices, Rate
    from clew.report.usage_bucket import UsageBucket

NO_MODEL = "(no model)"


class UsageRow:
    """A sum with its cost, in the unit of `facts.prices`; `unpriced` counts tokens by model without a price."""

    __slots__ = (
        "cost",
        "fetches",
        "first",
        "input",
        "last",
        "missing",
        "missing_cost",
        "models",
        "name",
        "output",
        "read",
        "replies",
        "searches",
        "stub_output",
        "stubs",
        "uncached",
        "unpriced",
        "write_1h",
        "write_5m",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.replies = self.stubs = self.input = self.output = self.write_5m = self.write_1h = self.read = 0
        self.searches = self.fetches = self.stub_output = self.missing = 0
        self.cost = self.uncached = self.missing_cost = 0
        self.first = self.last = -1
        self.unpriced: dict[str, int] = {}
        self.models: dict[str, UsageRow] = {}

    @property
    def write(self) -> int:
        return self.write_5m + self.write_1h

    @property
    def prompt(self) -> int:
        return self.input + self.write_5m + self.write_1h + self.read

    @property
    def total(self) -> int:
        return self.prompt + self.output

    @property
    def saved(self) -> int:
        """The saving by the cache: the cost of the same tokens without it, minus the actual cost."""
        return self.uncached - self.cost

    @property
    def hits(self) -> float:
        """The share of the prompts that came from the cache."""
        return self.read / self.prompt if self.prompt else 0.0

    def add(self, bucket: UsageBucket, rate: Rate | None) -> None:
        when, model, _, _, is_final, replies, given, output, write_5m, write_1h, read, searches, fetches, missing, _ = (
            bucket
        )
        self.replies += replies
        self.input += given
        self.output += output
        self.write_5m += write_5m
        self.write_1h += write_1h
        self.read += read
        self.searches += searches
        self.fetches += fetches
        if when >= 0:
            self.first = when if self.first < 0 else min(when, self.first)
            self.last = max(when, self.last)
        if not is_final:
            self.stubs += replies
            self.stub_output += output
            self.missing += missing
        prompt = given + write_5m + write_1h + read
        if rate is not None:
            per_input, per_output, per_5m, per_1h, per_read, per_search = rate
            rest = per_output * output + per_search * searches
            self.cost += rest + per_input * given + per_5m * write_5m + per_1h * write_1h + per_read * read
            self.uncached += rest + per_input * prompt
            self.missing_cost += missing * per_output
        elif prompt + output:
            self.unpriced[model or NO_MODEL] = self.unpriced.get(model or NO_MODEL, 0) + prompt + output

    def add_row(self, other: UsageRow) -> None:
        """Add another row to this one."""
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.last >= 0:
            self.first = other.first if self.first < 0 else min(self.first, other.first)
            self.last = max(self.last, other.last)
        for model, tokens in other.unpriced.items():
            self.unpriced[model] = self.unpriced.get(model, 0) + tokens

    def to_json(self) -> dict[str, Any]:
        """Return the values as a JSON object."""
        return {
            "name": self.name,
            "replies": self.replies,
            "input": self.input,
            "output": self.output,
            "cache_write_5m": self.write_5m,
            "cache_write_1h": self.write_1h,
            "cache_read": self.read,
            "total": self.total,
            "web_searches": self.searches,
            "web_fetches": self.fetches,
            "cost_micros": micros(self.cost),
            "unpriced": self.unpriced,
            "cache_hit_rate": round(self.hits, 4),
            "saved_by_cache_micros": micros(self.saved),
            "placeholder_replies": self.stubs,
            "placeholder_output": self.stub_output,
            "estimated_missing_output": self.missing,
            "estimated_missing_micros": micros(self.missing_cost),
        }


_ADDED: tuple[str, ...] = ("replies", "stubs", "input", "output", "write_5m", "write_1h", "read", "searches", "fetches")
_ADDED += ("stub_output", "missing", "cost", "uncached", "missing_cost")


def group_buckets(
    buckets: Iterable[UsageBucket],
    names: Callable[[UsageBucket], list[tuple[str, UsageBucket]]],
    prices: Prices,
    *,
    by_model: bool = False,
) -> list[UsageRow]:
    """Add up buckets by name, sorted by name. `names` may split a bucket among several names."""
    rows: dict[str, UsageRow] = {}
    for each in buckets:
        for name, bucket in names(each):
            row = rows.get(name)
            if row is None:
                row = rows[name] = UsageRow(name)
            rate = prices.rate(bucket.model, bucket.mode, bucket.steps)
            row.add(bucket, rate)
            if by_model:
                model = model_name(bucket)
                if model not in row.models:
                    row.models[model] = UsageRow(model)
                row.models[model].add(bucket, rate)
    for row in rows.values():
        row.models = dict(sorted(row.models.items(), key=lambda pair: (-pair[1].cost, pair[0])))
    return [rows[name] for name in sorted(rows)]


def sum_buckets(buckets: Iterable[UsageBucket], prices: Prices, name: str = "Total") -> UsageRow:
    row = UsageRow(name)
    for bucket in buckets:
        row.add(bucket, prices.rate(bucket.model, bucket.mode, bucket.steps))
    return row


def model_name(bucket: UsageBucket) -> str:
    """Return the model and the mode that changes its price: fast, batch, or a region."""
    return f"{bucket.model or NO_MODEL} {bucket.mode}".rstrip()


def split_bucket(bucket: UsageBucket, count: int) -> list[UsageBucket]:
    """Split a bucket into equal parts; the first gets the remainder."""
    return [
        bucket._replace(
            **{
                field: getattr(bucket, field) // count + (getattr(bucket, field) % count if number == 0 else 0)
                for field in ("input", "output", "write_5m", "write_1h", "read", "searches", "fetches", "missing")
            }
        )
        for number in range(count)
    ]
