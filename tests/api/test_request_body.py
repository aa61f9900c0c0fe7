"""Requests: the body for each kind of server, and the marks of the prompt cache."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.api.endpoint import PROFILES
from clew.api.lint import lint
from clew.api.request_body import (
    THINKING_BLOCKS,
    Capability,
    MessagesRequest,
    PreparedRequest,
    count_cache_marks,
    drop_thinking,
    find_rejected_part,
    prepare,
    remove_cache_marks,
    signatures,
)
from clew.api.token_estimate import estimate_tokens, has_tokens
from tests.api.helper import TOOLS, ask, assistant, call, result, text, thinking, user

Json = dict[str, Any]

LONG = "word " * 1000  # over the shortest beginning that is kept
BETA = Capability("effort", "effort-2025-11-24", {"output_config": {"effort": "low"}})


def body(request: MessagesRequest, profile: str = "anthropic", *without: str) -> Json:
    return prepare(request, PROFILES[profile], frozenset(without)).body


def marks(made: Json) -> list[str]:
    """Where the marks are."""
    found = [f"tools.{i}" for i, t in enumerate(made.get("tools", ())) if "cache_control" in t]
    system = made.get("system")
    found += [f"system.{i}" for i, b in enumerate(system) if "cache_control" in b] if isinstance(system, list) else []
    for index, message in enumerate(made["messages"]):
        content = message["content"] if isinstance(message["content"], list) else []
        found += [f"messages.{index}.{i}" for i, b in enumerate(content) if "cache_control" in b]
    return found


def test_a_plain_request_says_only_what_was_said() -> None:
    assert body(ask()) == {"model": "claude-mock", "max_tokens": 4096, "messages": [user()]}


def test_everything_that_was_said_is_in_it() -> None:
    made = body(
        ask(
            system="Be kind.",
            tools=TOOLS,
            tool_choice={"type": "auto"},
            thinking={"type": "adaptive"},
            temperature=1.0,
            stop_sequences=["END"],
            metadata={"user_id": "x"},
            capabilities=[BETA],
        )
    )
    assert list(made) == [
        *("model", "max_tokens", "system", "tools", "messages", "tool_choice", "thinking", "temperature"),
        *("stop_sequences", "metadata", "output_config"),
    ]


def test_marks_stand_on_tools_system_and_the_two_newest_prompts() -> None:
    talk = [user(LONG), assistant(text("a")), user("b"), assistant(call()), user([result(), text("c")])]
    tools = [*TOOLS, TOOLS[0] | {"name": "X", "description": LONG}]
    made = body(ask(*talk, system=[text("Be kind."), text(LONG)], tools=tools))
    assert marks(made) == ["tools.1", "system.1", "messages.2.0", "messages.4.1"]
    assert count_cache_marks(made) == 4


def test_a_short_beginning_is_not_marked() -> None:
    assert marks(body(ask(user("hi"), system="Be kind.", tools=TOOLS))) == []
    assert marks(body(ask(user("hi"), assistant(text("a")), user(LONG), system="Be kind."))) == ["messages.2.0"]


def test_marks_have_the_lifetime_that_was_asked_for() -> None:
    made = body(ask(user(LONG), lifetime="1h"))
    assert made["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_marks_that_were_there_are_replaced() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    talk = [user([text(LONG) | mark]), assistant(text("a") | mark), user("b"), assistant(text("c")), user("d")]
    assert marks(body(ask(*talk))) == ["messages.2.0", "messages.4.0"]
    assert marks(body(ask(*talk, is_marked=False))) == ["messages.0.0", "messages.1.0"]


def test_the_next_request_begins_like_the_one_before() -> None:
    """Without its marks, a request is the beginning of the one that goes on from it."""
    talk = [user(LONG), assistant(text("a")), user("b")]
    first = remove_cache_marks(body(ask(*talk, system=LONG)))
    second = remove_cache_marks(body(ask(*talk, assistant(text("c")), user("d"), system=LONG)))
    plain = [{"role": "user", "content": [text(LONG)]}, talk[1], {"role": "user", "content": [text("b")]}]
    assert first["messages"] == plain
    assert second["system"] == first["system"] == [text(LONG)]


@given(st.integers(0, 6), st.sampled_from(sorted(PROFILES)), st.booleans())
def test_preparing_changes_nothing_and_marks_at_most_four(turns: int, profile: str, long: bool) -> None:
    said = LONG if long else "hi"
    talk: list[Json] = []
    for n in range(turns):
        talk += [user(said), assistant(thinking(), call(f"t{n}")), user([result(f"t{n}")]), assistant(text("x"))]
    asked = ask(
        *talk, user([text(said), text("last")]), system=[text(said)], tools=TOOLS, thinking={"type": "adaptive"}
    )
    before = copy.deepcopy(asked)
    made = body(asked, profile)
    assert asked == before
    assert count_cache_marks(made) <= 4
    assert [v for v in lint(made["messages"]) if v.is_refused] == []


@pytest.mark.parametrize(
    ("profile", "fields", "is_marked", "betas"),
    [
        ("anthropic", {"metadata", "tool_choice", "output_config"}, True, ("effort-2025-11-24",)),
        ("generic", {"metadata", "tool_choice", "output_config"}, True, ("effort-2025-11-24",)),
        ("litellm", {"metadata", "tool_choice", "output_config"}, True, ("effort-2025-11-24",)),
        ("ollama", set(), False, ()),
        ("vllm", {"tool_choice"}, False, ()),
    ],
)
def test_profiles(profile: str, fields: set[str], is_marked: bool, betas: tuple[str, ...]) -> None:
    asked = ask(user(LONG), tools=TOOLS, tool_choice={"type": "auto"}, metadata={"user_id": "x"}, capabilities=[BETA])
    made = prepare(asked, PROFILES[profile])
    assert {"metadata", "tool_choice", "output_config"} & {*made.body} == fields
    assert bool(marks(made.body)) == is_marked
    assert made.betas == betas


def test_header_and_field_of_a_capability_go_together() -> None:
    asked = ask(capabilities=[BETA, Capability("interleaved", "interleaved-thinking-2025-05-14")])
    both = prepare(asked, PROFILES["anthropic"])
    assert both.betas == ("effort-2025-11-24", "interleaved-thinking-2025-05-14") and "output_config" in both.body
    one = prepare(asked, PROFILES["anthropic"], frozenset({"effort"}))
    assert one.betas == ("interleaved-thinking-2025-05-14",) and "output_config" not in one.body


def test_thinking_goes_whole() -> None:
    talk = [user(), assistant(thinking(), text("a")), user("b"), assistant(thinking()), user("c")]
    assert drop_thinking(talk, signatures(talk)) == [user(), assistant(text("a")), user("b"), user("c")]


def test_only_thinking_that_was_refused_goes() -> None:
    talk = [
        user(),
        assistant(thinking(signature="foreign"), text("a")),
        user("b"),
        assistant(thinking(), text("c")),
        user(),
    ]
    made = prepare(ask(*talk), PROFILES["anthropic"], refused=frozenset({"foreign"})).body
    assert made["messages"] == [user(), assistant(text("a")), *talk[2:]]


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("output_config: Extra inputs are not permitted", "effort"),
        ("Unexpected value(s) `effort-2025-11-24` for the `anthropic-beta` header", "effort"),
        ("messages.1.content.0: Invalid `signature` in `thinking` block", THINKING_BLOCKS),
        ("system.0.cache_control: Extra inputs are not permitted", "cache_control"),
        ("thinking: unknown field", "thinking"),
        ("metadata: Extra inputs are not permitted", "metadata"),
        ("temperature is not supported by this model", "temperature"),
        ("max_tokens must be greater than thinking.budget_tokens", ""),
        ("messages.0: all messages must have non-empty content", ""),
    ],
)
def test_a_refusal_names_what_can_be_left_out(message: str, name: str) -> None:
    asked = ask(
        user(LONG),
        assistant(thinking(), text("x")),
        user("y"),
        thinking={"type": "adaptive"},
        metadata={"user_id": "x"},
        temperature=1.0,
        capabilities=[BETA],
    )
    made = prepare(asked, PROFILES["anthropic"])
    assert find_rejected_part(message, made, asked) == name
    if name:
        refused = signatures(asked.messages) if name == THINKING_BLOCKS else frozenset[str]()
        again = prepare(asked, PROFILES["anthropic"], frozenset({name}), refused)
        assert again != made
        assert find_rejected_part(message, again, asked) == ""


def test_what_is_not_in_the_request_is_not_the_culprit() -> None:
    assert (
        find_rejected_part("cache_control and thinking and metadata and signature", PreparedRequest(body(ask())), ask())
        == ""
    )


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(-3, 40))
def test_parts_are_counted_until_they_are_enough(sizes: list[int], minimum: int) -> None:
    parts = [text("x" * size) for size in sizes]
    assert has_tokens(parts, minimum) == (estimate_tokens(parts) >= minimum)
    assert has_tokens(iter([{"text": "x" * 400}, object]), 100)
