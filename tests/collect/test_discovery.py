"""Which files are found, as what, and in which order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.collect.discovery import in_reading_order, scan
from clew.demo.talk import talk
from clew.wire.arrival_time import cleanup_days
from tests.collect.collect_fixture import PROJECT, World, line, session

ONE = session(1)
ID = Path(ONE).stem


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.mark.req("R310")
def test_every_source_has_its_kind_its_owner_and_its_priority(world: World) -> None:
    project = "projects/-home-ada-shop"
    wanted = {
        f"{project}/sessions-index.json": ("index", "", "", 0),
        ONE: ("session", ID, "", 0),
        f"{project}/notes.jsonl": ("journal", "", "", 4),
        f"{project}/{ID}/subagents/agent-a1.jsonl": ("agent", ID, "a1", 1),
        f"{project}/{ID}/subagents/workflows/run/agent-a2.jsonl": ("agent", ID, "a2", 1),
        f"{project}/agent-flat.jsonl": ("agent", "", "flat", 1),
        f"{project}/subagents/agent-b1.jsonl": ("agent", "", "b1", 1),
        "history.jsonl": ("history", "", "", 2),
        "stats-cache.json": ("stats", "", "", 3),
        f"{project}/{ID}/subagents/agent-a1.meta.json": ("meta", ID, "a1", 4),
        f"{project}/{ID}/subagents/workflows/run/journal.jsonl": ("journal", ID, "", 4),
        f"{project}/{ID}/tool-results/toolu_1.txt": ("side", ID, "", 4),
        f"{project}/memory/MEMORY.md": ("side", "", "", 4),
        f"todos/{ID}-agent-{ID}.json": ("todo", ID, "", 4),
        f"tasks/{ID}/1.json": ("task", ID, "", 4),
        f"file-history/{ID}/0a1b@v2": ("backup", ID, "", 4),
        "plans/a-plan.md": ("plan", "", "", 4),
        "paste-cache/0a1b.txt": ("pasted", "", "", 4),
    }
    ignored = ("settings.json", ".credentials.json", "shell-snapshots/s.sh", "debug/x.txt", "ide/1.lock", "todos.json")
    for path in (*wanted, *ignored):
        world.write(path, b"{}\n")
    found = scan(str(world.root)).sources
    assert {f.path: (f.kind, f.session, f.agent, f.priority) for f in found} == wanted
    lean = {f.path for f in scan(str(world.root), extras=False).sources}
    assert lean == {path for path, row in wanted.items() if row[3] < 4}


@pytest.mark.req("R310")
def test_what_is_deleted_next_is_read_first(world: World) -> None:
    for number, path in enumerate((session(1), session(2), "history.jsonl", "stats-cache.json")):
        world.write(path, b"{}\n")
        os.utime(world.root / path, ns=(1000 - number,) * 2)
    found = scan(str(world.root)).sources
    assert [f.path for f in in_reading_order(found, 0)] == [session(2), session(1), "history.jsonl", "stats-cache.json"]
    assert next(f.path for f in in_reading_order(found, 998)) == "stats-cache.json"


@pytest.mark.req("R313", "R322")
def test_a_poll_opens_only_what_changed(world: World) -> None:
    for number in range(1, 5):
        world.write(session(number), line(number))
        os.utime(world.root / session(number), ns=(10**18, 10**18))
    world.write(session(5), b"")
    later = max((world.root / session(n)).stat().st_ctime_ns for n in range(1, 6)) + 10**11
    world.now = lambda: later
    first = world.poll()
    assert (first.files, first.opened, first.lines) == (5, 4, 4)
    assert world.poll().opened == 0
    world.append(session(2), line(9))
    assert world.poll().opened == 1


@pytest.mark.req("R324")
def test_an_agent_beside_the_sessions_belongs_to_the_one_that_it_names(world: World) -> None:
    path = "projects/-home-ada-shop/agent-abc1234.jsonl"
    world.write(path, b"".join(talk(session_id=ID).user("look").reply("done").lines()))
    world.poll()
    [file] = world.archive.files()
    assert (file.kind, file.session, file.agent) == ("agent", ID, "abc1234")


def test_names_that_are_no_text_are_left_out_and_told(world: World) -> None:
    odd = os.fsencode(world.root / "projects/-home-ada-shop") + b"/\xff.jsonl"
    with open(odd, "wb") as file:
        file.write(line(1))
    world.write(ONE, line(2))
    report = world.poll()
    assert len(report.misnamed) == 1 and not report.skipped
    assert list(world.kept()) == [ONE]


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        (None, 30),
        (b"{", 30),
        (b"[]", 30),
        (b'{"cleanupPeriodDays": 99}', 99),
        (b'{"cleanupPeriodDays": 0}', 0),
        (b'{"cleanupPeriodDays": "x"}', 30),
    ],
)
def test_retention_is_what_the_settings_say(world: World, settings: bytes | None, days: int) -> None:
    if settings is not None:
        world.write("settings.json", settings)
    assert cleanup_days(str(world.root)) == days


def test_progress_tells_how_far_a_poll_is(world: World) -> None:
    told: list[tuple[int, int]] = []
    for number in (1, 2, 3):
        world.write(session(number), line(number) * 10)
    world.collector().poll(progress=lambda done, total: told.append((done, total)))
    whole = 30 * len(line(1))
    assert told == [(whole // 3, whole), (2 * whole // 3, whole), (whole, whole)]


@pytest.mark.shared
def test_real_sessions_come_back_to_the_byte(world: World, shared: Path) -> None:
    """The real samples, laid out as Claude Code would have them, are collected and given back."""
    files = sorted((shared / "corpus").rglob("*.jsonl"))
    for number, path in enumerate(files):
        world.write(f"projects/-real/{number:08}-0000-4000-8000-000000000000.jsonl", path.read_bytes())
    report = world.poll()
    assert report.lines > 1000
    assert not report.failures
    assert world.kept() == world.there()
    assert world.poll(scrub=True).resets == []


def test_what_cannot_be_archived_is_named_with_the_reason() -> None:
    """A name that is not UTF-8, and a line that is too long: neither is told as a link, or not at all."""
    world = World(block=64, stream_above=200, max_stored=300)
    try:
        folder = os.fsencode(world.root / PROJECT)
        with open(folder + b"/3f2a0c5e-0000-4000-8000-0000000000\xff1.jsonl", "wb") as file:
            file.write(line(1))
        world.write(session(1), line(1) + line(2, "x" * 400) + line(3))
        report = world.poll()
        assert [os.fsencode(path)[-8:] for path in report.misnamed] == [b"\xff1.jsonl"] and not report.skipped
        assert report.too_long == [f"{session(1)}:2"]
    finally:
        world.close()
