"""Composing: a session from what the person wishes, their settings, and what lies in the project's folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from clew.api.client import Client
from clew.api.endpoint import Endpoint
from clew.api.retry import Retry
from clew.chat import events
from clew.chat.agents.agent_files import describe_kinds, load_agent_kinds
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.assemble_session import Parts, SessionOptions, opened
from clew.chat.config import skill_files
from clew.chat.config.settings import FILE_SCOPES, Settings, SettingsSource
from clew.chat.engine import Engine
from clew.chat.events import Emit
from clew.chat.hooks.runner import Hook, Hooks
from clew.chat.input import memory_files
from clew.chat.input.expand_prompt import Expander, GrantedRules
from clew.chat.input.memory_files import Memories
from clew.chat.input.slash_commands import Run, SkillExpander, parse_command
from clew.chat.mcp.mcp_client import McpServer, read_configs, start_servers
from clew.chat.permission.decide import Permissions
from clew.chat.store.journal import Write, write_lines
from clew.chat.store.live_conversation import UserPrompt
from clew.chat.tools.builtin.web_search import Search
from clew.chat.tools.command_environment import command_environment
from clew.chat.tools.process import run_shell
from clew.chat.tools.shell_profile import ShellProfile
from clew.chat.tools.tool import Tool
from clew.chat.tools.toolbox import create_tools
from clew.system import environment
from clew.wire.json_codec import Json
from clew.wire.layout import slug

COMMAND_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """All that a person can wish for a session."""

    options: SessionOptions
    endpoint: Endpoint
    retry: Retry | None = None
    allowed: tuple[str, ...] = ()  # rules
    disallowed: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None  # the names of those to offer; None for all
    settings: str | Json | None = None
    sources: tuple[str, ...] = FILE_SCOPES
    is_trusted: bool = False
    servers: tuple[str, ...] = ()  # configurations of MCP servers: JSON or files
    only_these_servers: bool = False
    web_search: str = ""  # the command that WebSearch runs
    agents: Mapping[str, Json] = field(default_factory=dict)
    hooks: Sequence[Hook] = ()
    further: Sequence[Tool] = ()
    around: Callable[[Tool], Tool] = lambda tool: tool  # what a door puts around each tool
    write: Write = write_lines  # how lines are written down


@dataclass(frozen=True)
class ChatSession:
    """A session that can be spoken to, with what doors like to know of it."""

    engine: Engine
    expander: Expander
    permissions: Permissions
    servers: Sequence[McpServer]
    skills: Mapping[str, skill_files.Skill]
    kinds: Mapping[str, AgentKind]

    async def say(self, text: str) -> events.TurnFinished:
        """Say what a person typed, or do what it commands."""
        line = parse_command(text)
        if line is not None and line[0] == "compact":
            return await self.engine.run_compact(line[1])
        return await self.engine.submit(await self.prompt(text))

    async def prompt(self, text: str) -> UserPrompt:
        return await self.expander.expand(text)


@asynccontextmanager
async def session(wishes: Wishes, tell: Emit) -> AsyncIterator[ChatSession]:
    """A session as it is wished for. It ends with all that was started for it."""
    options = wishes.options
    settings = _settings(wishes)
    person = Path(environment.user_home())
    outputs = options.claude / "projects" / slug(str(options.cwd))
    permissions = Permissions(
        settings, options.cwd, person, options.roots, claude_home=options.claude, readable=(outputs,)
    )
    hooks = Hooks(settings, options.cwd, wishes.hooks)
    sources = tuple(source for source in ("user", "project") if source in wishes.sources)
    skills, odd_skills = skill_files.load_skills(options.cwd, options.claude, wishes.is_trusted, sources)
    kinds, odd_kinds = load_agent_kinds(options.cwd, options.claude, wishes.is_trusted, sources, wishes.agents)
    memories = Memories(options.cwd, options.claude, person, wishes.is_trusted, wishes.sources)
    known = _known(memories, skills, kinds)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(wishes.endpoint, wishes.retry))
        configs = _servers(wishes)
        servers = await stack.enter_async_context(start_servers(configs, options.cwd, environment.child_environment()))
        rules = GrantedRules(permissions)
        runner = _runner(lambda: options.cwd, wishes.is_trusted)
        workshop = SkillExpander(skills, permissions, lambda: options.cwd, lambda: "default", runner)
        tools = _tools(wishes, workshop, servers, permissions)
        profile = ShellProfile(person, _plain_names, lambda text: tell(events.Notice(text=text, level="warning")))
        parts = Parts(
            client,
            tools,
            rules,
            hooks,
            kinds,
            workshop,
            profile if "user" in wishes.sources else None,
            write=wishes.write,
            is_trusted=wishes.is_trusted,
            nested_memory=lambda path: memory_files.format_memories(memories.near(path)),
        )
        is_saved = options.saves_files and settings.merged.get("fileCheckpointingEnabled") is not False
        chosen = replace(
            options,
            memory=known,
            mode=options.mode or permissions.mode,
            saves_files=is_saved,
            default_model=_usual_model(settings),
        )
        engine = await stack.enter_async_context(opened(chosen, parts, tell))
        dialogue = engine.conversation
        workshop.cwd, workshop.mode = (lambda: dialogue.state.cwd), (lambda: dialogue.mode)
        workshop.run = _runner(workshop.cwd, wishes.is_trusted)
        workshop.session_id = dialogue.session_id
        failures = [f"The MCP server {s.name} cannot be used: {s.error}" for s in servers if s.state == "failed"]
        failures += _passed_over(wishes)
        notices = (*permissions.notices, *hooks.notices, *odd_skills, *odd_kinds, *memories.notices, *failures)
        for notice in dict.fromkeys(notices):
            tell(events.Notice(text=notice, level="warning"))
        expander = Expander(dialogue, engine.deps.tools, rules, workshop)
        yield ChatSession(engine, expander, permissions, servers, skills, kinds)


def _settings(wishes: Wishes) -> Settings:
    options = wishes.options
    found = Settings.load(options.cwd, options.claude, wishes.sources, wishes.is_trusted, cli=wishes.settings)
    said = {"permissions": {"allow": list(wishes.allowed), "deny": list(wishes.disallowed)}}
    return replace(found, sources=(SettingsSource("cli", options.cwd, said), *found.sources))


def _usual_model(settings: Settings) -> str:
    found = settings.merged.get("model")
    return found if isinstance(found, str) else ""


def _known(memories: Memories, skills: Mapping[str, skill_files.Skill], kinds: Mapping[str, AgentKind]) -> str:
    """What stands before the first message: the notes of the person and the project, the skills, the agents."""
    agents = f"These agents can be sent with the Task tool:\n{describe_kinds(kinds)}" if kinds else ""
    parts = (memory_files.format_memories(memories.first()), skill_files.describe_skills(list(skills.values())), agents)
    return "\n\n".join(part for part in parts if part)


def _plain_names() -> frozenset[str]:
    """The commands that permissions know by their names: no alias stands in for one."""
    from clew.chat.permission.known_commands import NAMES

    return NAMES


def _servers(wishes: Wishes) -> dict[str, Json]:
    """The MCP servers: those that were named, and those of a project that is trusted."""
    found: dict[str, Json] = {}
    own = wishes.options.cwd / ".mcp.json"
    if wishes.is_trusted and not wishes.only_these_servers and own.is_file():
        found |= read_configs([str(own)], wishes.options.cwd)
    named = read_configs(wishes.servers, wishes.options.cwd)
    return found | {name: config for name, config in named.items() if config.get("type") != "sdk"}


def _passed_over(wishes: Wishes) -> list[str]:
    """A project that is not trusted starts no servers; that is said."""
    own = wishes.options.cwd / ".mcp.json"
    if wishes.is_trusted or wishes.only_these_servers or not own.is_file():
        return []
    return [f"The MCP servers of {own} are not started: the folder is not trusted. Trust it with: clew trust"]


def _tools(
    wishes: Wishes, workshop: SkillExpander, servers: Sequence[McpServer], permissions: Permissions
) -> list[Tool]:
    """The tools to offer: without those that a rule denies as a whole."""
    own = create_tools(skills=workshop, search=_search(wishes)).values()
    made: list[Tool] = [*own, *(t for s in servers for t in s.tools), *wishes.further]
    wanted = wishes.tools
    return [
        wishes.around(tool)
        for tool in made
        if not permissions.denies_tool(tool.name)
        and (wanted is None or tool.name in wanted or tool.name.startswith("mcp__"))
    ]


def _search(wishes: Wishes) -> Search | None:
    if not wishes.web_search:
        return None
    from clew.chat.tools.search_command import SearchCommand

    variables = command_environment(environment.child_environment(), is_trusted=wishes.is_trusted)
    return SearchCommand(wishes.web_search, wishes.options.cwd, variables)


def _runner(cwd: Callable[[], Path], is_trusted: bool) -> Run:
    async def run(command: str) -> str:
        variables = command_environment(environment.child_environment(), is_trusted=is_trusted)
        ended = await run_shell(command, cwd(), variables, b"", COMMAND_SECONDS)
        return ended.stdout.rstrip("\n") or ended.stderr.rstrip("\n")

    return run
