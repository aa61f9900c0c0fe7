"""Run the hooks of an event with the payload fields that all events share."""

from __future__ import annotations

from collections.abc import Sequence

from clew.chat import events
from clew.chat.deps import Deps
from clew.chat.hooks.runner import EVENTS, HookOutcome
from clew.chat.store.live_conversation import LiveConversation
from clew.wire.json_codec import Json

# Events that are told neither the permission mode nor the effort, and those that are told the mode alone.
_WITHOUT_MODE = (
    *("SessionStart", "SessionEnd", "SubagentStart", "InstructionsLoaded", "MessageDisplay", "Notification"),
    *("PreModelSwitch", "PostModelSwitch", "DirectoryAdded"),
)
_WITHOUT_EFFORT = ("UserPromptSubmit", "UserPromptExpansion")


async def run_hooks(
    name: str, payload: Json, conversation: LiveConversation, deps: Deps, *, agent: str = "", call_id: str = ""
) -> HookOutcome:
    """Run the hooks of an event, record their progress, and report their messages to the user."""
    outcome = await deps.hooks.run(name, {**_shared_fields(name, conversation, call_id), **payload})
    for ran in outcome.ran if call_id else ():
        data = {"type": "hook_progress", "hookEvent": name, "hookName": ran.name, "command": ran.name}
        conversation.journal.progress(data, call_id)
    if outcome.variables:
        conversation.state.variables = {**conversation.state.variables, **outcome.variables}
    if outcome.system_message:
        target = str(payload.get(EVENTS.get(name) or "", ""))
        hook = f"{name}:{target}" if target else name
        deps.emit(events.Notice(agent=agent, text=outcome.system_message, hook=hook))
    return outcome


def _shared_fields(name: str, conversation: LiveConversation, call_id: str) -> Json:
    fields: Json = {
        "session_id": conversation.session_id,
        "transcript_path": str(conversation.root.journal.path),
        "cwd": str(conversation.state.cwd),
    }
    if prompt_id := conversation.root.prompt_id:
        fields["prompt_id"] = prompt_id
    if name not in _WITHOUT_MODE:
        fields["permission_mode"] = conversation.mode
    if conversation.parent is not None:
        fields |= {"agent_id": conversation.journal.envelope.agent_id, "agent_type": conversation.kind}
    effort = conversation.reasoning.effort_for(conversation.model)
    if effort and name not in (*_WITHOUT_MODE, *_WITHOUT_EFFORT):
        fields["effort"] = {"level": effort}
    if call_id and name != "PermissionRequest":
        fields["tool_use_id"] = call_id
    return fields


def describe_tasks(conversation: LiveConversation) -> Json:
    """Return what hooks at the end of a turn are told about background work."""
    running: Sequence[Json] = [
        {"id": task.id, "type": task.kind, "status": task.status, "description": task.title or task.description}
        for task in conversation.state.background.values()
        if task.status == "running"
    ]
    return {"background_tasks": running, "session_crons": []}
