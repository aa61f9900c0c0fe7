"""Encode and decode JSON as JavaScript does; decoding copes with any input.

The output equals that of `JSON.stringify` (compact, non-ASCII unescaped, lone surrogates escaped), because Claude
Code writes its files with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn

import msgspec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json import JSONDecoder, JSONEncoder

Json = dict[str, Any]  # a decoded JSON object
JsonView = Mapping[str, Any]  # one that is only read

_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(
    rb"((?<!\\)(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}"
)  # an escape, not an escaped backslash and letters


def encode(value: Any) -> bytes:
    """Encode a value as one compact line of JSON, without a newline."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, RecursionError):
        return encode_slowly(value)


def encode_slowly(value: Any) -> bytes:
    """Encode values that the fast encoder rejects: lone surrogates, and any depth (with an explicit stack)."""
    chunks: list[bytes] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Encoded):
            chunks.append(item)
        elif isinstance(item, str):
            chunks.append(_encode_string(item))
        elif isinstance(item, dict):
            pairs = [(_Encoded(_encode_string(str(key)) + b":"), member) for key, member in item.items()]
            stack += _pending(b"{", pairs, b"}")
        elif isinstance(item, list | tuple):
            stack += _pending(b"[", [(member,) for member in item], b"]")
        else:
            chunks.append(msgspec.json.encode(item))
    return b"".join(chunks)


class _Encoded(bytes):
    """A piece of encoded JSON on the stack, between values that are not encoded yet."""


def _pending(opener: bytes, members: list[tuple[Any, ...]], closer: bytes) -> list[Any]:
    """Return an object or array as a reversed list of tokens and values, so that the first is popped first."""
    tokens: list[Any] = [_Encoded(opener)]
    for index, member in enumerate(members):
        tokens += (_Encoded(b","), *member) if index else member
    return [*tokens, _Encoded(closer)][::-1]


@cache
def _string_encoder() -> JSONEncoder:
    """Create it once (`json.dumps` creates one per call), and not before a text needs it: `json` takes long to load."""
    from json import JSONEncoder

    return JSONEncoder(ensure_ascii=False)


def _encode_string(value: str) -> bytes:
    return _SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", _string_encoder().encode(value)).encode()


def as_text(value: Any) -> str:
    """Return `str(value)`; for an object or array its JSON, because `repr` of a deep one fails."""
    return encode(value).decode() if isinstance(value, dict | list) else str(value)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of a JSON value of any depth with `change` applied to every string value; keys stay."""
    root: list[Any] = [None]
    stack: list[tuple[Any, Any, Any]] = [(value, root, 0)]
    while stack:
        item, holder, key_or_index = stack.pop()
        if isinstance(item, dict):
            holder[key_or_index] = dict.fromkeys(item)
            stack += [(child, holder[key_or_index], key) for key, child in item.items()]
        elif isinstance(item, list):
            holder[key_or_index] = [None] * len(item)
            stack += [(child, holder[key_or_index], index) for index, child in enumerate(item)]
        else:
            holder[key_or_index] = change(item) if isinstance(item, str) else item
    return root[0]


def replace_surrogates(value: Any) -> Any:
    """Return a JSON value with every lone surrogate replaced by U+FFFD; the same object if it has none."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if not isinstance(value, dict | list):
        return value
    try:
        msgspec.json.encode(value)
        return value
    except (UnicodeEncodeError, RecursionError):
        replaced, count = _SURROGATE_ESCAPE.subn(rb"\1\\ufffd", encode_slowly(value))
        return decode(replaced) if count else value


def decode(raw: bytes | msgspec.Raw) -> Any:
    """Decode JSON; None for empty input. Raises ValueError if it is not JSON."""
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return decode_slowly(bytes(raw))


def decode_readable(raw: bytes | msgspec.Raw) -> Any:
    """Decode JSON for display, counting or storage: like `decode`, with lone surrogates replaced."""
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return replace_surrogates(decode_slowly(bytes(raw)))


def decode_slowly(raw: bytes) -> Any:
    """Decode what the fast decoder rejects but JavaScript accepts: bad UTF-8, lone surrogates, any depth, any
    number.
    """
    text = raw.decode("utf-8", "replace")
    try:
        return _decoder(False).decode(text)
    except RecursionError:
        return decode_deep(text)


