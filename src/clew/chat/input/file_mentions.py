"""Mentions: `@path` in a text, as people and memory files write it. Within code it means nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_SPAN = re.compile(r"(`+)(?:(?!\1).)+?\1(?!`)")
_MENTION = re.compile(r"(?:^|(?<=\s)|(?<=[(\[]))@(\"[^\"\n]+\"|(?:[^\s\\\"]|\\ )+)")


def mentions(text: str) -> Iterator[str]:
    """The paths that a text mentions, in order, each once."""
    seen: set[str] = set()
    for line in _without_code(text):
        for found in _MENTION.finditer(line):
            path = found[1].strip('"').replace("\\ ", " ").rstrip(".,;:!?)]")
            if path and path not in seen and _is_path(path):
                seen.add(path)
                yield path


def _is_path(text: str) -> bool:
    return bool(re.match(r"[\w.~/]", text)) and "@" not in text


def _without_code(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found:
            fence = found[1]
        else:
            yield _SPAN.sub(lambda span: " " * len(span[0]), line)
