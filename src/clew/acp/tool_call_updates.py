"""Calls as editors show them: what kind, in which files, with what change, and what came of them."""

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
_LARGEST = 8 << 20  # bytes of a file that is shown beside its new content
_PATHS = ("file_path", "notebook_path", "path")
_TOLD = {"Task": "prompt", "Agent": "prompt", "ExitPlanMode": "plan", "Bash": "description"}
_FENCED = ("Bash", "BashOutput", "Read", "Grep", "Glob")


def begun(call_id: str, name: str, given: JsonView, cwd: str, parent: str = "") -> ToolCallStart:
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


def running(call_id: str, given: JsonView) -> ToolCallProgress:
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


def title(name: str, given: JsonView, cwd: str) -> str:
    """A call on one line, escaped: editors show it beside the buttons that allow it."""
    if name == "Bash":
        return _code(escape_line(str(given.get("command") or "")))
    return escape_line(f"{tool_name(name)} {subject(name, given, cwd)}".strip())


def locations(given: JsonView, cwd: str) -> list[ToolCallLocation]:
    """The file that a call names, as a path that an editor can open."""
    path = next((given[name] for name in _PATHS if isinstance(given.get(name), str) and given[name]), None)
    if path is None:
        return []
    line = given.get("offset")
    return [ToolCallLocation(path=os.path.join(cwd, path), line=line if isinstance(line, int) and line >= 0 else None)]


def wanted(name: str, given: JsonView) -> Iterator[Shown]:
    """What a call is going to do, as far as its input tells."""
    path = str(given.get("file_path") or "")
    if name == "Write":
        yield _diff(path, None, str(given.get("content") or ""))
    elif name in ("Edit", "MultiEdit"):
        for one in objects(given["edits"]) if "edits" in given else [given]:
            yield _diff(path, str(one.get("old_string") or "") or None, str(one.get("new_string") or ""))
    elif text := given.get(_TOLD.get(name, "")):
        yield _text(str(text))


def asked(told: PermissionRequested) -> Iterator[Shown]:
    """Everything that a user has to know to allow a call: who asks for what, where and why, in text that hides nothing."""
    asker = told.asker
    who = (
        f"agent {asker.kind}" + (f" ({asker.description})" if asker.description else "")
        if asker
        else "main conversation"
    )
    facts = {"Tool": told.name, "Asked by": who, "Folder": told.folder, "Reason": told.decision.reason}
    yield _text("\n".join(f"{name}: {_code(escape_line(value))}  " for name, value in facts.items() if value))
    if told.name == "Bash":
        yield _text(_fenced(escape(str(told.input.get("command") or ""))))
    elif told.name == "ExitPlanMode":
        yield _text(_fenced(escape(str(told.input.get("plan") or ""))))
    changed = list(_changes(told))
    yield from changed
    left_out = {"command", "plan"} if told.name in ("Bash", "ExitPlanMode") else set()
    others = {key: value for key, value in told.input.items() if key not in left_out}
    if others and (not changed or _is_deceptive(others)):
        yield _text(_fenced(escape(json.dumps(others, ensure_ascii=False, indent=2, default=str))))


def _changes(told: PermissionRequested) -> Iterator[FileEditToolCallContent]:
    """The diffs of a call, with whole paths; for a file that is replaced, with what it holds now."""
    for shown in wanted(told.name, told.input):
        if isinstance(shown, FileEditToolCallContent):
            path = os.path.join(told.folder, shown.path)
            old = _content(path) if told.name == "Write" else shown.old_text
            yield _diff(path, old, shown.new_text)


def _content(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8") if os.path.getsize(path) <= _LARGEST else None
    except (OSError, ValueError):
        return None


def _is_deceptive(given: JsonView) -> bool:
    """Whether a diff, which an editor draws as it likes, would hide something."""
    text = "\n".join(map(str, given.values()))
    return escape(text) != text


def _code(text: str) -> str:
    """Text as Markdown code that it cannot leave."""
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


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


def origin(told: PermissionRequested) -> dict[str, Any]:
    """Who asks and where, for editors that read it."""
    asker = told.asker
    agent = {"agent": {"id": asker.id, "type": asker.kind, "description": asker.description}} if asker else {}
    return {"clew": {"tool": told.name, "cwd": told.folder, **({"parent": told.agent} if told.agent else {}), **agent}}


def _origin(name: str, parent: str) -> dict[str, Any]:
    return {"clew": {"tool": name, **({"parent": parent} if parent else {})}}
