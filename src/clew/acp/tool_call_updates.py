"""Convert tool calls to updates of the protocol: kind, files, changes and result."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
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

from clew.chat.events import PermissionRequested
from clew.facts.tool_catalog import objects, subject, tool_name
from clew.view.approval_text import escape, escape_line
from clew.wire.json_codec import JsonView

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
_MAX_SHOWN_BYTES = 8 << 20  # largest file whose old content is shown next to the new one
_PATH_FIELDS = ("file_path", "notebook_path", "path")
_DESCRIBING_FIELDS = {"Task": "prompt", "Agent": "prompt", "ExitPlanMode": "plan", "Bash": "description"}
_FENCED_TOOLS = ("Bash", "BashOutput", "Read", "Grep", "Glob")


def call_started(call_id: str, name: str, given: JsonView, cwd: str, parent: str = "") -> ToolCallStart:
    """Return the update for a call of the model; `parent` is the call whose agent makes it."""
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=call_id,
        title=call_title(name, given, cwd),
        kind=tool_kind(name),
        status="pending",
        content=list(announced_content(name, given)),
        locations=call_locations(given, cwd),
        raw_input=dict(given),
        field_meta=_call_origin(name, parent),
    )


def call_running(call_id: str, given: JsonView) -> ToolCallProgress:
    return ToolCallProgress(
        session_update="tool_call_update", tool_call_id=call_id, status="in_progress", raw_input=dict(given)
    )


def call_progressed(call_id: str, output: str) -> ToolCallProgress:
    """Return the update with the output of a command so far."""
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status="in_progress",
        content=[_text_content(_fence(output))],
    )


def call_finished(call_id: str, name: str, content: Any, detail: Any, is_error: bool) -> ToolCallProgress:
    """Return the update with the result of a call. Without a result the announced content stays."""
    shown = [] if is_error else list(recorded_diffs(detail))
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status="failed" if is_error else "completed",
        content=shown or list(_result_content(name, content)) or None,
        locations=_changed_locations(detail) if shown else None,
    )


def tool_kind(name: str) -> ToolKind:
    return _KINDS.get(name, "other")


def call_title(name: str, given: JsonView, cwd: str) -> str:
    """Return a call in one line, escaped: editors show it next to the buttons that allow it."""
    if name == "Bash":
        return _code(escape_line(str(given.get("command") or "")))
    return escape_line(f"{tool_name(name)} {subject(name, given, cwd)}".strip())


def call_locations(given: JsonView, cwd: str) -> list[ToolCallLocation]:
    """Return the file that a call names, as a path that an editor can open."""
    path = next((given[name] for name in _PATH_FIELDS if isinstance(given.get(name), str) and given[name]), None)
    if path is None:
        return []
    line = given.get("offset")
    return [ToolCallLocation(path=os.path.join(cwd, path), line=line if isinstance(line, int) and line >= 0 else None)]


def announced_content(name: str, given: JsonView) -> Iterator[Shown]:
    """Yield what a call will do, as far as its input shows it."""
    path = str(given.get("file_path") or "")
    if name == "Write":
        yield _diff_content(path, None, str(given.get("content") or ""))
    elif name in ("Edit", "MultiEdit"):
        for one in objects(given["edits"]) if "edits" in given else [given]:
            yield _diff_content(path, str(one.get("old_string") or "") or None, str(one.get("new_string") or ""))
    elif text := given.get(_DESCRIBING_FIELDS.get(name, "")):
        yield _text_content(str(text))


def approval_content(request: PermissionRequested) -> Iterator[Shown]:
    """Yield everything the user needs to know to approve a call: who makes it, what, where and why, with nothing
    hidden.
    """
    asker = request.asker
    caller = (
        f"agent {asker.kind}" + (f" ({asker.description})" if asker.description else "")
        if asker
        else "main conversation"
    )
    facts = {"Tool": request.name, "Asked by": caller, "Folder": request.folder, "Reason": request.decision.reason}
    yield _text_content("\n".join(f"{name}: {_code(escape_line(value))}  " for name, value in facts.items() if value))
    if request.name == "Bash":
        yield _text_content(_fence(escape(str(request.input.get("command") or ""))))
    elif request.name == "ExitPlanMode":
        yield _text_content(_fence(escape(str(request.input.get("plan") or ""))))
    changed = list(_announced_diffs(request))
    yield from changed
    left_out = {"command", "plan"} if request.name in ("Bash", "ExitPlanMode") else set()
    others = {key: value for key, value in request.input.items() if key not in left_out}
    if others and (not changed or _is_deceptive(others)):
        yield _text_content(_fence(escape(json.dumps(others, ensure_ascii=False, indent=2, default=str))))


def _announced_diffs(request: PermissionRequested) -> Iterator[FileEditToolCallContent]:
    """Yield the diffs of a call with absolute paths; for a file that is replaced, with its present content."""
    for shown in announced_content(request.name, request.input):
        if isinstance(shown, FileEditToolCallContent):
            path = os.path.join(request.folder, shown.path)
            old = _read_text(path) if request.name == "Write" else shown.old_text
            yield _diff_content(path, old, shown.new_text)


def _read_text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8") if os.path.getsize(path) <= _MAX_SHOWN_BYTES else None
    except (OSError, ValueError):
        return None


def _is_deceptive(given: JsonView) -> bool:
    """Return True if a diff, as an editor draws it, could hide characters."""
    text = "\n".join(map(str, given.values()))
    return escape(text) != text


def _code(text: str) -> str:
    """Return text as inline Markdown code that it cannot close."""
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def recorded_diffs(detail: Any) -> Iterator[Shown]:
    """Yield the recorded changes of a call, one diff per hunk."""
    if not isinstance(detail, dict) or not isinstance(detail.get("filePath"), str):
        return
    path = detail["filePath"]
    hunks = objects(detail.get("structuredPatch"))
    if not hunks and detail.get("type") == "create":
        yield _diff_content(path, None, str(detail.get("content") or ""))
    for hunk in hunks:
        lines = [str(line) for line in hunk.get("lines") or ()]
        yield _diff_content(path, _hunk_side(lines, "-"), _hunk_side(lines, "+"))


def _hunk_side(lines: Sequence[str], sign: str) -> str:
    return "\n".join(line[1:] for line in lines if line[:1] in (" ", sign))


def _changed_locations(detail: Mapping[str, Any]) -> list[ToolCallLocation]:
    starts = [hunk.get("newStart") for hunk in objects(detail.get("structuredPatch"))]
    lines: Sequence[int | None] = [start for start in starts if isinstance(start, int)] or [None]
    return [ToolCallLocation(path=detail["filePath"], line=line) for line in lines]


def _result_content(name: str, content: Any) -> Iterator[Shown]:
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
            yield _text_content(_fence(text) if name in _FENCED_TOOLS else text)


def _fence(text: str) -> str:
    """Return output in a Markdown code fence that it cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _text_content(text: str) -> ContentToolCallContent:
    return ContentToolCallContent(type="content", content=TextContentBlock(type="text", text=text))


def _diff_content(path: str, old: str | None, new: str) -> FileEditToolCallContent:
    return FileEditToolCallContent(type="diff", path=path, old_text=old, new_text=new)


def request_origin(request: PermissionRequested) -> dict[str, Any]:
    """Return who makes a call and where, for editors that use it."""
    asker = request.asker
    agent = {"agent": {"id": asker.id, "type": asker.kind, "description": asker.description}} if asker else {}
    return {
        "clew": {
            "tool": request.name,
            "cwd": request.folder,
            **({"parent": request.agent} if request.agent else {}),
            **agent,
        }
    }


def _call_origin(name: str, parent: str) -> dict[str, Any]:
    return {"clew": {"tool": name, **({"parent": parent} if parent else {})}}
