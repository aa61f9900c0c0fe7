"""Replies are merged from their lines, and calls are paired with their results, in whatever order they stand."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from clew.conversation.replies import merge_replies, pair_calls
from clew.demo.talk import bash, read, talk
from tests.conversation.lines import Json, opened, reply, result, session, text, texts, use, user
from tests.step_count import Work, assert_linear

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "EpMC"}


def four_lines(*stops: str | None, **fields: Any) -> list[Json]:
    """The reply of an early description of the protocol, `[thinking, text, tool_use, tool_use]`, a line for each block."""
    blocks = [THOUGHT, text("I look."), use("toolu_1"), use("toolu_2")]
    parents = [None, "L1", "L2", "L3"]
    return [
        reply(f"L{i}", parent, block, mid="msg_X", stop=stop, **fields)
        for i, (parent, block, stop) in enumerate(zip(parents, blocks, stops, strict=True), 1)
    ]


@pytest.mark.req("R130")
@pytest.mark.req("R131")
def test_four_lines_are_one_reply_of_four_blocks() -> None:
    (found,) = session(*four_lines(None, None, None, "tool_use", requestId="req_X")).replies
    assert found.id == "msg_X"
    assert [block.type for block in found.blocks] == ["thinking", "text", "tool_use", "tool_use"]
    assert found.stop_reason == "tool_use"
    assert (found.text, found.thinking) == ("I look.", "Hm.")
    assert [use.id for use in found.uses] == ["toolu_1", "toolu_2"]


@pytest.mark.req("R132")
@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        ((None, None, None, "tool_use"), "tool_use"),  # 2.1.59 to 2.1.96
        (("tool_use",) * 4, "tool_use"),  # 2.0.36 to 2.0.44, and 2.1.97 on
        ((None,) * 4, None),  # 2.1.9 to 2.1.56
        ((None, "end_turn", None, None), "end_turn"),
        (("end_turn", None, "tool_use", None), "tool_use"),
    ],
)
def test_the_stop_reason_is_the_last_that_was_written(stops: tuple[str | None, ...], expected: str | None) -> None:
    (found,) = session(*four_lines(*stops)).replies
    assert found.stop_reason == expected
    assert len(found.blocks) == 4


@pytest.mark.req("R134")
@pytest.mark.parametrize("reason", ["end_turn", "tool_use", "stop_sequence", "max_tokens", None, "a_word_of_tomorrow"])
def test_any_stop_reason_is_kept(reason: str | None) -> None:
    (found,) = session(reply("A", None, text("x"), stop=reason)).replies
    assert found.stop_reason == reason


@pytest.mark.req("R135")
def test_lines_belong_together_whatever_stands_between_them() -> None:
    first, second, third, fourth = four_lines(None, None, None, None)
    found = session(
        first,
        {"type": "queue-operation", "operation": "enqueue", "content": "later"},
        second,
        reply("X", "L2", text("another reply"), mid="msg_Y"),
        third,
        result("R", "L3", "toolu_1"),
        fourth,
    )
    assert {r.id: len(r.blocks) for r in found.replies} == {"msg_X": 4, "msg_Y": 1}
    assert all(e.request_id is None for e in found.entries)


@pytest.mark.req("R135")
def test_without_a_message_id_the_request_makes_a_reply_and_else_the_line_itself() -> None:
    lines = [reply(u, None, text(u), requestId="req_1" if u in "AB" else None) for u in "ABCD"]
    for line in lines:
        del line["message"]["id"]
    assert [(r.id, r.text) for r in session(*lines).replies] == [("req_1", "A\nB"), ("C", "C"), ("D", "D")]


@pytest.mark.req("R136")
def test_several_blocks_on_one_line_read_like_one_on_each() -> None:
    told = talk().user("go")
    spread = told.reply("I look.", thinking="Hm.", calls=[bash("a"), bash("b")], message_id="msg_1")
    joined = told.reply("I look.", thinking="Hm.", calls=[bash("a"), bash("b")], message_id="msg_1", joined=True)
    assert (len(spread.entries), len(joined.entries)) == (5, 2)
    (one,), (other,) = opened(spread).replies, opened(joined).replies
    assert one.blocks == other.blocks
    assert (one.stop_reason, one.text, one.model) == (other.stop_reason, other.text, other.model)


@pytest.mark.req("R136")
def test_a_reply_from_an_early_description_of_the_history() -> None:
    """Thinking with an empty signature, a text and a call, all on one line."""
    found = session(
        reply(
            "9c71480b-443c-49ef-8722-079508367295",
            "3e118c31-1391-484a-8ca8-50a386712358",
            {"type": "thinking", "thinking": "让我分析一下这个问题...", "signature": ""},
            text("我来帮你分析这个项目..."),
            use("call_33f4a566fb7e425a9f6327b4", "Read", file_path="e:\\workspaces\\project\\main.py"),
            mid="msg_20260218100041f5b6a7099bb94b8f",
            stop="tool_use",
            usage={"input_tokens": 1500, "output_tokens": 300},
        )
    )
    (made,) = found.replies
    assert [block.type for block in made.blocks] == ["thinking", "text", "tool_use"]
    assert made.stop_reason == "tool_use"
    assert found.calls[0].input == {"file_path": "e:\\workspaces\\project\\main.py"}


def test_a_line_that_repeats_the_reply_so_far_adds_only_what_is_new() -> None:
    """A few writers stored growing snapshots instead of parts."""
    found = session(
        reply("A", None, text("I lo"), mid="m"),
        reply("B", "A", text("I look."), mid="m"),
        reply("C", "B", text("I look."), use("toolu_1"), mid="m"),
        reply("D", "C", use("toolu_1"), mid="m"),
    )
    assert [(b.type, b.text or b.id) for b in found.replies[0].blocks] == [("text", "I look."), ("tool_use", "toolu_1")]


def test_replies_come_in_the_order_of_their_first_lines() -> None:
    lines = [
        reply("A", None, text("1"), mid="x"),
        reply("B", "A", text("2"), mid="y"),
        reply("C", "B", text("3"), mid="x"),
    ]
    assert [r.text for r in session(*lines).replies] == ["1\n3", "2"]


@pytest.mark.req("R137")
def test_replies_of_the_program_itself_are_flagged() -> None:
    told = talk().user("go").api_error("API Error: 529 overloaded", status=529).user("again").reply("fine")
    found = opened(told)
    failed, fine = found.replies
    assert (failed.is_synthetic, failed.is_error, failed.stop_reason) == (True, True, "stop_sequence")
    assert (fine.is_synthetic, fine.is_error) == (False, False)
    assert list(found.models) == [fine.model]
    assert texts(clew.request(found).messages) == ["user: go again", "assistant: fine"]
    assert list(clew.usage(found).by_model) == [fine.model]


def test_no_response_requested_is_flagged_but_sent_as_the_program_sends_it() -> None:
    """An early description wants it dropped; every version that was observed sends it."""
    words = "No response requested."
    found = session(
        user("A", None, "one"),
        reply("B", "A", text(words), stop="stop_sequence", model="<synthetic>"),
        user("C", "B", "two"),
        reply("D", "C", text("2")),
    )
    assert [r.is_synthetic for r in found.replies] == [True, False]
    for version in ("2.0.50", "2.1.325"):
        assert texts(clew.request(found, version).messages)[1] == f"assistant: {words}"


# -- calls


@pytest.mark.req("R165")
@pytest.mark.req("R166")
def test_a_call_is_its_use_and_its_result() -> None:
    found = session(
        user("74155ff1", None, "find them"),
        reply("6bfea9fa", "74155ff1", use("toolu_01WezRSpdwzjzGUPH6KRAQEL", "Grep", pattern="x")),
        result(
            "be3bbae2",
            "6bfea9fa",
            "toolu_01WezRSpdwzjzGUPH6KRAQEL",
            "Found 20 files...",
            toolUseResult={"mode": "files_with_matches", "filenames": ["file1.ts"], "numFiles": 20, "appliedLimit": 20},
        ),
    )
    (call,) = found.calls
    assert (call.id, call.name, call.input) == ("toolu_01WezRSpdwzjzGUPH6KRAQEL", "Grep", {"pattern": "x"})
    assert call.entry.uuid == "6bfea9fa"
    assert call.result_entry is not None
    assert call.result_entry.uuid == "be3bbae2"
    assert call.output == "Found 20 files..."
    assert call.detail["numFiles"] == 20
    assert (call.is_open, call.failed, call.seconds) == (False, False, 1.0)


@pytest.mark.req("R165")
def test_a_call_is_open_until_its_result_arrives() -> None:
    told = talk().user("go").reply(call=bash("make"))
    (call,) = opened(told).calls
    assert (call.is_open, call.result_entry, call.output, call.detail, call.seconds) == (True, None, "", None, None)
    (call,) = opened(told.result("ok")).calls
    assert not call.is_open


@pytest.mark.req("R167")
def test_calls_on_lines_without_a_stop_reason_are_paired() -> None:
    told = talk(version="2.1.29").user("go").reply(calls=[bash("a"), bash("b")]).result("A").result("B")
    found = opened(told)
    assert {e.message.stop_reason for e in found.entries if e.message} == {None}
    assert [call.output for call in found.calls] == ["A", "B"]


@pytest.mark.req("R168")
def test_calls_without_results_and_results_without_calls_are_reported() -> None:
    found = session(
        user("A", None, "go"),
        reply("B", "A", use("toolu_1"), use("toolu_2")),
        result("C", "B", "toolu_2"),
        result("D", "C", "toolu_9"),
    )
    assert [call.id for call in found.pairing.open] == ["toolu_1"]
    assert [entry.uuid for entry in found.pairing.orphans] == ["D"]


@pytest.mark.req("R169")
def test_a_sound_session_has_a_result_for_each_of_its_calls() -> None:
    told = talk(version="2.0.50").user("go")
    for number in range(125):
        told = told.reply(call=read(f"/home/ada/garden/{number}.md", "one line")).result()
    found = opened(told.reply("Read them all."))
    uses = [block for entry in found.entries for block in entry.uses]
    results = [block for entry in found.entries for block in entry.results]
    assert len(uses) == len(results) == len(found.calls) == 125
    assert found.pairing.open == ()
    assert found.pairing.orphans == ()
    assert all(call.result and call.result.tool_use_id == call.id for call in found.calls)


def test_the_first_result_counts_and_later_ones_are_kept() -> None:
    found = session(
        reply("A", None, use("toolu_1")), result("B", "A", "toolu_1", "first"), result("C", "A", "toolu_1", "second")
    )
    (call,) = found.calls
    assert (call.output, [e.uuid for e in call.extras]) == ("first", ["C"])


def test_a_result_may_stand_before_its_call() -> None:
    found = session(result("B", "A", "toolu_1", "early"), reply("A", None, use("toolu_1")))
    assert found.calls[0].output == "early"
    assert found.pairing.orphans == ()


def test_a_failed_call() -> None:
    told = talk().user("go").reply(calls=[bash("false"), bash("true")]).result("exit code 1", error=True).result("")
    assert [call.failed for call in opened(told).calls] == [True, False]
    assert opened(told).calls[0].detail == "Error: exit code 1"


def test_progress_belongs_to_its_call() -> None:
    told = talk(version="2.1.29").user("go").reply(call=bash("make")).progress("bash_progress", output="1/2")
    (call,) = opened(told.progress("bash_progress", output="2/2").result("ok")).calls
    assert [e.data["data"]["output"] for e in call.progress] == ["1/2", "2/2"]


def test_nothing_makes_nothing() -> None:
    assert merge_replies([]) == ()
    assert pair_calls([]).calls == ()


def test_a_reply_of_many_lines() -> None:
    def prepare(count: int) -> Work:
        blocks = [use(f"toolu_{n}") if n % 2 else text(f"Part {n}.") for n in range(count)]
        lines = [reply(f"L{n}", f"L{n - 1}" if n else None, block, mid="msg_X") for n, block in enumerate(blocks)]
        (found,) = session(*lines).replies
        return lambda: found.blocks

    assert_linear(prepare, 30)
