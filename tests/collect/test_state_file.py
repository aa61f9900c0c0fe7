"""The state file that other collectors keep, read and written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.collect.masking import Policy
from clew.collect.sinks.outbox import Delivery
from clew.collect.sinks.state_file import (
    DeliveredUpTo,
    StateCursor,
    read_state,
    save_archived_positions,
    state_name,
    write_state,
)
from clew.errors import StoreError
from tests.collect.cases import Shelf
from tests.collect.collect_fixture import KEY, World, line, session

ONE, TWO = session(1), session(2)


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "local-scan-state.json"


def run(world: World, state: Path, shelf: Shelf) -> Any:
    world.poll()
    cursor = StateCursor(world.connection, str(world.root), str(state))
    return Delivery(shelf, cursor, world.connection, Policy(KEY)).run(0.0)


def offsets(state: Path) -> dict[str, int]:
    return {Path(name).name: point.offset for name, point in read_state(state).items()}


@pytest.mark.req("R316", "R317", "R312")
def test_the_state_has_the_form_that_others_read(world: World, state: Path) -> None:
    world.write(ONE, line(1) + line(2)[:9])
    shelf = Shelf({})
    run(world, state, shelf)
    mtime = (world.root / ONE).stat().st_mtime_ns // 1_000_000
    row = {"offset": len(line(1)), "mtime": mtime}
    assert json.loads(state.read_bytes()) == {"claude_code": {"files": {str(world.root / ONE): row}}}
    assert shelf.taken == [line(1)[:-1]]


def test_files_below_the_home_folder_are_named_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert state_name("/home/ada/.claude", "projects/-x/a.jsonl") == "~/.claude/projects/-x/a.jsonl"
    assert state_name("/srv/claude", "history.jsonl") == "/srv/claude/history.jsonl"


@pytest.mark.req("R316", "R312")
def test_what_the_state_says_was_delivered_is_not_delivered_again(world: World, state: Path) -> None:
    world.write(ONE, line(1) + line(2) + line(3))
    write_state(state, {str(world.root / ONE): DeliveredUpTo(len(line(1) + line(2)), 1)})
    shelf = Shelf({})
    run(world, state, shelf)
    assert shelf.taken == [line(3)[:-1]]
    assert world.kept()[ONE] == line(1) + line(2) + line(3), "the archive has all of it in any case"


@pytest.mark.req("R315")
def test_the_state_moves_only_behind_what_was_accepted(world: World, state: Path) -> None:
    world.write(ONE, line(1))
    world.write(TWO, line(2))
    shelf = Shelf({line(2)[:-1]: StoreError("down", "unavailable", True)})
    assert run(world, state, shelf).error
    assert offsets(state) == {}
    shelf.refused.clear()
    run(world, state, shelf)
    assert shelf.taken == [line(1)[:-1], line(2)[:-1]]
    assert run(world, state, shelf).sent == 0


@pytest.mark.req("R318")
@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"claude_code": 1}', b'{"claude_code":{"files":{"x":{}}}}'])
def test_a_broken_state_is_a_clean_start(world: World, state: Path, broken: bytes) -> None:
    state.parent.mkdir()
    state.write_bytes(broken)
    world.write(ONE, line(1))
    shelf = Shelf({})
    run(world, state, shelf)
    assert shelf.taken == [line(1)[:-1]]
    assert list(offsets(state).values()) == [len(line(1))]


@pytest.mark.req("R318")
def test_the_state_is_replaced_as_a_whole_and_what_is_not_ours_stays(state: Path) -> None:
    write_state(state, {"a": DeliveredUpTo(1, 2)})
    held = state.open("rb")
    state.write_bytes(state.read_bytes().replace(b"{", b'{"cursor":{"files":{}},', 1))
    write_state(state, {"b": DeliveredUpTo(3, 4)})
    with held:
        assert b'"b"' not in held.read(), "a reader that has it open sees the old one whole"
    value = json.loads(state.read_bytes())
    assert value["cursor"] == {"files": {}}
    assert read_state(state) == {"b": DeliveredUpTo(3, 4)}
    assert [path.name for path in state.parent.iterdir()] == [state.name]


@pytest.mark.req("R320")
@pytest.mark.parametrize("new", [line(9), line(7) + line(8), line(7) + line(8) + line(9)], ids=len)
def test_a_file_that_began_anew_is_delivered_from_its_beginning(world: World, state: Path, new: bytes) -> None:
    world.write(ONE, line(1) + line(2))
    run(world, state, Shelf({}))
    world.write(ONE, new)
    shelf = Shelf({})
    run(world, state, shelf)
    assert shelf.taken == new.splitlines()


@pytest.mark.req("R323")
def test_new_files_come_and_deleted_ones_go(world: World, state: Path) -> None:
    world.write(ONE, line(1))
    run(world, state, Shelf({}))
    (world.root / ONE).unlink()
    world.write(TWO, line(2))
    run(world, state, Shelf({}))
    assert list(offsets(state)) == [Path(TWO).name]


@pytest.mark.req("R311")
def test_an_index_is_delivered_whole_and_only_when_it_changed(world: World, state: Path) -> None:
    index = "projects/-home-ada-shop/sessions-index.json"
    shelf = Shelf({})
    for data in (b'{"version":1}', b'{"version":1}', b'{"version":2}'):
        world.write(index, data)
        run(world, state, shelf)
        run(world, state, shelf)
    assert [raw for raw in shelf.taken if raw.endswith(b"2}")] == [b'{"version":2}']
    assert len(shelf.taken) <= 3


@pytest.mark.req("R325")
def test_offsets_are_bytes(world: World, state: Path) -> None:
    world.write(ONE, line(1, "čau 你好 🙂"))
    run(world, state, Shelf({}))
    assert list(offsets(state).values()) == [len(line(1, "čau 你好 🙂"))]
    world.append(ONE, line(2))
    shelf = Shelf({})
    run(world, state, shelf)
    assert shelf.taken == [line(2)[:-1]]


def test_without_a_sink_the_state_says_how_far_the_archive_has_read(world: World, state: Path) -> None:
    world.write(ONE, line(1) + line(2)[:5])
    world.poll()
    save_archived_positions(world.connection, str(world.root), str(state))
    assert list(offsets(state).values()) == [len(line(1))]
