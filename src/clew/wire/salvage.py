"""Find complete objects in a line that is not one JSON object.

Claude Code itself causes three kinds: two objects on one line (`}{`, when a file without a final newline was
appended to), a truncated object followed by a complete one (two writers), and NUL padding (a crash of the file
system).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from clew.wire.json_codec import scan
from clew.wire.line import Line

_OBJECT = re.compile(r'\{[ \t\r\n]*["}]')
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[][{}]', re.DOTALL)
_BLANK = re.compile("(?:[ \t\r\n\0]++|\xef\xbb\xbf)*+")
_IDENTITY = ("parentUuid", "sessionId", "leafUuid", "messageId")
_MAX_RESCANNED = 4 << 30  # characters read again after broken objects (about a second) before giving up


def find_objects(text: str) -> Iterator[tuple[int, int]]:
    """Yield where complete objects begin and end that are not part of another one.

    A truncated object is valid JSON up to the position where it broke. Complete objects before that position are
    parts of it. The object written over it reaches beyond that position, or (if the cut was before a value) was read
    as that value and ends there: in `{"a":1,"b":{"type":…}` the inner object is the next entry, not the value of
    "b". Hardly anything is read more than twice: after a truncated object the search continues at the last brace
    before the break.
    """
    from json import JSONDecodeError

    position, last_end, broke, rescanned = 0, 0, -1, 0
    while rescanned < _MAX_RESCANNED and (start := _OBJECT.search(text, position)):
        at = start.start()
        try:
            value, stop = scan(text, at)
        except JSONDecodeError as error:
            broke = max(broke, error.pos)
            rescanned += error.pos  # the exception counts the lines up to there
            position = _next_position(text, at, error.pos)
            continue
        if _stands_alone(text, at, stop, value, last_end, broke):
            yield at, stop
            last_end, broke = stop, -1
        position = stop


def _stands_alone(text: str, at: int, stop: int, value: dict[str, Any], last_end: int, broke: int) -> bool:
    """Return True if an object is not part of another: of the one that broke, or of one whose beginning is lost."""
    next_position = _skip_blank(text, stop)
    if stop <= broke:
        return _is_entry(value) and next_position >= broke
    if _is_entry(value):
        return True
    follower = text[next_position : next_position + 1]
    if follower in (",", ":", "]", "}") or (not value and follower not in ("", "{")):
        return False
    return _skip_blank(text, last_end) == at or (bool(value) and (broke >= 0 or text.find('"', last_end, at) < 0))


def _skip_blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _next_position(text: str, start: int, broke: int) -> int:
    """Return the position at which to continue after a truncated object."""
    position = _last_value(text, start, broke)
    if position < 0:
        position = text.rfind("{", start + 1, broke + 1)
    return position if position >= 0 else max(broke, start + 1)


def _last_value(text: str, start: int, broke: int) -> int:
    """Return where the entry begins that a truncated object contains as its last value; -1 if there is none."""
    # Example: `{"a":[1],"b":{"type":"user","sessionId":"…"}` broke at its end. The bracket that was closed last began
    # after "b":, and that object is the entry that was written over the truncated one.
    from json import JSONDecodeError

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
    except JSONDecodeError:
        return -1
    return last if _is_entry(value) and _skip_blank(text, stop) >= broke else -1


def _is_entry(value: Any) -> bool:
    named = isinstance(value, dict) and isinstance(value.get("type"), str)
    return named and any(key in value for key in _IDENTITY)


def classify_damage(line: Line, text: str, spans: list[tuple[int, int]]) -> str:
    """Return the kind of damage of a line in which `spans` are complete objects."""
    if "\0" in text:
        return "nul"
    if not spans:
        return "torn" if not line.is_terminated else "unreadable"
    if len(spans) == 1 and text.strip() == text[slice(*spans[0])]:
        return "unreadable"
    if len(spans) > 1 and not text[: spans[0][0]].strip():
        return "joined"
    return "spliced"
