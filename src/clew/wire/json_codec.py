"""JSON in and out: the one encoder of the package, and a decoder that no input can break.

Text goes out as JavaScript's `JSON.stringify` would write it (compact, non-ASCII as it is, lone surrogates escaped),
because that is what the files hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import msgspec

_LONE = re.compile("[\ud800-\udfff]")
_TEXT = json.JSONEncoder(ensure_ascii=False)  # made once: `json.dumps` makes one for every text
_REPLACED = re.compile(rb"((?<!\\)(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")  # an escape, not an escaped backslash and letters


def encode(value: Any) -> bytes:
    """One compact line of JSON, without its newline."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, RecursionError):
        return encode_slowly(value)


def encode_slowly(value: Any) -> bytes:
    """What the fast encoder refuses: lone surrogates, and any depth (with a list for a stack)."""
    done: list[bytes] = []
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, _Written):
            done.append(item)
        elif isinstance(item, str):
            done.append(_text(item))
        elif isinstance(item, dict):
            pairs = [(_Written(_text(str(key)) + b":"), each) for key, each in item.items()]
            todo += _pending(b"{", pairs, b"}")
        elif isinstance(item, list | tuple):
            todo += _pending(b"[", [(each,) for each in item], b"]")
        else:
            done.append(msgspec.json.encode(item))
    return b"".join(done)


class _Written(bytes):
    """A piece of JSON among values that are not written yet."""


def _pending(opener: bytes, members: list[tuple[Any, ...]], closer: bytes) -> list[Any]:
    """An object or array in reverse: the last is taken first."""
    found: list[Any] = [_Written(opener)]
    for index, member in enumerate(members):
        found += (_Written(b","), *member) if index else member
    return [*found, _Written(closer)][::-1]


def _text(value: str) -> bytes:
    return _LONE.sub(lambda m: f"\\u{ord(m[0]):04x}", _TEXT.encode(value)).encode()


def as_text(value: Any) -> str:
    """`str` of a JSON value; of an object or array its JSON, because the `repr` of a deep one fails."""
    return encode(value).decode() if isinstance(value, dict | list) else str(value)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value of any depth with every text in it changed; the names of fields stay."""
    root: list[Any] = [None]
    todo: list[tuple[Any, Any, Any]] = [(value, root, 0)]
    while todo:
        item, holder, place = todo.pop()
        if isinstance(item, dict):
            holder[place] = dict.fromkeys(item)
            todo += [(each, holder[place], key) for key, each in item.items()]
        elif isinstance(item, list):
            holder[place] = [None] * len(item)
            todo += [(each, holder[place], index) for index, each in enumerate(item)]
        else:
            holder[place] = change(item) if isinstance(item, str) else item
    return root[0]


def replace_surrogates(value: Any) -> Any:
    """A decoded JSON value in which every lone surrogate is U+FFFD; the value itself if it has none."""
    if isinstance(value, str):
        return value if value.isascii() else _LONE.sub("\ufffd", value)
    if not isinstance(value, dict | list):
        return value
    try:
        msgspec.json.encode(value)
        return value
    except (UnicodeEncodeError, RecursionError):
        replaced, count = _REPLACED.subn(rb"\1\\ufffd", encode_slowly(value))
        return decode(replaced) if count else value


def decode(raw: bytes | msgspec.Raw) -> Any:
    """The value of a JSON text; None for no text at all. Raises ValueError if it is not JSON."""
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return decode_slowly(bytes(raw))


def decode_readable(raw: bytes | msgspec.Raw) -> Any:
    """As `decode`, for what is shown, counted or stored and not written back: without lone surrogates."""
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return replace_surrogates(decode_slowly(bytes(raw)))


def decode_slowly(raw: bytes) -> Any:
    """What the fast decoder refuses but a JavaScript reader takes: bad UTF-8, lone surrogates, any depth, any number."""
    text = raw.decode("utf-8", "replace")
    try:
        return _STRICT.decode(text)
    except RecursionError:
        return decode_deep(text)


def decode_loosely(raw: bytes) -> Any:
    """What no reader takes but a person may want to see: bare control characters in strings, and NaN, as well."""
    return scan(raw.decode("utf-8", "replace"))[0]


def decode_cut(raw: bytes) -> Any:
    """What is whole of a JSON text that breaks off or goes wrong somewhere; None if that is nothing."""
    root: list[Any] = []
    with suppress(ValueError):
        _deep(raw.decode("utf-8", "replace"), 0, _LOOSE, root)
    return root[0] if root else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # more digits than Python agrees to convert
        return float(digits)


_STRICT = json.JSONDecoder(parse_constant=_refuse, parse_int=_integer)
_LOOSE = json.JSONDecoder(strict=False, parse_int=_integer)

_SPACE = re.compile(r"[ \t\n\r]*")
_NAME = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')  # a key without escapes, and its colon
_CLOSE = {"[": "]", "{": "}"}


def scan(text: str, position: int = 0) -> tuple[Any, int]:
    """The value that begins at a position, read loosely, and where it ends. Raises JSONDecodeError."""
    try:
        return _LOOSE.raw_decode(text, position)
    except RecursionError:
        return _deep(text, position, _LOOSE)


def decode_deep(text: str) -> Any:
    """JSON of any depth."""
    value, position = _deep(text, 0, _STRICT)
    if _skip(text, position) != len(text):
        raise json.JSONDecodeError("Extra data", text, position)
    return value


def _deep(text: str, position: int, decoder: json.JSONDecoder, root: list[Any] | None = None) -> tuple[Any, int]:
    """As `raw_decode`, with a list for a stack where the C decoder uses its own. The value grows in `root`."""
    root = [] if root is None else root
    stack: list[Any] = [root]
    keys: list[str | None] = [None]
    while True:
        position = _skip(text, position)
        holder = stack[-1]
        if isinstance(holder, dict):
            keys[-1], position = _key(text, position, decoder)
        opener = text[position : position + 1]
        if opener in _CLOSE:
            value: Any = [] if opener == "[" else {}
            position = _skip(text, position + 1)
            _put(holder, keys[-1], value)
            if not text.startswith(_CLOSE[opener], position):
                stack.append(value)
                keys.append(None)
                continue
            position += 1
        else:
            value, position = decoder.raw_decode(text, position)
            _put(holder, keys[-1], value)
        position = _close(text, position, stack, keys)
        if len(stack) == 1:
            return root[0], position


def _close(text: str, position: int, stack: list[Any], keys: list[str | None]) -> int:
    """Step over closing brackets up to the next comma, or to the end of the outermost value."""
    while len(stack) > 1:
        position = _skip(text, position)
        mark = text[position : position + 1]
        if mark not in (",", "}" if isinstance(stack[-1], dict) else "]"):
            raise json.JSONDecodeError("Expecting ',' delimiter", text, position)
        position += 1
        if mark == ",":
            return position
        stack.pop()
        keys.pop()
    return position


def _key(text: str, position: int, decoder: json.JSONDecoder) -> tuple[str, int]:
    if plain := _NAME.match(text, position):
        return plain[1], plain.end()
    if not text.startswith('"', position):
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, position)
    key, position = decoder.raw_decode(text, position)
    position = _skip(text, position)
    if not text.startswith(":", position):
        raise json.JSONDecodeError("Expecting ':' delimiter", text, position)
    return str(key), _skip(text, position + 1)


def _put(holder: Any, key: str | None, value: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    else:
        holder.append(value)


def _skip(text: str, position: int) -> int:
    if text[position : position + 1] > " ":  # the usual case, without a regular expression
        return position
    found = _SPACE.match(text, position)
    return found.end() if found else position
