"""Replies, put together from events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.api.mock.responses import encode_frame, stream_events
from clew.api.mock.scripts import ScriptStep
from clew.api.sse import SseReader
from clew.api.stream_assembly import (
    ApiReply,
    Assembly,
    BlockComplete,
    ReplyFinished,
    ReplyStarted,
    StreamError,
    merge_usage,
)

Json = dict[str, Any]

START: Json = {
    "type": "message_start",
    "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
                "usage": {"input_tokens": 9, "output_tokens": 1}},
}  # fmt: skip
END: list[Json] = [
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 7},
    },
    {"type": "message_stop"},
]


def start(index: int, block: Json) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **given: Any) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **given}}


def stop(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


def taken(*told: Json) -> list[Any]:
    assembly = Assembly("req_1")
    return [h for each in told if (h := assembly.take(json.dumps(each).encode())) is not None]


def reply(*told: Json) -> ApiReply:
    last = taken(START, *told, *END)[-1]
    assert isinstance(last, ReplyFinished)
    return last.reply


block = st.one_of(
    st.builds(lambda t: {"type": "text", "text": t}, st.text(min_size=1)),
    st.builds(lambda t, s: {"type": "thinking", "thinking": t, "signature": s}, st.text(), st.text(min_size=1)),
    st.builds(
        lambda i: {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": i},
        st.dictionaries(
            st.text(), st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text()), max_size=4
        ),
    ),
    st.builds(lambda d: {"type": "redacted_thinking", "data": d}, st.text()),
    st.just({"type": "of_the_future", "deep": {"er": [1, None]}}),
)


@given(st.lists(block, max_size=5), st.integers(0, 5), st.integers(1, 50))
def test_a_stream_adds_up_to_the_message_it_was_made_from(content: list[Json], chunk: int, size: int) -> None:
    message = {
        **START["message"],
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 30, "cache_creation": {"ephemeral_5m_input_tokens": 2}},
    }
    stream = b"".join(encode_frame(event) for event in stream_events(message, ScriptStep(chunk=chunk)))
    reader, assembly = SseReader(), Assembly()
    found = [
        assembly.take(event.data)
        for i in range(0, len(stream), size)
        for event in reader.feed(stream[i : i + size])
    ]  # fmt: skip
    last = found[-1]
    assert isinstance(last, ReplyFinished)
    assert last.reply.data == message
    assert [h.block for h in found if isinstance(h, BlockComplete)] == content


def test_text_grows_from_what_the_block_started_with() -> None:
    made = reply(start(0, {"type": "text", "text": "Gr"}), delta(0, "text_delta", text="üße 🧵"), stop(0))
    assert made.text == "Grüße 🧵"
    assert (made.id, made.model, made.request_id, made.stop_reason) == ("msg_1", "m", "req_1", "end_turn")


def test_a_signature_stays_to_the_byte() -> None:
    signature = "EqQB+/==\u2028" * 500
    begun = start(0, {"type": "thinking", "thinking": "", "signature": ""})
    made = reply(
        begun, delta(0, "thinking_delta", thinking="a"), delta(0, "signature_delta", signature=signature), stop(0)
    )
    assert made.content == [{"type": "thinking", "thinking": "a", "signature": signature}]


def test_a_thought_that_is_not_shown_keeps_its_signature() -> None:
    begun = start(0, {"type": "thinking", "thinking": "", "signature": ""})
    made = reply(begun, delta(0, "signature_delta", signature="s"), stop(0))
    assert made.content == [{"type": "thinking", "thinking": "", "signature": "s"}]


@pytest.mark.parametrize(
    ("parts", "expected", "unparsed"),
    [
        (['{"a"', ": 1}"], {"a": 1}, None),
        (["", '{"b": "\\ud83e', '\\uddf5"}'], {"b": "🧵"}, None),
        ([], {}, None),
        ([""], {}, None),
        (['{"a": '], {}, '{"a": '),
        (["[1]"], {}, "[1]"),
        (["nonsense"], {}, "nonsense"),
        (['{"n": 123456789012345678901234567890}'], {"n": 123456789012345678901234567890}, None),
    ],
)
def test_input_comes_in_pieces_and_may_be_broken(parts: list[str], expected: Json, unparsed: str | None) -> None:
    call = {"type": "tool_use", "id": "t", "name": "B", "input": {}}
    made = reply(start(0, call), *(delta(0, "input_json_delta", partial_json=p) for p in parts), stop(0))
    assert made.content == [{**call, "input": expected}]
    assert made.unparsed == ({0: unparsed} if unparsed else {})


def test_what_is_unknown_is_kept_as_it_came() -> None:
    strange = [
        {"type": "weather_report", "sun": True},
        delta(0, "aroma_delta", aroma="rose"),
    ]
    made = reply(start(0, {"type": "perfume", "x": [1]}), *strange, stop(0))
    assert made.content == [{"type": "perfume", "x": [1]}]
    assert list(made.strange) == strange


def test_citations_gather() -> None:
    begun = start(0, {"type": "text", "text": "", "citations": None})
    made = reply(
        begun, delta(0, "citations_delta", citation={"n": 1}), delta(0, "citations_delta", citation={"n": 2}), stop(0)
    )
    assert made.content[0]["citations"] == [{"n": 1}, {"n": 2}]


def test_fields_of_the_end_that_are_not_known_stay() -> None:
    end = {**END[0], "context_management": {"applied_edits": []}}
    assembly = Assembly()
    for each in (START, end):
        assembly.take(json.dumps(each).encode())
    assert assembly.finish().reply.data["context_management"] == {"applied_edits": []}


def test_a_ping_says_nothing() -> None:
    assert [type(h) for h in taken({"type": "ping"}, START, {"type": "ping"})] == [ReplyStarted]


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ([START, START], "protocol"),
        ([stop(0)], "protocol"),
        ([START, delta(0, "text_delta", text="x")], "protocol"),
        ([start(0, {"type": "text"})], "protocol"),
        ([START, start(0, {"type": "text"}), start(0, {"type": "text"})], "protocol"),
        ([START, start(0, {"type": "text"}), stop(0), delta(0, "text_delta", text="x")], "protocol"),
        ([END[0]], "protocol"),
        ([{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}], "overloaded_error"),
        ([{"type": "error"}], "api_error"),
    ],
)
def test_a_stream_that_makes_no_sense_is_refused(told: list[Json], kind: str) -> None:
    with pytest.raises(StreamError) as refused:
        taken(*told)
    assert refused.value.kind == kind


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\x00", b'"text"'])
def test_what_is_no_event_is_refused(data: bytes) -> None:
    with pytest.raises(StreamError):
        Assembly().take(data)


@given(st.binary(max_size=200))
def test_no_bytes_break_it_otherwise(data: bytes) -> None:
    try:
        Assembly().take(data)
    except StreamError:
        pass


def test_so_far_holds_complete_blocks_only() -> None:
    assembly = Assembly()
    told = [START, start(0, {"type": "text", "text": "a"}), stop(0), start(1, {"type": "text", "text": "b"})]
    for each in told:
        assembly.take(json.dumps(each).encode())
    assert assembly.so_far().content == [{"type": "text", "text": "a"}]
    assert assembly.so_far().usage == START["message"]["usage"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"input_tokens": 9, "output_tokens": 1}, {"output_tokens": 7}, {"input_tokens": 9, "output_tokens": 7}),
        ({"input_tokens": 0}, {"input_tokens": 12}, {"input_tokens": 12}),
        ({"input_tokens": 12}, {"input_tokens": 0}, {"input_tokens": 12}),  # seen of gateways that do not repeat it
        ({"input_tokens": 12}, {"input_tokens": None}, {"input_tokens": 12}),
        ({"c": {"a": 1}}, {"c": {"b": 2}}, {"c": {"a": 1, "b": 2}}),
        (None, {"output_tokens": 3}, {"output_tokens": 3}),
        ({"service_tier": "standard"}, {"service_tier": "batch"}, {"service_tier": "batch"}),
        ({"output_tokens": 3}, None, {"output_tokens": 3}),
    ],
)
def test_usage_is_the_later_word(before: Any, after: Any, expected: Any) -> None:
    assert merge_usage(before, after) == expected
