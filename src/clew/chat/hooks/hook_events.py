"""Telling hooks: the payload that all events share, and what becomes of their answers."""

from __future__ import annotations

from clew.chat import events
from clew.chat.deps import Deps
from clew.chat.hooks.runner import HookOutcome
from clew.chat.store.live_conversation import LiveConversation
from clew.wire.json_codec import Json


async def tell_hooks(
    name: str, payload: Json, dialogue: LiveConversation, means: Deps, *, agent: str = "", call_id: str = ""
) -> HookOutcome:
    """Run the hooks of an event. What they tell the person is passed on, that they ran is written down."""
    known: Json = {
        "session_id": dialogue.session_id,
        "transcript_path": str(dialogue.root.journal.path),
        "cwd": str(dialogue.state.cwd),
        "permission_mode": dialogue.mode,
    }
    outcome = await means.hooks.run(name, {**known, **({"tool_use_id": call_id} if call_id else {}), **payload})
    for ran in outcome.ran if call_id else ():
        data = {"type": "hook_progress", "hookEvent": name, "hookName": ran.name, "command": ran.name}
        dialogue.journal.progress(data, call_id)
    if outcome.system_message:
        means.tell(events.Noted(agent=agent, text=outcome.system_message))
    return outcome


def reminder(text: str) -> str:
    """A text for the model that is no part of what the person says."""
    return f"<system-reminder>\n{text}\n</system-reminder>"
