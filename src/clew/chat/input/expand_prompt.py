"""Expand what the user typed into a prompt: replace slash commands by their text and read mentioned files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from clew.chat.config.permission_mode import Mode
from clew.chat.config.system_prompt import system_reminder
from clew.chat.input.file_mentions import find_mentions
from clew.chat.input.input_line import InputLine
from clew.chat.input.slash_commands import SkillExpander, command_tags
from clew.chat.mcp.mcp_client import McpServer
from clew.chat.mcp.mcp_resources import read_mention
from clew.chat.permission.decide import Permissions
from clew.chat.permission.decision import Decision
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.tools.tool import Tool, ToolContext, ToolFailed, text_of
from clew.system.environment import user_home
from clew.wire.json_codec import Json

_SOURCES = {"user": "userSettings", "project": "projectSettings"}  # of commands, in the words that hooks are told


class GrantedRules:
    """The permissions of a session, extended while a command runs that grants more."""

    def __init__(self, permissions: Permissions) -> None:
        self.permissions = permissions
        self._now = permissions

    def grant(self, rules: Iterable[str]) -> None:
        """Allow calls that match these rules too, until the next prompt."""
        wider = tuple(rules)
        self._now = self.permissions.with_granted_rules(wider) if wider else self.permissions

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision:
        return self._now.decide(tool, input, cwd, mode)

    def apply(self, update: Json) -> Mode | None:
        return self.permissions.apply(update)


class Expander(Struct):
    """Expands the prompts of one session."""

    conversation: LiveConversation
    tools: Mapping[str, Tool]
    rules: GrantedRules
    skill_expander: SkillExpander
    servers: Sequence[McpServer] = ()

    async def expand(self, line: InputLine) -> UserPrompt:
        """Return the prompt for a line. Raises Refused if a slash command in it may not run a shell command that it
        needs.
        """
        self.rules.grant(())
        skill = self.skill_expander.skills.get(line.command)
        if skill is None or not skill.for_user:
            return UserPrompt(line.text, await self._read_mentions(find_mentions(line.text)))
        expansion = await self.skill_expander.expand(skill, line.arguments)
        self.rules.grant(skill.allowed_tools)
        where = f"Base directory for this skill: {skill.folder}\n\n" if skill.folder else ""
        return UserPrompt(
            command_tags(line.command, line.arguments),
            (f"{where}{expansion.text}", *expansion.more, *await self._read_mentions(expansion.files)),
            typed=line.text,
            expansion={
                "expansion_type": "mcp_prompt" if line.command in self.skill_expander.fetchers else "slash_command",
                "command_name": line.command,
                "command_args": line.arguments,
                "command_source": _SOURCES.get(skill.scope, skill.scope),
            },
        )

    async def _read_mentions(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the contents of the mentioned files that may be read, and of mentioned resources (`@server:uri`)."""
        notes = []
        for name in names:
            if (resource := await read_mention(self.servers, name)) is not None:
                notes.append(system_reminder(f"The user named the resource {name}. It contains:\n{resource}"))
                continue
            path = self.conversation.state.cwd / (user_home() + name[1:] if name.startswith("~/") else name)
            if (text := await self._read(path)) is not None:
                notes.append(system_reminder(f"The user named the file {path}. Read says of it:\n{text}"))
        return tuple(notes)

    async def _read(self, path: Path) -> str | None:
        call_input: Json = {"file_path": str(path)}
        tool = self.tools.get("Read")
        if tool is None or not path.is_file():
            return None
        if self.rules.decide("Read", call_input, self.conversation.state.cwd, self.conversation.mode).kind != "allow":
            return None
        scene = ToolContext(
            "mention", self.conversation.session_id, self.conversation.folder, self.conversation.state, asyncio.Event()
        )
        try:
            return text_of((await tool.call(call_input, scene)).content)
        except (ToolFailed, OSError):
            return None
