"""Splicing: other values for some fields of a JSON object, and every other byte as it was.

A change names a field and the JSON to put there, the changes inside it, or None to take the field out. A field that is
not there is added at the end. An object that cannot be walked (bad UTF-8, a key that is there twice) is encoded anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from clew.wire.json_codec import decode_slowly, encode

Changes: TypeAlias = "Mapping[str, bytes | Changes | None]"

_OPEN = re.compile(rb"\s*\{")
_KEY = re.compile(rb'[\s,]*"(?:[^"\\]|\\.)*"\s*:\s*')
_CLOSE = re.compile(rb"\s*\}")
_FIRST_COMMA = re.compile(rb"(\s*\{)\s*,")
_SPACE = 0x20  # and below it all that may stand between values
_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ELEMENTS = msgspec.json.Decoder(list[Raw])


def splice(json: bytes, changes: Changes) -> bytes:
    """A JSON object with these fields changed."""
    try:
        fields = _FIELDS.decode(json)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return encode(_changed(decode_slowly(json), changes))
    spans = _spans(json, fields)
    if spans is None:
        return encode(_changed(decode_slowly(json), changes))
    done: list[bytes] = []
    at = 0
    for name, (begin, start, stop) in spans.items():
        if name in changes:
            change = changes[name]
            done += (json[at:begin],) if change is None else (json[at:start], _value(json[start:stop], change))
            at = stop
    added = [(name, change) for name, change in changes.items() if change is not None and name not in spans]
    closing = json.rindex(b"}")
    done.append(json[at:closing])
    done += (b"," + encode(name) + b":" + _value(b"{}", change) for name, change in added)
    return _without_first_comma(b"".join(done)) + json[closing:]


def elements(json: bytes | Raw) -> list[bytes]:
    """The exact bytes of each element of a JSON array."""
    try:
        return [bytes(element) for element in _ELEMENTS.decode(json)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return [encode(element) for element in decode_slowly(bytes(json))]


class Gone:
    """Stands in a list for an element that is to be taken out."""


GONE = Gone()


def patched(json: bytes, old: Any, new: Any) -> bytes:
    """The JSON of a value that became another: what is the same object in both keeps its bytes."""
    if new is old:
        return json
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        changed = [name for name in old if new[name] is not old[name]]
        return splice(json, {name: patched(part(json, name), old[name], new[name]) for name in changed})
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = zip(elements(json), old, new, strict=True)
        return array([patched(raw, before, after) for raw, before, after in pairs if after is not GONE])
    return encode(_without_gone(new))


def _without_gone(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_gone(inner) for name, inner in value.items()}
    return [_without_gone(each) for each in value if each is not GONE] if isinstance(value, list) else value


def array(parts: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(parts) + b"]"


def part(json: bytes, *path: str) -> bytes:
    """The exact bytes of a value inside an object; nothing if it is not there."""
    for name in path:
        try:
            found = _FIELDS.decode(json).get(name)
        except msgspec.ValidationError:  # no object
            return b""
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            value = decode_slowly(json)
            found = Raw(encode(value[name])) if isinstance(value, dict) and name in value else None
        if found is None:
            return b""
        json = bytes(found)
    return json


def _spans(json: bytes, fields: Mapping[str, Raw]) -> dict[str, tuple[int, int, int]] | None:
    """Where each field begins (with the comma before it), and its value begins and ends.

    Each value is as long as it was decoded, and the next key stands right behind it; a key that is there twice leaves a
    rest at the end.
    """
    opened = _OPEN.match(json)
    if opened is None:
        return None
    found: dict[str, tuple[int, int, int]] = {}
    at = opened.end()
    for name, value in fields.items():
        plain = b',"%b":' % name.encode() if found else b'"%b":' % name.encode()
        if json.startswith(plain, at) and json[at + len(plain)] > _SPACE:
            start = at + len(plain)
        elif key := _KEY.match(json, at):
            start = key.end()
        else:
            return None
        stop = start + len(memoryview(value))
        found[name] = (at, start, stop)
        at = stop
    return found if _CLOSE.match(json, at) else None


def _value(json: bytes, change: bytes | Changes) -> bytes:
    if isinstance(change, bytes):
        return change
    return splice(json, change) if json.startswith(b"{") else json


def _without_first_comma(text: bytes) -> bytes:
    """When the first field is gone, the comma before the next one leads the object."""
    found = _FIRST_COMMA.match(text)
    return found[1] + text[found.end() :] if found else text


def _changed(value: Any, changes: Changes) -> Any:
    found = dict(value)
    for name, change in changes.items():
        if change is None:
            found.pop(name, None)
        elif isinstance(change, bytes):
            found[name] = decode_slowly(change)
        else:
            found[name] = _changed(found[name], change) if isinstance(found.get(name), dict) else found.get(name, {})
    return found
