"""The reader of server-sent events: any cut of the bytes gives the same events."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.api.sse import EventTooLong, ServerSentEvent, SseReader

ENDS = (b"\n", b"\r\n", b"\r")


def read(*pieces: bytes) -> list[ServerSentEvent]:
    reader = SseReader()
    found = [event for piece in pieces for event in reader.feed(piece)]
    return [*found, *reader.close()]


def slowly(stream: bytes) -> list[ServerSentEvent]:
    """The standard, read out word for word and all at once: what the reader is judged by."""
    stream = stream.removeprefix(b"\xef\xbb\xbf")
    found, name, data = [], b"", list[bytes]()
    lines = re.split(rb"\r\n|\n|\r", stream)[:-1]
    for line in lines:
        field, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if not line:
            if data:
                found.append(ServerSentEvent(name.decode("utf-8", "replace") or "message", b"\n".join(data)))
            name, data = b"", []
        elif field == b"event":
            name = value
        elif field == b"data":
            data.append(value)
    return found


pieces_of_stream = st.lists(
    st.sampled_from(
        [b"data", b"event", b"id", b":", b" ", b"\n", b"\r", b"\r\n", b"\n\n", b"x", "🧵".encode(), b"\xef\xbb\xbf"]
    ),
    max_size=40,
).map(b"".join)


@given(pieces_of_stream, st.lists(st.integers(0, 120), max_size=8))
@example(b"\xef\xbb\xbfdata: a\r\n\r\n", [1, 2, 10, 11])
@example(b"data: a\r\r", [7, 8])
def test_any_cut_gives_the_events_of_the_whole(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(edges)]
    assert read(*pieces) == read(stream) == slowly(stream)


lines = st.sampled_from([b"data: a", b"data: b", b"event: e", b": c", b""])


@given(st.lists(st.tuples(lines, st.sampled_from(ENDS)), max_size=8))
@example([(b"data: a", b"\r\n"), (b"data: b", b"\r\n"), (b"", b"\r\n")])
def test_every_cut_in_two_gives_the_events_of_the_whole(told: list[tuple[bytes, bytes]]) -> None:
    stream = b"".join(line + end for line, end in told)
    expected = slowly(stream)
    for cut in range(len(stream) + 1):
        assert read(stream[:cut], stream[cut:]) == expected


@given(
    st.lists(st.binary(max_size=30).map(lambda b: re.sub(rb"[\r\n]", b"", b)), min_size=1, max_size=5),
    st.sampled_from(ENDS),
)
def test_lines_of_data_join_with_a_newline(lines: list[bytes], end: bytes) -> None:
    stream = b"".join(b"data: " + line + end for line in lines) + end
    assert read(stream) == [ServerSentEvent("message", b"\n".join(lines))]


@given(st.lists(st.tuples(st.sampled_from(["ping", "message_stop"]), st.text()), max_size=6), st.sampled_from(ENDS))
def test_streams_one_behind_the_other_give_all_events(told: list[tuple[str, str]], end: bytes) -> None:
    made = [ServerSentEvent(name, json.dumps(said).encode()) for name, said in told]
    streams = [b"event: " + e.name.encode() + end + b"data: " + e.data + end + end for e in made]
    assert read(*streams) == read(b"".join(streams)) == made


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b": a comment\n\ndata: x\n\n", [ServerSentEvent("message", b"x")]),
        (b"data:x\n\n", [ServerSentEvent("message", b"x")]),
        (b"data:  x\n\n", [ServerSentEvent("message", b" x")]),
        (b"data\n\n", [ServerSentEvent("message", b"")]),
        (b"event: ping\n\n", []),
        (b"event: a\nevent: b\ndata: x\n\n", [ServerSentEvent("b", b"x")]),
        (b"event: a\n\ndata: x\n\n", [ServerSentEvent("message", b"x")]),
        (b"id: 7\nretry: 10\ndata: x\nnonsense\n\n", [ServerSentEvent("message", b"x")]),
        (b"data: cut off\n", []),
        (b"data: cut off", []),
        (b"data: x\r\r", [ServerSentEvent("message", b"x")]),
        (b"\xef\xbb\xbfdata: x\n\n", [ServerSentEvent("message", b"x")]),
        (b"data: x\n\xef\xbb\xbfdata: y\n\n", [ServerSentEvent("message", b"x")]),
        ("data: Grüße 🧵\n\n".encode(), [ServerSentEvent("message", "Grüße 🧵".encode())]),
        (b"", []),
    ],
)
def test_the_corners_of_the_standard(stream: bytes, events: list[ServerSentEvent]) -> None:
    assert read(stream) == events
    assert read(*(bytes([b]) for b in stream)) == events


def test_an_event_is_returned_when_it_is_complete() -> None:
    reader = SseReader()
    assert [*reader.feed(b"data: x\n")] == []
    assert [*reader.feed(b"\n")] == [ServerSentEvent("message", b"x")]


def test_a_line_without_an_end_is_refused_at_last() -> None:
    reader = SseReader(max_event=1000)
    with pytest.raises(EventTooLong):
        for _ in range(20):
            assert reader.feed(b"x" * 100) == []


def test_a_huge_event_in_small_pieces_is_read_in_linear_time() -> None:
    data = b"y" * 8_000_000
    stream = b"data: " + data + b"\n\n"
    pieces = [stream[i : i + 1000] for i in range(0, len(stream), 1000)]
    assert read(*pieces) == [ServerSentEvent("message", data)]
