"""Apply what hooks after a call say to its result: another output, and texts for the model."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from clew.chat.tools.tool import CallResult

_BASH_FIELDS = ("stdout", "stderr")


def replace_output(tool: str, result: CallResult, updated: Any) -> CallResult | None:
    """Return the result with the output that a hook gives in place of the tool's; None if its form does not fit."""
    if tool.startswith("mcp__") or not isinstance(result.detail, dict):
        return _replace_content(result, updated)
    if not isinstance(updated, dict):
        return None
    if tool == "Bash" and all(isinstance(updated.get(name), str) for name in _BASH_FIELDS):
        text = "\n".join(filter(None, (updated[name].rstrip("\n") for name in _BASH_FIELDS)))
        return replace(result, content=text, detail={**result.detail, **updated})
    file = updated.get("file")
    if tool == "Read" and isinstance(file, dict) and isinstance(file.get("content"), str):
        start = file.get("startLine")
        lines = enumerate(file["content"].split("\n"), start if isinstance(start, int) else 1)
        return replace(result, content="\n".join(f"{number:6d}→{line}" for number, line in lines), detail=updated)
    return None


def _replace_content(result: CallResult, updated: Any) -> CallResult | None:
    if isinstance(updated, dict) and isinstance(updated.get("content"), list):
        updated = updated["content"]
    if isinstance(updated, str) or (isinstance(updated, list) and all(isinstance(part, dict) for part in updated)):
        return replace(result, content=updated, detail=updated)
    return None
