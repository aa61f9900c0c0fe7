"""The request: what a resume would send to the Messages API, as each version of the program makes it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.conversation.api_messages import _match_results, _move_context_after_replies, build_messages
from clew.conversation.cli_version import NEWEST, Era
from clew.conversation.message_drafts import MessageDraft, build_drafts
from clew.conversation.resume_request import build_request
from clew.conversation.session import Session
from clew.demo.talk import bash, read, talk
from tests.conversation.lines import Json, opened, reply, result, session, text, texts, use, user
from tests.step_count import Work, assert_linear

OLDEST, MIDDLE, OLD, NEW = "2.0.50", "2.1.29", "2.1.45", "2.1.325"
EVERY = (OLDEST, MIDDLE, OLD, NEW)
CLOSED = "assistant: No response requested."


def sent(version: str, *lines: Json, prompt: str | None = None) -> list[str]:
    return texts(clew.request(session(*lines), version, prompt).messages)


@pytest.mark.req("R265")
@pytest.mark.req("R266")
@pytest.mark.parametrize("version", EVERY)
def test_roles_alternate_and_results_follow_their_calls(version: str) -> None:
    told = talk(version=version).user("Mend the gate")
    told = (
        told.reply("I look.", thinking="Hm.", calls=[read("gate.md", "It squeaks."), bash("ls")])
        .result()
        .result("gate")
    )
    told = told.reply("It squeaks.").user("Oil it").reply(call=bash("oil")).result("ok").reply("Oiled.")
    found = opened(told)
    messages = clew.request(found, version).messages
    assert [m["role"] for m in messages] == ["user", "assistant"] * 4
    for call, answer in zip(messages[1::2], messages[2::2], strict=False):
        calls = [b["id"] for b in call["content"] if b["type"] == "tool_use"]
        answers = [b["tool_use_id"] for b in answer["content"] if b["type"] == "tool_result"]
        assert calls == answers
    first = [b["type"] for b in messages[1]["content"]]
    kept = 1 if version in (MIDDLE, OLD) else 2  # 2.1.9 to 2.1.61 themselves lost all but one of parallel results
    assert first == ["thinking", "text", *["tool_use"] * kept]


@pytest.mark.req("R266")
@pytest.mark.parametrize("version", EVERY)
def test_blocks_of_one_reply_are_one_message_and_replies_stay_apart(version: str) -> None:
    lines = [
        user("A", None, "go"),
        reply("B", "A", text("1"), mid="m"),
        reply("C", "B", text("2"), mid="m"),
        reply("D", "C", text("3"), mid="n"),
    ]
    assert sent(version, *lines) == ["user: go", "assistant: 1 2", "assistant: 3"]


@pytest.mark.req("R266")
def test_blocks_are_joined_over_a_result_that_came_between_them() -> None:
    lines = [
        user("A", None, "go"),
        reply("B", "A", use("a"), mid="m"),
        result("C", "B", "a"),
        reply("D", "C", use("b"), mid="m"),
        result("E", "D", "b"),
        reply("F", "E", text("done")),
    ]
    for version in (MIDDLE, OLD, NEW):
        assert sent(version, *lines) == ["user: go", "assistant: (a) (b)", "user: [a] [b]", "assistant: done"]


@pytest.mark.req("R267")
@pytest.mark.req("R109")
@pytest.mark.parametrize("version", EVERY)
def test_nothing_but_the_conversation_is_sent(version: str) -> None:
    told = talk(version=version).user("go").reply("I look.", thinking="Hm.", call=read("a.md", "text")).result()
    messages = clew.request(opened(told.reply("done")), version, prompt="on").messages
    assert all(set(message) == {"role", "content"} for message in messages)
    keys = {key for message in messages for block in message["content"] for key in block}
    known = {
        "type",
        "text",
        "thinking",
        "signature",
        "id",
        "name",
        "input",
        "caller",
        "tool_use_id",
        "content",
        "is_error",
    }
    assert keys <= known
    assert any("toolUseResult" in entry.data for entry in told.entries)


@pytest.mark.req("R268")
@pytest.mark.parametrize("version", EVERY)
def test_what_the_program_wrote_for_the_model_is_sent(version: str) -> None:
    """The faithful mode; `round.load_session` is the one that leaves it out."""
    told = talk(version=version).user("/spec").user([text("# The skill")], meta=True).reply("ok")
    assert texts(clew.request(opened(told), version).messages) == ["user: /spec # The skill", "assistant: ok"]


@pytest.mark.req("R271")
@pytest.mark.parametrize("version", EVERY)
def test_the_session_is_not_touched(version: str) -> None:
    told = talk(version=version).user("go").reply("I look.", call=bash("ls")).result("a").reply("done")
    found = opened(told)
    before = copy.deepcopy([entry.data for entry in found.entries])
    blocks = copy.deepcopy([[b.input for b in entry.blocks] for entry in found.entries])
    for _ in range(2):
        request = clew.request(found, version, prompt="on")
        assert texts(request.messages)[-1] == "user: on"
        for message in request.messages:
            for block in message["content"]:
                block.get("input", {}).clear()
            message["content"].clear()
    assert [entry.data for entry in found.entries] == before
    assert [[b.input for b in entry.blocks] for entry in found.entries] == blocks
    assert b"".join(item.raw for item in found.items) == told.bytes()


def test_a_request_says_where_it_comes_from() -> None:
    found = opened(talk().user("go").reply("done"))
    request = clew.request(found)
    assert request.is_resumable
    assert (request.model, request.leaf, request.path) == ("claude-opus-5", found.leaf, found.active)
    assert texts(clew.request(found, prompt="on").messages)[-1] == "user: on"


def test_why_there_is_no_request() -> None:
    refusals = {
        "no conversation in this file": opened(talk().title("empty")),
        "the model ended this conversation": session(user("A", None, "x"), {"type": "ended-by-model"}),
    }
    for reason, found in refusals.items():
        request = clew.request(found)
        assert (request.refusal, request.messages, request.is_resumable) == (reason, [], False)
    assert clew.request(refusals["the model ended this conversation"], OLD).is_resumable
    lost = session({"type": "user", "uuid": "A"}, user("B", "A", "x"))
    assert clew.request(lost).is_resumable
    assert clew.request(lost, OLD).refusal == "line 1 has no message, which crashes version 2.1.45"


def test_a_snapshot_of_files_without_content_is_refused_where_its_message_is_sent() -> None:
    lines = [user("A", None, "go"), reply("B", "A", text("1")), user("C", "A", "or"), reply("D", "C", text("2"))]
    empty, whole = {"type": "file-history-snapshot"}, {"type": "file-history-snapshot", "snapshot": {}}
    for message in ("A", "D"):
        found = clew.request(session(*lines, {**empty, "messageId": message}))
        assert found.refusal == "line 5 has no snapshot, which crashes version 2.1.325"
    assert clew.request(session(*lines, {**empty, "messageId": "B"})).is_resumable
    assert clew.request(session(*lines, {**empty, "messageId": "A"}, {**whole, "messageId": "A"})).is_resumable


# -- unfinished turns


def test_a_prompt_without_an_answer_is_closed() -> None:
    for version in EVERY:
        assert sent(version, user("A", None, "go"), prompt="on") == ["user: go", CLOSED, "user: on"]


def test_a_command_at_the_end_is_not_closed_unless_its_last_line_is_a_prompt() -> None:
    begun = [user("A", None, "go"), reply("B", "A", text("done"))]
    caveat = user("C", "B", "<local-command-caveat>x</local-command-caveat>", isMeta=True)
    command, printed = "<command-name>/x</command-name>", "<local-command-stdout>o</local-command-stdout>"
    typed = user("D", "C", command, promptSource="typed")
    output = user("E", "D", printed)
    assert CLOSED not in sent(NEW, *begun, caveat, typed, output, prompt="on")
    assert CLOSED in sent(NEW, *begun, caveat, typed, prompt="on")
    assert CLOSED in sent(NEW, *begun, caveat, typed, {**output, "promptSource": "sdk"}, prompt="on")


def test_a_result_at_the_end_is_closed() -> None:
    lines = [user("A", None, "go"), reply("B", "A", use("a")), result("C", "B", "a")]
    for version in (OLDEST, MIDDLE, NEW):
        assert sent(version, *lines, prompt="on") == ["user: go", "assistant: (a)", "user: [a]", CLOSED, "user: on"]
    asked = "user: [a] Continue from where you left off."
    assert sent(OLD, *lines, prompt="on") == ["user: go", "assistant: (a)", asked, CLOSED, "user: on"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (NEW, ["user: go", "assistant: I look. (a)", "user: [a]", CLOSED]),
        (OLD, ["user: go", "assistant: I look."]),
        (OLDEST, ["user: go", "assistant: I look."]),
    ],
)
def test_a_call_that_was_cut_off(version: str, expected: list[str]) -> None:
    lines = [user("A", None, "go"), reply("B", "A", text("I look."), mid="m"), reply("C", "B", use("a"), mid="m")]
    assert sent(version, *lines) == expected
    if version == NEW:
        answer = clew.request(session(*lines)).messages[2]["content"][0]
        assert answer["is_error"] is True
        assert answer["content"].startswith("[Tool call interrupted: the session ended before this call's")


# -- calls and results that do not fit


def pairs(*answers: Json) -> list[Json]:
    return [user("A", None, "go"), reply("B", "A", use("a"), use("b")), *answers, reply("Z", "Y", text("done"))]


def test_one_of_two_results_is_missing() -> None:
    lines = pairs(result("Y", "B", "b", "B"))
    assert sent(NEW, *lines) == ["user: go", "assistant: (a) (b)", "user: [a] [b]", "assistant: done"]
    filled = clew.request(session(*lines)).messages[2]["content"][0]
    assert (filled["is_error"], filled["content"]) == (True, "[Tool result missing due to internal error]")
    assert sent(OLDEST, *lines) == ["user: go", "assistant: (b)", "user: [b]", "assistant: done"]


def test_of_two_results_the_first_is_sent() -> None:
    lines = pairs(result("X", "B", "a", "A"), result("W", "X", "b", "B"), result("Y", "W", "a", "again"))
    assert sent(NEW, *lines) == ["user: go", "assistant: (a) (b)", "user: [a] [b]", "assistant: done"]
    assert clew.request(session(*lines)).messages[2]["content"][0]["content"] == "A"


def test_a_result_before_its_call_is_moved_behind_it_with_its_context() -> None:
    queued = {"type": "queued_command", "prompt": "also", "commandMode": "prompt"}
    attached = {"type": "attachment", "uuid": "B", "parentUuid": "A", "attachment": queued}
    calls = [reply("C", "B", use("a"), mid="m"), reply("D", "C", use("b"), mid="m")]
    answers = [result("E", "C", "a"), result("F", "D", "b", "late"), reply("G", "F", text("done"))]
    lines = [result("A", None, "b", "early"), attached, *calls, *answers]
    assert sent(NEW, *lines) == ["assistant: (a) (b)", "user: [b] [a]", "assistant: done"]
    moved = clew.request(session(*lines)).messages[1]["content"][0]["content"]
    assert moved.startswith("early\n\n<system-reminder>\nThe user sent a new message while you were working:\nalso\n")


def test_a_result_of_an_earlier_turn_than_its_call_is_not_moved() -> None:
    before = [result("A", None, "b", "early"), user("P", "A", "go")]
    calls = [reply("C", "P", use("a"), mid="m"), reply("D", "C", use("b"), mid="m")]
    answers = [result("E", "C", "a"), result("F", "D", "b", "late"), reply("G", "F", text("done"))]
    found = [*before, *calls, *answers]
    assert sent(NEW, *found) == ["user: go", "assistant: (a) (b)", "user: [a] [b]", "assistant: done"]
    assert clew.request(session(*found)).messages[2]["content"][1]["content"] == "late"


def test_a_result_without_a_call() -> None:
    lines = [user("A", None, "go"), reply("B", "A", text("1")), result("C", "B", "x"), reply("D", "C", text("2"))]
    assert sent(NEW, *lines) == ["user: go", "assistant: 1", "user: (no content)", "assistant: 2"]
    assert sent(OLD, *lines) == ["user: go", "assistant: 1", "assistant: 2"]


def test_task_is_called_agent_by_new_versions() -> None:
    lines = [
        user("A", None, "go"),
        reply("B", "A", use("a", "Task")),
        result("C", "B", "a"),
        reply("D", "C", text("1")),
    ]
    assert clew.request(session(*lines), NEW).messages[1]["content"][0]["name"] == "Agent"
    assert clew.request(session(*lines), OLD).messages[1]["content"][0]["name"] == "Task"


# -- thinking


def thought(model: str) -> list[Json]:
    hm = {"type": "thinking", "thinking": "Hm.", "signature": "EpMC"}
    return [
        user("A", None, "one"),
        reply("B", "A", hm, text("1"), model=model),
        user("C", "B", "two"),
        reply("D", "C", text("2"), model="claude-opus-4-6"),
    ]


def test_thinking_of_another_model_is_dropped_by_new_versions() -> None:
    same, other = thought("claude-opus-4-6"), thought("claude-sonnet-4-5")
    assert sent(NEW, *same)[1] == "assistant: <thinking> 1"
    assert sent(NEW, *other)[1] == "assistant: 1"
    assert sent(OLD, *other)[1] == "assistant: <thinking> 1"


def test_thinking_is_sent_with_its_signature() -> None:
    block = clew.request(session(*thought("claude-opus-4-6"))).messages[1]["content"][0]
    assert block == {"type": "thinking", "thinking": "Hm.", "signature": "EpMC"}


# -- attachments


def attached(**fields: Any) -> list[Json]:
    body = {"type": "attachment", "uuid": "X", "parentUuid": "A", "attachment": {"type": "date", "date": "2026-01-05"}}
    return [user("A", None, "go"), {**body, **fields}, reply("B", "X", text("1"))]


def test_context_is_sent_as_it_was_rendered_and_before_the_prompt() -> None:
    assert (
        sent(NEW, *attached(rendered=[{"content": "It is Monday."}], renderedRole="user"))[0]
        == "user: It is Monday. go"
    )
    assert sent(NEW, *attached())[0] == "user: <system-reminder>\nToday's date is 2026-01-05.\n</system-reminder> go"
    assert sent(OLD, *attached(rendered=[{"content": "It is Monday."}], renderedRole="user"))[0] == "user: go"


def test_a_turn_that_used_up_its_rounds_is_not_closed() -> None:
    def ended(kind: str) -> list[Json]:
        mark = {"type": "attachment", "uuid": "X", "parentUuid": "C", "attachment": {"type": kind}}
        return [user("A", None, "go"), reply("B", "A", use("t")), result("C", "B", "t"), mark]

    assert CLOSED in sent(NEW, *ended("date"))
    assert CLOSED not in sent(NEW, *ended("max_turns_reached"))


def test_a_worktree_without_its_repository_is_refused_and_one_that_is_gone_is_not(tmp_path: Path) -> None:
    tree = {"type": "worktree-state", "worktreeSession": {"worktreePath": str(tmp_path / "tree")}}
    found = opened(talk().user("hi").reply("hello").line(tree))
    assert clew.request(found, NEW).is_resumable
    (tmp_path / "tree").mkdir()
    (tmp_path / "repository").mkdir()
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {tmp_path / 'repository'}\n")
    assert clew.request(found, NEW).is_resumable
    (tmp_path / "repository").rmdir()
    assert "does not belong to a repository" in clew.request(found, NEW).refusal
    assert clew.request(found, OLD).is_resumable


@pytest.mark.parametrize("lines", [b"", b"\xef\xbb\xbf", b"null\n", b'{"type": "user"'])
def test_a_request_is_the_same_with_the_links_of_its_session(lines: bytes) -> None:
    """A session passes its own links on only if the version reads the same entries: not with a damaged or odd line."""
    data = talk().user("hi").reply("hello", call=bash("ls")).result("a").reply("done").bytes()
    opened_session = Session(lines + data)
    assert opened_session.turns
    for version in (NEWEST, "2.1.200", "2.1.29"):
        assert clew.request(opened_session, version) == build_request(Session(lines + data).items, version)


class Counted(str):
    """A text that counts how often it is compared with another."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_results_of_many_calls_in_one_message() -> None:
    ids = [Counted(f"toolu_{number}") for number in range(100)]
    called = MessageDraft("assistant", [{"type": "tool_use", "id": id} for id in ids], None)
    results: list[Json] = [{"type": "tool_result", "tool_use_id": id} for id in ids]
    Counted.compared = 0
    assert _match_results(MessageDraft("user", results, None), called, Era.newest()).blocks == results
    assert Counted.compared <= 4 * len(ids)


