"""Lists of a session's commands, agents, models and servers for the Agent SDKs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clew.chat.config.model_alias import short_model_names
from clew.chat.config.plugins import Plugin
from clew.chat.config.skill_files import Skill
from clew.chat.sdk.sdk_frames import CAPABILITIES
from clew.chat.session_config import load_config
from clew.models import model_of
from clew.system.environment import api_key, api_token
from clew.version import __version__
from clew.wire.json_codec import Json

if TYPE_CHECKING:
    from clew.chat.agents.agent_kind import AgentKind
    from clew.chat.sdk.sdk_connection import SdkSession
    from clew.chat.session_spec import SessionSpec

EFFORTS = ("low", "medium", "high", "xhigh", "max")
COMPACT: Json = {
    "name": "compact",
    "description": "Replace the conversation by a summary",
    "argumentHint": "[what to keep]",
    "builtin": True,
}
_OFFERED = ("default", "opus", "fable", "sonnet", "haiku")  # short names in the order of Claude Code


def init_response(spec: SessionSpec) -> Json:
    """Return the answer to `initialize`: commands, agents and models. No session has to run."""
    config = load_config(spec)
    return {
        "commands": list_commands(config.skills),
        "agents": list_kinds(config.kinds),
        "output_style": config.style.name,
        "available_output_styles": list(config.styles),
        "models": list_models(),
        "account": {"apiKeySource": key_source(), "tokenSource": key_source(), "apiProvider": "firstParty"},
        "capabilities": list(CAPABILITIES),
        "fast_mode_state": "off",
        "current_permission_mode": spec.mode or "default",
        "session_state": "idle",
        "hooks_applied": True,
        "hook_on_failure_supported": True,
        "claude_code_version": __version__,
        "pid": os.getpid(),
    }


def init_lists(session: SdkSession, sdk_servers: Sequence[str]) -> Json:
    """Return the lists in the first frame of a turn; `sdk_servers` are the MCP servers inside the SDK program."""
    known = [{"name": name, "status": "connected", "source": "sdk"} for name in sdk_servers]
    return {
        "mcp_servers": [
            *known,
            *({"name": server.name, "status": server.state, "source": server.scope} for server in session.servers),
        ],
        "slash_commands": [*(skill.name for skill in _user_skills(session.skills)), COMPACT["name"]],
        "agents": list(session.kinds),
        "skills": [skill.name for skill in session.skills.values() if skill.folder],
        "apiKeySource": key_source(),
        "output_style": session.style,
        "plugins": list_plugins(session.plugins),
    }


def list_plugins(plugins: Sequence[Plugin]) -> list[Json]:
    """Return the plugins of a session."""
    return [
        {
            "name": plugin.name,
            "path": str(plugin.root),
            "source": plugin.source,
            **({"version": plugin.version} if plugin.version else {}),
        }
        for plugin in plugins
    ]


def list_commands(skills: Mapping[str, Skill]) -> list[Json]:
    """Return the slash commands of a session."""
    return [*map(_command, _user_skills(skills)), COMPACT]


def list_kinds(kinds: Mapping[str, AgentKind]) -> list[Json]:
    """Return the types of subagents."""
    return [{"name": kind.name, "description": kind.description} for kind in kinds.values()]


def list_models() -> list[Json]:
    """Return the models that have a short name."""
    models = []
    known_models = short_model_names()
    for name, model in ((name, known_models[name]) for name in _OFFERED if name in known_models):
        known = model_of(model)
        entry: Json = {"value": name, "resolvedModel": model, "displayName": name.capitalize(), "description": model}
        entry["supportsEffort"] = bool(known.effort)
        if known.effort:
            entry["supportedEffortLevels"] = list(EFFORTS)
        entry["supportsAdaptiveThinking"] = known.thinking == "adaptive"
        models.append(entry)
    return models


def key_source() -> str:
    """Return the environment variable that provides the API key."""
    if api_key():
        return "ANTHROPIC_API_KEY"
    return "ANTHROPIC_AUTH_TOKEN" if api_token() else "none"


def _user_skills(skills: Mapping[str, Skill]) -> list[Skill]:
    return [skill for skill in skills.values() if skill.for_user]


def _command(skill: Skill) -> Json:
    return {"name": skill.name, "description": skill.description, "argumentHint": skill.hint}
