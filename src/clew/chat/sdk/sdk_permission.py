"""Build permission requests for an SDK and interpret its answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.chat.engine import Engine
from clew.chat.events import PermissionRequested
from clew.chat.permission.decision import Decision
from clew.chat.permission.suggest_rules import as_permission_updates
from clew.facts.tool_catalog import subject, tool_name
from clew.wire.json_codec import Json

_EDITS = ("Edit", "MultiEdit", "Write", "NotebookEdit")


def permission_request(request: PermissionRequested, engine: Engine) -> Json:
    """Return the permission request, with rules that would avoid it next time. Unknown fields are left out."""
    state = engine.conversation.state
    path = request.decision.path
    is_inside = path is not None and _is_inside(path, state.roots)
    stated = (
        request.input.get("description")
        if request.name == "Bash"
        else subject(request.name, request.input, request.folder)
    )
    asker = request.asker
    more = {
        "description": stated,
        "decision_reason": request.decision.reason,
        "blocked_path": None if is_inside else path,
        "agent_id": asker.id if asker else None,
        "title": f"{f'The agent {asker.kind}' if asker else 'clew'} wants to use {request.name} in {request.folder}",
    }
    return {
        "tool_name": request.name,
        "display_name": tool_name(request.name),
        "input": request.input,
        **{name: value for name, value in more.items() if value},
        "permission_suggestions": _suggestions(request, engine, is_inside),
        "tool_use_id": request.call_id,
        "cwd": request.folder,
    }


def _suggestions(request: PermissionRequested, engine: Engine, is_inside: bool) -> list[Json]:
    """For an edit suggest acceptEdits mode, with its folder if that is outside the project; for anything else a rule."""
    mode = engine.conversation.mode
    if request.name in _EDITS and mode in ("default", "acceptEdits") and request.decision.suggestions:
        accepts: Json = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
        folder = os.path.dirname(request.decision.path or "")
        adds: Json = {"type": "addDirectories", "directories": [folder], "destination": "session"}
        updates = [*([accepts] if mode == "default" else ()), *([] if is_inside else [adds])]
        return updates or as_permission_updates(request.decision.suggestions)
    return as_permission_updates(request.decision.suggestions)


def _is_inside(path: str, roots: tuple[Path, ...]) -> bool:
    real_path = Path(os.path.realpath(path))
    return any(real_path.is_relative_to(os.path.realpath(root)) for root in roots)


def read_decision(answer: Mapping[str, Any]) -> Decision:
    """Return the decision in an SDK's answer."""
    if answer.get("behavior") == "allow":
        changed = answer.get("updatedInput")
        return Decision("allow", input=changed if isinstance(changed, dict) else None)
    return Decision("deny", message=str(answer.get("message") or "The user declined this call."))


def permission_updates(answer: Mapping[str, Any]) -> list[Json]:
    """Return the permission updates in an SDK's answer."""
    stated = answer.get("updatedPermissions")
    is_allowed = answer.get("behavior") == "allow"
    return [update for update in stated if isinstance(update, dict)] if is_allowed and isinstance(stated, list) else []
