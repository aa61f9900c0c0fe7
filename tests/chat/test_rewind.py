"""Rewinding: files, the conversation, or both as they were before a prompt; what others changed is never lost unseen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.api.script import Rule
from clew.chat.engine import Engine
from clew.chat.held import Held, held
from clew.chat.means import Anything, Unhooked
from clew.chat.rewind import Edits, places
from clew.chat.start import Parts, opened
from clew.chat.toolbox import toolbox
from clew.conversation.open import read
from clew.errors import NotFound, Refused
from tests.chat.test_resume import options
from tests.chat.world import MODEL, SESSION, World, sound, use, world


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def made(tmp_path: Path) -> Iterator[World]:
    """Three turns: a file is made, edited, and another one made."""
    project = (tmp_path / "project").resolve()
    project.mkdir()
    (project / "old.txt").write_text("old\n")
    (project / "old.txt").chmod(0o755)
    rules = [
        Rule(prompt="first", steps=[[use("Write", file_path=str(project / "a.txt"), content="one\n")], "One."]),
        Rule(
            prompt="second",
            steps=[
                [use("Read", file_path=str(project / "old.txt"))],
                [
                    use("Edit", file_path=str(project / "a.txt"), old_string="one", new_string="two"),
                    use("Edit", file_path=str(project / "old.txt"), old_string="old", new_string="new"),
                ],
                "Two.",
            ],
        ),
        Rule(prompt="third", steps=[[use("Write", file_path=str(project / "b/c.txt"), content="new\n")], "Three."]),
        Rule(prompt="again", steps=["Again."]),
    ]
    with world(tmp_path, rules=rules) as found:
        yield found


def drive(made: World, work: Callable[[Engine], Awaitable[Any]], **more: Any) -> Any:
    async def run() -> Any:
        async with made.client() as client:
            parts = Parts(client, list(toolbox().values()), Anything(), Unhooked())
            async with opened(options(made, model=MODEL, **more), parts, made.events.append) as engine:
                return await work(engine)

    return asyncio.run(run())


async def talk(engine: Engine) -> None:
    for prompt in ("first", "second", "third"):
        await engine.submit(prompt)


def tree(folder: Path) -> dict[str, Held]:
    return {str(p.relative_to(folder)): held(p) for p in sorted(folder.rglob("*")) if not p.is_dir() or p.is_symlink()}


def test_code_goes_back_to_each_prompt_and_forth_again(made: World) -> None:
    states: list[dict[str, Held]] = []

    async def work(engine: Engine) -> None:
        for prompt in ("first", "second", "third"):
            states.append(tree(made.project))
            await engine.submit(prompt)
        states.append(tree(made.project))
        for number in (3, 2, 1):
            plan = engine.plan_rewind(str(number))
            assert not plan.edited and not plan.lost
            await engine.rewind(plan, conversation=False)
            assert tree(made.project) == states[number - 1]
            await engine.rewind(engine.plan_undo())
            assert tree(made.project) == states[3]

    drive(made, work, session_id=SESSION)
    assert states[0]["old.txt"].mode == 0o755
    assert not (made.project / ".git").exists()


def test_the_conversation_goes_back_and_nothing_is_taken_out(made: World) -> None:
    async def work(engine: Engine) -> None:
        await talk(engine)
        before = made.path().read_bytes()
        plan = engine.plan_rewind("2")
        assert plan.turns == 2
        await engine.rewind(plan, code=False)
        assert made.path().read_bytes().startswith(before)
        assert engine.dialogue.journal.leaf == plan.place.before
        await engine.submit("again")

    drive(made, work, session_id=SESSION)
    assert (made.project / "a.txt").read_text() == "two\n"
    said = [m["content"][0].get("text") for m in made.sent[-1]["messages"] if m["role"] == "user"]
    assert said[0] is not None and "second" not in str(made.sent[-1]["messages"])
    session = read(made.path())
    assert [turn.text for turn in session.turns] == ["first", "again"]
    left = session.turns_to(session.prompts[2])
    assert [turn.text for turn in left] == ["first", "second", "third"]
    sound(made.path())


def test_a_conversation_that_went_back_is_resumed_there(made: World) -> None:
    async def back(engine: Engine) -> None:
        await talk(engine)
        await engine.rewind(engine.plan_rewind("3"))

    async def on(engine: Engine) -> None:
        await engine.submit("again")

    drive(made, back, session_id=SESSION)
    drive(made, on, resume=SESSION)
    assert [turn.text for turn in read(made.path()).turns] == ["first", "second", "again"]


def test_all_of_the_conversation_goes_back(made: World) -> None:
    async def work(engine: Engine) -> None:
        await talk(engine)
        await engine.rewind(engine.plan_rewind("1"))
        assert engine.dialogue.messages == []
        await engine.submit("again")

    drive(made, work, session_id=SESSION)
    assert [turn.text for turn in read(made.path()).turns] == ["again"]
    assert len(made.sent[-1]["messages"]) == 1
    assert list(tree(made.project)) == ["old.txt"]


def test_a_rewind_of_both_is_taken_back_as_one(made: World) -> None:
    async def work(engine: Engine) -> None:
        await talk(engine)
        before, leaf, messages = tree(made.project), engine.dialogue.journal.leaf, list(engine.dialogue.messages)
        await engine.rewind(engine.plan_rewind("2"))
        assert tree(made.project) != before
        await engine.rewind(engine.plan_undo())
        assert tree(made.project) == before
        assert engine.dialogue.journal.leaf == leaf
        assert engine.dialogue.messages == messages

    drive(made, work, session_id=SESSION)


@pytest.mark.parametrize("edits", ["refuse", "keep", "overwrite"])
def test_what_somebody_else_changed_is_shown_first(made: World, edits: Edits) -> None:
    async def work(engine: Engine) -> None:
        await talk(engine)
        (made.project / "a.txt").write_text("two\nmine\n")
        plan = engine.plan_rewind("2")
        assert [(change.name, change.kind) for change in plan.edited] == [("a.txt", "restore")]
        assert "+mine\n" in plan.edited[0].edits
        assert "-two\n" in plan.edited[0].diff and "+one\n" in plan.edited[0].diff
        before = tree(made.project)
        if edits == "refuse":
            with pytest.raises(Refused, match=r"a\.txt was changed after"):
                await engine.rewind(plan)
            assert tree(made.project) == before
            return
        done = await engine.rewind(plan, edits=edits)
        assert (made.project / "a.txt").read_text() == ("two\nmine\n" if edits == "keep" else "one\n")
        assert (made.project / "old.txt").read_text() == "old\n"
        assert not (made.project / "b").exists()
        assert [change.name for change in done.kept] == (["a.txt"] if edits == "keep" else [])
        await engine.rewind(engine.plan_undo())
        assert tree(made.project) == before

    drive(made, work, session_id=SESSION)


def test_a_change_between_plan_and_doing_is_noticed(made: World) -> None:
    async def work(engine: Engine) -> None:
        await talk(engine)
        plan = engine.plan_rewind("1")
        (made.project / "old.txt").write_text("mine\n")
        with pytest.raises(Refused, match="changed while"):
            await engine.rewind(plan, edits="overwrite")
        assert (made.project / "old.txt").read_text() == "mine\n"
        assert (made.project / "b/c.txt").exists()

    drive(made, work, session_id=SESSION)


def test_places_are_the_prompts(made: World) -> None:
    drive(made, talk, session_id=SESSION)
    found = places(read(made.path()))
    assert [(place.number, place.text, place.has_files) for place in found] == [
        (1, "first", True),
        (2, "second", True),
        (3, "third", True),
    ]
    assert found[0].before is None and all(place.before for place in found[1:])


def test_what_is_not_there_is_said(made: World) -> None:
    async def work(engine: Engine) -> None:
        for asked in ("1", "x"):
            with pytest.raises(NotFound):
                engine.plan_rewind(asked)
        await talk(engine)
        for asked in ("0", "4", "-4", "nothing", ""):
            with pytest.raises(NotFound):
                engine.plan_rewind(asked)
        with pytest.raises(NotFound):
            engine.plan_undo()

    drive(made, work, session_id=SESSION)
