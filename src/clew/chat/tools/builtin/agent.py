"""Task, also called Agent: a piece of work handed to another conversation."""

from __future__ import annotations

from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import FLAG, TEXT, SpecTool, fields, needed, optional
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
    "description": needed(TEXT, "The work in three to five words", minLength=1),
    "prompt": needed(TEXT, "The work, told in full", minLength=1),
    "subagent_type": optional(TEXT, "The kind of agent; general-purpose if not given"),
    "model": optional(TEXT, "The model for it; that of this conversation if not given"),
    "run_in_background": optional(FLAG, "Do not wait for it"),
}
TASK = SpecTool("Task", _ABOUT, fields(**_FIELDS), send)
AGENT = SpecTool("Agent", _ABOUT, fields(**_FIELDS), send)
