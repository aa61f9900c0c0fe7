"""Open a session from its description: read the configuration, start the servers, build the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace
from msgspec.structs import replace as change

from clew.api.client import Client
from clew.chat import events
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.agents.main_agent import use_agent
from clew.chat.config.model_alias import resolve_alias
from clew.chat.config.plugins import Plugin
from clew.chat.config.settings import Settings
from clew.chat.config.skill_files import Skill
from clew.chat.config.system_prompt import session_facts, system_blocks
from clew.chat.cost import ConversationCost
from clew.chat.deps import Deps, HookRunner, PermissionPolicy
from clew.chat.engine import Engine
from clew.chat.events import Emit
from clew.chat.input import memory_files
from clew.chat.input.expand_prompt import Expander, GrantedRules
from clew.chat.input.input_line import InputLine, parse_line
from clew.chat.input.slash_commands import Run, SkillExpander
from clew.chat.mcp.mcp_client import McpServer, full_name, start_servers
from clew.chat.mcp.mcp_resources import LIST, READ, FetchPrompt, describe_servers, prompt_commands, resource_tools
from clew.chat.open_conversation import OpenConversation, open_conversation
from clew.chat.permission.decide import Permissions
from clew.chat.session_config import SessionConfig, complete_spec, load_config
from clew.chat.session_hooks import connect_hooks
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
from clew.wire.json_codec import Json

COMMAND_SECONDS = 60.0  # seconds that a shell command in a skill may take


class ChatSession(Struct, frozen=True):
    """An open session: its engine, and the configuration that front ends show."""

    engine: Engine
    expander: Expander
    permissions: Permissions
    servers: list[McpServer]
    skills: dict[str, Skill]
    kinds: dict[str, AgentKind]
    config: SessionConfig
    _load: Callable[[Sequence[Path]], SessionConfig]  # takes further plugins
    _added_plugins: list[Path] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        return self.config.settings

    @property
    def plugins(self) -> Sequence[Plugin]:
        return self.config.plugins

    @property
    def style(self) -> str:
        """The name of the output style."""
        return self.config.style.name

    @property
    def styles(self) -> Sequence[str]:
        """The names of all output styles."""
        return list(self.config.styles)

    async def say(self, text: str, uuid: str = "") -> events.TurnFinished:
        """Send what the user typed, or run the slash command that it is. `uuid` becomes that of the prompt's line."""
        line = parse_line(text)
        if line.command == "compact":
            return await self.engine.run_compact(line.arguments)
        return await self.engine.submit(change(await self.prompt(line), uuid=uuid))

    def reload(self, plugins: Sequence[Path] = ()) -> SessionConfig:
        """Read the configuration again, with further plugins, and use its skills and kinds of agents. Return it."""
        self._added_plugins.extend(plugins)
        config = self._load(self._added_plugins)
        self._replace_skills(config.skills)
        self.kinds.clear()
        self.kinds.update(config.kinds)
        return config

    def refresh(self, server: McpServer) -> None:
        """Offer the tools and prompts that an MCP server has now."""
        allowed = [tool for tool in server.tools if not self.permissions.denies_tool(tool.name)]
        self.engine.replace_tools(full_name(server.name, ""), allowed)
        self._replace_skills(self.config.skills)

    def _replace_skills(self, skills: Mapping[str, Skill]) -> None:
        commands, fetchers = prompt_commands(self.servers)
        self.skills.clear()
        self.skills.update({**skills, **commands})
        self.expander.skill_expander.fetchers = fetchers

    async def prompt(self, line: InputLine) -> UserPrompt:
        """Expand a line into a prompt. Raises Refused if a slash command may not run a shell command that it needs."""
        return await self.expander.expand(line)


@asynccontextmanager
async def open_session(spec: SessionSpec, emit: Emit) -> AsyncIterator[ChatSession]:
    """Open a session; everything that was started for it ends with the context.

    `emit` receives the events of its engine. Raises NotFound, Ambiguous, Busy, Refused.
    """
    config = load_config(spec)
    spec = use_agent(complete_spec(spec, config), config.kinds)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(spec.endpoint, spec.retry))
        variables = environment.child_environment(**config.settings.variables)
        servers = await stack.enter_async_context(start_servers(config.servers, spec.cwd, variables))
        commands, fetchers = prompt_commands(servers)
        all_skills = {**config.skills, **commands}
        opened = stack.enter_context(
            open_conversation(
                spec,
                default_model=config.default_model,
                profile=_shell_profile(spec, emit),
                variables=config.settings.variables,
            )
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
            nested_memory=lambda path: _near_memory(config, path),
            first_memory=memory_files.describe_loading(config.first_memories),
            system=system_blocks(spec.system, spec.added_system, config.style_text, config.style.keeps_guidelines),
        )
        connect_hooks(config.hooks, deps, conversation, servers)
        stack.push_async_callback(config.hooks.close)
        engine = await stack.enter_async_context(run_engine(spec, opened, deps, config.kinds))
        for notice in dict.fromkeys((*config.notices, *_failures(servers))):
            emit(events.Notice(text=notice, level="warning"))
        expander = Expander(conversation, deps.tools, rules, skills, servers)
        session = ChatSession(
            engine,
            expander,
            config.permissions,
            servers,
            all_skills,
            config.kinds,
            config,
            lambda plugins: load_config(replace(spec, plugins=(*spec.plugins, *plugins))),
        )
        for server in servers:
            server.changed = session.refresh
        yield session


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
    nested_memory: Callable[[Path], tuple[str, Sequence[Json]]] = lambda path: ("", ()),
    first_memory: Sequence[Json] = (),
    system: Sequence[Json] | None = None,
    clock: Clock = now,
) -> Deps:
    """Return the dependencies of a session. `memory` precedes the first message."""
    facts = session_facts(cwd, clock(), memory)
    return Deps(
        client,
        {tool.name: tool for tool in tools},
        emit,
        spec.cost or ConversationCost(),
        system_blocks(spec.system, spec.added_system) if system is None else system,
        permissions,
        hooks,
        spec.can_prompt_user,
        spec.limits,
        lambda: facts,
        fallback=resolve_alias(spec.fallback),
        small_model=resolve_alias(spec.small_model),
        tool_aliases=spec.tool_aliases,
        nested_memory=nested_memory,
        first_memory=first_memory,
        skills=skills,
        output=output,
    )


def _near_memory(config: SessionConfig, path: Path) -> tuple[str, list[Json]]:
    """Return the memory files to send after a file was read, and what hooks are told about them."""
    found = config.memories.near(path)
    return memory_files.format_memories(found), memory_files.describe_loading(found, path)


# -- MCP servers


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
        and spec.may_use(tool.name)
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
    config: SessionConfig,
    skills: Mapping[str, Skill],
    fetchers: Mapping[str, FetchPrompt],
    conversation: LiveConversation,
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
