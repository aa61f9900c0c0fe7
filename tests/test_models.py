"""The table of models: what is known of each, by any of its names."""

from __future__ import annotations

import re

import pytest

from clew.models import is_same, model_of, plan_model, resolve, short_names, table, window_of, without_suffix

MILLION = 1_000_000


def test_every_row_is_whole_and_the_table_says_where_it_comes_from() -> None:
    found = table()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"]) and found["source"] and found["facts"]
    for name, row in found["models"].items():
        assert {"window", "output", "thinking", "effort", "system_turns", "resumes", "price"} <= set(row), name
        assert row["output"] < row["window"]


@pytest.mark.parametrize(
    ("name", "window", "output", "thinking", "turns"),
    [
        ("claude-opus-5-5", MILLION, 128_000, "adaptive", True),
        ("claude-sonnet-5-5", MILLION, 128_000, "adaptive", True),
        ("claude-haiku-5-5", MILLION, 128_000, "adaptive", True),
        ("claude-fable-5-2", MILLION, 128_000, "adaptive", True),
        ("claude-opus-4-8", MILLION, 64_000, "adaptive", True),
        ("claude-opus-4-7", MILLION, 64_000, "adaptive", False),
        ("claude-sonnet-4-5-20250929", 200_000, 32_000, "budget", False),
        ("claude-sonnet-4-5[1m]", MILLION, 32_000, "budget", False),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 32_000, "budget", False),
        ("claude-3-haiku-20240307", 200_000, 4_096, "", False),
        ("claude-future-9", MILLION, 32_000, "adaptive", True),
    ],
)
def test_limits_are_those_that_claude_code_reports(
    name: str, window: int, output: int, thinking: str, turns: bool
) -> None:
    found = model_of(name)
    assert (found.window, found.output, found.thinking, found.system_turns) == (window, output, thinking, turns)


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("opus", "claude-opus-5-5"),
        ("Opus", "claude-opus-5-5"),
        ("sonnet[1m]", "claude-sonnet-5-5"),
        ("opusplan", "claude-sonnet-5-5"),
        ("fable", "claude-fable-5-2"),
        ("haiku[1m]", "claude-haiku-5-5"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5[1m]"),
        ("qwen3-coder", "qwen3-coder"),
    ],
)
def test_short_names_and_the_mark_of_the_long_window_resolve_as_in_claude_code(name: str, full: str) -> None:
    assert resolve(name) == full


@pytest.mark.parametrize(
    ("name", "full"),
    [
        *((name, "claude-opus-5-5") for name in ("opusplan", "OpusPlan", "opusplan[1m]")),
        *((name, "") for name in ("", "opus", "sonnet", "claude-opus-5-5", "qwen3-coder")),
    ],
)
def test_only_opusplan_stands_for_another_model_in_plan_mode(name: str, full: str) -> None:
    assert plan_model(name) == full


def test_every_short_name_stands_for_a_model_of_the_table() -> None:
    assert all(model_of(full).name == full for full in short_names().values())


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        *((name, True) for name in ("claude-opus-5-5-fast", "anthropic/claude-opus-5-5", "claude-opus-4.5")),
        *(
            (name, True)
            for name in ("claude-fable-5", "claude-fable-5-1", "claude-haiku-5-5", "claude-3-5-sonnet-latest")
        ),
        *(
            (name, False)
            for name in ("claude-opus-5-1", "claude-opus-5-50", "claude-opus-4-1", "claude-haiku-5", "gpt-5")
        ),
    ],
)
def test_a_resume_keeps_the_models_that_claude_code_keeps(name: str, is_kept: bool) -> None:
    assert model_of(name).resumes == is_kept


def test_thinking_belongs_to_the_model_and_not_to_one_of_its_names() -> None:
    assert is_same("claude-opus-5-5", "claude-opus-5-5-20261001") and is_same("claude-opus-5-5[1m]", "claude-opus-5-5")
    assert not is_same("claude-opus-5-5", "claude-opus-5") and not is_same("claude-opus-5-1", "claude-opus-5-5")


def test_what_a_session_used_shows_that_the_window_is_larger() -> None:
    assert window_of("claude-sonnet-4-5") == 200_000
    assert window_of("claude-sonnet-4-5", 150_000) == 200_000
    assert window_of("claude-sonnet-4-5", 400_000) == MILLION
    assert window_of("claude-opus-5-5", 1_200_000) == 1_200_000


def test_the_mark_of_the_long_window_is_never_sent() -> None:
    assert without_suffix("claude-sonnet-4-5[1m]") == ("claude-sonnet-4-5", True)
    assert without_suffix("claude-sonnet-4-5") == ("claude-sonnet-4-5", False)


@pytest.mark.parametrize(
    "name", ["claude-opus-4-1", "claude-opus-4-1-20250805", "claude-opus-4-20250514", "claude-opus-4-0"]
)
def test_a_retired_name_stands_for_its_successor_and_keeps_its_own_facts(name: str) -> None:
    assert resolve(name) == "claude-opus-5-5"
    assert model_of(name.removesuffix("-0")).window == 200_000


@pytest.mark.parametrize("name", ["claude-opus-4-5", "claude-sonnet-4-20250514", "claude-3-5-haiku-20241022"])
def test_a_name_that_is_not_retired_stays(name: str) -> None:
    assert resolve(name) == name
