"""Thinking, pictures, copies, lines and what was compacted away: each goes whole, and nothing else."""

from __future__ import annotations

import json

import pytest

import clew
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, read, talk, task
from clew.edit.plan import Plan, plan
from clew.edit.strip import LINES, PROGRESS, REQUESTS, SNAPSHOTS, STATE
from clew.edit.trim_presets import PRESETS, Trim
from clew.wire.entry_edit import block_bytes

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 400


def session(told: Talk) -> Session:
    return Session(told.bytes())


def kinds(made: Plan | Session) -> list[str]:
    found = made.session if isinstance(made, Plan) else made
    return [b.type for e in found.entries for b in e.blocks]


# -- thinking


@pytest.mark.req("R292")
def test_thinking_goes_whole_and_text_and_calls_stay() -> None:
    hidden = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    told = talk().user("go").reply("so", thinking="Hm.", blocks=[hidden], call=bash("ls")).result("x")
    before = session(told.reply("ok", thinking="Yes.", joined=True))
    made = plan(before).trim(Trim(thinking=True))
    assert kinds(made) == ["text", "text", "tool_use", "tool_result", "text"]
    assert b"signature" not in b"".join(e.raw for e in made.session.entries)
    assert made.violations == ()


@pytest.mark.req("R292", "R288")
def test_a_reply_of_nothing_but_thinking_goes() -> None:
    made = plan(session(talk().user("go").reply(thinking="Hm.").user("so?").reply("ok"))).trim(Trim(thinking=True))
    assert kinds(made) == ["text", "text", "text"]


@pytest.mark.req("R293")
def test_a_turn_that_the_model_is_still_in_keeps_its_thinking() -> None:
    told = talk().user("one").reply("a", thinking="Old.").user("two").reply(thinking="New.", call=bash("ls"))
    for unfinished in (told, told.result("x")):
        made = plan(session(unfinished)).trim(Trim(thinking=True))
        assert [b.thinking for e in made.session.entries for b in e.blocks if b.type == "thinking"] == ["New."]
    done = plan(session(told.result("x").reply("ok"))).trim(Trim(thinking=True))
    assert "thinking" not in kinds(done)


# -- pictures


def test_a_picture_becomes_a_note() -> None:
    told = talk().user("see", images=[PNG]).reply(call=read("/home/ada/garden/a.png", image=PNG)).result().reply("nice")
    before = session(told)
    made = plan(before).trim(Trim(pictures=True))
    text = b"".join(e.raw for e in made.session.entries).decode()
    assert f"[image removed: image/png, {len(PNG)} bytes]" in text
    assert text.count("[image removed") == 2
    assert "iVBOR" not in text
    assert [t.text.split("\n")[0] for t in made.session.turns] == ["see"]
    assert len(made.session.calls) == 1
    assert made.violations == ()


def test_a_document_becomes_a_note_too() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}
    made = plan(session(talk().user([document, {"type": "text", "text": "sum it up"}]).reply("ok")))
    made = made.trim(Trim(pictures=True))
    assert made.session.entries[0].text == "[document removed: text/plain, 5 bytes]\nsum it up"


# -- copies


def test_copies_go_and_the_result_stays() -> None:
    before = session(talk().user("go").reply(call=bash("ls")).result("a\nb").reply("ok"))
    made = plan(before).trim(Trim(copies=True))
    assert "toolUseResult" not in json.loads(made.session.entries[2].raw)
    assert clew.request(made.session).messages == clew.request(before).messages


def test_the_copy_of_an_agent_still_tells_which_agent_it_was() -> None:
    child = talk().user("Find it.").reply("Found.")
    before = session(talk().user("go").reply(call=task("Find", "Find it.")).agent(0, child).reply("ok"))
    [call] = plan(before).trim(Trim(copies=True)).session.calls
    assert call.agent_id == before.calls[0].agent_id
    assert call.agent_id is not None
    assert "content" not in call.detail
    assert "prompt" not in call.detail


# -- lines


def noisy() -> Talk:
    told = talk(version="2.1.45").snapshot({"a.py": "1"}).user("go").progress("hook_progress").reply(call=bash("ls"))
    told = told.progress("bash_progress", output="…").result("x").reply("ok")
    for number in range(3):
        told = told.title(f"title {number}").last_prompt().line({"type": "mode", "mode": f"m{number}"})
    told = told.line({"type": "api-request-blob", "hash": "x"}).line({"type": "never-seen", "x": 1})
    return told.pr_link(1, "a/b").pr_link(2, "a/b").queue("enqueue", "wait")


@pytest.mark.parametrize(
    ("group", "gone"),
    [
        (PROGRESS, {"progress": 2}),
        (SNAPSHOTS, {"file-history-snapshot": 1}),
        (REQUESTS, {"api-request-blob": 1}),
        (STATE, {"custom-title": 2, "last-prompt": 2, "mode": 2}),
    ],
)
def test_a_group_of_lines_goes(group: str, gone: dict[str, int]) -> None:
    before = session(noisy())
    after = plan(before).trim(Trim(lines=frozenset({group}))).session
    for kind in {e.type for e in before.entries}:
        count = sum(e.type == kind for e in before.entries) - sum(e.type == kind for e in after.entries)
        assert count == gone.get(kind, 0), kind
    assert after.title == before.title
    assert clew.request(after).messages == clew.request(before).messages


