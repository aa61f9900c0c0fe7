"""Listings: what a session offers, as the Agent SDKs ask for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clew.chat.config.agent_files import definitions
from clew.chat.config.model_alias import choices
from clew.chat.config.skill_files import Skill, discover
from clew.system.environment import api_key, api_token
from clew.version import __version__
from clew.wire.json_codec import Json

if TYPE_CHECKING:
    from clew.chat.engine import Engine
    from clew.chat.session_factory import ChatSession, Wishes

COMPACT = {
    "name": "compact",
    "description": "Go on from a summary of the conversation",
    "argumentHint": "[what to keep]",
}


def greeting(wishes: Wishes, agents: Mapping[str, Json]) -> Json:
    """The answer to `initialize`: commands, agents and models. Nothing has to be running for it."""
    options = wishes.options
    sources = tuple(source for source in ("user", "project") if source in wishes.sources)
    skills, _ = discover(options.cwd, options.claude, wishes.is_trusted, sources)
    kinds, _ = definitions(options.cwd, options.claude, wishes.is_trusted, sources, agents)
    return {
        "commands": [*map(_command, _typed(skills)), COMPACT],
        "agents": [{"name": kind.name, "description": kind.description} for kind in kinds.values()],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [
            {"value": name, "resolvedModel": model, "displayName": name.capitalize(), "description": model}
            for name, model in choices().items()
        ],
        "account": {"apiKeySource": key_source()},
        "current_permission_mode": options.mode or "default",
        "session_state": "idle",
        "hooks_applied": True,
        "hook_on_failure_supported": True,
        "claude_code_version": __version__,
        "pid": os.getpid(),
    }


def opening(session: ChatSession, inside: Sequence[str]) -> Json:
    """What the first frame of a turn lists; `inside` are the servers that live in the SDK's process."""
    known = [{"name": name, "status": "connected"} for name in inside]
    return {
        "mcp_servers": [*known, *({"name": server.name, "status": server.state} for server in session.servers)],
        "slash_commands": [*(skill.name for skill in _typed(session.skills)), COMPACT["name"]],
        "agents": list(session.kinds),
        "skills": [skill.name for skill in session.skills.values() if skill.folder],
        "apiKeySource": key_source(),
    }


def context(engine: Engine) -> Json:
    """How full the window is."""
    size, window = engine.dialogue.size, engine.window
    return {
        "totalTokens": size,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": round(100 * size / window, 1) if window else 0,
        "model": engine.dialogue.model,
        "categories": [{"name": "Messages", "tokens": size, "color": ""}],
    }


def key_source() -> str:
    """Where the key comes from."""
    if api_key():
        return "ANTHROPIC_API_KEY"
    return "ANTHROPIC_AUTH_TOKEN" if api_token() else "none"


def _typed(skills: Mapping[str, Skill]) -> list[Skill]:
    return [skill for skill in skills.values() if skill.for_person]


def _command(skill: Skill) -> dict[str, Any]:
    return {"name": skill.name, "description": skill.description, "argumentHint": skill.hint}
