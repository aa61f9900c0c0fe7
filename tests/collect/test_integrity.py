"""Damage in the archive: it is named, it is repaired from the file, and no wrong byte is ever given back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.collect.archive.archive_schema import open_read_only
from clew.collect.archive.erase import erase
from clew.collect.archive.reader import Archive
from clew.collect.archive.sqlite_errors import translate_errors
from clew.collect.archive.verify_contents import VerifyReport, verify_archive
from clew.collect.masking import Policy
from clew.collect.sinks.jsonl import JsonLines
from clew.collect.sinks.outbox import Delivery, SequenceCursor
from clew.errors import ClewError
from tests.collect.collect_fixture import KEY, World, flip_bit, line, session

ONE, TWO = session(1), session(2)
NOTE = "projects/-home-ada-shop/3f2a0c5e-0000-4000-8000-000000000001/tool-results/out.txt"
LONG = "".join(Random(1).choices("abcdefgh ", k=3000))  # packed


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    made.write(ONE, b"".join(line(n, LONG if n % 2 else "x") for n in range(1, 9)))
    made.write(TWO, b"".join(line(n, f"other {n}") for n in range(1, 40)) + b'{"unfinished')
    made.write(NOTE, b"plain text " * 50)
    made.poll()
    yield made
    made.close()


def change_content(world: World, number: int = 3, path: str = ONE) -> None:
    """Flip a bit in the stored bytes of one line; of a line in a pack, in its position there."""
    query = """SELECT c.id, c.pack FROM content c JOIN occurrence o ON o.content = c.id JOIN generation g ON
      g.id = o.generation JOIN file f ON f.id = g.file WHERE f.path = ? AND o.number = ?"""
    rows: list[Any] = world.connection.execute(query, (path, number)).fetchall()
    [(id, pack)] = rows
    if pack is None:
        flip_bit(world.connection, "content", id)
    else:
        world.connection.execute("UPDATE content SET start = start | 1 << 40 WHERE id = ?", (id,))


def verified(world: World) -> VerifyReport:
    return verify_archive(world.connection)


def test_a_sound_archive_is_sound(world: World) -> None:
    report = verified(world)
    assert report.is_sound and report.contents > 40 and report.bytes > 5000


@pytest.mark.parametrize("number", [2, 3], ids=["short", "packed"])
def test_a_damaged_line_is_named_and_never_given_back(world: World, number: int) -> None:
    change_content(world, number)
    assert [(bad.path, bad.line) for bad in verified(world).damaged] == [(ONE, number)]
    [one] = [file for file in world.archive.files() if file.path == ONE]
    with pytest.raises(ClewError, match=rf"Line {number} of .* is damaged in the archive"):
        world.archive.read(one)
    damage: list[int] = []
    rest = world.archive.read(one, damage)
    whole = (world.root / ONE).read_bytes().splitlines(keepends=True)
    assert (damage, rest) == ([number], b"".join(whole[: number - 1] + whole[number:]))


def test_a_damaged_pack_damages_the_lines_in_it_and_no_other(world: World) -> None:
    before = world.kept()
    query = """SELECT f.path, c.pack, o.number FROM content c JOIN occurrence o ON o.content = c.id
      JOIN file f USING(generation)"""
    rows: list[Any] = world.connection.execute(query).fetchall()
    packs = {pack for path, pack, _ in rows if path == ONE and pack is not None}
    assert packs and len({pack for _, pack, _ in rows}) > len(packs)
    for pack in packs:
        flip_bit(world.connection, "pack", pack)
    damaged = {(bad.path, bad.line) for bad in verified(world).damaged}
    assert damaged and damaged <= {(path, number) for path, pack, number in rows if pack in packs}
    world.poll(scrub=True)
    assert verified(world).is_sound and world.kept() == before


@pytest.mark.parametrize("statement", [
    "UPDATE occurrence SET content = content + 1 WHERE seq = 2",
    "UPDATE occurrence SET length = length + 1 WHERE seq = 2",
    "UPDATE occurrence SET offset = offset + 1 WHERE seq = 2",
    "DELETE FROM occurrence WHERE seq = 2",
    "DELETE FROM occurrence WHERE seq = (SELECT max(seq) FROM occurrence WHERE generation = 1)",
    "UPDATE generation SET rest = x'00' WHERE rest <> x''",
    "UPDATE generation SET offset = offset - 1 WHERE id = 1",
    "UPDATE content SET packing = 2 WHERE id = 1",
    "UPDATE content SET size = size + 1 WHERE id = 1",
    "UPDATE content SET start = start + 1 WHERE id = 1",
    "UPDATE content SET pack = 99 WHERE id = 1",
    "UPDATE content SET pack = NULL WHERE id = 1",
    "DELETE FROM content WHERE id = 1",
    "DELETE FROM pack WHERE id = 1",
    "UPDATE pack SET size = size - 1 WHERE id = 1",
    "UPDATE pack SET packing = 2 WHERE id = 1",
])  # fmt: skip
def test_rows_that_changed_are_noticed_and_repaired(world: World, statement: str) -> None:
    before = world.kept()
    world.connection.execute("PRAGMA foreign_keys = 0")
    world.connection.execute(statement)
    assert not verified(world).is_sound
    right = 0
    for file in world.archive.files():
        try:
            assert world.archive.read(file) == before[file.path]
            right += 1
        except ClewError as error:
            assert "damaged" in str(error)
    assert right == len(before) - 1
    world.poll(scrub=True)
    assert world.kept() == before
    assert verified(world).is_sound or "SET offset = offset - 1" in statement, "its lines are in a new generation"


@pytest.mark.parametrize("redact", [False, True])
def test_a_scrub_repairs_lines_whose_file_still_exists(redact: bool) -> None:
    world = World()
    try:
        policy: dict[str, Any] = {"policy": Policy(KEY)} if redact else {}
        text = "password=hunter2secret"
        world.write(ONE, b"".join(line(n, LONG if n % 2 else text) for n in range(1, 9)))
        world.write(NOTE, b"plain text " * 50)
        world.poll(**policy)
        before = world.kept()
        for number in (2, 3):
            change_content(world, number)
        change_content(world, 1, NOTE)
        assert {bad.path for bad in verified(world).damaged} == {ONE, NOTE}
        report = world.poll(scrub=True, **policy)
        assert sorted(report.repaired) == sorted([ONE, NOTE])
        assert verified(world).is_sound and world.kept() == before
        assert world.poll(scrub=True, **policy).repaired == [] and len(world.generations(ONE)) == 1
    finally:
        world.close()


def test_a_line_that_is_read_again_repairs_its_content(world: World) -> None:
    change_content(world, 3)
    (world.root / ONE).unlink()
    world.write(session(3), line(3, LONG))
    world.poll()
    assert verified(world).is_sound


def test_a_damaged_line_is_not_sent_and_the_others_are(world: World) -> None:
    change_content(world, 3)
    target = world.folder / "out.jsonl"
    sink = JsonLines(str(target))
    outcome = Delivery(sink, SequenceCursor(world.connection, sink.name), world.connection, Policy()).run(0.0)
    assert outcome and outcome.error is None and outcome.sent == 46
    assert LONG.encode() in target.read_bytes() and target.read_bytes().count(b"\n") == 46
    [(seq, reason)] = world.connection.execute("SELECT seq, reason FROM rejected").fetchall()
    assert reason == "it is damaged in the archive" and seq


def _read_all(path: str) -> Iterator[tuple[int, bytes]]:
    with Archive.open(path) as archive:
        for file in archive.files():
            try:
                yield file.generation, archive.read(file)
            except ClewError:
                continue


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[int, bytes]]]:
    made = World()
    made.write(ONE, b"".join(line(n, LONG if n % 2 else "x") for n in range(1, 9)))
    made.write(TWO, b"".join(line(n, f"other {n}") for n in range(1, 40)) + b'{"unfinished')
    made.poll()
    made.connection.close()
    yield Path(made.path), dict(_read_all(made.path))
    made.connection = apsw.Connection(":memory:")
    made.close()


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), more=st.integers(0, 3))
def test_no_flipped_bit_gives_back_a_wrong_byte(
    sound: tuple[Path, dict[int, bytes]], at: float, bit: int, more: int
) -> None:
    source, right = sound
    path = str(source.with_name("flipped.db"))
    shutil.copy(source, path)
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        for step in range(more + 1):
            position = int(at * size + step * 4099) % size
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ 1 << bit]))
    try:
        with translate_errors(path):
            for generation, data in _read_all(path):
                assert data == right[generation]
            connection = open_read_only(path)
            try:
                verify_archive(connection)
            finally:
                connection.close()
    except ClewError:
        pass  # one sentence
    finally:
        for name in (path, f"{path}-wal", f"{path}-shm"):
            Path(name).unlink(missing_ok=True)


@pytest.mark.parametrize("change", ["append", "erase"])
def test_a_writer_does_not_make_a_reader_see_damage(world: World, change: str) -> None:
    """A generation that grew, or was erased, between its lines and its row was called damaged."""
    before = world.there()[ONE]
    with Archive.open(world.path) as archive:
        file = next(file for file in archive.files() if file.path == ONE)
        parts = archive.parts(file)
        read = next(parts)
        if change == "append":
            world.append(ONE, line(1000) + line(1001)[:-5])
            world.poll()
        else:
            erase(world.connection, sessions=[file.session], dry_run=False)
        assert read + b"".join(parts) == before
