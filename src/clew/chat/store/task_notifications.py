"""Build and find the reports of background tasks that have ended.

They are user lines in a `<task-notification>` tag, as Claude Code writes them. Their text is escaped, so that it
cannot close the tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clew.chat.tools.builtin.background import Background
from clew.wire.entry import Entry
from clew.wire.entry_types import tag_text

OPEN = "<task-notification>"
_KINDS = {"local_bash": "Background command", "local_agent": "Agent"}
_OURS = b'"writer":"clew/'
_LAUNCHES = (b'"async_launched"', b'"backgroundTaskId"')
_QUERIES = (b'"task_id"', b'"shellId"')
_NOTIFICATION = re.compile(r"\s*<task-notification>")


def notification(task: Background, call_id: str) -> str:
    """Return the report of an ended task."""
    more = ""
    if task.result:
        more += f"\n<result>{_escape(task.result)}</result>"
    if task.usage:
        more += "\n<usage>" + "".join(f"<{name}>{count}</{name}>" for name, count in task.usage.items()) + "</usage>"
    return _format(task.id, call_id, str(task.path), task.status, summary(task), more)


def summary(task: Background) -> str:
    """One sentence that states how a task ended."""
    how = {"completed": "completed", "failed": "failed", "killed": "was stopped"}.get(task.status, task.status)
    if task.exit_code is not None and task.status != "killed":
        how += f" (exit code {task.exit_code})"
    return f'{_KINDS.get(task.kind, task.kind)} "{task.title}" {how}'


def lost_notification(task_id: str, call_id: str, path: str, kind: str, title: str) -> str:
    """Return the report of a task whose process ended without reporting."""
    what = f'{_KINDS.get(kind, kind)} "{title}" was stopped when the session ended'
    return _format(task_id, call_id, path, "killed", what, "")


def _format(task_id: str, call_id: str, path: str, status: str, summary: str, more: str) -> str:
    fields = {"task-id": task_id, "tool-use-id": call_id, "output-file": path, "status": status, "summary": summary}
    lines = [f"<{name}>{_escape(value)}</{name}>" for name, value in fields.items() if value]
    return "\n".join([OPEN, *lines]) + f"{more}\n</task-notification>"


def _escape(text: str) -> str:
    """Escape tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def reported_task(text: str) -> str:
    """Return the id of the task that a notification reports; "" if the text is not a notification."""
    return tag_text(text, "task-id") if _NOTIFICATION.match(text) else ""


def unreported_tasks(path: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    """Yield the tasks that clew started on this path and whose end was never reported to the model, with the
    notifications to use if their own are lost.
    """
    open_tasks: dict[str, str] = {}
    for entry in path:
        if entry.type != "user":
            continue
        line = entry.line
        if line.contains(_OURS) and any(map(line.contains, _LAUNCHES)) and entry.results:
            if launched := _started_task(_record(entry), str(entry.results[0].tool_use_id or "")):
                open_tasks[launched[0]] = launched[1]
        elif open_tasks and any(map(line.contains, _QUERIES)):
            open_tasks.pop(_ended_task(_record(entry)), None)
        elif open_tasks and (task := reported_task(entry.text)):
            open_tasks.pop(task, None)
    yield from open_tasks.items()


def _record(entry: Entry) -> Mapping[str, Any]:
    record = entry.data.get("toolUseResult")
    return record if isinstance(record, dict) else {}


def _started_task(record: Mapping[str, Any], call_id: str) -> tuple[str, str] | None:
    """Return the task that a result started, and the report to use if its own is lost."""
    if record.get("status") == "async_launched":
        task, title = str(record.get("agentId")), str(record.get("description"))
        return task, lost_notification(task, call_id, str(record.get("outputFile") or ""), "local_agent", title)
    command = record.get("backgroundTaskId")
    return (str(command), lost_notification(str(command), call_id, "", "local_bash", str(command))) if command else None


def _ended_task(record: Mapping[str, Any]) -> str:
    """Return the task whose end a result states, because the model queried or stopped it."""
    task = record.get("task")
    if isinstance(task, dict):
        return str(task.get("task_id")) if task.get("status") != "running" else ""
    if "shellId" in record:
        return str(record["shellId"]) if record.get("status") != "running" else ""
    is_stop = "message" in record and "task_type" in record
    return str(record.get("task_id")) if is_stop else ""
