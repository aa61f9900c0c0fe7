"""Remove references to tools that are no longer available from the results of a tool search."""

from __future__ import annotations

from typing import Any

from clew.conversation.cli_version import Era
from clew.models import model_of
from clew.wire.json_codec import Json

REMOVED = "[Tool references removed - tools no longer available]"
# The tools that Claude Code offers without MCP servers (run with -p), old names that it still takes included
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
_OFFERED_EARLIER = frozenset(  # by 2.1.29 and 2.1.45
    [
        "AskUserQuestion",
        "Bash",
        "Edit",
        "EnterPlanMode",
        "ExitPlanMode",
        "Glob",
        "Grep",
        "NotebookEdit",
        "Read",
        "Skill",
        "Task",
        "TaskOutput",
        "TaskStop",
        "TodoWrite",
        "WebFetch",
        "WebSearch",
        "Write",
    ]
)
_TASKS = frozenset(["TaskCreate", "TaskGet", "TaskList", "TaskUpdate"])


def refers_to_tools(block: Json) -> bool:
    """Return whether a block is a tool result that contains a tool reference."""
    content = block.get("content") if block.get("type") == "tool_result" else None
    return isinstance(content, list) and any(map(_is_reference, content))


def drop_lost_references(block: Json, era: Era, model: str) -> Json:
    """Remove references to unavailable tools from a result; a note replaces content that becomes empty."""
    if not refers_to_tools(block):
        return block
    offered = _offered_tools(era, model)
    parts = [
        part for part in block["content"] if not _is_reference(part) or _is_offered(part.get("tool_name"), offered)
    ]
    return {**block, "content": parts or [{"type": "text", "text": REMOVED}]}


def _is_reference(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_reference"


def _offered_tools(era: Era, model: str) -> frozenset[str]:
    if not era.renders_attachments:
        return _OFFERED_EARLIER
    return _OFFERED if model_of(model).system_turns else _OFFERED | _TASKS


def _is_offered(name: Any, offered: frozenset[str]) -> bool:
    """Return whether a tool is available; a reference without a name is sent unchanged."""
    return not isinstance(name, str) or not name or name in offered
