"""Outcomes: the result of a call in a few lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from clew.chat.store.live_conversation import text_of
from clew.chat.tools.tool import CallResult
from clew.facts.tool_catalog import diff, objects
from clew.system.plural import plural
from clew.view.row_types import DiffRow, DoneRow, FailureRow, PlanRow, ResultRow, Row, TodoRow
from clew.view.sanitize import format_duration, format_tokens
from clew.wire.json_codec import Json

LINES = 6  # of an output
FEW = 3
FAILURE_LINES = 12
DIFF_LINES = 60
_TAGS = re.compile(r"</?tool_use_error>")


def rows_of(name: str, given: Json, result: CallResult, cwd: str, is_verbose: bool = False) -> Iterator[Row]:
    """The rows below the title of a call that has its result."""
    text = _TAGS.sub("", text_of(result.content))
    if result.is_error:
        yield FailureRow(text, limit=None if is_verbose else FAILURE_LINES)
        return
    detail: Any = result.detail if isinstance(result.detail, dict) else {}
    match name:
        case "Edit" | "Write" | "MultiEdit":
            yield from _changed(detail, text, cwd, is_verbose)
        case "Read":
            yield ResultRow(_read(detail) or text, limit=LINES)
        case "TodoWrite":
            yield from todo_rows(given.get("todos"))
        case "Task" | "Agent":
            yield ResultRow(_agent(detail) or text, limit=FEW)
        case "AskUserQuestion":
            answers = detail.get("answers")
            told = [f"{q} → {a}" for q, a in answers.items()] if isinstance(answers, dict) else []
            yield ResultRow("\n".join(told) or "No answer.")
        case "ExitPlanMode":
            if given.get("plan"):
                yield PlanRow(str(given["plan"]))
            yield ResultRow("The plan is approved.")
        case _:
            few = FEW if name in ("Glob", "Grep") else LINES
            yield ResultRow(text, limit=None if is_verbose else few)


def _changed(detail: Json, text: str, cwd: str, is_verbose: bool) -> Iterator[Row]:
    lines = diff(detail)[2:]
    if not lines:
        yield ResultRow(text, limit=LINES)
        return
    yield DoneRow(counted(lines, str(detail.get("filePath", "")), cwd, detail.get("type") == "create"))
    yield DiffRow("\n".join(lines), limit=None if is_verbose else DIFF_LINES)


def counted(lines: list[str], path: str, cwd: str, is_new: bool = False) -> str:
    """What a diff does to a file, in numbers."""
    short = path.removeprefix(cwd.rstrip("/") + "/") if cwd else path
    added = sum(line.startswith("+") for line in lines)
    gone = sum(line.startswith("-") for line in lines)
    if is_new:
        return f"Wrote {plural(added, 'line')} to {short}"
    parts = [plural(added, "addition")] * bool(added)
    parts += [plural(gone, "removal")] * bool(gone)
    return f"Changed {short}: {' and '.join(parts) or 'nothing'}"


def _read(detail: Json) -> str:
    file = detail.get("file")
    if not isinstance(file, dict):
        return ""
    if isinstance(count := file.get("numLines"), int):
        return f"Read {plural(count, 'line')}"
    return f"Read {detail.get('type')}" if detail.get("type") else ""


def _agent(detail: Json) -> str:
    count, used, took = (detail.get(f"total{name}") for name in ("ToolUseCount", "Tokens", "DurationMs"))
    if not isinstance(count, int):
        return ""
    words = [plural(count, "call")]
    words += [f"{format_tokens(used)} tokens"] if isinstance(used, int) else []
    words += [format_duration(took / 1000)] if isinstance(took, int) else []
    return f"Done ({' · '.join(words)})"


def todo_rows(todos: Any) -> Iterator[Row]:
    for todo in objects(todos):
        yield TodoRow(str(todo.get("content", "")), status=str(todo.get("status", "")))