def test_many_attachments_after_the_last_reply() -> None:
    def prepare(count: int) -> Work:
        told = talk(version=NEWEST).user("Go.").reply("Done.")
        for number in range(count):
            told = told.attachment("hook_success", rendered=f"Hook {number}.", fields={"isMeta": False})
        drafts = build_drafts(opened(told).resume_path, Era.newest(), "claude-opus-4-6")
        assert len(drafts) > count
        contexts = [draft for draft in drafts if draft.kind != "mark"]
        return lambda: _move_context_after_replies(contexts)

    assert_linear(prepare, 30)


def test_results_that_follow_one_another_are_joined_in_linear_time() -> None:
    def prepare(count: int) -> Work:
        called = [reply(f"a{i}", f"a{i - 1}" if i else "p", use(f"t{i}"), mid="m") for i in range(count)]
        answers = [result(f"r{i}", f"r{i - 1}" if i else f"a{count - 1}", f"t{i}") for i in range(count)]
        found = session(user("p", None, "Go."), *called, *answers)
        drafts = build_drafts(found.resume_path, Era.newest(), "claude-opus-4-6")
        assert len(build_messages(drafts, Era.newest(), "claude-opus-4-6")[2]["content"]) == count
        return lambda: build_messages(drafts, Era.newest(), "claude-opus-4-6")

    assert_linear(prepare, 60)
