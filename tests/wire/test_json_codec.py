"""JSON in and out: what goes out reads back the same, and what JavaScript reads is never refused."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from clew.wire.json_codec import (
    decode,
    decode_deep,
    decode_loosely,
    decode_slowly,
    encode,
    encode_slowly,
    replace_surrogates,
    scan,
)


def _paired(text: str) -> str:
    """Surrogates that happen to stand side by side as a pair are one character, in JSON and here."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


TEXTS = st.text(st.characters(exclude_categories=()), max_size=12).map(_paired)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=4) | st.dictionaries(TEXTS, v, max_size=4), max_leaves=20)


@given(VALUES)
def test_what_was_encoded_decodes_to_the_same(value: Any) -> None:
    assert decode(encode(value)) == value


@given(VALUES)
def test_both_encoders_agree_and_what_they_write_is_json_on_one_line(value: Any) -> None:
    written = encode(value)
    assert encode_slowly(value) == written
    assert json.loads(written) == value
    assert b"\n" not in written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": [1, True, None]}, b'{"a":[1,true,null]}'),
        ("ä木\U0001f33f\u2028\x7f/", '"ä木\U0001f33f\u2028\x7f/"'.encode()),
        ('\x00\x08\t\n\x0c\r\x1f"\\', b'"\\u0000\\b\\t\\n\\f\\r\\u001f\\"\\\\"'),
        ("\ud83d", b'"\\ud83d"'),
        ({"\udc00k": "\ud800v"}, b'{"\\udc00k":"\\ud800v"}'),
        ([], b"[]"),
        ({}, b"{}"),
        (["\ud800", {}, [], {"a": {}}], b'["\\ud800",{},[],{"a":{}}]'),
        (1e-7, b"1e-7"),
        (0.1, b"0.1"),
        (123456789012345678901234567890, b"123456789012345678901234567890"),
    ],
)
def test_the_form_is_that_of_json_stringify(value: Any, written: bytes) -> None:
    assert encode(value) == written


def test_a_lone_surrogate_does_not_change_how_the_rest_is_written() -> None:
    rest = {"tiny": 1e-7, "text": "ä\u2028\x7f\x1f", "huge": 10**30, "none": None}
    assert encode({**rest, "odd": "\ud800"}) == encode(rest)[:-1] + b',"odd":"\\ud800"}'


def test_no_number_is_written_that_json_does_not_have() -> None:
    assert encode([math.inf, -math.inf, math.nan]) == b"[null,null,null]"
    assert encode(["\ud800", math.inf, math.nan]) == b'["\\ud800",null,null]'


def test_surrogates_that_belong_together_become_one_character() -> None:
    assert decode(b'"\\ud83c\\udf3f"') == "\U0001f33f"
    assert encode(decode(b'"\\ud83c\\udf3f"')) == '"\U0001f33f"'.encode()


@pytest.mark.parametrize(("opener", "closer"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_ten_thousand_levels_go_in_and_out(opener: bytes, closer: bytes) -> None:
    raw = opener * 10_000 + b'"\\ud800"' + closer * 10_000
    assert encode(decode(raw)) == raw


def test_a_tuple_is_an_array_in_both_encoders() -> None:
    assert encode((1, "a")) == b'[1,"a"]'
    assert encode((1, "\ud800")) == b'[1,"\\ud800"]'


@pytest.mark.parametrize("raw", [b"", Raw()])
def test_no_text_is_no_value(raw: bytes | Raw) -> None:
    assert decode(raw) is None


def test_a_raw_field_decodes() -> None:
    assert decode(Raw(b'{"a":1}')) == {"a": 1}


@pytest.mark.req("R057")
@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'"a\xffb"', "a\ufffdb"),
        (b'{"\xc3":1}', {"\ufffd": 1}),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
        (b'"cut \xe2\x82"', "cut \ufffd"),
    ],
)
def test_bytes_that_are_not_utf8_are_replaced(raw: bytes, value: Any) -> None:
    assert decode(raw) == value


@pytest.mark.parametrize("digits", [19, 20, 30, 4300])
def test_integers_keep_every_digit(digits: int) -> None:
    raw = b"-" + b"9" * digits
    assert decode(raw) == -(10**digits) + 1
    assert encode(decode(raw)) == raw


