"""Damage: what can be saved from a line that is not one JSON object.

Three kinds are written by the real program itself: two objects on one line (`}{`, when a file without a final newline was
continued), an object cut off with a whole one behind it (two writers), and NUL padding (a crash of the file system).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from clew.wire.entry import Damaged, Entry, lenient
from clew.wire.line import Line

_OBJECT = re.compile(r'\{\s*"')
_DECODER = json.JSONDecoder(strict=False)
_IDENTITY = ("parentUuid", "sessionId", "leafUuid", "messageId")
_EFFORT = 256 << 20  # characters that may be scanned for one line before giving up on the rest


def damaged(line: Line, reason: str) -> Damaged:
    text = line.raw.decode("utf-8", "surrogateescape")
    found = list(_objects(text))
    salvaged = tuple(_entry(line, text, start, stop, value) for start, stop, value in found)
    return Damaged(line, _kind(line, text, found), reason, salvaged)


def _entry(line: Line, text: str, start: int, stop: int, value: dict[str, Any]) -> Entry:
    before = len(text[:start].encode("utf-8", "surrogateescape"))
    size = len(text[start:stop].encode("utf-8", "surrogateescape"))
    at = line.start + before
    piece = Line(line.number, line.offset + before, line.buffer, at, at + size, whole=False)
    return lenient(value, piece, "saved from a damaged line")


def _objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Whole objects: outermost ones, and those that begin where an outer one breaks off.

    `broken` is where the outermost unfinished object stops being JSON. An object that reaches beyond it is the one that
    was written over it; an object that ends before it is a part of the unfinished one, unless it is plainly an entry.
    """
    position, broken, effort = 0, -1, 0
    while effort < _EFFORT and (start := _OBJECT.search(text, position)):
        try:
            value, stop = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            broken = max(broken, error.pos)
            effort += error.pos - start.start()
            position = start.start() + 1
        except (RecursionError, ValueError):
            position = start.start() + 1
        else:
            if broken < 0 or stop > broken or _is_entry(value):
                yield start.start(), stop, value
                broken = -1
            position = stop


def _is_entry(value: dict[str, Any]) -> bool:
    return isinstance(value.get("type"), str) and any(key in value for key in _IDENTITY)


def _kind(line: Line, text: str, found: list[tuple[int, int, dict[str, Any]]]) -> str:
    if "\0" in text:
        return "nul"
    if not found:
        return "torn" if not line.is_terminated else "unreadable"
    if len(found) > 1 and not text[: found[0][0]].strip():
        return "joined"
    return "spliced"
