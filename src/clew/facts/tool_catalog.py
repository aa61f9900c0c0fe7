"""Describe the tools: their inputs, how to label a call on one line, and how to read its record.

A table by tool name. A call of another tool is labelled by its most descriptive input; unknown tools and fields are
accepted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from clew.conversation.replies import Call
from clew.facts import unified_diff
from clew.wire.json_codec import JsonView, as_text


class ToolDescription(Struct, frozen=True):
    """The inputs of a tool (`?` after optional ones) and which of them label a call."""

    inputs: tuple[str, ...]
    named_by: tuple[str, ...] = ()

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(name for name in self.inputs if not name.endswith("?"))


TOOLS: dict[str, ToolDescription] = {
    "Read": ToolDescription(("file_path", "offset?", "limit?", "pages?"), ("file_path",)),
    "Write": ToolDescription(("file_path", "content"), ("file_path",)),
    "Edit": ToolDescription(("file_path", "old_string", "new_string", "replace_all?"), ("file_path",)),
    "MultiEdit": ToolDescription(("file_path", "edits"), ("file_path",)),
    "NotebookEdit": ToolDescription(
        ("notebook_path", "new_source", "cell_id?", "cell_type?", "edit_mode?"), ("notebook_path",)
    ),
    "Bash": ToolDescription(("command", "description?", "timeout?", "run_in_background?"), ("command",)),
    "PowerShell": ToolDescription(("command", "description?", "timeout?", "run_in_background?"), ("command",)),
    "BashOutput": ToolDescription(("bash_id", "filter?"), ("bash_id",)),
    "KillShell": ToolDescription(("shell_id",), ("shell_id",)),
    "Glob": ToolDescription(("pattern", "path?"), ("pattern", "path")),
    "Grep": ToolDescription(("pattern", "path?", "glob?", "output_mode?", "type?", "head_limit?"), ("pattern", "path")),
    "LS": ToolDescription(("path", "ignore?"), ("path",)),
    "Task": ToolDescription(
        ("description", "subagent_type", "prompt", "model?", "run_in_background?"), ("description",)
    ),
    "Agent": ToolDescription(
        ("description", "prompt", "subagent_type?", "model?", "run_in_background?"), ("description",)
    ),
    "TaskOutput": ToolDescription(("task_id", "block?", "timeout?"), ("task_id",)),
    "TaskStop": ToolDescription(("task_id",), ("task_id",)),
    "TaskCreate": ToolDescription(("subject", "description", "activeForm?"), ("subject",)),
    "TaskUpdate": ToolDescription(("taskId", "status?", "subject?"), ("taskId", "status")),
    "TaskGet": ToolDescription(("taskId",), ("taskId",)),
    "TaskList": ToolDescription(()),
    "TodoWrite": ToolDescription(("todos",)),
    "WebSearch": ToolDescription(("query", "allowed_domains?", "blocked_domains?"), ("query",)),
    "WebFetch": ToolDescription(("url", "prompt"), ("url",)),
    "AskUserQuestion": ToolDescription(("questions",)),
    "EnterPlanMode": ToolDescription(()),
    "ExitPlanMode": ToolDescription(("plan?",)),
    "Skill": ToolDescription(("skill", "args?"), ("skill", "args")),
    "SlashCommand": ToolDescription(("command",), ("command",)),
    "ToolSearch": ToolDescription(("query", "max_results?"), ("query",)),
    "SendMessage": ToolDescription(("to?", "message?"), ("to",)),
    "LSP": ToolDescription(("operation", "filePath", "line?", "character?"), ("operation", "filePath")),
}
_DESCRIPTIVE_INPUTS = ("file_path", "path", "command", "query", "url", "pattern", "description", "name", "prompt", "id")


def label(call: Call, cwd: str | None = None) -> str:
    """Label a call on one line: the tool and its main input, with short paths."""
    return f"{tool_name(call.name)} {subject(call.name, call.input, cwd)}".strip()


def tool_name(name: str) -> str:
    """Return `mcp__server__tool` as "server: tool"; other names unchanged, on one line."""
    if name.startswith("mcp__"):
        server, _, tool = name[5:].partition("__")
        return f"{server}: {tool}" if tool else server
    return " ".join(name.split())


def subject(name: str, call_input: JsonView, cwd: str | None = None) -> str:
    """Return what a call is about: its descriptive inputs."""
    if special := _SUBJECTS.get(name):
        return special(call_input)
    known = TOOLS.get(name)
    keys = known.named_by if known else tuple(k for k in _DESCRIPTIVE_INPUTS if isinstance(call_input.get(k), str))[:1]
    return " ".join(_shorten(call_input[k], cwd) for k in keys if isinstance(call_input.get(k), str | int))


def _shorten(value: str | int, cwd: str | None) -> str:
    text = " ".join(str(value).split())
    if cwd and text.startswith(cwd.rstrip("/\\") + ("\\" if "\\" in cwd else "/")):
        return text[len(cwd.rstrip("/\\")) + 1 :]
    home = os.path.dirname(cwd) if cwd else ""
    return f"~{text[len(home) :]}" if home and home.count("/") == 2 and text.startswith(home + "/") else text


def _todo_progress(call_input: JsonView) -> str:
    items = objects(call_input.get("todos"))
    done = sum(t.get("status") == "completed" for t in items)
    return f"{done}/{len(items)} done" if items else ""


def _question_texts(call_input: JsonView) -> str:
    questions = objects(call_input.get("questions"))
    return "; ".join(" ".join(as_text(q.get("question", "")).split()) for q in questions)


def objects(value: Any) -> list[JsonView]:
    """Return the objects of a list, and none of any other value: models do not always follow the input schema."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _plan_title(call_input: JsonView) -> str:
    first = as_text(call_input.get("plan") or "").strip().splitlines()[:1]
    return first[0].lstrip("# ") if first else ""