def test_an_integer_of_five_thousand_digits_is_read_as_javascript_does() -> None:
    assert decode(b"[1" + b"0" * 5000 + b"]") == [math.inf]
    assert decode(b"[" + b"[" * 2000 + b"1" + b"0" * 5000 + b"]" * 2001)


def test_of_two_equal_keys_the_last_counts() -> None:
    assert decode(b'{"a":1,"b":2,"a":3}') == {"a": 3, "b": 2}
    assert decode(b'{"a":"\xff","a":3}') == {"a": 3}


NOT_JSON = [
    b"NaN", b"-Infinity", b"[Infinity]", b"{", b"[1,]", b'{"a":1,}', b"{,}", b'{"a"}', b'{"a":}', b"{1:2}", b"01", b"1.",
    b".5", b"+1", b"1e", b"'a'", b'"a', b'"\\x"', b'"\\u12"', b'"a\x00b"', b'"a\nb"', b"tru", b"1 2", b"{}{}", b"[1 2]",
    b"]", b"[}", b'{"a":1]', b"\x00", b"\xff", b"\xef\xbb\xbf{}", b"\xc2\xa01",
]  # fmt: skip


@pytest.mark.parametrize("raw", NOT_JSON)
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError):
        decode(raw)
    with pytest.raises(ValueError):
        decode_deep(raw.decode("utf-8", "replace"))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _outcome(read: Any, text: str) -> Any:
    try:
        return json.dumps(read(text), sort_keys=True)
    except ValueError:
        return ValueError


@given(VALUES, st.sampled_from([None, 1, "\t"]))
def test_the_deep_decoder_agrees_with_the_standard_one(value: Any, indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    assert decode_deep(f" {text}\r\n") == json.loads(text) == decode_slowly(text.encode())


@given(VALUES, st.data())
def test_the_deep_decoder_refuses_what_the_standard_one_refuses(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    gone = data.draw(st.integers(0, 2))
    broken = text[:at] + data.draw(st.sampled_from(["", *'{}[]",:\\ 1-e.tN'])) + text[at + gone :]
    assert _outcome(decode_deep, broken) == _outcome(lambda t: json.loads(t, parse_constant=_refuse), broken)


@given(st.binary(max_size=40))
def test_any_bytes_decode_or_raise_a_value_error(raw: bytes) -> None:
    for read in (decode, decode_slowly, decode_loosely):
        try:
            read(raw)
        except ValueError:
            pass


def test_scanning_stops_behind_the_value_at_any_depth() -> None:
    assert scan('xx{"a":1}{"b":2}', 2) == ({"a": 1}, 9)
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    value, stop = scan(f"..{deep}{{}}", 2)
    assert stop == 2 + len(deep)
    assert encode(value).decode() == deep


@pytest.mark.parametrize("end", ["", "]", ",", '"b"', ":", "1"])
def test_an_error_at_any_depth_says_where_it_is(end: str) -> None:
    shallow, deep = '{"a":', '{"a":' * 5000
    with pytest.raises(json.JSONDecodeError) as near:
        scan(shallow + "{}" + end)
    with pytest.raises(json.JSONDecodeError) as far:
        scan(deep + "{}" + end)
    assert far.value.pos - len(deep) == near.value.pos - len(shallow)


def test_only_the_loose_decoder_takes_control_characters_and_nan() -> None:
    assert decode_loosely(b'{"a":"x\x00\x01\ny"}') == {"a": "x\x00\x01\ny"}
    assert math.isnan(decode_loosely(b"NaN"))


def test_a_deep_value_without_lone_surrogates_is_not_copied() -> None:
    deep = decode(b'{"a":' * 3000 + b'"\xc3\xa9 \\\\ud800"' + b"}" * 3000)
    assert replace_surrogates(deep) is deep


def test_lone_surrogates_are_replaced_at_any_depth() -> None:
    deep = decode(b'{"a":' * 3000 + b'"\\ud800"' + b"}" * 3000)
    assert encode(replace_surrogates(deep)) == b'{"a":' * 3000 + '"\ufffd"'.encode() + b"}" * 3000
