"""Logs in the form of OpenAI's APIs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import clew
from tests.foreign import logs
from tests.foreign.told import kept, session, sessions, told

TALK = [
    f"user: {logs.FIRST}",
    f"assistant: {logs.LOOK}",
    "call: look_at {'bed': 'north'}",
    f"result: {logs.OUTPUT}",
    f"assistant: {logs.ANSWER}",
    f"user: {logs.SECOND}",
    "user: [image]",
    f"assistant: {logs.FINE}",
]


def test_a_message_on_each_line(tmp_path: Path) -> None:
    found = session(logs.openai(tmp_path))
    assert told(found) == TALK
    assert kept(found) == ["system message", "thinking"]


def test_requests_that_go_on_are_one_conversation(tmp_path: Path) -> None:
    first, second = sessions(logs.openai_requests(tmp_path))
    assert told(first) == TALK
    assert told(second) == ["user: Good morning", "assistant: Good morning to you."]
    usage = clew.usage(first).total
    assert (usage.input, usage.cache_read, usage.output) == (2100, 900, 120)
    assert [reply.model for reply in first.replies] == ["gpt-4o-2026"] * 3


def test_items_of_the_responses_api(tmp_path: Path) -> None:
    said = told(session(logs.openai_responses(tmp_path)))
    assert said[0] == f"user: {logs.FIRST}"
    assert said[-1] == f"assistant: {logs.FINE}"
    assert any(line.startswith("call: Write") for line in said)


def test_functions_and_a_refusal(tmp_path: Path) -> None:
    found = session(logs.openai_function(tmp_path))
    assert told(found) == [
        f"user: {logs.FIRST}",
        "call: look_at {'arguments': '{broken'}",
        f"result: {logs.OUTPUT}",
        f"assistant: {logs.ANSWER}",
        f"user: {logs.SECOND}",
        f"assistant: {logs.FINE}",
    ]
    assert found.title == "Dry beds"


def test_turns_of_sharegpt(tmp_path: Path) -> None:
    assert told(session(logs.sharegpt(tmp_path))) == [
        f"user: {logs.FIRST}",
        f"assistant: {logs.ANSWER}",
        f"user: {logs.SECOND}",
        f"assistant: {logs.FINE}",
    ]


def test_blocks_of_the_messages_api(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "text", "text": "a"}],
        "is_error": True,
    }
    messages = [
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": [{"type": "text", "text": "Well."}, call]},
        {"role": "user", "content": [result, {"type": "text", "text": "Go on"}]},
    ]
    path = logs.written(tmp_path / "messages.json", [{"messages": messages}])
    assert told(session(path)) == [
        *("user: Look", "assistant: Well.", "call: Bash {'command': 'ls'}", "error: a", "user: Go on"),
    ]


def test_half_a_character_in_an_id(tmp_path: Path) -> None:
    chat = {"conversation_id": "\ud800", "messages": [{"role": "user", "content": "Go \ud800"}]}
    assert told(session(logs.written(tmp_path / "chat.json", [chat]))) == ["user: Go \ufffd"]


def test_a_picture_that_is_no_base64(tmp_path: Path) -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,b\u00e9d"}},
        {"type": "text", "text": "This?"},
    ]
    found = session(logs.written(tmp_path / "log.jsonl", [{"role": "user", "content": parts}]))
    assert told(found) == ["user: [File: image/png]", "user: This?"]


def test_the_same_id_of_two_calls(tmp_path: Path) -> None:
    """Some servers count calls from nought in every reply."""
    call = {"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    lines: list[Any] = [{"role": "user", "content": "Go"}]
    for number in range(3):
        lines += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_0", "content": f"{number}"},
        ]
    found = session(logs.written(tmp_path / "log.jsonl", lines))
    assert [line for line in told(found) if line.startswith("result")] == ["result: 0", "result: 1", "result: 2"]
    assert len({call.id for call in found.calls}) == 3
