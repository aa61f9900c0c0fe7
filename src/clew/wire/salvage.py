"""Damage: what can be saved from a line that is not one JSON object.

Three kinds are written by the real program itself: two objects on one line (`}{`, when a file without a final newline was
continued), an object cut off with a whole one behind it (two writers), and NUL padding (a crash of the file system).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from clew.wire.entry import Damaged, saved
from clew.wire.json_codec import scan
from clew.wire.line import Line

_OBJECT = re.compile(r'\{[ \t\r\n]*["}]')
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[][{}]', re.DOTALL)
_BLANK = re.compile("(?:[ \t\r\n\0]++|\xef\xbb\xbf)*+")
_IDENTITY = ("parentUuid", "sessionId", "leafUuid", "messageId")
_EFFORT = 4 << 30  # characters looked at again because of breaks (a second or so), before the rest is given up


def damaged(line: Line, reason: str) -> Damaged:
    text = line.raw.decode("latin-1")  # a character for each byte: places in the text are places in the file
    found = list(_objects(text))
    salvaged = tuple(saved(line.part(start, stop)) for start, stop in found)
    return Damaged(line, _kind(line, text, found), reason, salvaged)


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Where whole objects begin and end that are no part of another one.

    An unfinished object is JSON up to the place where it broke. Whatever is whole before that place is a part of it; the
    one that was written over it reaches beyond, or (if the cut was before a value) was taken for that value and ends there.
    Little is read more than twice: behind an unfinished object the search goes on with the last brace before the break.
    """
    position, done, broke, effort = 0, 0, -1, 0
    while effort < _EFFORT and (start := _OBJECT.search(text, position)):
        at = start.start()
        try:
            value, stop = scan(text, at)
        except json.JSONDecodeError as error:
            broke = max(broke, error.pos)
            effort += error.pos  # the exception counts the lines up to there
            position = _next(text, at, error.pos)
            continue
        if _stands_alone(text, at, stop, value, done, broke):
            yield at, stop
            done, broke = stop, -1
        position = stop


def _stands_alone(text: str, at: int, stop: int, value: dict[str, Any], done: int, broke: int) -> bool:
    """Whether an object is no part of another: of the one that broke, or of one whose beginning is lost."""
    behind = _behind_blank(text, stop)
    if stop <= broke:
        return _is_entry(value) and behind >= broke
    if _is_entry(value):
        return True
    follower = text[behind : behind + 1]
    if follower in (",", ":", "]", "}") or (not value and follower not in ("", "{")):
        return False
    return _behind_blank(text, done) == at or (bool(value) and (broke >= 0 or text.find('"', done, at) < 0))


def _behind_blank(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _next(text: str, start: int, broke: int) -> int:
    """Where to look on behind an unfinished object."""
    near = _last_value(text, start, broke)
    if near < 0:
        near = text.rfind("{", start + 1, broke + 1)
    return near if near >= 0 else max(broke, start + 1)


def _last_value(text: str, start: int, broke: int) -> int:
    """Where the entry begins that an unfinished object took for its last value; -1 if there is none."""
    opened: list[int] = []
    last = -1
    for token in _TOKEN.finditer(text, start, broke):
        at = token.start()
        if text[at] in "[{":
            opened.append(at)
        elif text[at] in "]}":
            last = opened.pop() if opened else -1
    try:
        value, stop = scan(text, last) if last >= 0 else (None, 0)
    except json.JSONDecodeError:
        return -1
    return last if _is_entry(value) and _behind_blank(text, stop) >= broke else -1


def _is_entry(value: Any) -> bool:
    named = isinstance(value, dict) and isinstance(value.get("type"), str)
    return named and any(key in value for key in _IDENTITY)


def _kind(line: Line, text: str, found: list[tuple[int, int]]) -> str:
    if "\0" in text:
        return "nul"
    if not found:
        return "torn" if not line.is_terminated else "unreadable"
    if len(found) == 1 and text.strip() == text[slice(*found[0])]:
        return "unreadable"
    if len(found) > 1 and not text[: found[0][0]].strip():
        return "joined"
    return "spliced"
