"""Run the hooks at the end of a turn: they see its last text, and can let the model continue."""

from __future__ import annotations

from msgspec import Struct

from clew.chat.turn.hook_events import describe_tasks
from clew.chat.turn.tool_calls import CallRunner
from clew.wire.json_codec import Json


class StopVerdict(Struct, frozen=True):
    """What hooks say about the end of a turn."""

    reason: str = ""  # what the model must do before it may stop
    is_final: bool = False  # a hook forbade that the model continues


async def run_stop_hooks(runner: CallRunner, text: str, was_blocked: bool) -> StopVerdict:
    """Run Stop, or SubagentStop for a subagent; for a text that the user sees MessageDisplay before it."""
    conversation = runner.conversation
    payload: Json = {"stop_hook_active": was_blocked, "last_assistant_message": text, **describe_tasks(conversation)}
    name = "Stop"
    if agent_id := conversation.journal.envelope.agent_id:
        name = "SubagentStop"
        path = str(conversation.journal.path)
        payload |= {"agent_id": agent_id, "agent_type": conversation.kind, "agent_transcript_path": path}
    elif text:
        new_id = conversation.journal.new_id
        shown: Json = {"turn_id": new_id(), "message_id": new_id(), "index": 0, "final": True, "delta": text}
        await runner.run_hooks("MessageDisplay", None, shown)
    outcome = await runner.run_hooks(name, None, payload)
    return StopVerdict(outcome.reason if outcome.block and not outcome.stop else "", outcome.stop)
