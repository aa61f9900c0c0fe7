"""Tails: reading in any number of goes gives the same as reading once, and a file written anew is read anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.wire.entry import Blank, Damaged, Entry, Item, read
from clew.wire.tail_reader import Tail

ONE = b'{"type":"user","uuid":"a"}\n'
TWO = '{"type":"assistant","uuid":"b","text":"größer 木 \U0001f33f"}\n'.encode()
THREE = b'{"type":"user","uuid":"c"}\n'

LINES = st.lists(
    st.one_of(
        st.sampled_from([ONE, TWO, THREE, b"\n", b"  \r\n", b'{"a":1}\r\n', b"\0\0\0\n", b'{"torn": "\n', b"[1, 2]\n"]),
        st.sampled_from([b'{"a":1}{"b":2}\n', b"\xef\xbb\xbf{}\n", b"\xff\xfe\n", '{"x":"\u2028\u0085"}\n'.encode()]),
        st.text(max_size=12).map(lambda text: text.encode("utf-8", "replace") + b"\n"),
        st.binary(max_size=400),
    ),
    max_size=12,
).map(b"".join)


def told(items: list[Item]) -> list[tuple[str, int, int, bytes]]:
    return [(type(i).__name__, i.line.number, i.line.offset, i.raw) for i in items]


def grow(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


@pytest.mark.req("R327")
@given(data=LINES, cuts=st.lists(st.integers(0, 2000), max_size=8))
def test_many_goes_give_what_one_gives(tmp_path_factory: pytest.TempPathFactory, data: bytes, cuts: list[int]) -> None:
    path = tmp_path_factory.mktemp("tail") / "s.jsonl"
    path.touch()
    tail = Tail(path)
    found: list[Item] = []
    at = 0
    for cut in [*sorted(min(c, len(data)) for c in cuts), len(data)]:
        grow(path, data[at:cut])
        at = cut
        found += tail.read()
        assert not tail.restarted
    assert told(found) == told(list(read(data, finished=True)))
    assert b"".join(i.raw for i in found) == data[: data.rfind(b"\n") + 1] == data[: tail.offset]
    grow(path, b"\n")
    found += tail.read()
    assert told(found) == told(list(read(data + b"\n")))
    assert tail.read() == []


def test_an_unfinished_line_waits_for_its_newline(path: Path) -> None:
    path.write_bytes(ONE + TWO[:-9])
    tail = Tail(path)
    assert [i.raw for i in tail.read()] == [ONE]
    assert tail.read() == []
    grow(path, TWO[-9:-1])
    assert tail.read() == []
    grow(path, TWO[-1:])
    (item,) = tail.read()
    assert isinstance(item, Entry)
    assert (item.line.number, item.offset, item.raw) == (2, len(ONE), TWO)


def test_damage_and_blanks_are_items(path: Path) -> None:
    path.write_bytes(ONE + b"\n" + b'{"half": \n' + THREE)
    assert [type(i) for i in Tail(path).read()] == [Entry, Blank, Damaged, Entry]


def test_reading_begins_where_it_is_told_to(path: Path) -> None:
    path.write_bytes(ONE + TWO)
    tail = Tail(path, offset=len(ONE), number=2)
    (item,) = tail.read()
    assert (item.line.number, item.raw) == (2, TWO)
    grow(path, THREE)
    assert told(tail.read()) == [("Entry", 3, len(ONE + TWO), THREE)]


def test_a_file_that_shrank_begins_anew(path: Path) -> None:
    path.write_bytes(ONE + TWO)
    tail = Tail(path)
    tail.read()
    path.write_bytes(THREE)
    assert told(tail.read()) == [("Entry", 1, 0, THREE)]
    assert tail.restarted
    grow(path, ONE)
    assert told(tail.read()) == [("Entry", 2, len(THREE), ONE)]
    assert not tail.restarted


def test_a_file_that_was_replaced_begins_anew(path: Path, tmp_path: Path) -> None:
    path.write_bytes(ONE)
    tail = Tail(path)
    tail.read()
    other = tmp_path / "other"
    other.write_bytes(ONE + TWO)
    other.replace(path)
    assert [i.raw for i in tail.read()] == [ONE, TWO]
    assert tail.restarted


def test_other_bytes_before_the_offset_begin_anew(path: Path) -> None:
    """Written over in place: the same inode, no fewer bytes, another text."""
    path.write_bytes(ONE + TWO)
    tail = Tail(path)
    tail.read()
    with path.open("r+b") as file:
        file.write(THREE + TWO + ONE)
    assert [i.raw for i in tail.read()] == [THREE, TWO, ONE]
    assert tail.restarted


def test_what_is_far_behind_is_not_compared(path: Path) -> None:
    """Only the last bytes before the offset are looked at: a poll costs the same in a file of any length."""
    path.write_bytes(ONE + b" " * 400 + b"\n")
    tail = Tail(path)
    tail.read()
    with path.open("r+b") as file:
        file.write(THREE)
    grow(path, TWO)
    assert [i.raw for i in tail.read()] == [TWO]
    assert not tail.restarted


def test_a_vanished_file_is_no_error(path: Path) -> None:
    tail = Tail(path)
    assert tail.read() == []
    path.write_bytes(ONE)
    assert [i.raw for i in tail.read()] == [ONE]
    path.unlink()
    assert tail.read() == []
    assert not tail.restarted
    path.write_bytes(TWO)
    assert [i.raw for i in tail.read()] == [TWO]
    assert tail.restarted


def test_a_file_larger_than_a_piece(path: Path) -> None:
    long = b'{"type":"user","text":"' + b"x" * (3 << 20) + b'"}\n'
    path.write_bytes(ONE + long[: 2 << 20])
    tail = Tail(path)
    assert [i.raw for i in tail.read()] == [ONE]
    grow(path, long[2 << 20 :] + TWO)
    assert [(i.line.number, len(i.raw)) for i in tail.read()] == [(2, len(long)), (3, len(TWO))]
