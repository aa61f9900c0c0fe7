"""Implement Task, also called Agent: hand a piece of work to a sub-agent."""

from __future__ import annotations

from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import (
    BOOLEAN,
    TEXT,
    SpecTool,
    enum_schema,
    object_schema,
    optional_field,
    required_field,
)
from clew.wire.json_codec import Json


async def send(input: Json, scene: ToolContext) -> CallResult:
    if scene.send is None:
        raise ToolFailed("No agent can be begun from here.")
    return await scene.send(input, scene)


_ABOUT = (
    "Give a piece of work to an agent with a context of its own, and get its last words back. It knows nothing of this "
    "conversation: tell it all it needs. Agents that are begun together work side by side. One in the background is not "
    "waited for: its last words come by themselves when it has ended."
)
_FIELDS = {
    "description": required_field(TEXT, "The work in three to five words", minLength=1),
    "prompt": required_field(TEXT, "The task, described completely", minLength=1),
    "subagent_type": optional_field(TEXT, "The kind of agent; general-purpose if not given"),
    "model": optional_field(TEXT, "The model for it; that of this conversation if not given"),
    "run_in_background": optional_field(BOOLEAN, "Do not wait for it"),
    "isolation": optional_field(
        enum_schema("worktree"),
        "`worktree`: it works in its own checkout of the repository, which stays if it changes it",
    ),
}
TASK = SpecTool("Task", _ABOUT, object_schema(**_FIELDS), send)
AGENT = SpecTool("Agent", _ABOUT, object_schema(**_FIELDS), send)
