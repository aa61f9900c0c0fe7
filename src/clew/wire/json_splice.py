"""Replace some fields of a JSON object and keep every other byte.

A change maps a field to new JSON, to changes inside it, or to None to remove it. A missing field is appended. An
object that cannot be traversed (a duplicate key, damage) is encoded from its decoded value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from clew.wire.json_codec import decode_slowly, encode

Changes: TypeAlias = "Mapping[str, bytes | Changes | None]"
Fields: TypeAlias = dict[str, bytes | Raw]

_OPEN = re.compile(rb"\s*\{")
_KEY = re.compile(rb'[\s,]*"(?:[^"\\]|\\.)*"\s*:\s*')
_CLOSE = re.compile(rb"\s*\}")
_FIRST_COMMA = re.compile(rb"(\s*\{)\s*,")
_SPACE = 0x20  # this and lower bytes can separate values
_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ELEMENTS = msgspec.json.Decoder(list[Raw])


def splice(json: bytes, changes: Changes) -> bytes:
    """Return a JSON object with some fields changed."""
    fields = split_fields(json)
    spans = None if fields is None else _field_spans(json, fields)
    if spans is None:
        return encode(_apply_changes(decode_slowly(json), changes))
    # Example: splice(b'{"a": 1, "b": 2}', {"a": b"5", "b": None, "c": b"3"}) is b'{"a": 5,"c":3}': bytes that no change
    # touches are copied, so that a line keeps its spaces and the order of its fields.
    chunks: list[bytes] = []
    at = 0
    for name, (begin, start, stop) in spans.items():
        if name in changes:
            change = changes[name]
            chunks += (
                (json[at:begin],) if change is None else (json[at:start], _changed_value(json[start:stop], change))
            )
            at = stop
    added = [(name, change) for name, change in changes.items() if change is not None and name not in spans]
    closing = json.rindex(b"}")
    chunks.append(json[at:closing])
    chunks += (b"," + encode(name) + b":" + _changed_value(b"{}", change) for name, change in added)
    return _without_first_comma(b"".join(chunks)) + json[closing:]


def split_fields(json: bytes | memoryview) -> Fields | None:
    """Return the exact bytes of each field of an object; None if it cannot be traversed."""
    try:
        return _FIELDS.decode(json)  # type: ignore[return-value]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _scan_fields(bytes(json))


def _scan_fields(json: bytes) -> Fields | None:
    """Split an object that msgspec refuses: half of a surrogate pair (`"\\ud83d"`), as JavaScript writes it, or bad UTF-8.

    It is read with one character for each byte, so that positions are those of the bytes.
    """
    from json import JSONDecoder

    text = json.decode("latin-1")
    fields: Fields = {}
    decode_value = JSONDecoder(strict=False).raw_decode
    opening = _OPEN.match(json)
    at = opening.end() if opening else 0
    try:
        while key := _KEY.match(json, at):
            name = decode_slowly(key[0][key[0].index(b'"') : key[0].rindex(b'"') + 1])
            _, at = decode_value(text, key.end())
            name.encode()  # raises ValueError for a name that is not UTF-8
            if name in fields:
                return None
            fields[name] = json[key.end() : at]
    except (ValueError, RecursionError):
        return None
    return fields if opening and _CLOSE.match(json, at) else None


def object_frame(names: Iterable[str]) -> list[bytes]:
    """Return what surrounds the values of a compact object with these names: `{"a":`, a place, `,"b":`, a place, `}`."""
    starts = [b'%b"%b":' % (b"," if at else b"{", name.encode()) for at, name in enumerate(names)]
    return [part for start in starts for part in (start, b"")] + [b"}"]


def join_fields(frame: list[bytes], values: Iterable[bytes | Raw]) -> bytes:
    """Return a compact object of the values in the places of a frame that `object_frame` returned for their names.

    It is as long as the object that `split_fields` took apart only if all of its bytes are in it: white space, a repeated
    field or an escape in a name makes that one longer.
    """
    parts: list[Any] = frame.copy()
    parts[1::2] = values
    return b"".join(parts)  # a `Raw` is a buffer


def split_array(json: bytes | Raw) -> list[bytes]:
    """Return the exact bytes of each element of a JSON array."""
    try:
        return [bytes(element) for element in _ELEMENTS.decode(json)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return [encode(element) for element in decode_slowly(bytes(json))]


class Removed:
    """Marks an element of a list that must be removed."""


REMOVED = Removed()


def patch_json(json: bytes, old: Any, new: Any) -> bytes:
    """Return the JSON of `old` changed to that of `new`; parts that are the same object in both keep their bytes."""
    if new is old:
        return json
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        changed = [name for name in old if new[name] is not old[name]]
        return splice(json, {name: patch_json(extract(json, name), old[name], new[name]) for name in changed})
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = zip(split_array(json), old, new, strict=True)
        return join_array([patch_json(raw, before, after) for raw, before, after in pairs if after is not REMOVED])
    return encode(_drop_removed(new))


def _drop_removed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _drop_removed(inner) for name, inner in value.items()}
    return [_drop_removed(element) for element in value if element is not REMOVED] if isinstance(value, list) else value


def join_array(parts: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(parts) + b"]"


def extract(json: bytes, *path: str) -> bytes:
    """Return the exact bytes of a value inside an object; b"" if it is missing."""
    for name in path:
        try:
            value_json = _FIELDS.decode(json).get(name)
        except msgspec.ValidationError:  # not an object
            return b""
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            value = decode_slowly(json)
            value_json = Raw(encode(value[name])) if isinstance(value, dict) and name in value else None
        if value_json is None:
            return b""
        json = bytes(value_json)
    return json


def _field_spans(json: bytes, fields: Fields) -> dict[str, tuple[int, int, int]] | None:
    """Return for each field where it begins (with the comma before it), and where its value begins and ends.

    The decoder gives the length of each value and the next key follows it directly. A duplicate key leaves unread
    bytes at the end; then the result is None. For `{"a":1,"b":2}` it is {"a": (1, 5, 6), "b": (6, 11, 12)}.
    """
    opened = _OPEN.match(json)
    if opened is None:
        return None
    spans: dict[str, tuple[int, int, int]] = {}
    at = opened.end()
    for name, value in fields.items():
        plain = b',"%b":' % name.encode() if spans else b'"%b":' % name.encode()
        if json.startswith(plain, at) and json[at + len(plain)] > _SPACE:
            start = at + len(plain)
        elif key := _KEY.match(json, at):
            start = key.end()
        else:
            return None
        stop = start + len(memoryview(value))
        spans[name] = (at, start, stop)
        at = stop
    return spans if _CLOSE.match(json, at) else None


def _changed_value(json: bytes, change: bytes | Changes) -> bytes:
    if isinstance(change, bytes):
        return change
    return splice(json, change) if json.startswith(b"{") else json


def _without_first_comma(text: bytes) -> bytes:
    """Remove the comma that leads the object when its first field was removed."""
    match = _FIRST_COMMA.match(text)
    return match[1] + text[match.end() :] if match else text


def _apply_changes(value: Any, changes: Changes) -> Any:
    fields = dict(value)
    for name, change in changes.items():
        if change is None:
            fields.pop(name, None)
        elif isinstance(change, bytes):
            fields[name] = decode_slowly(change)
        else:
            fields[name] = (
                _apply_changes(fields[name], change) if isinstance(fields.get(name), dict) else fields.get(name, {})
            )
    return fields
