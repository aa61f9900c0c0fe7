"""Format drift: a field of the wrong type costs that field its type and nothing else."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct, field

from clew.wire.content_block import Tokens
from clew.wire.entry import Entry, read
from clew.wire.json_codec import decode, encode
from clew.wire.lenient import convert_leniently


class Inner(Struct, frozen=True):
    text: str | None = None
    number: int = 0


class Outer(Struct, frozen=True):
    name: str = "unnamed"
    ratio: float | int | None = None
    open: bool = False
    inner: Inner | None = None
    inners: str | list[Inner] | None = None
    words: list[str] = []
    whole: Raw = Raw()
    free: Any = None
    renamed: str = field(default="", name="realName")
    private: str = field(default="ours", name="(private)")


def read_one(value: dict[str, Any]) -> Entry:
    (item,) = read(encode(value))
    assert isinstance(item, Entry)
    return item


def test_what_fits_is_taken() -> None:
    found = convert_leniently(
        Outer,
        {
            "name": "n",
            "ratio": 1.5,
            "open": True,
            "inner": {"text": "t"},
            "words": ["a"],
            "realName": "r",
            "free": {"a": [1]},
        },
    )
    assert found == Outer("n", 1.5, True, Inner("t"), None, ["a"], Raw(), {"a": [1]}, "r")


@pytest.mark.parametrize(
    ("name", "odd"),
    [("name", 1), ("name", None), ("name", {}), ("ratio", "x"), ("ratio", []), ("open", "yes"), ("open", None), ("open", 1),
     ("inner", "x"), ("inner", [1]), ("inners", 5), ("inners", {"a": 1}), ("words", "a"), ("words", "\ud800"),
     ("words", [1]), ("words", {})],
)  # fmt: skip
def test_what_does_not_fit_falls_back_to_its_default(name: str, odd: Any) -> None:
    assert convert_leniently(Outer, {name: odd, "realName": "kept"}) == Outer(renamed="kept")


def test_it_reaches_into_objects_and_lists() -> None:
    found = convert_leniently(
        Outer, {"inner": {"text": 5, "number": 7}, "inners": [{"text": "a", "number": "x"}, "no", None, {}]}
    )
    assert found.inner == Inner(None, 7)
    assert found.inners == [Inner("a", 0), Inner()]


def test_raw_fields_hold_any_value() -> None:
    values: list[Any] = [None, 1, "\ud800", [1, {"a": None}], {}]
    for value in values:
        assert decode(convert_leniently(Outer, {"whole": value}).whole) == value


def test_a_field_of_our_own_cannot_be_set_from_outside() -> None:
    assert convert_leniently(Outer, {"(private)": "theirs", "private": "theirs"}).private == "ours"


def test_texts_can_be_encoded() -> None:
    made = convert_leniently(Outer, {"name": "a\ud800b", "words": ["\udfff"]})
    assert (made.name, made.words) == ("a\ufffdb", ["\ufffd"])


GOOD: dict[str, Any] = {
    "type": "assistant",
    "uuid": "u",
    "parentUuid": "p",
    "isSidechain": True,
    "timestamp": "2026-01-05T09:00:00.000Z",
    "message": {
        "id": "msg_1",
        "model": "m",
        "content": [
            {"type": "text", "text": "hello"},
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
            {"type": "tool_result", "tool_use_id": "toolu_0", "content": [{"type": "text", "text": "out"}]},
        ],
        "usage": {"input_tokens": 3, "cache_creation": {"ephemeral_5m_input_tokens": 4}},
    },
}


@pytest.mark.parametrize(
    "name", ["isMeta", "cwd", "version", "agentId", "permissionMode", "subtype", "requestId", "slug"]
)
@pytest.mark.parametrize("odd", [None, 5, {"a": 1}, [1]], ids=str)
def test_one_odd_field_leaves_the_others_typed(name: str, odd: Any) -> None:
    entry = read_one({**GOOD, name: odd})
    assert (entry.uuid, entry.parent, entry.is_sidechain, entry.text) == ("u", "p", True, "hello")
    assert entry.uses[0].input == {"command": "ls"}
    assert entry.results[0].result_text == "out"
    assert entry.message is not None
    assert entry.message.usage is not None
    assert entry.message.usage.cache_creation is not None
    assert entry.message.usage.cache_creation.ephemeral_5m == 4
    assert entry.data == {**GOOD, name: odd}


def test_an_odd_line_says_so_and_an_ordinary_one_does_not() -> None:
    assert read_one(GOOD).leniency == ""
    assert "cwd" in read_one({**GOOD, "cwd": 5}).leniency


def test_its_neighbours_are_not_touched_by_an_odd_line() -> None:
    odd = {**GOOD, "cwd": 5}
    found = list(read(b"\n".join(map(encode, [GOOD, odd, GOOD]))))
    assert [item.leniency != "" for item in found if isinstance(item, Entry)] == [False, True, False]


@pytest.mark.parametrize("message", [None, "x", 5, [], {"content": 5}, {"content": {"type": "text"}}, {"id": 5}, {}])
def test_an_odd_message_has_no_text_and_fails_nothing(message: Any) -> None:
    entry = read_one({"type": "user", "uuid": "u", "message": message})
    assert (entry.uuid, entry.text, entry.uses, entry.results) == ("u", "", [], [])
    assert entry.data["message"] == message


def test_an_odd_block_costs_only_itself() -> None:
    content = ["bare", 5, None, {"type": "text", "text": 5}, {"type": "text", "text": "kept"}, {"text": "no type"}]
    entry = read_one({"type": "assistant", "message": {"content": content}})
    assert entry.text == "kept"
    assert [b.type for b in entry.blocks] == ["text", "text", ""]


NAMES = st.sampled_from(
    [
        "type",
        "uuid",
        "parentUuid",
        "message",
        "content",
        "timestamp",
        "isMeta",
        "data",
        "snapshot",
        "todos",
        "(line)",
        "x",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, JSON, max_size=8))
def test_any_object_is_an_entry_and_keeps_its_data(value: dict[str, Any]) -> None:
    entry = read_one(value)
    assert entry.data == value
    assert entry.type == (value["type"] if isinstance(value.get("type"), str) else "")
    assert entry.uuid == (value["uuid"] if isinstance(value.get("uuid"), str) else None)
    assert entry.line.number == 1
    assert isinstance(entry.text, str)


@pytest.mark.parametrize(("written", "read"), [(5.0, 5), (7.9, 7), (float("inf"), None), (True, None)])
def test_a_count_that_is_written_as_a_float_counts(written: object, read: int | None) -> None:
    assert convert_leniently(Tokens, {"input_tokens": written}).input_tokens == read


def test_a_list_where_no_list_can_be_is_dropped_without_a_walk_through_it() -> None:
    levels = '{"a":' * 3000 + "1" + "}" * 3000
    many = decode(f"[{','.join([levels] * 50)}]".encode())
    many.append("\ud800")  # a walk would have to replace it
    started = time.process_time()
    assert convert_leniently(Outer, dict.fromkeys(("name", "ratio", "open", "inner", "realName"), many)) == Outer()
    assert time.process_time() - started < 0.5
