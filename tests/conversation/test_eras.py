"""Rules that changed between versions, on sessions in which they decide what is sent."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from clew.conversation.session import Session
from tests.conversation.lines import Json, reply, result, session, text, texts, use, user

IMAGE: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def sent(version: str, *lines: Json) -> list[str]:
    return texts(clew.request(session(*lines), version).messages)


@pytest.mark.parametrize(("version", "said"), [("2.1.260", "x y aside"), ("2.1.290", "x aside y")])
def test_a_block_beside_the_path_follows_the_whole_reply_before_2_1_290(version: str, said: str) -> None:
    lines = [
        user("A", None, "go"),
        reply("B", "A", text("x"), mid="m"),
        reply("C", "A", text("aside"), mid="m"),
        reply("D", "B", text("y"), mid="m"),
    ]
    assert sent(version, *lines) == ["user: go", f"assistant: {said}"]


@pytest.mark.parametrize(("version", "calls"), [("2.1.100", "(two)"), ("2.1.260", "(two)"), ("2.1.290", "(one) (two)")])
def test_a_result_without_a_parent_is_found_by_its_call_from_2_1_290_on(version: str, calls: str) -> None:
    lines = [
        user("A", None, "go"),
        reply("B", "A", use("one"), mid="m"),
        reply("C", "B", use("two"), mid="m"),
        result("D", None, "one"),
        result("E", "C", "two"),
        reply("F", "E", text("done")),
    ]
    assert sent(version, *lines)[1] == f"assistant: {calls}"


@pytest.mark.parametrize("version", ["2.1.100", "2.1.260"])
def test_results_are_pulled_in_by_time_before_2_1_290(version: str) -> None:
    lines = [
        user("A", None, "go"),
        reply("B", "A", use("one"), mid="m"),
        reply("C", "B", use("two"), mid="m"),
        reply("D", "C", use("three"), mid="m"),
        result("E", "B", "one", timestamp="2026-01-05T09:00:20.000Z"),
        result("F", "C", "two", timestamp="2026-01-05T09:00:10.000Z"),
        result("G", "D", "three", timestamp="2026-01-05T09:00:05.000Z"),
        reply("H", "G", text("done"), timestamp="2026-01-05T09:00:30.000Z"),
    ]
    assert sent(version, *lines)[2] == "user: [two] [one] [three]"


@pytest.mark.parametrize(
    ("version", "said"), [("2.1.45", ["user: go", "assistant: hi", "user: hidden"]), ("2.1.100", [])]
)
def test_virtual_lines_are_not_sent_from_2_1_100_on(version: str, said: list[str]) -> None:
    lines = [
        user("A", None, "go"),
        reply("B", "A", text("hi")),
        user("C", "B", "hidden", isVirtual=True),
    ]
    expected = said or ["user: go", "assistant: hi"]
    assert sent(version, *lines) == [*expected, "assistant: No response requested."]


@pytest.mark.parametrize(("version", "kinds"), [("2.1.45", ["text", "image"]), ("2.1.100", ["text"])])
def test_images_in_errors_are_not_sent_from_2_1_100_on(version: str, kinds: list[str]) -> None:
    failed: Json = {"type": "tool_result", "tool_use_id": "one", "is_error": True, "content": [text("bad"), IMAGE]}
    lines = [user("A", None, "go"), reply("B", "A", use("one")), user("C", "B", [failed]), reply("D", "C", text("oh"))]
    answer = clew.request(session(*lines), version).messages[2]["content"][0]
    assert [part["type"] for part in answer["content"]] == kinds


@pytest.mark.parametrize(("version", "count"), [("2.1.100", 3), ("2.1.200", 1)])
def test_blank_texts_beside_others_are_not_sent_from_2_1_200_on(version: str, count: int) -> None:
    lines = [user("A", None, [text(" "), text("go"), text("")]), reply("B", "A", text("hi"))]
    assert len(clew.request(session(*lines), version).messages[0]["content"]) == count


@pytest.mark.parametrize(("version", "refusal"), [("2.1.45", ""), ("2.1.100", "the last message has no time")])
def test_a_session_without_times_is_refused_from_2_1_100_on(version: str, refusal: str) -> None:
    lines = [user("A", None, "go", timestamp=None), reply("B", "A", text("hi"), timestamp=None)]
    assert clew.request(session(*lines), version).refusal == refusal


def attachment(uuid: str, parent: str, words: str) -> Json:
    return {
        "type": "attachment",
        "uuid": uuid,
        "parentUuid": parent,
        "attachment": {"type": "hook_additional_context", "hookName": "PostToolUse:Read", "content": [words]},
        "rendered": [{"content": words}],
        "renderedRole": "user",
    }


def results_with_hooks(version: str, *below: Json) -> list[str]:
    """The results of two parallel calls, of which the first has an attachment and `below` beside the path."""
    lines = [
        user("A", None, "go"),
        reply("B", "A", use("one"), mid="m"),
        reply("C", "B", use("two"), mid="m"),
        result("D", "B", "one", "1"),
        attachment("E", "D", "said of one"),
        *below,
        result("F", "C", "two", "2"),
        reply("G", "F", text("done")),
    ]
    return [block["content"] for block in clew.request(session(*lines), version).messages[2]["content"]]


@pytest.mark.parametrize(("version", "first"), [("2.1.260", "1"), ("2.1.290", "1\n\nsaid of one")])
def test_what_a_hook_said_about_a_parallel_call_is_sent_from_2_1_290_on(version: str, first: str) -> None:
    assert results_with_hooks(version) == [first, "2"]


def test_an_attachment_below_which_a_branch_begins_stays_aside() -> None:
    assert results_with_hooks("2.1.325", user("X", "E", "another way")) == ["1", "2"]


def test_a_system_line_is_no_branch() -> None:
    note = {"type": "system", "uuid": "X", "parentUuid": "E", "subtype": "informational", "content": "note"}
    assert results_with_hooks("2.1.325", note) == ["1\n\nsaid of one", "2"]


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("2.1.45", ["Task", "KillShell", "AgentOutputTool", "KillBash", "BashOutput"]),
        ("2.1.100", ["Agent", "TaskStop", "TaskOutput", "KillBash", "BashOutput"]),
        ("2.1.160", ["Agent", "TaskStop", "TaskOutput", "TaskStop", "TaskOutput"]),
        ("2.1.260", ["Agent", "TaskStop", "TaskOutput", "TaskStop", "TaskOutput"]),
        ("2.1.290", ["Agent", "TaskStop", "AgentOutputTool", "TaskStop", "BashOutput"]),
        ("2.1.310", ["Agent", "KillShell", "AgentOutputTool", "KillBash", "BashOutput"]),
    ],
)
def test_former_names_of_tools_are_replaced(version: str, names: list[str]) -> None:
    former = ["Task", "KillShell", "AgentOutputTool", "KillBash", "BashOutput"]
    results: list[Json] = [{"type": "tool_result", "tool_use_id": name, "content": "done"} for name in former]
    lines = [
        user("A", None, "go"),
        reply("B", "A", *(use(name, name) for name in former)),
        user("C", "B", results),
        reply("D", "C", text("done")),
    ]
    assert [block["name"] for block in clew.request(session(*lines), version).messages[1]["content"]] == names


def with_strings(*, prompt: list[Any], said: list[Any]) -> Session:
    answer = reply("B", "A")
    answer["message"]["content"] = said
    return session(user("A", None, prompt), answer)


@pytest.mark.parametrize(("version", "kept"), [("2.0.50", ["bare"]), ("2.1.45", ["bare"]), ("2.1.325", [])])
def test_a_string_among_the_blocks_is_sent_as_it_is_by_old_versions(version: str, kept: list[str]) -> None:
    found = with_strings(prompt=["bare", text("go")], said=["bare", text("hi")])
    sent = clew.request(found, version).messages
    assert [message["content"] for message in sent] == [[*kept, text("go")], [*kept, text("hi")]]


@pytest.mark.parametrize("version", ["2.1.100", "2.1.200"])
def test_a_string_among_the_blocks_of_a_reply_ends_some_versions(version: str) -> None:
    found = with_strings(prompt=[text("go")], said=["bare", text("hi")])
    refusal = f"line 2 contains a plain string among its blocks, which crashes version {version}"
    assert clew.request(found, version).refusal == refusal


def test_a_string_among_the_blocks_of_a_prompt_is_sent_by_2_1_260() -> None:
    found = with_strings(prompt=["bare", text("go")], said=[text("hi")])
    assert clew.request(found, "2.1.260").messages[0]["content"] == ["bare", text("go")]
