"""Prices: what tokens cost, from a dated table.

The prices stand in the table of models (`clew.models`); a file of the user may add to them or correct them. A model that
is in neither is named and left without a price: nothing is guessed. Money is counted in whole numbers, in so small a unit
that no price of a token has a fraction; it becomes micro-dollars when it is shown.

It imports nothing heavy: `clew usage` and the status line begin here.
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

MICRO = 10**6  # of the unit of money in here, for a micro-dollar
STEP = 100_000  # limits of long prompts are multiples of it, so that a sum of replies alike can be priced
_KINDS = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read")
_STANDARD = ("", "standard", "not_available", "global")


class Prices:
    """A table of prices, with where it comes from and of which day it is."""

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
        """The prices for a reply: its model, the words of its mode (`fast`, `batch`, a region), and the size of its prompt.

        `steps` is the size in steps of 100,000 tokens, rounded up. None if the model has no price.
        """
        key = (model, mode, steps)
        if key not in self._known:
            self._known[key] = self._rate(model, mode.split(), steps)
        return self._known[key]

    def _rate(self, model: str, words: list[str], steps: int) -> Rate | None:
        row = self._models.get(plain_name(model))
        if row is None or ("fast" in words and "fast" not in row):
            return None
        chosen = row["fast"] if "fast" in words else row
        if "long" in chosen and steps * STEP > chosen["long"]["above"]:
            chosen = chosen["long"]
        prices = [_millionths(chosen[kind]) for kind in _KINDS]
        for word in words:
            if word == "batch":
                prices = [price * self._batch // MICRO for price in prices]
            elif word in self._regions:
                prices = [price * self._regions[word] // MICRO for price in prices]
        return Rate._make([*prices, self._search])

    def names(self) -> list[str]:
        return sorted(self._models)


def plain_name(model: str) -> str:
    """A model by the name that the table has: without its date, the mark of a long window, and a provider's dress."""
    name = model.lower().rpartition("/")[2].partition("[")[0].partition("@")[0].partition(":")[0]
    name = name[name.rfind("anthropic.") + 10 :] if "anthropic." in name else name
    head, _, tail = name.rpartition("-")
    if tail in ("v1", "v2", "latest"):
        head, _, tail = (name := head).rpartition("-")
    if len(tail) == 8 and tail.isdigit():
        name = head
    return name.removesuffix("-0") if name.endswith("-4-0") else name


def load(given: Mapping[str, Any] | None = None, name: str = "") -> Prices:
    """The table of the package, with another laid over it, model by model. Raises ValueError with a sentence."""
    whole = models_table()
    table: dict[str, Any] = {**whole, "models": {name: row["price"] for name, row in whole["models"].items()}}
    if given is not None:
        try:
            table = _overlaid(table, given, name)
            _check(table)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{name} is no table of prices: {error}") from None
    return Prices(table)


def _overlaid(table: dict[str, Any], given: Mapping[str, Any], name: str) -> dict[str, Any]:
    models = dict(table["models"])
    for model, row in given.get("models", {}).items():
        model = plain_name(model)
        base = float(row.get("input", 0))
        usual = {"cache_write_5m": base * 1.25, "cache_write_1h": base * 2, "cache_read": base / 10}
        models[model] = {**(models.get(model) or usual), **row}
    named = {key: given[key] for key in ("date", "web_search", "batch", "regions") if key in given}
    return {**table, **named, "source": f"{given.get('source', name)}; else {table['source']}", "models": models}


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
    """The price of tokens in the order of a `Rate`."""
    return sum(price * number for price, number in zip(rate, tokens, strict=False))


def mode_of(spend: Spend) -> str:
    """The words that its price depends on, beside the model and the size of the prompt."""
    if spend.tier in _STANDARD and spend.speed in _STANDARD and spend.region in _STANDARD:
        return ""
    return " ".join(word for word in (spend.speed, spend.tier, spend.region) if word not in _STANDARD)


def priced(prices: Prices, spend: Spend) -> int | None:
    """The cost of one reply in micro-dollars; None if its model has no price."""
    money = money_of(prices, spend)
    return None if money is None else micros(money)


def money_of(prices: Prices, spend: Spend) -> int | None:
    """The cost of one reply in the unit of this module (a millionth of a micro-dollar); None if its model has no price."""
    count = spend.count
    rate = prices.rate(spend.model, mode_of(spend), -(-count.prompt // STEP))
    tokens = (count.input, count.output, count.cache_write_5m, count.cache_write_1h, count.cache_read)
    return None if rate is None else cost(rate, (*tokens, count.web_searches))


def micros(money: int) -> int:
    """Micro-dollars, rounded half away from zero."""
    return (abs(money) + MICRO // 2) // MICRO * (1 if money >= 0 else -1)


def dollars(money: int) -> str:
    """Money as people read it, to the cent."""
    cents = (abs(money) + MICRO * 5000) // (MICRO * 10_000)
    return f"{'-' if money < 0 and cents else ''}${cents // 100:,}.{cents % 100:02d}"
