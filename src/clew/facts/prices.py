"""Price tokens from a dated table.

Prices are part of the model table (`clew.models`); a file of the user can add or correct them. A model without a
price is reported and never guessed. Money is an integer in millionths of a micro-dollar, so that no price of a token
has a fraction; it is converted to micro-dollars for display.

Imports are light: `clew usage` and the status line start here.
"""

from __future__ import annotations

from clew.models import table as models_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, NamedTuple

    from clew.facts.token_usage import Spend

    class Rate(NamedTuple):
        """Prices of one token of each kind, and of one web search, in millionths of a micro-dollar."""

        input: int
        output: int
        cache_write_5m: int
        cache_write_1h: int
        cache_read: int
        web_search: int
else:
    from collections import namedtuple

    Rate = namedtuple("Rate", "input output cache_write_5m cache_write_1h cache_read web_search")

MICRO = 10**6  # internal money units per micro-dollar
STEP = 100_000  # limits of long prompts are multiples of it, so that summed replies can be priced
_KINDS = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read")
_STANDARD = ("", "standard", "not_available", "global")


class Prices:
    """A table of prices with its source and date."""

    __slots__ = ("_batch", "_known", "_models", "_regions", "_search", "date", "source")

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.date: str = table["date"]
        self.source: str = table["source"]
        self._models: dict[str, dict[str, Any]] = table["models"]
        self._batch = _millionths(table["batch"])
        self._regions = {name: _millionths(factor) for name, factor in table["regions"].items()}
        self._search = _millionths(table["web_search"]) * MICRO
        self._known: dict[tuple[str, str, int], Rate | None] = {}

    def rate(self, model: str, mode: str = "", steps: int = 0) -> Rate | None:
        """Return the prices for a reply by model, mode (`fast`, `batch`, a region; space-separated) and prompt size.

        `steps` is the size in steps of 100,000 tokens, rounded up. None if the model has no price.
        """
        key = (model, mode, steps)
        if key not in self._known:
            self._known[key] = self._rate(model, mode.split(), steps)
        return self._known[key]

    def _rate(self, model: str, modes: list[str], steps: int) -> Rate | None:
        row = self._models.get(plain_name(model))
        if row is None or ("fast" in modes and "fast" not in row):
            return None
        chosen = row["fast"] if "fast" in modes else row
        if "long" in chosen and steps * STEP > chosen["long"]["above"]:
            chosen = chosen["long"]
        prices = [_millionths(chosen[kind]) for kind in _KINDS]
        for name in modes:
            if name == "batch":
                prices = [price * self._batch // MICRO for price in prices]
            elif name in self._regions:
                prices = [price * self._regions[name] // MICRO for price in prices]
        return Rate._make([*prices, self._search])

    def names(self) -> list[str]:
        return sorted(self._models)


def plain_name(model: str) -> str:
    """Return the table's name of a model: without date, long-window suffix and provider prefix."""
    name = model.lower().rpartition("/")[2].partition("[")[0].partition("@")[0].partition(":")[0]
    name = name[name.rfind("anthropic.") + 10 :] if "anthropic." in name else name
    head, _, tail = name.rpartition("-")
    if tail in ("v1", "v2", "latest"):
        head, _, tail = (name := head).rpartition("-")
    if len(tail) == 8 and tail.isdigit():
        name = head
    return name.removesuffix("-0") if name.endswith("-4-0") else name


def load(overlay: Mapping[str, Any] | None = None, name: str = "") -> Prices:
    """Load the table of the package, overlaid with another one, model by model. Raises ValueError with a full
    sentence.
    """
    full_table = models_table()
    table: dict[str, Any] = {**full_table, "models": {name: row["price"] for name, row in full_table["models"].items()}}
    if overlay is not None:
        try:
            table = _overlay_table(table, overlay, name)
            _check(table)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{name} is not a price table: {error}") from None
    return Prices(table)


def _overlay_table(table: dict[str, Any], overlay: Mapping[str, Any], name: str) -> dict[str, Any]:
    models = dict(table["models"])
    for model, row in overlay.get("models", {}).items():
        model = plain_name(model)
        base = float(row.get("input", 0))
        usual = {"cache_write_5m": base * 1.25, "cache_write_1h": base * 2, "cache_read": base / 10}
        models[model] = {**(models.get(model) or usual), **row}
    named = {key: overlay[key] for key in ("date", "web_search", "batch", "regions") if key in overlay}
    return {**table, **named, "source": f"{overlay.get('source', name)}; else {table['source']}", "models": models}


def _check(table: Mapping[str, Any]) -> None:
    for name, row in table["models"].items():
        for part in (row, row.get("fast", row), row.get("long", row)):
            for kind in _KINDS:
                if not part[kind] >= 0:
                    raise ValueError(f"{kind} of {name} is {part[kind]!r}")
        if "long" in row and (row["long"]["above"] <= 0 or row["long"]["above"] % STEP):
            raise ValueError(f"the limit of long prompts of {name} is not a multiple of {STEP}")


def _millionths(dollars: float) -> int:
    return round(dollars * MICRO)


def cost(rate: Rate, tokens: Iterable[int]) -> int:
    """Return the price of tokens given in the order of a `Rate`."""
    return sum(price * number for price, number in zip(rate, tokens, strict=False))


def mode_of(spend: Spend) -> str:
    """Return the pricing mode of a reply: speed, tier and region, as far as they are not standard."""
    if spend.tier in _STANDARD and spend.speed in _STANDARD and spend.region in _STANDARD:
        return ""
    return " ".join(word for word in (spend.speed, spend.tier, spend.region) if word not in _STANDARD)


def priced(prices: Prices, spend: Spend) -> int | None:
    """Return the cost of one reply in micro-dollars; None if its model has no price."""
    money = money_of(prices, spend)
    return None if money is None else micros(money)


def money_of(prices: Prices, spend: Spend) -> int | None:
    """Return the cost of one reply in the unit of this module (a millionth of a micro-dollar); None if its model has
    no price.
    """
    count = spend.count
    rate = prices.rate(spend.model, mode_of(spend), -(-count.prompt // STEP))
    tokens = (count.input, count.output, count.cache_write_5m, count.cache_write_1h, count.cache_read)
    return None if rate is None else cost(rate, (*tokens, count.web_searches))


def micros(money: int) -> int:
    """Convert to micro-dollars, rounding half away from zero."""
    return (abs(money) + MICRO // 2) // MICRO * (1 if money >= 0 else -1)


def dollars(money: int) -> str:
    """Format money in dollars, to the cent."""
    cents = (abs(money) + MICRO * 5000) // (MICRO * 10_000)
    return f"{'-' if money < 0 and cents else ''}${cents // 100:,}.{cents % 100:02d}"
