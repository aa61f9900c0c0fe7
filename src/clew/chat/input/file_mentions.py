"""Find `@path` mentions in a text, outside code blocks and code spans."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_SPAN = re.compile(r"(`+)(?:(?!\1).)+?\1(?!`)")
# Matches @src/a.py, @"a b.txt" and @a\ b.txt after a space or an opening bracket; not the @ of user@example.com.
_MENTION = re.compile(r"(?:^|(?<=\s)|(?<=[(\[]))@(\"[^\"\n]+\"|(?:[^\s\\\"]|\\ )+)")


def find_mentions(text: str) -> Iterator[str]:
    """Yield the mentioned paths in order, without duplicates."""
    known: set[str] = set()
    for line in _without_code(text):
        for match in _MENTION.finditer(line):
            path = match[1].strip('"').replace("\\ ", " ").rstrip(".,;:!?)]")
            if path and path not in known and _is_path(path):
                known.add(path)
                yield path


def _is_path(text: str) -> bool:
    return bool(re.match(r"[\w.~/]", text)) and "@" not in text


def _without_code(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        marker = _FENCE.match(line)
        if fence:
            if marker and marker[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif marker:
            fence = marker[1]
        else:
            yield _SPAN.sub(lambda span: " " * len(span[0]), line)
