"""Literal functions from early descriptions of the format, with the examples given there."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from clew.conversation.literal_functions import (
    Message,
    deduplicate,
    extract_text,
    extract_tool_name,
    load_session,
    parse_content_blocks,
    parse_session,
)
from clew.conversation.rounds import determine_round_type, rounds, starts_round
from tests.conversation.lines import Json, reply, result, session, text, use, user

RESULT = [{"type": "tool_result", "tool_use_id": "call_xxx", "content": "文件内容...", "is_error": False}]


def message(content: Any = "继续", seconds: int | None = None, **fields: Any) -> Json:
    found: Json = {"type": "user", "parentUuid": "p", "message": {"role": "user", "content": content}, **fields}
    if seconds is not None:
        found["timestamp"] = f"2026-02-18T02:{seconds // 60:02}:{seconds % 60:02}.000Z"
    return found


# -- rounds


@pytest.mark.req("R171")
def test_a_permission_mode_means_a_new_session() -> None:
    assert determine_round_type(message(permissionMode="acceptEdits")) == "new_session"
    assert determine_round_type(message(RESULT, permissionMode="default")) == "new_session"


@pytest.mark.req("R172")
def test_no_parent_means_a_new_session() -> None:
    assert determine_round_type(message(parentUuid=None)) == "new_session"
    assert determine_round_type(message(RESULT, parentUuid=None)) == "new_session"
    assert determine_round_type({"message": {"content": "x"}}) == "new_session"


@pytest.mark.req("R173")
def test_a_tool_result_goes_on() -> None:
    assert determine_round_type(message(RESULT)) == "continue"
    assert determine_round_type(message(RESULT, 3600), message(seconds=0)) == "continue"


@pytest.mark.req("R174")
@pytest.mark.parametrize(("gap", "expected"), [(301, "resume"), (300, "new_round"), (1, "new_round")])
def test_more_than_five_minutes_mean_a_resume(gap: int, expected: str) -> None:
    assert determine_round_type(message(seconds=gap), message(seconds=0)) == expected


@pytest.mark.req("R174")
def test_a_gap_needs_a_message_before_and_two_times() -> None:
    assert determine_round_type(message(seconds=900)) == "new_round"
    assert determine_round_type(message(), message(seconds=0)) == "new_round"
    assert determine_round_type(message(timestamp="soon"), message(seconds=0)) == "new_round"


@pytest.mark.req("R175")
@pytest.mark.parametrize("content", ["继续", [text("继续")], [], None, 7, ["tool_result"]])
def test_anything_else_is_a_new_round(content: Any) -> None:
    assert determine_round_type(message(content)) == "new_round"
    assert determine_round_type({"parentUuid": "p"}) == "new_round"


@pytest.mark.req("R176")
def test_messages_are_grouped_into_rounds() -> None:
    first, answer = message("one", permissionMode="default"), message(RESULT)
    second, third = message("two", permissionMode="default"), message("three")
    assert rounds([first, answer, answer, second, third, answer]) == [
        [first, answer, answer],
        [second],
        [third, answer],
    ]
    assert [starts_round(m) for m in (first, answer, second, third)] == [True, False, True, True]
    assert starts_round(message(RESULT, permissionMode="default"))
    lost = message(RESULT, parentUuid=None)  # rule 2: a tool result continues the round, whatever its parent is
    assert rounds([first, lost]) == [[first, lost]]
    assert rounds([answer]) == [[answer]]
    assert rounds([]) == []


# -- blocks


@pytest.mark.req("R094")
@pytest.mark.req("R095")
@pytest.mark.req("R096")
def test_blocks_as_an_early_description_lists_them() -> None:
    content = [
        text(""),
        {"type": "thinking", "thinking": "", "signature": ""},
        use("call_1", "Read", file_path="a"),
        {"type": "tool_result", "tool_use_id": "call_1", "content": "x"},
        {"type": "tool_result", "tool_use_id": "call_2", "content": "y", "is_error": True},
        "not a block",
        None,
        {"type": "image", "source": {}},
    ]
    assert parse_content_blocks(content) == [
        {"type": "text", "text": ""},
        {"type": "thinking", "thinking": ""},
        {"type": "tool_use", "tool_name": "Read", "tool_input": {"file_path": "a"}, "tool_use_id": "call_1"},
        {"type": "tool_result", "tool_use_id": "call_1", "content": "x", "is_error": False},
        {"type": "tool_result", "tool_use_id": "call_2", "content": "y", "is_error": True},
    ]
    assert parse_content_blocks("a string") == []


@pytest.mark.req("R097")
def test_text_with_thinking_marked() -> None:
    blocks = [{"type": "thinking", "thinking": "让我分析"}, text("我来帮你"), use("call_1")]
    assert extract_text({"content": blocks}) == "[思考] 让我分析\n我来帮你"
    assert extract_text({"content": "a string"}) == ""
    assert extract_text({}) == ""


@pytest.mark.req("R098")
def test_the_name_of_the_first_tool() -> None:
    assert extract_tool_name({"content": [text("x"), use("a", "Read"), use("b", "Bash")]}) == "Read"
    assert extract_tool_name({"content": [text("x")]}) is None
    assert extract_tool_name({"content": "x"}) is None


@pytest.mark.req("R099")
def test_a_flat_list_of_what_was_said() -> None:
    found = session(
        {"type": "queue-operation", "operation": "dequeue"},
        user("A", None, [text("帮我")], timestamp="2026-02-18T02:00:41.489Z"),
        reply("B", "A", text("我来"), use("call_1", "Read"), timestamp="2026-02-18T02:01:02.619Z"),
        user("C", "B", [{**RESULT[0], "is_error": True}], timestamp="2026-02-18T02:01:05.968Z"),
        {"type": "system", "uuid": "D", "parentUuid": "C", "subtype": "turn_duration"},
    )
    assert parse_session(found.entries) == [
        Message("user", "A", "2026-02-18T02:00:41.489Z", "帮我"),
        Message("assistant", "B", "2026-02-18T02:01:02.619Z", "我来", "Read"),
        Message("user", "C", "2026-02-18T02:01:05.968Z", "", None, True),
    ]


# -- streamed messages


@pytest.mark.req("R133")
def test_the_streaming_pattern_of_an_early_description() -> None:
    found = session(
        reply("1", None, {"type": "thinking", "thinking": "x"}, mid="m", usage={"output_tokens": 2}),
        reply("2", "1", text("y"), mid="m", usage={"output_tokens": 2}),
        reply("3", "2", use("toolu_1"), mid="m", stop="tool_use", usage={"output_tokens": 480}),
        reply("4", "3", text("z"), mid="n", usage={"output_tokens": 1}),
        reply("5", "4", text("!"), mid="n", usage={"output_tokens": 7}),
    )
    streamed, unfinished = deduplicate(found.entries).values()
    assert (streamed.message_id, streamed.final, streamed.streaming) == ("m", "3", ("1", "2"))
    assert [(block.type, block.id) for block in streamed.content_blocks] == [("tool_use", "toolu_1")]
    assert [block.text for block in unfinished.content_blocks] == ["!"]
    assert streamed.usage is not None
    assert streamed.usage.output_tokens == 480
    assert (unfinished.message_id, unfinished.final, unfinished.streaming) == ("n", "5", ("4",))
    assert unfinished.usage is not None
    assert unfinished.usage.output_tokens == 7


@pytest.mark.req("R133")
def test_a_stop_reason_makes_a_line_final_whatever_it_counts() -> None:
    found = session(
        reply("1", None, text("x"), mid="m", stop="end_turn", usage={"output_tokens": 2}),
        reply("2", "1", text("y"), mid="m", usage={"output_tokens": 9}),
        reply("3", "2", text("z"), mid="m", stop="end_turn", usage={"output_tokens": 9}),
    )
    assert deduplicate(found.entries)["m"].final == "1"


@pytest.mark.req("R351")
def test_a_deduplicated_message_has_the_blocks_of_its_final_line() -> None:
    asked = use("toolu_1", "Read", file_path="/a")
    found = session(
        reply("1", None, {"type": "thinking", "thinking": "x", "signature": "c2ln"}, mid="m"),
        reply("2", "1", text("y"), mid="m"),
        reply("3", "2", text("I look."), asked, mid="m", stop="tool_use"),
        reply("4", "3", text("alone"), mid="n", stop="end_turn"),
    )
    streamed, alone = deduplicate(found.entries).values()
    assert [(block.type, block.text, block.name, block.input) for block in streamed.content_blocks] == [
        ("text", "I look.", None, None),
        ("tool_use", None, "Read", {"file_path": "/a"}),
    ]
    assert (alone.streaming, [block.text for block in alone.content_blocks]) == ((), ["alone"])


# -- API messages as an early description rebuilds them


def story() -> list[Json]:
    return [
        user("A", None, "/implement-spec"),
        user("B", "A", [text("# The skill")], isMeta=True),
        reply("C", "B", text("I read."), mid="m1", requestId="req_1"),
        reply("D", "C", use("toolu_1"), mid="m1", requestId="req_1"),
        result("E", "D", "toolu_1", "# My Project", toolUseResult={"type": "text"}),
        reply("F", "E", text("A CLI."), mid="m2", requestId="req_2"),
    ]


@pytest.mark.req("R266")
@pytest.mark.req("R267")
@pytest.mark.req("R268")
def test_api_messages_by_request_without_meta_entries() -> None:
    assert load_session(session(*story()).entries) == [
        {"role": "user", "content": "/implement-spec"},
        {"role": "assistant", "content": [text("I read."), use("toolu_1")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "# My Project"}]},
        {"role": "assistant", "content": [text("A CLI.")]},
    ]


@pytest.mark.req("R270")
def test_a_summary_takes_the_place_of_what_was_said() -> None:
    lines = [*story(), {"type": "summary", "summary": "Code audit fixes...", "leafUuid": "F"}, user("G", None, "go on")]
    assert load_session(session(*lines).entries) == [
        {"role": "user", "content": "[Previous conversation summary]: Code audit fixes..."},
        {"role": "user", "content": "go on"},
    ]


@pytest.mark.req("R271")
def test_rebuilding_leaves_the_entries_as_they_were() -> None:
    found = session(*story())
    before = deepcopy([entry.data for entry in found.entries])
    for made in load_session(found.entries):
        made["content"] = []
    messages = load_session(found.entries)
    messages[1]["content"].clear()
    assert [entry.data for entry in found.entries] == before
    assert len(load_session(found.entries)[1]["content"]) == 2
