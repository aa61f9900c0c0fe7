"""Load what settings and files of the user, the project and plugins say about a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs
from msgspec.structs import replace

from clew.chat.agents.agent_files import describe_kinds, load_agent_kinds
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.config import skill_files
from clew.chat.config.host_policy import read_host_policy
from clew.chat.config.output_styles import OutputStyle, choose_style, describe_style, load_styles
from clew.chat.config.plugins import Plugin, load_plugins
from clew.chat.config.reasoning_settings import complete_reasoning
from clew.chat.config.setting_keys import check_keys
from clew.chat.config.settings import Settings, SettingsSource, as_object, managed_folder
from clew.chat.config.skill_files import Skill
from clew.chat.hooks.hook_settings import read_hooks
from clew.chat.hooks.runner import Hook, Hooks
from clew.chat.input import memory_files
from clew.chat.input.memory_files import Memories, Memory
from clew.chat.mcp.mcp_client import McpServer
from clew.chat.mcp.server_scopes import ServerSearch
from clew.chat.permission.decide import Permissions
from clew.chat.session_spec import SessionSpec
from clew.system import environment
from clew.wire.json_codec import Json
from clew.wire.layout import slug


class SessionConfig(Struct, frozen=True):
    """What settings and files say about a session."""

    settings: Settings
    permissions: Permissions
    hooks: Hooks
    skills: dict[str, Skill]
    kinds: dict[str, AgentKind]
    memories: Memories
    first_memories: Sequence[Memory]  # sent at the start
    plugins: Sequence[Plugin]
    servers: Sequence[McpServer]  # not started yet
    styles: Mapping[str, OutputStyle]
    style: OutputStyle
    description: str  # memory files, skills and agents, for the first message
    notices: Sequence[str]  # what could not be used, and why

    @property
    def style_text(self) -> str:
        """The text for the model about the output style and the language of answers."""
        return describe_style(self.style, self.settings.merged.get("language"))

    @property
    def default_model(self) -> str:
        """The model of the settings; empty if they name none."""
        model = self.settings.merged.get("model")
        return model if isinstance(model, str) else ""


def load_config(spec: SessionSpec) -> SessionConfig:
    """Load the configuration of a session. Raises ValueError if MCP servers that were given cannot be read."""
    settings = _settings(spec)
    home = Path(environment.user_home())
    outputs = spec.claude / "projects" / slug(str(spec.cwd))
    permissions = Permissions(settings, spec.cwd, home, spec.roots, claude_home=spec.claude, readable=(outputs,))
    plugins, notices = load_plugins(spec.plugins, spec.claude, settings)
    hooks = Hooks(settings, spec.project, (*_plugin_hooks(plugins, notices), *spec.hooks))
    skills = _skills(spec, plugins, notices)
    kinds, kind_notices = load_agent_kinds(
        spec.project, spec.claude, spec.is_trusted, _folder_sources(spec), spec.agents, plugins
    )
    styles, style_notices = load_styles(spec.project, spec.claude, spec.is_trusted, spec.sources, plugins)
    style, style_notice = choose_style(settings.merged.get("outputStyle"), styles)
    servers, server_notices = _find_servers(spec, settings, plugins, notices)
    memories = Memories(spec.cwd, spec.claude, home, spec.is_trusted, spec.sources)
    first_memories = memories.first()  # which may add notices
    description = _describe(first_memories, skills, kinds, settings)
    notices += [
        *check_keys(settings),
        *permissions.notices,
        *hooks.notices,
        *kind_notices,
        *style_notices,
        style_notice,
        *server_notices,
    ]
    notices += memories.notices
    return SessionConfig(
        settings,
        permissions,
        hooks,
        skills,
        kinds,
        memories,
        first_memories,
        plugins,
        servers,
        styles,
        style,
        description,
        [notice for notice in dict.fromkeys(notices) if notice],
    )


def complete_spec(spec: SessionSpec, config: SessionConfig) -> SessionSpec:
    """Return the spec with the values that settings decide."""
    saves_files = spec.saves_files and config.settings.merged.get("fileCheckpointingEnabled") is not False
    roots = tuple(folder for folder in config.permissions.roots if folder != spec.cwd)
    reasoning = complete_reasoning(spec.reasoning, config.settings)
    merged = config.settings.merged
    limits = replace(spec.limits, auto_compact=False) if merged.get("autoCompactEnabled") is False else spec.limits
    fallback = merged.get("fallbackModel")
    return replace(
        spec,
        mode=spec.mode or config.permissions.mode,
        saves_files=saves_files,
        roots=roots,
        reasoning=reasoning,
        limits=limits,
        fallback=spec.fallback or (fallback if isinstance(fallback, str) else ""),
    )


def _settings(spec: SessionSpec) -> Settings:
    """Return the settings with the rules of the spec as their first source."""
    settings = Settings.load(spec.project, spec.claude, spec.sources, spec.is_trusted, cli=spec.settings)
    rules = {"permissions": {"allow": list(spec.allowed), "deny": list(spec.disallowed)}}
    sources = (SettingsSource("cli", spec.cwd, rules), *settings.sources)
    if spec.host_policy is not None and not any(source.scope == "managed" for source in sources):
        sources = (SettingsSource("managed", spec.cwd, read_host_policy(spec.host_policy)), *sources)
    return replace(settings, sources=sources)


def _folder_sources(spec: SessionSpec) -> tuple[str, ...]:
    return tuple(source for source in ("user", "project") if source in spec.sources)


def _skills(spec: SessionSpec, plugins: Sequence[Plugin], notices: list[str]) -> dict[str, Skill]:
    skills, skill_notices = skill_files.load_skills(spec.project, spec.claude, spec.is_trusted, _folder_sources(spec))
    notices += skill_notices
    for plugin in plugins:
        skills |= skill_files.load_plugin_skills(plugin, notices)
    if spec.offered_skills is None:
        return skills
    return {
        name: skill if name in spec.offered_skills or not skill.folder else structs.replace(skill, for_model=False)
        for name, skill in skills.items()
    }


def _plugin_hooks(plugins: Sequence[Plugin], notices: list[str]) -> Iterator[Hook]:
    for plugin in plugins:
        for data in plugin.hooks(notices):
            source = SettingsSource("plugin", plugin.root, data)
            yield from read_hooks(source, f"the plugin {plugin.name}", notices, plugin.variables)


def _find_servers(
    spec: SessionSpec, settings: Settings, plugins: Sequence[Plugin], notices: list[str]
) -> tuple[list[McpServer], list[str]]:
    given, only_given = spec.servers, spec.only_these_servers
    search = ServerSearch(spec.project, spec.claude, settings, spec.sources, given, only_given, managed_folder())
    found: dict[str, Json] = {}
    for plugin in plugins:
        found |= plugin.servers(notices)
    return search.find(found)


def _describe(
    memories: Sequence[Memory], skills: Mapping[str, Skill], kinds: Mapping[str, AgentKind], settings: Settings
) -> str:
    """Return the text before the first message: memory files, skills, agents and how commits are signed."""
    agents = f"These agents can be sent with the Task tool:\n{describe_kinds(kinds)}" if kinds else ""
    listed = skill_files.describe_skills(list(skills.values()))
    parts = (memory_files.format_memories(memories), listed, agents, _attribution(settings))
    return "\n\n".join(part for part in parts if part)


def _attribution(settings: Settings) -> str:
    """Return what the settings add to commits and pull requests; clew itself adds nothing."""
    stated = as_object(settings.merged.get("attribution"))
    names = {"commit": "git commit messages", "pr": "the description of pull requests"}
    lines = [f"End {what} with:\n{stated[key]}" for key, what in names.items() if isinstance(stated.get(key), str)]
    return "\n\n".join(line for line in lines if not line.endswith("with:\n"))
