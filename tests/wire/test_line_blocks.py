"""Reading a file once: its complete lines, and the checksum of what was read."""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path

import pytest

from clew.wire import line_blocks
from clew.wire.growth import BLOCK, ReadState, fingerprint
from clew.wire.line_blocks import LineBlocks, new_buffer

SIZES = (1, 2, 17, 4000, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5)


def read(blocks: LineBlocks) -> bytes:
    return b"".join(bytes(buffer[start:stop]) for buffer, start, stop in blocks)


def content(seed: int) -> bytes:
    pick = random.Random(seed)
    return b"".join(b"x" * (pick.choice(SIZES) - 1) + b"\n" for _ in range(12))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tail", [b"", b"unfinished", b"y" * (2 * BLOCK + 3)])
def test_a_file_that_grows_is_read_once(tmp_path: Path, seed: int, tail: bytes) -> None:
    before, after = content(seed), content(seed + 100)
    path = tmp_path / "a.jsonl"
    path.write_bytes(before + tail)
    with path.open("rb", buffering=0) as file:
        first = LineBlocks(file)
        assert read(first) == before
        assert (first.offset, first.tail, first.is_continued) == (len(before), tail, False)
        mark = first.mark
        assert mark == fingerprint(file, len(before))
    path.write_bytes(before + tail + b"\n" + after)
    size = path.stat().st_size
    with path.open("rb", buffering=0) as file:
        second = LineBlocks(file, ReadState(7, first.offset, mark), 7, size)
        assert second.is_continued
        assert read(second) == tail + b"\n" + after
        assert (second.offset, second.tail) == (size, b"")
        assert second.mark == fingerprint(file, size)


def test_a_file_that_was_rewritten_is_read_from_its_beginning() -> None:
    old = content(1)
    state = ReadState(7, len(old), fingerprint(BytesIO(old), len(old)))
    for changed in (b"y" + old[1:], old[:-2] + b"y\n", old[: BLOCK // 2] + b"y" + old[BLOCK // 2 + 1 :]):
        blocks = LineBlocks(BytesIO(changed), state, 7, len(changed))
        assert not blocks.is_continued and read(blocks) == changed
    assert not LineBlocks(BytesIO(old), state, 8, len(old)).is_continued
    assert not LineBlocks(BytesIO(old), state, 7, len(old) - 1).is_continued


def test_lines_that_are_too_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_blocks, "MAX_LINE", 2 * BLOCK)
    long = b"z" * (5 * BLOCK)
    blocks = LineBlocks(BytesIO(b"a\n" + long + b"\nb\n" + long + b"\n"))
    assert read(blocks) == b"a\nb\n"
    assert blocks.offset == 2 * len(long) + 6
    unfinished = LineBlocks(BytesIO(b"a\n" + long))
    assert read(unfinished) == b"a\n"
    assert (unfinished.offset, unfinished.tail) == (2, b"")
    assert unfinished.mark == fingerprint(BytesIO(b"a\n"), 2)


def test_an_empty_file_has_no_lines() -> None:
    blocks = LineBlocks(BytesIO(b""))
    assert read(blocks) == b"" and blocks.offset == 0 and blocks.mark == fingerprint(BytesIO(b""), 0)


def test_files_that_share_a_buffer_are_read_as_if_each_had_its_own() -> None:
    buffer = new_buffer()
    contents = [content(1), b"", b"y" * (3 * BLOCK) + b"\nunfinished", b"short\n", b"unfinished", content(2)]
    for data in contents:
        alone, shared = LineBlocks(BytesIO(data)), LineBlocks(BytesIO(data), buffer=buffer)
        assert read(shared) == read(alone)
        assert (shared.offset, shared.tail, shared.mark) == (alone.offset, alone.tail, alone.mark)
