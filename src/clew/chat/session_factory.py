"""Open a session from its description: read the configuration, start the servers, build the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec.structs import replace as change

from clew.api.client import Client
from clew.chat import events
from clew.chat.agents.agent_files import describe_kinds, load_agent_kinds
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.config import skill_files
from clew.chat.config.model_alias import resolve_alias
from clew.chat.config.reasoning_settings import complete_reasoning
from clew.chat.config.settings import Settings, SettingsSource, managed_folder
from clew.chat.config.skill_files import Skill
from clew.chat.config.system_prompt import session_facts, system_blocks
from clew.chat.cost import ConversationCost
from clew.chat.deps import Deps, HookRunner, PermissionPolicy
from clew.chat.engine import Engine
from clew.chat.events import Emit
from clew.chat.hooks.runner import Hooks
from clew.chat.input import memory_files
from clew.chat.input.expand_prompt import Expander, GrantedRules
from clew.chat.input.input_line import InputLine, parse_line
from clew.chat.input.memory_files import Memories
from clew.chat.input.slash_commands import Run, SkillExpander
from clew.chat.mcp.mcp_client import McpServer, start_servers
from clew.chat.mcp.mcp_resources import LIST, READ, FetchPrompt, describe_servers, prompt_commands, resource_tools
from clew.chat.mcp.server_scopes import ServerSearch
from clew.chat.open_conversation import OpenConversation, open_conversation
from clew.chat.permission.decide import Permissions
from clew.chat.session_spec import SessionSpec
from clew.chat.store.journal import Clock, now
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.tools.builtin.structured_output import StructuredOutput
from clew.chat.tools.builtin.use_skill import Skills
from clew.chat.tools.builtin.web_search import Search
from clew.chat.tools.command_environment import command_environment
from clew.chat.tools.process import run_shell
from clew.chat.tools.shell_profile import ShellProfile
from clew.chat.tools.tool import Tool, ToolState
from clew.chat.tools.toolbox import create_tools
from clew.system import environment
from clew.wire.layout import slug

COMMAND_SECONDS = 60.0  # seconds that a shell command in a skill may take


@dataclass(frozen=True)
class ChatSession:
    """An open session: its engine, and the configuration that front ends show."""

    engine: Engine
    expander: Expander
    permissions: Permissions
    servers: list[McpServer]
    skills: dict[str, Skill]
    kinds: dict[str, AgentKind]
    settings: Settings
    _load: Callable[[], tuple[Mapping[str, Skill], Mapping[str, AgentKind]]]

    async def say(self, text: str, uuid: str = "") -> events.TurnFinished:
        """Send what the user typed, or run the slash command that it is. `uuid` becomes that of the prompt's line."""
        line = parse_line(text)
        if line.command == "compact":
            return await self.engine.run_compact(line.arguments)
        return await self.engine.submit(change(await self.prompt(line), uuid=uuid))

    def reload(self) -> None:
        """Read the skills and the kinds of agents again, for what was changed since the session was opened."""
        skills, kinds = self._load()
        for current, read in ((self.skills, skills), (self.kinds, kinds)):
            current.clear()
            current.update(read)  # type: ignore[arg-type]

    async def prompt(self, line: InputLine) -> UserPrompt:
        """Expand a line into a prompt. Raises Refused if a slash command may not run a shell command that it needs."""
        return await self.expander.expand(line)


@asynccontextmanager
async def open_session(spec: SessionSpec, emit: Emit) -> AsyncIterator[ChatSession]:
    """Open a session; everything that was started for it ends with the context.

    `emit` receives the events of its engine. Raises NotFound, Ambiguous, Busy, Refused.
    """
    config = _load_config(spec)
    spec = _complete(spec, config)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(spec.endpoint, spec.retry))
        variables = environment.child_environment(**config.settings.variables)
        found, server_notices = _find_servers(spec, config)
        servers = await stack.enter_async_context(start_servers(found, spec.cwd, variables))
        commands, fetchers = prompt_commands(servers)
        all_skills = {**config.skills, **commands}
        default_model = _default_model(config.settings)
        profile = _shell_profile(spec, emit)
        opened = stack.enter_context(
            open_conversation(spec, default_model=default_model, profile=profile, variables=config.settings.variables)
        )
        conversation = opened.conversation
        skills = _skill_expander(config, all_skills, fetchers, conversation)
        rules = GrantedRules(config.permissions)
        output = StructuredOutput(spec.output_schema) if spec.output_schema is not None else None
        deps = build_deps(
            spec,
            client,
            [*_tools(spec, skills, servers, config.permissions), *([output] if output else ())],
            emit,
            output=output,
            cwd=conversation.state.cwd,
            permissions=rules,
            hooks=config.hooks,
            skills=skills,
            memory="\n\n".join(filter(None, (config.description, describe_servers(servers)))),
            nested_memory=lambda path: memory_files.format_memories(config.memories.near(path)),
        )
        engine = await stack.enter_async_context(run_engine(spec, opened, deps, config.kinds))
        for notice in dict.fromkeys((*config.notices, *server_notices, *_failures(servers))):
            emit(events.Notice(text=notice, level="warning"))
        expander = Expander(conversation, deps.tools, rules, skills, servers)
        yield ChatSession(
            engine,
            expander,
            config.permissions,
            servers,
            all_skills,
            config.kinds,
            config.settings,
            lambda: _read_skills_and_kinds(spec, commands),
        )


