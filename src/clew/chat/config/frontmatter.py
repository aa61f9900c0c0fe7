"""Headers: the YAML between two lines of dashes at the head of a Markdown file."""

from __future__ import annotations

import re
from typing import Any

from clew.errors import ClewError
from clew.wire.json_codec import Json

_HEADER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")
LONGEST = 1 << 16


def split_header(text: str) -> tuple[Json, str]:
    """The fields of a file's header, and the rest of it. A header that is not YAML is read line by line."""
    found = _HEADER.match(text)
    if not found or len(found[1]) > LONGEST:
        return {}, text.removeprefix("\ufeff")
    return _fields(found[1]), text[found.end() :]


def _fields(text: str) -> Json:
    try:
        import yaml
    except ImportError:
        raise ClewError(
            "The headers of skills and agents cannot be read: PyYAML is not installed.",
            hint="Install it with: pip install 'clew[chat]'",
        ) from None
    try:
        data: Any = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        matches = filter(None, map(_FIELD.fullmatch, map(str.rstrip, text.splitlines())))
        return {match[1]: match[2].strip("\"'") for match in matches}
    return {str(key): value for key, value in data.items()} if isinstance(data, dict) else {}


def text_of(fields: Json, name: str) -> str:
    """A field as a line of text."""
    value = fields.get(name)
    return " ".join(str(value).split()) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def is_on(fields: Json, name: str, otherwise: bool = False) -> bool:
    """A field that says yes or no."""
    value = fields.get(name)
    if isinstance(value, str):
        return value.strip().lower() in ("true", "yes", "on", "1")
    return value if isinstance(value, bool) else otherwise


def list_of(fields: Json, name: str) -> tuple[str, ...]:
    """A field that is a list, or a text with commas; commas within brackets do not count."""
    value = fields.get(name)
    if isinstance(value, list):
        return tuple(str(item).strip() for item in value if isinstance(item, str | int | float))
    if not isinstance(value, str):
        return ()
    return tuple(part.strip() for part in re.findall(r"(?:\([^)]*\)|[^,()])+", value) if part.strip())
