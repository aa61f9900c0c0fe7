"""Calls as editors show them: what kind, in which files, with what change, and what came of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    ImageContentBlock,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolKind,
)

from clew.facts.tool import objects, subject, tool_name

Json = Mapping[str, Any]
Shown = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent

_KINDS: dict[str, ToolKind] = {
    "Read": "read",
    "NotebookRead": "read",
    "LS": "read",
    "Write": "edit",
    "Edit": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Bash": "execute",
    "BashOutput": "execute",
    "KillShell": "execute",
    "Glob": "search",
    "Grep": "search",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
    "Task": "think",
    "Agent": "think",
    "Skill": "think",
    "AskUserQuestion": "think",
    "EnterPlanMode": "switch_mode",
    "ExitPlanMode": "switch_mode",
}
_PATHS = ("file_path", "notebook_path", "path")
_TOLD = {"Task": "prompt", "Agent": "prompt", "ExitPlanMode": "plan", "Bash": "description"}
_FENCED = ("Bash", "BashOutput", "Read", "Grep", "Glob")


def begun(call_id: str, name: str, given: Json, cwd: str, parent: str = "") -> ToolCallStart:
    """A call that the model asks for; `parent` is the call whose agent asks."""
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=call_id,
        title=title(name, given, cwd),
        kind=kind(name),
        status="pending",
        content=list(wanted(name, given)),
        locations=locations(given, cwd),
        raw_input=dict(given),
        field_meta=_origin(name, parent),
    )


def running(call_id: str, given: Json) -> ToolCallProgress:
    return ToolCallProgress(
        session_update="tool_call_update", tool_call_id=call_id, status="in_progress", raw_input=dict(given)
    )


def heard(call_id: str, output: str) -> ToolCallProgress:
    """What a command has said so far."""
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status="in_progress",
        content=[_text(_fenced(output))],
    )


def ended(call_id: str, name: str, content: Any, detail: Any, is_error: bool) -> ToolCallProgress:
    """What came of a call. The content stays as it was announced if nothing better is known."""
    shown = [] if is_error else list(changes(detail))
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status="failed" if is_error else "completed",
        content=shown or list(_result(name, content)) or None,
        locations=_changed(detail) if shown else None,
    )


def kind(name: str) -> ToolKind:
    return _KINDS.get(name, "other")


def title(name: str, given: Json, cwd: str) -> str:
    if name == "Bash":
        return f"`{' '.join(str(given.get('command') or '').split())}`"
    return f"{tool_name(name)} {subject(name, given, cwd)}".strip()


def locations(given: Json, cwd: str) -> list[ToolCallLocation]:
    """The file that a call names, as a path that an editor can open."""
    path = next((given[name] for name in _PATHS if isinstance(given.get(name), str) and given[name]), None)
    if path is None:
        return []
    line = given.get("offset")
    return [ToolCallLocation(path=os.path.join(cwd, path), line=line if isinstance(line, int) and line >= 0 else None)]


def wanted(name: str, given: Json) -> Iterator[Shown]:
    """What a call is going to do, as far as its input tells."""
    path = str(given.get("file_path") or "")
    if name == "Write":
        yield _diff(path, None, str(given.get("content") or ""))
    elif name in ("Edit", "MultiEdit"):
        for one in objects(given["edits"]) if "edits" in given else [given]:
            yield _diff(path, str(one.get("old_string") or "") or None, str(one.get("new_string") or ""))
    elif text := given.get(_TOLD.get(name, "")):
        yield _text(str(text))


def changes(detail: Any) -> Iterator[Shown]:
    """The changes that a record tells of, hunk by hunk."""
    if not isinstance(detail, dict) or not isinstance(detail.get("filePath"), str):
        return
    path = detail["filePath"]
    hunks = objects(detail.get("structuredPatch"))
    if not hunks and detail.get("type") == "create":
        yield _diff(path, None, str(detail.get("content") or ""))
    for hunk in hunks:
        lines = [str(line) for line in hunk.get("lines") or ()]
        yield _diff(path, _side(lines, "-"), _side(lines, "+"))


def _side(lines: Sequence[str], sign: str) -> str:
    return "\n".join(line[1:] for line in lines if line[:1] in (" ", sign))


def _changed(detail: Mapping[str, Any]) -> list[ToolCallLocation]:
    starts = [hunk.get("newStart") for hunk in objects(detail.get("structuredPatch"))]
    lines: Sequence[int | None] = [start for start in starts if isinstance(start, int)] or [None]
    return [ToolCallLocation(path=detail["filePath"], line=line) for line in lines]


def _result(name: str, content: Any) -> Iterator[Shown]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in objects(list(content or ())):
        source = block.get("source")
        if block.get("type") == "image" and isinstance(source, dict) and source.get("type") == "base64":
            picture = ImageContentBlock(
                type="image", data=str(source.get("data")), mime_type=str(source.get("media_type"))
            )
            yield ContentToolCallContent(type="content", content=picture)
        elif text := str(block.get("text") or ""):
            yield _text(_fenced(text) if name in _FENCED else text)


def _fenced(text: str) -> str:
    """Output is no Markdown: it stands in a fence that it cannot leave."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _text(text: str) -> ContentToolCallContent:
    return ContentToolCallContent(type="content", content=TextContentBlock(type="text", text=text))


def _diff(path: str, old: str | None, new: str) -> FileEditToolCallContent:
    return FileEditToolCallContent(type="diff", path=path, old_text=old, new_text=new)


def _origin(name: str, parent: str) -> dict[str, Any]:
    return {"clew": {"tool": name, **({"parent": parent} if parent else {})}}