@asynccontextmanager
async def run_engine(
    spec: SessionSpec, opened: OpenConversation, deps: Deps, kinds: Mapping[str, AgentKind]
) -> AsyncIterator[Engine]:
    """Yield the engine of an open conversation. It is closed with the context."""
    engine = Engine(
        opened.conversation, deps, kinds, closing=opened.closing, source=opened.source, missed=opened.missed
    )
    if spec.title:
        engine.rename(spec.title)
    try:
        yield engine
    finally:
        await engine.close()


def build_deps(
    spec: SessionSpec,
    client: Client,
    tools: Sequence[Tool],
    emit: Emit,
    *,
    cwd: Path,
    permissions: PermissionPolicy,
    hooks: HookRunner,
    skills: Skills | None = None,
    output: StructuredOutput | None = None,
    memory: str = "",
    nested_memory: Callable[[Path], str] = lambda path: "",
    clock: Clock = now,
) -> Deps:
    """Return the dependencies of a session. `memory` precedes the first message."""
    facts = session_facts(cwd, clock(), memory)
    return Deps(
        client,
        {tool.name: tool for tool in tools},
        emit,
        ConversationCost(),
        system_blocks(spec.system, spec.added_system),
        permissions,
        hooks,
        spec.can_prompt_user,
        spec.limits,
        lambda: facts,
        fallback=resolve_alias(spec.fallback),
        small_model=resolve_alias(spec.small_model),
        nested_memory=nested_memory,
        skills=skills,
        output=output,
    )


# -- configuration


@dataclass(frozen=True)
class _Config:
    """What settings and files of the user and the project say about a session."""

    settings: Settings
    permissions: Permissions
    hooks: Hooks
    skills: dict[str, Skill]
    kinds: dict[str, AgentKind]
    memories: Memories
    description: str  # memory files, skills and agents, for the first message
    notices: Sequence[str]  # what could not be used, and why


def _load_config(spec: SessionSpec) -> _Config:
    settings = _settings(spec)
    home = Path(environment.user_home())
    outputs = spec.claude / "projects" / slug(str(spec.cwd))
    permissions = Permissions(settings, spec.cwd, home, spec.roots, claude_home=spec.claude, readable=(outputs,))
    hooks = Hooks(settings, spec.cwd, spec.hooks)
    sources = tuple(source for source in ("user", "project") if source in spec.sources)
    skills, skill_notices = skill_files.load_skills(spec.cwd, spec.claude, spec.is_trusted, sources)
    kinds, kind_notices = load_agent_kinds(spec.cwd, spec.claude, spec.is_trusted, sources, spec.agents)
    memories = Memories(spec.cwd, spec.claude, home, spec.is_trusted, spec.sources)
    description = _describe(memories, skills, kinds)  # it reads the memory files, which may add notices
    notices = (*permissions.notices, *hooks.notices, *skill_notices, *kind_notices, *memories.notices)
    return _Config(settings, permissions, hooks, skills, kinds, memories, description, notices)


def _read_skills_and_kinds(
    spec: SessionSpec, commands: Mapping[str, Skill]
) -> tuple[Mapping[str, Skill], Mapping[str, AgentKind]]:
    """Return what the files say now; `commands` are those of MCP servers."""
    config = _load_config(spec)
    return {**config.skills, **commands}, config.kinds


