"""Reconstructed sessions and the attic: what is left of what is gone, and where it is laid out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.collect.archive.archive_view import open_deleted_tree
from clew.collect.archive.deleted_tree import deleted_tree_path
from clew.collect.archive.reconstruct import ReconstructedSession, reconstruct_sessions
from clew.collect.archive.sync_deleted_tree import sync_deleted_tree
from clew.conversation.load import read, sessions
from clew.demo.talk import talk
from tests.collect.collect_fixture import World, session

ONE, TWO = session(1), session(2)
LOST = "aaaaaaaa-0000-4000-8000-000000000001"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = World()
    yield made
    made.close()


def typed(text: str, at: int, session: str = LOST, project: str = "/home/ada/shop") -> bytes:
    line = {"display": text, "pastedContents": {}, "timestamp": at, "project": project, "sessionId": session}
    return json.dumps(line).encode() + b"\n"


def remains(world: World) -> list[ReconstructedSession]:
    world.poll()
    return list(reconstruct_sessions(world.archive, str(world.root)))


def test_prompts_come_back_in_their_order_and_are_marked(world: World) -> None:
    world.write("history.jsonl", typed("second", 2000) + typed("first", 1000) + typed("other", 1, Path(ONE).stem))
    world.write(ONE, b"".join(talk().user("hi").lines()))
    [found] = remains(world)
    assert found.path == f"projects/-home-ada-shop/{LOST}.jsonl"
    lines = [json.loads(line) for line in found.data.splitlines()]
    assert all(line["reconstructed"] is True and line["sessionId"] == LOST for line in lines)
    assert lines[0]["content"].startswith("Reconstructed by clew from what was left of this session: 2 prompts.")
    path = world.write("made.jsonl", found.data)
    assert [turn.text for turn in read(path).turns] == ["first", "second"]
    assert found.data == remains(world)[0].data, "the same each time"


def test_agents_lists_and_saved_files_are_enough(world: World) -> None:
    agent = f"projects/-home-ada-shop/{LOST}/subagents/agent-a1b2c3d.jsonl"
    world.write(agent, b"".join(talk(session_id=LOST).user("look").reply("found it").lines()))
    world.write(f"file-history/{LOST}/0a@v1", b"old")
    world.write(f"todos/{LOST}-agent-{LOST}.json", b'[{"content":"do it","status":"pending"}]')
    world.write("todos/bbbbbbbb-0000-4000-8000-000000000002-agent-x.json", b"[]")
    [found] = remains(world)
    assert (found.session, len(found.belongings)) == (LOST, 3)
    assert b"1 agent, 1 list, 1 saved file" in found.data
    sync_deleted_tree(world.archive, str(world.root))
    attic = deleted_tree_path(world.root)
    shown = read(attic / found.path)
    assert [agent.id for agent in shown.agents] == ["a1b2c3d"]
    assert (attic / agent).read_bytes() == (world.root / agent).read_bytes()


@pytest.mark.parametrize("id", ["../../../etc/x", "a/b", "", "x" * 100, "ä", "a\0b", ".."])
def test_a_name_that_is_no_id_makes_no_file(world: World, id: str) -> None:
    world.write("history.jsonl", typed("hello", 1, id))
    assert remains(world) == []


def test_the_attic_holds_what_is_gone_and_lets_go_of_what_came_back(world: World) -> None:
    first = b"".join(talk(session_id=Path(ONE).stem).user("keep me").reply("yes").lines())
    world.write(ONE, first)
    world.write(TWO, b"".join(talk(session_id=Path(TWO).stem).user("stay").lines()))
    world.poll()
    assert sync_deleted_tree(world.archive, str(world.root)) == 0
    assert open_deleted_tree(world.root) is None
    (world.root / ONE).unlink()
    world.poll()
    assert sync_deleted_tree(world.archive, str(world.root)) == 1
    assert sync_deleted_tree(world.archive, str(world.root)) == 0
    attic = open_deleted_tree(world.root)
    assert attic and attic.archived == {Path(ONE).stem}
    assert [s.turns[0].text for s in sessions(claude=attic.folder)] == ["keep me"]
    assert (attic.folder / ONE).read_bytes() == first
    assert (attic.folder / ONE).stat().st_mode & 0o777 == 0o600
    shutil.rmtree(attic.folder)
    assert sync_deleted_tree(world.archive, str(world.root)) == 1, "it is a cache"
    world.write(ONE, first + first)
    world.poll()
    sync_deleted_tree(world.archive, str(world.root))
    assert list(attic.folder.rglob("*.jsonl")) == []


def test_a_session_that_was_rewritten_before_it_went_is_there_as_it_was_last(world: World) -> None:
    for text in ("before", "after it"):
        world.write(ONE, b"".join(talk().user(text).lines()))
        world.poll()
    (world.root / ONE).unlink()
    world.poll()
    sync_deleted_tree(world.archive, str(world.root))
    assert [s.turns[0].text for s in sessions(claude=deleted_tree_path(world.root))] == ["after it"]
