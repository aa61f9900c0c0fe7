"""Tool results: the content for the model, and the detail (`toolUseResult`) stored next to it."""

from __future__ import annotations

import base64
import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.demo.tool_inputs import ToolInput
from clew.demo.version_layout import ABSENT, Data, Setup

Content = str | list[Data]


class ToolResult(Struct, frozen=True):
    """A result: its content, its detail (ABSENT for none) and the files known after it."""

    content: Content
    detail: Any = ABSENT
    files: Mapping[str, str] = field(default_factory=dict)


class ToolUse(Struct, frozen=True):
    """A call with its context: the given content, the files known so far, the todos before it."""

    call: ToolInput
    said: Content | None
    setup: Setup
    files: Mapping[str, str]
    todos: tuple[Data, ...]

    @property
    def text(self) -> str:
        return self.said if isinstance(self.said, str) else ""

    def argument(self, name: str) -> str:
        return str(self.call.input.get(name) or "")


def build_result(use: ToolUse) -> ToolResult:
    """Return the result of a successful call; tools without a shape here return the given content."""
    name = use.call.name
    shape = _mcp if name.startswith("mcp__") else _SHAPES.get(name, _plain)
    result = shape(use)
    if use.said is None or shape in (_mcp, _task):
        return result
    return replace(result, content=use.said)


def failed_result(content: Content) -> ToolResult:
    """Return the result of a failed call."""
    text = content if isinstance(content, str) else "the tool failed"
    return ToolResult(content, f"Error: {text}")