def _settings(spec: SessionSpec) -> Settings:
    """Return the settings with the rules of the spec as their first source."""
    settings = Settings.load(spec.cwd, spec.claude, spec.sources, spec.is_trusted, cli=spec.settings)
    rules = {"permissions": {"allow": list(spec.allowed), "deny": list(spec.disallowed)}}
    return replace(settings, sources=(SettingsSource("cli", spec.cwd, rules), *settings.sources))


def _default_model(settings: Settings) -> str:
    model = settings.merged.get("model")
    return model if isinstance(model, str) else ""


def _complete(spec: SessionSpec, config: _Config) -> SessionSpec:
    """Return the spec with the values that settings decide."""
    saves_files = spec.saves_files and config.settings.merged.get("fileCheckpointingEnabled") is not False
    roots = tuple(folder for folder in config.permissions.roots if folder != spec.cwd)
    reasoning = complete_reasoning(spec.reasoning, config.settings)
    mode = spec.mode or config.permissions.mode
    return replace(spec, mode=mode, saves_files=saves_files, roots=roots, reasoning=reasoning)


def _describe(memories: Memories, skills: Mapping[str, Skill], kinds: Mapping[str, AgentKind]) -> str:
    """Return the text before the first message: memory files, skills and agents."""
    agents = f"These agents can be sent with the Task tool:\n{describe_kinds(kinds)}" if kinds else ""
    parts = (memory_files.format_memories(memories.first()), skill_files.describe_skills(list(skills.values())), agents)
    return "\n\n".join(part for part in parts if part)


# -- MCP servers


def _find_servers(spec: SessionSpec, config: _Config) -> tuple[list[McpServer], list[str]]:
    search = ServerSearch(
        spec.cwd,
        spec.claude,
        config.settings,
        spec.sources,
        spec.servers,
        spec.only_these_servers,
        managed_folder(),
    )
    return search.find({})


def _failures(servers: Sequence[McpServer]) -> Iterator[str]:
    for server in servers:
        if server.state == "failed":
            yield f"The MCP server {server.name} cannot be used: {server.error}"
        elif server.state == "needs-auth":
            yield (
                f"The MCP server {server.name} needs a login (OAuth), which clew does not have. If it takes a token, set it"
                " with: claude mcp add --header"
            )


# -- tools


def _tools(
    spec: SessionSpec, skills: SkillExpander, servers: Sequence[McpServer], permissions: Permissions
) -> list[Tool]:
    """Return the tools to offer, without those that a rule denies entirely."""
    built_in = create_tools(skills=skills, search=_search(spec)).values()
    tools: list[Tool] = [*built_in, *(tool for server in servers for tool in server.tools)]
    tools += [*resource_tools(servers), *spec.extra_tools]
    return [
        spec.wrap_tool(tool)
        for tool in tools
        if not permissions.denies_tool(tool.name)
        and (
            spec.tools is None or tool.name in spec.tools or tool.name.startswith("mcp__") or tool.name in (LIST, READ)
        )
    ]


def _search(spec: SessionSpec) -> Search | None:
    if not spec.web_search:
        return None
    from clew.chat.tools.search_command import SearchCommand

    variables = command_environment(environment.child_environment(), is_trusted=spec.is_trusted)
    return SearchCommand(spec.web_search, spec.cwd, variables)


def _skill_expander(
    config: _Config, skills: Mapping[str, Skill], fetchers: Mapping[str, FetchPrompt], conversation: LiveConversation
) -> SkillExpander:
    return SkillExpander(
        skills,
        config.permissions,
        lambda: conversation.state.cwd,
        lambda: conversation.mode,
        _shell_runner(conversation.state),
        conversation.session_id,
        fetchers,
    )


def _shell_runner(state: ToolState) -> Run:
    async def run(command: str) -> str:
        variables = command_environment(environment.child_environment(**state.variables), is_trusted=state.is_trusted)
        ended = await run_shell(command, state.cwd, variables, b"", COMMAND_SECONDS)
        return ended.stdout.rstrip("\n") or ended.stderr.rstrip("\n")

    return run


def _shell_profile(spec: SessionSpec, emit: Emit) -> ShellProfile | None:
    if "user" not in spec.sources:
        return None

    def warn(text: str) -> None:
        emit(events.Notice(text=text, level="warning"))

    return ShellProfile(Path(environment.user_home()), _known_command_names, warn)


def _known_command_names() -> frozenset[str]:
    """Return the commands that permissions know by name; an alias must not replace one."""
    from clew.chat.permission.known_commands import NAMES

    return NAMES
