"""Lines: cut at the newline alone, each where it stands in the file, and nothing lost between them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.wire.line import BOM, PIECE_SIZE, Line, lines, pieces

SOURCES = st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r\n", b"\r", b"\x85", "\u2028".encode(), BOM, b"{}\n"]))


@pytest.mark.req("R050")
def test_a_line_ends_at_a_newline_and_nowhere_else() -> None:
    odd = "a\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\rb".encode()
    assert [line.raw for line in lines(odd + b"\n" + odd)] == [odd + b"\n", odd]


def test_numbers_and_offsets_are_those_of_the_file() -> None:
    found = list(lines("ä\n\nxyz".encode()))
    assert [(line.number, line.offset, line.end) for line in found] == [(1, 0, 3), (2, 3, 4), (3, 4, 7)]
    assert [line.is_terminated for line in found] == [True, True, False]


def test_reading_on_at_an_offset_keeps_counting() -> None:
    found = list(lines(b"one\ntwo\nthree\n", offset=4, number=2))
    assert [(line.number, line.offset, line.raw) for line in found] == [(2, 4, b"two\n"), (3, 8, b"three\n")]


@pytest.mark.parametrize("raw", [b"", b"\n", b"no newline", b"\n\n\n"])
def test_small_sources(raw: bytes) -> None:
    assert b"".join(line.raw for line in lines(raw)) == raw


def test_a_path_a_name_bytes_and_an_open_file_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\ntwo")
    expected = [b"one\n", b"two"]
    assert [line.raw for line in lines(path)] == expected
    assert [line.raw for line in lines(str(path))] == expected
    assert [line.raw for line in lines(io.BytesIO(b"one\ntwo"))] == expected
    with path.open("rb") as file:
        assert [line.raw for line in lines(file, offset=4)] == [b"two"]
        assert not file.closed


@pytest.mark.parametrize("raw", [b"{}", b"{}\n", b" {}\t\r\n", BOM + b"{}\r\n", BOM + b" {} \n"])
def test_json_is_the_line_without_what_surrounds_it(raw: bytes) -> None:
    (line,) = lines(raw)
    assert line.json == b"{}"
    assert line.raw == raw


def test_an_object_inside_a_line_points_into_the_file() -> None:
    raw = b"skipped\nxx{}yy\n"
    part = list(lines(raw))[1].part(2, 4)
    assert (part.number, part.offset, part.end, part.raw, part.whole) == (2, 10, 12, b"{}", False)
    assert raw[part.offset : part.end] == part.raw


@given(SOURCES.map(b"".join), st.integers(1, 9))
def test_pieces_end_at_newlines_whatever_their_size(raw: bytes, size: int) -> None:
    found = list(pieces(raw, size=size))
    assert b"".join(piece for piece, _ in found) == raw
    assert all(piece.endswith(b"\n") for piece, _ in found[:-1])
    assert all(piece and raw[at : at + len(piece)] == piece for piece, at in found)


@given(st.binary(max_size=200), st.data())
def test_any_bytes_are_their_lines_joined(raw: bytes, data: st.DataObject) -> None:
    found = list(lines(raw))
    assert b"".join(line.raw for line in found) == raw
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    for line in found:
        assert raw[line.offset : line.end] == line.raw
        assert b"\n" not in line.raw[:-1]
    if found:
        at = data.draw(st.sampled_from(found))
        rest = lines(raw, offset=at.end, number=at.number + 1)
        assert _places(rest) == _places(found[at.number :])


def _places(found: Iterable[Line]) -> list[tuple[int, int, bytes]]:
    return [(line.number, line.offset, line.raw) for line in found]


@pytest.mark.parametrize("size", [PIECE_SIZE - 1, PIECE_SIZE, PIECE_SIZE + 1, 3 * PIECE_SIZE])
def test_a_line_may_be_as_long_as_a_piece_or_longer(size: int) -> None:
    raw = b"x" * (size - 1) + b"\n" + b"y" * size + b"\n" + b"tail"
    assert [(line.number, line.offset, len(line.raw)) for line in lines(raw)] == [
        (1, 0, size),
        (2, size, size + 1),
        (3, 2 * size + 1, 4),
    ]


class Slow(io.RawIOBase):
    """A file that gives a few bytes at a time, as a pipe or a network drive may."""

    def __init__(self, data: bytes, step: int) -> None:
        self._inner, self._step = io.BytesIO(data), step

    def read(self, size: int = -1) -> bytes:
        return self._inner.read(min(size, self._step))

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._inner.seek(offset, whence)


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_short_reads_make_no_difference(step: int) -> None:
    raw = b"one\n\ntwo\r\nthree"
    assert [line.raw for line in lines(Slow(raw, step))] == [line.raw for line in lines(raw)]  # type: ignore[arg-type]


def test_a_line_copies_nothing_until_it_is_asked() -> None:
    first, second = lines(b"one\ntwo\n")
    assert isinstance(first, Line)
    assert first.buffer is second.buffer
