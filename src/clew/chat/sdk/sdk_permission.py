"""Consent: how an SDK is asked whether a call may be made, and what its answer means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.chat.engine import Engine
from clew.chat.events import PermissionAsked
from clew.chat.permission.decision import Decision
from clew.chat.permission.suggest_rules import as_permission_updates
from clew.facts.tool_catalog import subject, tool_name
from clew.wire.json_codec import Json

_EDITS = ("Edit", "MultiEdit", "Write", "NotebookEdit")


def asked(told: PermissionAsked, engine: Engine) -> Json:
    """The question, with what would spare it next time. What is not known is left out."""
    state = engine.dialogue.state
    path = told.decision.path
    is_inside = path is not None and _is_inside(path, state.roots)
    stated = told.input.get("description") if told.name == "Bash" else subject(told.name, told.input, told.folder)
    asker = told.asker
    more = {
        "description": stated,
        "decision_reason": told.decision.reason,
        "blocked_path": None if is_inside else path,
        "agent_id": asker.id if asker else None,
        "title": f"{f'The agent {asker.kind}' if asker else 'clew'} wants to use {told.name} in {told.folder}",
    }
    return {
        "tool_name": told.name,
        "display_name": tool_name(told.name),
        "input": told.input,
        **{name: value for name, value in more.items() if value},
        "permission_suggestions": _suggestions(told, engine, is_inside),
        "tool_use_id": told.call_id,
        "cwd": told.folder,
    }


def _suggestions(told: PermissionAsked, engine: Engine, is_inside: bool) -> list[Json]:
    """For a change in the project the mode that makes all of them, for anything else a rule."""
    if told.name in _EDITS and is_inside and engine.dialogue.mode == "default" and told.decision.suggestions:
        return [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
    return as_permission_updates(told.decision.suggestions)


def _is_inside(path: str, roots: tuple[Path, ...]) -> bool:
    place = Path(os.path.realpath(path))
    return any(place.is_relative_to(os.path.realpath(root)) for root in roots)


def decided(answer: Mapping[str, Any]) -> Decision:
    """What an SDK's answer decides."""
    if answer.get("behavior") == "allow":
        changed = answer.get("updatedInput")
        return Decision("allow", input=changed if isinstance(changed, dict) else None)
    return Decision("deny", message=str(answer.get("message") or "The user declined this call."))


def updates(answer: Mapping[str, Any]) -> list[Json]:
    """The changes of permissions that came with an answer."""
    stated = answer.get("updatedPermissions")
    is_allowed = answer.get("behavior") == "allow"
    return [each for each in stated if isinstance(each, dict)] if is_allowed and isinstance(stated, list) else []
