"""The sessions that are open: found by id alone, grown by what is new, and let go when there are many."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, talk, task
from clew.errors import NotFound
from clew.web import session_cache as module
from clew.web.loading import INTERVAL, progress_lines
from clew.web.paging import PAGE_ENTRIES, page_of_turn, split_pages
from clew.web.session_cache import SessionCache, SessionSnapshot


def opened(shelf: SessionCache, session: str) -> SessionSnapshot:
    return asyncio.run(shelf.open(session))


def long_talk(turns: int, calls: int = 0) -> Talk:
    told = talk(seed="long")
    for number in range(turns):
        told = told.user(f"prompt {number + 1}")
        for step in range(calls):
            told = told.reply(call=bash(f"echo {step}")).result(str(step))
        told = told.reply(f"answer {number + 1}")
    return told


@pytest.mark.parametrize(
    "asked", ["..", "../../etc/passwd", "/etc/passwd", "projects", "", "%2e%2e", "a9", "*", "agent-x", "\x00"]
)
def test_only_whole_ids_of_sessions_are_found(tmp_path: Path, asked: str) -> None:
    long_talk(1).write(tmp_path)
    with pytest.raises(NotFound):
        opened(SessionCache(str(tmp_path)), asked)


def test_links_out_of_the_tree_are_no_sessions(tmp_path: Path) -> None:
    path = long_talk(1).write(tmp_path / "elsewhere")
    inside = tmp_path / "claude" / "projects" / "-x"
    inside.mkdir(parents=True)
    (inside / path.name).symlink_to(path)
    (tmp_path / "claude" / "projects" / "-linked").symlink_to(path.parent, target_is_directory=True)
    with pytest.raises(NotFound):
        opened(SessionCache(str(tmp_path / "claude")), path.stem)


def test_a_link_to_the_tree_itself_is_followed(tmp_path: Path) -> None:
    path = long_talk(1).write(tmp_path / "real")
    (tmp_path / "claude").symlink_to(tmp_path / "real", target_is_directory=True)
    assert opened(SessionCache(str(tmp_path / "claude")), path.stem).session.turns


def test_agents_behind_a_link_out_of_the_tree_are_not_there(tmp_path: Path) -> None:
    child = talk(seed=2).user("count").reply("inner")
    path = (
        talk().user("go").reply(call=task("Count", "count")).agent(0, child).reply("after").write(tmp_path / "claude")
    )
    shelf = SessionCache(str(tmp_path / "claude"))
    (agent,) = opened(shelf, path.stem).session.agents
    assert agent.file is not None
    moved = tmp_path / "outside.jsonl"
    agent.file.path.rename(moved)
    agent.file.path.symlink_to(moved)
    assert opened(SessionCache(str(tmp_path / "claude")), path.stem).session.agents == ()


def test_what_grows_is_the_same_as_read_anew(tmp_path: Path) -> None:
    path = long_talk(30, 2).write(tmp_path)
    whole = path.read_bytes()
    cuts = [len(whole) // 3, len(whole) // 2 + 7, len(whole) - 5, len(whole)]
    path.write_bytes(whole[: cuts[0]])
    shelf = SessionCache(str(tmp_path))
    states = set()
    for cut in cuts:
        path.write_bytes(whole[:cut])
        found = opened(shelf, path.stem)
        states.add(found.state)
        lines = whole[:cut][: whole[:cut].rfind(b"\n") + 1]
        told = [turn.text for turn in Session(lines).turns]
        assert [turn.text for turn in found.session.turns][: len(told)] == told
    assert len(states) == len(cuts)
    assert len(opened(shelf, path.stem).session.turns) == 30


def test_a_last_line_without_its_newline_is_shown(tmp_path: Path) -> None:
    path = long_talk(2).write(tmp_path)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert opened(SessionCache(str(tmp_path)), path.stem).session.turns[-1].answer == "answer 2"


def test_a_file_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    path = long_talk(3).write(tmp_path)
    shelf = SessionCache(str(tmp_path))
    assert len(opened(shelf, path.stem).session.turns) == 3
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    assert len(opened(shelf, path.stem).session.turns) == 2
    path.write_bytes(talk(seed="other").user("another").reply("one").bytes() + long_talk(5).bytes())
    assert opened(shelf, path.stem).session.prompts[0].text == "another"


def test_a_file_that_was_replaced_by_a_longer_one_is_read_anew(tmp_path: Path) -> None:
    path = long_talk(3).write(tmp_path)
    shelf = SessionCache(str(tmp_path))
    opened(shelf, path.stem)
    path.write_bytes(talk(seed="other").user("another").reply("one").bytes() + long_talk(5).bytes())
    assert opened(shelf, path.stem).session.prompts[0].text == "another"


def test_a_session_that_is_gone_is_not_found_and_not_kept(tmp_path: Path) -> None:
    path = long_talk(1).write(tmp_path)
    shelf = SessionCache(str(tmp_path))
    opened(shelf, path.stem)
    path.unlink()
    with pytest.raises(NotFound):
        opened(shelf, path.stem)


def test_an_open_session_that_moves_to_another_project_is_found_there(tmp_path: Path) -> None:
    path = long_talk(2).write(tmp_path)
    shelf = SessionCache(str(tmp_path))
    opened(shelf, path.stem)
    moved = path.parent.parent / "-home-ada-elsewhere" / path.name
    moved.parent.mkdir()
    path.rename(moved)
    assert opened(shelf, path.stem).session.path == moved


def test_no_more_sessions_are_kept_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [talk(seed=number).user("hi").reply("ho").write(tmp_path) for number in range(7)]
    shelf = SessionCache(str(tmp_path))
    for path in paths:
        opened(shelf, path.stem)
    assert list(shelf._open_sessions) == [path.stem for path in paths[-module.MAX_OPEN :]]
    monkeypatch.setattr(module, "MAX_BYTES", 1)
    opened(shelf, paths[0].stem)
    assert list(shelf._open_sessions) == [paths[0].stem]


def test_asking_for_one_session_many_times_reads_it_once(tmp_path: Path) -> None:
    path = long_talk(3).write(tmp_path)
    shelf = SessionCache(str(tmp_path))

    async def ask() -> list[SessionSnapshot]:
        return await asyncio.gather(*(shelf.open(path.stem) for _ in range(20)))

    assert len({id(found) for found in asyncio.run(ask())}) == 1


# -- pages


@pytest.mark.parametrize(("turns", "calls"), [(1, 0), (400, 0), (1, 500), (7, 90), (60, 3)])
def test_pages_hold_every_entry_once_and_are_bounded(turns: int, calls: int) -> None:
    session = Session(long_talk(turns, calls).bytes())
    pages = split_pages(session.turns)
    found = [entry.offset for page in pages for turn, start, stop in page for entry in turn.entries[start:stop]]
    assert found == [entry.offset for turn in session.turns for entry in turn.entries]
    sizes = [sum(stop - start for _, start, stop in page) for page in pages]
    assert max(sizes) < 2 * PAGE_ENTRIES
    assert len(pages) == 1 or min(sizes[:-1]) >= PAGE_ENTRIES


def test_pages_do_not_change_when_more_is_said() -> None:
    data = long_talk(80, 6).bytes()
    lines = data.splitlines(keepends=True)
    before: list[list[int]] = []
    for count in range(100, len(lines), 41):
        pages = split_pages(Session(b"".join(lines[:count])).turns)
        firsts = [[page[0].turn.number, page[0].start] for page in pages]
        assert firsts[: len(before)] == before
        before = firsts


def test_a_page_that_begins_in_a_turn_begins_with_a_reply() -> None:
    pages = split_pages(Session(long_talk(1, 500).bytes()).turns)
    assert len(pages) > 3
    assert all(page[0].turn.entries[page[0].start].type == "assistant" for page in pages[1:])


def test_every_turn_has_its_page() -> None:
    turns = Session(long_talk(90, 2).bytes()).turns
    pages = split_pages(turns)
    for turn in turns:
        page = pages[page_of_turn(pages, turn.number) - 1]
        assert any(piece.turn is turn and piece.start == 0 for piece in page)
    assert page_of_turn(pages, 5000) == len(pages)
    assert split_pages([]) == ((),)


def test_a_page_is_settled_when_nothing_on_it_can_change(tmp_path: Path) -> None:
    told = talk(seed="settling").user("begin").reply(call=bash("wait"))
    for number in range(200):
        told = told.user(f"prompt {number}").reply(f"answer {number}")
    child = talk(seed="inner").user("go").reply("gone")
    told = told.user("now an agent").reply(call=task("Go", "go")).agent(0, child)
    for number in range(200):
        told = told.user(f"more {number}").reply(f"answer {number}")
    reading = opened(SessionCache(str(tmp_path)), told.write(tmp_path).stem).reading()
    settled = [reading.is_settled(page) for page in reading.pages]
    has_agent = [any(piece.turn.text == "now an agent" for piece in page) for page in reading.pages]
    assert has_agent.index(True) not in (0, len(settled) - 1)
    assert settled == [at not in (0, has_agent.index(True), len(settled) - 1) for at in range(len(settled))]


def test_the_pages_of_a_turn_that_goes_on_are_settled_but_for_its_first_and_last() -> None:
    session = Session(long_talk(1, 500).bytes())
    reading = SessionSnapshot(session, "", 0).reading()
    settled = [reading.is_settled(page) for page in reading.pages]
    assert settled == [False, *([True] * (len(settled) - 2)), False]


def test_a_session_that_takes_long_to_read_says_how_far_it_is(tmp_path: Path) -> None:
    path = long_talk(60, calls=3).write(tmp_path)
    shelf = SessionCache(str(tmp_path))
    assert shelf.progress(path.stem) == (0, 0)

    async def lines() -> list[str]:
        opening: asyncio.Future[object] = asyncio.ensure_future(shelf.open(path.stem))
        soon = [line async for line in progress_lines(opening, lambda: (1, 2))]
        assert soon == [], "what is read at once has no progress"
        reading = asyncio.ensure_future(asyncio.sleep(2.5 * INTERVAL))
        counts = iter([(0, 60_000_000), (24_000_000, 60_000_000), (60_000_000, 60_000_000)])
        return [line async for line in progress_lines(reading, lambda: next(counts))]

    first, second = asyncio.run(lines())
    assert "Reading 60 MB … 0 %" in first and "Reading 60 MB … 40 %" in second
    assert shelf.progress(path.stem) == (path.stat().st_size,) * 2
