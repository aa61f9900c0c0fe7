"""Which turn of which session changed a file, also in sessions of unusual shapes."""

from __future__ import annotations

from pathlib import Path

import clew
from clew.conversation.session import Session
from clew.demo.talk import talk, task, write
from clew.provenance.recorded_changes import _SessionReader, changes_of
from tests.conversation.lines import opened
from tests.step_count import Work, assert_linear


def test_changes_on_a_branch_that_was_left() -> None:
    def prepare(count: int) -> Work:
        told = talk().user("Begin.").reply("Begun.").user("Try.")
        for number in range(count):
            told = told.reply(call=write(f"{number}.txt", "a\n")).result()
        found = opened(told.reply("Tried.").rewind(to=2).user("Try otherwise.").reply("Tried."))
        assert (len(found.branches), len(found.pairing.calls), len(found.turns)) == (2, count, 2)
        return lambda: changes_of(found)

    assert_linear(prepare, 15)


def test_the_turns_of_changes_on_branches() -> None:
    told = talk().user("One.").reply(call=write("a.txt", "a\n")).result().reply("Done.")
    told = told.user("Two.").reply(call=write("b.txt", "b\n")).result().reply("Done.")
    told = told.user("Three.").reply(call=write("c.txt", "c\n")).result().reply("Done.")
    told = told.rewind(to=2).user("Two otherwise.").reply(call=write("d.txt", "d\n")).result().reply("Done.")
    told = told.rewind(to=1).user("One otherwise.").reply(call=write("e.txt", "e\n")).result().reply("Done.")
    changes = changes_of(opened(told))
    assert sorted((Path(change.path).name, change.turn, change.prompt) for change in changes) == [
        ("a.txt", 1, "One."),
        ("b.txt", 2, "Two."),
        ("c.txt", 3, "Three."),
        ("d.txt", 2, "Two otherwise."),
        ("e.txt", 1, "One otherwise."),
    ]


def test_the_calls_of_many_agents(tmp_path: Path) -> None:
    def prepare(count: int) -> Work:
        told = talk().user("Go.")
        for number in range(count):
            child = talk(seed=number + 1).user(f"Errand {number}.").reply("Done.")
            told = told.reply(call=task(f"Errand {number}.", f"Errand {number}.")).agent(None, child)
        found: Session = clew.read(told.reply("So.").write(tmp_path / str(len(list(tmp_path.iterdir())))))
        assert len([agent for agent in found.agents if agent.call]) == count
        reader = _SessionReader(found, "")
        return lambda: [reader._session_call(agent) for agent in found.agents]

    assert_linear(prepare, 15)
