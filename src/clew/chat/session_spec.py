"""The description of a session to open: everything that the user, an editor or an SDK asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from clew.api.endpoint import Endpoint
from clew.api.reasoning import Reasoning
from clew.api.retry import Retry
from clew.chat.config.permission_mode import Mode
from clew.chat.config.settings import FILE_SCOPES
from clew.chat.cost import ConversationCost
from clew.chat.deps import ConversationLimits
from clew.chat.hooks.runner import Hook
from clew.chat.store.journal import Durability, Write, write_lines
from clew.chat.tools.tool import Tool
from clew.wire.json_codec import Json


class SessionSpec(Struct, frozen=True, kw_only=True):
    """A session to open. `clew.chat.open_session` opens it."""

    cwd: Path
    claude: Path  # the folder of Claude Code
    endpoint: Endpoint
    retry: Retry | None = None

    # which session
    session_id: str = ""  # id of a new session or copy; a random one if it is empty
    resume: str = ""  # the session to resume: its id, a prefix of the id, its path or its title
    is_latest: bool = False  # resume the newest session of the folder
    is_fork: bool = False  # resume it in a copy
    at: str = ""  # copy the session only up to this entry or turn
    dropped_turn: str = ""  # with `at`: the uuid of the only prompt that may be left out
    title: str = ""
    is_kept: bool = True  # write a session file
    durability: Durability = "line"
    write: Write = write_lines
    entrypoint: str = "cli"  # the front end, as the lines of the file state it

    # model and prompt
    model: str = ""  # empty for the model of the resumed session or of the settings
    fallback: str = ""
    small_model: str = ""
    reasoning: Reasoning = field(default_factory=Reasoning)  # thinking and effort; settings complete it
    system: str | None = None  # replaces the system prompt
    added_system: str = ""  # follows the system prompt
    agent: str = ""  # the type of agent that the main conversation is
    output_schema: Json | None = None  # the JSON Schema that the answer to each prompt must fit
    limits: ConversationLimits = field(default_factory=ConversationLimits)
    cost: ConversationCost | None = None  # continue these totals, for a front end that opens several sessions

    # configuration
    settings: str | Json | None = None
    host_policy: str | None = None  # restrictions that the program around clew sets (JSON)
    config_root: Path | None = None  # the folder whose project files count, if it is not `cwd`
    offered_skills: tuple[str, ...] | None = None  # names of the skills that the model may use; None for all
    tool_aliases: Mapping[str, str] = field(default_factory=dict)  # names that the model may use for other tools
    sources: tuple[str, ...] = FILE_SCOPES  # the settings files that apply
    is_trusted: bool = False  # whether the user trusts the project
    agents: Mapping[str, Json] = field(default_factory=dict)  # further types of subagents
    hooks: Sequence[Hook] = ()
    plugins: tuple[Path, ...] = ()  # folders of plugins, besides those that the settings enable

    @property
    def project(self) -> Path:
        """The folder whose settings, commands, agents and servers count."""
        return self.config_root or self.cwd

    # permissions
    mode: Mode | None = None
    allowed: tuple[str, ...] = ()  # permission rules
    disallowed: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()  # further folders that belong to the project
    can_prompt_user: bool = False  # whether a user answers permission requests and questions

    # tools
    tools: tuple[str, ...] | None = None  # names of the tools to offer; None for all
    extra_tools: Sequence[Tool] = ()
    wrap_tool: Callable[[Tool], Tool] = lambda tool: tool
    may_use: Callable[[str], bool] = lambda tool: True  # whether a tool is offered, besides `tools`
    servers: tuple[str, ...] = ()  # configurations of MCP servers: JSON texts or files
    only_these_servers: bool = False
    web_search: str = ""  # the command that WebSearch runs

    # rewind
    saves_files: bool = True  # save files before they are changed
    watches_commands: bool = False  # save what commands change too
