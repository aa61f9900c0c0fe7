"""Remove references to tools that are no longer available from the results of a tool search."""

from __future__ import annotations

from typing import Any

from clew.models import model_of
from clew.wire.json_codec import Json

REMOVED = "[Tool references removed - tools no longer available]"
# The tools that Claude Code 2.1.325 offers without MCP servers (run with -p), and Task, the old name of Agent
_OFFERED = frozenset(
    [
        "Agent",
        "Bash",
        "CronCreate",
        "CronDelete",
        "CronList",
        "Edit",
        "EnterWorktree",
        "ExitWorktree",
        "Monitor",
        "NotebookEdit",
        "Read",
        "ScheduleWakeup",
        "SendMessage",
        "Skill",
        "Task",
        "TaskStop",
        "ToolSearch",
        "WebFetch",
        "WebSearch",
        "Workflow",
        "Write",
    ]
)
_TASKS = frozenset(["TaskCreate", "TaskGet", "TaskList", "TaskUpdate"])


def refers_to_tools(block: Json) -> bool:
    """Return whether a block is a tool result that contains a tool reference."""
    content = block.get("content") if block.get("type") == "tool_result" else None
    return isinstance(content, list) and any(map(_is_reference, content))


def drop_lost_references(block: Json, model: str) -> Json:
    """Remove references to unavailable tools from a result; a note replaces content that becomes empty."""
    if not refers_to_tools(block):
        return block
    parts = [part for part in block["content"] if not _is_reference(part) or _is_offered(part.get("tool_name"), model)]
    return {**block, "content": parts or [{"type": "text", "text": REMOVED}]}


def _is_reference(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_reference"


def _is_offered(name: Any, model: str) -> bool:
    """Return whether a tool is available; a reference without a name is sent unchanged."""
    if not isinstance(name, str) or not name:
        return True
    return name in _OFFERED or (name in _TASKS and not model_of(model).system_turns)
