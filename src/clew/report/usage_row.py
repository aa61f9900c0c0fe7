"""Rows: cells of one name added up and priced."""

from __future__ import annotations

from clew.facts.prices import micros

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from clew.facts.prices import Prices, Rate
    from clew.report.usage_bucket import Cell

NO_MODEL = "(no model)"


class UsageRow:
    """A sum with its price. Money is in the small unit of `facts.price`; `unpriced` are tokens by model without a price."""

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
        """What the cache saved: the price of the same tokens without one, less what they cost."""
        return self.uncached - self.cost

    @property
    def hits(self) -> float:
        """The share of the prompts that came from the cache."""
        return self.read / self.prompt if self.prompt else 0.0

    def add(self, cell: Cell, rate: Rate | None) -> None:
        when, model, _, _, is_final, replies, given, output, write_5m, write_1h, read, searches, fetches, missing, _ = (
            cell
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

    def absorb(self, other: UsageRow) -> None:
        """Add another row to this one."""
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.last >= 0:
            self.first = other.first if self.first < 0 else min(self.first, other.first)
            self.last = max(self.last, other.last)
        for model, tokens in other.unpriced.items():
            self.unpriced[model] = self.unpriced.get(model, 0) + tokens

    def told(self) -> dict[str, Any]:
        """All of it by name, for JSON."""
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


def rows(
    cells: Iterable[Cell], names: Callable[[Cell], list[tuple[str, Cell]]], prices: Prices, *, by_model: bool = False
) -> list[UsageRow]:
    """Cells added up by name, in the order of the names. `names` may share a cell out among several."""
    found: dict[str, UsageRow] = {}
    for each in cells:
        for name, cell in names(each):
            row = found.get(name)
            if row is None:
                row = found[name] = UsageRow(name)
            rate = prices.rate(cell.model, cell.mode, cell.steps)
            row.add(cell, rate)
            if by_model:
                model = model_name(cell)
                if model not in row.models:
                    row.models[model] = UsageRow(model)
                row.models[model].add(cell, rate)
    for row in found.values():
        row.models = dict(sorted(row.models.items(), key=lambda pair: (-pair[1].cost, pair[0])))
    return [found[name] for name in sorted(found)]


def summed(cells: Iterable[Cell], prices: Prices, name: str = "Total") -> UsageRow:
    row = UsageRow(name)
    for cell in cells:
        row.add(cell, prices.rate(cell.model, cell.mode, cell.steps))
    return row


def model_name(cell: Cell) -> str:
    """The model, with what makes its price another: fast, batch, a region."""
    return f"{cell.model or NO_MODEL} {cell.mode}".rstrip()


def share(cell: Cell, count: int) -> list[Cell]:
    """A cell in equal parts that add up to it; what does not divide goes to the first."""
    return [
        cell._replace(
            **{
                field: getattr(cell, field) // count + (getattr(cell, field) % count if number == 0 else 0)
                for field in ("input", "output", "write_5m", "write_1h", "read", "searches", "fetches", "missing")
            }
        )
        for number in range(count)
    ]