_SUBJECTS: dict[str, Callable[[JsonView], str]] = {
    "TodoWrite": _todo_progress,
    "AskUserQuestion": _question_texts,
    "ExitPlanMode": _plan_title,
}


def result_kind(detail: Any) -> str:
    """Classify a `toolUseResult` by its shape alone; "error" for a string, "" if unknown."""
    if isinstance(detail, str):
        return "error"
    if not isinstance(detail, dict):
        return ""
    return next((kind for kind, fits in _SHAPES if fits(detail)), "")


def return_code_meaning(detail: Any) -> str:
    """Return Claude Code's note about a return code that is not an error, as "No matches found" for grep; else ""."""
    note = detail.get("returnCodeInterpretation") if isinstance(detail, dict) else None
    return " ".join(note.split()) if isinstance(note, str) else ""


def _has(*keys: str) -> Callable[[JsonView], bool]:
    return lambda d: all(k in d for k in keys)


_SHAPES: Sequence[tuple[str, Callable[[JsonView], bool]]] = (
    ("Edit", _has("oldString", "newString")),
    ("MultiEdit", _has("edits", "filePath")),
    ("Write", lambda d: d.get("type") in ("create", "update")),
    (
        "Read",
        lambda d: (
            "file" in d and d.get("type") in ("text", "image", "notebook", "pdf", "parts", "file", "file_unchanged")
        ),
    ),
    ("Bash", _has("stdout", "stderr")),
    ("Grep", _has("mode", "filenames")),
    ("Glob", _has("filenames", "durationMs")),
    ("TodoWrite", _has("oldTodos", "newTodos")),
    ("Task", lambda d: "agentId" in d or "agent_id" in d or ("totalTokens" in d and "content" in d)),
    ("WebFetch", _has("url", "code")),
    ("WebSearch", _has("query", "results")),
    ("AskUserQuestion", _has("questions", "answers")),
    ("Skill", _has("commandName", "success")),
    ("ExitPlanMode", _has("plan")),
)


def diff(detail: Any, name: str = "") -> list[str]:
    """Return the lines of a unified diff for an edit or a write, from its record; [] if it has none."""
    if not isinstance(detail, dict):
        return []
    path = as_text(detail.get("filePath") or name)
    hunks = objects(detail.get("structuredPatch"))
    if hunks:
        return [f"--- {path}", f"+++ {path}", *(line for h in hunks for line in _hunk_lines(h))]
    if detail.get("type") == "create" and isinstance(detail.get("content"), str):
        return list(_creation_diff(path, detail["content"]))
    if isinstance(detail.get("oldString"), str) and isinstance(detail.get("newString"), str):
        return _edit_diff(path, detail["oldString"], detail["newString"])
    return []


def _hunk_lines(hunk: JsonView) -> Iterator[str]:
    old, new = hunk.get("oldStart", 0), hunk.get("newStart", 0)
    yield f"@@ -{old},{hunk.get('oldLines', 0)} +{new},{hunk.get('newLines', 0)} @@"
    lines = hunk.get("lines")
    yield from map(as_text, lines if isinstance(lines, list) else ())


def _creation_diff(path: str, content: str) -> Iterator[str]:
    lines = _lines(content)
    yield "--- /dev/null"
    yield f"+++ {path}"
    yield f"@@ -0,0 +1,{len(lines)} @@"
    yield from (f"+{line}" for line in lines)


def _lines(text: str) -> list[str]:
    """Split text as an editor shows it: at newlines alone, without an empty line at the end."""
    return text.removesuffix("\n").split("\n") if text else []


def _edit_diff(path: str, old: str, new: str) -> list[str]:
    return unified_diff.unified(_lines(old), _lines(new), (path, path))


def call_diff(call: Call, detail: Any = None) -> list[str]:
    """Return the diff of a call: from its record, else (agents' files have none) from its input.

    `detail` is the record, if it has been decoded already.
    """
    lines = diff(call.detail if detail is None else detail)
    if lines or call.name not in ("Edit", "Write"):
        return lines
    call_input = call.input
    path = as_text(call_input.get("file_path", ""))
    if call.name == "Write":
        return list(_creation_diff(path, as_text(call_input.get("content", ""))))
    return _edit_diff(path, as_text(call_input.get("old_string", "")), as_text(call_input.get("new_string", "")))
