"""Branches: the alternatives that hold a prompt, and nothing else."""

from __future__ import annotations

import time

import pytest

from clew.conversation.branches import list_branches
from clew.conversation.speaker import prompt_text
from clew.demo.talk import Talk, bash, talk
from tests.conversation.lines import opened, pin, reply, rewound_in_each_turn, session, text, user
from tests.step_count import Work, assert_linear


def asked(told: Talk) -> list[list[str]]:
    return [[e.text for e in branch.prompts] for branch in opened(told).branches]


@pytest.mark.req("R141")
def test_a_rewind_makes_a_branch() -> None:
    told = talk().user("one").reply("1").user("two").reply("2").rewind(to=2).user("other two").reply("3")
    left, active = opened(told).branches
    assert asked(told) == [["one", "two"], ["one", "other two"]]
    assert (left.number, left.shared, left.is_active) == (1, 1, False)
    assert (active.number, active.shared, active.is_active) == (2, 2, True)
    assert [e.text for e in left.own] == ["two"]
    assert active.own == ()
    assert opened(told).graph.forks == [opened(told).entries[1].uuid]


@pytest.mark.req("R141")
def test_the_turns_of_a_branch_that_was_left() -> None:
    told = (
        talk().user("one").reply("1").user("two").reply(calls=[bash("a"), bash("b")]).result("A").result("B").reply("2")
    )
    found = opened(told.rewind(to=2).user("other two").reply("3"))
    left, active = found.branches
    turns = found.turns_of(left)
    assert [turn.text for turn in turns] == ["one", "two"]
    assert [call.output for call in turns[1].calls] == ["A", "B"]
    assert turns[1].answer == "2"
    assert found.turns_of(active) == found.turns


def test_branches_of_branches() -> None:
    told = talk().user("a").reply("1").user("b").reply("2").user("c").reply("3")
    told = told.rewind(to=3).user("d").reply("4").rewind(to=2).user("e").reply("5")
    assert asked(told) == [["a", "b", "c"], ["a", "b", "d"], ["a", "e"]]
    assert [b.shared for b in opened(told).branches] == [1, 1, 2]


def test_two_beginnings_are_two_branches() -> None:
    told = talk().user("one").reply("1").rewind(to=1).user("instead").reply("2")
    assert asked(told) == [["one"], ["instead"]]
    assert [b.shared for b in opened(told).branches] == [0, 1]


def test_two_hundred_parallel_calls_are_one_branch() -> None:
    told = talk(version="2.1.29").user("go")
    for _ in range(20):
        told = told.reply(calls=[bash(f"echo {i}") for i in range(10)])
        for i in range(10):
            told = told.result(str(i), for_=i)
    found = opened(told.reply("done"))
    assert len(found.calls) == 200
    assert len(found.graph.forks) == 180
    assert len(found.branches) == 1
    assert found.pairing.open == ()


def test_a_regenerated_answer_is_no_branch() -> None:
    told = talk().user("one").reply("1")
    assert asked(told.at(0).reply("1 again")) == [["one"]]


def test_the_active_branch_may_end_before_what_was_said_below_it() -> None:
    found = session(user("A", None, "one"), reply("B", "A", text("1")), user("C", "B", "two"), pin("B", explicit=True))
    assert [([e.text for e in b.prompts], b.is_active) for b in found.branches] == [
        (["one"], True),
        (["one", "two"], False),
    ]
    assert [[t.text for t in found.turns_of(b)] for b in found.branches] == [["one"], ["one", "two"]]


def test_the_turns_of_the_active_branch_are_those_of_the_session() -> None:
    """Also where a pin goes on from the first of two answers, and the second is the newer line."""
    found = session(user("A", None, "one"), reply("B", "A", text("1")), reply("C", "A", text("1 again")), pin("B"))
    (branch,) = found.branches
    assert [turn.answer for turn in found.turns_of(branch)] == [turn.answer for turn in found.turns] == ["1"]


def test_compactions_do_not_make_branches() -> None:
    told = talk().user("one").reply("1").compact("They greeted.").user("two").reply("2")
    assert asked(told) == [["one", "two"]]


def test_commands_are_prompts_and_results_are_not() -> None:
    told = talk(version="2.1.29").user("one").reply("1").command("clear").user("two").reply(call=bash("ls")).result("a")
    (branch,) = opened(told).branches
    assert [prompt_text(e) for e in branch.prompts] == ["one", "/clear", "two"]


def test_prompts_in_a_ring_are_on_a_branch() -> None:
    found = session(user("A", "B", "one"), user("B", "A", "two"), user("C", None, "else"))
    assert [[e.uuid for e in b.prompts] for b in found.branches] == [["A", "B"], ["C"]]
    assert [len(found.turns_of(b)) for b in found.branches] == [2, 1]


def test_nothing_said_is_no_branch() -> None:
    assert opened(talk().title("empty")).branches == ()
    assert opened(talk().reply("unasked")).branches == ()


def test_long_branches_are_read_in_one_pass() -> None:
    """Each entry was once asked for its whole ancestry, which took most of a minute here."""
    told = talk()
    for number in range(1500):
        told = told.user(str(number)).reply("y", call=bash("ls")).result("a").reply("z")
    found = opened(told.rewind(to=750).user("other").reply("z"))
    begun = time.perf_counter()
    assert [len(found.turns_of(branch)) for branch in found.branches] == [1500, 750]
    assert time.perf_counter() - begun < 10


def test_turns_of_many_branches_from_one_reply() -> None:
    def prepare(count: int) -> Work:
        told = talk().user("Begin.").reply(calls=[bash("a"), bash("b")]).result("A").result("B").reply("Begun.")
        at = told.leaf
        assert at is not None
        for number in range(count):
            told = told.at(at).user(f"Try {number}.").reply("Tried.")
        found = opened(told)
        return lambda: [found.turns_of(branch) for branch in found.branches]

    assert_linear(prepare, 15)


def test_branches_from_each_turn_are_listed_in_linear_time() -> None:
    def prepare(count: int) -> Work:
        found = rewound_in_each_turn(count)
        assert found.active and len(list_branches(found.links, found.active)) == count + 1
        return lambda: list_branches(found.links, found.active)

    assert_linear(prepare, 40)
