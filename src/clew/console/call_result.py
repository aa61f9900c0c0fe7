"""Show the result of a call in a few rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from clew.chat.tools.tool import CallResult, text_of
from clew.facts.tool_catalog import diff, objects
from clew.system.plural import plural
from clew.view.row_types import DiffRow, DoneRow, FailureRow, PlanRow, ResultRow, Row, TodoRow
from clew.view.sanitize import format_duration, format_tokens
from clew.wire.json_codec import Json

MAX_LINES = 6  # lines of an output that are shown
MAX_LIST_LINES = 3
MAX_FAILURE_LINES = 12
MAX_DIFF_LINES = 60
MAX_NEW_LINES = 10  # lines of a file that was created
_TAGS = re.compile(r"</?tool_use_error>")


def result_rows(name: str, call_input: Json, result: CallResult, cwd: str, is_verbose: bool = False) -> Iterator[Row]:
    """Yield the rows below the title of a call."""
    text = _TAGS.sub("", text_of(result.content))
    if result.is_error:
        yield FailureRow(text, limit=None if is_verbose else MAX_FAILURE_LINES)
        return
    detail: Any = result.detail if isinstance(result.detail, dict) else {}
    match name:
        case "Edit" | "Write" | "MultiEdit":
            yield from _change_rows(detail, text, cwd, is_verbose)
        case "Read":
            yield ResultRow(_describe_read(detail) or text, limit=MAX_LINES)
        case "Bash" if isinstance(task := detail.get("backgroundTaskId"), str):
            yield ResultRow(f"It is running in background as {task}. See /tasks.")
        case "TodoWrite":
            yield from todo_rows(call_input.get("todos"))
        case "Task" | "Agent":
            yield ResultRow(_describe_agent(detail) or text, limit=MAX_LIST_LINES)
        case "AskUserQuestion":
            answers = detail.get("answers")
            pairs = [f"{q} → {a}" for q, a in answers.items()] if isinstance(answers, dict) else []
            yield ResultRow("\n".join(pairs) or "No answer.")
        case "ExitPlanMode":
            if call_input.get("plan"):
                yield PlanRow(str(call_input["plan"]))
            yield ResultRow("The plan is approved.")
        case _:
            few = MAX_LIST_LINES if name in ("Glob", "Grep") else MAX_LINES
            yield ResultRow(text, limit=None if is_verbose else few)


def _change_rows(detail: Json, text: str, cwd: str, is_verbose: bool) -> Iterator[Row]:
    lines = diff(detail)[2:]
    if not lines:
        yield ResultRow(text, limit=MAX_LINES)
        return
    is_new = detail.get("type") == "create"
    yield DoneRow(describe_change(lines, str(detail.get("filePath", "")), cwd, is_new))
    limit = MAX_NEW_LINES + 1 if is_new else MAX_DIFF_LINES  # the header of the hunk is one of the lines
    yield DiffRow("\n".join(lines), limit=None if is_verbose else limit, path=str(detail.get("filePath", "")))


def describe_change(lines: list[str], path: str, cwd: str, is_new: bool = False) -> str:
    """Describe a diff in numbers: `Changed a.py: 2 additions and 1 removal`."""
    short = path.removeprefix(cwd.rstrip("/") + "/") if cwd else path
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    if is_new:
        return f"Wrote {plural(added, 'line')} to {short}"
    parts = [plural(added, "addition")] * bool(added)
    parts += [plural(removed, "removal")] * bool(removed)
    return f"Changed {short}: {' and '.join(parts) or 'nothing'}"


def _describe_read(detail: Json) -> str:
    file = detail.get("file")
    if not isinstance(file, dict):
        return ""
    if isinstance(count := file.get("numLines"), int):
        return f"Read {plural(count, 'line')}"
    return f"Read {detail.get('type')}" if detail.get("type") else ""


def _describe_agent(detail: Json) -> str:
    if detail.get("isAsync"):
        return "Works in the background"
    count, used, took = (detail.get(f"total{name}") for name in ("ToolUseCount", "Tokens", "DurationMs"))
    if not isinstance(count, int):
        return ""
    facts = [plural(count, "call")]
    facts += [f"{format_tokens(used)} tokens"] if isinstance(used, int) else []
    facts += [format_duration(took / 1000)] if isinstance(took, int) else []
    return f"Done ({' · '.join(facts)})"


def todo_rows(todos: Any) -> Iterator[Row]:
    for todo in objects(todos):
        yield TodoRow(str(todo.get("content", "")), status=str(todo.get("status", "")))
