"""Read the YAML header between two `---` lines at the start of a Markdown file."""

from __future__ import annotations

import re
from typing import Any

from clew.errors import ClewError
from clew.system.extras import install_hint
from clew.wire.json_codec import Json

_HEADER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")
MAX_HEADER = 1 << 16


def split_header(text: str) -> tuple[Json, str]:
    """Return the fields of the header and the remaining text. A header that is not valid YAML is read line by line."""
    header = _HEADER.match(text)
    if not header or len(header[1]) > MAX_HEADER:
        return {}, text.removeprefix("\ufeff")
    return _fields(header[1]), text[header.end() :]


def _fields(text: str) -> Json:
    try:
        import yaml
    except ImportError:
        raise ClewError(
            "PyYAML is required to read the headers of skills and agents.",
            hint=install_hint("chat"),
        ) from None
    try:
        data: Any = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        matches = filter(None, map(_FIELD.fullmatch, map(str.rstrip, text.splitlines())))
        return {match[1]: match[2].strip("\"'") for match in matches}
    return {str(key): value for key, value in data.items()} if isinstance(data, dict) else {}


def text_field(fields: Json, name: str) -> str:
    """Return a field as one line of text."""
    value = fields.get(name)
    return " ".join(str(value).split()) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def bool_field(fields: Json, name: str, default: bool = False) -> bool:
    """Return a boolean field."""
    value = fields.get(name)
    if isinstance(value, str):
        return value.strip().lower() in ("true", "yes", "on", "1")
    return value if isinstance(value, bool) else default


def list_field(fields: Json, name: str) -> tuple[str, ...]:
    """Return a field that is a list or a comma-separated text; commas within parentheses do not separate."""
    value = fields.get(name)
    if isinstance(value, list):
        return tuple(str(item).strip() for item in value if isinstance(item, str | int | float))
    if not isinstance(value, str):
        return ()
    # "Read, Agent(one, two)" has two parts.
    return tuple(part.strip() for part in re.findall(r"(?:\([^)]*\)|[^,()])+", value) if part.strip())
