"""The ranking formula, part by part."""

from __future__ import annotations

from math import log2

import pytest

from clew.index.rank import HALF_LIFE, MOST, WEIGHT, passage_score, session_score

DAY = 86_400


def test_fields_weigh_titles_and_prompts_above_replies_above_tool_text() -> None:
    order = sorted(WEIGHT, key=lambda field: -WEIGHT[field])
    assert order[:3] == ["title", "prompt", "reply"]
    assert max(WEIGHT["input"], WEIGHT["result"]) < WEIGHT["reply"]


def test_relevance_grows_towards_the_weight_of_the_field() -> None:
    assert passage_score("reply", 1.0) == WEIGHT["reply"]
    assert passage_score("reply", 0.2) < passage_score("reply", 0.7) < WEIGHT["reply"]


@pytest.mark.req("R218")
def test_the_formula() -> None:
    expected = 2.0 * (0.4 + 0.6 * 0.5) * (1 + 0.15 * log2(8)) * (1 + 0.05 * log2(64))
    assert session_score(2.0, HALF_LIFE, 7, 63, False) == pytest.approx(expected)
    assert session_score(2.0, HALF_LIFE, 7, 63, True) == pytest.approx(0.6 * expected)


@pytest.mark.req("R218")
def test_newer_denser_and_deeper_is_better() -> None:
    base = session_score(1.0, 30 * DAY, 3, 10, False)
    assert session_score(1.0, 1 * DAY, 3, 10, False) > base
    assert session_score(1.0, 30 * DAY, 9, 10, False) > base
    assert session_score(1.0, 30 * DAY, 3, 99, False) > base
    assert session_score(2.0, 30 * DAY, 3, 10, False) > base


def test_what_is_old_never_vanishes_and_the_future_is_now() -> None:
    assert session_score(1.0, 1e12, 1, 0, False) == pytest.approx(0.4 * 1.15)
    assert session_score(1.0, -1e6, 1, 1, False) == session_score(1.0, 0.0, 1, 1, False)
    assert session_score(1.0, 0.0, MOST, 1, False) == session_score(1.0, 0.0, 9 * MOST, 1, False)
