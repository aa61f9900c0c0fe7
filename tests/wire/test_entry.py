"""Entries: every line becomes an item, nothing fails and nothing is lost."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.conversation.session import Session
from clew.demo.talk import talk, todo
from clew.wire.entry import Blank, Damaged, Entry, Item, entries, read
from clew.wire.json_codec import decode, encode
from clew.wire.line import BOM, PIECE_SIZE

FULL: dict[str, Any] = {
    "parentUuid": "p",
    "logicalParentUuid": "lp",
    "isSidechain": True,
    "promptId": "pid",
    "userType": "external",
    "cwd": "/home/ada",
    "sessionId": "s",
    "version": "2.1.232",
    "gitBranch": "main",
    "agentId": "a1",
    "slug": "calm-red-fox",
    "type": "user",
    "message": {"role": "user", "content": "hi"},
    "uuid": "u",
    "timestamp": "2026-01-05T09:00:00.000Z",
    "requestId": "req_1",
    "toolUseResult": {"stdout": "x"},
    "sourceToolAssistantUUID": "caller",
    "isMeta": True,
    "isApiErrorMessage": True,
    "permissionMode": "plan",
    "todos": [{"content": "Dig", "status": "pending", "activeForm": "Digging"}],
}


def one(raw: bytes) -> Entry:
    (item,) = read(raw)
    assert isinstance(item, Entry)
    return item


def told(items: Iterable[Item]) -> list[tuple[str, int, int, bytes]]:
    return [(type(i).__name__, i.line.number, i.line.offset, i.raw) for i in items]


# -- lines


@pytest.mark.req("R050")
def test_one_object_for_each_line_and_blank_lines_are_no_entries() -> None:
    raw = '{"type":"user","x":"ä"}\n\n \t\r\n{"type":"assistant"}\n'.encode()
    items = list(read(raw))
    assert [type(item) for item in items] == [Entry, Blank, Blank, Entry]
    assert [entry.type for entry in entries(items)] == ["user", "assistant"]
    assert b"".join(item.raw for item in items) == raw


@pytest.mark.req("R051")
def test_a_malformed_line_is_counted_and_named_and_the_rest_is_read() -> None:
    raw = b'{"type":"a"}\nnot json\n{"type":"b"}\n{"type":\n{"type":"c"}\n'
    items = list(read(raw))
    bad = [item for item in items if isinstance(item, Damaged)]
    assert [(item.line.number, item.line.offset) for item in bad] == [(2, 13), (4, 35)]
    assert all(item.reason and item.kind for item in bad)
    assert [entry.type for entry in entries(items)] == ["a", "b", "c"]
    assert Session(raw).damage == tuple(bad)


@pytest.mark.req("R052")
@pytest.mark.parametrize("kind", ["hologram", "", "user ", "木"])
def test_an_unknown_type_is_kept_verbatim(kind: str) -> None:
    raw = encode({"type": kind, "deep": {"x": [1, 2.50, None]}})
    assert (one(raw).type, one(raw).raw) == (kind, raw)
    assert encode(one(raw).data) == raw


@pytest.mark.req("R053")
def test_unknown_fields_go_through_unchanged_and_in_order() -> None:
    raw = b'{"zz":{"b":1,"a":[{}]},"type":"user","message":{"content":"x","new":1,"role":"user"},"aa":null}'
    assert encode(one(raw).data) == one(raw).raw == raw


@pytest.mark.req("R054")
def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"a"}\nbroken\n\n{"torn":')
    path.chmod(0o400)
    before = (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_size)
    for item in list(read(path)):
        assert item.raw
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_size) == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.jsonl"]


@pytest.mark.req("R055", "R056")
def test_a_session_may_hold_several_versions_and_they_are_counted() -> None:
    versions = ["2.0.37"] * 60 + ["2.0.42"] * 652 + [""]
    raw = b"".join(encode({"type": "user", "uuid": str(i), "version": v}) + b"\n" for i, v in enumerate(versions))
    assert Session(raw + b'{"type":"summary"}\n').versions == {"2.0.37": 60, "2.0.42": 652}


@pytest.mark.req("R057")
def test_bytes_that_are_not_utf8_stop_nothing() -> None:
    bad = b'{"type":"user","uuid":"b","message":{"content":"\xff\xc3"},"cwd":"/\x80"}\n'
    items = list(read(b'{"uuid":"a"}\n' + bad + b'{"uuid":"c"}\n\xff\n{"uuid":"d"}\n'))
    found = list(entries(items))
    assert [entry.uuid for entry in found] == ["a", "b", "c", "d"]
    assert (found[1].text, found[1].cwd, found[1].raw, found[1].leniency) == (
        "\ufffd\ufffd",
        "/\ufffd",
        bad,
        "invalid UTF-8",
    )
    assert [item.raw for item in items if isinstance(item, Damaged)] == [b"\xff\n"]


# -- the envelope


@pytest.mark.req("R062")
def test_the_envelope_is_typed() -> None:
    entry = one(encode(FULL))
    assert (entry.uuid, entry.parent, entry.type, entry.session_id) == ("u", "p", "user", "s")
    assert (entry.version, entry.cwd, entry.git_branch, entry.user_type) == ("2.1.232", "/home/ada", "main", "external")
    assert (entry.is_sidechain, entry.timestamp, entry.logical_parent) == (True, FULL["timestamp"], "lp")
    assert entry.leniency == ""


@pytest.mark.req("R063")
def test_the_optional_envelope_is_typed() -> None:
    entry = one(encode(FULL))
    assert (entry.is_meta, entry.slug, entry.agent_id, entry.permission_mode) == (True, "calm-red-fox", "a1", "plan")
    assert (entry.request_id, entry.source_tool_assistant, entry.is_api_error) == ("req_1", "caller", True)
    assert decode(entry.tool_use_result) == {"stdout": "x"}
    assert decode(entry.todos) == FULL["todos"]


@pytest.mark.req("R064")
@pytest.mark.parametrize("missing", sorted(FULL))
def test_no_field_is_required(missing: str) -> None:
    entry = one(encode({k: v for k, v in FULL.items() if k != missing}))
    assert entry.leniency == ""
    assert entry.uuid == (None if missing == "uuid" else "u")


def test_an_object_without_anything_is_an_entry() -> None:
    entry = one(b"{}\n")
    assert (entry.type, entry.uuid, entry.time, entry.text, entry.blocks, entry.data) == ("", None, None, "", [], {})


@pytest.mark.req("R083")
def test_an_error_of_the_api_is_told_from_an_answer() -> None:
    session = Session(talk().user("hi").api_error("Overloaded", status=529).user("again").reply("yes").bytes())
    assert [e.is_api_error for e in session.entries if e.type == "assistant"] == [True, False]
    assert [e.is_synthetic for e in session.entries if e.type == "assistant"] == [True, False]
    assert [reply.is_error for reply in session.replies] == [True, False]


@pytest.mark.req("R085")
@pytest.mark.parametrize(
    "mode", ["default", "acceptEdits", "plan", "bypassPermissions", "auto", "dontAsk", "brand-new"]
)
def test_a_permission_mode_is_any_word(mode: str) -> None:
    assert one(encode({"type": "user", "permissionMode": mode})).permission_mode == mode


@pytest.mark.req("R086")
def test_the_todos_of_a_prompt_are_there() -> None:
    item = {"content": "Dig", "status": "in_progress", "activeForm": "Digging"}
    said = talk(version="2.1.29").user("go").reply(call=todo([item])).result("ok").user("on")
    last = [entry for entry in Session(said.bytes()).entries if entry.type == "user"][-1]
    assert decode(last.todos) == [item]


# -- what must always hold

OBJECTS = st.dictionaries(
    st.sampled_from(["type", "uuid", "message", "x", "ü"]) | st.text(max_size=3),
    st.none() | st.integers() | st.text(max_size=8) | st.lists(st.text(max_size=2), max_size=2),
    max_size=5,
)
ODD_LINES = st.sampled_from(
    [
        b"\n",
        b" \n",
        b"{}\n",
        b'{"a":1}{"b":2}\n',
        b"[1]\n",
        b'{"a":\n',
        b"1}\n",
        b"null\n",
        b"\0\0{}\n",
        b"\xff\n",
        b"NaN\n",
    ]
)
SOURCES = st.lists(OBJECTS.map(lambda o: encode(o) + b"\n") | ODD_LINES | st.binary(max_size=30), max_size=8).map(
    b"".join
)


@given(st.binary(max_size=300) | SOURCES)
def test_any_bytes_are_read_and_the_items_joined_are_the_bytes(raw: bytes) -> None:
    items = list(read(raw))
    assert b"".join(item.raw for item in items) == raw
    assert [item.line.number for item in items] == list(range(1, len(items) + 1))
    for item in entries(items):
        assert raw[item.offset : item.offset + len(item.raw)] == item.raw
        assert isinstance(item.data, dict)
        assert isinstance(item.text, str)


@given(st.lists(OBJECTS, max_size=8), st.sampled_from([b"\n", b"\r\n", b" \n"]), st.booleans())
def test_objects_written_one_a_line_read_back(values: list[dict[str, Any]], end: bytes, finished: bool) -> None:
    lines = [encode(value) + end for value in values]
    items = list(read(b"".join(lines), finished=finished))
    assert [item.data for item in items if isinstance(item, Entry)] == values
    starts = [sum(map(len, lines[:i])) for i in range(len(lines))]
    assert told(items) == [("Entry", i + 1, starts[i], line) for i, line in enumerate(lines)]


@given(SOURCES)
def test_reading_on_behind_any_item_gives_the_rest(raw: bytes) -> None:
    items = list(read(raw))
    for index, item in enumerate(items):
        rest = read(raw, offset=item.line.end, number=item.line.number + 1)
        assert told(rest) == told(items[index + 1 :])


@given(SOURCES | st.binary(max_size=60))
def test_an_unterminated_line_is_held_back_when_asked(raw: bytes) -> None:
    items = list(read(raw, finished=True))
    assert all(item.raw.endswith(b"\n") for item in items)
    assert b"".join(item.raw for item in items) == raw[: raw.rfind(b"\n") + 1]
    assert told(items) == [each for each in told(read(raw)) if each[3].endswith(b"\n")]


# -- pieces


def filler(size: int, uuid: str) -> bytes:
    """A line of exactly this many bytes."""
    head, tail = f'{{"type":"user","uuid":"{uuid}","x":"'.encode(), b'"}\n'
    return head + b"x" * (size - len(head) - len(tail)) + tail


@pytest.mark.parametrize(
    "sizes",
    [
        [PIECE_SIZE],
        [PIECE_SIZE, PIECE_SIZE],
        [PIECE_SIZE - 1, 100],
        [PIECE_SIZE + 1, 100],
        [100, PIECE_SIZE - 100, 100],
    ],
)
@pytest.mark.parametrize("more", [b"", b'{"uuid":"torn'])
def test_pieces_may_end_anywhere(sizes: list[int], more: bytes) -> None:
    lines = [filler(size, str(i)) for i, size in enumerate(sizes)]
    items = list(read(b"".join(lines) + more))
    assert told(items)[: len(lines)] == [("Entry", i + 1, sum(sizes[:i]), line) for i, line in enumerate(lines)]
    assert [entry.uuid for entry in entries(items)] == [str(i) for i in range(len(lines))]
    assert [item.raw for item in items[len(lines) :]] == ([more] if more else [])


@pytest.mark.parametrize(
    "tricky",
    [
        b'{"u":1}{"u":2}\n{"u":\n3}\n',  # three objects on three lines
        b'{"u":1}{"u":2}\n{"u":[{}\n,{}]}\n',
        b'{"u":1}{"u":2}\n{"u":\n{"v":3}}\n',  # and each line begins with a brace
        b'{"u":\n1}\n{"u":2}{"u":3}\n',
        b'{"u":1}\n\n{"u":2}{"u":3}\n',
        b'{"u":1}{"u":2}\n \n',
        b'{"u":1} {"u":2}\n{\n"u":3}\n',
    ],
)
def test_as_many_objects_as_lines_does_not_make_each_line_an_object(tricky: bytes) -> None:
    raw = b'{"u":0}\n' + tricky + b'{"u":9}\n'
    items = list(read(raw))
    assert [item.raw for item in items] == raw.splitlines(keepends=True)
    for item in items:
        whole = isinstance(item, Entry)
        assert whole == (_is_object(item.raw)), item.raw
    assert isinstance(items[0], Entry)
    assert isinstance(items[-1], Entry)


def _is_object(raw: bytes) -> bool:
    try:
        return isinstance(decode(raw.strip() or b"0"), dict)
    except ValueError:
        return False


# -- odd but whole lines


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"type":"user","x":"\\ud800"}', "lone surrogate"),
        (b'{"type":"user","cwd":"\xff"}', "invalid UTF-8"),
        (b'{"type":"user","x":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "deep nesting"),
        (
            b'{"type":"user","message":{"content":[{"input":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001 + b"]}}",
            "deep nesting",
        ),
    ],
    ids=["surrogate", "utf-8", "deep", "deep input"],
)
def test_a_line_that_only_javascript_reads_is_an_entry(raw: bytes, why: str) -> None:
    entry = one(raw + b"\n")
    assert (entry.type, entry.leniency) == ("user", why)
    assert entry.raw == raw + b"\n"
    assert why == "invalid UTF-8" or encode(entry.data) == raw


def test_a_deep_input_is_there_whole() -> None:
    deep = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
    entry = one(b'{"message":{"content":[{"type":"tool_use","input":' + deep + b'}]},"content":' + deep + b"}")
    assert encode(entry.uses[0].input) == deep
    assert encode(decode(entry.content)) == deep


@pytest.mark.parametrize("digits", [30, 5000])
def test_huge_integers_are_no_damage(digits: int) -> None:
    number = b"1" * digits
    entry = one(b'{"uuid":"u","timestamp":' + number + b',"message":{"content":' + number + b'},"x":' + number + b"}")
    assert (entry.uuid, entry.time, entry.text) == ("u", None, "")
    assert entry.data["x"] == (int(number) if digits == 30 else float("inf"))


def test_of_two_equal_keys_the_last_counts() -> None:
    assert one(b'{"type":"a","type":"b"}').type == "b"


@pytest.mark.parametrize(
    "raw", [BOM + b'{"type":"a"}\n', b'{"type":"a"}\r\n', BOM + b' {"type":"a"} \r\n', b'{"type":"a"}']
)
def test_a_byte_order_mark_and_carriage_returns_are_no_damage(raw: bytes) -> None:
    assert (one(raw).type, one(raw).raw, one(raw).data) == ("a", raw, {"type": "a"})


def test_separators_of_other_worlds_are_ordinary_characters() -> None:
    words = "a\u2028b\u2029c\x85d\x1ce\x0bf"
    assert one(encode({"message": {"content": words}})).text == words


def test_data_is_a_private_copy() -> None:
    entry = one(b'{"a":[1]}')
    entry.data["a"].append(2)
    assert entry.data == {"a": [1]}


def test_equal_lines_at_different_places_are_different_entries() -> None:
    first, second = read(b'{"uuid":"u"}\n{"uuid":"u"}\n')
    assert first != second
    assert len({first, second, *read(b'{"uuid":"u"}\n')}) == 2


@pytest.mark.parametrize(("end", "most"), [(b'"}}\n', 4), (b"", 5), (b'{"type":"user","sessionId":"s"}\n', 5)])
@pytest.mark.req("R016", "R345")
def test_a_line_of_a_hundred_megabytes_takes_a_few_times_its_size(end: bytes, most: int) -> None:
    raw = b'{"type":"user","message":{"content":"' + b"x" * 100_000_000 + end
    tracemalloc.start()
    try:
        (item,) = read(raw)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(item, Entry) == (most == 4)
    assert [e.type for e in entries([item])] == (["user"] if end else [])
    assert peak < most * len(raw)


@pytest.mark.parametrize(
    "line",
    [
        encode(FULL),
        encode({**FULL, "message": {"role": "user", "content": [{"type": "text", "text": "é", "n": 2**60}]}}),
        encode({**FULL, "message": "hi"}),
        encode({**FULL, "message": None}),
        encode({**FULL, "message": {}}),
        encode({**FULL, "message": {"content": None}}),
        encode({**FULL, "message": ["content"]}),
        b'{"type":"user","message":{"content":"a"},"message":{"content":"b","content":"c"}}',
        b'{"type":"user","message":{"content":"a \\ud800 b"}}',
        b'{"type":"user","message":{"content":"a \xff b"}}',
        b'{"type":"user","message":{"content":"a"}}{"type":"user","message":{"content":"b"}}',
        BOM + encode(FULL),
        encode({**FULL, "toolUseResult": "\ud800"}),
        b'{"type":"user","message":{"content":%s1%s}}' % (b"[" * 3000, b"]" * 3000),
    ],
)
def test_the_content_of_a_message_is_that_in_the_data(line: bytes) -> None:
    for entry in entries(read(line + b"\n")):
        message = entry.data.get("message")
        wanted = message.get("content") if isinstance(message, dict) else None
        assert encode(entry.message_content) == encode(wanted)
