"""Scans that skip lines: what they decode is what the tolerant reader finds on the same lines, whatever is beside them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.wire.bulk_scan import decode_lines_containing, scan
from clew.wire.entry import BaseEntry, entries, read

KEY = b'"usage"'
LINES = (
    b'{"uuid":"a","usage":1}\n',
    b'{"uuid":"b","usage":{"n":{}}}\n',
    b'{"uuid":"c","text":"without"}\n',
    b'{"uuid":"d","usage":1}{"uuid":"e","usage":2}\n',  # two objects on one line
    b'{"uuid":"f","usage":\n',  # an object on two lines, or only its beginning
    b'1,"usage":2}\n',
    b'{"uuid":"g","usage":3}\r\n',
    b' {"uuid":"h","usage":4}\n',
    b'{"uuid":5,"usage":4}\n',  # a field of another type
    b'{"uuid":"i","usage":"\\ud800"}\n',
    b'["usage"]\n',
    b"\n",
)


@given(st.lists(st.sampled_from(LINES), max_size=12), st.booleans())
def test_lines_are_decoded_as_if_each_stood_alone(lines: list[bytes], is_terminated: bool) -> None:
    data = b"".join(lines)
    data = data if is_terminated else data.removesuffix(b"\n")
    expected = []
    offset = 0
    for line in _split(data):
        if KEY in line:
            expected += [(entry.uuid, offset + entry.offset) for entry in entries(read(line))]
        offset += len(line)
    found = decode_lines_containing(KEY, bytearray(b"\n" + data), -1, BaseEntry, start=1)
    assert list(zip([entry.uuid for entry in found.spoken], found.offsets, strict=True)) == expected
    pieces = list(scan(data, shape=BaseEntry, holding=KEY))
    assert [entry.uuid for piece in pieces for entry in piece.spoken] == [uuid for uuid, _ in expected]


def _split(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [data.rpartition(b"\n")[2]]
