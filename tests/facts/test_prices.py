"""Prices: a dated table, whole numbers, and no guesses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.facts.prices import MICRO, Prices, cost, dollars, load, micros, plain_name

PRICES = load()
MILLION = 10**6


def price(model: str, mode: str = "", steps: int = 0, **tokens: int) -> float:
    """Dollars for some tokens."""
    rate = PRICES.rate(model, mode, steps)
    assert rate is not None
    return cost(rate, [tokens.get(kind, 0) for kind in rate._fields]) / MICRO**2


@pytest.mark.parametrize(
    ("model", "given", "output", "write_5m", "write_1h", "read"),
    [
        ("claude-opus-5-5", 4, 20, 5, 8, 0.2),
        ("claude-opus-5", 5, 25, 6.25, 10, 0.5),
        ("claude-opus-4-1-20250805", 15, 75, 18.75, 30, 1.5),
        ("claude-sonnet-4-5-20250929", 3, 15, 3.75, 6, 0.3),
        ("claude-sonnet-5", 2, 10, 2.5, 4, 0.2),
        ("claude-haiku-4-5-20251001", 1, 5, 1.25, 2, 0.1),
        ("claude-3-5-haiku-20241022", 0.8, 4, 1, 1.6, 0.08),
        ("claude-fable-5", 10, 50, 12.5, 20, 1),
    ],
)
def test_a_million_tokens_of_each_kind(
    model: str, given: float, output: float, write_5m: float, write_1h: float, read: float
) -> None:
    assert price(model, input=MILLION) == given
    assert price(model, output=MILLION) == output
    assert price(model, cache_write_5m=MILLION) == write_5m
    assert price(model, cache_write_1h=MILLION) == write_1h
    assert price(model, cache_read=MILLION) == read


def test_what_else_costs() -> None:
    assert price("claude-opus-5", web_search=1000) == 10
    assert price("claude-opus-5", "batch", output=MILLION) == 12.5
    assert price("claude-opus-5", "us", output=MILLION) == 27.5
    assert price("claude-opus-4-6", "fast", output=MILLION) == 150
    assert price("claude-opus-5", "fast us", output=MILLION) == 55
    assert price("claude-sonnet-4-5", "", 2, input=MILLION) == 3
    assert price("claude-sonnet-4-5", "", 3, input=MILLION, output=MILLION) == 28.5
    assert price("claude-haiku-5-5", "", 1, input=MILLION) == 0.1
    assert price("claude-haiku-5-5", "", 2, input=MILLION) == 0.5


@pytest.mark.parametrize("model", ["", "gpt-5", "claude-opus-9", "<synthetic>", "claude"])
def test_an_unknown_model_has_no_price(model: str) -> None:
    assert PRICES.rate(model) is None


def test_a_mode_that_a_model_does_not_have_has_no_price() -> None:
    assert PRICES.rate("claude-haiku-4-5", "fast") is None


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-0", "claude-opus-4"),
        ("claude-opus-5[1m]", "claude-opus-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic/claude-haiku-4-5", "claude-haiku-4-5"),
        ("claude-sonnet-4@20250514", "claude-sonnet-4"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("CLAUDE-OPUS-5", "claude-opus-5"),
    ],
)
def test_a_model_has_one_name_whatever_its_dress(name: str, plain: str) -> None:
    assert plain_name(name) == plain
    assert PRICES.rate(name) == PRICES.rate(plain) is not None


def test_the_table_says_where_it_is_from() -> None:
    assert PRICES.date.startswith("20") and "platform.claude.com" in PRICES.source
    assert "claude-opus-5-5" in PRICES.names()


# -- a table of one's own


def with_own(**table: Any) -> Prices:
    return load(table, "mine.json")


def test_a_table_of_ones_own_goes_first() -> None:
    own = with_own(
        date="2027-01-01", models={"house-model": {"input": 1, "output": 2}, "claude-opus-5": {"output": 26}}
    )
    made, changed = own.rate("house-model"), own.rate("claude-opus-5")
    assert made is not None and changed is not None
    assert made[:5] == (MICRO, 2 * MICRO, 1_250_000, 2 * MICRO, 100_000)
    assert (changed.input, changed.output) == (5 * MICRO, 26 * MICRO)
    assert own.date == "2027-01-01" and own.source.startswith("mine.json; else ")
    assert own.rate("claude-haiku-4-5") == PRICES.rate("claude-haiku-4-5")


@pytest.mark.parametrize(
    "models",
    [
        5,
        {"x": 5},
        {"x": {"output": 2}},
        {"x": {"input": "many", "output": 2}},
        {"x": {"input": -1, "output": 2}},
        {"x": {"input": 1, "output": 2, "long": {"above": 150, "input": 1, "output": 2}}},
    ],
)
def test_a_table_that_makes_no_sense_is_refused(models: Any) -> None:
    with pytest.raises(ValueError, match=r"mine\.json is not a price table"):
        with_own(models=models)


# -- money


@given(st.lists(st.integers(0, 10**7), min_size=6, max_size=6), st.sampled_from(PRICES.names()))
def test_a_price_is_a_whole_number_and_adds_up(tokens: list[int], model: str) -> None:
    rate = PRICES.rate(model)
    assert rate is not None
    whole = cost(rate, tokens)
    assert whole == sum(cost(rate, [n if i == kind else 0 for i, n in enumerate(tokens)]) for kind in range(6))


@pytest.mark.parametrize(
    ("money", "shown", "small"),
    [
        (0, "$0.00", 0),
        (MICRO * 5000, "$0.01", 5000),
        (MICRO * 4999, "$0.00", 4999),
        (MICRO * 1_234_567_890, "$1,234.57", 1_234_567_890),
        (-MICRO * 20_000, "-$0.02", -20_000),
        (MICRO // 2, "$0.00", 1),
        (-1, "$0.00", 0),
    ],
)
def test_money_is_rounded_when_it_is_shown(money: int, shown: str, small: int) -> None:
    assert (dollars(money), micros(money)) == (shown, small)
