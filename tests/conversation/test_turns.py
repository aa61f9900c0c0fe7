"""Turns: where one begins, what belongs to it, and in which state it is; who speaks in a user entry."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from clew.conversation.session import Session
from clew.conversation.speaker import input_kind, is_prompt, prompt_text, speaker
from clew.conversation.turns import split_turns, total_duration
from clew.demo.talk import bash, read, talk
from clew.wire.entry import Entry
from tests.conversation.lines import Json, opened, reply, result, session, text, use, user

PNG = b"\x89PNG\r\n\x1a\n"


def entry(content: str | list[Json], **fields: Any) -> Entry:
    return session(user("A", None, content, **fields)).entries[0]


@pytest.mark.req("R160")
def test_a_turn_is_a_prompt_and_all_that_came_of_it() -> None:
    told = talk().user("Mend the gate").reply("I look.", call=read("gate.md", "It squeaks.")).result()
    told = told.reply("It squeaks.").turn_duration(2500).user("Oil it").reply("Oiled.")
    first, second = opened(told).turns
    assert (first.number, first.text, first.answer) == (1, "Mend the gate", "It squeaks.")
    assert first.prompt.uuid == told.entries[0].uuid
    assert [e.type for e in first.entries] == ["user", "assistant", "assistant", "user", "assistant", "system"]
    assert [r.text for r in first.replies] == ["I look.", "It squeaks."]
    assert [(c.id, c.name, c.entry.uuid) for c in first.calls] == [
        (told.entries[2].uses[0].id, "Read", told.entries[2].uuid)
    ]
    assert (second.number, second.text, second.answer, second.calls) == (2, "Oil it", "Oiled.", ())


@pytest.mark.req("R161")
def test_results_never_begin_a_turn() -> None:
    told = talk().user("go").reply(calls=[bash("a"), bash("b")]).result("A").result("B", error=True).reply("done")
    assert len(opened(told).turns) == 1
    mixed = [{"type": "tool_result", "tool_use_id": "x", "content": ""}, text("and a word")]
    assert speaker(entry(mixed)) == "result"
    assert speaker(entry(mixed, permissionMode="default")) == "result"


@pytest.mark.req("R162")
def test_a_list_of_texts_begins_a_turn() -> None:
    found = opened(talk().user("one").reply("1").user([text("two"), text("and a half")]).reply("2"))
    assert [turn.text for turn in found.turns] == ["one", "two\nand a half"]
    pictured = opened(talk().user("look", images=[PNG]))
    assert pictured.turns[0].text == "look"
    assert [b.type for b in pictured.turns[0].images] == ["image"]


@pytest.mark.req("R163")
def test_what_the_program_wrote_never_begins_a_turn() -> None:
    told = talk().user("go").user("# A skill body", meta=True).reply("done")
    (turn,) = opened(told).turns
    assert [e.is_meta for e in turn.entries] == [False, True, False]
    assert not is_prompt(entry("# A skill body", isMeta=True, permissionMode="default"))


@pytest.mark.req("R164")
def test_what_comes_before_the_first_prompt_belongs_to_no_turn() -> None:
    told = talk(version="2.1.120").attachment("hook_success").system("informational", content="Hello")
    found = opened(told.user("go").reply("done"))
    assert [e.type for e in found.preamble] == ["attachment", "system"]
    assert [e.type for e in found.turns[0].entries] == ["user", "assistant"]
    assert split_turns([]) == ((), ())


@pytest.mark.parametrize(
    ("content", "fields", "expected"),
    [
        ("Mend the gate", {}, "prompt"),
        ("<command-name>/clear</command-name>", {}, "command"),
        ("<command-message>spec is running</command-message>\n<command-name>/spec</command-name>", {}, "command"),
        ("<bash-input>ls</bash-input>", {}, "bash"),
        ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", {}, "output"),
        ("<local-command-stdout>ok</local-command-stdout>", {}, "output"),
        ("<local-command-stderr>no</local-command-stderr>", {}, "output"),
        ("<local-command-caveat>Caveat</local-command-caveat>", {}, "caveat"),
        ("<task-notification>\n<task-id>b1</task-id></task-notification>", {}, "notification"),
        ('<teammate-message teammate_id="lead">hi</teammate-message>', {}, "teammate"),
        ("<session-start-hook>hi</session-start-hook>", {}, "hook"),
        ("<user-prompt-submit-hook>hi</user-prompt-submit-hook>", {}, "hook"),
        ([text("[Request interrupted by user]")], {}, "interrupt"),
        ([text("[Request interrupted by user for tool use]")], {}, "interrupt"),
        ("This session is being continued", {"isCompactSummary": True}, "summary"),
        ("a report", {"origin": {"kind": "task-notification"}}, "notification"),
        ("from another session", {"origin": {"kind": "peer"}}, "peer"),
        ("typed", {"origin": {"kind": "human"}, "promptSource": "typed"}, "prompt"),
        ("<div> is a tag too", {}, "prompt"),
        ("", {}, "prompt"),
    ],
)
def test_who_speaks(content: str | list[Json], fields: Json, expected: str) -> None:
    found = entry(content, **fields)
    assert speaker(found) == expected
    assert is_prompt(found) == (expected in ("prompt", "command", "bash"))


def test_only_user_entries_have_a_speaker() -> None:
    assert speaker(session(reply("A", None, text("hi"))).entries[0]) == ""
    assert speaker(session({"type": "user", "uuid": "A"}).entries[0]) == ""


def test_commands_read_as_they_were_typed() -> None:
    told = talk(version="2.1.29").command("model", "opus", "Set model to opus").user("go").reply("done")
    assert [turn.text for turn in opened(told).turns] == ["/model opus", "go"]
    assert prompt_text(entry("<bash-input>git status</bash-input>")) == "! git status"


# -- the state of a turn


@pytest.mark.req("R170")
def test_the_state_of_a_turn() -> None:
    asked = talk().user("go")
    called = asked.reply("I look.", calls=[bash("a"), bash("b")])
    answered = called.result("A").result("B")
    done = answered.reply("done")
    states = [opened(told).turns[0].state for told in (asked, called, called.result("A"), answered, done)]
    assert states == ["waiting", "tool", "tool", "waiting", "complete"]


@pytest.mark.req("R170")
@pytest.mark.parametrize("in_tool", [False, True])
def test_an_interrupted_turn(in_tool: bool) -> None:
    told = talk().user("go").reply("I look.", call=bash("sleep 9"))
    told = told.deny().interrupt(in_tool=True) if in_tool else told.interrupt()
    (turn,) = opened(told).turns
    assert turn.state == "interrupted"
    assert turn.entries[-1].text.startswith("[Request interrupted by user")


def test_how_long_a_turn_took() -> None:
    told = talk().user("one").reply("1").turn_duration(2500).user("two").pause(minutes=1).reply("2")
    first, second = opened(told).turns
    assert first.seconds == 2.5
    assert second.seconds == 60
    assert first.time == told.entries[0].time
    assert total_duration(told.entries) == 2.5


# -- what the person meant


@pytest.mark.req("R177")
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            [
                text("<ide_selection>The user selected the lines 78 to 78 from ...</ide_selection>"),
                text("帮我实现##v0.2.3的任务..."),
            ],
            "ide_selection",
        ),
        (
            [text("<ide_opened_file>The user opened the file ... in the IDE.</ide_opened_file>"), text("继续")],
            "ide_opened_file",
        ),
        (
            [{"type": "tool_result", "tool_use_id": "call_xxx", "content": "文件内容...", "is_error": False}],
            "tool_result",
        ),
        ([text("帮我分析这个项目的结构")], "text"),
        ("帮我分析这个项目的结构", "text"),
    ],
)
def test_the_kinds_of_input_of_an_early_description(content: str | list[Json], expected: str) -> None:
    assert input_kind(entry(content)) == expected


@pytest.mark.req("R178")
def test_editor_context_is_no_part_of_what_the_person_said() -> None:
    opened_file = "<ide_opened_file>The user opened the file a.py in the IDE.</ide_opened_file>"
    found = session(user("A", None, [text(opened_file), text("继续")]), reply("B", "A", text("好")))
    assert found.turns[0].text == "继续"
    assert opened_file in found.turns[0].prompt.text
    assert found.title == "继续"
    assert prompt_text(entry(opened_file)) == ""
    both = "<ide_selection>x\n</ide_selection>\n<system-reminder>Be brief.</system-reminder>\nWhy?"
    assert prompt_text(entry(both)) == "Why?"


def test_a_prompt_typed_while_the_model_was_busy_is_part_of_the_turn() -> None:
    told = talk().user("go").reply(call=bash("ls")).attachment("queued_command", prompt="and hurry").result("a")
    found = opened(told.reply("done"))
    assert len(found.turns) == 1
    assert [w.text for e in found.entries for w in clew.words(e) if w.field == "prompt"] == ["go", "and hurry"]


def test_a_sidechain_prompt_in_the_chain_begins_no_turn_of_the_session() -> None:
    found = session(
        user("A", None, "one"),
        reply("B", "A", use("toolu_1", "Task", prompt="Look.")),
        user("S", "B", "Look.", isSidechain=True),
        result("C", "S", "toolu_1"),
        reply("D", "C", text("1")),
    )
    assert [turn.text for turn in found.turns] == ["one"]
    assert [e.uuid for e in found.prompts] == ["A"]
    assert [[e.uuid for e in branch.prompts] for branch in found.branches] == [["A"]]


@pytest.mark.req("R179")
def test_the_features_of_a_round_tell_the_first_task_from_a_word_in_between() -> None:
    selected = "<ide_selection>The user selected the lines 78 to 78</ide_selection>"
    looked = "<ide_opened_file>The user opened the file x in the IDE.</ide_opened_file>"
    task = "Please build the whole of version 0.2.3."
    told = talk().user([{"type": "text", "text": selected}, {"type": "text", "text": task}])
    told = told.reply("Done.").user([{"type": "text", "text": looked}, {"type": "text", "text": "继续"}]).reply("Done.")
    first, second = Session(told.bytes()).rounds
    assert (first.features, first.text) == ((True, "ide_selection", False), task)
    assert (second.features, second.text) == ((False, "ide_opened_file", True), "继续")
