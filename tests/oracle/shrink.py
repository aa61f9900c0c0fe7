"""Make a file that shows something as small as possible: fewer lines, then fewer blocks and fields."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

NEEDED = {"type", "uuid", "parentUuid", "timestamp", "message", "role", "content", "id"}


def smallest(
    lines: Sequence[bytes], differs: Callable[[list[bytes]], bool], *, tries: int = 120, seconds: float = 300
) -> list[bytes]:
    """The fewest and shortest lines that still differ, within a number of tries and a time."""
    found = [*lines]
    deadline = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for candidate in _smaller(found):
            if tries <= 0 or time.monotonic() > deadline:
                return found
            tries -= 1
            if candidate and differs(candidate):
                found, progress = candidate, True
                break
    return found


def _smaller(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Without halves, quarters, and so on to single lines, the largest first; then each line with less in it."""
    size = len(lines) // 2
    while size:
        for at in range(0, len(lines), size):
            yield [*lines[:at], *lines[at + size :]]
        size //= 2
    for at, line in enumerate(lines):
        for shorter in _shorter(line):
            yield [*lines[:at], shorter, *lines[at + 1 :]]


def _shorter(line: bytes) -> Iterator[bytes]:
    try:
        entry = json.loads(line)
    except ValueError:
        return
    if not isinstance(entry, dict):
        return
    bare = {key: value for key, value in entry.items() if key in NEEDED}
    if len(bare) < len(entry):
        yield _line(bare)
        yield from (_line({k: v for k, v in entry.items() if k != key}) for key in entry if key not in NEEDED)
    message = entry.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    if isinstance(message, dict) and isinstance(blocks, list) and len(blocks) > 1:
        for at in range(len(blocks)):
            yield _line({**entry, "message": {**message, "content": [*blocks[:at], *blocks[at + 1 :]]}})


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"
