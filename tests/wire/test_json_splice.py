"""Splicing changes the fields it is told to and no other byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.wire.json_splice import extract, join_array, join_fields, object_frame, splice, split_array, split_fields

Json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)
Objects = st.dictionaries(st.text(max_size=6), Json, max_size=6)


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ('{"a":1,"b":2}', {"a": b"3"}, '{"a":3,"b":2}'),
        ('{"a":1,"b":2}', {"b": None}, '{"a":1}'),
        ('{"a":1,"b":2}', {"a": None}, '{"b":2}'),
        ('{"a":1}', {"a": None}, "{}"),
        ('{"a":1}', {"b": b'"x"'}, '{"a":1,"b":"x"}'),
        ("{}", {"b": b"1"}, '{"b":1}'),
        ('{ "a" : 1 , "b" : 2 }', {"a": b"3"}, '{ "a" : 3 , "b" : 2 }'),
        ('{"a":{"b":1,"c":[1, 2]}}', {"a": {"b": b"2"}}, '{"a":{"b":2,"c":[1, 2]}}'),
        ('{"a":"text","b":1}', {"a": {"b": b"2"}}, '{"a":"text","b":1}'),
        (r'{"a":"\"b\":1","b":1}', {"b": b"2"}, r'{"a":"\"b\":1","b":2}'),
        (r'{"\u0061":1,"b":1.50}', {"a": b"2"}, r'{"\u0061":2,"b":1.50}'),
        ('{"a":1,"a":2}', {"a": b"3"}, '{"a":3}'),
        ('{"n":1e400,"a":1}', {"a": b"2"}, '{"n":1e400,"a":2}'),
    ],
)
def test_table(before: str, changes: dict[str, Any], after: str) -> None:
    assert splice(before.encode(), changes).decode() == after


@given(Objects, st.text(max_size=6), Json, st.booleans())
def test_a_field_is_put_or_taken_out(value: dict[str, Any], name: str, new: Any, spaced: bool) -> None:
    before = json.dumps(value, ensure_ascii=False, separators=None if spaced else (",", ":")).encode()
    put = splice(before, {name: json.dumps(new).encode()})
    assert json.loads(put) == {**value, name: new}
    out = splice(before, {name: None})
    assert json.loads(out) == {k: v for k, v in value.items() if k != name}
    if name in value:
        same = json.dumps(value[name], ensure_ascii=False, separators=None if spaced else (",", ":")).encode()
        assert splice(before, {name: same}) == before
    else:
        assert out == before


@given(st.lists(Json, max_size=5))
def test_elements_keep_their_bytes(values: list[Any]) -> None:
    written = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
    assert join_array(split_array(written)) == written


def test_bad_text_stays_as_it_is() -> None:
    assert splice(b'{"a":"\xff","b":1}', {"b": b"2"}) == b'{"a":"\xff","b":2}'
    assert split_array(b'["\xff"]') == [b'"\xff"']
    assert splice(b'{"\xff":1,"b":1}', {"b": b"2"}) == b'{"\xff":1,"b":2}'


def test_a_part_is_its_exact_bytes() -> None:
    assert extract(b'{"a":{"b":[1, 2]}}', "a", "b") == b"[1, 2]"
    assert extract(b'{"a":1}', "b") == b""
    assert extract(b'{"a":1}', "a", "b") == b""
    assert extract(b'{"a":"\xff"}', "a") == b'"\xff"'
    assert extract(b'{"a":1,"\xff":1}', "a") == b"1"


@pytest.mark.parametrize("text", [rb"\ud83d\u2028", b"\xff\xfe", rb"half \udc00 of a pair \u00e9", b"raw \xe2\x80\xa8"])
def test_a_text_that_cannot_be_decoded_keeps_its_bytes(text: bytes) -> None:
    line = b'{"a": "' + text + b'" , "id":"1","inner":{"b":["' + text + b'"],"id":"2"}}'
    assert splice(line, {"id": b'"9"', "inner": {"id": b'"8"'}}) == line.replace(b'"1"', b'"9"').replace(b'"2"', b'"8"')
    compact = line.replace(b'": "', b'":"').replace(b" ,", b",").replace(b', "id"', b',"id"')
    fields = split_fields(compact)
    assert fields is not None
    assert join_fields(object_frame(fields), fields.values()) == compact