@pytest.mark.req("R303")
def test_no_trim_takes_out_what_it_does_not_know() -> None:
    strange = {"type": "never-seen", "uuid": "11111111-1111-4111-8111-111111111111", "parentUuid": None}
    told = noisy().line(strange).compact("In short.").user("on").reply("ok").line({"type": "never-seen", "y": 2})
    before = session(told)
    for name in PRESETS:
        after = plan(before).trim(name).session
        for kind in ("never-seen", "pr-link", "queue-operation"):
            assert [e.raw for e in after.entries if e.type == kind] == [e.raw for e in before.entries if e.type == kind]


def test_no_group_knows_a_line_of_another() -> None:
    assert sum(map(len, LINES.values())) == len(frozenset().union(*LINES.values()))


# -- what was compacted away


@pytest.mark.parametrize("keep", [None, 3])
def test_what_stands_before_the_last_compaction_goes(keep: int | None) -> None:
    told = talk(version="2.1.325").user("one").reply(call=bash("ls")).result("x").reply("a").compact("First.")
    told = told.user("two").reply(call=bash("pwd")).result("y").reply("b").compact("Second.", keep=keep)
    before = session(told.user("three").reply("c"))
    made = plan(before).trim(Trim(compacted=True))
    assert clew.request(made.session).messages == clew.request(before).messages
    assert len(made.session.entries) == 4 + (keep or 0)
    assert sum(e.is_boundary for e in made.session.entries) == 1
    assert made.violations == ()


def test_a_call_that_was_kept_keeps_its_other_half() -> None:
    told = talk(version="2.1.325").user("one").reply(call=bash("ls")).result("x")
    before = session(told.compact("Short.", keep=1).user("two").reply("ok"))
    made = plan(before).trim(Trim(compacted=True))
    assert not made.session.pairing.orphans
    assert made.violations == ()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("keep", [None, 2])
def test_a_branch_that_begins_before_the_last_compaction_keeps_what_it_hangs_below(
    preset: str, keep: int | None
) -> None:
    told = talk().user("one").reply("1").compact("Zero.", keep=keep).user("two").reply("2")
    fork = told.leaf
    told = told.user("three").reply("3").compact("So far.").user("four").reply("4")
    end = told.leaf
    told = told.at(str(fork)).user("aside").reply("left")  # written after the compaction, below a turn before it
    left = str(told.leaf)
    before = session(told.at(str(end)).user("five").reply("5"))
    made = plan(before).trim(preset)

    def texts(found: Session) -> list[str]:
        return [e.text for e in found.links.path_to(found.graph.nodes[left])]

    assert texts(made.session) == texts(before) == ["", "Zero.", "two", "2", "aside", "left"]
    assert made.request.messages == request(before).messages
    assert "three" not in [e.text for e in made.session.entries]
    assert made.violations == ()


def test_nothing_goes_while_there_is_one_turn() -> None:
    before = session(talk().user("one").reply("a").compact("Short."))
    assert plan(before).trim(Trim(compacted=True)).session is before


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("keep", [None, 2])
def test_a_turn_that_was_compacted_while_it_ran_stays_and_those_before_it_go(preset: str, keep: int | None) -> None:
    told = talk(version="2.1.325").user("one").reply("a").compact("First.").user("two").reply("b")
    told = told.user("three").reply(call=bash("ls")).result("x").reply("c", call=bash("pwd")).result("y")
    before = session(told.compact("Second.", keep=keep).reply("d"))
    made = plan(before).trim(preset)
    assert [turn.prompt.text for turn in made.session.turns] == ["three"]
    assert [e.text for e in made.session.entries if e.is_boundary or e.text in ("one", "two", "First.")] == [""]
    assert [call.name for call in made.session.calls] == ["Bash", "Bash"]
    assert made.request.messages == request(before).messages
    assert made.violations == ()


def test_a_branch_from_the_turn_that_was_compacted_while_it_ran_keeps_what_it_hangs_below() -> None:
    told = talk().user("one").reply("1").user("two").reply("2")
    fork = told.leaf
    told = told.compact("So far.").reply("3")
    end = told.leaf
    told = told.at(str(fork)).user("aside").reply("left")
    left = str(told.leaf)
    before = session(told.at(str(end)).reply("4"))
    made = plan(before).trim(Trim(compacted=True))
    assert [e.text for e in made.session.links.path_to(made.session.graph.nodes[left])] == [
        *("one", "1", "two", "2", "aside", "left")
    ]
    assert made.violations == ()


# -- what is left alone


@pytest.mark.req("R293")
def test_kept_thinking_keeps_its_bytes() -> None:
    told = talk().user("one").reply("a", thinking="Old.", call=bash("ls")).result("x").reply("b", thinking="New.")
    before = session(told)
    made = plan(before).trim("tools").strip_tools(how="truncate")
    signed = [raw for e in before.entries if e.blocks for raw in _parts(e) if b"signature" in raw]
    assert [raw for e in made.session.entries for raw in _parts(e) if b"signature" in raw] == signed


def _parts(entry: clew.Entry) -> list[bytes]:
    is_list = entry.message is not None and isinstance(entry.message.content, list)
    return block_bytes(entry) if is_list else []
