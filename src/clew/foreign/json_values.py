"""Read typed values from untrusted JSON, with defaults for missing or wrong types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clew.foreign.conversation_steps import StepRecorder
from clew.wire.json_codec import Json, decode_readable, decode_truncated, encode
from clew.wire.line import BOM, lines
from clew.wire.timestamps import parse_timestamp

_MAX_DEPTH = 60
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_SECONDS = 1e11  # a larger number of seconds would be after the year 5000: it is milliseconds


def get_text(value: Any, *keys: str) -> str:
    """Return the text at the first of these keys that has one, or the value itself; lone surrogates are replaced."""
    for candidate in (value.get(key) for key in keys) if keys and isinstance(value, dict) else () if keys else (value,):
        if isinstance(candidate, str):
            return candidate if candidate.isascii() else _LONE_SURROGATE.sub("\ufffd", candidate)
    return ""


def get_object(value: Any, *keys: str) -> Json:
    """Return the object at a path of keys; an empty one if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def get_objects(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def get_count(value: Any, *keys: str) -> int:
    """Return a non-negative count at the first of these keys; 0 if there is none."""
    for key in keys:
        candidate = value.get(key) if isinstance(value, dict) else None
        if isinstance(candidate, int | float) and not isinstance(candidate, bool) and 0 <= candidate < 1 << 53:
            return int(candidate)
    return 0


def parse_time(value: Any, *, local: bool = False) -> datetime | None:
    """Parse ISO text, or a number of seconds or milliseconds. Text without a zone is UTC unless it is `local`."""
    if isinstance(value, str):
        try:
            naive = datetime.fromisoformat(value)
            moment = naive.astimezone() if local and naive.tzinfo is None else parse_timestamp(value)
        except (ValueError, OverflowError, OSError):
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        moment = parse_timestamp(value if abs(value) > _MAX_SECONDS else value * 1000)
    else:
        return None
    return moment if moment and 1970 < moment.year < 9999 else None


def build_usage(fresh: int, output: int, read: int = 0, written: int = 0) -> Json:
    """Return token counts in the form of Claude Code; empty if all are zero."""
    if not (fresh or output or read or written):
        return {}
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }


def sanitize(value: Any, depth: int = 0) -> Any:
    """Return a value that every JSON reader accepts: without lone surrogates and with limited depth."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if depth > _MAX_DEPTH and isinstance(value, dict | list):
        return _LONE_SURROGATE.sub("\ufffd", encode(value).decode("utf-8", "replace"))
    if isinstance(value, dict):
        return {sanitize(str(key)): sanitize(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sanitize(item, depth + 1) for item in value]
    return value


def read_records(path: Path, scribe: StepRecorder) -> Iterator[tuple[int, Json]]:
    """Yield the objects of a JSON lines file with their line numbers; other lines are reported and kept."""
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


def read_document(path: Path) -> Any:
    """Return the JSON value of a file; None if it is not JSON."""
    try:
        return decode_readable(path.read_bytes().removeprefix(BOM).strip())
    except ValueError:
        return None


def read_document_or_part(path: Path, problems: list[str]) -> Any:
    """Return the JSON value of a file, or the readable part of a damaged one, with a problem added."""
    value = read_document(path)
    if value is None and path.stat().st_size:
        problems.append(f"{path.name}: the file is incomplete or damaged; the readable part was imported")
        value = decode_truncated(path.read_bytes().removeprefix(BOM))
    return value


def modification_time(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
