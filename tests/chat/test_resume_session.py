"""Resuming: by every name, from every kind of ending, in a copy and from an earlier turn; what is sent is what was said."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.api.mock.scripts import ScriptRule, ScriptStep
from clew.chat.deps import ConversationLimits
from clew.chat.engine import Engine
from clew.chat.events import TurnFinished
from clew.chat.session_spec import SessionSpec
from clew.chat.store.resume_session import find, latest, resume
from clew.chat.store.session_lock import lock_session
from clew.conversation.load import read, request
from clew.demo.talk import Talk, bash, talk, todo
from clew.demo.talk import read as look
from clew.errors import Busy, NotFound, Refused
from clew.foreign import codex
from clew.foreign.write_import import draft_import, write_draft
from clew.wire.layout import Tree
from tests.chat.chat_fixture import MODEL, SESSION, World, open_engine, sound, use, world
from tests.foreign import logs
from tests.oracle.verbatim import comparable, without_clew_opening

RULES = [
    ScriptRule(
        prompt="first", steps=[[{"thinking": "Hm."}, use("Echo", text="a"), use("Save", path="x", text="y")], "One."]
    ),
    ScriptRule(prompt="second", steps=["Two."]),
    ScriptRule(prompt="NEXT", steps=["Next."]),
]


def spec(made: World, **more: Any) -> SessionSpec:
    made.project.mkdir(parents=True, exist_ok=True)
    cwd = more.pop("cwd", made.project)
    endpoint = made.endpoint
    claude = made.root / "claude"
    return SessionSpec(cwd=cwd, claude=claude, endpoint=endpoint, durability="off", entrypoint="sdk-cli", **more)


def ask(made: World, prompt: str, **more: Any) -> tuple[TurnFinished, Path]:
    """Start a session as it is asked for, and say something in it."""

    async def run() -> tuple[TurnFinished, Path]:
        async with open_engine(made, spec(made, **more)) as engine:
            return await engine.submit(prompt), engine.conversation.journal.path

    return asyncio.run(run())


def goes_on(made: World, path: Path, **more: Any) -> list[dict[str, Any]]:
    """Go on with a file: what is sent is what the file said before, and what it says afterwards."""
    expected = request(read(path), prompt="NEXT").messages
    before = path.read_bytes()
    done, now = ask(made, "NEXT", resume=path.stem, **more)
    assert done.ending == "success", done
    sent = without_clew_opening(made.sent[-1]["messages"])
    assert sent == comparable(expected)
    assert now.read_bytes().startswith(before.removesuffix(b"\n")) or now != path
    assert comparable(sound(now))[: len(sent)] == sent
    return sent


@pytest.mark.req("R256", "R240")
@pytest.mark.parametrize("way", ["id", "beginning", "title", "latest", "path"])
def test_a_session_is_found_by_every_name(tmp_path: Path, way: str) -> None:
    with world(tmp_path, rules=RULES) as made:
        _, path = ask(made, "first", model=MODEL, title="My tale", session_id=SESSION)
        assert path == made.path()
        names = {"id": SESSION, "beginning": SESSION[:8], "title": "my tale", "path": str(path)}
        more: dict[str, Any] = {"is_latest": True} if way == "latest" else {"resume": names[way]}
        done, again = ask(made, "second", **more)
    assert again == path and done.text == "Two."
    assert made.sent[-1]["model"] == MODEL
    assert [m["role"] for m in made.sent[-1]["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert str(made.sent[-1]["messages"]).count("Hm.") == 1
    sound(path)


@pytest.mark.req("R256")
def test_a_resume_sends_what_came_after_the_last_compaction(tmp_path: Path) -> None:
    told = talk(SESSION).user("oldest").reply("a").compact("First summary.").user("older").reply("b")
    told = told.compact("Second summary.").user("newest").reply("c", thinking="Hm.", call=bash("ls")).result("gate")
    with world(tmp_path, rules=RULES) as made:
        path = told.reply("d").write(made.root / "claude")
        done, again = ask(made, "NEXT", resume=SESSION)
        sent = without_clew_opening(made.sent[-1]["messages"])
    assert again == path and done.text == "Next."
    assert [message["role"] for message in sent] == ["user", "assistant", "user", "assistant", "user"]
    assert [block["type"] for block in sent[1]["content"]] == ["thinking", "text", "tool_use"]
    assert "Second summary." in str(sent[0]) and "newest" in str(sent[0])
    assert not any(words in str(sent) for words in ("oldest", "First summary.", "older"))


def test_a_session_is_found_from_elsewhere_and_under_a_long_path(tmp_path: Path) -> None:
    with world(tmp_path / ("long" * 40) / ("deep" * 40), rules=RULES) as made:
        _, path = ask(made, "first", session_id=SESSION, model=MODEL)
        assert len(path.parent.name) <= 210
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        moved = World(made.root, made.server)
        done, again = ask(moved, "NEXT", resume=SESSION, cwd=elsewhere)
    assert again == path and done.text == "Next."
    assert read(path).entries[-2].cwd == str(made.project)


def test_a_file_that_cannot_be_read_does_not_hide_the_session_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world(tmp_path, rules=RULES) as made:
        _, path = ask(made, "first", title="My tale", session_id=SESSION)
        closed = path.with_name("00000000-0000-4000-8000-000000000000.jsonl")
        closed.write_bytes(path.read_bytes())
        os.utime(closed, (4e9, 4e9))  # the newest of the folder
        really_open = open

        def refuse(name: Any, *more: Any, **others: Any) -> Any:  # as for a user without the right to read it
            if str(name) == str(closed):
                raise PermissionError(13, "Permission denied", str(closed))
            return really_open(name, *more, **others)

        monkeypatch.setattr("builtins.open", refuse)
        tree = Tree(made.root / "claude")
        assert find(tree, "my tale").path == path
        assert latest(tree, made.project).path == path


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with world(tmp_path, rules=RULES) as made:
        with pytest.raises(NotFound):
            ask(made, "x", resume="no such tale")
        with pytest.raises(NotFound):
            ask(made, "x", is_latest=True)
        ask(made, "first", session_id=SESSION)
        with pytest.raises(Refused, match="already exists"):
            ask(made, "x", session_id=SESSION)
        with lock_session(made.path()), pytest.raises(Busy):
            ask(made, "x", resume=SESSION)


def test_a_fork_leaves_the_original_alone(tmp_path: Path) -> None:
    with world(tmp_path, rules=RULES) as made:
        _, path = ask(made, "first", session_id=SESSION, model=MODEL)
        ask(made, "second", resume=SESSION)
        before = path.read_bytes()
        whole = goes_on(made, path, is_fork=True)
        _, cut = ask(made, "NEXT", resume=SESSION, at="1")
        short = without_clew_opening(made.sent[-1]["messages"])
    assert path.read_bytes() == before and cut != path
    assert short == [*whole[:4], whole[-1]]
    assert {line.session_id for line in read(cut).entries if line.session_id} == {cut.stem}
    sound(cut)


ENDINGS: dict[str, Callable[[Talk], Talk]] = {
    "whole": lambda told: told.reply("hello"),
    "a prompt": lambda told: told.reply("hello").user("and"),
    "a call": lambda told: told.reply("look", call=bash("ls")),
    "two calls": lambda told: told.reply("look", calls=[bash("ls"), bash("pwd")]),
    "one of two results": lambda told: told.reply("look", calls=[bash("ls"), bash("pwd")]).result("a", for_=0),
    "a result": lambda told: told.reply("look", call=bash("ls")).result("a"),
    "broken off": lambda told: told.reply("look").interrupt(),
    "an error": lambda told: told.api_error("Overloaded"),
    "thinking": lambda told: told.reply(thinking="Hm.").reply("late"),
}


@pytest.mark.parametrize("version", ["2.0.50", "2.1.29", "2.1.325"])
@pytest.mark.parametrize("name", ENDINGS)
def test_every_ending_is_gone_on_from(tmp_path: Path, name: str, version: str) -> None:
    with world(tmp_path, rules=RULES, strict="advice") as made:
        goes_on(made, lay(made, ENDINGS[name](talk(SESSION, version=version, model=MODEL).user("hi"))))


def lay(made: World, told: Talk) -> Path:
    made.path().parent.mkdir(parents=True)
    made.path().write_bytes(told.bytes())
    return made.path()


def test_the_state_is_restored(tmp_path: Path) -> None:
    with world(tmp_path, rules=RULES) as made:
        made.project.mkdir(parents=True)
        file = made.project / "a.txt"
        file.write_text("one")
        os.utime(file, (1, 1))
        changed = made.project / "b.txt"
        changed.write_text("changed since")
        told = talk(SESSION, cwd=str(made.project), version="2.1.29", model=MODEL, permission_mode="acceptEdits")
        told = told.user("hi").reply(calls=[look(str(file), "one"), look(str(changed), "old")])
        told = told.result(for_=0).result(for_=1).reply(call=todo(["water the plants"])).result().reply("done")
        found = resume(lay(made, told))
    assert (found.model, found.mode, found.cwd) == (MODEL, "acceptEdits", made.project)
    assert [t["content"] for t in found.todos] == ["water the plants"]
    assert list(found.seen) == [file] and found.closing == []


def test_the_model_of_another_program_is_not_gone_on_with(tmp_path: Path) -> None:
    talk_of_codex = next(codex.read(logs.codex(tmp_path / "log")))
    with world(tmp_path, rules=RULES) as made:
        made.project.mkdir(parents=True)
        path = write_draft(draft_import(talk_of_codex, Tree(made.root / "claude"), str(made.project)))
        assert resume(path).model == ""
        ask(made, "NEXT", resume=path.stem, model="haiku")
        assert resume(path).model == "claude-haiku-5-5"
    assert logs.FIRST in str(made.sent[-1]["messages"])


def test_a_session_that_counted_nothing_is_estimated(tmp_path: Path) -> None:
    talk_of_codex = next(codex.read(logs.codex_old(tmp_path / "log")))
    assert resume(write_draft(draft_import(talk_of_codex, Tree(tmp_path), "/home/ada"))).known_tokens > 100


def test_another_model_gets_no_thinking_of_the_first(tmp_path: Path) -> None:
    with world(tmp_path, rules=RULES) as made:
        ask(made, "first", session_id=SESSION, model=MODEL)
        ask(made, "NEXT", resume=SESSION, model="haiku")
    assert "Hm." not in str(made.sent[-1]["messages"]) and made.sent[-1]["model"] == "claude-haiku-5-5"


def test_a_long_session_is_compacted_before_the_first_prompt(tmp_path: Path) -> None:
    long = ScriptStep(content="Long.", usage={"input_tokens": 190_000})
    rules = [
        ScriptRule(prompt="Sum up", steps=["Summed up."]),
        ScriptRule(prompt="first", steps=[long]),
        ScriptRule(prompt="NEXT", steps=["Next."]),
    ]
    with world(tmp_path, rules=rules) as made:
        _, path = ask(made, "first", session_id=SESSION, model=MODEL)
        ask(made, "NEXT", resume=SESSION, limits=ConversationLimits())
    assert "Summed up." in made.sent[-1]["messages"][0]["content"][1]["text"]
    sound(path)


def test_nothing_is_kept_if_that_is_asked_for(tmp_path: Path) -> None:
    with world(tmp_path, rules=RULES) as made:
        done, path = ask(made, "first", is_kept=False)
    assert done.text == "One." and not (made.root / "claude").exists() and not path.exists()


def test_an_engine_says_when_it_is_busy(tmp_path: Path) -> None:
    with world(tmp_path, ScriptStep(content="Slow.", delay=5.0)) as made:

        async def drive(engine: Engine) -> None:
            turn = asyncio.create_task(engine.submit("go"))
            while not engine.is_busy:
                await asyncio.sleep(0)
            with pytest.raises(Busy):
                await engine.submit("go")
            engine.interrupt()
            await turn

        made.drive(drive)
