"""Thinking and effort: the fields of requests for each model, as Claude Code 2.1.325 was seen to send them."""

from __future__ import annotations

from typing import Any

import pytest

from clew.api.endpoint import PROFILES
from clew.api.reasoning import Reasoning, reasoning_fields
from clew.api.request_body import prepare
from clew.models import longest_output, model_of, table
from tests.api.helper import ask

ADAPTIVE = {"type": "adaptive", "display": "omitted"}
EDITS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}


def sent(model: str, asked: Reasoning | None = None, limit: int = 0) -> dict[str, Any]:
    """What the body of a request to a model has besides the conversation."""
    max_tokens = limit or model_of(model).output
    fields = reasoning_fields(model, max_tokens, asked or Reasoning())
    asking = ask(
        thinking=fields.thinking,
        temperature=fields.temperature,
        capabilities=fields.capabilities,
        max_tokens=max_tokens,
    )
    body = prepare(asking, PROFILES["anthropic"]).body
    return {name: value for name, value in body.items() if name not in ("model", "messages", "max_tokens")}


def budget(tokens: int) -> dict[str, Any]:
    return {"budget_tokens": tokens, "type": "enabled", "display": "omitted"}


def full(thinking: dict[str, Any], effort: str = "") -> dict[str, Any]:
    return {"thinking": thinking, "context_management": EDITS} | (
        {"output_config": {"effort": effort}} if effort else {}
    )


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-opus-5-5", full(ADAPTIVE, "medium")),
        ("claude-opus-4-8", full(ADAPTIVE, "high")),
        ("claude-opus-4-7", full(ADAPTIVE, "xhigh")),
        ("claude-opus-4-5", full(budget(31_999), "high")),
        ("claude-sonnet-4-5-20250929", full(budget(31_999))),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", full(budget(31_999))),
        ("claude-3-7-sonnet", {}),
        ("claude-future-9", full(ADAPTIVE, "high")),
        ("qwen3-coder", {}),
    ],
)
def test_every_model_is_asked_for_its_own_thinking(model: str, expected: dict[str, Any]) -> None:
    assert sent(model) == expected


OFF = Reasoning(is_off=True)
CASES: list[tuple[str, Reasoning, dict[str, Any]]] = [
    ("claude-opus-5-5", OFF, full(ADAPTIVE, "medium")),
    ("claude-opus-4-8", OFF, {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}}),
    ("claude-sonnet-4-5", OFF, {"thinking": {"type": "disabled"}, "temperature": 1}),
    ("claude-mythos-5", OFF, {"output_config": {"effort": "high"}}),
    ("claude-3-haiku", OFF, {"temperature": 1}),
    ("claude-sonnet-4-5", Reasoning(budget=8000), full(budget(8000))),
    ("claude-sonnet-4-5", Reasoning(budget=64_000), full(budget(31_999))),
    ("claude-sonnet-4-5", Reasoning(budget=500), full(budget(1024))),
    ("claude-opus-5-5", Reasoning(budget=8000), full(ADAPTIVE, "medium")),
    ("claude-opus-5-5", Reasoning(effort="max"), full(ADAPTIVE, "max")),
    ("claude-opus-5-5", Reasoning(effort="auto"), full(ADAPTIVE)),
    ("claude-opus-4-6", Reasoning(effort="xhigh"), full(ADAPTIVE, "high")),
    ("claude-opus-4-6", Reasoning(effort="max"), full(ADAPTIVE, "max")),
    ("claude-opus-4-5", Reasoning(effort="max"), full(budget(31_999), "high")),
    ("claude-sonnet-4-5", Reasoning(effort="low"), full(budget(31_999))),
    ("claude-opus-5-5", Reasoning(user_effort="low"), full(ADAPTIVE, "medium")),
    ("claude-opus-4-8", Reasoning(user_effort="low"), full(ADAPTIVE, "low")),
    ("claude-opus-5-5", Reasoning(shared_effort="low"), full(ADAPTIVE, "low")),
    ("claude-opus-5-5-20261001", Reasoning(saved_efforts={"claude-opus-5-5": "low"}), full(ADAPTIVE, "low")),
    ("claude-opus-4-8", Reasoning(saved_efforts={"claude-opus-5-5": "low"}), full(ADAPTIVE, "high")),
    ("qwen3-coder", Reasoning(effort="low"), full(ADAPTIVE, "low")),
]


@pytest.mark.parametrize(("model", "asked", "expected"), CASES)
def test_what_was_asked_for_changes_what_the_model_can_change(
    model: str, asked: Reasoning, expected: dict[str, Any]
) -> None:
    assert sent(model, asked) == expected


def test_a_task_budget_goes_beside_the_effort() -> None:
    config = {"effort": "medium", "task_budget": {"type": "tokens", "total": 50_000}}
    assert sent("claude-opus-5-5", Reasoning(task_budget=50_000))["output_config"] == config


def test_thinking_never_takes_more_than_the_reply_may_have() -> None:
    assert sent("claude-sonnet-4-5", limit=5000)["thinking"] == budget(4999)
    assert sent("claude-sonnet-4-5", limit=500)["thinking"] == {"type": "disabled"}  # the least budget does not fit


def test_traits_name_models_of_the_table() -> None:
    known = {name.removeprefix("claude-") for name in table()["models"]} | {"-"}
    named = " ".join([*table()["traits"].values(), *(n for n in table()["longest_output"] if n != "adaptive")])
    assert set(named.split()) <= known
    outputs = {"claude-opus-5-5": 128_000, "claude-sonnet-4-5": 64_000, "claude-opus-4": 32_000, "claude-3-haiku": 4096}
    assert {name: longest_output(name) for name in outputs} == outputs
