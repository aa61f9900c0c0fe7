"""Translate small Codex patches (`*** Begin Patch`) into an equivalent Write or Edit."""

from __future__ import annotations

import re

from clew.wire.json_codec import Json

_PATCH = re.compile(r"\s*\*\*\* Begin Patch\n(.*?)\n?\*\*\* End Patch\s*", re.DOTALL)
_FILE_HEADER = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_END_MARKS = ("*** End of File",)


def translate_patch(patch: str) -> tuple[str, Json] | None:
    """Return the tool and input for a patch that adds one file or changes one place of a file; None for any other."""
    match = _PATCH.fullmatch(patch)
    lines = match[1].split("\n") if match else []
    head = _FILE_HEADER.fullmatch(lines[0].rstrip()) if lines else None
    if head is None or any(_FILE_HEADER.match(line) for line in lines[1:]):
        return None
    body = [line for line in lines[1:] if line not in _END_MARKS]
    if head[1] == "Add" and body and all(line.startswith("+") for line in body):
        return "Write", {"file_path": head[2], "content": "".join(f"{line[1:]}\n" for line in body)}
    if head[1] == "Update":
        return _build_edit(head[2], body)
    return None


def _build_edit(path: str, body: list[str]) -> tuple[str, Json] | None:
    if body and body[0].startswith("@@"):
        if body[0].removeprefix("@@").strip():
            return None  # the position is given by a preceding line
        body = body[1:]
    if not body or any(line[:1] not in ("+", "-", " ", "") for line in body):
        return None
    old = "\n".join(line[1:] for line in body if not line.startswith("+"))
    new = "\n".join(line[1:] for line in body if not line.startswith("-"))
    return ("Edit", {"file_path": path, "old_string": old, "new_string": new}) if old and old != new else None
