"""Mending: whatever the messages are, what is sent breaks no rule, and what was right is left alone."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from clew.api.lint import lint
from clew.chat.turn.repair_messages import LOST, repair_messages
from clew.errors import ApiError
from tests.api.helper import assistant, call, result, text, thinking, user

IDS = some.sampled_from(["t1", "t2", "t3", "bad id!"])
BLOCKS = some.one_of(
    some.sampled_from(["", " ", "words"]).map(text),
    IDS.map(call),
    IDS.map(result),
    some.just(thinking()),
    some.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}),
    some.just({"type": "strange"}),
)
CONTENT = some.one_of(some.sampled_from(["", "words"]), some.lists(BLOCKS, max_size=5))
MESSAGES = some.lists(
    some.builds(
        lambda role, content: {"role": role, "content": content},
        some.sampled_from(["user", "assistant", "system"]),
        CONTENT,
    ),
    max_size=7,
)


@given(MESSAGES)
def test_what_is_mended_is_never_refused(messages: list[Any]) -> None:
    made, told = repair_messages([*messages, user("next")])
    assert [v for v in lint(made) if v.is_refused] == []
    assert repair_messages(made) == (made, [])
    if not told:
        assert made == [*messages, user("next")]


@pytest.mark.req("R271")
@given(MESSAGES)
def test_the_given_messages_are_left_as_they_are(messages: list[Any]) -> None:
    given_messages = [*messages, user("next")]
    before = repr(given_messages)
    repair_messages(given_messages)
    assert repr(given_messages) == before


def test_system_turns_stay_where_something_else_is_mended() -> None:
    turn = {"role": "system", "content": [text("Today is Monday.")]}
    assert repair_messages([user("a"), user("b"), turn, assistant(text("c")), user("d")])[0][2] == turn
    made, told = repair_messages([user("a"), turn, assistant(call("t1")), turn, user("d")])
    assert len(told) == 1
    assert [message["role"] for message in made] == ["user", "system", "assistant", "system", "user"]
    assert made[1] == made[3] == turn


def test_a_call_without_a_result_gets_one_and_a_result_without_a_call_goes() -> None:
    made, told = repair_messages(
        [user("a"), assistant(call("t1")), user([result("t2"), text("b")]), assistant(text("c")), user("d")]
    )
    assert made[2]["content"] == [result("t1", LOST, is_error=True), text("b")]
    assert len(told) == 2


def test_the_oldest_of_too_many_images_are_left_out() -> None:
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    shown = [user([image] * 60), assistant(call("t1")), user([result("t1", [image] * 60)])]
    made, told = repair_messages(shown)
    assert len(told) == 1 and [v for v in lint(made) if v.is_refused] == []
    assert [b["type"] for b in made[0]["content"]].count("image") == 40
    assert [b["type"] for b in made[2]["content"][0]["content"]].count("image") == 60


def test_what_cannot_be_mended_is_not_sent() -> None:
    with pytest.raises(ApiError, match="cannot be repaired"):
        repair_messages([])
