"""The shape of a session: every turn once, branches where they fork, and what happened where it happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.conversation.load import read
from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, talk, task
from clew.view.tree_row import TreeRow
from clew.view.turn_tree import TurnTree, count_rows, tree_rows
from tests.conversation.lines import rewound_in_each_turn
from tests.step_count import Work, assert_linear


def drawn(told: Talk) -> tuple[TreeRow, ...]:
    return tree_rows(Session(told.bytes()))


def kinds(rows: tuple[TreeRow, ...]) -> list[str]:
    return [row.kind for row in rows]


def turns(rows: tuple[TreeRow, ...]) -> list[tuple[str, int | None, int, bool]]:
    """Each turn: its prompt, its number, its lane, and whether it is active."""
    return [(r.text, r.number, len(r.rails) - 1, r.is_active) for r in rows if r.kind == "turn"]


def found(rows: tuple[TreeRow, ...], kind: str) -> list[tuple[str, str]]:
    """Rows of a kind: their text, and the turn that they stand under."""
    said, under = [], ""
    for row in rows:
        under = row.text if row.kind == "turn" else under
        if row.kind == kind:
            said.append((row.text, under))
    return said


def line(kind: str, uuid: str | None, parent: str | None, text: str = "", **more: Any) -> bytes:
    message = {"role": kind, "content": text} if kind in ("user", "assistant") else None
    return json.dumps({"type": kind, "uuid": uuid, "parentUuid": parent, "message": message, **more}).encode() + b"\n"


TWO = talk().user("one").reply("a").user("two").reply("b")


def test_a_turn_is_a_row_with_its_numbers() -> None:
    told = talk().user("Why?").reply("Look", calls=[bash("ls"), bash("cat x")])
    told = told.result("a", for_=0).result("no such file", for_=1, error=True).reply("So.").turn_duration(4200)
    (row,) = drawn(told)
    assert (row.kind, row.text, row.number, row.line, row.rails, row.is_active) == (
        "turn",
        "Why?",
        1,
        1,
        (False,),
        True,
    )
    wanted = {"replies": 2, "calls": 2, "failures": 1, "seconds": 4.2, "rewound_to": None, "is_end": True}
    assert {key: row.facts[key] for key in wanted} == wanted
    assert row.facts["output_tokens"] > 0


def test_output_tokens_are_unknown_where_the_version_wrote_none() -> None:
    (row,) = drawn(talk(version="2.1.29").user("hi").reply("hello"))
    assert row.facts["output_tokens"] is None


@pytest.mark.req("R141")
def test_a_branch_that_was_left_stands_on_a_lane_of_its_own_before_the_active_one_goes_on() -> None:
    rows = drawn(TWO.user("red").reply("c").user("darker").reply("d").rewind(to=3).user("blue").reply("e"))
    assert turns(rows) == [
        ("one", 1, 0, True),
        ("two", 2, 0, True),
        ("red", 3, 1, False),
        ("darker", 4, 1, False),
        ("blue", 3, 0, True),
    ]
    assert [r.rails for r in rows] == [(True,), (True,), (True, True), (True, False), (False,)]
    assert [r.begins for r in rows] == [True, False, True, False, False]
    assert [r.branch for r in rows] == [2, 2, 1, 1, 2]
    assert [r.facts["rewound_to"] for r in rows] == [None, None, None, None, 2]
    assert [r.facts["is_end"] for r in rows] == [False, False, False, True, True]
    assert count_rows(rows) == {"turns": 5, "branches": 2, "agents": 0, "compactions": 0, "problems": 0}


@pytest.mark.req("R141")
def test_branches_of_branches() -> None:
    told = (
        TWO.user("c")
        .reply("")
        .rewind(to=3)
        .user("c2")
        .reply("")
        .user("d")
        .reply("")
        .rewind(to=2)
        .user("two b")
        .reply("")
    )
    assert turns(drawn(told)) == [
        ("one", 1, 0, True),
        ("two", 2, 1, False),
        ("c", 3, 2, False),
        ("c2", 3, 1, False),
        ("d", 4, 1, False),
        ("two b", 2, 0, True),
    ]


def test_going_back_to_the_start_makes_another_root() -> None:
    rows = drawn(TWO.rewind(to=1).user("anew").reply("c"))
    assert turns(rows) == [("one", 1, 0, False), ("two", 2, 0, False), ("anew", 1, 0, True)]
    assert [r.rails for r in rows] == [(True,), (False,), (False,)]
    assert [r.facts["rewound_to"] for r in rows] == [None, None, 0]


def test_parallel_calls_are_no_branches() -> None:
    told = talk().user("hi").reply("", calls=[bash("a"), bash("b"), bash("c")])
    told = told.result("1", for_=2).result("2", for_=0).result("3", for_=1).reply("done").user("next").reply("ok")
    assert turns(drawn(told)) == [("hi", 1, 0, True), ("next", 2, 0, True)]


def test_a_pin_before_the_end_ends_the_active_branch_there() -> None:
    pinned = TWO.leaf
    rows = drawn(TWO.user("three").reply("c").last_prompt("two", leaf=pinned, explicit=True))
    assert turns(rows) == [("one", 1, 0, True), ("two", 2, 0, True), ("three", 3, 1, False)]
    pin = next(r for r in rows if r.kind == "pin")
    assert (pin.facts["explicit"], pin.facts["missing"], found(rows, "pin")) == (True, False, [("", "two")])
    assert [r.rails for r in rows] == [(True,), (True,), (True,), (False, False)]


def test_a_pin_that_says_nothing_new_is_not_drawn() -> None:
    assert "pin" not in kinds(drawn(TWO.last_prompt()))
    missing = drawn(TWO.last_prompt("x", leaf="00000000-0000-4000-8000-000000000001"))
    assert [r.facts["missing"] for r in missing if r.kind == "pin"] == [True]


@pytest.mark.req("R149")
@pytest.mark.req("R234")
def test_a_compaction_stands_on_the_lane_where_it_happened_and_the_numbers_go_on() -> None:
    told = TWO.compact("What was said so far.", trigger="manual", pre_tokens=152_000).user("three").reply("c")
    rows = drawn(told)
    assert kinds(rows) == ["turn", "turn", "compaction", "turn"]
    mark = rows[2]
    assert (mark.facts["trigger"], mark.facts["before"], mark.facts["summary_words"]) == ("manual", 152_000, 5)
    assert (mark.rails, mark.twigs, mark.is_active) == ((True,), (), True)
    assert turns(rows) == [("one", 1, 0, True), ("two", 2, 0, True), ("three", 3, 0, True)]


def test_a_compaction_at_the_end_is_still_on_its_lane() -> None:
    rows = drawn(TWO.compact("So far."))
    assert [(r.kind, r.rails) for r in rows] == [("turn", (True,)), ("turn", (True,)), ("compaction", (False,))]


def sent_out(version: str = "2.1.232") -> Talk:
    inner = talk(seed=1, version=version).user("list them").reply("two", call=bash("ls")).result("a b").reply("Two.")
    child = talk(seed=2, version=version).user("find them").reply("", call=task("List", "list them", "Explore"))
    child = child.agent(None, inner).reply("There are two.")
    told = talk(version=version).user("How many?").reply("", call=task("Find", "find them")).agent(None, child)
    return told.reply("Two.").user("Thanks").reply("You're welcome.")


def test_agents_hang_below_the_turn_of_their_call_and_theirs_below_them(tmp_path: Path) -> None:
    rows = tree_rows(read(sent_out().write(tmp_path)))
    assert [(r.kind, r.text, r.twigs) for r in rows] == [
        ("turn", "How many?", ()),
        ("agent", "Find", (False,)),
        ("agent", "List", (False, False)),
        ("turn", "Thanks", ()),
    ]
    assert (rows[1].facts["type"], rows[1].facts["calls"], rows[1].facts["status"]) == (
        "general-purpose",
        1,
        "completed",
    )
    assert rows[2].facts["replies"] == 2


@pytest.mark.req("R150")
def test_sidechains_inside_the_file_are_agents_and_no_turns() -> None:
    child = talk(seed=2, version="1.0.117").user("find them").reply("", call=bash("ls")).result("a").reply("One.")
    told = talk(version="1.0.117").user("How many?").reply("", call=task("Find", "find them")).agent(None, child)
    rows = drawn(told.reply("One.").user("Thanks").reply("ok"))
    assert [(r.kind, r.text) for r in rows] == [("turn", "How many?"), ("agent", "Find"), ("turn", "Thanks")]
    assert (rows[0].facts["calls"], rows[1].facts["calls"]) == (1, 1)


def test_an_agent_whose_call_is_not_known_stands_at_its_time(tmp_path: Path) -> None:
    path = TWO.write(tmp_path)
    time = TWO.entries[2].timestamp
    stray = line("user", "s", None, "Stray", timestamp=time, isSidechain=True, sessionId=TWO.session_id, agentId="abc")
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-abc.jsonl").write_bytes(
        stray + line("assistant", "t", "gone", "ok", isSidechain=True) + b"{torn\n"
    )
    rows = tree_rows(read(path))
    assert found(rows, "agent") == [("Stray", "two")]
    assert found(rows, "problem") == [("the parent gone is not in the file", "two"), ("damaged (unreadable)", "two")]


def test_an_agent_file_has_a_shape_of_its_own(tmp_path: Path) -> None:
    sent_out().write(tmp_path)
    (one, _) = sorted(tmp_path.rglob("agent-*.jsonl"), key=lambda p: -p.stat().st_size)
    rows = tree_rows(read(one))
    assert [(text, number) for text, number, _, _ in turns(rows)] == [("find them", 1)]
    assert rows[0].facts["calls"] == 1


def test_queued_prompts_those_that_were_sent_and_those_that_never_were() -> None:
    told = talk().user("go").reply("", call=bash("sleep 9")).queue("enqueue", "and this").queue("enqueue", "lost words")
    told = told.queue("enqueue", "<task-notification>x</task-notification>").queue("remove", "and this").result("ok")
    told = told.attachment("queued_command", prompt="and this", commandMode="prompt").reply("done")
    rows = drawn(told)
    assert [(r.text, r.facts["sent"]) for r in rows if r.kind == "queued"] == [
        ("lost words", False),
        ("and this", True),
    ]


def test_the_tree_and_the_session_agree_on_what_is_still_queued() -> None:
    conversation = talk().user("go").reply("ok").queue("enqueue", "first").queue("enqueue", "second")
    conversation = conversation.queue("remove", "never queued")
    queued = [row.text for row in drawn(conversation) if row.kind == "queued"]
    waiting = [message.text for message in Session(conversation.bytes()).queue.waiting]
    assert queued == waiting == ["first", "second"]


@pytest.mark.parametrize("operation", ["dequeue", "remove", "popAll"])
def test_what_left_the_queue_is_not_lost(operation: str) -> None:
    rows = drawn(talk().user("go").reply("ok").queue("enqueue", "more").queue(operation))
    assert "queued" not in kinds(rows)


def test_problems_stand_at_the_turn_they_belong_to() -> None:
    told = talk().user("one").reply("a", call=bash("ls")).user("two").reply("b", parentUuid="99999999-lost")
    told = told.raw(b'{"half\n').user("three").reply("c", call=bash("pwd"))
    rows = drawn(told)
    assert found(rows, "problem") == [
        ("Bash ls has no result", "one"),
        ("the parent 99999999 is not in the file", "two"),
        ("damaged (unreadable)", "two"),
    ]
    assert found(rows, "waiting") == [("Bash pwd has no result", "three")]
    assert [r.line for r in rows if r.kind == "problem"] == [3, 5, 6]


def test_results_without_a_call_and_entries_that_are_there_twice() -> None:
    told = TWO.line(TWO.data()[3])
    stray = [{"type": "tool_result", "tool_use_id": "toolu_none", "content": "x"}]
    told = told.user(stray, uuid="x-1")
    assert [text for text, _ in found(drawn(told), "problem")] == [
        f"the uuid {str(TWO.data()[3]['uuid'])[:8]} is used 2 times",
        "a result without a call",
    ]


def test_damage_before_the_first_prompt_comes_before_all() -> None:
    rows = tree_rows(Session(b"\0\0\0\n" + TWO.bytes()))
    assert kinds(rows) == ["problem", "turn", "turn"]
    assert (rows[0].rails, rows[0].twigs, rows[0].line) == ((), (False,), 1)


@pytest.mark.req("R151")
def test_progress_is_no_turn_and_breaks_none() -> None:
    told = talk(version="2.1.29").user("hi").progress("hook_progress").reply("", call=bash("make"))
    told = told.progress("bash_progress", output="1").result("ok").reply("done").progress("hook_progress").user("next")
    assert turns(drawn(told)) == [("hi", 1, 0, True), ("next", 2, 0, True)]


@pytest.mark.req("R148")
def test_prompts_that_are_their_own_ancestors_are_drawn_once() -> None:
    data = line("user", "a", "b", "first") + line("user", "b", "a", "second") + line("user", "c", "a", "third")
    rows = tree_rows(Session(data))
    assert sorted(text for text, _, _, _ in turns(rows)) == ["first", "second", "third"]
    assert [text for text, _ in found(rows, "problem")] == ["2 entries are their own ancestors"]


def test_nothing_is_no_picture() -> None:
    assert tree_rows(Session(b"")) == ()
    assert count_rows(()) == {"turns": 0, "branches": 0, "agents": 0, "compactions": 0, "problems": 0}


def goes_on(rows: tuple[TreeRow, ...], index: int, lane: int) -> bool:
    """Whether a lane goes on below a row, told from the rows that follow."""
    for row in rows[index + 1 :]:
        own = len(row.rails) - 1
        if row.twigs or own > lane + 1 or (own == lane + 1 and not row.begins):
            continue
        return own == lane + 1 or (own == lane and not row.begins)
    return False


@given(st.lists(st.tuples(st.integers(-1, 12), st.booleans()), max_size=12))
def test_whatever_the_parents_every_prompt_is_drawn_once_and_the_lanes_join(links: list[tuple[int, bool]]) -> None:
    """Parents may be earlier, later, the entry itself or nowhere."""
    data = b""
    for index, (parent, is_reply) in enumerate(links):
        above = None if parent < 0 else f"u{parent}"
        data += line("assistant" if is_reply else "user", f"u{index}", above, f"t{index}")
    rows = tree_rows(Session(data))
    wanted = [f"t{index}" for index, (_, is_reply) in enumerate(links) if not is_reply]
    assert sorted(text for text, _, _, _ in turns(rows)) == sorted(wanted)
    for index, row in enumerate(rows):
        for lane, is_on in enumerate(row.rails):
            assert is_on == goes_on(rows, index, lane), (index, lane)


def test_prompts_of_branches_from_each_turn_are_placed_in_linear_time() -> None:
    def prepare(count: int) -> Work:
        found = rewound_in_each_turn(count)
        assert found.turns and found.prompts and len(found.branches) == count + 1
        return lambda: TurnTree(found)

    assert_linear(prepare, 40)
