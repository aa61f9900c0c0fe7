"""Remove or escape control characters in text for terminals, JSON and XML.

Most text contains none of them. The patterns are compiled when they are first needed: their large character classes
take longer to compile than Python takes to start.
"""

from __future__ import annotations

import re
from functools import cache

_ESCAPES = (
    r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC: titles, links, clipboard; an unterminated one ends with its line
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]?"
)
_INVISIBLE = (
    "\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f"
)
_SHAPED = "[\u0300-\u1fff\u2190-\ud7ff\ufe00-\ufe0f\U00010000-\U000dffff]"  # scripts and emoji that joiners shape
_CONTROLS = f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_INVISIBLE}\ud800-\udfff]"
_JOINERS = f"(?<!{_SHAPED})[\u200c\u200d]|[\u200c\u200d](?!{_SHAPED})"  # which shape nothing, and are only invisible
_IN_JSON = f"[\x7f-\x9f{_INVISIBLE}\u200c\u200d\ud800-\udfff]"
_ASCII_CONTROLS = bytes(chr(code) not in "\n\t" and not chr(code).isprintable() for code in range(256))
_BREAKS = {ord("\n"): "·", ord("\t"): " "}
DOT = "·"


def clean(text: str) -> str:
    """Remove escape sequences; replace other controls, bidi overrides and invisible characters with a visible dot."""
    if _has_no_control(text):  # the usual case
        return text
    if "\x1b" in text:
        text = _compile(_ESCAPES).sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _has_no_control(text):
        return text
    if "\u200c" in text or "\u200d" in text:
        text = _compile(_JOINERS).sub(DOT, text)
    return _compile(_CONTROLS).sub(DOT, text)


def _has_no_control(text: str) -> bool:
    """Return True if `clean` leaves a text as it is; False if it may contain a control character."""
    if text.isascii():
        return b"\1" not in text.encode().translate(_ASCII_CONTROLS)
    return text.replace("\n", "").replace("\t", "").isprintable()  # no control is printable


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def clean_name(text: str) -> str:
    """Clean a name (path, model, branch, tool, id) and show its line breaks as dots, so that it fits on one line."""
    return text if text.isprintable() else clean(text).translate(_BREAKS)


def escape_json(data: str) -> str:
    r"""Escape C1, DEL, bidi and invisible characters in JSON text as \uXXXX; the value stays equal."""
    return data if data.isprintable() else _compile(_IN_JSON).sub(_unicode_escape, data)


def _unicode_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def escape_json_bytes(data: bytes) -> bytes:
    """Do the same as `escape_json` for encoded JSON."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return escape_json(data.decode("utf-8", "replace")).encode()
