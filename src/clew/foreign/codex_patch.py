"""Patches in the form of Codex (`*** Begin Patch`): what a small one does, as the Write or Edit that would do the same."""

from __future__ import annotations

import re

from clew.wire.json_codec import Json

_WHOLE = re.compile(r"\s*\*\*\* Begin Patch\n(.*?)\n?\*\*\* End Patch\s*", re.DOTALL)
_HEAD = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MARKS = ("*** End of File",)


def patched(patch: str) -> tuple[str, Json] | None:
    """The tool and its input for a patch that adds one file or changes one place of one; None for any other."""
    found = _WHOLE.fullmatch(patch)
    lines = found[1].split("\n") if found else []
    head = _HEAD.fullmatch(lines[0].rstrip()) if lines else None
    if head is None or any(_HEAD.match(line) for line in lines[1:]):
        return None
    body = [line for line in lines[1:] if line not in _MARKS]
    if head[1] == "Add" and body and all(line.startswith("+") for line in body):
        return "Write", {"file_path": head[2], "content": "".join(f"{line[1:]}\n" for line in body)}
    if head[1] == "Update":
        return _edit(head[2], body)
    return None


def _edit(path: str, body: list[str]) -> tuple[str, Json] | None:
    if body and body[0].startswith("@@"):
        if body[0].removeprefix("@@").strip():
            return None  # a place that is named by a line above it
        body = body[1:]
    if not body or any(line[:1] not in ("+", "-", " ", "") for line in body):
        return None
    old = "\n".join(line[1:] for line in body if not line.startswith("+"))
    new = "\n".join(line[1:] for line in body if not line.startswith("-"))
    return ("Edit", {"file_path": path, "old_string": old, "new_string": new}) if old and old != new else None
