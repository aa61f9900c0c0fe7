"""Notifications: what the model is told when something ended in the background, and which of them it never heard.

They stand in the file as a user's lines with a tag of their own, in the form of Claude Code. What an agent said is put in so
that it cannot end the tag.
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
_LOOKS = (b'"task_id"', b'"shellId"')
_FIRST = re.compile(r"\s*<task-notification>")


def notification(task: Background, call_id: str) -> str:
    """How a task ended."""
    more = ""
    if task.result:
        more += f"\n<result>{_inert(task.result)}</result>"
    if task.usage:
        more += "\n<usage>" + "".join(f"<{name}>{count}</{name}>" for name, count in task.usage.items()) + "</usage>"
    return _told(task.id, call_id, str(task.path), task.status, summary(task), more)


def summary(task: Background) -> str:
    """The same in one sentence."""
    how = {"completed": "completed", "failed": "failed", "killed": "was stopped"}.get(task.status, task.status)
    if task.exit_code is not None and task.status != "killed":
        how += f" (exit code {task.exit_code})"
    return f'{_KINDS.get(task.kind, task.kind)} "{task.title}" {how}'


def lost(task_id: str, call_id: str, path: str, kind: str, title: str) -> str:
    """For a task whose program ended before it did, without a word."""
    what = f'{_KINDS.get(kind, kind)} "{title}" was stopped when the session ended'
    return _told(task_id, call_id, path, "killed", what, "")


def _told(task_id: str, call_id: str, path: str, status: str, said: str, more: str) -> str:
    fields = {"task-id": task_id, "tool-use-id": call_id, "output-file": path, "status": status, "summary": said}
    lines = [f"<{name}>{_inert(value)}</{name}>" for name, value in fields.items() if value]
    return "\n".join([OPEN, *lines]) + f"{more}\n</task-notification>"


def _inert(text: str) -> str:
    """A text that holds no tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def task_of(text: str) -> str:
    """The task that a notification is about; empty if the text is none."""
    return tag_text(text, "task-id") if _FIRST.match(text) else ""


def unheard(along: Iterable[Entry], queued: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Tasks that clew began on this path and whose end the model was never told: each with its notification.

    `queued` are the notifications that were waiting, by task.
    """
    begun: dict[str, str] = {}
    for entry in along:
        if entry.type != "user":
            continue
        if _OURS in entry.raw and any(mark in entry.raw for mark in _LAUNCHES) and entry.results:
            if launched := _launched(_record(entry), str(entry.results[0].tool_use_id or "")):
                begun[launched[0]] = launched[1]
        elif begun and any(mark in entry.raw for mark in _LOOKS):
            begun.pop(_heard(_record(entry)), None)
        elif begun and (task := task_of(entry.text)):
            begun.pop(task, None)
    for task, text in begun.items():
        yield task, queued.get(task, text)


def _record(entry: Entry) -> Mapping[str, Any]:
    record = entry.data.get("toolUseResult")
    return record if isinstance(record, dict) else {}


def _launched(record: Mapping[str, Any], call_id: str) -> tuple[str, str] | None:
    """A task that a result says to have begun, and what there is to say of it if nothing else is known."""
    if record.get("status") == "async_launched":
        task, title = str(record.get("agentId")), str(record.get("description"))
        return task, lost(task, call_id, str(record.get("outputFile") or ""), "local_agent", title)
    command = record.get("backgroundTaskId")
    return (str(command), lost(str(command), call_id, "", "local_bash", str(command))) if command else None


def _heard(record: Mapping[str, Any]) -> str:
    """The task whose end a result tells of, because the model asked for it or stopped it."""
    task = record.get("task")
    if isinstance(task, dict):
        return str(task.get("task_id")) if task.get("status") != "running" else ""
    if "shellId" in record:
        return str(record["shellId"]) if record.get("status") != "running" else ""
    is_stop = "message" in record and "task_type" in record
    return str(record.get("task_id")) if is_stop else ""
