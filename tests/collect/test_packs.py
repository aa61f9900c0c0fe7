"""Contents that share a pack: what is stored, what an erasure leaves, and a Python without zstd."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from clew.collect.archive.erase import drop_deleted_files, erase
from clew.collect.archive.packed_contents import PACK_BYTES
from clew.collect.archive.packing import DEFLATED, SHARED, ZSTD, Packer, load_zstd, unpack
from clew.collect.archive.verify_contents import verify_archive
from clew.errors import StoreError
from tests.collect.collect_fixture import World, flip_bit, line, session

ONE, TWO = session(1), session(2)
NO_ZSTD = {"compression.zstd": None, "backports.zstd": None}


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    made.write(ONE, b"".join(line(n, f"private {n} " * 5 if n % 4 == 0 else f"text {n}") for n in range(1, 40)))
    made.write(TWO, b"".join(line(n, f"text {n}") for n in range(1, 60)))
    made.poll()
    yield made
    made.close()


def packs(world: World) -> list[bytes]:
    """Every pack, unpacked."""
    rows: list[Any] = world.connection.execute("SELECT packing, data, size FROM pack").fetchall()
    found = [unpack(*row) for row in rows]
    assert None not in found
    return [whole for whole in found if whole is not None]


def test_lines_that_are_read_together_share_packs_of_a_limited_size(world: World) -> None:
    world.write(session(3), b"".join(line(n, f"{n} " * 3000) for n in range(1, 200)))
    world.poll()
    assert world.kept() == world.there() and verify_archive(world.connection).is_sound
    sizes = [len(whole) for whole in packs(world)]
    assert max(sizes) <= PACK_BYTES and len(sizes) > 10
    alone = world.connection.execute(f"SELECT count(*) FROM content WHERE packing <> {SHARED} AND size < 1000").get
    assert alone == 0, "short lines were read together with others"


def test_a_line_that_is_appended_alone_has_no_pack(world: World) -> None:
    before = len(packs(world))
    world.append(ONE, line(90, "alone " * 100))
    world.poll()
    assert len(packs(world)) == before and world.kept() == world.there()


@pytest.mark.parametrize("what", ["session", "text", "deleted"])
def test_nothing_of_what_was_erased_is_left_in_a_pack(world: World, what: str) -> None:
    assert any(b"private" in whole for whole in packs(world))
    kept = world.kept()[TWO]
    if what == "session":
        erase(world.connection, sessions=[ONE.rsplit("/", 1)[1].removesuffix(".jsonl")], dry_run=False)
    elif what == "text":
        erase(world.connection, text="private", dry_run=False)
    else:
        (world.root / ONE).unlink()
        world.poll()
        drop_deleted_files(world.connection, 1 << 62, dry_run=False)
    assert not any(b"private" in whole for whole in packs(world))
    assert world.kept()[TWO] == kept and verify_archive(world.connection).is_sound


def test_nothing_is_left_of_a_line_that_was_repaired_before_it_was_erased(world: World) -> None:
    world.connection.execute("UPDATE content SET start = start + 1 WHERE id = 4")
    assert world.poll(scrub=True).repaired == [ONE]
    erase(world.connection, text="private", dry_run=False)
    assert not any(b"private" in whole for whole in packs(world))
    assert verify_archive(world.connection).is_sound


def test_a_damaged_pack_does_not_stop_an_erasure(world: World) -> None:
    world.connection.execute("UPDATE pack SET packing = 2")  # of no pack more than the hashes of its lines
    erase(world.connection, sessions=[ONE.rsplit("/", 1)[1].removesuffix(".jsonl")], dry_run=False)
    (world.root / ONE).unlink()
    world.poll(scrub=True)
    assert world.kept()[TWO] == world.there()[TWO] and verify_archive(world.connection).is_sound


def test_an_archive_is_written_without_zstd_and_read_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for name, module in NO_ZSTD.items():
            patch.setitem(sys.modules, name, module)
        world = World()
        world.write(ONE, b"".join(line(n, "text") for n in range(1, 40)))
        world.poll()
    assert world.connection.execute("SELECT max(packing) FROM pack").get == DEFLATED
    world.append(ONE, b"".join(line(n, "more") for n in range(40, 80)))
    world.poll()
    assert world.kept() == world.there() and verify_archive(world.connection).is_sound
    world.close()


@pytest.mark.skipif(load_zstd() is None, reason="this Python has no zstd")
def test_a_python_without_zstd_names_the_package(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert world.connection.execute("SELECT max(packing) FROM pack").get == ZSTD
    for name, module in NO_ZSTD.items():
        monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(StoreError, match="packed with zstd") as caught:
        world.kept()
    assert "backports.zstd" in caught.value.hint


@pytest.mark.parametrize("data", [b"", b"short", b"x" * 5000, bytes(range(256)) * 2])
def test_bytes_come_back(data: bytes) -> None:
    packing, packed = Packer().pack(data)
    assert unpack(packing, packed, len(data)) == data and len(packed) <= len(data)


def test_bytes_that_are_cut_or_changed_are_not_unpacked() -> None:
    data = b"".join(b"%d," % n for n in range(2000))
    packing, packed = Packer().pack(data)
    assert unpack(packing, packed[:20], len(data)) != data
    assert unpack(packing, b"\0" + packed[1:], len(data)) is None


def test_a_flipped_bit_in_a_pack_is_repaired_when_its_lines_are_read_again(world: World) -> None:
    flip_bit(world.connection, "pack", 1)
    assert not verify_archive(world.connection).is_sound
    world.write(session(4), (world.root / ONE).read_bytes())
    world.poll()
    assert verify_archive(world.connection).is_sound and world.kept() == world.there()
