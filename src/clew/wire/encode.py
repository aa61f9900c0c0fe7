"""JSON in and out: the one encoder of the package, and a decoder that no input can break.

Text goes out as JavaScript's `JSON.stringify` would write it (compact, non-ASCII as it is, lone surrogates escaped),
because that is what the files hold.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import msgspec

_LONE = re.compile("[\ud800-\udfff]")


def encode(value: Any) -> bytes:
    """One compact line of JSON, without its newline."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return _LONE.sub(lambda m: f"\\u{ord(m[0]):04x}", text).encode()


def decode(raw: bytes | msgspec.Raw) -> Any:
    """The value of a JSON text; None for no text at all. Raises ValueError if it is not JSON."""
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return decode_slowly(bytes(raw))


def decode_slowly(raw: bytes) -> Any:
    """What the fast decoder refuses but a JavaScript reader takes: bad UTF-8, lone surrogates, any depth, any number."""
    text = raw.decode("utf-8", "replace")
    try:
        return _DECODER.decode(text)
    except RecursionError:
        return decode_deep(text)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 4300 else float(digits)


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_int=_integer)

_SPACE = re.compile(r"[ \t\n\r]*")
_CLOSE = {"[": "]", "{": "}"}


def decode_deep(text: str) -> Any:
    """JSON of any depth, with a list for a stack where the C decoder uses its own."""
    root: list[Any] = []
    stack: list[Any] = [root]
    keys: list[str | None] = [None]
    position = 0
    while True:
        position = _skip(text, position)
        holder = stack[-1]
        if isinstance(holder, dict):
            keys[-1], position = _key(text, position)
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
            value, position = _DECODER.raw_decode(text, position)
            _put(holder, keys[-1], value)
        position = _close(text, position, stack, keys)
        if len(stack) == 1:
            if _skip(text, position) != len(text):
                raise ValueError("more than one value")
            return root[0]


def _close(text: str, position: int, stack: list[Any], keys: list[str | None]) -> int:
    """Step over closing brackets up to the next comma, or to the end of the outermost value."""
    while len(stack) > 1:
        position = _skip(text, position)
        mark = text[position : position + 1]
        position += 1
        if mark == ",":
            return position
        if mark != ("}" if isinstance(stack[-1], dict) else "]"):
            raise ValueError(f"not JSON at character {position}")
        stack.pop()
        keys.pop()
    return position


def _key(text: str, position: int) -> tuple[str, int]:
    if not text.startswith('"', position):
        raise ValueError(f"not JSON at character {position}")
    key, position = _DECODER.raw_decode(text, position)
    position = _skip(text, position)
    if not text.startswith(":", position):
        raise ValueError(f"not JSON at character {position}")
    return str(key), _skip(text, position + 1)


def _put(holder: Any, key: str | None, value: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    else:
        holder.append(value)


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position
