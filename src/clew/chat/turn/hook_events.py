"""Run the hooks of an event with the payload fields that all events share."""

from __future__ import annotations

from clew.chat import events
from clew.chat.deps import Deps
from clew.chat.hooks.runner import HookOutcome
from clew.chat.store.live_conversation import LiveConversation
from clew.wire.json_codec import Json


async def run_hooks(
    name: str, payload: Json, conversation: LiveConversation, deps: Deps, *, agent: str = "", call_id: str = ""
) -> HookOutcome:
    """Run the hooks of an event, record their progress, and report their messages to the user."""
    shared: Json = {
        "session_id": conversation.session_id,
        "transcript_path": str(conversation.root.journal.path),
        "cwd": str(conversation.state.cwd),
        "permission_mode": conversation.mode,
    }
    outcome = await deps.hooks.run(name, {**shared, **({"tool_use_id": call_id} if call_id else {}), **payload})
    for ran in outcome.ran if call_id else ():
        data = {"type": "hook_progress", "hookEvent": name, "hookName": ran.name, "command": ran.name}
        conversation.journal.progress(data, call_id)
    if outcome.variables:
        conversation.state.variables = {**conversation.state.variables, **outcome.variables}
    if outcome.system_message:
        deps.emit(events.Notice(agent=agent, text=outcome.system_message))
    return outcome
