"""Damage: every whole object of a broken line is saved from its exact place, and no part of one is taken for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.wire.entry import Damaged, Entry, entries, read

Json = dict[str, Any]


def user(uuid: str, text: str = "hi") -> Json:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "sessionId": "s",
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": text}]},
        "uuid": uuid,
        "count": 12,
        "nested": {"input_tokens": 3, "tags": []},
    }


def line(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


A, B, C = user("a", 'ä "quoted" {code} {} \U0001f33f'), user("b", "größer"), user("c")
PROGRESS: Json = {
    "parentUuid": "p",
    "sessionId": "s",
    "type": "progress",
    "data": {
        "message": {
            "type": "assistant",
            "timestamp": "2026-01-05T09:00:00.000Z",
            "message": {
                "id": "msg_1",
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "t",
                        "name": "Bash",
                        "input": {"command": 'f() { echo "{}"; }; g(){}', "x": {}},
                    },
                    {"type": "text", "text": 'é€\U0001f33f if {" { " : {'},
                ],
                "usage": {"input_tokens": 3, "cache_creation": {"ephemeral_5m_input_tokens": 0}, "ratio": -1.5e-7},
            },
            "uuid": "nested",
        },
        "normalizedMessages": [{"type": "user", "uuid": "nested too"}],
        "type": "agent_progress",
    },
    "odd {": "{",
    "uuid": "a",
    "timestamp": "2026-01-05T09:00:00.000Z",
}


def salvage(raw: bytes, before: bytes = b'{"type":"first"}\n') -> tuple[Damaged, list[Json]]:
    """The damaged line `raw` behind another one, and what was saved from it, each checked against the file."""
    file = before + raw + b'\n{"type":"last"}\n'
    first, item, last = read(file)
    assert isinstance(first, Entry)
    assert isinstance(item, Damaged)
    assert isinstance(last, Entry)
    assert (item.line.number, item.line.offset, item.raw) == (2, len(before), raw + b"\n")
    for entry in item.salvaged:
        there = file[entry.offset : entry.offset + len(entry.raw)]
        assert there == entry.raw
        assert json.loads(there.decode("utf-8", "replace"), strict=False) == entry.data
        assert entry.is_salvaged
        assert entry.line.number == 2
        assert entry.type == entry.data.get("type", "")
        assert entry.uuid == entry.data.get("uuid")
    return item, [entry.data for entry in item.salvaged]


# -- two objects on one line


@pytest.mark.req("R051")
@pytest.mark.parametrize("between", [b"", b" ", b"\t", b"\r"])
def test_objects_on_one_line_are_both_there(between: bytes) -> None:
    item, saved = salvage(line(A) + between + line(B))
    assert (item.kind, saved) == ("joined", [A, B])


def test_any_number_of_objects_on_one_line_are_there() -> None:
    assert salvage(line(A) + line(B) + b"{}" + line(C) + b'{"a":1}')[1] == [A, B, {}, C, {"a": 1}]


def test_a_whole_object_before_a_cut_one_is_there() -> None:
    assert salvage(line(A) + line(B)[:40])[1] == [A]
    assert salvage(line(A)[:60] + line(B) + b'"usage": {"input_tokens": 3}')[1] == [B]


# -- a cut object with a whole one behind it

CUTS = {
    "in a string": '"text":"ä \\"quo',
    "in an escape": '"text":"ä \\',
    "at a brace in a string": '\\"quoted\\" {',
    "behind braces in a string": "{code} {}",
    "in a key": '"parentU',
    "behind a key": '"parentUuid"',
    "in a literal": '"parentUuid":nu',
    "in a number": '"count":1',
    "behind a colon": '"message":',
    "behind a comma": '"isSidechain":false,',
    "in a nested block": '"content":[{"type":"te',
    "behind a nested block": '\\"quoted\\" {code} {} \U0001f33f"}',
    "behind an array's bracket": '"content":[',
    "behind a brace": '"nested":{',
    "behind a nested object": '"nested":{"input_tokens":3,"tags":[]}',
    "behind the first brace": "{",
}


@pytest.mark.parametrize("where", CUTS)
def test_the_object_behind_a_cut_one_is_there(where: str) -> None:
    text = line(A).decode()
    cut = text[: text.index(CUTS[where]) + len(CUTS[where])].encode()
    item, saved = salvage(cut + line(B))
    assert (item.kind, saved) == ("spliced", [B])
    assert salvage(cut + line(B) + line(C))[1] == [B, C]
    assert salvage(cut + line(B)[:90] + line(C))[1] == [C]
    assert salvage(cut)[1] == []


def test_a_cut_inside_a_character_is_survived() -> None:
    whole = line(A)
    at = whole.index("\U0001f33f".encode())
    for cut in range(at + 1, at + 4):
        assert salvage(whole[:cut] + line(B))[1] == [B]


@pytest.mark.parametrize("behind", [[], [B], [B, C], [{"type": "custom-title", "customTitle": "{}", "sessionId": "s"}]])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["compact", "spaced"])
@pytest.mark.parametrize("padding", [b"", b"\0" * 7])
def test_wherever_a_line_is_cut_all_behind_it_is_there_and_nothing_else(
    behind: list[Json], separators: tuple[str, str], padding: bytes
) -> None:
    cut_off = json.dumps(PROGRESS, ensure_ascii=False, separators=separators).encode()
    rest = b"".join(padding + json.dumps(value, separators=separators).encode() for value in behind)
    for at in range(1, len(cut_off)):
        assert salvage(cut_off[:at] + rest)[1] == behind, cut_off[:at]


def test_a_message_inside_a_cut_progress_line_is_no_entry() -> None:
    whole = line(PROGRESS)
    behind_message = whole.index(b',"normalizedMessages"')
    assert whole[:behind_message].endswith(b'"uuid":"nested"}')
    for cut in (behind_message, behind_message + 1, whole.index(b',"type":"agent_progress"')):
        assert salvage(whole[:cut])[1] == []
        assert salvage(whole[:cut] + line(B))[1] == [B]


def test_what_looks_like_an_entry_inside_a_cut_one_is_none() -> None:
    inside = {"type": "note", "sessionId": "s", "text": "an input that was given to a tool"}
    whole = line({"type": "assistant", "input": inside, "uuid": "u"})
    assert salvage(whole[:-5])[1] == []
    assert salvage(whole[:-5] + line(B))[1] == [B]


def test_the_rest_of_a_line_whose_beginning_was_overwritten_holds_no_entries() -> None:
    whole = line(PROGRESS)
    for at in range(1, len(whole)):
        assert salvage(whole[at:])[1] == [], whole[at:]
        assert salvage(whole[at:] + line(B))[1] == [B], whole[at:]


# -- NUL padding


@pytest.mark.parametrize("count", [1, 512, 4096])
def test_padding_before_behind_and_between_is_skipped(count: int) -> None:
    nul = b"\0" * count
    for raw in (nul + line(A), line(A) + nul, nul + line(A) + nul, nul + b" " + line(A) + b"\r"):
        item, saved = salvage(raw)
        assert (item.kind, saved) == ("nul", [A])
    assert salvage(nul + line(A) + nul + line(B) + nul)[1] == [A, B]
    assert salvage(b"{}" + nul + b'{"a":1}' + nul)[1] == [{}, {"a": 1}]


def test_padding_alone_is_damage_without_anything_in_it() -> None:
    item, saved = salvage(b"\0" * 100)
    assert (item.kind, saved) == ("nul", [])


def test_padding_inside_an_object_breaks_it_and_not_the_next() -> None:
    whole = line(A)
    for at in (1, 15, whole.index(b'"text":"') + 9, whole.index(b"12,") + 1, len(whole) - 1):
        item, saved = salvage(whole[:at] + b"\0" * 64 + line(B))
        assert (item.kind, saved) == ("nul", [B])


def test_padding_inside_a_string_is_part_of_it() -> None:
    item, saved = salvage(line(A).replace(b"quoted", b"quo\0\0ted"))
    assert item.kind == "nul"
    assert [value["message"]["content"][0]["text"] for value in saved] == [
        A["message"]["content"][0]["text"].replace("quoted", "quo\0\0ted")
    ]
    assert item.salvaged[0].text.count("\0") == 2


def test_six_of_six_recoverable_messages_come_back_from_the_three_kinds_of_damage() -> None:
    whole = [line(user(f"m{i}", f"message {i} ü")) for i in range(1, 7)]
    file = b"\n".join(
        [
            line(user("before")),
            whole[0] + whole[1],  # a file without a final newline was continued
            line(A)[:77] + whole[2],  # two writers
            b"\0" * 512 + whole[3],  # a crash of the file system
            whole[4] + b"\0" * 33 + line(A)[:120] + whole[5],
            line(user("after")),
            line(A)[:50],
        ]
    )
    items = list(read(file))
    assert [type(item) for item in items] == [Entry, Damaged, Damaged, Damaged, Damaged, Entry, Damaged]
    assert [e.uuid for e in entries(items)] == ["before", "m1", "m2", "m3", "m4", "m5", "m6", "after"]
    for entry in entries(items):
        assert json.loads(file[entry.offset : entry.offset + len(entry.raw)]) == entry.data
    assert b"".join(item.raw for item in items) == file


# -- lines that are no objects


@pytest.mark.parametrize(
    "raw", [b"[]", b"[1,2]", b"1", b"null", b'"text"', b"NaN", b"x", b"}", b"{", b'{"', b"\xff\xfe", b"}{"]
)
def test_what_is_no_object_is_damage_without_anything_in_it(raw: bytes) -> None:
    item, saved = salvage(raw)
    assert (item.kind, saved) == ("unreadable", [])
    assert item.reason


def test_a_torn_line_at_the_end_is_told_from_one_inside() -> None:
    (item,) = read(line(A)[:50])
    assert isinstance(item, Damaged)
    assert (item.kind, item.salvaged, item.line.is_terminated) == ("torn", (), False)


@pytest.mark.parametrize("raw", [b'{"type":"x","a":NaN}', b'{"type":"x","a":"b\x01c"}', b'{"type":"x","a":"b\x0bc"}'])
def test_an_object_that_no_reader_takes_is_shown_all_the_same(raw: bytes) -> None:
    (item,) = read(raw + b"\n")
    assert isinstance(item, Damaged)
    assert item.kind == "unreadable"
    assert [(entry.type, entry.raw, list(entry.data)) for entry in item.salvaged] == [("x", raw, ["type", "a"])]


def test_entries_in_an_array_are_saved_and_other_objects_are_not() -> None:
    assert salvage(b"[" + line(B) + b"," + line(C) + b"]")[1] == [B, C]
    assert salvage(b'[{"a":1},{"b":2}]')[1] == []


def test_the_members_of_an_object_over_several_lines_are_no_entries() -> None:
    for raw in (b'"message": {"role": "user"},', b'"usage": {"input_tokens": 3}', b'"input": {}', b'"x": [{"a": 1}'):
        assert salvage(raw)[1] == []


@pytest.mark.parametrize("junk", [b"garbage ", b"\xff\xfe", b"}", b"]", b"42 "])
def test_an_object_behind_junk_is_saved(junk: bytes) -> None:
    assert salvage(junk + line(B))[1] == [B]
    assert salvage(junk + b'{"a":1}')[1] == [{"a": 1}]


def test_bad_bytes_in_a_saved_object_are_replaced_as_everywhere() -> None:
    item, _ = salvage(line(A)[:60] + line(B).replace(b"gr", b"gr\xff"))
    assert item.salvaged[0].text == "gr\ufffdößer"


# -- no damage takes long


@pytest.mark.parametrize("size", [100_000])
@pytest.mark.parametrize(
    "unit", [b'{"a', b'{"a":', b'{"a":{"b":1},"c', b"{}", b'{"a":1}', b'"a":{"b":1},', b"[{", b'{"a":"\\']
)
def test_repeated_damage_is_read_in_one_go(unit: bytes, size: int) -> None:
    item, _ = salvage(unit * (size // len(unit)) + b"\xff", before=b"{}\n")
    assert item.raw


def test_a_deep_object_with_another_behind_it() -> None:
    deep = b'{"type":"user","sessionId":"s","x":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001
    (item,) = read(deep + line(B) + b"\n")
    assert isinstance(item, Damaged)
    assert [(e.offset, e.raw) for e in item.salvaged] == [(0, deep), (len(deep), line(B))]
    (item,) = read(deep[:-1] + line(B) + b"\n")
    assert isinstance(item, Damaged)
    assert [e.data for e in item.salvaged] == [B]


def test_a_huge_integer_does_not_hide_its_object() -> None:
    huge = b'{"type":"user","sessionId":"s","nested":{"type":"x","sessionId":"y"},"n":' + b"7" * 5000 + b"}"
    (item,) = read(huge + line(B) + b"\n")
    assert isinstance(item, Damaged)
    assert [(e.offset, e.raw) for e in item.salvaged] == [(0, huge), (len(huge), line(B))]


PARTS = st.lists(
    st.sampled_from(
        [line(A), line(B), b"{}", b'{"a":1}', b"\0\0", b"}", b"{", b'"', b"[", b",", b":", b"\\", b"\xff", b" "]
    )
    | st.integers(1, 200).map(lambda n: line(A)[:n])
    | st.integers(1, 200).map(lambda n: line(PROGRESS)[-n:]),
    max_size=8,
).map(b"".join)


@given(PARTS)
def test_whatever_is_saved_stands_in_the_file_apart_from_the_others(raw: bytes) -> None:
    place = 0
    for entry in entries(read(raw)):
        assert entry.offset >= place
        place = entry.offset + len(entry.raw)
        assert raw[entry.offset : place] == entry.raw
        assert isinstance(entry.data, dict)
