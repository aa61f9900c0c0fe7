"""Rewinding: files, the conversation, or both as they were before a prompt; what others changed is never lost unseen."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.api.mock.scripts import ScriptRule
from clew.chat.engine import Engine
from clew.chat.rewind.carry_out import carry_out, undo
from clew.chat.rewind.path_state import PathState, read_path_state
from clew.chat.rewind.rewind_plan import Edits, plan, rewind_points, saved_folders
from clew.chat.sdk.sdk_rewind import rewind_files
from clew.chat.store import journal_lines
from clew.chat.tools.toolbox import create_tools
from clew.conversation.load import read
from clew.demo.talk import talk as conversation
from clew.errors import Busy, NotFound, Refused
from clew.wire.json_codec import encode
from tests.chat.chat_fixture import KINDS, MODEL, SESSION, World, open_engine, sound, use, world
from tests.chat.test_resume_session import spec
from tests.conversation.lines import opened
from tests.step_count import Work, assert_linear


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
        ScriptRule(prompt="first", steps=[[use("Write", file_path=str(project / "a.txt"), content="one\n")], "One."]),
        ScriptRule(
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
        ScriptRule(
            prompt="third", steps=[[use("Write", file_path=str(project / "b/c.txt"), content="new\n")], "Three."]
        ),
        ScriptRule(prompt="again", steps=["Again."]),
    ]
    with world(tmp_path, rules=rules) as found:
        yield found


def drive(made: World, work: Callable[[Engine], Awaitable[Any]], kinds: Any = None, **more: Any) -> Any:
    async def run() -> Any:
        async with open_engine(made, spec(made, model=MODEL, **more), list(create_tools().values()), kinds) as engine:
            return await work(engine)

    return asyncio.run(run())


async def talk(engine: Engine) -> None:
    for prompt in ("first", "second", "third"):
        await engine.submit(prompt)


def tree(folder: Path) -> dict[str, PathState]:
    return {
        str(p.relative_to(folder)): read_path_state(p)
        for p in sorted(folder.rglob("*"))
        if not p.is_dir() or p.is_symlink()
    }


def test_code_goes_back_to_each_prompt_and_forth_again(made: World) -> None:
    states: list[dict[str, PathState]] = []

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

    drive(made, work, session_id=SESSION, watches_commands=True)
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
        assert engine.conversation.journal.leaf == plan.place.before
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
        assert engine.conversation.messages == []
        await engine.submit("again")

    drive(made, work, session_id=SESSION)
    assert [turn.text for turn in read(made.path()).turns] == ["again"]
    assert len(made.sent[-1]["messages"]) == 1
    assert list(tree(made.project)) == ["old.txt"]


def test_a_rewind_of_both_is_taken_back_as_one(made: World) -> None:
    async def work(engine: Engine) -> None:
        await talk(engine)
        before, leaf, messages = (
            tree(made.project),
            engine.conversation.journal.leaf,
            list(engine.conversation.messages),
        )
        await engine.rewind(engine.plan_rewind("2"))
        assert tree(made.project) != before
        await engine.rewind(engine.plan_undo())
        assert tree(made.project) == before
        assert engine.conversation.journal.leaf == leaf
        assert engine.conversation.messages == messages

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

    drive(made, work, session_id=SESSION, watches_commands=True)


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
    found = rewind_points(read(made.path()))
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


@pytest.mark.parametrize(("way", "edits"), [("again", "overwrite"), ("again", "keep"), ("undo", "overwrite")])
def test_killed_at_any_step_it_can_be_done_again(made: World, tmp_path: Path, way: str, edits: Edits) -> None:
    """Each change of a name on the disk is a step; before each one in turn the process is killed without a warning."""
    first = tree(made.project)
    drive(made, talk, session_id=SESSION, watches_commands=True)
    (made.project / "old.txt").write_text("mine\n")
    session, after = read(made.path()), tree(made.project)
    goal = first if edits == "overwrite" else {"old.txt": after["old.txt"]}
    kept = tmp_path / "kept"
    shutil.copytree(made.project, kept, symlinks=True)

    def rewind() -> None:
        carry_out(plan(session, "1", saved_folders(session, made.root / "claude")), edits)

    def back() -> None:
        carry_out(undo(session.id, made.project))

    def reset() -> None:
        shutil.rmtree(made.project)
        shutil.copytree(kept, made.project, symlinks=True)
        shutil.rmtree(tmp_path / "state/clew/rewind", ignore_errors=True)
        if way == "undo":
            rewind()  # which is killed while it is taken back

    ways = set()
    for step in range(1, 200):
        reset()
        if not killed_at(step, rewind if way == "again" else back):
            break
        ways.add(str(tree(made.project)))
        if way == "again":
            rewind()
            assert tree(made.project) == goal
            assert not (made.project / "b").exists()
        if tree(made.project) != after:
            back()
        assert tree(made.project) == after
    assert 10 < step < 199
    assert len(ways) >= len(after) - (edits == "keep")  # it was killed between any two files
    assert not list(made.project.rglob(".clew-*"))


def killed_at(step: int, work: Callable[[], None]) -> bool:
    """Do something in a process that dies at the nth name it changes; whether it came that far."""
    child = os.fork()
    if not child:
        count = itertools.count(1)

        def dying(change: Callable[..., Any]) -> Callable[..., Any]:
            def changed(*given: Any, **more: Any) -> Any:
                if next(count) == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return change(*given, **more)

            return changed

        for name in ("replace", "unlink", "link", "symlink", "mkdir", "rmdir"):
            setattr(os, name, dying(getattr(os, name)))
        try:
            work()
        finally:
            os._exit(0)
    _, how = os.waitpid(child, 0)
    return os.WIFSIGNALED(how)


def test_a_hostile_session_reaches_nothing_outside_of_its_folder(made: World, tmp_path: Path) -> None:
    drive(made, talk, session_id=SESSION, watches_commands=True)
    (tmp_path / "outside").write_text("precious\n")
    (made.project / "way").symlink_to(tmp_path)
    (made.project / ".git").mkdir()
    (made.project / ".git/config").write_text("mine\n")
    names = ["../outside", "way/outside", str(tmp_path / "outside"), ".git/config", "a.txt"]
    evil = {name: {"backupFileName": "../../evil", "version": 1, "backupTime": ""} for name in ["b.txt"]}
    gone = {name: {"backupFileName": None, "version": 1, "backupTime": ""} for name in names}
    prompt = rewind_points(read(made.path()))[0].uuid
    line = journal_lines.snapshot("x", prompt, {**gone, **evil}, "2026-01-01T00:00:00.000Z")
    with made.path().open("ab") as file:
        file.write(encode(line) + b"\n")
    session = read(made.path())
    found = plan(session, "1", saved_folders(session, made.root / "claude"))
    assert sorted(name for name, _ in found.lost) == sorted(["b.txt", *names[:4]])
    carry_out(found, "overwrite")
    assert (tmp_path / "outside").read_text() == "precious\n"
    assert (made.project / ".git/config").read_text() == "mine\n"
    assert not (made.project / "a.txt").exists()


def test_a_link_that_is_edited_through_stays_a_link(made: World) -> None:
    project = made.project
    (project / "link").symlink_to("old.txt")
    rules = [use("Read", file_path=str(project / "link"))]
    edit = [use("Edit", file_path=str(project / "link"), old_string="old", new_string="new")]
    with world(made.root, rules=[ScriptRule(prompt="go", steps=[rules, edit, "Done."])]) as other:

        async def work(engine: Engine) -> None:
            await engine.submit("go")
            assert (project / "old.txt").read_text() == "new\n"
            await engine.rewind(engine.plan_rewind("1"), conversation=False)

        drive(other, work, session_id=SESSION)
    assert (project / "link").is_symlink()
    assert (project / "old.txt").read_text() == "old\n"


def test_agents_edits_are_taken_back_too(tmp_path: Path) -> None:
    project = (tmp_path / "project").resolve()
    project.mkdir()
    rules = [
        ScriptRule(prompt="inner", steps=[[use("Write", file_path=str(project / "a.txt"), content="one\n")], "Inner."]),
        ScriptRule(prompt="go", steps=[[use("Task", description="d", prompt="inner")], "One."]),
    ]

    async def work(engine: Engine) -> None:
        await engine.submit("go")
        assert (project / "a.txt").exists()
        plan = engine.plan_rewind("1")
        assert not plan.edited
        await engine.rewind(plan)

    with world(tmp_path, rules=rules) as other:
        drive(other, work, session_id=SESSION, kinds=KINDS)
    assert not (project / "a.txt").exists()


def test_busy_means_later(made: World) -> None:
    async def work(engine: Engine) -> None:
        await talk(engine)
        plan = engine.plan_rewind("1")
        engine.is_busy = True
        with pytest.raises(Busy):
            await engine.rewind(plan)
        engine.is_busy = False

    drive(made, work, session_id=SESSION)


def test_a_session_that_is_not_kept_cannot_go_back(made: World) -> None:
    async def work(engine: Engine) -> None:
        await engine.submit("first")
        with pytest.raises(Refused, match="this session is not saved"):
            engine.plan_rewind("1")

    drive(made, work, session_id=SESSION, is_kept=False)


def test_what_the_model_knows_follows(tmp_path: Path) -> None:
    """The list of things to do is that of the turn before, and a file that was put back has to be read again."""
    project = (tmp_path / "project").resolve()
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    edit = [use("Edit", file_path=str(project / "a.txt"), old_string="one", new_string="two")]
    rules = [
        ScriptRule(prompt="first", steps=[[todo("plan")], [use("Read", file_path=str(project / "a.txt"))], "One."]),
        ScriptRule(prompt="second", steps=[[todo("build")], edit, "Two."]),
        ScriptRule(prompt="again", steps=[edit, "Three."]),
    ]

    async def work(engine: Engine) -> None:
        await engine.submit("first")
        await engine.submit("second")
        assert [each["content"] for each in engine.conversation.state.todos] == ["build"]
        await engine.rewind(engine.plan_rewind("2"))
        assert [each["content"] for each in engine.conversation.state.todos] == ["plan"]
        assert project / "a.txt" not in engine.conversation.state.seen
        await engine.submit("again")

    with world(tmp_path, rules=rules) as made:
        drive(made, work, session_id=SESSION)
    assert (project / "a.txt").read_text() == "one\n"
    assert "has not been read yet" in str(made.sent[-1]["messages"][-1])


def todo(text: str) -> Any:
    return use("TodoWrite", todos=[{"content": text, "status": "pending", "activeForm": f"Doing {text}"}])


def test_a_conversation_goes_back_behind_a_compaction(made: World) -> None:
    async def work(engine: Engine) -> None:
        await talk(engine)
        before = engine.plan_rewind("2").place.before
        await engine.compact(summary="All that was said.")
        await engine.submit("again")
        assert [place.text for place in rewind_points(read(made.path()))] == ["first", "second", "third", "again"]
        plan = engine.plan_rewind("2")
        assert plan.place.before == before
        await engine.rewind(plan, code=False)
        assert "All that was said." not in str(engine.conversation.messages)
        assert [m["role"] for m in engine.conversation.messages] == ["user", "assistant", "user", "assistant"]
        await engine.submit("again")
        await engine.rewind(engine.plan_undo())
        await engine.submit("again")

    drive(made, work, session_id=SESSION)
    sound(made.path())


def test_programs_ask_first_what_would_change(made: World) -> None:
    async def work(engine: Engine) -> None:
        await talk(engine)
        (made.project / "a.txt").write_text("mine\n")
        prompt, before = engine.plan_rewind("2").place.uuid, tree(made.project)
        told = await rewind_files(engine, prompt, is_dry=True)
        paths = {name: str(made.project / name) for name in ("a.txt", "b/c.txt", "old.txt")}
        assert sorted(told.pop("filesChanged")) == sorted(paths.values())
        assert told == {
            "canRewind": True,
            "insertions": 2,
            "deletions": 3,
            "filesEdited": [paths["a.txt"]],
            "filesDeleted": [paths["b/c.txt"]],
            "filesKept": [],
            "filesLost": [],
            "notes": [],
        }
        nothing = await rewind_files(engine, "2", is_dry=True)
        assert nothing == {"canRewind": False, "error": "No file checkpoint found for this message."}
        assert tree(made.project) == before
        assert (await rewind_files(engine, prompt))["canRewind"]
        assert (made.project / "a.txt").read_text() == "one\n"
        assert len(engine.conversation.messages) > 6
        with pytest.raises(Refused, match="No file checkpoint found"):
            await rewind_files(engine, "2")

    drive(made, work, session_id=SESSION, watches_commands=True)


def test_the_points_of_a_long_session() -> None:
    def prepare(count: int) -> Work:
        told = conversation()
        for number in range(count):
            told = told.user(f"Do {number}.").reply("Done.")
        found = opened(told)
        assert len(found.turns) == count
        return lambda: rewind_points(found)

    assert_linear(prepare, 15)
