"""Values out of foreign JSON: whatever stands there, what comes back has the type that was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clew.foreign.conversation_steps import Scribe
from clew.wire.json_codec import Json, decode_readable, decode_truncated, encode
from clew.wire.line import BOM, lines
from clew.wire.timestamps import parse_timestamp

_DEEPEST = 60
_LONE = re.compile("[\ud800-\udfff]")
_SECONDS = 1e11  # a larger number of seconds would be after the year 5000: it is milliseconds


def text(value: Any, *keys: str) -> str:
    """The text at the first of these keys that has one, or the value itself; half characters are replaced."""
    for found in (value.get(key) for key in keys) if keys and isinstance(value, dict) else () if keys else (value,):
        if isinstance(found, str):
            return found if found.isascii() else _LONE.sub("\ufffd", found)
    return ""


def object_of(value: Any, *keys: str) -> Json:
    """The object at the end of a way of keys; an empty one if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def number(value: Any, *keys: str) -> int:
    """A count of tokens: never negative, 0 if it is none."""
    for key in keys:
        found = value.get(key) if isinstance(value, dict) else None
        if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found < 1 << 53:
            return int(found)
    return 0


def time_of(value: Any, *, local: bool = False) -> datetime | None:
    """ISO text, or a number of seconds or milliseconds. Text without a zone is UTC unless it is `local`."""
    if isinstance(value, str):
        try:
            naive = datetime.fromisoformat(value)
            found = naive.astimezone() if local and naive.tzinfo is None else parse_timestamp(value)
        except (ValueError, OverflowError, OSError):
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = parse_timestamp(value if abs(value) > _SECONDS else value * 1000)
    else:
        return None
    return found if found and 1970 < found.year < 9999 else None


def usage(fresh: int, output: int, read: int = 0, written: int = 0) -> Json:
    """What a reply took, as Claude Code counts it; nothing if nothing was told."""
    if not (fresh or output or read or written):
        return {}
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }


def wash(value: Any, depth: int = 0) -> Any:
    """A value that every JSON reader takes: no half characters, no bottomless depth."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if depth > _DEEPEST and isinstance(value, dict | list):
        return _LONE.sub("\ufffd", encode(value).decode("utf-8", "replace"))
    if isinstance(value, dict):
        return {wash(str(key)): wash(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [wash(each, depth + 1) for each in value]
    return value


def records(path: Path, scribe: Scribe) -> Iterator[tuple[int, Json]]:
    """The objects of a file of JSON lines, with their lines; what is none is told and kept."""
    for line in lines(path):
        if not line.json:
            continue
        try:
            value = decode_readable(line.json)
        except ValueError:
            value = None
        if isinstance(value, dict):
            yield line.number, value
        else:
            scribe.damaged(f"line {line.number}", "not a JSON object")
            scribe.keep("damaged line", line.raw.decode("utf-8", "replace").rstrip("\n"))


def document(path: Path) -> Any:
    """The JSON of a whole file; None if it is none."""
    try:
        return decode_readable(path.read_bytes().removeprefix(BOM).strip())
    except ValueError:
        return None


def document_or_part(path: Path, problems: list[str]) -> Any:
    """The JSON of a whole file, or what is whole of it, which is told."""
    found = document(path)
    if found is None and path.stat().st_size:
        problems.append(f"{path.name}: it breaks off or is damaged; what could be read of it was")
        found = decode_truncated(path.read_bytes().removeprefix(BOM))
    return found


def changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
