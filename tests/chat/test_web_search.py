"""WebSearch by the server: the request for it, what the model gets of the answer, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.api.endpoint import PROFILES
from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from tests.chat.chat_fixture import World, sound, use, world
from tests.chat.test_session_factory import results, say

PAGE = {"type": "web_search_result", "title": "Tides", "url": "https://a.example/t", "encrypted_content": "x"}
CITED = {"type": "web_search_result_location", "url": "https://a.example/t", "title": "Tides", "cited_text": "At 9."}
FOUND: list[str | dict[str, Any]] = [
    "I look.",
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tides"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]},
    {"type": "text", "text": "High water is at 9.", "citations": [CITED]},
]
USAGE = {"input_tokens": 5, "output_tokens": 5, "server_tool_use": {"web_search_requests": 1}}


def search(made: World, model: str = "claude-opus-5-5", **more: Any) -> str:
    say(made, "go", model=model, allowed=("WebSearch",), **more)
    sound(made.path())
    return results(made)[0]


def rules(found: Any, **query: Any) -> list[ScriptRule]:
    step = found if isinstance(found, ScriptStep) else ScriptStep(content=found, stop_reason="end_turn", usage=USAGE)
    call = use("WebSearch", query="tides", **query)
    return [ScriptRule(prompt="Search the web", steps=[step]), ScriptRule(prompt="go", steps=[[call], "At 9."])]


def test_the_model_gets_links_and_texts_with_their_sources(tmp_path: Path) -> None:
    with world(tmp_path, rules=rules(FOUND)) as made:
        text = search(made)
        asked = made.sent[1]
    assert asked["tools"] == [{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}]
    assert asked["model"] == "claude-opus-5-5" and asked["tool_choice"] == {"type": "auto"} and "thinking" not in asked
    assert 'Links: [{"title": "Tides", "url": "https://a.example/t"}]' in text
    assert "High water is at 9. ([Tides](https://a.example/t))" in text and "I look." in text
    record = next(line["toolUseResult"] for line in made.lines() if "toolUseResult" in line)
    assert record["query"] == "tides" and record["searchCount"] == 1 and "Tides" in str(record["results"])


def test_a_model_that_can_do_without_thinking_must_search(tmp_path: Path) -> None:
    with world(tmp_path, rules=rules(FOUND, allowed_domains=["a.example"])) as made:
        search(made, "claude-sonnet-4-5")
        asked = made.sent[1]
    assert asked["tools"][0]["allowed_domains"] == ["a.example"]
    assert asked["tool_choice"] == {"type": "tool", "name": "web_search"}
    assert asked["thinking"] == {"type": "disabled"} and asked["temperature"] == 1


def test_a_search_is_charged(tmp_path: Path) -> None:
    with world(tmp_path, rules=rules(FOUND)) as made:
        done = say(made, "go", model="claude-opus-5-5", allowed=("WebSearch",))
    assert done.models["claude-opus-5-5"]["webSearchRequests"] == 1 and (done.cost or 0) > 0.01


def test_an_error_of_the_search_reaches_the_model(tmp_path: Path) -> None:
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    block = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": failed}
    with world(tmp_path, rules=rules([block])) as made:
        assert "failed: max_uses_exceeded" in search(made)


def test_a_server_that_rejects_the_tool_says_so(tmp_path: Path) -> None:
    step = ScriptStep(
        content="x", fault=Fault(status=400, message="tools.0: Input tag 'web_search_20250305' is unknown")
    )
    with world(tmp_path, rules=rules(step)) as made:
        assert "The web search failed: tools.0: Input tag" in search(made)


@pytest.mark.parametrize("profile", ["ollama", "vllm", "bedrock"])
def test_a_server_without_the_tool_is_not_asked(tmp_path: Path, profile: str) -> None:
    with world(tmp_path, rules=rules(FOUND)) as made:
        endpoint = replace_profile(made, profile)
        assert "No web search is set up" in search(made, endpoint=endpoint)
        assert len(made.sent) == 2


def replace_profile(made: World, profile: str) -> Any:

    return replace(made.endpoint, profile=PROFILES[profile])
