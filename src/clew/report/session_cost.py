"""The cost of a session, a usage or entries in US dollars: `clew.cost`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from clew.conversation.session import Session
from clew.facts.prices import MICRO, dollars, money_of
from clew.facts.token_usage import Usage, usage
from clew.report.custom_prices import load_prices
from clew.wire.entry import Entry


class Cost(NamedTuple):
    """An amount of money. `str(cost)` is `$2.23`; costs add up; `unpriced` are the models without a known price."""

    micros: int
    unpriced: tuple[str, ...] = ()

    @property
    def dollars(self) -> float:
        return self.micros / 1e6

    def __str__(self) -> str:
        return dollars(self.micros * MICRO)

    def __add__(self, other: object) -> Cost:
        if not isinstance(other, Cost):
            return NotImplemented
        return Cost(self.micros + other.micros, tuple(sorted({*self.unpriced, *other.unpriced})))


def cost(source: Session | Usage | Iterable[Entry], *, price_file: str | None = None) -> Cost:
    """Return the cost of a session with its agents, of a usage, or of entries. Every reply counts once.

    Prices are those of the package, overridden by the price file of the user (or `price_file`).
    """
    spent = source if isinstance(source, Usage) else usage(source)
    table = load_prices(price_file)
    total, unpriced = 0, set()
    for spend in spent.replies.values():
        money = money_of(table, spend)
        if money is None:
            unpriced.add(spend.model)
        else:
            total += money
    return Cost((total + MICRO // 2) // MICRO, tuple(sorted(unpriced)))