def image_block(data: bytes, kind: str = "image/png") -> Data:
    """Return an image block."""
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def structured_patch(before: str, after: str) -> list[Data]:
    """Return the hunks that turn one text into the other, with three lines of context."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    hunks = []
    for group in matcher.get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        lines: list[str] = []
        for tag, i, j, k, m in group:
            if tag == "equal":
                lines += [" " + line for line in old[i:j]]
            else:
                lines += ["-" + line for line in old[i:j]] + ["+" + line for line in new[k:m]]
        hunks.append(
            {
                "oldStart": first[1] + (last[2] > first[1]),
                "oldLines": last[2] - first[1],
                "newStart": first[3] + (last[4] > first[3]),
                "newLines": last[4] - first[3],
                "lines": lines,
            }
        )
    return hunks


def number_lines(setup: Setup, text: str, start: int = 1) -> str:
    """Return a file with line numbers, as the Read tool shows it to the model."""
    form = "{}\t{}" if setup.since("2.1.90") else "{:6d}→{}"
    return "\n".join(form.format(start + i, line) for i, line in enumerate(text.split("\n")))


def _plain(asked: ToolUse) -> ToolResult:
    return ToolResult(asked.said or "")


def _mcp(asked: ToolUse) -> ToolResult:
    blocks = asked.said if isinstance(asked.said, list) else [{"type": "text", "text": asked.text}]
    return ToolResult(blocks, blocks)


def _bash(asked: ToolUse) -> ToolResult:
    detail: Data = {"stdout": asked.text, "stderr": "", "interrupted": False, "isImage": False}
    if asked.setup.since("2.1.38"):
        detail["noOutputExpected"] = False
    return ToolResult(asked.text, detail)


def _read(asked: ToolUse) -> ToolResult:
    path = asked.argument("file_path")
    if asked.call.image is not None:
        return _image(asked, asked.call.image)
    full_text = asked.call.text
    if full_text is None:
        full_text = asked.said if isinstance(asked.said, str) else asked.files.get(path, "")
    start = int(asked.call.input.get("offset") or 1)
    lines = full_text.split("\n")
    part = lines[start - 1 :][: int(asked.call.input.get("limit") or len(lines))]
    file = {
        "filePath": path,
        "content": "\n".join(part),
        "numLines": len(part),
        "startLine": start,
        "totalLines": len(lines),
    }
    text = number_lines(asked.setup, "\n".join(part), start)
    return ToolResult(text, {"type": "text", "file": file}, {path: full_text})


def _image(asked: ToolUse, data: bytes) -> ToolResult:
    block = image_block(data)
    file = {"base64": block["source"]["data"], "type": "image/png", "originalSize": len(data)}
    return ToolResult([block], {"type": "image", "file": file})


def _edit(asked: ToolUse) -> ToolResult:
    path, old, new = (asked.argument(n) for n in ("file_path", "old_string", "new_string"))
    before = asked.files.get(path, old)
    if old not in before:
        raise ValueError(f"the text to replace is not in {path}")
    everywhere = bool(asked.call.input.get("replace_all"))
    after = before.replace(old, new) if everywhere else before.replace(old, new, 1)
    detail = {
        "filePath": path,
        "oldString": old,
        "newString": new,
        "originalFile": before,
        "structuredPatch": structured_patch(before, after),
        "userModified": False,
        "replaceAll": everywhere,
    }
    return ToolResult(f"The file {path} has been updated.", detail, {path: after})


def _write(asked: ToolUse) -> ToolResult:
    path, content = asked.argument("file_path"), asked.argument("content")
    before = asked.files.get(path)
    detail: Data = {"type": "create" if before is None else "update", "filePath": path, "content": content}
    detail["structuredPatch"] = [] if before is None else structured_patch(before, content)
    if asked.setup.since("2.0.50"):
        detail["originalFile"] = before
    if asked.setup.since("2.1.200"):
        detail["userModified"] = False
    message = f"File created: {path}" if before is None else f"The file {path} has been updated."
    return ToolResult(message, detail, {path: content})


def _grep(asked: ToolUse) -> ToolResult:
    mode = asked.argument("output_mode") or "files_with_matches"
    lines = asked.text.splitlines()
    if mode == "files_with_matches":
        return ToolResult(asked.text, {"mode": mode, "filenames": lines, "numFiles": len(lines)})
    detail = {"mode": mode, "numFiles": 0, "filenames": [], "content": asked.text, "numLines": len(lines)}
    return ToolResult(asked.text, detail)


def _glob(asked: ToolUse) -> ToolResult:
    names = asked.text.splitlines()
    detail = {"filenames": names, "durationMs": 8, "numFiles": len(names), "truncated": False}
    return ToolResult(asked.text or "No files found", detail)


def _todos(asked: ToolUse) -> ToolResult:
    detail = {"oldTodos": list(asked.todos), "newTodos": asked.call.input.get("todos", [])}
    return ToolResult("The todo list was updated.", detail)


def _task(asked: ToolUse) -> ToolResult:
    blocks = asked.said if isinstance(asked.said, list) else [{"type": "text", "text": asked.text}]
    return ToolResult(blocks, {"status": "completed", "prompt": asked.argument("prompt"), "content": blocks})


def _search(asked: ToolUse) -> ToolResult:
    return ToolResult(
        asked.text,
        {"query": asked.argument("query"), "results": [asked.text], "durationSeconds": 2.5},
    )


def _fetch(asked: ToolUse) -> ToolResult:
    size = len(asked.text.encode())
    detail: Data = {"bytes": size, "code": 200, "codeText": "OK", "result": asked.text, "durationMs": 840}
    return ToolResult(asked.text, detail | {"url": asked.argument("url")})


def _plan(asked: ToolUse) -> ToolResult:
    detail: Data = {"plan": asked.argument("plan"), "isAgent": False}
    if path := asked.argument("planFilePath"):
        detail["filePath"] = path
    return ToolResult("The plan was approved.", detail)


def _task_create(asked: ToolUse) -> ToolResult:
    subject = asked.argument("subject")
    digits = re.search(r"#(\d+)", asked.text)
    number = digits[1] if digits else "1"
    return ToolResult(f"Task #{number} created: {subject}", {"task": {"id": number, "subject": subject}})


def _task_update(asked: ToolUse) -> ToolResult:
    number = asked.argument("taskId")
    fields = [key for key in asked.call.input if key != "taskId"]
    return ToolResult(f"Updated task #{number}", {"success": True, "taskId": number, "updatedFields": fields})


_SHAPES: Mapping[str, Callable[[ToolUse], ToolResult]] = {
    "Bash": _bash,
    "Read": _read,
    "Edit": _edit,
    "Write": _write,
    "Grep": _grep,
    "Glob": _glob,
    "TodoWrite": _todos,
    "Task": _task,
    "Agent": _task,
    "WebSearch": _search,
    "WebFetch": _fetch,
    "ExitPlanMode": _plan,
    "TaskCreate": _task_create,
    "TaskUpdate": _task_update,
}