def decode_loosely(raw: bytes) -> Any:
    """Decode what JavaScript rejects but users want to see: also raw control characters in strings, and NaN."""
    return scan(raw.decode("utf-8", "replace"))[0]


def decode_truncated(raw: bytes) -> Any:
    """Decode the complete part of a JSON text that is truncated or broken; None if there is none."""
    root: list[Any] = []
    with suppress(ValueError):
        _decode_iteratively(raw.decode("utf-8", "replace"), 0, _decoder(True), root)
    return root[0] if root else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts
        return float(digits)


@cache
def _decoder(is_loose: bool) -> JSONDecoder:
    from json import JSONDecoder

    if is_loose:
        return JSONDecoder(strict=False, parse_int=_integer)
    return JSONDecoder(parse_constant=_refuse, parse_int=_integer)


_SPACE = re.compile(r"[ \t\n\r]*")
_NAME = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')  # a key without escapes, and its colon
_CLOSE = {"[": "]", "{": "}"}


def scan(text: str, position: int = 0) -> tuple[Any, int]:
    """Decode loosely the value that begins at a position; return it and where it ends. Raises JSONDecodeError."""
    try:
        return _decoder(True).raw_decode(text, position)
    except RecursionError:
        return _decode_iteratively(text, position, _decoder(True))


def decode_deep(text: str) -> Any:
    """Decode JSON of any depth."""
    value, position = _decode_iteratively(text, 0, _decoder(False))
    if _skip_space(text, position) != len(text):
        raise _error("Extra data", text, position)
    return value


def _decode_iteratively(
    text: str, position: int, decoder: JSONDecoder, root: list[Any] | None = None
) -> tuple[Any, int]:
    """Do the same as `raw_decode` with an explicit stack instead of recursion. The value grows in `root`.

    `stack` contains the open containers, outermost first, and `keys` the current key of each open object: inside
    `{"a":[1,` the stack is [root, {"a": [1]}, [1]] and the keys are [None, "a", None].
    """
    root = [] if root is None else root
    stack: list[Any] = [root]
    keys: list[str | None] = [None]
    while True:
        position = _skip_space(text, position)
        holder = stack[-1]
        if isinstance(holder, dict):
            keys[-1], position = _read_key(text, position, decoder)
        opener = text[position : position + 1]
        if opener in _CLOSE:
            value: Any = [] if opener == "[" else {}
            position = _skip_space(text, position + 1)
            _insert(holder, keys[-1], value)
            if not text.startswith(_CLOSE[opener], position):
                stack.append(value)
                keys.append(None)
                continue
            position += 1
        else:
            value, position = decoder.raw_decode(text, position)
            _insert(holder, keys[-1], value)
        position = _close_containers(text, position, stack, keys)
        if len(stack) == 1:
            return root[0], position


def _close_containers(text: str, position: int, stack: list[Any], keys: list[str | None]) -> int:
    """Skip closing brackets up to the next comma, or to the end of the outermost value."""
    while len(stack) > 1:
        position = _skip_space(text, position)
        mark = text[position : position + 1]
        if mark not in (",", "}" if isinstance(stack[-1], dict) else "]"):
            raise _error("Expecting ',' delimiter", text, position)
        position += 1
        if mark == ",":
            return position
        stack.pop()
        keys.pop()
    return position


def _read_key(text: str, position: int, decoder: JSONDecoder) -> tuple[str, int]:
    if plain := _NAME.match(text, position):
        return plain[1], plain.end()
    if not text.startswith('"', position):
        raise _error("Expecting property name enclosed in double quotes", text, position)
    key, position = decoder.raw_decode(text, position)
    position = _skip_space(text, position)
    if not text.startswith(":", position):
        raise _error("Expecting ':' delimiter", text, position)
    return str(key), _skip_space(text, position + 1)


def _error(reason: str, text: str, position: int) -> ValueError:
    from json import JSONDecodeError

    return JSONDecodeError(reason, text, position)


def _insert(holder: Any, key: str | None, value: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    else:
        holder.append(value)


def _skip_space(text: str, position: int) -> int:
    if text[position : position + 1] > " ":  # the usual case, without a regular expression
        return position
    match = _SPACE.match(text, position)
    return match.end() if match else position
